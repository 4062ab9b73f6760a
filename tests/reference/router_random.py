"""Random frames for an IPv4 router over 20,000 real prefixes: every kind of address, option, size and damage.

Addresses that the kernel counts by (a source without a route or told of a better hop) are used once; see `Sources`.
"""

import gzip
import struct

import numpy as np
from reference.router_cases import DATA, ICMP, TCP, UDP, body, checksum, icmp, packet, ports

from npexplore.golden.ipv4.addresses import address_number, prefix_mask
from npexplore.golden.linux.settings import LinuxSettings
from npexplore.golden.router.configuration import NeighbourRecord, RouteRecord, RouterFile, resolve_router
from npexplore.golden.router.forward import Forwarder

ADDRESSES = (
    "10.0.0.1/16", "10.1.0.1/24", "10.2.0.1/16", "10.3.0.1/24", "10.4.0.1/20", "10.5.0.1/30", "10.6.0.0/31",
    "10.7.0.200/25",
)  # fmt: skip
MTUS = (9000, 1500, 1500, 1006, 576, 296, 9000, 68)
NEXT_HOPS = ("10.0.0.2", "10.1.0.3", "10.2.0.4", "10.3.0.5", "10.4.0.6", "10.5.0.2", "10.6.0.1", "10.7.0.201")
OTHER_NEXT_HOPS = ("10.0.0.9", "10.1.0.9", "10.2.9.9", "10.3.0.9", "10.4.9.9")
HOME = "172.16.0.0/12"  # where sources are; behind port 0
SPECIAL = (
    "0.0.0.0", "0.1.2.3", "127.0.0.1", "127.255.255.255", "169.254.1.1", "192.0.2.1", "192.168.1.1", "224.0.0.1",
    "224.0.0.5", "239.255.255.255", "240.0.0.1", "247.1.2.3", "250.0.0.1", "255.255.255.254", "255.255.255.255",
)  # fmt: skip
ETHERNET_TYPES = (
    0x0000,
    0x002E,
    0x05DC,
    0x0600,
    0x0801,
    0x0805,
    0x0842,
    0x86DD,
    0x8808,
    0x88B5,
    0x88CC,
    0x9000,
    0xFFFF,
)
ANSWERED = 13  # the kernel answers ICMP time stamp requests to itself
FEW = 24  # bytes that are random; longer payloads are a pattern, so that recordings stay small
PATTERN = body(10_000)


def random_router():
    """Return a router with 8 ports and the 20,000 real prefixes of the bundled table, dealt out to them in turn."""
    prefixes = gzip.decompress((DATA / "routes" / "internet_20000.txt.gz").read_bytes()).decode().split()
    hops = [*NEXT_HOPS, *OTHER_NEXT_HOPS]
    routes = [RouteRecord(prefix=prefix, via=hops[k % len(hops)]) for k, prefix in enumerate(prefixes)]
    kinds = ("blackhole", "unreachable", "prohibit")
    routes += [RouteRecord(prefix=prefix, kind=kinds[k % 3]) for k, prefix in enumerate(prefixes[50::300])]
    routes += [RouteRecord(prefix=prefix, port=f"p{k % 5}") for k, prefix in enumerate(prefixes[77::400])]
    routes += [
        RouteRecord(prefix=HOME, via="10.0.0.2"),
        RouteRecord(prefix="240.0.0.0/5", via="10.1.0.3"),
        RouteRecord(prefix="10.2.128.0/17", via="10.1.0.9"),  # part of a link, elsewhere
        RouteRecord(prefix="10.0.77.0/24", via="10.0.0.9"),
        RouteRecord(prefix="10.0.0.0/24", kind="prohibit"),
        RouteRecord(prefix="10.4.15.255/32", via="10.1.0.9"),  # a broadcast address
        RouteRecord(prefix="10.3.0.1/32", via="10.1.0.9"),  # the router's own
    ]
    neighbours = [
        NeighbourRecord(address=address, mac=f"02:00:00:00:02:{k:02x}")
        for k, address in enumerate(("10.0.0.9", "10.1.0.3", "10.3.0.77"))
    ]
    settings = LinuxSettings(accept_source_route=True)
    record = RouterFile(
        profile="linux", linux=settings, port=ports(ADDRESSES, MTUS), route=routes, neighbour=neighbours
    )
    return resolve_router(record)


class Sources:
    """Addresses to send from, each used once: far off behind port 0, of a network without a route, and on a link."""

    def __init__(self, router, first=0):
        self.router, self.count = router, first
        self.hosts = {0: 0x100, 2: 0x100}  # the next host of the large links

    def far(self):
        """Return an address of HOME."""
        self.count += 1
        return address_number("172.16.0.1") + self.count % ((1 << 20) - 2)

    def lost(self):
        """Return an address without a route."""
        self.count += 1
        return address_number("100.64.0.1") + self.count % ((1 << 22) - 2)

    def near(self, port):
        """Return a host on a link; of the large links, so that there are enough of them."""
        port = port if port in self.hosts else 0
        self.hosts[port] = self.hosts[port] % 0xFE00 + 1
        return self.router.ports[port].network + self.hosts[port]


