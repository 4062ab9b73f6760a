"""Random packets full of addresses, of every kind that the anonymiser knows, and of some that it does not.

Each packet comes with its addresses, and with its checksums: place, what they cover, and the pseudo header's addresses.
"""

import struct
from random import Random
from typing import NamedTuple


class Sum(NamedTuple):
    """A checksum at `at` over [start, end) of a packet, and over the octets of a pseudo header's addresses."""

    at: int
    start: int
    end: int
    pseudo: tuple[tuple[int, int], ...] = ()
    rest: bytes = b""


def folded(data: bytes) -> int:
    """Return the one's complement sum of words."""
    data += bytes(len(data) % 2)
    total = sum(struct.unpack(f">{len(data) // 2}H", data))
    while total > 0xFFFF:
        total = (total & 0xFFFF) + (total >> 16)
    return total


class Packet:
    """A packet being built: octets, addresses, checksums."""

    def __init__(self, rnd: Random, depth: int = 0) -> None:
        self.rnd, self.data, self.addresses, self.sums, self.depth = rnd, b"", [], [], depth

    def address(self, size: int) -> bytes:
        """Add an address."""
        value = self.rnd.randbytes(size)
        self.addresses.append(value)
        self.data += value
        return value

    def junk(self, many: int = 24) -> None:
        """Add octets among which there are addresses, in both orders and as text."""
        for _ in range(self.rnd.randrange(3)):
            value = self.rnd.randbytes(self.rnd.choice((4, 16)))
            self.addresses.append(value)
            text = ".".join(map(str, value[:4])).encode()
            self.data += self.rnd.choice((value, value[::-1], text if len(value) == 4 else value))
        self.data += self.rnd.randbytes(self.rnd.randrange(many))

    def set(self, at: int, value: bytes) -> None:
        """Write octets at a place."""
        self.data = self.data[:at] + value + self.data[at + len(value) :]

    def close(self, one: Sum) -> None:
        """Compute a checksum, sometimes a wrong one."""
        covered = b"".join(self.data[at : at + size] for at, size in one.pseudo) + one.rest
        value = 0xFFFF - folded(covered + self.data[one.start : one.end])
        value = value if self.rnd.random() < 0.8 else value ^ 0x55
        self.set(one.at, struct.pack(">H", value or 0xFFFF))
        self.sums.append(one)

    # ---- layers

    def ipv4(self, inner: bool = True) -> None:
        """Add an IPv4 packet with options."""
        rnd, start = self.rnd, len(self.data)
        protocol = rnd.choice((1, 1, 2, 2, 6, 17, 4, 41, 47, 51, 89, 50))
        self.data += struct.pack(">BBHHHBBH", 0, 0, 0, rnd.getrandbits(16), 0, 64, protocol, 0)
        self.address(4)
        self.address(4)
        ends = ((start + 12, 4), (start + 16, 4))
        if rnd.random() < 0.5:
            kind, slots = rnd.choice((7, 131, 137, 68, 68, 130, 136, 99, 148)), rnd.randrange(1, 4)
            at = len(self.data)
            if kind == 68:
                flag = rnd.choice((1, 3))
                self.data += bytes([68, 4 + 8 * slots, 5, flag])
                for _ in range(slots):
                    self.address(4)
                    self.data += rnd.randbytes(4)
            else:
                self.data += bytes([kind, 3 + 4 * slots, rnd.choice((4, 8))])
                for _ in range(slots):
                    self.address(4)
                if kind in (131, 137):
                    ends = (ends[0], (at + 3 + 4 * (slots - 1), 4))
            self.data += bytes(-(len(self.data) - start) % 4)
        size = len(self.data) - start
        if size > 60:
            self.data = self.data[: start + 20]
            size, ends = 20, ((start + 12, 4), (start + 16, 4))
        self.upper(protocol, ends, inner)
        self.set(start, bytes([0x40 | size // 4]))
        self.set(start + 2, struct.pack(">H", len(self.data) - start))
        self.close(Sum(start + 10, start, start + size))

    def ipv6(self, inner: bool = True) -> None:
        """Add an IPv6 packet with extension headers."""
        rnd, start = self.rnd, len(self.data)
        protocol = rnd.choice((58, 58, 58, 58, 6, 17, 4, 41, 47, 89, 135, 139))
        self.data += struct.pack(">IHBB", 6 << 28, 0, protocol, 64)
        source, target = (start + 8, 16), (start + 24, 16)
        self.address(16)
        self.address(16)
        before = start + 6
        for kind in rnd.sample((0, 60, 43, 51, 44), rnd.randrange(3)):
            at = len(self.data)
            self.set(before, bytes([kind]))
            self.data += bytes([protocol])
            before = at
            if kind in (0, 60):
                options, places = b"", []
                for _ in range(rnd.randrange(1, 3)):
                    if rnd.random() < 0.4 and not places:
                        places.append(at + 2 + len(options) + 2)
                        self.addresses.append(rnd.randbytes(16))
                        options += b"\xc9\x10" + self.addresses[-1]
                        source = (places[0], 16)
                    else:
                        self.addresses.append(rnd.randbytes(16))
                        options += bytes([rnd.choice((0x1E, 0x8A, 1)), 16]) + self.addresses[-1]
                options += bytes(-(len(options) + 2) % 8)
                self.data += bytes([(len(options) + 2) // 8 - 1]) + options
            elif kind == 43:
                form, many = rnd.choice((0, 2, 4, 3, 200)), rnd.randrange(1, 4)
                left = rnd.choice((0, 1))
                self.data += bytes([2 * many, form, left, many - 1, 0, 0, 0])
                for _ in range(many):
                    self.address(16)
                if left and form in (0, 2):
                    target = (at + 8 + 16 * (many - 1), 16)
                elif left and form == 4:
                    target = (at + 8, 16)
            elif kind == 51:
                self.data += bytes([4, 0, 0]) + bytes(8)
                self.address(12)
            else:
                self.data += bytes([0, 0, 0]) + rnd.randbytes(4)
        self.upper(protocol, (source, target), inner)
        self.set(start + 4, struct.pack(">H", len(self.data) - start - 40))

    def upper(self, protocol: int, ends: tuple[tuple[int, int], ...], inner: bool) -> None:
        """Add what IP carries."""
        rnd, start = self.rnd, len(self.data)
        deep = not inner or self.depth >= 4
        if protocol in (4, 41) and not deep:
            self.depth += 1
            self.ipv4() if protocol == 4 else self.ipv6()
        elif protocol == 47 and not deep:
            self.depth += 1
            flags = rnd.choice((0, 0x8000, 0x2000, 0xB000))
            inside = rnd.choice((0x0800, 0x86DD, 0x6558, 0x9999))
            self.data += struct.pack(">HH", flags, inside) + bytes(4 * (bin(flags).count("1")))
            if inside == 0x6558:
                inside = rnd.choice((0x0800, 0x86DD))
                self.data += bytes(12) + struct.pack(">H", inside)
            self.junk() if inside == 0x9999 else self.ipv4() if inside == 0x0800 else self.ipv6()
            if flags & 0x8000:
                self.close(Sum(start + 4, start, len(self.data)))
        elif protocol in (6, 17):
            ports = rnd.randbytes(4)
            self.data += ports + (
                bytes(4) if protocol == 17 else rnd.randbytes(8) + b"\x50\x10" + rnd.randbytes(2) + bytes(4)
            )
            self.junk()
            rest = struct.pack(">IHBB", len(self.data) - start, 0, 0, protocol)
            self.close(Sum(start + (6 if protocol == 17 else 16), start, len(self.data), ends, rest))
        elif protocol == 1:
            kind = rnd.choice((0, 3, 5, 5, 9, 11, 12, 13, 17, 40))
            self.data += bytes([kind, 0, 0, 0])
            if kind == 9:
                many = rnd.randrange(1, 4)
                self.data += bytes([many, 2, 0, 9])
                for _ in range(many):
                    self.address(4)
                    self.data += rnd.randbytes(4)
            elif kind == 5:
                self.address(4)
            else:
                self.data += bytes(4)
            if kind in (3, 5, 11, 12) and not deep:
                self.depth += 1
                self.ipv4()
            else:
                self.junk()
            self.close(Sum(start + 2, start, len(self.data)))
        elif protocol == 2:
            kind = rnd.choice((0x11, 0x12, 0x16, 0x17, 0x22, 0x22, 0x13))
            self.data += bytes([kind, 0, 0, 0])
            if kind == 0x22:
                self.records(4)
            else:
                self.address(4)
                if kind == 0x11:
                    many = rnd.randrange(3)
                    self.data += bytes([0, 0, 0, many])
                    for _ in range(many):
                        self.address(4)
                self.junk()
            self.close(Sum(start + 2, start, len(self.data)))
        elif protocol == 58:
            self.icmp6(ends, deep)
        else:  # what is known of each of these is no address
            head = {47: bytes(4), 50: rnd.randbytes(8), 51: bytes([89, 1, 0, 0]) + rnd.randbytes(8), 135: bytes(6)}
            self.data += head.get(protocol, b"")
            self.junk()

    def records(self, size: int) -> None:
        """Add group records."""
        rnd, many = self.rnd, self.rnd.randrange(1, 4)
        self.data += struct.pack(">HH", 0, many)
        for _ in range(many):
            sources, extra = rnd.randrange(3), rnd.randrange(2)
            self.data += bytes([1, extra, 0, sources])
            for _ in range(1 + sources):
                self.address(size)
            if extra:
                self.address(4)

    def icmp6(self, ends: tuple[tuple[int, int], ...], deep: bool) -> None:
        """Add an ICMPv6 message."""
        rnd, start = self.rnd, len(self.data)
        kind = rnd.choice((1, 2, 3, 4, 128, 130, 131, 133, 134, 135, 136, 137, 143, 139, 145))
        self.data += bytes([kind, 0, 0, 0])
        if kind == 143:
            self.records(16)
        else:
            self.data += bytes(4)
            if kind == 134:
                self.data += bytes(8)
            for _ in range({130: 1, 131: 1, 135: 1, 136: 1, 137: 2, 139: 1}.get(kind, 0)):
                self.address(16)
            if kind == 130:
                many = rnd.randrange(3)
                self.data += bytes([0, 0, 0, many])
                for _ in range(many):
                    self.address(16)
            if 133 <= kind <= 137:
                for option in rnd.sample((1, 3, 5, 24, 25, 31, 4, 200), rnd.randrange(4)):
                    self.option(option)
            elif kind <= 4 and not deep:
                self.depth += 1
                self.ipv6()
            else:
                self.junk()
        rest = struct.pack(">IHBB", len(self.data) - start, 0, 0, 58)
        self.close(Sum(start + 2, start, len(self.data), ends, rest))

    def option(self, kind: int) -> None:
        """Add an option of neighbour discovery."""
        rnd = self.rnd
        if kind in (1, 5):
            self.data += bytes([kind, 1]) + rnd.randbytes(6)
        elif kind == 3:
            self.data += bytes([3, 4, 64, 0xC0]) + bytes(12)
            self.address(16)
        elif kind == 24:
            self.data += bytes([24, 3, 64, 0]) + bytes(4)
            self.address(16)
        else:
            many = rnd.randrange(1, 3)
            self.data += bytes([kind, 1 + 2 * many]) + bytes(6)
            for _ in range(many):
                self.address(16)

    def resolution(self) -> None:
        """Add ARP of hardware addresses of any length."""
        rnd, hardware = self.rnd, self.rnd.choice((6, 6, 8, 2))
        self.data += struct.pack(">HHBBH", 1, 0x0800, hardware, 4, rnd.choice((1, 2, 8)))
        for _ in range(2):
            self.data += rnd.randbytes(hardware)
            self.address(4)


def addressed_frame(rnd: Random) -> Packet:
    """Return an Ethernet frame with such a packet."""
    one = Packet(rnd)
    kind = rnd.choice((0x0800,) * 5 + (0x86DD,) * 5 + (0x0806, 0x8035, 0x88CC))
    one.data = bytes.fromhex("020000000001020000000002") + struct.pack(">H", kind)
    layer = {0x0800: one.ipv4, 0x86DD: one.ipv6, 0x0806: one.resolution, 0x8035: one.resolution, 0x88CC: one.junk}
    layer[kind]()
    if rnd.random() < 0.2:
        one.junk()  # behind the packet
    return one


def verdicts(one: Packet, data: bytes) -> list[int]:
    """Return what each checksum of a packet is off by, read in other octets of the same layout."""
    found = []
    for item in one.sums:
        covered = b"".join(data[at : at + size] for at, size in item.pseudo) + item.rest
        found.append(folded(covered + data[item.start : item.end]) % 0xFFFF)
    return found
