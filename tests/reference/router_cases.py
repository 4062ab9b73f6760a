"""Named cases for an IPv4 router: a configuration, and frames that each try one rule (RFC 1812, RFC 791, RFC 792).

`named_cases()` gives (name, port, frame) in the order in which they are sent; router_random.py has random ones.
Each case has a source address of its own: the kernel counts some ICMP errors by source.
"""

import struct
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from npexplore.golden.ipv4.addresses import address_number, address_text
from npexplore.golden.linux.settings import LinuxSettings
from npexplore.golden.router.configuration import (
    NeighbourRecord,
    PortRecord,
    Router,
    RouteRecord,
    RouterFile,
    resolve_router,
)

DATA = Path(__file__).parents[2] / "data"
UDP, TCP, ICMP, EXPERIMENT = 17, 6, 1, 253
HEADER = 14  # bytes of Ethernet in front of the packet


def ports(addresses, mtus):
    """Return port records p0, p1, ... with the MAC addresses that all cases use."""
    return [
        PortRecord(
            name=f"p{k}", address=address, mtu=mtu, mac=f"02:00:00:00:00:{k:02x}", peer_mac=f"02:00:00:00:01:{k:02x}"
        )
        for k, (address, mtu) in enumerate(zip(addresses, mtus, strict=True))
    ]


NAMED = RouterFile(
    profile="linux",
    linux=LinuxSettings(accept_source_route=True),
    port=ports(
        ["10.0.0.1/24", "10.1.0.1/24", "10.2.0.1/24", "10.3.0.1/30", "10.4.0.0/31"], [9000, 1500, 576, 68, 1500]
    ),
    neighbour=[
        NeighbourRecord(address="10.1.0.2", mac="02:00:00:00:02:02"),
        NeighbourRecord(address="10.0.0.9", mac="02:00:00:00:02:09"),
    ],
    route=[
        RouteRecord(prefix="172.16.0.0/12", via="10.0.0.2"),
        RouteRecord(prefix="20.0.0.0/8", via="10.1.0.2"),
        RouteRecord(prefix="20.1.0.0/16", via="10.2.0.2"),
        RouteRecord(prefix="20.1.2.0/24", via="10.3.0.2"),
        RouteRecord(prefix="20.1.2.128/25", via="10.4.0.1"),
        RouteRecord(prefix="20.1.2.129/32", via="10.1.0.7"),
        RouteRecord(prefix="20.1.2.130/31", port="p2"),
        RouteRecord(prefix="20.2.0.0/15", port="p1"),
        RouteRecord(prefix="21.0.0.0/8", via="10.2.0.2"),
        RouteRecord(prefix="22.0.0.0/8", via="10.3.0.2"),
        RouteRecord(prefix="23.0.0.0/8", via="10.4.0.1"),
        RouteRecord(prefix="24.0.0.0/8", via="10.0.0.9"),
        RouteRecord(prefix="30.0.0.0/8", kind="blackhole"),
        RouteRecord(prefix="31.0.0.0/8", kind="unreachable"),
        RouteRecord(prefix="32.0.0.0/8", kind="prohibit"),
        RouteRecord(prefix="30.1.0.0/16", via="10.1.0.2"),
        RouteRecord(prefix="31.1.0.0/16", kind="blackhole"),
        RouteRecord(prefix="240.0.0.0/5", via="10.1.0.2"),
        RouteRecord(prefix="10.0.0.16/28", via="10.0.0.9"),
        RouteRecord(prefix="10.0.0.32/28", via="10.1.0.2"),
    ],
)

