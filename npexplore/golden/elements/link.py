"""Link elements: Ethernet and ARP (RFC 826), and the header of the on-chip switch matrix (SoCLIB NPU, Sec. 3.1)."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

from npexplore.errors import InputError
from npexplore.golden.elements.base import ANY, Element, Out, Pack, address, limited, number
from npexplore.golden.elements.ip import prefix
from npexplore.golden.elements.names import named
from npexplore.golden.elements.plain import ONE_PACKET
from npexplore.golden.ipv4.addresses import prefix_mask
from npexplore.golden.reasons import Reason

SWITCH_HEADER = 8  # bytes; `Strip(8)` takes them off again
BROADCAST = b"\xff" * 6
ARP_TYPE, REQUEST, REPLY = b"\x08\x06", 1, 2
_ARP = b"\x00\x01\x08\x00\x06\x04"


def mac(text: str) -> bytes:
    """Return a MAC of hexadecimal numbers joined by : or -, leading zeros or not; raises InputError."""
    parts = named(text, "mac").replace("-", ":").split(":")
    if len(parts) != 6 or not all(0 < len(part) < 3 and set(part.lower()) <= set("0123456789abcdef") for part in parts):
        raise InputError(f"MAC must be six bytes like 02:00:00:00:00:10, got {text!r}")
    return bytes(int(part, 16) for part in parts)


def _arp(operation: int, source: bytes, ip: int, to: bytes, target: int) -> bytes:
    """Return the body of an ARP packet."""
    return _ARP + operation.to_bytes(2, "big") + source + ip.to_bytes(4, "big") + to + target.to_bytes(4, "big")


class EtherEncap(Element):
    """Puts an Ethernet header in front: `EtherEncap(0x0800, SOURCE, DESTINATION)`."""

    ARGUMENTS, TIMED = (3, 3), "etherencap"

    POSITIONS: ClassVar[tuple[str, ...]] = ("ETHERTYPE", "SRC", "DST")

    def configure(self, *arguments: str) -> None:
        """Type, source and destination."""
        source, destination = (mac(text) for text in arguments[1:])
        self.header = destination + source + limited("the type of frames", arguments[0], 0xFFFF).to_bytes(2, "big")

    def take(self, pack: Pack, port: int) -> Out:
        """The frame."""
        return [(0, replace(pack, data=self.header + pack.data, network=len(self.header)))]


class SwitchEncap(Element):
    """Puts the matrix's header in front: 2 bytes of port, 2 of length, 4 of target. `SwitchEncap(PORT)`."""

    ARGUMENTS = (0, 1)

    def configure(self, *arguments: str) -> None:
        """The port of the matrix that it shall leave by."""
        self.port = number(arguments[0]) if arguments else 0

    def take(self, pack: Pack, port: int) -> Out:
        """The cell."""
        head = self.port.to_bytes(2, "big") + len(pack.data).to_bytes(2, "big") + pack.target.to_bytes(4, "big")
        return [(0, replace(pack, data=head + pack.data, network=pack.network + SWITCH_HEADER))]


class ARPResponder(Element):
    """Answers ARP requests for its addresses: `ARPResponder(10.0.0.1 02:00:00:00:00:01)`."""

    ARGUMENTS, PROCESSING, OUTPUTS, FREE = (1, ANY), "a/ah", (1, 2), True

    def configure(self, *arguments: str) -> None:
        """Entries `ADDRESS MAC`, `PREFIX MAC`, or a name of both."""
        self.known: list[tuple[int, int, bytes]] = []
        for text in arguments:
            *addresses, owner = text.split()
            if not addresses and named(owner, "mac") == owner:
                raise InputError(f"an entry is ADDRESS MAC, got {text!r}")
            for one in addresses or [owner]:
                value, length = prefix(one) if "/" in one else (address(one), 32)
                self.known.append((value, prefix_mask(length), mac(owner)))

    def owner(self, wanted: int) -> bytes | None:
        """Return the MAC to tell for an address."""
        return next((one for value, mask, one in self.known if not (value ^ wanted) & mask), None)

    def take(self, pack: Pack, port: int) -> Out:
        """The reply; other requests go by output 1."""
        body = pack.data[14:]
        wanted = int.from_bytes(body[24:28], "big")
        own = self.owner(wanted)
        if len(body) < 28 or int.from_bytes(body[6:8], "big") != REQUEST or own is None:
            return [(1, replace(pack, reason=Reason.OTHER_STATION))]
        asker = body[8:14]
        reply = asker + own + ARP_TYPE + _arp(REPLY, own, wanted, asker, int.from_bytes(body[14:18], "big"))
        return [(0, replace(pack, data=reply))]


class ARPQuerier(Element):
    """Puts IP packets (input 0) into frames; asks for MACs it does not know, and hears replies at input 1.

    Packets to a neighbour that is not known yet wait here, up to 64 of them; the oldest is dropped then.
    """

    INPUTS, OUTPUTS, PROCESSING, ARGUMENTS, TIMED = (1, 2), (1, 2), "h/h", (1, 2), "etherencap"
    STORES = True
    IRRELEVANT = dict.fromkeys(("TIMEOUT", "POLL_TIMEOUT"), ONE_PACKET)

    def configure(self, *arguments: str) -> None:
        """The port's address and MAC, or a name of both."""
        self.ip, self.mac = address(arguments[0]), mac(arguments[-1])
        self.known: dict[int, bytes] = {}
        self.waiting: list[Pack] = []

    def take(self, pack: Pack, port: int) -> Out:
        """The frame, or the question; at a reply all who waited for it."""
        if port == 1:
            body = pack.data[14:]
            self.known[int.from_bytes(body[14:18], "big")] = body[8:14]
            ready = [one for one in self.waiting if one.target in self.known]
            self.waiting = [one for one in self.waiting if one.target not in self.known]
            return [(0, self._framed(one)) for one in ready]
        if pack.target in self.known:
            return [(0, self._framed(pack))]
        self.waiting.append(pack)
        lost = [(-1, replace(self.waiting.pop(0), reason=Reason.NO_NEIGHBOUR))] if len(self.waiting) > 64 else []
        question = BROADCAST + self.mac + ARP_TYPE + _arp(REQUEST, self.mac, self.ip, bytes(6), pack.target)
        return [(0, Pack(question, pack.device)), *lost]

    def _framed(self, pack: Pack) -> Pack:
        header = self.known[pack.target] + self.mac + b"\x08\x00"
        return replace(pack, data=header + pack.data, network=len(header))
