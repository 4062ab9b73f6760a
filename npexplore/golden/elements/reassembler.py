"""IPReassembler: reassembles fragments of IPv4 packets (RFC 791 section 3.2) as Click does."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from npexplore.golden.elements.base import Element, Out, Pack
from npexplore.golden.ipv4.header import with_checksum
from npexplore.golden.reasons import Reason

LARGEST = 0xFFFF
OTHER_FLAGS, MORE = 0xC000, 0x2000  # reserved and DF


@dataclass
class _Held:
    """The fragments of one packet: data, received octets as flags, whether the last one came, the first one."""

    flags: int
    data: bytearray = field(default_factory=bytearray)
    there: bytearray = field(default_factory=bytearray)
    ended: bool = False
    first: Pack | None = None


class IPReassembler(Element):
    """Returns reassembled packets, with the IP and link headers of the first fragment (offset 0).

    Where fragments overlap, the later arrival wins. No time passes in a run: fragments wait without limit.
    """

    STORES = True

    def configure(self, *arguments: str) -> None:
        """Begin without fragments."""
        self.held: dict[bytes, _Held] = {}

    def take(self, pack: Pack, port: int) -> Out:
        """Return the packet when its last fragment arrives; unfragmented packets pass."""
        packet = pack.packet
        if len(packet) < 20:
            return [(-1, replace(pack, reason=Reason.TOO_SHORT))]
        fragment_word = packet[6] << 8 | packet[7]
        if not fragment_word & 0x3FFF:
            return [(0, pack)]
        header, start = 4 * (packet[0] & 15), 8 * (fragment_word & 0x1FFF)
        data = packet[header : packet[2] << 8 | packet[3]]
        end, more_fragments = start + (packet[2] << 8 | packet[3]) - header, bool(fragment_word & MORE)
        if end > LARGEST or end <= start or (end % 8 and more_fragments) or len(data) < end - start:
            return [(-1, replace(pack, reason=Reason.BAD_TOTAL_LENGTH))]
        key = packet[4:6] + packet[9:10] + packet[12:20]
        datagram = self.held.setdefault(key, _Held(fragment_word & OTHER_FLAGS))
        if end > len(datagram.data):
            if datagram.ended:
                return [(-1, replace(pack, reason=Reason.BAD_TOTAL_LENGTH))]
            datagram.there += bytes(end - len(datagram.data))
            datagram.data += bytes(end - len(datagram.data))
        datagram.data[start:end] = data
        datagram.there[start:end] = b"\1" * (end - start)
        datagram.ended = datagram.ended or not more_fragments
        datagram.first = pack if start == 0 else datagram.first
        if not datagram.ended or datagram.first is None or 0 in datagram.there:
            return []
        del self.held[key]
        head = datagram.first.packet[: 4 * (datagram.first.packet[0] & 15)]
        length = len(head) + len(datagram.data)
        header_fields = head[:2] + length.to_bytes(2, "big") + head[4:6] + datagram.flags.to_bytes(2, "big") + head[8:]
        return [(0, datagram.first.with_packet(with_checksum(header_fields + bytes(datagram.data))))]
