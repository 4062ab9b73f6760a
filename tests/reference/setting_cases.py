"""Cases for what a router may be configured as: the kernel's settings, asymmetric ways back, answers, tags.

Each is a configuration (a record), a port and a frame; many are finds of the live comparison (kernel_hunt.py).
"""

import struct

import msgspec
from reference.router_cases6 import framed as framed_as

from npexplore.golden.ipv4.addresses import address_number as four
from npexplore.golden.ipv4.header import DF
from npexplore.golden.ipv4.header import write_packet as write4
from npexplore.golden.ipv4.host import summed
from npexplore.golden.ipv6.addresses import address_number as six
from npexplore.golden.ipv6.header import ICMP6, write_packet
from npexplore.golden.ipv6.icmp import checksum
from npexplore.golden.linux.settings import LinuxSettings
from npexplore.golden.router.policy import Policy
from npexplore.golden.router.records import NeighbourRecord, NextHopRecord, PortRecord, RouteRecord, RouterFile

BASE = RouterFile(
    profile="linux",
    port=[
        PortRecord(
            name=f"p{k}", address=f"1{k}.0.0.1/24", address6=f"2001:db8:{k}::1/64", mtu=mtu,
            addresses=[f"1{k}.9.0.1/24", f"2001:db8:{k}:9::1/64"],
            mac=f"02:00:00:00:00:{k:02x}", peer_mac=f"02:00:00:00:01:{k:02x}",
        )
        for k, mtu in enumerate([9000, 1500, 1280])
    ],
    route=[
        RouteRecord(prefix="20.0.0.0/8", via="11.0.0.2"),
        RouteRecord(prefix="21.0.0.0/8", via="10.9.0.2"),
        RouteRecord(prefix="22.0.0.0/8", via="12.0.0.2"),
        RouteRecord(prefix="31.0.0.0/8", kind="unreachable"),
        RouteRecord(prefix="2001:db8:a::/48", via="2001:db8:1::2"),
        RouteRecord(prefix="2001:db8:b::/48", via="fe80::2", port="p0"),
        RouteRecord(prefix="2001:db8:c::/48", via="2001:db8:2::2"),
        RouteRecord(prefix="2001:db8:d::/48", kind="unreachable"),
        RouteRecord(prefix="fd00::/8", port="p1"),
        RouteRecord(
            prefix="40.0.0.0/8",
            next_hops=[
                NextHopRecord(via="10.0.0.2", weight=3), NextHopRecord(via="11.9.0.2"),
                NextHopRecord(via="12.0.0.7", weight=2),
            ],
        ),
        RouteRecord(
            prefix="2001:db8:40::/48",
            next_hops=[
                NextHopRecord(via="2001:db8::2"), NextHopRecord(via="fe80::2", port="p1", weight=2),
                NextHopRecord(via="2001:db8:2::7"),
            ],
        ),
    ],
    linux=LinuxSettings(fib_multipath_hash_seed=1),
)  # fmt: skip
HEADS = {4: b"\x08\0", 6: b"\x86\xdd"}
UDP_HEAD = struct.pack(">HHHH", 1000, 2000, 12, 0) + b"data"


def framed(packet, port=0, tag=b""):
    """Return a packet in a frame for a port."""
    return framed_as(packet, tag + HEADS[packet[0] >> 4], port)


def v4(source, destination, payload=UDP_HEAD, **fields):
    """Return a packet of IPv4."""
    return write4(four(source), four(destination), payload, **fields)


def v6(source, destination, payload=UDP_HEAD, **fields):
    """Return a packet of IPv6."""
    return write_packet(six(source), six(destination), payload, **fields)


def message6(source, destination, body, **fields):
    """Return an ICMPv6 message."""
    body = body[:2] + checksum(six(source), six(destination), body).to_bytes(2, "big") + body[4:]
    return v6(source, destination, body, next_header=ICMP6, **fields)


