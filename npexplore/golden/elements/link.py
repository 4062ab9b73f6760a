"""Link elements: Ethernet and ARP (RFC 826), and the header of the on-chip switch matrix (SoCLIB NPU, Sec. 3.1)."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

from npexplore.errors import InputError
from npexplore.golden.elements.base import ANY, Element, Out, Pack, address, limited
from npexplore.golden.elements.ip import prefix
from npexplore.golden.elements.names import named
from npexplore.golden.elements.plain import ONE_PACKET
from npexplore.golden.ipv4.addresses import MAX_ADDRESS, prefix_mask
from npexplore.golden.reasons import Reason

SWITCH_HEADER = 8  # bytes; `Strip(8)` removes them
BROADCAST = b"\xff" * 6
ARP_TYPE, REQUEST, REPLY = b"\x08\x06", 1, 2
MAX_WAITING = 2048  # packets
GROUP_MAC = b"\x01\x00\x5e"
_ARP = b"\x00\x01\x08\x00\x06\x04"


def mac(text: str) -> bytes:
    """Return a MAC address from six hexadecimal numbers joined by : or -, leading zeros optional; raises InputError."""
    parts = named(text, "mac").replace("-", ":").split(":")
    if len(parts) != 6 or not all(0 < len(part) < 3 and set(part.lower()) <= set("0123456789abcdef") for part in parts):
        raise InputError(f"MAC must be six bytes like 02:00:00:00:00:10, got {text!r}")
    return bytes(int(part, 16) for part in parts)


def _arp(operation: int, source: bytes, ip: int, to: bytes, target: int) -> bytes:
    """Return the body of an ARP packet."""
    return _ARP + operation.to_bytes(2, "big") + source + ip.to_bytes(4, "big") + to + target.to_bytes(4, "big")


def _is_arp(frame: bytes, operation: int) -> bool:
    """Say whether a frame is a complete ARP message, of this operation, about IPv4 over Ethernet."""
    kind = frame[12:18] == ARP_TYPE + _ARP[:4]
    return kind and len(frame) >= 42 and int.from_bytes(frame[20:22], "big") == operation


class EtherEncap(Element):
    """Prepends an Ethernet header: `EtherEncap(0x0800, SOURCE, DESTINATION)`."""

    ARGUMENTS, TIMED = (3, 3), "etherencap"

    POSITIONS: ClassVar[tuple[str, ...]] = ("ETHERTYPE", "SRC", "DST")

    def configure(self, *arguments: str) -> None:
        """Read type, source and destination."""
        source, destination = (mac(text) for text in arguments[1:])
        self.header = destination + source + limited("the type of frames", arguments[0], 0xFFFF).to_bytes(2, "big")

    def take(self, pack: Pack, port: int) -> Out:
        """Return the frame."""
        return [(0, replace(pack, data=self.header + pack.data, network=len(self.header)))]


class SwitchEncap(Element):
    """Prepends the switch matrix's header: 2 bytes of port, 2 of length, 4 of target. `SwitchEncap(PORT)`."""

    ARGUMENTS = (0, 1)

    def configure(self, *arguments: str) -> None:
        """Read the matrix's output port."""
        self.port = limited("a port of the matrix", arguments[0], 0xFFFF) if arguments else 0

    def take(self, pack: Pack, port: int) -> Out:
        """Return the cell."""
        head = self.port.to_bytes(2, "big") + len(pack.data).to_bytes(2, "big") + pack.target.to_bytes(4, "big")
        return [(0, replace(pack, data=head + pack.data, network=pack.network + SWITCH_HEADER))]


class ARPResponder(Element):
    """Answers ARP requests for its addresses: `ARPResponder(10.0.0.1 02:00:00:00:00:01)`."""

    ARGUMENTS, PROCESSING, OUTPUTS, FREE = (1, ANY), "a/ah", (1, 2), True

    def configure(self, *arguments: str) -> None:
        """Read entries `ADDRESS MAC`, `PREFIX MAC`, or a name of both; of equal prefixes the last one wins."""
        mac_of_prefix: dict[tuple[int, int], bytes] = {}
        for text in arguments:
            *addresses, owner = text.split()
            if not addresses and named(owner, "mac") == owner:
                raise InputError(f"an entry is ADDRESS MAC, got {text!r}")
            for text_of_prefix in addresses or [owner]:
                value, length = prefix(text_of_prefix) if "/" in text_of_prefix else (address(text_of_prefix), 32)
                mac_of_prefix[value, length] = mac(owner)
        self.known = sorted(mac_of_prefix.items(), key=lambda entry: -entry[0][1])

    def owner(self, wanted: int) -> bytes | None:
        """Return the MAC address of the longest matching prefix, None if no prefix matches."""
        return next((mac for (value, size), mac in self.known if not (value ^ wanted) & prefix_mask(size)), None)

    def take(self, pack: Pack, port: int) -> Out:
        """Return the reply; requests for other addresses leave by output 1."""
        body = pack.data[14:]
        target = int.from_bytes(body[24:28], "big")
        own_mac = self.owner(target)
        if not _is_arp(pack.data, REQUEST) or own_mac is None:
            return [(1, replace(pack, reason=Reason.OTHER_STATION))]
        asker = body[8:14]
        reply = asker + own_mac + ARP_TYPE + _arp(REPLY, own_mac, target, asker, int.from_bytes(body[14:18], "big"))
        return [(0, replace(pack, data=reply))]


