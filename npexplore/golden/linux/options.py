"""IP options as in the Linux kernel: checked on arrival, completed when forwarded, echoed in ICMP errors.

tests/oracle has recordings of the kernel's IPv4 forwarding; docs/golden_reference.md lists its differences from RFC 791
and RFC 1812. Offsets are those of octets in the header.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from npexplore.golden.ipv4.options import (
    END,
    LOOSE_ROUTE,
    NOP,
    RECORD_ROUTE,
    ROUTER_ALERT,
    STRICT_ROUTE,
    TIMESTAMP,
    TS_ADDRESS,
    TS_ONLY,
    TS_PRESPECIFIED,
)

CIPSO = 134  # a security label; a kernel with NetLabel rejects unknown domains
SHORTEST_CIPSO = 8
SHORTEST = 20
COPIED = 128  # types from here on are copied into every fragment

Asked = Callable[[int], bool]  # whether the kernel stamps the time for this prespecified address


@dataclass
class KernelOptions:
    """The parsed options: offsets of handled options (0: absent), and the fields that are still to be written."""

    route: int = 0  # source route
    strict: bool = False
    record: int = 0
    record_address: bool = False
    stamp: int = 0
    stamp_time: bool = False
    stamp_address: bool = False
    cipso: int = 0
    hit: int | None = None  # next address of a source route that this router advances
    pointer: int | None = None  # offset of the wrong octet


def compile_options(header: bytearray, address: int, stamps: Asked, time_ms: int) -> KernelOptions:
    """Check the options of a header on arrival, and write the fields that are known already.

    address: the router's address towards the sender, recorded provisionally; stamps: see `Asked`.
    """
    options = KernelOptions()
    at, end = SHORTEST, len(header)
    while at < end:
        if header[at] == END:
            header[at:] = bytes(end - at)
            break
        if header[at] == NOP:
            at += 1
            continue
        size = header[at + 1] if at + 1 < end else 0
        if size < 2 or at + size > end:
            options.pointer = at
            return options
        wrong_octet = _compile(options, header, at, size, address, stamps, time_ms)
        if wrong_octet is not None:
            options.pointer = at + wrong_octet
            return options
        at += size
    return options


def _compile(
    options: KernelOptions, header: bytearray, at: int, size: int, address: int, stamps: Asked, time_ms: int
) -> int | None:
    """Process one option; return the index of its first wrong octet, None for none."""
    kind = header[at]
    if kind in (LOOSE_ROUTE, STRICT_ROUTE):
        if size < 3:
            return 1
        if header[at + 2] < 4:
            return 2
        if options.route:
            return 0
        options.route, options.strict = at, kind == STRICT_ROUTE
    elif kind == RECORD_ROUTE:
        if options.record:
            return 0
        if size < 3:
            return 1
        if header[at + 2] < 4:
            return 2
        if header[at + 2] <= size:
            if header[at + 2] + 3 > size:
                return 2
            _write(header, at + header[at + 2] - 1, address)
            header[at + 2] += 4
            options.record_address = True
        options.record = at
    elif kind == TIMESTAMP:
        return _compile_stamp(options, header, at, size, address, stamps, time_ms)
    elif kind == ROUTER_ALERT:
        return 1 if size < 4 else None
    elif kind == CIPSO:
        if options.cipso:
            return 0
        options.cipso = at
        return 1 if size < SHORTEST_CIPSO else 2  # too short, or an unknown domain
    return None


def _compile_stamp(
    options: KernelOptions, header: bytearray, at: int, size: int, address: int, stamps: Asked, time_ms: int
) -> int | None:
    """Process a timestamp option; return the index of its first wrong octet, None for none."""
    if options.stamp:
        return 0
    if size < 4:
        return 1
    pointer, flag = header[at + 2], header[at + 3] & 15
    if pointer < 5:
        return 2
    if pointer <= size:
        if pointer + 3 > size:
            return 2
        time: int | None = None
        if flag == TS_ONLY:
            time, step = at + pointer - 1, 4
            options.stamp_time = True
        elif flag == TS_ADDRESS:
            if pointer + 7 > size:
                return 2
            time, step = at + pointer + 3, 8
            _write(header, at + pointer - 1, address)
            options.stamp_address = options.stamp_time = True
        elif flag == TS_PRESPECIFIED:
            if pointer + 7 > size:
                return 2
            step = 0
            if stamps(int.from_bytes(header[at + pointer - 1 : at + pointer + 3], "big")):
                time, step = at + pointer + 3, 8
                options.stamp_time = True
        else:
            step = 0
        header[at + 2] += step
        if time is not None:
            _write(header, time, time_ms)
    elif flag != TS_PRESPECIFIED:
        if header[at + 3] >> 4 == 15:
            return 3
        header[at + 3] += 16
    options.stamp = at
    return None


def _write(header: bytearray, at: int, number: int) -> None:
    header[at : at + 4] = number.to_bytes(4, "big")


def finish_options(header: bytearray, options: KernelOptions, address: int) -> None:
    """Write the address of the outgoing port into the options, and advance a source route."""
    if options.record_address:
        _write(header, options.record + header[options.record + 2] - 5, address)
    if options.hit is not None:
        at, size = options.route, header[options.route + 1]
        pointer = header[at + 2]
        while pointer <= size and int.from_bytes(header[at + pointer - 1 : at + pointer + 3], "big") != options.hit:
            pointer += 4
        if pointer + 3 <= size:
            header[16:20] = options.hit.to_bytes(4, "big")
            _write(header, at + pointer - 1, address)
            header[at + 2] = pointer + 4
        if options.stamp_address:
            _write(header, options.stamp + header[options.stamp + 2] - 9, address)


def without_uncopied(header: bytearray) -> bytes:
    """Return the options of non-first fragments: options without the copied flag become No Operation."""
    options = bytearray(header[SHORTEST:])
    at = 0
    while at < len(options) and options[at] != END:
        size = 1 if options[at] == NOP else options[at + 1]
        if options[at] < COPIED:
            options[at : at + size] = bytes([NOP]) * size
        at += size
    return bytes(options)


def reply_destination(packet: bytes, options: KernelOptions) -> tuple[int, bytes]:
    """Return the first destination of an ICMP message about a packet, and its source route (b"": directly)."""
    if options.route:
        stop, option = _echo_route(packet[options.route : options.route + packet[options.route + 1]], packet[12:16])
        if option:
            return stop, option
    return int.from_bytes(packet[12:16], "big"), b""


def echo_options(packet: bytes, options: KernelOptions, stamps: Asked, address: int, time_ms: int) -> bytes | None:
    """Return the options of an ICMP message about a packet: its routes and timestamps are echoed.

    address: the source of the message. None if an option has an incomplete slot left: then no message is sent.
    """
    echoed = bytearray()
    if options.record:
        option = bytearray(packet[options.record : options.record + packet[options.record + 1]])
        if options.record_address and option[2] <= len(option):
            if option[2] + 3 > len(option):
                return None
            _write(option, option[2] - 1, address)
            option[2] += 4
        echoed += option
    if options.stamp:
        option = bytearray(packet[options.stamp : options.stamp + packet[options.stamp + 1]])
        if not _echo_stamp(option, options, stamps, address, time_ms):
            return None
        echoed += option
    echoed += reply_destination(packet, options)[1]
    if options.cipso:
        echoed += packet[options.cipso : options.cipso + packet[options.cipso + 1]]
    return bytes(echoed) + bytes(-len(echoed) % 4)


def _echo_stamp(option: bytearray, options: KernelOptions, stamps: Asked, address: int, time_ms: int) -> bool:
    """Fill in the next slot of a timestamp option; return False if the slot is incomplete."""
    pointer, size = option[2], len(option)
    if pointer > size:
        return True
    if options.stamp_address:
        if pointer + 3 > size:
            return False
        _write(option, pointer - 1, address)
        pointer += 4
    if options.stamp_time:
        if pointer + 3 > size:
            return False
        if option[3] & 15 != TS_PRESPECIFIED:
            _write(option, pointer - 1, time_ms)
            pointer += 4
        elif pointer + 7 <= size and stamps(int.from_bytes(option[pointer - 1 : pointer + 3], "big")):
            _write(option, pointer + 3, time_ms)
            pointer += 8
    option[2] = pointer
    return True


def _echo_route(option: bytes, source: bytes) -> tuple[int, bytes]:
    """Return first hop and option of a source route reversed to the source (b"": no recorded hop)."""
    pointer_back = min(option[2], len(option) + 1) - 4
    hops = [option[at - 1 : at + 3] for at in range(pointer_back, 3, -4)]
    if not hops:
        return 0, b""
    slots = len(hops) - (option[3:7] == source)  # a route that begins with its own source is shortened
    addresses = b"".join([*hops[1:slots], source]) if slots else b""
    return int.from_bytes(hops[0], "big"), bytes([option[0], len(addresses) + 3, 4]) + addresses if addresses else b""
