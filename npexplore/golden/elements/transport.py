"""Elements on IP and its transport protocols: set addresses, encapsulate in UDP, mirror packets, checksums."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

from npexplore.golden.checksum import internet_checksum, update_checksum
from npexplore.golden.elements.base import Element, Out, Pack, address, limited, number, truth
from npexplore.golden.elements.ip import ADDRESS_AT
from npexplore.golden.elements.plain import Print
from npexplore.golden.ipv4.header import write_packet
from npexplore.golden.ipv4.options import LOOSE_ROUTE, STRICT_ROUTE, raw_options
from npexplore.golden.reasons import Reason

TCP, UDP = 6, 17
TCP_HEADER, UDP_HEADER = 20, 8  # bytes
ENCAPSULATED_TTL = 250
SOURCE_ROUTES = (LOOSE_ROUTE, STRICT_ROUTE)
CHECKSUM_AT = {TCP: 16, UDP: 6}


def first_piece(packet: bytes) -> bool:
    """Say whether a packet is unfragmented or the first fragment."""
    return not (packet[6] << 8 | packet[7]) & 0x1FFF


def updated(packet: bytes, old: bytes, new: bytes) -> bytes:
    """Return an IP packet after its addresses or ports `old` became `new`, with updated TCP or UDP checksum (RFC 1624).

    A wrong checksum stays wrong. A UDP checksum of 0 (none) stays, and so does one that is cut off.
    """
    start, protocol = 4 * (packet[0] & 15), packet[9]
    at = start + CHECKSUM_AT.get(protocol, 0)
    if at == start or not first_piece(packet) or len(packet) < at + 2:
        return packet
    total = packet[at] << 8 | packet[at + 1]
    if (protocol == UDP and not total) or old == new:
        return packet
    for k in range(0, len(old), 2):
        total = update_checksum(total, old[k] << 8 | old[k + 1], new[k] << 8 | new[k + 1])
    return packet[:at] + total.to_bytes(2, "big") + packet[at + 2 :]


def header_updated(packet: bytes, old: bytes, new: bytes) -> bytes:
    """Return the packet with the IP header's checksum updated in this way."""
    total = packet[10] << 8 | packet[11]
    for k in range(0, len(old), 2):
        if old != new:
            total = update_checksum(total, old[k] << 8 | old[k + 1], new[k] << 8 | new[k + 1])
    return packet[:10] + total.to_bytes(2, "big") + packet[12:]


def last_destination(packet: bytes) -> bytes:
    """Return the final destination of a packet: the last address of a source route, if there is one."""
    for octets in raw_options(packet):
        if octets[0] in SOURCE_ROUTES and len(octets) >= 7:
            return octets[-4:]
    return packet[16:20]


def summed(packet: bytes, length: int, protocol: int) -> bytes:
    """Return an IP packet with the TCP or UDP checksum over `length` bytes (RFC 768, RFC 9293 section 3.1).

    The pseudo header of a source-routed packet has its final destination.
    """
    start = 4 * (packet[0] & 15)
    at = start + CHECKSUM_AT[protocol]
    body = (packet[start:at] + bytes(2) + packet[at + 2 :])[:length]
    ends = packet[12:16] + last_destination(packet)
    value = internet_checksum(ends + bytes([0, protocol]) + length.to_bytes(2, "big") + body)
    return packet[:at] + (value or 0xFFFF if protocol == UDP else value).to_bytes(2, "big") + packet[at + 2 :]


class IPPrint(Print):
    """Passes packets on without printing: the recorded path of a packet shows the same."""


class SetIPAddress(Element):
    """Sets the destination annotation to an address: `SetIPAddress(10.0.0.1)`."""

    ARGUMENTS = (1, 1)

    POSITIONS: ClassVar[tuple[str, ...]] = ("IPADDR",)

    def configure(self, *arguments: str) -> None:
        """Read the address."""
        self.address = address(arguments[0])

    def take(self, pack: Pack, port: int) -> Out:
        """Return the packet with its target."""
        return [(0, replace(pack, target=self.address))]


class StoreIPAddress(Element):
    """Writes an address at an offset, default the destination annotation: `StoreIPAddress(10.0.0.1, 12)`.

    `src` and `dst` as offsets are the fields of the IP header; checksums are then updated. Packets too short for the
    address leave by output 1. An annotation of 0 is not written.
    """

    OUTPUTS, PROCESSING, ARGUMENTS = (1, 2), "a/ah", (1, 2)

    def configure(self, *arguments: str) -> None:
        """Read the address and the offset."""
        self.address = address(arguments[0]) if len(arguments) > 1 else None
        offset_text = arguments[-1].lower()
        self.field = ADDRESS_AT.get(offset_text)
        self.offset = number(offset_text) if self.field is None else 0

    def take(self, pack: Pack, port: int) -> Out:
        """Return the packet with the address written; checksums are updated only for `src` and `dst`."""
        value = (pack.target if self.address is None else self.address).to_bytes(4, "big")
        if self.field is not None:
            packet = pack.packet
            if len(packet) < 20:
                return [(1, replace(pack, reason=Reason.TOO_SHORT))]
            old_address = packet[self.field : self.field + 4]
            stored = packet[: self.field] + value + packet[self.field + 4 :]
            stored = header_updated(stored, old_address, value)
            has_short_tcp = stored[9] == TCP and len(stored) < 4 * (stored[0] & 15) + TCP_HEADER
            return [(0, pack.with_packet(stored if has_short_tcp else updated(stored, old_address, value)))]
        end = self.offset + 4
        if self.address is None and not pack.target:
            return [(0, pack)]
        if end > len(pack.data):
            return [(1, replace(pack, reason=Reason.TOO_SHORT))]
        return [(0, replace(pack, data=pack.data[: self.offset] + value + pack.data[end:]))]