class ARPQuerier(Element):
    """Puts IP packets (input 0) into frames; sends requests for unknown MACs, and receives replies at input 1.

    Packets to an unknown neighbour wait; the first causes a request by the last output. If 2048 packets wait, half of
    them are dropped, those to the neighbours requested first. Multicasts and packets to the broadcast address of the
    network (`ARPQuerier(10.0.0.1/24, MAC)`, BROADCAST) need no request.
    """

    INPUTS, OUTPUTS, PROCESSING, ARGUMENTS, TIMED = (1, 2), (1, 2), "h/h", (1, 2), "etherencap"
    STORES = True
    IRRELEVANT = dict.fromkeys(("TIMEOUT", "POLL_TIMEOUT", "BROADCAST_POLL"), ONE_PACKET)

    def configure(self, *arguments: str) -> None:
        """Read the port's address, with or without its prefix length, and MAC address, or a name of both."""
        self.ip, self.mac = address(named(arguments[0], "ip").partition("/")[0]), mac(arguments[-1])
        network = prefix(arguments[0])[1] if "/" in arguments[0] else 32
        computed = self.ip | MAX_ADDRESS & ~prefix_mask(network)
        broadcast = self.said.value("BROADCAST", "")
        self.everybody = address(broadcast) if broadcast else computed if computed != self.ip else MAX_ADDRESS
        self.known: dict[int, bytes] = {}
        self.waiting: dict[int, list[Pack]] = {}

    def take(self, pack: Pack, port: int) -> Out:
        """Return the frame, or the request; for a reply all packets that waited for it."""
        if port == 1:
            body = pack.data[14:]
            if not _is_arp(pack.data, REPLY) or body[8] & 1:
                return [(-1, replace(pack, reason=Reason.OTHER_STATION))]
            neighbour = int.from_bytes(body[14:18], "big")
            self.known[neighbour] = body[8:14]
            return [(0, self._framed(waiting_pack, body[8:14])) for waiting_pack in self.waiting.pop(neighbour, [])]
        station = self._station(pack.target)
        if station is not None:
            return [(0, self._framed(pack, station))]
        if not pack.target:
            return [(-1, replace(pack, reason=Reason.NO_NEIGHBOUR))]
        is_first = pack.target not in self.waiting
        self.waiting.setdefault(pack.target, [])
        dropped = self._dropped() if sum(map(len, self.waiting.values())) >= MAX_WAITING else []
        self.waiting[pack.target].append(pack)
        request = BROADCAST + self.mac + ARP_TYPE + _arp(REQUEST, self.mac, self.ip, bytes(6), pack.target)
        return [*([(self.outputs - 1, Pack(request, pack.device))] if is_first else []), *dropped]

    def _station(self, target: int) -> bytes | None:
        """Return the MAC of a known neighbour, multicast (RFC 1112 section 6.4) or broadcast address, else None."""
        if target in self.known:
            return self.known[target]
        if target in (MAX_ADDRESS, self.everybody):
            return BROADCAST
        return GROUP_MAC + (target & 0x7FFFFF).to_bytes(3, "big") if target >> 28 == 14 else None

    def _dropped(self) -> list[tuple[int, Pack]]:
        """Remove half of the waiting packets from the queues; return them, marked as dropped."""
        dropped: list[tuple[int, Pack]] = []
        for queue in self.waiting.values():
            while queue and len(dropped) <= MAX_WAITING // 2:
                dropped.append((-1, replace(queue.pop(0), reason=Reason.NO_NEIGHBOUR)))
        return dropped

    def _framed(self, pack: Pack, to: bytes) -> Pack:
        header = to + self.mac + b"\x08\x00"
        return replace(pack, data=header + pack.data, network=len(header))
