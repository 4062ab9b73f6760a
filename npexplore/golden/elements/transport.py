"""Elements on what IP carries: addresses set and noted, UDP put around, ends mirrored, checksums, pings answered."""

from __future__ import annotations

from dataclasses import replace

from npexplore.golden.checksum import internet_checksum
from npexplore.golden.elements.base import Element, Out, Pack, address, limited, number, truth
from npexplore.golden.elements.plain import Print
from npexplore.golden.elements.sources import message
from npexplore.golden.ipv4.header import with_checksum, write_packet
from npexplore.golden.reasons import Reason

ICMP, TCP, UDP = 1, 6, 17
CHECKSUM_AT = {TCP: 16, UDP: 6}


def summed(packet: bytes) -> bytes:
    """Return a packet with the right checksum of TCP or UDP (RFC 768, RFC 9293 section 3.1); pieces as they are.

    A UDP checksum of 0, none, stays.
    """
    start, protocol = 4 * (packet[0] & 15), packet[9]
    at = start + CHECKSUM_AT.get(protocol, 0)
    piece = (packet[6] << 8 | packet[7]) & 0x3FFF
    if at == start or piece or len(packet) < at + 2:
        return packet
    body = packet[start:at] + bytes(2) + packet[at + 2 :]
    pseudo = packet[12:20] + bytes([0, protocol]) + len(body).to_bytes(2, "big")
    value = internet_checksum(pseudo + body)
    return packet[:at] + (value or 0xFFFF if protocol == UDP else value).to_bytes(2, "big") + packet[at + 2 :]


class IPPrint(Print):
    """Passes packets on and prints nothing: the recorded path of a packet shows the same."""


class SetIPAddress(Element):
    """Notes an address as the one to send to: `SetIPAddress(10.0.0.1)`."""

    ARGUMENTS = (1, 1)

    def configure(self, *arguments: str) -> None:
        """The address."""
        self.address = address(arguments[0])

    def take(self, pack: Pack, port: int) -> Out:
        """The packet with its target."""
        return [(0, replace(pack, target=self.address))]


class StoreIPAddress(Element):
    """Writes an address at an offset, the noted one unless told: `StoreIPAddress(10.0.0.1, 12)`."""

    ARGUMENTS = (1, 2)

    def configure(self, *arguments: str) -> None:
        """The address and the offset."""
        self.address = address(arguments[0]) if len(arguments) > 1 else None
        self.offset = number(arguments[-1])

    def take(self, pack: Pack, port: int) -> Out:
        """The packet with the address in it; its checksums are still those of before."""
        value = pack.target if self.address is None else self.address
        data = pack.data[: self.offset] + value.to_bytes(4, "big") + pack.data[self.offset + 4 :]
        return [(0, replace(pack, data=data[: max(len(pack.data), self.offset + 4)]))]


class SetTCPChecksum(Element):
    """Computes the checksum of TCP anew."""

    PROTOCOL = TCP

    def take(self, pack: Pack, port: int) -> Out:
        """The packet; one of another protocol as it is."""
        right = len(pack.data) >= 20 and pack.data[9] == self.PROTOCOL
        return [(0, replace(pack, data=summed(pack.data)) if right else pack)]


class SetUDPChecksum(SetTCPChecksum):
    """The same for UDP."""

    PROTOCOL = UDP


class UDPIPEncap(Element):
    """Puts headers of IP and UDP in front: `UDPIPEncap(SOURCE, SPORT, DESTINATION, DPORT)`."""

    ARGUMENTS = (4, 5)

    def configure(self, *arguments: str) -> None:
        """Both ends; whether there is a checksum, which there is unless the fifth or CHECKSUM says no."""
        self.source, self.destination = address(arguments[0]), address(arguments[2])
        self.ports = b"".join(limited("a port", arguments[k], 0xFFFF).to_bytes(2, "big") for k in (1, 3))
        self.sums = truth("CHECKSUM", self.said.value("CHECKSUM", arguments[4] if len(arguments) > 4 else "true"))

    def take(self, pack: Pack, port: int) -> Out:
        """The packet."""
        udp = self.ports + (8 + len(pack.data)).to_bytes(2, "big") + bytes(2) + pack.data
        made = write_packet(self.source, self.destination, udp, protocol=UDP)
        return [(0, replace(pack, data=summed(made) if self.sums else made, target=self.destination))]


class IPMirror(Element):
    """Sends back: source and destination change places, of ports too."""

    def take(self, pack: Pack, port: int) -> Out:
        """The packet; sums do not notice."""
        data = pack.data
        start = 4 * (data[0] & 15) if data else 0
        turned = data[:12] + data[16:20] + data[12:16] + data[20:]
        if turned[9:10] in (bytes([TCP]), bytes([UDP])) and not (data[6] << 8 | data[7]) & 0x1FFF:
            turned = turned[:start] + data[start + 2 : start + 4] + data[start : start + 2] + data[start + 4 :]
        return [(0, replace(pack, data=turned, target=int.from_bytes(turned[16:20], "big")))]


class ICMPPingResponder(Element):
    """Answers echo requests (RFC 792); all else leaves by output 1."""

    OUTPUTS, PROCESSING, ARGUMENTS = (1, 2), "a/ah", (0, 0)

    def take(self, pack: Pack, port: int) -> Out:
        """The reply."""
        data = pack.data
        start = 4 * (data[0] & 15) if data else 0
        if data[9:10] != bytes([ICMP]) or data[start : start + 1] != b"\x08":
            return [(1, pack) if self.outputs > 1 else (-1, replace(pack, reason=Reason.LOCAL_DELIVERY))]
        head = with_checksum(data[:12] + data[16:20] + data[12:16] + data[20:start])
        return [
            (0, replace(pack, data=head + message(0, data[start + 4 :]), target=int.from_bytes(data[12:16], "big")))
        ]