ECHO = summed(b"\x08\0\0\0\x12\x34\0\1hello")
LOOSE = b"\x83\x07\x04" + four("20.0.0.9").to_bytes(4, "big") + b"\0"
# setting, a value that is not the usual one, what the packet is, and the packet, which comes in by port 0
SETTINGS = [
    ("accept_source_route", True, "loose source route by the router", v4("10.0.0.9", "10.0.0.1", options=LOOSE)),
    ("rp_filter", 1, "source that is routed elsewhere", v4("11.0.0.9", "20.0.0.1")),
    ("rp_filter", 2, "source that is routed elsewhere", v4("11.0.0.9", "20.0.0.1")),
    ("rp_filter", 2, "source without a route", v4("77.0.0.9", "20.0.0.1")),
    ("send_redirects", False, "back onto its link", v4("10.9.0.9", "21.0.0.1")),
    ("icmp_errors_use_inbound_ifaddr", True, "ttl 1, way back by another port", v4("11.9.0.9", "20.0.0.1", ttl=1)),
    ("fib_multipath_hash_policy", 1, "to several next hops", v4("10.0.0.9", "40.0.0.2")),
    ("fib_multipath_hash_fields", 0x20, "the same, policy 3", v4("10.0.0.9", "40.0.0.2")),
]


def with_setting(name, value):
    """Return the configuration with one setting, and what it needs beside it."""
    changed = {name: value}
    if name == "fib_multipath_hash_fields":
        changed["fib_multipath_hash_policy"] = 3
    return msgspec.structs.replace(BASE, linux=msgspec.structs.replace(BASE.linux, **changed))


def _several():
    """Yield packets to several next hops and from behind them: both families, by each policy."""
    for policy, fields in ((0, 7), (1, 7), (3, 1), (3, 0x3F)):
        settings = LinuxSettings(
            fib_multipath_hash_seed=0xDEADBEEF, fib_multipath_hash_policy=policy, fib_multipath_hash_fields=fields
        )
        record = msgspec.structs.replace(BASE, linux=settings, policy=Policy(answers=True))
        name = f"several next hops, policy {policy}, fields {fields}"
        for k in range(3):
            yield f"{name}: {k}", record, 0, framed(v4(f"10.3.{policy}.{k + 1}", f"40.0.{k}.9"))
            yield f"{name}: IPv6 {k}", record, 0, framed(v6("2001:db8::9", f"2001:db8:40::{k}", flow_label=k + 7))
        yield f"{name}: error", record, 0, framed(v4("40.0.0.77", "20.0.0.1", ttl=1))
        yield f"{name}: IPv6 error", record, 0, framed(v6("2001:db8:40::77", "2001:db8:a::1", hop_limit=1))
        for k in range(4):
            yield f"{name}: echo {k}", record, 0, framed(v4(f"40.{k}.0.78", "11.9.0.1", ECHO, protocol=1))
            asked = message6(f"2001:db8:40::{k}78", "2001:db8:1::1", b"\x80" + bytes(9))
            yield f"{name}: IPv6 echo {k}", record, 0, framed(asked)
        quoted = v4("40.0.3.9", "10.3.0.1")
        yield f"{name}: quoted", record, 0, framed(v4("10.3.0.7", "40.0.0.1", b"\x0b" + bytes(7) + quoted, protocol=1))
        quoted = v6("2001:db8:40::3", "2001:db8::9", flow_label=3)
        about = message6("2001:db8::9", "2001:db8:40::1", b"\3" + bytes(7) + quoted)
        yield f"{name}: IPv6 quoted", record, 0, framed(about)


