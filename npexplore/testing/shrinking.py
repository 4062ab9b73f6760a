"""Shrinks a failing frame: simplifies one part at a time, as long as it still fails in the same way.

Zeller and Hildebrandt, "Simplifying and Isolating Failure-Inducing Input", IEEE TSE 28(2), 2002, with moves for IPv4:
options and payload are removed, fields get plain values, and a correct checksum and total length stay correct.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from npexplore.golden.checksum import header_checksum_is_right
from npexplore.golden.ethernet import ETHERNET, IPV4_TYPE, IPV6_TYPE
from npexplore.golden.ipv4.header import SHORTEST, read_header, with_checksum
from npexplore.golden.ipv6.header import SHORTEST as SHORTEST6
from npexplore.golden.ipv6.header import read_header as read_header6
from npexplore.golden.router.configuration import Router

PLAIN6 = ((0, b"\x60\0\0\0"), (6, b"\x11"), (7, b"\x40"))  # class and label, next header, hop limit
ROUNDS = 40
FirstKept = Callable[[Sequence[bytes]], "int | None"]  # index of the first of some frames that fails in the same way
# (offset, plain value): type of service, identification, flags and offset, time to live, protocol
PLAIN = ((1, b"\0"), (4, b"\0\0"), (6, b"\0\0"), (8, b"\x40"), (9, b"\x11"))


def shrink(router: Router, port: int, frame: bytes, first_kept: FirstKept) -> bytes:
    """Return a frame that fails in the same way and that no single move can simplify."""
    return shrink_all(router, [(port, frame)], lambda options: [first_kept(options[0])])[0]


def shrink_all(
    router: Router, cases: Sequence[tuple[int, bytes]], first_kept: Callable[[list[list[bytes]]], list[int | None]]
) -> list[bytes]:
    """Shrink many frames at once: `first_kept` gets the options of all frames, so that one run tries them all."""
    smallest, active = [frame for _, frame in cases], set(range(len(cases)))
    for _ in range(ROUNDS):
        options = [
            list(dict.fromkeys(option for option in _plainer(router, port, frame) if option != frame))
            if k in active
            else []
            for k, ((port, _), frame) in enumerate(zip(cases, smallest, strict=True))
        ]
        for number, place in enumerate(first_kept(options)):
            if place is None:
                active.discard(number)
            else:
                smallest[number] = options[number][place]
        if not active:
            break
    return smallest


def _plainer(router: Router, port: int, frame: bytes) -> Iterator[bytes]:
    """Yield frames that are shorter or simpler in one respect."""
    link = router.ports[port]
    yield link.mac + link.peer_mac + frame[12:]
    head, packet = frame[:ETHERNET], frame[ETHERNET:]
    length = 4 * (packet[0] & 15) if packet else 0
    if head[12:] == IPV4_TYPE and SHORTEST <= length <= len(packet):
        yield from (head + simpler for simpler in _plainer_packets(packet, length, link.network + 2))
    elif head[12:] == IPV6_TYPE and len(packet) >= SHORTEST6:
        yield from (head + simpler for simpler in _plainer_packets6(packet))
    else:
        yield head + packet[: len(packet) // 2]
        yield head + packet[:-1]
        yield head + bytes(len(packet))


def _plainer_packets6(packet: bytes) -> Iterator[bytes]:
    """Yield packets with a shorter payload (a correct length stays correct) or one plain field (RFC 8200)."""
    payload = packet[SHORTEST6:]
    fits = read_header6(packet).payload_length == len(payload)
    for fewer in dict.fromkeys((0, len(payload) // 2, len(payload) - 1)):
        size = max(0, fewer)
        yield packet[:4] + (size.to_bytes(2, "big") if fits else packet[4:6]) + packet[6:SHORTEST6] + payload[:size]
    yield packet[:SHORTEST6] + bytes(len(payload))
    for at, value in PLAIN6:
        yield packet[:at] + value + packet[at + len(value) :]


def _plainer_packets(packet: bytes, length: int, source: int) -> Iterator[bytes]:
    total, checksum_is_right = read_header(packet).total_length, header_checksum_is_right(packet)
    options, payload = packet[SHORTEST:length], packet[length:]
    length_is_right = total == len(packet)

    def joined(header: bytes, options: bytes, payload: bytes) -> bytes:
        changed = bytes([header[0] & 0xF0 | (SHORTEST + len(options)) // 4]) + header[1:]
        if length_is_right:
            changed = changed[:2] + (SHORTEST + len(options) + len(payload)).to_bytes(2, "big") + changed[4:]
        return (with_checksum(changed + options) if checksum_is_right else changed + options) + payload

    header = packet[:SHORTEST]
    if length <= total < len(packet):
        yield packet[:total]
    for fewer in dict.fromkeys((0, len(payload) // 2, len(payload) - 1)):
        yield joined(header, options, payload[: max(0, fewer)])
    for keep in dict.fromkeys((0, len(options) // 8 * 4, len(options) - 4)):
        yield joined(header, options[: max(0, keep)], payload)
    yield joined(header, options, bytes(len(payload)))
    for at, value in PLAIN:
        yield joined(header[:at] + value + header[at + len(value) :], options, payload)
    yield joined(header[:12] + source.to_bytes(4, "big") + header[16:], options, payload)
