"""IPGWOptions after Click's manual: writes record-route and timestamp options (RFC 791 section 3.1) at the output."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

from npexplore.golden.elements.base import Element, Out, Pack, address
from npexplore.golden.ipv4.header import with_checksum
from npexplore.golden.reasons import Reason

END, NOP, RECORD_ROUTE, TIMESTAMP = 0, 1, 7, 68
STAMPS, WITH_ADDRESSES, PRESPECIFIED = 0, 1, 3  # flags of the time stamp option
NOON = bytes(4)  # timestamp 0: no time passes in a run


class _WrongOctetError(Exception):
    """Its argument is the offset of the wrong octet of an option."""


class IPGWOptions(Element):
    """Writes its address into record-route and timestamp options; faults leave by output 1. Source routes stay."""

    OUTPUTS, PROCESSING, ARGUMENTS, TIMED = (1, 2), "a/ah", (1, 2), "ipgwoptions"

    POSITIONS: ClassVar[tuple[str, ...]] = ("MYADDR",)

    def configure(self, *arguments: str) -> None:
        """Read the router's address on this link, and its other addresses."""
        self.address = address(arguments[0]).to_bytes(4, "big")
        others = self.said.value("OTHERADDRS", arguments[1] if len(arguments) > 1 else "").split()
        self.own = {self.address, *(address(text).to_bytes(4, "big") for text in others)}

    def take(self, pack: Pack, port: int) -> Out:
        """Return the packet with its options written; a packet with a faulty option leaves by output 1."""
        packet = pack.packet
        length = min(4 * (packet[0] & 15), len(packet)) if packet else 0
        written, at, changed = bytearray(packet), 20, False
        try:
            while at < length and packet[at] != END:
                if packet[at] == NOP:
                    at += 1
                    continue
                size = packet[at + 1] if at + 1 < length else 0
                if size < 2 or at + size > length:
                    raise _WrongOctetError(at + 1)
                if packet[at] in (RECORD_ROUTE, TIMESTAMP):
                    changed = True
                    self._write(written, at, size)
                at += size
        except _WrongOctetError as error:
            return [(1, replace(pack, reason=Reason.BAD_OPTION, pointer=error.args[0]))]
        return [(0, pack.with_packet(with_checksum(bytes(written))) if changed else pack)]

    def _write(self, packet: bytearray, at: int, size: int) -> None:
        """Write into the option of `size` bytes at offset `at`."""
        place = packet[at + 2] - 1 if size > 2 else -1  # offset of the next free slot in the option
        if packet[at] == RECORD_ROUTE:
            if place >= 3 and place + 4 <= size:
                packet[at + place : at + place + 4] = self.address
                packet[at + 2] += 4
            elif place != size:
                raise _WrongOctetError(at + 2)
            return
        if place < 4:
            raise _WrongOctetError(at + 2)
        overflow, flag = packet[at + 3] >> 4, packet[at + 3] & 15
        slot = {STAMPS: NOON, WITH_ADDRESSES: self.address + NOON}.get(flag)
        if slot is not None:
            if place + len(slot) <= size:
                packet[at + place : at + place + len(slot)] = slot
                packet[at + 2] += len(slot)
            elif overflow < 15:
                packet[at + 3] += 16
            else:
                raise _WrongOctetError(at + 3)
        elif flag == PRESPECIFIED and place + 8 <= size:
            if bytes(packet[at + place : at + place + 4]) in self.own:
                packet[at + place + 4 : at + place + 8] = NOON
                packet[at + 2] += 8
        else:
            raise _WrongOctetError(at + 3)