def _listed_elsewhere():
    """Yield packets for a neighbour that is listed on the link of p1, and routed by p0, where nobody knows it."""
    places = {"": "11.0.0.254", "IPv6: ": "2001:db8:1::fe"}
    listed = msgspec.structs.replace(
        BASE,
        neighbour=[NeighbourRecord(address=place, mac="02:00:00:00:09:44") for place in places.values()],
        route=[
            *BASE.route, RouteRecord(prefix="11.0.0.254/32", port="p0"),
            RouteRecord(prefix="2001:db8:1::fe/128", port="p0"),
        ],
    )  # fmt: skip
    for how in ("known", "resolve"):
        record = msgspec.structs.replace(listed, policy=Policy(neighbours=how))
        for family, place in places.items():
            name = f"{family}listed on a link, routed by another one, neighbours {how}"
            six_ = bool(family)
            yield name, record, 2, framed(v6("2001:db8:2::9", place) if six_ else v4("12.0.0.9", place), 2)
            back = v6(place, "2001:db8:d::1") if six_ else v4(place, "31.0.0.1")
            yield f"{name}: error", record, 0, framed(back)


# senders, each with the address of p0 that it shares most bits with, which has another label (RFC 6724 section 2.1)
OTHER_LABELS = {
    "2003::9": "2002:1::1", "3fff::9": "3ffe:1::1", "2001:1::9": "2001:0:5::1", "2001:20::9": "2001:10:5::1",
    "fa00::9": "fd05::1",
}  # fmt: skip


def label_cases():
    """Yield errors to senders whose label says more than the bits that they share with an address."""
    further = [f"{own}/64" for own in OTHER_LABELS.values()]
    first = msgspec.structs.replace(BASE.port[0], addresses=[*BASE.port[0].addresses, *further])
    back = [RouteRecord(prefix=f"{sender}/128", port="p0") for sender in OTHER_LABELS]
    record = msgspec.structs.replace(BASE, port=[first, *BASE.port[1:]], route=[*BASE.route, *back])
    for sender in OTHER_LABELS:
        yield f"IPv6: label before common bits, {sender}", record, 0, framed(v6(sender, "2001:db8:d::1"))


