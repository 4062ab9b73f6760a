"""Parses, checks and writes the options of an IPv4 header (RFC 791 section 3.1, RFC 2113).

A fault is the offset in the header of the wrong octet, to which a Parameter Problem points (RFC 792).
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from npexplore._kernels import golden_options as kernels
from npexplore.golden.columns import Packets
from npexplore.golden.ipv4.header import SHORTEST, with_checksum

END, NOP, RECORD_ROUTE, TIMESTAMP, LOOSE_ROUTE, STRICT_ROUTE, ROUTER_ALERT = 0, 1, 7, 68, 131, 137, 148
ONCE = {RECORD_ROUTE, TIMESTAMP, LOOSE_ROUTE, STRICT_ROUTE}  # "appears at most once in a datagram"
TS_ONLY, TS_ADDRESS, TS_PRESPECIFIED = 0, 1, 3  # flags of the timestamp option


class Option(NamedTuple):
    """One option: its type, the offset of its first octet in the header, all its octets."""

    kind: int
    offset: int
    octets: bytes

    @property
    def copied(self) -> bool:
        """Whether every fragment carries the option: the first bit of its type (the copied flag)."""
        return self.kind >= 128


class Options(NamedTuple):
    """The options of a header up to the first fault; `pointer`: offset of the wrong octet, None without a fault."""

    options: tuple[Option, ...]
    pointer: int | None

    def find(self, *kinds: int) -> Option | None:
        """Return the first option of one of these kinds, None without one."""
        return next((option for option in self.options if option.kind in kinds), None)


def raw_options(packet: bytes) -> list[bytes]:
    """Return the octets of each option except No Operation, up to the first wrong length, without further checks."""
    length = min(4 * (packet[0] & 15), len(packet)) if packet else 0
    options: list[bytes] = []
    at = SHORTEST
    while at < length and packet[at] != END:
        size = 1 if packet[at] == NOP else packet[at + 1] if at + 1 < length else 0
        if at + size > length or (size < 2 and packet[at] != NOP):
            break
        if packet[at] != NOP:
            options.append(packet[at : at + size])
        at += size
    return options


def read_options(packet: bytes) -> Options:
    """Return the options of a validated packet, up to the first fault."""
    length = min(4 * (packet[0] & 15), len(packet)) if packet else 0
    options: list[Option] = []
    at = SHORTEST
    while at < length and packet[at] != END:
        if packet[at] == NOP:
            options.append(Option(NOP, at, packet[at : at + 1]))
            at += 1
            continue
        size = packet[at + 1] if at + 1 < length else 0
        if size < 2 or at + size > length:
            return Options(tuple(options), at)
        option = Option(packet[at], at, packet[at : at + size])
        wrong_octet = _fault(option, options)
        if wrong_octet is not None:
            return Options(tuple(options), at + wrong_octet)
        options.append(option)
        at += size
    return Options(tuple(options), None)


def option_fault(packet: bytes) -> int:
    """Return the offset in the header of the first wrong octet of the options, -1 for none."""
    pointer = read_options(packet).pointer
    return -1 if pointer is None else pointer


def option_faults(packets: Packets) -> NDArray[np.int16]:
    """Return the offset of the first wrong octet of each packet's options, -1 for none."""
    out = np.empty(len(packets), np.int16)
    kernels.faults(packets.buffer, packets.offset, packets.length, out)
    return out


def _fault(option: Option, before: list[Option]) -> int | None:
    """Return the index of an option's wrong octet: 0 type, 1 length, 2 pointer, 3 overflow and flags; None for none."""
    kind, octets = option.kind, option.octets
    exclusive_kinds = {LOOSE_ROUTE, STRICT_ROUTE} if kind in (LOOSE_ROUTE, STRICT_ROUTE) else {kind}
    if kind in ONCE and any(earlier.kind in exclusive_kinds for earlier in before):
        return 0
    if kind in (RECORD_ROUTE, LOOSE_ROUTE, STRICT_ROUTE):
        if len(octets) < 3:
            return 1
        if octets[2] < 4:
            return 2
        # a slot that is smaller than an address is an error if it is still to be written
        return 2 if kind == RECORD_ROUTE and len(octets) - 3 < octets[2] <= len(octets) else None
    if kind == TIMESTAMP:
        return _timestamp_fault(octets)
    if kind == ROUTER_ALERT and len(octets) < 4:
        return 1
    return None


