"""Random IPv6 packets for the router itself, behind random chains of extension headers."""

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


def pieces(rnd: Random, packet: bytes, at: int, named: int) -> list[bytes]:
    """Return a packet's fragments in any order, its chain cut at `at`: some repeated, over one another, wrong or gone.

    named: where the number of the header at `at` stands.
    """
    data, ident = packet[at:], rnd.randbytes(4)
    cuts = sorted(rnd.sample(range(8, max(9, len(data)), 8), min(rnd.randrange(1, 5), max(0, (len(data) - 1) // 8))))
    ranges = list(zip([0, *cuts], [*cuts, len(data)], strict=True))
    fault = rnd.choice(("", "", "", "twice", "over", "odd", "gone", "long", "marked", "empty", "past"))
    if fault == "twice":
        ranges.append(rnd.choice(ranges))
    if fault == "over":
        begin = 8 * rnd.randrange(len(data) // 8 + 1)
        ranges.append((begin, min(len(data), begin + 8 * rnd.randrange(1, 4))))
    if fault == "gone":
        ranges.pop(rnd.randrange(len(ranges)))
    if rnd.random() < 0.7:
        rnd.shuffle(ranges)
    odd, found = rnd.randrange(len(ranges) or 1), []
    for k, (begin, end) in enumerate(ranges):
        body, more, place = data[begin:end], end < len(data), begin
        if k == odd and fault == "odd":
            body = body[: max(1, len(body) - rnd.randrange(1, 8))]
        elif k == odd and fault == "empty":
            body = b""
        elif k == odd and fault == "past":
            place = 8 * rnd.randrange(8190 - len(body) // 8, 8192)
        elif k == odd and fault == "long":
            more = not more
        first = bytes([packet[named], rnd.choice((0, 0, 9))]) + struct.pack(">H", place | more | rnd.choice((0, 0, 4)))
        head = bytearray(packet[:at])
        head[named] = 44
        head[4:6] = struct.pack(">H", at - 40 + 8 + len(body))
        ecn = rnd.randrange(4) if fault == "marked" else 0
        head[1] = head[1] & 0xCF | ecn << 4
        found.append(bytes(head) + first + ident + body)
    return found