def _more():
    """Yield (name, record, port, packet or frame)."""
    answers = msgspec.structs.replace(BASE, policy=Policy(answers=True))
    echo = ECHO
    filters = with_setting("rp_filter", 1)
    redirect = bytes([137, 0]) + bytes(6) + bytes(32)
    yield from _several()
    yield from _listed_elsewhere()
    yield from label_cases()
    there = NextHopRecord(via="2001:db8:0:9::2", port="p0", weight=2)
    elsewhere = msgspec.structs.replace(
        BASE,
        route=[
            RouteRecord(prefix="2001:db8:0:9::/80", port="p2"),
            RouteRecord(prefix="2002::/16", next_hops=[NextHopRecord(via="2001:db8::2", port="p0"), there]),
        ],
    )
    for k in range(3):
        frame = framed(v6("2001:db8:1::9", f"2002::{k}"), 1)
        yield f"IPv6: next hop whose part of the link is routed elsewhere {k}", elsewhere, 1, frame
    cut = v6("2001:db8::9", "2001:db8:a::1", b"\x11\0\1\4\0\0\0\0" + UDP_HEAD + b"behind", next_header=0)
    for hops in (64, 1):
        packet = cut[:4] + bytes(2) + cut[6:7] + bytes([hops]) + cut[8:]
        yield f"IPv6: no payload length, no jumbo option, hop limit {hops}", BASE, 0, framed(packet)
    sourced = with_setting("accept_source_route", True)
    sourced = msgspec.structs.replace(sourced, route=[*BASE.route, RouteRecord(prefix="255.240.0.0/12", port="p0")])
    back = b"\x83\x0b\x0c" + four("10.0.0.9").to_bytes(4, "big") + b"\xff" * 4 + b"\x89\x07\x04" + bytes(6)
    twice = v4("20.0.0.9", "10.0.0.1", options=back)
    yield "error back along a source route that begins with all, routed", sourced, 0, framed(twice)
    group = b"\x83\x07\x08" + four("235.0.0.1").to_bytes(4, "big") + b"\0"
    asked = msgspec.structs.replace(sourced, policy=Policy(answers=True))
    request = v4("10.0.0.9", "10.0.0.1", ECHO, protocol=1, options=group)
    yield "echo back along a source route that begins with a group", asked, 0, framed(request)
    yield "IPv6: way back by another port", BASE, 0, framed(v6("2001:db8:1::9", "2001:db8:a::1", hop_limit=1))
    yield "IPv6: too big, way back by another port", BASE, 0, framed(v6("2001:db8:1::9", "2001:db8:c::1", bytes(1300)))
    yield "IPv6: source in a further network", BASE, 0, framed(v6("2001:db8:1:9::9", "2001:db8:d::1"))
    yield "IPv6: source that is only local", BASE, 1, framed(v6("fd00::9", "2001:db8:d::1"), 1)
    yield "IPv6: source is the first of its route", BASE, 1, framed(v6("fd00::", "2001:db8:d::1"), 1)
    yield "IPv6: about a redirect", BASE, 0, framed(message6("2001:db8::9", "2001:db8:d::1", redirect))
    hidden = bytes([ICMP6, 0, *bytes(6)]) + bytes([1, 4]) + bytes(6)
    yield "IPv6: error behind mobility", BASE, 0, framed(v6("2001:db8::9", "2001:db8:d::1", hidden, next_header=135))
    yield "IPv6: link-local destination", BASE, 0, framed(v6("2001:db8::9", "fe80::99"))
    yield "IPv6: link-local destination, hop limit 1", BASE, 0, framed(v6("2001:db8::9", "fe80::99", hop_limit=1))
    yield "IPv6: link-local destination, other network", BASE, 0, framed(v6("2001:db8::9", "fe80:1::99"))
    yield "IPv6: from nobody, back by its port", BASE, 0, framed(v6("::", "2001:db8:b::1"))
    yield "IPv6: from nobody, by another port", BASE, 0, framed(v6("::", "2001:db8:a::1"))
    yield "IPv6: too big, back by its port", BASE, 2, framed(v6("2001:db8:2::9", "2001:db8:c::1", bytes(1230)), 2)
    yield "IPv6: redirect to a source behind another port", BASE, 0, framed(v6("2001:db8:1::9", "2001:db8:b::1"))
    for name, content in {
        "8 bytes of padding": b"\1\4\0\0\0\0\1\4\0\0\0\0\1\0", "padding that is not zero": b"\1\4\0\0\1\0",
        "nine options": b"\x1e\0" * 9 + b"\1\2\0\0", "router alert of 3 bytes": b"\5\3\0\0\0\0",
        "jumbo option too small": b"\xc2\4\0\0\0\1", "jumbo option in a short packet": b"\xc2\4\0\1\0\0",
        "jumbo option out of place": b"\1\0\xc2\4\0\1\0\0\1\4\0\0\0\0", "CALIPSO": b"\7\4\0\0\0\0",
    }.items():  # fmt: skip
        header = bytes([17, (len(content) + 2) // 8 - 1]) + content
        yield f"IPv6: {name}", BASE, 0, framed(v6("2001:db8::9", "2001:db8:a::1", header + UDP_HEAD, next_header=0))
    for number, tag in enumerate(
        (b"\x81\0\x60\0", b"\x88\xa8\0\0", b"\x81\0\0\0\x81\0\xe0\0", b"\x81\0\0\7", b"\x81\0")
    ):
        yield f"tag {number}", BASE, 0, framed(v4(f"10.0.0.{60 + number}", "20.0.0.1"), tag=tag)
    yield "tag 0, IPv6", BASE, 0, framed(v6("2001:db8::9", "2001:db8:a::1"), tag=b"\x81\0\0\0")
    yield "error by a further address", BASE, 0, framed(v4("10.9.0.9", "20.0.0.1", ttl=1))
    yield "redirect by a further address", BASE, 0, framed(v4("10.9.0.8", "21.0.0.1"))
    yield "filter: broadcast as source", filters, 0, framed(v4("10.9.0.255", "20.0.0.1"))
    yield (
        "filter: to the router",
        filters,
        0,
        framed(v4("11.0.0.9", "10.0.0.1", summed(b"\x0d" + bytes(19)), protocol=1)),
    )
    for name, packet in {
        "echo": v4("10.0.0.11", "10.0.0.1", echo, protocol=1, tos=0xFE),
        "echo, way back by another port": v4("11.0.0.11", "10.0.0.1", echo, protocol=1),
        "echo in pieces": v4("22.0.0.11", "10.0.0.1", summed(b"\x08\0\0\0\0\0\0\0" + bytes(3000)), protocol=1),
        "echo of nothing": v4("10.0.0.19", "10.0.0.1", summed(b"\x08" + bytes(9)), protocol=1),
        "echo, wrong checksum": v4("10.0.0.12", "10.0.0.1", echo[:-1], protocol=1),
        "echo, recorded route": v4("10.0.0.13", "11.0.0.1", echo, protocol=1, options=b"\7\x0b\4" + bytes(9)),
        "time stamp": v4("10.0.0.14", "10.0.0.1", summed(b"\x0d" + bytes(19)), protocol=1),
        "port": v4("10.0.0.15", "12.0.0.1"),
        "port, more than the datagram": v4("10.0.0.16", "12.0.0.1", UDP_HEAD + b"more"),
        "protocol": v4("10.0.0.17", "12.0.0.1", b"abc", protocol=253, ttl=0),
        "do not fragment": v4("10.0.0.18", "12.0.0.1", b"abc", protocol=253, flags=DF),
        "IPv6 echo": message6("2001:db8::9", "2001:db8:1::1", b"\x80\0\0\0\1\2\3\4hello", traffic_class=0xFE),
        "IPv6 echo, all routers": message6("2001:db8::9", "2001:db8:1::", b"\x80\0\0\0\1\2\3\4"),
        "IPv6 echo, link-local": message6("fe80::9", "fe80::ff:fe00:0", b"\x80\0\0\0\1\2\3\4"),
        "IPv6 port": v6("2001:db8::9", "2001:db8::1", UDP_HEAD[:6] + b"\x8d\xc3" + UDP_HEAD[8:]),
        "IPv6 next header": v6("2001:db8::9", "2001:db8::1", b"abc", next_header=253),
    }.items():
        yield f"answer: {name}", answers, 0, framed(packet)
    nearly = msgspec.structs.replace(BASE, route=[RouteRecord(prefix="0.0.0.0/13", via="11.0.0.2")])
    recorded = v4("0.1.2.3", "11.9.0.85", ttl=0, options=b"\7\x0b\4" + bytes(8) + b"\x83")
    yield "route recorded of a source in 0.0.0.0/8, routed by another port", nearly, 0, framed(recorded)
    doors = [NextHopRecord(via="10.0.0.2"), NextHopRecord(via="11.0.0.2"), NextHopRecord(via="10.9.0.2", weight=2)]
    split = with_setting("accept_source_route", True)
    split = msgspec.structs.replace(split, route=[RouteRecord(prefix="41.0.0.0/8", next_hops=doors)])
    way = b"\x83\x07\x04" + four("41.0.0.9").to_bytes(4, "big") + b"\0"
    for what, content in {
        "route recorded": b"\7\x0b\4" + bytes(9), "stamps with addresses": b"\x44\x14\5\1" + bytes(16),
        "stamps of ours": b"\x44\x14\5\3" + four("10.9.0.1").to_bytes(4, "big") + bytes(12),
    }.items():  # fmt: skip
        for k in range(4):
            packet = v4("12.0.0.9", f"41.0.{k}.{k}", options=content)
            yield f"two next hops by one port, {what} {k}", split, 2, framed(packet, 2)
    for k in range(4):
        packet = v4(f"12.0.{k}.9", "12.0.0.1", options=way)
        yield f"two next hops by one port, source route {k}", split, 2, framed(packet, 2)


def setting_cases():
    """All cases: (name, record, port, frame)."""
    rows = [
        (f"{key} {value}: {what}", with_setting(key, value), 0, framed(packet)) for key, value, what, packet in SETTINGS
    ]
    rows += [(f"{key}, as usual: {what}", BASE, 0, framed(packet)) for key, _, what, packet in SETTINGS]
    return list({row[0]: row for row in [*rows, *_more()]}.values())