class Maker:
    """Makes one frame after the other from a generator of random numbers."""

    def __init__(self, router, seed, first):
        self.router = router
        self.rng = np.random.default_rng(seed)
        self.sources = Sources(router, first)
        self.table = Forwarder(router)
        rows = router.routes
        self.prefixes = list(zip(rows.value.tolist(), rows.length.tolist(), strict=True))
        self.own = [port.address for port in router.ports]
        self.links = [
            a for port in router.ports for a in (port.network, port.network | ~prefix_mask(port.length) & 0xFFFFFFFF)
        ]

    def pick(self, options):
        """Return one of a sequence."""
        return options[int(self.rng.integers(len(options)))]

    def chance(self, share):
        """Return True in so many of all cases."""
        return bool(self.rng.random() < share)

    def routed(self):
        """Return an address within a route, often at its border or just outside."""
        value, length = self.pick(self.prefixes)
        span = 1 << 32 - length
        if self.chance(0.75):
            return value + int(self.rng.integers(span))
        return (value + self.pick((0, span - 1, -1, span))) & 0xFFFFFFFF

    def on_link(self):
        """Return a host of a link."""
        port = self.pick(self.router.ports)
        return port.network + int(self.rng.integers(1 << 32 - port.length))

    def special(self):
        """Return an address that is no host's."""
        return self.pick([*map(address_number, SPECIAL), *self.links, *self.own])

    def destination(self):
        """Return where a packet goes."""
        way = self.rng.random()
        if way < 0.62:
            return self.routed()
        if way < 0.72:
            return self.on_link()
        if way < 0.82:
            return self.pick(self.own)
        return self.special() if way < 0.93 else int(self.rng.integers(1 << 32))

    def source(self, port, destination):
        """Return who sends it; those who are not used up by answers go where there is a route."""
        way = self.rng.random()
        if way < 0.2:
            return self.sources.near(port if self.chance(0.7) else 2)
        if way < 0.3:
            return self.sources.lost()
        if way < 0.45:
            hop = self.table.ipv4.route(destination)
            if hop is not None and hop.kind == 0:
                return self.special() if self.chance(0.8) else self.routed()
        return self.sources.far()

    def payload(self, protocol, length):
        """Return bytes; behind ICMP often a message, of an error often with a packet inside."""
        start = int(self.rng.integers(251))
        data = self.rng.bytes(length) if length < FEW else PATTERN[start : start + length]
        if protocol != ICMP or self.chance(0.1):
            return data
        kind = self.pick((0, 3, 4, 5, 8, 8, 8, 11, 12, 14, 17, 18, 19, 40, 41, 255))
        if self.chance(0.5):
            data = packet(self.routed(), self.routed(), payload=data, ttl=1)
        return icmp(kind, self.pick((0, 1, 4, 5, 13)), self.rng.bytes(4), data)[: max(length, self.pick((0, 1, 8)))]

    def length(self, destination, port, options):
        """Return how long the payload is: often around what the next link can carry."""
        longest = MTUS[port] - 20 - len(options)
        hop = self.table.ipv4.route(destination)
        if self.chance(0.3) and hop is not None and hop.kind == 0:
            mtu = MTUS[hop.port]
            times = self.pick((1, 1, 1, 2, 3))
            size = times * (mtu - 20 - len(options)) + int(self.rng.integers(-9, 10))
        else:
            size = self.pick((0, 1, 7, 8, 20, 28, 64, 200, 500, 520, 556, 1000, 1480, 3000))
        return min(max(size, 0), longest)

    def stops(self):
        """Return addresses of a route option."""
        kinds = (
            lambda: self.pick(self.own), lambda: self.pick(self.own), self.on_link, self.routed, self.routed,
            self.special, lambda: int(self.rng.integers(1 << 32)),
        )  # fmt: skip
        return b"".join(struct.pack(">I", self.pick(kinds)()) for _ in range(int(self.rng.integers(0, 5))))

    def listed(self, kind, before=b""):
        """Return an option with a pointer; its slots are addresses, its pointer and length mostly fit."""
        data = before + self.stops()
        pointer = 4 + len(before) + 4 * int(self.rng.integers(0, 5))
        if self.chance(0.15):
            pointer = int(self.rng.integers(0, 45))
        length = 3 + len(data)
        if self.chance(0.08):
            length = int(self.rng.integers(0, 42))
        return bytes([kind, length, pointer]) + data

    def option(self):
        """Return one option."""
        kind = int(self.rng.integers(10))
        if kind == 0:
            return b"\x01" * int(self.rng.integers(1, 5))
        if kind == 1:
            return bytes([148, self.pick((4, 4, 4, 3, 5)), 0, int(self.rng.integers(2))])
        if kind in (2, 3):
            return self.listed(7)
        if kind in (4, 5):
            return self.listed(self.pick((131, 137)))
        if kind in (6, 7):
            flag = self.pick((0, 1, 3, 3, 2, 15)) | self.pick((0, 0, 0x10, 0xE0, 0xF0))
            return self.listed(68, bytes([flag]))
        if kind == 8:
            return bytes([int(self.rng.integers(256)), int(self.rng.integers(0, 12))]) + self.rng.bytes(6)
        return self.rng.bytes(int(self.rng.integers(1, 40)))

    def options(self):
        """Return the bytes of a header's options."""
        return b"".join(self.option() for _ in range(int(self.rng.integers(1, 4))))[: 4 * int(self.rng.integers(1, 11))]

    def packet(self, port):
        """Return one packet, damaged or not, as bytes."""
        destination = self.destination()
        options = self.options() if self.chance(0.35) else b""
        options += bytes(-len(options) % 4)
        protocol = self.pick((UDP, TCP, ICMP, ICMP, 2, 47, 50, 253, int(self.rng.integers(256))))
        if destination in self.own:
            protocol = ICMP
        source = self.source(port, destination)
        piece = self.chance(0.12)
        data = bytearray(
            packet(
                source,
                destination,
                ttl=self.pick((64, 64, 64, 255, 2, 2, 1, 0, int(self.rng.integers(256)))),
                tos=int(self.rng.integers(256)),
                identification=int(self.rng.integers(1 << 16)),
                df=self.chance(0.25),
                mf=piece and self.chance(0.6),
                offset=self.pick((1, 8, 8191, int(self.rng.integers(1 << 13)))) if piece and self.chance(0.8) else 0,
                reserved=self.chance(0.05),
                protocol=protocol,
                options=options,
                payload=self.payload(protocol, self.length(destination, port, options)),
            )
        )
        return self.damaged(data) if self.chance(0.15) else bytes(data)

    def damaged(self, data):
        """Return a packet with something wrong."""
        way = int(self.rng.integers(5))
        if way == 0:
            data[int(self.rng.integers(min(len(data), 60)))] ^= 1 << int(self.rng.integers(8))
            return bytes(data)
        if way == 1:
            return bytes(data[: int(self.rng.integers(len(data) + 1))])
        if way == 2:
            struct.pack_into(">H", data, 10, int(self.rng.integers(1 << 16)))
            return bytes(data)
        if way == 3:
            struct.pack_into(">H", data, 2, self.pick((0, 19, 20, 21, len(data) - 1, len(data) + 1, 65_535)))
        else:
            data[self.pick((0, 0, 1, 4, 5, 6, 7, 8, 9))] ^= 1 << int(self.rng.integers(8))
        return resummed(data)

    def head(self, port):
        """Return an Ethernet header."""
        target = self.router.ports[port]
        to, source, kind = target.mac, target.peer_mac, 0x0800
        way = self.rng.random()
        if way < 0.02:
            to = b"\xff" * 6
        elif way < 0.04:
            to = bytes([self.pick((1, 3, 0x33))]) + self.rng.bytes(5)
        elif way < 0.06:
            to = self.pick((self.router.ports[port - 1].mac, target.peer_mac, bytes(6), b"\x02" + self.rng.bytes(5)))
        if self.chance(0.05):
            source = self.pick((target.mac, b"\xff" * 6, bytes(6), self.rng.bytes(6)))
        if self.chance(0.02):
            kind = self.pick(ETHERNET_TYPES)
        return to + source + struct.pack(">H", kind)

    def frame(self):
        """Return (port, frame), of a length that the link carries."""
        while True:
            port = 0 if self.chance(0.4) else int(self.rng.integers(len(MTUS)))
            data = self.packet(port)
            if self.chance(0.05):
                data += self.rng.bytes(int(self.rng.integers(1, 40)))
            if len(data) <= MTUS[port] and not self.answered(data):
                return port, self.head(port) + data

    def answered(self, data):
        """Say whether the kernel would answer as a host, or count by a source that is used again."""
        if len(data) < 20 or int.from_bytes(data[16:20], "big") not in self.own:
            return False
        size = 4 * (data[0] & 15)
        return data[9] != ICMP or data[size : size + 1] == bytes([ANSWERED])


def resummed(data):
    """Return a packet with a right checksum, if its header is there."""
    size = 4 * (data[0] & 15)
    if 20 <= size <= len(data):
        data[10:12] = bytes(2)
        data[10:12] = struct.pack(">H", checksum(bytes(data[:size])))
    return bytes(data)


def random_cases(router, count=4000, seed=1812):
    """Return (name, port, frame) of so many frames."""
    maker = Maker(router, seed, 100_000 * (seed % 10))
    return [(f"random {number}", *maker.frame()) for number in range(count)]
