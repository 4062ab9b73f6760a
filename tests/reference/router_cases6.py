"""A router of IPv4, IPv6 and labels, and frames that each try one rule, with the reason to drop it."""

from dataclasses import replace
from functools import partial

import msgspec

from npexplore.golden.ipv4.header import DF
from npexplore.golden.ipv4.header import write_packet as write4
from npexplore.golden.ipv6.addresses import address_number
from npexplore.golden.ipv6.header import ICMP6, write_packet
from npexplore.golden.mpls.stack import Label, write_stack
from npexplore.golden.reasons import Reason
from npexplore.golden.router.configuration import resolve_router
from npexplore.golden.router.records import LabelRecord, NeighbourRecord, PortRecord, RouteRecord, RouterFile
from npexplore.testing.strategies6 import with_headers

MIXED = RouterFile(
    port=[
        PortRecord(
            name=f"p{k}", address=f"10.{k}.0.1/24", address6=None if k == 4 else f"2001:db8:{k}::1/64", mtu=mtu,
            mac=f"02:00:00:00:00:{k:02x}", peer_mac=f"02:00:00:00:01:{k:02x}", listed_only=k == 3,
        )
        for k, mtu in enumerate([9000, 1500, 1280, 1500, 296])
    ],
    neighbour=[
        NeighbourRecord(address="2001:db8:1::9", mac="02:00:00:00:02:09"),
        NeighbourRecord(address="2001:db8:3::9", mac="02:00:00:00:02:39"),
        NeighbourRecord(address="10.1.0.9", mac="02:00:00:00:02:49"),
    ],
    route=[
        RouteRecord(prefix="20.0.0.0/8", via="10.1.0.2"),
        RouteRecord(prefix="2001:db8:a::/48", via="2001:db8:1::2"),
        RouteRecord(prefix="2001:db8:a:1::/64", via="2001:db8:2::2"),
        RouteRecord(prefix="2001:db8:a:1::7/128", via="2001:db8:1::9"),
        RouteRecord(prefix="2001:db8:b::/48", via="fe80::2", port="p2"),
        RouteRecord(prefix="2001:db8:c::/48", port="p1"),
        RouteRecord(prefix="2001:db8:d::/48", kind="blackhole"),
        RouteRecord(prefix="2001:db8:e::/48", kind="unreachable"),
        RouteRecord(prefix="2001:db8:f::/48", kind="prohibit"),
        RouteRecord(prefix="2001:db8:99::/48", via="2001:db8:0::2"),
        RouteRecord(prefix="2001:db8:12::/48", via="fe80::9", port="p0"),
        RouteRecord(prefix="21.0.0.0/8", via="10.1.0.2", push=[16, 17]),
        RouteRecord(prefix="22.0.0.0/8", via="10.4.0.2", push=[18, 0], ttl="pipe"),
        RouteRecord(prefix="2001:db8:10::/48", via="2001:db8:1::9", push=[20, 21, 22, 23]),
        RouteRecord(prefix="2001:db8:11::/48", via="fe80::9", port="p0", push=[24, 2], ttl="short-pipe"),
        RouteRecord(prefix="20.99.0.0/16", via="10.1.0.9", push=[25]),
    ],
    label=[
        LabelRecord(label=100, labels=[200], via="10.1.0.2"),
        LabelRecord(label=101, labels=[300, 301], via="10.1.0.9", ttl="pipe"),
        LabelRecord(label=102, labels=[302, 303, 304], via="2001:db8:1::9"),
        LabelRecord(label=103, labels=[305], port="p4"),
        LabelRecord(label=110, via="2001:db8:2::2"),
        LabelRecord(label=111, port="p1", ttl="pipe"),
        LabelRecord(label=120),
        LabelRecord(label=121, ttl="pipe"),
    ],
)  # fmt: skip
SOURCE, THERE = address_number("2001:db8:99::5"), address_number("2001:db8:a::5")
MANY = address_number("ff0e::5")
UDP_HEAD = b"\x30\x39\x00\x09\x00\x0c\x00\x00"
R = Reason


def a(text):
    """Return an address as a number."""
    return address_number(text)


