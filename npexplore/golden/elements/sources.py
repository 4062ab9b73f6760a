"""Sources, sinks, timing elements and information elements that real configurations use.

A run follows one packet. A source is an entry named by its element, and its packet is `data`. Elements that only affect
timing (shapers, samplers, schedulers) let the packet pass.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import ClassVar

from npexplore.errors import InputError, told_at
from npexplore.golden.checksum import internet_checksum
from npexplore.golden.elements.base import ANY, Element, Out, Pack, address, limited, number, truth
from npexplore.golden.elements.ip import prefix
from npexplore.golden.elements.link import mac
from npexplore.golden.elements.plain import ONE_PACKET, Discard, FromDevice, PrioSched, Tee, ToHost, stops
from npexplore.golden.elements.transport import ENCAPSULATED_TTL, UDP, summed
from npexplore.golden.ipv4.header import write_packet

DATA = b"Random bullshit in a packet, at least 64 bytes long. Well, now it is."  # Click's default; lengths depend on it
BLANK, TIME = re.compile(r"\s+"), re.compile(r"(\d+\.?\d*|\.\d+)\s*([num]?s|sec|min|m|h)?", re.ASCII)
AMOUNTS = ("RATE", "BURST", "STOP", "TIMESTAMP", "HEADROOM", "BANDWIDTH", "VERBOSE")
SHORTEST_FRAME, PING_TTL = 60, 200


def octets(text: str) -> bytes:
    r"""Return the bytes of Click's data: `\<0a 0B>` is hexadecimal, any other text is literal."""
    if text.startswith("\\<") and text.endswith(">"):
        return bytes.fromhex(BLANK.sub("", text[2:-1]))
    return text.strip('"').encode()


