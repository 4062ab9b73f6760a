"""IPReassembler: pieces of IPv4 packets are held until the packet is whole (RFC 791 section 3.2), as Click does it."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from npexplore.golden.elements.base import Element, Out, Pack
from npexplore.golden.ipv4.header import with_checksum
from npexplore.golden.reasons import Reason

LARGEST = 0xFFFF
OTHER_FLAGS, MORE = 0xC000, 0x2000  # reserved and DF


@dataclass
class _Held:
    """Pieces of one packet: data, which octets are there, whether the last piece came, the piece with offset 0."""

    flags: int
    data: bytearray = field(default_factory=bytearray)
    there: bytearray = field(default_factory=bytearray)
    ended: bool = False
    first: Pack | None = None


class IPReassembler(Element):
    """Gives whole packets: with the header, and what the link had in front, of the piece with offset 0.

    Where pieces overlap the later one counts. No time passes in a run: pieces wait for ever, in any number.
    """

    STORES = True

    def configure(self, *arguments: str) -> None:
        """Nothing waits yet."""
        self.held: dict[bytes, _Held] = {}

    def take(self, pack: Pack, port: int) -> Out:
        """The packet when it is whole."""
        packet = pack.packet
        if len(packet) < 20:
            return [(-1, replace(pack, reason=Reason.TOO_SHORT))]
        place = packet[6] << 8 | packet[7]
        if not place & 0x3FFF:
            return [(0, pack)]
        header, start = 4 * (packet[0] & 15), 8 * (place & 0x1FFF)
        data = packet[header : packet[2] << 8 | packet[3]]
        end, more = start + (packet[2] << 8 | packet[3]) - header, bool(place & MORE)
        if end > LARGEST or end <= start or (end % 8 and more) or len(data) < end - start:
            return [(-1, replace(pack, reason=Reason.BAD_TOTAL_LENGTH))]
        key = packet[4:6] + packet[9:10] + packet[12:20]
        one = self.held.setdefault(key, _Held(place & OTHER_FLAGS))
        if end > len(one.data):
            if one.ended:
                return [(-1, replace(pack, reason=Reason.BAD_TOTAL_LENGTH))]
            one.there += bytes(end - len(one.data))
            one.data += bytes(end - len(one.data))
        one.data[start:end] = data
        one.there[start:end] = b"\1" * (end - start)
        one.ended = one.ended or not more
        one.first = pack if start == 0 else one.first
        if not one.ended or one.first is None or 0 in one.there:
            return []
        del self.held[key]
        head = one.first.packet[: 4 * (one.first.packet[0] & 15)]
        length = len(head) + len(one.data)
        whole = head[:2] + length.to_bytes(2, "big") + head[4:6] + one.flags.to_bytes(2, "big") + head[8:]
        return [(0, one.first.with_packet(with_checksum(whole + bytes(one.data))))]