def framed(packet, kind=b"\x86\xdd", port=0, to=None):
    """Return a packet in a frame from the far end of a port's link."""
    return (to or bytes([2, 0, 0, 0, 0, port])) + bytes([2, 0, 0, 0, 1, port]) + kind + packet


def six(
    destination=THERE, *, source=SOURCE, payload=UDP_HEAD + b"data", headers=(), protocol=17, hop_limit=64, **fields
):
    """Return an IPv6 packet; headers are (type, bytes behind the next header field)."""
    next_header, data = with_headers(tuple(headers), protocol, payload)
    return write_packet(source, destination, data, next_header=next_header, hop_limit=hop_limit, **fields)


def options(content):
    """Return a header of options, padded with Pad1."""
    content += bytes(-(len(content) + 2) % 8)
    return bytes([len(content) // 8]) + content


def labelled(*labels, payload=None, ttl=64):
    """Return a frame with a stack."""
    rows = [one if isinstance(one, Label) else Label(one, ttl=ttl) for one in labels]
    below = six() if payload is None else payload
    return framed(write_stack(rows) + below, b"\x88\x47")


def ipv6_cases():
    """Frames of IPv6: (name, port, frame, reason)."""
    good = six()
    cut, near = good[:4] + (0).to_bytes(2, "big") + good[6:40], a("2001:db8:0::5")
    packets = {
        "plain": (good, R.NONE),
        "without payload": (six(payload=b"", protocol=59), R.NONE),
        "class and flow label": (six(traffic_class=0xB8, flow_label=0xABCDE), R.NONE),
        "padding": (good + bytes(20), R.NONE),
        "short": (good[:39], R.TOO_SHORT6),
        "version 4": (b"\x45" + good[1:], R.BAD_VERSION6),
        "truncated": (good[:-1], R.TRUNCATED6),
        "hop limit 0": (six(hop_limit=0), R.HOP_LIMIT_EXCEEDED),
        "hop limit 1": (six(hop_limit=1), R.HOP_LIMIT_EXCEEDED),
        "hop limit 2": (six(hop_limit=2), R.NONE),
        "hop limit 1 in an error": (
            six(hop_limit=1, protocol=ICMP6, payload=b"\1\0\0\0" + bytes(4) + good), R.HOP_LIMIT_EXCEEDED),
        "hop limit 1 in an echo": (six(hop_limit=1, protocol=ICMP6, payload=b"\x80\0\0\0"), R.HOP_LIMIT_EXCEEDED),
        "hop limit 1, long": (six(hop_limit=1, payload=UDP_HEAD + bytes(1400)), R.HOP_LIMIT_EXCEEDED),
        "longer prefix": (six(a("2001:db8:a:1::5")), R.NONE),
        "host route": (six(a("2001:db8:a:1::7")), R.NONE),
        "link-local next hop": (six(a("2001:db8:b::5")), R.NONE),
        "by a port": (six(a("2001:db8:c::5")), R.NONE),
        "on a link": (six(a("2001:db8:2::77")), R.NONE),
        "neighbour with a MAC address": (six(a("2001:db8:1::9")), R.NONE),
        "no route": (six(a("2002::1")), R.NO_ROUTE6),
        "blackhole": (six(a("2001:db8:d::1")), R.BLACKHOLE),
        "unreachable": (six(a("2001:db8:e::1")), R.UNREACHABLE6),
        "prohibited": (six(a("2001:db8:f::1")), R.PROHIBITED6),
        "fits": (six(a("2001:db8:a:1::5"), payload=UDP_HEAD + bytes(1232)), R.NONE),
        "too big": (six(a("2001:db8:a:1::5"), payload=UDP_HEAD + bytes(1233)), R.PACKET_TOO_BIG),
        "from nobody": (six(source=0), R.MARTIAN_SOURCE6),
        "from the loopback": (six(source=1), R.MARTIAN_SOURCE6),
        "from a multicast": (six(source=a("ff02::5")), R.MARTIAN_SOURCE6),
        "to nobody": (six(0), R.MARTIAN_DESTINATION6),
        "to the loopback": (six(1), R.MARTIAN_DESTINATION6),
        "to a multicast": (six(a("ff0e::5")), R.MULTICAST6),
        "from a link": (six(source=a("fe80::5")), R.BEYOND_SCOPE),
        "from a link, hop limit 1": (six(source=a("fe80::6"), hop_limit=1), R.HOP_LIMIT_EXCEEDED),
        "destination options": (six(headers=[(60, options(b"\x1e\1\0"))]), R.NONE),
        "routing header": (six(headers=[(43, bytes(7))]), R.NONE),
        "first fragment": (six(headers=[(44, bytes([0, 0, 1, 0, 0, 0, 9]))]), R.NONE),
        "later fragment": (six(headers=[(44, bytes([0, 0, 8, 0, 0, 0, 9]))]), R.NONE),
        "hop-by-hop router alert": (six(headers=[(0, options(b"\5\2\0\0"))]), R.NONE),
        "hop-by-hop, skipped": (six(headers=[(0, options(b"\x1e\1\0"))]), R.NONE),
        "hop-by-hop, discard": (six(headers=[(0, options(b"\x5e\1\0"))]), R.HOP_OPTION_UNKNOWN),
        "hop-by-hop, discard and tell": (six(headers=[(0, options(b"\x9e\1\0"))]), R.HOP_OPTION_UNKNOWN),
        "hop-by-hop, tell one": (six(headers=[(0, options(b"\xde\1\0"))]), R.HOP_OPTION_UNKNOWN),
        "hop-by-hop, for many, tell one": (six(MANY, headers=[(0, options(b"\xde\1\0"))]), R.HOP_OPTION_UNKNOWN),
        "hop-by-hop, for many, tell": (six(MANY, headers=[(0, options(b"\x9e\1\0"))]), R.HOP_OPTION_UNKNOWN),
        "hop-by-hop, option cut": (six(headers=[(0, options(b"\x1e\x7f\0"))]), R.HOP_OPTION_CUT),
        "hop-by-hop, header cut": (cut[:6] + b"\0" + cut[7:], R.JUMBOGRAM),
        "hop-by-hop, longer than the packet": (six(headers=[(0, bytes([9]) + bytes(6))]), R.EXTENSION_CUT),
        "redirect: host on the link": (six(a("2001:db8:0::7"), source=near), R.NONE),
        "redirect: router with a link-local address": (six(a("2001:db8:12::7"), source=near), R.NONE),
        "redirect: link-local source": (six(a("2001:db8:12::7"), source=a("fe80::17")), R.NONE),
        "redirect: long": (six(a("2001:db8:12::7"), source=near, payload=UDP_HEAD + bytes(1400)), R.NONE),
        "no redirect: router with a global address": (six(a("2001:db8:99::7"), source=near), R.NONE),
        "no redirect: source elsewhere": (six(a("2001:db8:12::7")), R.NONE),
    }  # fmt: skip
    rows = [(name, 0, framed(packet), reason) for name, (packet, reason) in packets.items()]
    rows.append(("another station", 0, framed(good, to=bytes([2, 0, 0, 0, 9, 9])), R.OTHER_STATION))
    return rows


def more_ipv6_cases():
    """Frames of IPv6 that the kernel decides as a host, or otherwise than RFC 8200 has it, or below labels."""
    near, jumbo = a("2001:db8:0::5"), six(headers=[(0, options(b"\xc2\4\0\1\0\0"))])
    segments = bytes([2, 0, 1, 0, 0, 0, 0]) + a("2001:db8:a::9").to_bytes(16, "big")
    packets = {
        "to us": (six(a("2001:db8:0::1")), R.LOCAL_DELIVERY),
        "to all routers of a link": (six(a("2001:db8:2::")), R.LOCAL_DELIVERY),
        "to a link": (six(a("fe80::99")), R.LINK_LOCAL_DESTINATION),
        "nobody there": (six(a("2001:db8:3::8")), R.NO_NEIGHBOUR6),
        "somebody there": (six(a("2001:db8:3::9")), R.NONE),
        "chain cut": (six(headers=[(60, bytes([9]) + bytes(6))]), R.EXTENSION_CUT),
        "hop-by-hop late": (six(headers=[(60, bytes(7)), (0, options(b""))]), R.HOP_BY_HOP_LATE),
        "jumbogram": (jumbo[:4] + bytes(2) + jumbo[6:], R.JUMBOGRAM),
        "jumbo option in a short packet": (jumbo, R.HOP_OPTION_UNKNOWN),
        "routing header with segments left": (six(headers=[(43, segments)]), R.NONE),
        "to us by a routing header": (six(a("2001:db8:0::1"), headers=[(43, segments)]), R.LOCAL_DELIVERY),
        "jumbo option that is too small": (six(headers=[(0, options(b"\xc2\4\0\0\0\1"))]), R.HOP_OPTION_UNKNOWN),
        "no redirect: below labels": (six(a("2001:db8:11::7"), source=near), R.NONE),
        "no redirect: hop limit 1": (six(a("2001:db8:12::7"), source=near, hop_limit=1), R.HOP_LIMIT_EXCEEDED),
        "push four": (six(a("2001:db8:10::7"), hop_limit=9), R.NONE),
        "push, fits": (six(a("2001:db8:10::7"), payload=UDP_HEAD + bytes(1500 - 16 - 48)), R.NONE),
        "push, too big": (six(a("2001:db8:10::7"), payload=UDP_HEAD + bytes(1500 - 16 - 47)), R.PACKET_TOO_BIG),
        "push, hop limit 1": (six(a("2001:db8:10::7"), hop_limit=1), R.HOP_LIMIT_EXCEEDED),
        "push, short pipe": (six(a("2001:db8:11::7"), hop_limit=9), R.NONE),
        "error back below labels": (six(source=a("2001:db8:10::7"), hop_limit=1), R.HOP_LIMIT_EXCEEDED),
    }  # fmt: skip
    rows = [(name, 0, framed(packet), reason) for name, (packet, reason) in packets.items()]
    rows.append(("for all of a link", 0, framed(six(), to=b"\x33\x33\0\0\0\1"), R.LINK_BROADCAST))
    return rows


def label_cases():
    """Frames with stacks: (name, port, frame, reason)."""
    four = write4(0x14000001, 0x14000002, b"data")
    upstream = labelled(100)[:12] + b"\x88\x48" + labelled(100)[14:]
    return [
        ("swap", 0, labelled(100), R.NONE),
        ("swap in a stack", 0, labelled(100, 7, 8), R.NONE),
        ("push, pipe", 0, labelled(101), R.NONE),
        ("push two", 0, labelled(102, 9), R.NONE),
        ("pop to a port", 0, labelled(110), R.NONE),
        ("pop in a stack", 0, labelled(111, 55), R.NONE),
        ("pop here, IPv6", 0, labelled(120), R.NONE),
        ("pop here, IPv4", 0, labelled(121, payload=four), R.NONE),
        ("four labels", 0, labelled(120, 121, 0, 120, payload=four), R.NONE),
        ("explicit null", 0, labelled(0, payload=four), R.NONE),
        ("explicit null of IPv6", 0, labelled(2), R.NONE),
        ("pop here, hop limit 1", 0, labelled(121, payload=six(hop_limit=1)), R.HOP_LIMIT_EXCEEDED),
        ("pop here, ttl 1", 0, labelled(121, payload=write4(0x14000001, 0x14000002, b"x", ttl=1)), R.TTL_EXPIRED),
        ("cut", 0, framed(b"\0\1\0", b"\x88\x47"), R.LABEL_CUT),
        ("bottomless", 0, framed(bytes(8), b"\x88\x47"), R.NO_BOTTOM),
        ("ttl 0", 0, labelled(100, ttl=0), R.LABEL_TTL_EXPIRED),
        ("ttl 1", 0, labelled(100, ttl=1), R.LABEL_TTL_EXPIRED),
        ("router alert", 0, labelled(1, 100), R.LABEL_ALERT),
        ("router alert at the bottom", 0, labelled(1), R.LABEL_RESERVED),
        ("router alert below a pop", 0, labelled(120, 1, 100), R.LABEL_ALERT),
        ("implicit null", 0, labelled(3), R.LABEL_RESERVED),
        *((f"special label {label}", 0, labelled(label, 100), R.LABEL_RESERVED) for label in (4, 5, 6, *range(8, 16))),
        ("entropy label", 0, labelled(120, 7, Label(99, ttl=0)), R.NONE),
        ("entropy label in a pipe", 0, labelled(121, Label(7, ttl=0), Label(99, ttl=0), payload=four), R.NONE),
        ("entropy label on top", 0, labelled(7, Label(99, ttl=0), 100), R.NONE),
        ("entropy label on top, ttl 1", 0, labelled(Label(7, ttl=1), Label(99, ttl=0), 100), R.LABEL_TTL_EXPIRED),
        ("entropy label missing", 0, labelled(120, 7), R.LABEL_RESERVED),
        ("nothing below an entropy label", 0, labelled(120, 7, 99, payload=b""), R.NOT_IP_BELOW),
        ("entropy label of a tunnel that goes on", 0, labelled(100, 7, Label(99, ttl=0)), R.NONE),
        ("explicit null in the middle", 0, labelled(120, 2, 100), R.NONE),
        ("explicit null above another one", 0, labelled(0, 0, payload=four), R.NONE),
        ("explicit null of the other protocol", 0, labelled(0), R.NOT_IP_BELOW),
        ("upstream label", 0, upstream, R.LABEL_UPSTREAM),
        ("upstream label for many", 0, b"\1\0\x5e\x80\0\1" + upstream[6:], R.LABEL_UPSTREAM),
        ("upstream label for another station", 0, b"\2" + bytes(4) + b"\7" + upstream[6:], R.OTHER_STATION),
        ("upstream label, cut", 0, upstream[:15], R.LABEL_UPSTREAM),
        ("pop here and push", 0, labelled(120, payload=write4(0x14000001, 0x15000002, b"data")), R.NONE),
        ("unknown", 0, labelled(99), R.LABEL_UNKNOWN),
        ("nothing below", 0, labelled(120, payload=b""), R.NOT_IP_BELOW),
        ("too big", 0, labelled(103, payload=six(payload=bytes(260))), R.LABELLED_TOO_BIG),
        ("for another station", 0, b"\2" + bytes(4) + b"\7" + labelled(100)[6:], R.OTHER_STATION),
        ("for many", 0, b"\1\0\x5e" + labelled(100)[3:], R.LINK_BROADCAST),
    ]


def push_cases():
    """Frames of IPv4 whose route pushes labels: (name, port, frame, reason)."""
    to_two, to_null = partial(write4, 0x14000001, 0x15000002), partial(write4, 0x14000001, 0x16000002)
    packets = {
        "push two, uniform": (to_two(b"data", ttl=9), R.NONE),
        "push above explicit null": (to_null(b"data", ttl=9), R.NONE),
        "push, host with a MAC address": (write4(0x14000001, 0x14630002, b"data"), R.NONE),
        "push, options": (to_two(b"data", options=b"\7\7\4" + bytes(4) + b"\0"), R.NONE),
        "push, as long as the link": (to_null(bytes(296 - 8 - 20)), R.NONE),
        "push, in pieces": (to_null(bytes(296 - 8 - 19)), R.NONE),
        "push, must not be cut": (to_null(bytes(296 - 8 - 19), flags=DF), R.FRAGMENTATION_NEEDED),
        "push, ttl 1": (to_two(b"data", ttl=1), R.TTL_EXPIRED),
        "ttl 1, error back below labels": (write4(0x15000002, 0x14000002, b"data", ttl=1), R.TTL_EXPIRED),
    }
    rows = [(name, 0, framed(packet, b"\x08\0"), reason) for name, (packet, reason) in packets.items()]
    return [*rows, ("push, back where it came from", 1, framed(to_two(b"data"), b"\x08\0", 1), R.NONE)]


def named_cases6():
    """All cases of `MIXED`."""
    return ipv6_cases() + more_ipv6_cases() + label_cases() + push_cases()


def linux_router():
    """`MIXED` as the kernel can be: all neighbours known, no labels."""
    router = resolve_router(msgspec.structs.replace(MIXED, route=[route for route in MIXED.route if not route.push]))
    ports = tuple(replace(port, listed_only=False) for port in router.ports)
    return replace(router, ports=ports, labels=None, profile="linux")


def kernel_cases6():
    """(router, cases) that the kernel is asked."""
    return linux_router(), [(name, port, frame) for name, port, frame, _ in ipv6_cases()]
