"""Random packets for the router itself: IPv6 behind random chains of extension headers, and fragments of both."""

import struct
from random import Random

from npexplore.golden.checksum import internet_checksum
from npexplore.golden.ipv6.icmp import checksum

OPTIONS = (0, 1, 1, 4, 5, 30, 0x45, 0x8A, 0xC2, 0xC3, 201)
KINDS = (0, 6, 17, 17, 43, 44, 50, 51, 58, 58, 59, 99, 135, 139, 140)


def upper(rnd: Random, source: bytes, target: bytes, kind: int) -> bytes:
    """Return what a packet carries: a datagram or an echo request with a right checksum, else a few octets."""
    if kind == 17:
        body = b"\0\x09\0\x09\0\x0c\0\0abcd"
        value = internet_checksum(source + target + struct.pack(">IHBB", 12, 0, 0, 17) + body) or 0xFFFF
        return body[:6] + struct.pack(">H", value) + body[8:] + rnd.choice((b"", b"", b"tail"))
    if kind == 58:
        body = bytes([128, 0, 0, 0]) + rnd.randbytes(8 if rnd.random() < 0.8 else rnd.randrange(1200))
        value = checksum(int.from_bytes(source, "big"), int.from_bytes(target, "big"), body)
        return body[:2] + value.to_bytes(2, "big") + body[4:]
    return rnd.randbytes(rnd.choice((0, 4, 8, 16, 24)))


def options(rnd: Random) -> bytes:
    """Return options padded to whole headers, behind the first two octets."""
    found = b""
    for _ in range(rnd.randrange(3)):
        kind, size = rnd.choice(OPTIONS), rnd.choice((0, 1, 2, 4, 5, 6, 16))
        value = bytes(size) if kind == 1 and rnd.random() < 0.8 else rnd.randbytes(size)
        found += b"\0" if kind == 0 else bytes([kind, size]) + value
    pad = -(len(found) + 2) % 8
    return found + (b"\0" * pad if pad < 2 else bytes([1, pad - 2]) + bytes(pad - 2))


def host6_packet(rnd: Random, source: bytes, target: bytes) -> bytes:
    """Return a packet with one to three extension headers."""
    following = rnd.choice(KINDS)
    data = upper(rnd, source, target, following)
    for _ in range(rnd.randrange(1, 4)):
        kind = rnd.choice((60, 60, 43, 44, 0))
        if kind in (0, 60):
            inside = options(rnd)
            units = (len(inside) + 2) // 8 - 1 + (rnd.random() < 0.07)  # seldom cut
            data = bytes([following, units]) + inside + data
        elif kind == 43:
            many = rnd.randrange(3)
            form, left = rnd.choice((0, 0, 1, 2, 3, 4, 5, 253)), rnd.choice((0, 0, 1, 2))
            data = bytes([following, 2 * many, form, left]) + bytes(4) + rnd.randbytes(16 * many) + data
        else:
            place = struct.pack(">H", rnd.choice((0, 0, 0, 6, 2, 4)))  # reserved bits, but one piece
            data = bytes([following, rnd.choice((0, 5))]) + place + rnd.randbytes(4) + data
        following = kind
    return struct.pack(">IHBB", 6 << 28, len(data), following, 64) + source + target + data