# every kind of address that a router of these links and routes may meet
NOTABLE = [
    "0.0.0.0", "0.0.0.1", "10.0.0.0", "10.0.0.1", "10.0.0.2", "10.0.0.9", "10.0.0.255", "10.1.0.1", "10.1.0.2",
    "10.1.0.77", "10.1.0.255", "10.3.0.0", "10.3.0.2", "10.3.0.3", "10.4.0.0", "10.4.0.1", "20.0.0.1", "20.1.2.129",
    "20.1.2.131", "20.2.0.9", "21.0.0.1", "22.0.0.1", "23.0.0.1", "24.0.0.1", "30.0.0.1", "30.1.0.1", "31.0.0.1",
    "31.1.0.1", "32.0.0.1", "98.0.0.1", "127.0.0.1", "172.16.0.9", "224.0.0.5", "239.255.255.255", "240.0.0.1",
    "250.0.0.1", "255.255.255.254", "255.255.255.255",
]  # fmt: skip


def checksum(data: bytes) -> int:
    """Return the Internet checksum of bytes (RFC 1071), written for these cases alone."""
    total = sum(struct.unpack(f">{len(data) // 2}H", data[: len(data) // 2 * 2])) + (
        data[-1] << 8 if len(data) % 2 else 0
    )
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


def packet(
    src,
    dst,
    *,
    ttl=64,
    tos=0,
    identification=0x1234,
    df=False,
    mf=False,
    offset=0,
    reserved=False,
    protocol=EXPERIMENT,
    options=b"",
    payload=b"",
    version=4,
    ihl=None,
    total=None,
    header_checksum=None,
):
    """Return an IPv4 packet; what is not given is as it should be."""
    options += bytes(-len(options) % 4)
    size = 20 + len(options)
    flags = (reserved << 15) | (df << 14) | (mf << 13) | offset
    fields = (
        (version << 4) | (size // 4 if ihl is None else ihl),
        tos,
        size + len(payload) if total is None else total,
        identification,
        flags,
        ttl,
        protocol,
        0,
        address_number(src),
        address_number(dst),
    )
    header = bytearray(struct.pack(">BBHHHBBHII", *fields) + options)
    struct.pack_into(">H", header, 10, checksum(bytes(header)) if header_checksum is None else header_checksum)
    return bytes(header) + payload


def icmp(kind, code=0, rest=bytes(4), data=b""):
    """Return an ICMP message."""
    message = bytearray(struct.pack(">BBH", kind, code, 0) + rest + data)
    struct.pack_into(">H", message, 2, checksum(bytes(message)))
    return bytes(message)


def body(length):
    """Return bytes that tell where they stand."""
    return bytes(k * 7 % 251 for k in range(length))


@dataclass
class Cases:
    """Collects cases; a source address is made for each."""

    router: Router
    rows: list[tuple[str, int, bytes]]
    first: int = 0  # number of the first source address

    def source(self):
        """Return an address that no other case uses; routed back over port 0."""
        return address_text(address_number("172.16.0.1") + self.first + len(self.rows))

    def frame(self, name, frame, port=0):
        """Add a frame."""
        assert name not in {row[0] for row in self.rows}, name
        self.rows.append((name, port, frame))

    def add(self, name, dst, *, port=0, src=None, to=None, kind=0x0800, trailer=b"", cut=None, **fields):
        """Add a packet to an address."""
        data = packet(src or self.source(), dst, **fields) if not isinstance(dst, bytes) else dst
        data = data if cut is None else data[:cut]
        target = self.router.ports[port]
        head = (to or target.mac) + target.peer_mac + struct.pack(">H", kind)
        self.frame(name, head + data + trailer, port)


def named_cases():
    """Return (router, cases)."""
    cases = Cases(resolve_router(NAMED), [])
    for group in (
        lookups,
        time_to_live,
        headers,
        links,
        martians,
        local,
        fragments,
        options,
        errors,
        kinds,
        redirects,
        corners,
    ):
        group(cases)
    return cases.router, cases.rows


def lookups(c):
    for name, dst in {
        "next hop of a /8": "20.200.0.1",
        "next hop of a /16": "20.1.9.9",
        "next hop of a /24": "20.1.2.3",
        "next hop of a /25": "20.1.2.200",
        "next hop of a /32": "20.1.2.129",
        "route to a port": "20.1.2.131",
        "route to a port, other end": "20.1.2.130",
        "/15 to a port": "20.3.255.254",
        "first address of a /8": "20.0.0.0",
        "last address of a /8": "20.255.255.255",
        "host on a link": "10.1.0.77",
        "host with a MAC of its own": "10.1.0.2",
        "host on a /31": "10.4.0.1",
        "host on a /30": "10.3.0.2",
        "class E by a route": "240.1.2.3",
        "part of a blackhole routed": "30.1.2.3",
    }.items():
        c.add(f"lookup: {name}", dst, payload=body(8))
    for port in (1, 2, 4):
        c.add(f"lookup: from port {port}", "20.200.0.1" if port != 1 else "21.0.0.5", port=port, payload=body(8))


def time_to_live(c):
    for ttl in (0, 1, 2, 3, 64, 255):
        c.add(f"ttl {ttl}", "20.200.0.1", ttl=ttl, payload=body(16))
        c.add(f"ttl {ttl}, to the router", "10.0.0.1", ttl=ttl, protocol=ICMP, payload=icmp(8))
    c.add("ttl 1, no route", "99.0.0.1", ttl=1, payload=body(16))
    c.add("ttl 1, too long", "21.0.0.1", ttl=1, df=True, payload=body(800))
    c.add("ttl 1, blackhole", "30.0.0.1", ttl=1)
    for tos in (0x00, 0x10, 0xB8, 0xC0, 0xFF):
        c.add(f"ttl 1, tos {tos:#04x}", "20.200.0.1", ttl=1, tos=tos, payload=body(16))
        c.add(f"tos {tos:#04x} stays", "20.200.0.1", tos=tos, payload=body(16))


def headers(c):
    for version in (0, 5, 6, 15):
        c.add(f"version {version}", "20.200.0.1", version=version, payload=body(8))
    for ihl in range(5):
        c.add(f"header length {ihl} words", "20.200.0.1", ihl=ihl, payload=body(8))
    c.add("header length beyond the packet", "20.200.0.1", ihl=15, payload=body(8))
    for total in (0, 19, 20, 27, 28):
        c.add(f"total length {total} of 28", "20.200.0.1", total=total, payload=body(8))
    c.add("total length beyond the frame", "20.200.0.1", total=29, payload=body(8))
    c.add("total length far beyond", "20.200.0.1", total=65_535, payload=body(8))
    c.add("total length below the header with options", "20.200.0.1", total=22, options=b"\x01" * 4, payload=body(8))
    c.add("padding behind the packet", "20.200.0.1", payload=body(6), trailer=bytes(20))
    c.add("rubbish behind the packet", "20.200.0.1", payload=body(6), trailer=b"\xee" * 33)
    for wrong in (0x0000, 0xFFFF, 0x1234):
        c.add(f"checksum {wrong:#06x}", "20.200.0.1", header_checksum=wrong, payload=body(8))
    good = packet(c.source(), "20.200.0.1", payload=body(8))
    for bit in (0, 15):
        c.add(
            f"checksum with bit {bit} turned",
            good[:10] + bytes(a ^ b for a, b in zip(good[10:12], struct.pack(">H", 1 << bit), strict=True)) + good[12:],
        )
    for name, identification in edge_identifications(c).items():
        c.add(name, "20.200.0.1", identification=identification, payload=body(8))
    for cut in range(28):
        c.add(f"cut after {cut} bytes", "20.200.0.1", payload=body(8), cut=cut)
    c.add("no payload", "20.200.0.1")
    c.add("one byte of payload", "20.200.0.1", payload=b"\x55")
    c.add("reserved flag", "20.200.0.1", reserved=True, payload=body(8))


def edge_identifications(c):
    """Return identifications for which the checksum is or becomes 0x0000 or nearly so (RFC 1624 section 3)."""
    found = {}
    for k, (name, goal) in enumerate(
        {
            "checksum 0x0000 by right": 0x0000,
            "checksum 0xfeff": 0xFEFF,
            "checksum 0xfffe": 0xFFFE,
            "checksum 0xff00": 0xFF00,
        }.items()
    ):
        src = address_text(address_number("172.16.0.1") + len(c.rows) + k)
        ours = partial(packet, src, "20.200.0.1", payload=body(8))
        need = (int.from_bytes(ours(identification=0)[10:12]) - goal) % 0xFFFF  # in ones' complement 0xffff is 0
        for identification in (need, need + 0xFFFF):
            if identification < 1 << 16 and int.from_bytes(ours(identification=identification)[10:12]) == goal:
                found[name] = identification
                break
    return found


def links(c):
    c.add("link: another MAC address", "20.200.0.1", to=b"\x02\x00\x00\x00\x09\x09")
    c.add("link: broadcast, unicast packet", "20.200.0.1", to=b"\xff" * 6)
    c.add("link: multicast, unicast packet", "20.200.0.1", to=b"\x01\x00\x5e\x01\x02\x03")
    c.add("link: broadcast, ttl 1", "20.200.0.1", to=b"\xff" * 6, ttl=1)
    for kind in (0x86DD, 0x0806, 0x88B5, 0x0600):
        c.add(f"link: type {kind:#06x}", "20.200.0.1", kind=kind, payload=body(30))
    c.add("link: length instead of a type", "20.200.0.1", kind=28, payload=body(8))
    c.add("link: behind a VLAN tag", struct.pack(">HH", 7, 0x0800) + packet(c.source(), "20.200.0.1"), kind=0x8100)


def martians(c):
    for name, src in {
        "loopback": "127.0.0.1",
        "loopback, end": "127.255.255.255",
        "this network": "0.0.0.0",
        "zero net": "0.1.2.3",
        "multicast": "224.0.0.5",
        "multicast, end": "239.255.255.255",
        "class E": "240.0.0.1",
        "limited broadcast": "255.255.255.255",
        "own address": "10.0.0.1",
        "own address of another port": "10.1.0.1",
        "broadcast of the link": "10.0.0.255",
        "network of the link": "10.0.0.0",
        "broadcast of another link": "10.1.0.255",
        "private": "192.168.1.1",
        "documentation": "192.0.2.1",
        "link local": "169.254.1.1",
        "no route back": "98.0.0.1",
    }.items():
        c.add(f"source: {name}", "20.200.0.1", src=src, payload=body(8))
    for name, dst in {
        "loopback": "127.0.0.1",
        "loopback, end": "127.255.255.255",
        "this network": "0.0.0.0",
        "zero net": "0.1.2.3",
        "multicast, link": "224.0.0.1",
        "multicast": "239.1.2.3",
        "limited broadcast": "255.255.255.255",
        "class E without a route": "250.0.0.1",
        "link local": "169.254.1.1",
    }.items():
        c.add(f"destination: {name}", dst, payload=body(8))
    c.add("destination: multicast by its MAC", "239.1.2.3", to=b"\x01\x00\x5e\x01\x02\x03", payload=body(8))
    c.add("destination: limited broadcast by its MAC", "255.255.255.255", to=b"\xff" * 6, payload=body(8))


def local(c):
    for k, address in enumerate(["10.0.0.1", "10.1.0.1", "10.2.0.1", "10.3.0.1", "10.4.0.0"]):
        c.add(f"local: port {k}", address, protocol=ICMP, payload=icmp(8))
    for name, dst in {
        "broadcast of this link": "10.0.0.255",
        "network of this link": "10.0.0.0",
        "broadcast of another link": "10.1.0.255",
        "network of another link": "10.1.0.0",
        "broadcast of a /30": "10.3.0.3",
        "network of a /30": "10.3.0.0",
    }.items():
        c.add(f"local: {name}", dst, protocol=ICMP, payload=icmp(8))
    c.add("local: bad checksum", "10.0.0.1", protocol=ICMP, payload=icmp(8), header_checksum=0x1111)
    c.add("local: too short", "10.0.0.1", total=24, protocol=ICMP, payload=b"")


def fragments(c):
    for size in (1499, 1500, 1501, 1480, 1481, 2000, 2960, 2961, 3001, 8980):
        c.add(f"mtu 1500: {size} bytes", "20.200.0.1", payload=body(size - 20))
    for size in (575, 576, 577, 1104, 1129):
        c.add(f"mtu 576: {size} bytes", "21.0.0.1", payload=body(size - 20))
    for size in (67, 68, 69, 116, 117, 300):
        c.add(f"mtu 68: {size} bytes", "22.0.0.1", payload=body(size - 20))
    for size in (1500, 1501, 9000):
        c.add(f"mtu 1500, do not fragment: {size} bytes", "20.200.0.1", df=True, payload=body(size - 20))
    c.add("mtu 576, do not fragment", "21.0.0.1", df=True, payload=body(900))
    c.add("mtu 68, do not fragment", "22.0.0.1", df=True, payload=body(60))
    c.add("first piece again in pieces", "21.0.0.1", mf=True, payload=body(1200))
    c.add("middle piece again in pieces", "21.0.0.1", mf=True, offset=150, payload=body(1200))
    c.add("last piece again in pieces", "21.0.0.1", offset=150, payload=body(1201))
    c.add("piece that fits", "21.0.0.1", mf=True, offset=3, payload=body(64))
    c.add("piece at the far end", "21.0.0.1", offset=8189, payload=body(15))
    c.add("middle piece of odd length", "21.0.0.1", mf=True, offset=5, payload=body(601))
    c.add("piece with do not fragment", "21.0.0.1", mf=True, df=True, offset=9, payload=body(700))
    c.add("reserved flag in pieces", "21.0.0.1", reserved=True, payload=body(700))
    c.add("pieces keep tos and id", "21.0.0.1", tos=0xB9, identification=0, payload=body(1000))
    c.add("pieces, protocol tcp", "21.0.0.1", protocol=TCP, payload=body(1000))
    c.add("pieces, ttl 2", "21.0.0.1", ttl=2, payload=body(1000))


def record(room, *addresses, pointer=None, length=None):
    """Return a record route option (RFC 791): `room` places, the first ones filled."""
    data = b"".join(struct.pack(">I", address_number(a)) for a in addresses) + bytes(4 * (room - len(addresses)))
    return (
        bytes([7, 3 + 4 * room if length is None else length, 4 + 4 * len(addresses) if pointer is None else pointer])
        + data
    )


def route(strict, *addresses, pointer=4, length=None):
    """Return a source route option."""
    data = b"".join(struct.pack(">I", address_number(a)) for a in addresses)
    return bytes([137 if strict else 131, 3 + len(data) if length is None else length, pointer]) + data


def stamp(flag, room, *, pointer=5, overflow=0, length=None, data=None):
    """Return a time stamp option: `room` words of data."""
    return bytes([68, 4 + 4 * room if length is None else length, pointer, overflow << 4 | flag]) + (
        bytes(4 * room) if data is None else data
    )


def options(c):
    ask = "20.200.0.1"
    for name, data in {
        "no operation": b"\x01" * 4,
        "end of list": bytes(4),
        "end of list, then rubbish": b"\x00\xff\xfe\xfd",
        "no operation, then end": b"\x01\x01\x00\x00",
        "router alert": b"\x94\x04\x00\x00",
        "router alert, other value": b"\x94\x04\x00\x01",
        "router alert of wrong length": b"\x94\x03\x00\x00",
        "unknown, copied": b"\x9e\x04\xaa\xbb",
        "unknown, not copied": b"\x1e\x04\xaa\xbb",
        "unknown of length 0": b"\x1e\x00\xaa\xbb",
        "unknown of length 1": b"\x1e\x01\xaa\xbb",
        "unknown beyond the header": b"\x1e\x05\xaa\xbb",
        "unknown without a length": b"\x01\x01\x01\x1e",
        "security": b"\x82\x0b" + bytes(9) + b"\x00",
        "stream id": b"\x88\x04\x12\x34",
        "forty bytes of no operation": b"\x01" * 40,
        "security label": b"\x86\x0a" + bytes([0, 0, 0, 9, 1, 4, 0, 1]),
        "security label, too short": b"\x86\x07" + bytes([0, 0, 0, 9, 1]),
        "record route, 1 place": record(1),
        "record route, 9 places": record(9),
        "record route, half full": record(3, "1.2.3.4"),
        "record route, full": record(2, "1.2.3.4", "5.6.7.8"),
        "record route behind no operation": b"\x01" + record(2),
        "record route, pointer 0": record(2, pointer=0),
        "record route, pointer 3": record(2, pointer=3),
        "record route, pointer 5": record(2, pointer=5),
        "record route, pointer past the end": record(2, pointer=12),
        "record route, pointer far past": record(2, pointer=200),
        "record route, pointer at the last byte": record(2, pointer=9),
        "record route, length 2": record(0, length=2) + bytes(1),
        "record route, length 3": record(0, length=3),
        "record route, length 4": record(1, length=4),
        "record route, length 6": record(1, length=6),
        "record route, length 8": record(2, length=8),
        "record route beyond the header": record(1, length=40),
        "two record routes": record(1) + b"\x01" + record(1),
        "time stamp": stamp(0, 1),
        "time stamp, two places": stamp(0, 2),
        "time stamp, second of two": stamp(0, 2, pointer=9),
        "time stamp, full": stamp(0, 1, pointer=9),
        "time stamp, full, overflow 14": stamp(0, 1, pointer=9, overflow=14),
        "time stamp, full, overflow 15": stamp(0, 1, pointer=9, overflow=15),
        "time stamp with address": stamp(1, 2),
        "time stamp with address, no room": stamp(1, 1),
        "time stamp with address, full": stamp(1, 2, pointer=13),
        "time stamp asked of another": stamp(3, 2, data=bytes([9, 9, 9, 9]) + bytes(4)),
        "time stamp asked of us": stamp(3, 2, data=bytes([10, 0, 0, 1]) + bytes(4)),
        "time stamp asked of our other port": stamp(3, 2, data=bytes([10, 1, 0, 1]) + bytes(4)),
        "time stamp, flag 2": stamp(2, 2),
        "time stamp, pointer 4": stamp(0, 1, pointer=4),
        "time stamp, pointer 6": stamp(0, 2, pointer=6),
        "time stamp, length 3": b"\x44\x03\x05\x00",
        "time stamp, length 4": b"\x44\x04\x05\x00",
        "time stamp, length 5": stamp(0, 1, length=5),
        "time stamp with address, pointer 9 of 12": stamp(1, 2, pointer=9),
        "source route, not for us": route(False, "20.1.2.3"),
        "strict source route, not for us": route(True, "20.1.2.3"),
    }.items():
        c.add(f"option: {name}", ask, options=data, payload=body(24))
    for strict in (False, True):
        word = "strict" if strict else "loose"
        for name, (dst, data) in {
            "through us": ("10.0.0.1", route(strict, "10.1.0.9", "20.0.0.9")),
            "to a host far off": ("10.0.0.1", route(strict, "20.200.0.1")),
            "to the last": ("10.0.0.1", route(strict, "9.9.9.9", "10.1.0.9", pointer=8)),
            "done": ("10.0.0.1", route(strict, "9.9.9.9", pointer=8)),
            "to ourselves, then on": ("10.0.0.1", route(strict, "10.1.0.1", "10.1.0.9")),
            "without a route": ("10.0.0.1", route(strict, "99.0.0.1")),
            "pointer 3": ("10.0.0.1", route(strict, "10.1.0.9", pointer=3)),
            "pointer 5": ("10.0.0.1", route(strict, "10.1.0.9", pointer=5)),
            "length 2": ("10.0.0.1", bytes([137 if strict else 131, 2, 4, 0])),
            "to a broadcast": ("10.0.0.1", route(strict, "10.1.0.255")),
            "through our other port": ("10.1.0.1", route(strict, "10.2.0.9")),
            "to a next hop that is a multicast": ("10.0.0.1", route(strict, "224.0.0.9")),
        }.items():
            c.add(f"{word} source route: {name}", dst, options=data, payload=body(24))
    c.add(
        "both source routes",
        "10.0.0.1",
        options=route(False, "10.1.0.9") + b"\x01" + route(True, "10.1.0.9"),
        payload=body(8),
    )
    for name, data in {
        "record route": record(2),
        "router alert": b"\x94\x04\x00\x00",
        "source route": route(False, "9.9.9.9", pointer=8),
        "unknown, copied": b"\x9e\x04\xaa\xbb",
        "unknown, not copied": b"\x1e\x04\xaa\xbb",
        "time stamp, full": stamp(0, 1, pointer=9, overflow=3),
        "mixed": b"\x01" + record(1) + b"\x94\x04\x00\x00",
        "no operation": b"\x01" * 8,
    }.items():
        c.add(f"pieces with {name}", "21.0.0.1", options=data, payload=body(1100))
        c.add(f"later piece with {name}", "21.0.0.1", options=data, payload=body(1100), mf=True, offset=30)
        c.add(f"ttl 1 with {name}", "20.200.0.1", options=data, payload=body(20), ttl=1)
        c.add(f"no route with {name}", "99.0.0.1", options=data, payload=body(20))
    c.add("options and do not fragment", "21.0.0.1", options=record(2), payload=body(700), df=True)
    c.add("bad option and ttl 1", "20.200.0.1", options=record(2, pointer=3), payload=body(20), ttl=1)
    c.add("bad option and no route", "99.0.0.1", options=record(2, pointer=3), payload=body(20))
    c.add("bad option to the router", "10.0.0.1", options=record(2, pointer=3), protocol=ICMP, payload=icmp(8))


def errors(c):
    ask = "20.200.0.1"
    for kind, name in {
        0: "echo reply",
        3: "unreachable",
        4: "source quench",
        5: "redirect",
        8: "echo",
        11: "time exceeded",
        12: "parameter problem",
        13: "time stamp",
        17: "mask",
        40: "a kind from beyond",
        255: "the last kind",
    }.items():
        c.add(f"ttl 1 about icmp {name}", ask, ttl=1, protocol=ICMP, payload=icmp(kind, data=body(28)))
    c.add("no route about icmp unreachable", "99.0.0.1", protocol=ICMP, payload=icmp(3, data=body(28)))
    c.add("no route about icmp echo", "99.0.0.1", protocol=ICMP, payload=icmp(8, data=body(28)))
    c.add("too long about icmp unreachable", "21.0.0.1", df=True, protocol=ICMP, payload=icmp(3, data=body(900)))
    c.add(
        "bad option about icmp unreachable",
        ask,
        options=record(2, pointer=3),
        protocol=ICMP,
        payload=icmp(3, data=body(28)),
    )
    c.add("ttl 1 about a first piece", ask, ttl=1, mf=True, payload=body(64))
    c.add("ttl 1 about a later piece", ask, ttl=1, mf=True, offset=8, payload=body(64))
    c.add("no route about a later piece", "99.0.0.1", offset=8, payload=body(64))
    c.add("ttl 1 about icmp without a type", ask, ttl=1, protocol=ICMP, payload=b"")
    for length in (0, 7, 8, 9, 500, 527, 528, 529, 548, 549, 1400):
        c.add(f"ttl 1, quoting {length} bytes", ask, ttl=1, payload=body(length))
    c.add("ttl 1, quoting behind padding", ask, ttl=1, payload=body(4), trailer=b"\xee" * 30)
    for name, src in {
        "broadcast": "10.0.0.255",
        "multicast": "224.1.1.1",
        "loopback": "127.0.0.1",
        "zero": "0.0.0.0",
        "class E": "241.0.0.1",
    }.items():
        c.add(f"ttl 1 from {name}", ask, src=src, ttl=1)
    c.add("ttl 1 to a multicast", "239.1.2.3", ttl=1)
    c.add("ttl 1 to a broadcast of a link", "10.1.0.255", ttl=1)
    c.add("ttl 1 from another port", "21.0.0.1", port=1, ttl=1)
    c.add("ttl 1 from a port of small mtu", "20.200.0.1", port=2, ttl=1, payload=body(300))
    c.add("ttl 1 from a host on the link", ask, src="10.0.0.200", ttl=1)


def kinds(c):
    for name, dst in {
        "blackhole": "30.9.0.1",
        "unreachable": "31.9.0.1",
        "prohibit": "32.9.0.1",
        "blackhole in unreachable": "31.1.0.1",
        "none": "99.9.0.1",
    }.items():
        c.add(f"route: {name}", dst, payload=body(16))
        c.add(f"route: {name}, long packet", dst, payload=body(1200))
        c.add(f"route: {name}, from another port", dst, port=1, payload=body(16))


def redirects(c):
    c.add("redirect: same port, host on the link", "24.0.0.1", src="10.0.0.201", payload=body(16))
    c.add("redirect: same port, host far off", "24.0.0.1", payload=body(16))
    c.add("redirect: to the host itself", "10.0.0.77", src="10.0.0.202", payload=body(16))
    c.add("redirect: ttl 1", "24.0.0.1", src="10.0.0.203", ttl=1)
    c.add("redirect: source route", "10.0.0.1", src="10.0.0.204", options=route(False, "10.0.0.78"), payload=body(8))
    c.add("redirect: icmp error", "24.0.0.1", src="10.0.0.205", protocol=ICMP, payload=icmp(3, data=body(28)))
    c.add("redirect: with record route", "24.0.0.1", src="10.0.0.206", options=record(3), payload=body(8))
    c.add("redirect: later piece", "24.0.0.1", src="10.0.0.207", offset=5, payload=body(8))
    c.add("redirect: back to the sender", "10.0.0.208", src="10.0.0.208", payload=body(8))


def corners(c):
    """What random packets have shown: addresses that are no host's in options, errors along odd routes back."""
    other = {
        "a broadcast of a link": "10.0.0.255",
        "all": "255.255.255.255",
        "nobody": "0.0.0.0",
        "this network": "0.1.2.3",
        "a multicast": "239.1.2.3",
        "the loopback": "127.0.0.1",
        "our other port": "10.2.0.1",
        "a host on a link": "10.2.0.9",
        "a host without a route": "99.0.0.1",
    }
    for name, address in other.items():
        asked = struct.pack(">I", address_number(address)) + bytes(4)
        c.add(f"time stamp asked of {name}", "20.200.0.1", options=stamp(3, 2, data=asked), payload=body(8))
        back = route(False, address, pointer=8) + record(2, pointer=3)
        c.add(f"error back by {name}, to the router", "10.1.0.1", options=back, protocol=ICMP, payload=icmp(8))
        c.add(f"error back by {name}, passing", "20.200.0.1", options=back, payload=body(8))
    c.add("redirect: source on the link behind a next hop", "24.0.0.1", src="10.0.0.20", payload=body(8))
    c.add("redirect: source on the link behind another port", "24.0.0.1", src="10.0.0.40", payload=body(8))
    c.add("redirect: source of another link", "24.0.0.1", src="10.1.0.50", payload=body(8))
    c.add("piece beyond the last place", "21.0.0.1", offset=8191, payload=body(700))
    c.add("first piece beyond the last place", "21.0.0.1", offset=8160, mf=True, payload=body(1100))
    c.add("bad option from a broadcast of a link", "20.200.0.1", src="10.2.0.255", options=record(2, pointer=3))
    c.add("record route from a broadcast of a link", "20.200.0.1", src="10.2.0.255", options=record(2), ttl=1)