def _timestamp_fault(octets: bytes) -> int | None:
    """Return the index of a timestamp option's wrong octet, None without a fault."""
    if len(octets) < 4:
        return 1
    flag, overflow = octets[3] & 15, octets[3] >> 4
    if octets[2] < 5:
        return 2
    if flag not in (TS_ONLY, TS_ADDRESS, TS_PRESPECIFIED):
        return 3
    if octets[2] > len(octets):
        return 3 if overflow == 15 and flag != TS_PRESPECIFIED else None
    return 2 if octets[2] + (4 if flag == TS_ONLY else 8) - 1 > len(octets) else None


class SourceRoute(NamedTuple):
    """The state of a source route: strict or loose, and the next address, None at its end."""

    strict: bool
    next_hop: int | None
    pointer: int | None  # offset of the wrong octet, None without a fault


def next_of_source_route(packet: bytes, options: Options) -> SourceRoute | None:
    """Return the next address of a source route whose current address is this router; None without a source route.

    For packets whose destination is an address of the router (RFC 791 section 3.1, RFC 1812 section 5.2.4.1).
    """
    route = options.find(LOOSE_ROUTE, STRICT_ROUTE)
    if route is None:
        return None
    strict = route.kind == STRICT_ROUTE
    at = route.octets[2]
    if at > len(route.octets):
        return SourceRoute(strict, None, None)
    if at + 3 > len(route.octets):
        return SourceRoute(strict, None, route.offset + 2)
    return SourceRoute(strict, int.from_bytes(route.octets[at - 1 : at + 3], "big"), None)


def forward_options(
    packet: bytes,
    options: Options,
    address: int,
    own: "frozenset[int] | set[int]",
    time_ms: int,
    *,
    follow: bool = False,
) -> bytes:
    """Return the packet with its options updated by this router, and its new checksum.

    address: of the outgoing port, recorded in routes and timestamps. own: all addresses of the router, for prespecified
    timestamps. time_ms: milliseconds since midnight UT. follow: advance the source route; the destination becomes its
    next address. The options must have no fault that `read_options` reports.
    """
    header = bytearray(packet[: 4 * (packet[0] & 15)])
    address_octets = address.to_bytes(4, "big")
    for option in options.options:
        start, size = option.offset, len(option.octets)
        if option.kind == RECORD_ROUTE and header[start + 2] <= size:
            _write(header, start, address_octets)
        elif follow and option.kind in (LOOSE_ROUTE, STRICT_ROUTE) and header[start + 2] + 3 <= size:
            at = start + header[start + 2] - 1
            header[16:20] = header[at : at + 4]
            _write(header, start, address_octets)
        elif option.kind == TIMESTAMP:
            _stamp(header, option, address_octets, own, (time_ms % 86_400_000).to_bytes(4, "big"))
    return with_checksum(bytes(header) + packet[len(header) :])


def _write(header: bytearray, start: int, octets: bytes) -> None:
    at = start + header[start + 2] - 1
    header[at : at + len(octets)] = octets
    header[start + 2] += len(octets)


def _stamp(header: bytearray, option: Option, here: bytes, own: "frozenset[int] | set[int]", time: bytes) -> None:
    """Write this router's timestamp into the next slot of an option, or increment its overflow counter."""
    start, flag = option.offset, option.octets[3] & 15
    pointer = header[start + 2]
    if pointer > len(option.octets):
        if flag != TS_PRESPECIFIED:
            header[start + 3] += 0x10  # overflow: another router without a free slot
    elif flag == TS_ONLY:
        _write(header, start, time)
    elif flag == TS_ADDRESS:
        _write(header, start, here + time)
    else:
        at = start + pointer - 1
        if int.from_bytes(header[at : at + 4], "big") in own:
            _write(header, start, bytes(header[at : at + 4]) + time)


def reversed_source_route(packet: bytes, options: Options) -> tuple[int, bytes]:
    """Return the destination and the option of the reversed source route, by its recorded hops.

    Without recorded hops: the source, and no option (RFC 1812 section 4.3.2.6, RFC 1122 section 3.2.1.8).
    """
    source = packet[12:16]
    route = options.find(LOOSE_ROUTE, STRICT_ROUTE)
    recorded = route.octets[3 : route.octets[2] - 1] if route else b""
    hops = [recorded[i : i + 4] for i in range(0, len(recorded) - 3, 4)][::-1]
    if not route or not hops:
        return int.from_bytes(source, "big"), b""
    addresses = b"".join([*hops[1:], source])
    return int.from_bytes(hops[0], "big"), bytes([route.kind, 3 + len(addresses), 4]) + addresses