def ranges_of(rnd: Random, size: int) -> tuple[list[tuple[int, int]], str]:
    """Return where data of some octets is cut, in any order, and a fault: some repeated, over one another or gone."""
    cuts = sorted(rnd.sample(range(8, max(9, size), 8), min(rnd.randrange(1, 5), max(0, (size - 1) // 8))))
    ranges = list(zip([0, *cuts], [*cuts, size], strict=True))
    fault = rnd.choice(("", "", "", "twice", "over", "odd", "gone", "long", "marked", "empty", "past"))
    if fault == "twice":
        ranges.append(rnd.choice(ranges))
    if fault == "over":
        begin = 8 * rnd.randrange(size // 8 + 1)
        ranges.append((begin, min(size, begin + 8 * rnd.randrange(1, 4))))
    if fault == "gone":
        ranges.pop(rnd.randrange(len(ranges)))
    if rnd.random() < 0.7:
        rnd.shuffle(ranges)
    return ranges, fault


def faulty(rnd: Random, fault: str, body: bytes, more: bool, place: int) -> tuple[bytes, bool, int]:
    """Return a piece with a fault: its data, whether others follow, and its place."""
    if fault == "odd":
        return body[: max(1, len(body) - rnd.randrange(1, 8))], more, place
    if fault == "empty":
        return b"", more, place
    if fault == "past":
        return body, more, 8 * rnd.randrange(8190 - len(body) // 8, 8192)
    return body, not more if fault == "long" else more, place


def pieces(rnd: Random, packet: bytes, at: int, named: int) -> list[bytes]:
    """Return a packet's fragments in any order, its chain cut at `at`: some repeated, over one another, wrong or gone.

    named: where the number of the header at `at` stands.
    """
    data, ident = packet[at:], rnd.randbytes(4)
    ranges, fault = ranges_of(rnd, len(data))
    odd, found = rnd.randrange(len(ranges) or 1), []
    for k, (begin, end) in enumerate(ranges):
        body, more, place = faulty(rnd, fault if k == odd else "", data[begin:end], end < len(data), begin)
        first = bytes([packet[named], rnd.choice((0, 0, 9))]) + struct.pack(">H", place | more | rnd.choice((0, 0, 4)))
        head = bytearray(packet[:at])
        head[named] = 44
        head[4:6] = struct.pack(">H", at - 40 + 8 + len(body))
        ecn = rnd.randrange(4) if fault == "marked" else 0
        head[1] = head[1] & 0xCF | ecn << 4
        found.append(bytes(head) + first + ident + body)
    return found


def host4_pieces(rnd: Random, source: bytes, target: bytes) -> list[bytes]:
    """Return the fragments, in any order and perhaps faulty, of an IPv4 packet: a datagram, an echo request, others."""
    kind = rnd.choice((17, 17, 1, 1, 6, 2, 99))
    data = rnd.randbytes(rnd.choice((0, 9, 40, 300, 1400)))
    if kind == 17:
        head = b"\0\x09\0\x09" + (8 + len(data)).to_bytes(2, "big") + bytes(2)
        pseudo = source + target + bytes([0, 17]) + head[4:6]
        data = head[:6] + internet_checksum(pseudo + head + data).to_bytes(2, "big") + data + rnd.choice((b"", b"tail"))
    elif kind == 1:
        head = bytes([rnd.choice((8, 8, 13)), 0, 0, 0]) + rnd.randbytes(8)
        data = head[:2] + internet_checksum(head + data).to_bytes(2, "big") + head[4:] + data
    ranges, fault = ranges_of(rnd, len(data))
    odd, found, ident = rnd.randrange(len(ranges) or 1), [], rnd.getrandbits(16)
    options = rnd.choice((b"", b"", b"\x01\x07\x0b\x04" + bytes(8), b"\x94\x04\0\0"))
    uncut = rnd.choice((0, 0, 0x40, 0x80))
    for k, (begin, end) in enumerate(ranges):
        body, more, place = faulty(rnd, fault if k == odd else "", data[begin:end], end < len(data), begin)
        flags = rnd.choice((uncut, uncut, 0)) << 8 | more << 13 | place // 8
        tos = 0x10 | (rnd.randrange(4) if fault == "marked" else 0)
        own = options if rnd.random() < 0.8 else b""
        head = struct.pack(">BBHHHBBH", 0x45 + len(own) // 4, tos, 20 + len(own) + len(body), ident, flags, 64, kind, 0)
        head += source + target + own
        found.append(head[:10] + internet_checksum(head).to_bytes(2, "big") + head[12:] + body)
    return found