class SetTCPChecksum(Element):
    """Computes the TCP checksum anew, over the IP packet's length; drops packets without a complete TCP header.

    FIXOFF true: a data offset below 5 words or beyond the packet's end is corrected first.
    """

    ARGUMENTS = (0, 1)

    def configure(self, *arguments: str) -> None:
        """Read FIXOFF, by position or by keyword."""
        self.fixes = truth("FIXOFF", self.said.value("FIXOFF", arguments[0] if arguments else "false"))

    def take(self, pack: Pack, port: int) -> Out:
        """Return the packet; a packet of another protocol is unchanged."""
        packet = pack.packet
        if len(packet) < 20 or packet[9] != TCP:
            return [(0, pack)]
        start = 4 * (packet[0] & 15)
        length = (packet[2] << 8 | packet[3]) - start
        if not TCP_HEADER <= length <= len(packet) - start:
            return [(-1, replace(pack, reason=Reason.TOO_SHORT))]
        words, reserved = packet[start + 12] >> 4, packet[start + 12] & 15
        if self.fixes and words < TCP_HEADER // 4:
            words = TCP_HEADER // 4
        elif self.fixes and 4 * words > length and not (packet[6] << 8 | packet[7]) & 0x3FFF:
            words = length // 4
        packet = packet[: start + 12] + bytes([words << 4 | reserved]) + packet[start + 13 :]
        return [(0, pack.with_packet(summed(packet, length, TCP)))]


class SetUDPChecksum(Element):
    """Computes the UDP checksum anew, over the UDP header's length; fragments and short packets leave by output 1."""

    OUTPUTS, PROCESSING = (1, 2), "a/ah"

    def take(self, pack: Pack, port: int) -> Out:
        """Return the packet; a packet of another protocol is unchanged."""
        packet = pack.packet
        if len(packet) < 20 or packet[9] != UDP:
            return [(0, pack)]
        start = 4 * (packet[0] & 15)
        length = int.from_bytes(packet[start + 4 : start + 6], "big")
        if (packet[6] << 8 | packet[7]) & 0x3FFF or len(packet) - start < max(length, UDP_HEADER):
            return [(1, replace(pack, reason=Reason.TOO_SHORT))]
        return [(0, pack.with_packet(summed(packet, length, UDP)))]


class UDPIPEncap(Element):
    """Prepends IP and UDP headers: `UDPIPEncap(SOURCE, SPORT, DESTINATION, DPORT)`; DST_ANNO: the annotation."""

    ARGUMENTS = (4, 5)

    POSITIONS: ClassVar[tuple[str, ...]] = ("SRC", "SPORT", "DST", "DPORT")

    def configure(self, *arguments: str) -> None:
        """Read addresses, ports, and whether there is a UDP checksum (fifth argument or CHECKSUM, default true)."""
        self.source = address(arguments[0])
        self.destination = None if arguments[2] == "DST_ANNO" else address(arguments[2])
        self.ports = b"".join(limited("a port", arguments[k], 0xFFFF).to_bytes(2, "big") for k in (1, 3))
        self.sums = truth("CHECKSUM", self.said.value("CHECKSUM", arguments[4] if len(arguments) > 4 else "true"))
        self.identification = 0

    def take(self, pack: Pack, port: int) -> Out:
        """Return the packet."""
        udp = self.ports + (8 + len(pack.data)).to_bytes(2, "big") + bytes(2) + pack.data
        destination = pack.target if self.destination is None else self.destination
        packet_out = write_packet(
            self.source, destination, udp, protocol=UDP, ttl=ENCAPSULATED_TTL, identification=self.identification
        )
        self.identification = self.identification + 1 & 0xFFFF
        data = summed(packet_out, len(udp), UDP) if self.sums else packet_out
        return [(0, replace(pack, data=data, target=destination, network=0))]


class IPMirror(Element):
    """Mirrors packets: swaps source and destination addresses and ports, TCP's sequence and acknowledgement numbers.

    DST_ANNO false: the destination annotation is not set.
    """

    ARGUMENTS = (0, 1)

    def configure(self, *arguments: str) -> None:
        """Read DST_ANNO, by position or by keyword."""
        self.notes = truth("DST_ANNO", self.said.value("DST_ANNO", arguments[0] if arguments else "true"))

    def take(self, pack: Pack, port: int) -> Out:
        """Return the mirrored packet; swaps do not change checksums."""
        packet = pack.packet
        if len(packet) < 20:
            return [(-1, replace(pack, reason=Reason.TOO_SHORT))]
        start = 4 * (packet[0] & 15)
        mirrored = packet[:12] + packet[16:20] + packet[12:16] + packet[20:]
        body = mirrored[start:]
        if mirrored[9] in (TCP, UDP) and first_piece(packet) and len(body) >= 8:
            body = body[2:4] + body[:2] + body[4:]
            if mirrored[9] == TCP and len(body) >= 12:
                body = body[:4] + body[8:12] + body[4:8] + body[12:]
        target = int.from_bytes(packet[12:16], "big") if self.notes else pack.target
        return [(0, pack.with_packet(mirrored[:start] + body, target=target))]