class InfiniteSource(Element):
    r"""Generates packets: `InfiniteSource(\<0a0b>, LIMIT, BURST, ACTIVE)`; LENGTH: repeats the data to this length.

    OPTIONAL: keywords of the optional arguments, which follow the required ones, in their order.
    """

    INPUTS, PROCESSING, ARGUMENTS = (0, 0), "/h", (0, 4)
    OPTIONAL: ClassVar[tuple[str, ...]] = ("DATA", "LIMIT", "BURST", "ACTIVE")
    IRRELEVANT: ClassVar[Mapping[str, str]] = dict.fromkeys(AMOUNTS, ONE_PACKET)

    def configure(self, *arguments: str) -> None:
        """Read the data, and check that the source is active."""
        self.switches(arguments)
        self.data = octets(self.option(arguments, "DATA", "")) or DATA
        length = self.said.value("LENGTH", self.said.value("DATASIZE", ""))
        if length and number(length) > len(self.data):
            self.data = (self.data * (1 + number(length) // len(self.data)))[: number(length)]

    def option(self, arguments: Sequence[str], keyword: str, usual: str) -> str:
        """Return an optional argument, by position or by keyword; `usual` if it is missing."""
        place = len(self.POSITIONS) + self.OPTIONAL.index(keyword) if keyword in self.OPTIONAL else len(arguments)
        return self.said.value(keyword, arguments[place] if place < len(arguments) else usual)

    def switches(self, arguments: Sequence[str]) -> None:
        """Raise InputError for a source without packets and for END_CALL handlers; check rates and limits."""
        if not truth("ACTIVE", self.option(arguments, "ACTIVE", "true")):
            raise InputError("a source that is not active makes no packets (supported: ACTIVE true)")
        limit = arguments[self.POSITIONS.index("LIMIT")] if "LIMIT" in self.POSITIONS else None
        limit = limit or self.option(arguments, "LIMIT", "-1")
        if number(limit.removeprefix("-")) == 0:  # negative: no limit
            raise InputError("a source with LIMIT 0 makes no packets")
        stops(self.said.value("END_CALL", "stop"))
        for keyword in sorted({*self.OPTIONAL} & {"BURST", "RATE"}):
            number(self.option(arguments, keyword, "1"))
        interval = self.option(arguments, "INTERVAL", "1")
        if not TIME.fullmatch(interval):
            raise InputError(f"INTERVAL must be a time such as 0.5 or 10ms, got {interval!r}")


class RatedSource(InfiniteSource):
    """InfiniteSource at a rate: `RatedSource(DATA, RATE, LIMIT, ACTIVE)`."""

    OPTIONAL = ("DATA", "RATE", "LIMIT", "ACTIVE")


class TimedSource(InfiniteSource):
    """InfiniteSource at an interval: `TimedSource(INTERVAL, DATA)`."""

    ARGUMENTS, OPTIONAL = (0, 2), ("INTERVAL", "DATA")


class FastUDPSource(InfiniteSource):
    """Generates UDP frames: `FastUDPSource(RATE, LIMIT, LENGTH, SMAC, SIP, SPORT, DMAC, DIP, DPORT, CHECKSUM)`.

    A frame has at least 60 octets, and a UDP checksum unless CHECKSUM is false.
    """

    PROCESSING, ARGUMENTS = "/l", (9, 12)
    POSITIONS: ClassVar[tuple[str, ...]] = (
        "RATE", "LIMIT", "LENGTH", "SRCETH", "SRCIP", "SPORT", "DSTETH", "DSTIP", "DPORT",
    )  # fmt: skip
    OPTIONAL = ("CHECKSUM", "INTERVAL", "ACTIVE")

    def configure(self, *arguments: str) -> None:
        """Build the frame; rate and limit do not affect it."""
        self.switches(arguments)
        number(arguments[0])
        length, source, destination = number(arguments[2]), address(arguments[4]), address(arguments[7])
        ports = b"".join(limited("a port", text, 0xFFFF).to_bytes(2, "big") for text in (arguments[5], arguments[8]))
        size = max(length, SHORTEST_FRAME) - 34
        udp = ports + size.to_bytes(2, "big") + bytes(size - 6)
        packet = write_packet(source, destination, udp, protocol=UDP, ttl=ENCAPSULATED_TTL, identification=0)
        if truth("CHECKSUM", self.option(arguments, "CHECKSUM", "true")):
            packet = summed(packet, size, UDP)
        self.data = mac(arguments[6]) + mac(arguments[3]) + b"\x08\0" + packet


class ICMPPingSource(InfiniteSource):
    """Generates an echo request, sequence number 1: `ICMPPingSource(SRC, DST)`; receives replies at its input."""

    INPUTS, PROCESSING, ARGUMENTS, ENTRY, STORES = (0, 1), "h/h", (2, 2), True, True
    POSITIONS: ClassVar[tuple[str, ...]] = ("SRC", "DST")
    OPTIONAL = ()

    def configure(self, *arguments: str) -> None:
        """Read both addresses and the data."""
        self.switches(arguments)
        echo = message(8, b"\0\0\0\1" + octets(self.said.value("DATA", "")))
        source, target = (address(text) for text in arguments)
        self.data = write_packet(source, target, echo, protocol=1, ttl=PING_TTL, identification=1)

    def take(self, pack: Pack, port: int) -> Out:
        """Consume a reply."""
        return []


def message(kind: int, rest: bytes) -> bytes:
    """Return an ICMP message with its checksum (RFC 792)."""
    zeroed = bytes([kind, 0, 0, 0]) + rest
    return zeroed[:2] + internet_checksum(zeroed).to_bytes(2, "big") + zeroed[4:]


class FromHost(FromDevice):
    """Packets that the host sends: `FromHost(fake0, 10.0.0.1/8)`."""

    ARGUMENTS, IRRELEVANT = (1, 2), {"*": "addresses and options of the host's interface; a run begins with the packet"}

    def configure(self, *arguments: str) -> None:
        """Read the device."""
        self.device = arguments[0]


class KernelTun(Element):
    """A tunnel interface of the host, which sends and receives packets: `KernelTun(10.0.0.1/8)`."""

    INPUTS, OUTPUTS, PROCESSING, ARGUMENTS, EXIT, ENTRY = (0, 1), (1, 2), "a/h", (1, ANY), "self", True
    STORES = True  # a packet sent to the host does not return
    IRRELEVANT: ClassVar[Mapping[str, str]] = {"*": "addresses and options of the host's interface"}


class KernelTap(KernelTun):
    """A tunnel interface with Ethernet frames."""


class ToHostSniffers(ToHost):
    """Packets for the host's packet sniffers."""


class TimedSink(Discard):
    """Pulls and discards a packet at an interval."""

    PROCESSING, ARGUMENTS, IRRELEVANT = "l/", (0, 1), {"*": ONE_PACKET}


class PullTee(Tee):
    """Copies each packet to all outputs whenever output 0 pulls one."""

    PROCESSING = "l/lh"


class _Passes(Element):
    """Passes packets: base of elements that only affect timing or annotations not modelled here."""

    ARGUMENTS = (0, ANY)
    IRRELEVANT: ClassVar[Mapping[str, str]] = {"*": ONE_PACKET}

    def configure(self, *arguments: str) -> None:
        """Check that packets pass: ACTIVE true, and no LIMIT."""
        for text in arguments:
            word, _, value = text.partition(" ")
            if word == "ACTIVE" and not truth("ACTIVE", value.strip()):
                raise InputError("an element that is not active lets no packets pass (supported: ACTIVE true)")
            if word == "LIMIT" and not value.strip().startswith("-"):
                raise InputError("a limit on packets is not supported (supported: LIMIT -1, none)")


class Align(_Passes):
    """Copies a packet to an aligned address."""


class SetTimestamp(_Passes):
    """Sets the timestamp annotation."""


class RED(_Passes):
    """Random early detection (Floyd and Jacobson, 1993); it never drops the single packet of a run."""


class BandwidthShaper(_Passes):
    """Limits the rate in bytes."""

    PROCESSING = "l/l"


class DelayShaper(BandwidthShaper):
    """Delays packets."""


class Unqueue(_Passes):
    """Pulls packets and pushes them."""

    PROCESSING = "l/h"


class LinkUnqueue(Unqueue):
    """Unqueue with the delay and the rate of a link."""


class RatedSplitter(_Passes):
    """Sends packets above a rate to output 1; a single packet never is."""

    OUTPUTS, PROCESSING = (1, 2), "h/h"


class StrideSched(PrioSched):
    """Pulls from its inputs in proportion to tickets: `StrideSched(1, 2)`."""

    ARGUMENTS, IRRELEVANT = (1, ANY), {"*": ONE_PACKET}


class _Says(Element):
    """Base of information elements, which receive no packets."""

    INPUTS, OUTPUTS, ARGUMENTS, DECLARES = (0, 0), (0, 0), (0, ANY), True


class AddressInfo(_Says):
    """Defines names of addresses; see names.py."""

    def configure(self, *arguments: str) -> None:
        """Check the entries `NAME ADDRESS...`: addresses, prefixes and MACs."""
        for entry in arguments:
            name, *values = entry.split() or [""]
            if not values:
                raise InputError(f"an entry is NAME ADDRESS..., got {name!r}")
            for value in values:
                with told_at(repr(entry)):
                    if value.count(":") + value.count("-") == 5:
                        mac(value)
                    elif "/" in value:
                        prefix(value)
                    else:
                        address(value)


class IPRewriterPatterns(_Says):
    """Defines named patterns; see rewriter.py."""

    def configure(self, *arguments: str) -> None:
        """Check the entries `NAME SADDR SPORT DADDR DPORT`; rewriters read their values."""
        for entry in arguments:
            if len(entry.split()) != 5:
                raise InputError(f"an entry is NAME SADDR SPORT DADDR DPORT, got {entry!r}")


class ScheduleInfo(_Says):
    """The scheduling tickets of elements."""

    IRRELEVANT: ClassVar[Mapping[str, str]] = {"*": ONE_PACKET}


class ClickyInfo(_Says):
    """Drawing properties of a graph."""

    IRRELEVANT: ClassVar[Mapping[str, str]] = {"*": "how a graph is drawn"}


class Script(_Says):
    """A script of handlers; it is not run."""

    IRRELEVANT: ClassVar[Mapping[str, str]] = {"*": "what handlers do at which time; no time passes in a run"}

    def configure(self, *arguments: str) -> None:
        """Raise InputError for a handler written before any packet, which could change any element."""
        for text in arguments:
            word, _, handler = text.strip().partition(" ")
            if word in ("write", "writeq") and handler.strip() != "stop":
                raise InputError(f"handlers cannot be written before packets come, got {text.strip()!r}")
            if word in ("wait", "wait_for", "wait_time", "wait_step", "wait_stop", "pause", "stop", "end", "exit"):
                return
