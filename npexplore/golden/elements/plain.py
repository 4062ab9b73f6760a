"""Protocol-independent elements: devices and exits, queues, paint, copies, removal of bytes, byte patterns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import ClassVar

from npexplore.errors import InputError
from npexplore.golden.elements.base import ANY, Element, Out, Pack, limited, number, truth
from npexplore.golden.reasons import Reason

CAPTURING = "how a device hands packets over; a run begins with the packet"
ONE_PACKET = "a run follows one packet: amounts, rates and times do not show"


def stops(handler: str) -> None:
    """Raise InputError for a handler other than `stop`, which could change any element."""
    if handler != "stop":
        raise InputError(f"handlers are not run, got {handler!r} (supported: stop)")


class FromDevice(Element):
    """Frames received by a device: `FromDevice(eth0)`, optionally followed by promiscuous mode and burst."""

    INPUTS, PROCESSING, ARGUMENTS, TIMED = (0, 0), "/h", (1, 3), "acquisition"
    IRRELEVANT = dict.fromkeys(("SNIFFER", "PROMISC", "METHOD", "CAPTURE", "HEADROOM", "BURST", "TIMESTAMP"), CAPTURING)

    def configure(self, *arguments: str) -> None:
        """Read the device."""
        self.device = arguments[0]
        for text in arguments[1:2]:
            truth("promiscuous mode", text)
        for text in arguments[2:]:
            number(text)


class PollDevice(FromDevice):
    """A device that is polled, without interrupts."""


class FromSwitch(FromDevice):
    """Cells received from the switch matrix (SoCLIB NPU, Sec. 3.1)."""

    ARGUMENTS = (0, 1)

    def configure(self, *arguments: str) -> None:
        """Read the port of the matrix, default `switch`."""
        self.device = arguments[0] if arguments else "switch"


class ToDevice(Element):
    """Frames sent by a device: `ToDevice(eth0)`, optionally followed by a burst."""

    OUTPUTS, PROCESSING, ARGUMENTS, EXIT, TIMED = (0, 0), "l/", (1, 2), "device", "extraction"
    IRRELEVANT = dict.fromkeys(("BURST", "QUIET", "QUEUE", "DEBUG", "METHOD"), CAPTURING)

    def configure(self, *arguments: str) -> None:
        """Read the device."""
        self.device = arguments[0]
        for text in arguments[1:]:
            number(text)


class ToSwitch(ToDevice):
    """Cells sent to the switch matrix."""

    ARGUMENTS, EXIT = (0, 1), "switch"

    def configure(self, *arguments: str) -> None:
        """Read the port of the matrix, default `switch`."""
        self.device = arguments[0] if arguments else "switch"


class ToHost(Element):
    """Packets for the router itself."""

    OUTPUTS, PROCESSING, ARGUMENTS, EXIT = (0, 0), "a/", (0, ANY), "self"
    IRRELEVANT: ClassVar[Mapping[str, str]] = {"*": "which interface of the host takes it; packets end here"}


class ToMe(ToHost):
    """The same exit, as the SoCLIB paper names it."""


class Discard(Element):
    """Discards packets."""

    OUTPUTS, PROCESSING, EXIT = (0, 0), "a/", "discard"
    IRRELEVANT: ClassVar[Mapping[str, str]] = {"BURST": "how many are pulled at a time; packets end here"}

    def configure(self, *arguments: str) -> None:
        """Read ACTIVE, which must be true."""
        if not truth("ACTIVE", self.said.value("ACTIVE", "true")):
            raise InputError("a Discard that is not active takes no packets (supported: ACTIVE true)")


class Idle(Element):
    """Sends no packets and discards all that it receives."""

    INPUTS, OUTPUTS, PROCESSING, EXIT = (0, ANY), (0, ANY), "a/a", "discard"


class Queue(Element):
    """Stores packets between push and pull elements: `Queue(capacity)`."""

    PROCESSING, ARGUMENTS, STORES = "h/l", (0, 1), True

    def configure(self, *arguments: str) -> None:
        """Read the capacity in packets, default 1000."""
        self.capacity = number(self.said.value("CAPACITY", arguments[0] if arguments else "1000"))
        if self.capacity < 1:
            raise InputError(f"a queue holds at least 1 packet, got {self.capacity}")


class PrioSched(Element):
    """Pulls from its inputs in their order: strict priority."""

    INPUTS, PROCESSING = (1, ANY), "l/l"


class RoundRobinSched(PrioSched):
    """Pulls from its inputs in turn: round robin."""


class Tee(Element):
    """Sends a copy to each output: `Tee(2)`."""

    OUTPUTS, PROCESSING, ARGUMENTS = (1, ANY), "h/h", (0, 1)

    def configure(self, *arguments: str) -> None:
        """Read the number of outputs, default all connected ones."""
        text = self.said.value("N", arguments[0] if arguments else "")
        self.most = number(text) if text else ANY
        self.named_outputs, self.names_all = (self.most if text else 0), bool(text)

    def take(self, pack: Pack, port: int) -> Out:
        """Return a copy for each output."""
        return [(k, pack) for k in range(min(self.outputs, self.most))]


class Print(Element):
    """Passes packets on without printing: the recorded path of a packet shows the same."""

    ARGUMENTS = (0, ANY)
    IRRELEVANT: ClassVar[Mapping[str, str]] = {"*": "what is printed, which a run does not do"}


class Counter(Element):
    """Counts packets. COUNT_CALL and BYTE_COUNT_CALL may stop a run, which ends with its packet anyway."""

    count: int = 0

    def configure(self, *arguments: str) -> None:
        """Check the handlers that are called after a number of packets or bytes."""
        for keyword in ("COUNT_CALL", "BYTE_COUNT_CALL"):
            limit, _, handler = self.said.value(keyword, "0 stop").partition(" ")
            number(limit)
            stops(handler.strip())

    def take(self, pack: Pack, port: int) -> Out:
        """Count the packet and pass it on."""
        self.count += 1
        return [(0, pack)]


class Paint(Element):
    """Sets the paint annotation of a packet: `Paint(1)`."""

    ARGUMENTS, TIMED = (1, 1), "paint"

    POSITIONS: ClassVar[tuple[str, ...]] = ("COLOR",)

    def configure(self, *arguments: str) -> None:
        """Read the paint."""
        self.paint = limited("a paint", arguments[0], 255)

    def take(self, pack: Pack, port: int) -> Out:
        """Return the painted packet."""
        return [(0, replace(pack, paint=self.paint))]


class PaintTee(Paint):
    """Sends a copy of packets with this paint to output 1 (they would leave by their incoming port): `PaintTee(1)`."""

    OUTPUTS, PROCESSING, TIMED = (1, 2), "a/ah", "painttee"

    def take(self, pack: Pack, port: int) -> Out:
        """Return the packet, and the copy if output 1 is connected."""
        copy = [(1, pack)] if pack.paint == self.paint and self.outputs > 1 else []
        return [(0, pack), *copy]


class CheckPaint(PaintTee):
    """Passes packets with this paint; others leave by output 1, or are dropped if it is not connected."""

    def take(self, pack: Pack, port: int) -> Out:
        """Send the packet to an output by its paint."""
        if pack.paint == self.paint:
            return [(0, pack)]
        return [(1, pack) if self.outputs > 1 else (-1, replace(pack, reason=Reason.PROHIBITED))]


class Strip(Element):
    """Removes bytes from the front: `Strip(14)`."""

    ARGUMENTS, TIMED = (1, 1), "strip"

    POSITIONS: ClassVar[tuple[str, ...]] = ("LENGTH",)

    def configure(self, *arguments: str) -> None:
        """Read the number of bytes."""
        self.length = number(arguments[0])

    def take(self, pack: Pack, port: int) -> Out:
        """Return the packet without its first bytes; a shorter packet becomes empty."""
        return [(0, replace(pack, data=pack.data[self.length :], network=max(0, pack.network - self.length)))]


class CheckLength(Element):
    """Passes packets up to this number of bytes; longer ones leave by output 1, or are dropped: `CheckLength(1500)`."""

    OUTPUTS, PROCESSING, ARGUMENTS = (1, 2), "a/ah", (1, 1)

    POSITIONS: ClassVar[tuple[str, ...]] = ("LENGTH",)

    def configure(self, *arguments: str) -> None:
        """Read the maximum number of bytes."""
        self.most = number(arguments[0])

    def take(self, pack: Pack, port: int) -> Out:
        """Send the packet to an output by its length."""
        if len(pack.data) <= self.most:
            return [(0, pack)]
        return [(1, pack) if self.outputs > 1 else (-1, replace(pack, reason=Reason.FRAGMENTATION_NEEDED))]


class Classifier(Element):
    """Sends a packet to the output of the first matching pattern: `Classifier(12/0806 20/0001, 12/0800, -)`.

    A pattern is a list of clauses OFFSET/HEX or OFFSET/HEX%MASK; `?` is any digit; a clause with ! must not match.
    """

    OUTPUTS, PROCESSING, ARGUMENTS, TIMED = (1, ANY), "h/h", (1, ANY), "classifier"

    def configure(self, *arguments: str) -> None:
        """Read the patterns, one per output."""
        self.patterns = [[] if text == "-" else [_clause(word) for word in text.split()] for text in arguments]
        self.named_outputs, self.names_all = len(self.patterns), True

    def take(self, pack: Pack, port: int) -> Out:
        """Send the packet to the output of the first matching pattern; drop it if none matches."""
        for k, clauses in enumerate(self.patterns):
            if all(_fits(pack.data, *clause) for clause in clauses):
                return [(k, pack)]
        return [(-1, replace(pack, reason=Reason.NOT_IPV4))]


def _clause(word: str) -> tuple[int, bytes, bytes, bool]:
    """Parse a clause; return offset, value, mask, and whether the bytes must match."""
    must_match = not word.startswith("!")
    offset, slash, rest = word.lstrip("!").partition("/")
    value, _, mask = rest.partition("%")
    if not slash or len(value) % 2 or not value or (mask and len(mask) != len(value)):
        raise InputError(f"a pattern is OFFSET/HEX with whole bytes, got {word!r}")
    fixed = bytes.fromhex("".join("0" if digit == "?" else "f" for digit in value))
    mask_bytes = bytes(a & b for a, b in zip(fixed, bytes.fromhex(mask or "f" * len(value)), strict=True))
    compared = mask_bytes.rstrip(b"\0")  # as in Click, the packet may end behind the last compared byte
    return number(offset), bytes.fromhex(value.replace("?", "0"))[: len(compared)], compared, must_match


def _fits(data: bytes, offset: int, value: bytes, mask: bytes, wanted: bool) -> bool:
    """Say whether a packet satisfies a clause."""
    part = data[offset : offset + len(value)]
    matches = len(part) == len(value) and all(a & m == b & m for a, b, m in zip(part, value, mask, strict=True))
    return matches is wanted
