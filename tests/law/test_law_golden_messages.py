"""ICMPv6 errors of a batch: all that the reference sends, octet for octet, written by kernels."""

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference.router_cases6 import MIXED, SOURCE, a, framed, options, six

from npexplore.golden.ipv6.addresses import column_of
from npexplore.golden.ipv6.header import ICMP6
from npexplore.golden.ipv6.scope import Kind, address_kind
from npexplore.golden.linux.messages import LinuxMessages6
from npexplore.golden.linux.messages6 import LABELS, source_for
from npexplore.golden.linux.settings import LinuxSettings
from npexplore.golden.lookup.family import IPV6
from npexplore.golden.reasons import Reason
from npexplore.golden.router.batch import BatchForwarder, Frames
from npexplore.golden.router.configuration import resolve_router
from npexplore.golden.router.fast_path import FastPath
from npexplore.golden.router.forward import Forwarder
from npexplore.golden.router.profiles import PROFILES
from npexplore.golden.router.records import NeighbourRecord, NextHopRecord, PortRecord, RouteRecord, RouterFile
from npexplore.testing.strategies6 import addresses6, ipv6_packets

FURTHER = ["2001:db8:9::1/64", "2002:9::1/64", "fd09::9:1/112", "2001:db8:1::77"]
SEVERAL = RouteRecord(
    prefix="2001:db8:20::/48",
    next_hops=[NextHopRecord(via="2001:db8:1::2"), NextHopRecord(via="2001:db8:2::2", weight=3)],
)

LISTED = [  # neighbours on p1, one routed by another port, one behind a gateway
    NeighbourRecord(address=f"2001:db8:1::{host}", mac=f"02:00:00:00:02:0{host}") for host in "ab"
]
ELSEWHERE = [
    RouteRecord(prefix="2001:db8:1::a/128", port="p0"), RouteRecord(prefix="2001:db8:1::b/128", via="2001:db8:1::2"),
]  # fmt: skip


def router(listed_only=False, **changes):
    """Return the mixed router with further addresses, neighbours, and a route of several next hops."""
    ports = [
        msgspec.structs.replace(
            port, addresses=FURTHER if port.name == "p1" else [], listed_only=listed_only and port.name == "p3"
        )
        for port in MIXED.port
    ]
    routes, neighbours = [*MIXED.route, SEVERAL, *ELSEWHERE], [*MIXED.neighbour, *LISTED]
    return resolve_router(msgspec.structs.replace(MIXED, port=ports, route=routes, neighbour=neighbours, **changes))


ROUTERS = {name: router(profile.switches) for name, profile in PROFILES.items()}
LABELLED = a("2001:db8:10::7")  # an error to there goes below labels

_BAD = st.sampled_from([a(text) for text in ("2003::1", "2001:db8:e::1", "2001:db8:f::1", "2001:db8:3::8")])
_SMALL = a("2001:db8:a:1::5")  # behind a link of 1,280 bytes
_SENDERS = st.sampled_from([SOURCE, *(a(text) for text in (
    "2001:db8:1::9", "2001:db8:2::7", "2001:db8:2::", "2001:db8:1::1", "2001:db8:9::1", "2001:db8:9::5", "2002:9::5",
    "2001:db8:3::9", "2001:db8:3::8", "2001:db8:c::4", "2001:db8:c::", "2001:db8:d::1", "2001:db8:e::1", "2004::1",
    "2001:db8:10::7", "2001:db8:20::7", "2001:db8:b::1", "fd09::1",
))])  # fmt: skip
_BODIES = st.one_of(
    st.binary(max_size=90), st.sampled_from((b"", b"\1", b"\x7f\0", b"\x80\0\0\0", b"\x89\0\0\0", b"\x88")),
    st.sampled_from((1183, 1184, 1191, 1192, 1193, 1240, 1241)).map(bytes),
)  # fmt: skip
_PACKETS = st.one_of(
    ipv6_packets(source=_SENDERS, destination=_BAD, payload=_BODIES),
    ipv6_packets(source=_SENDERS, destination=st.one_of(_BAD, st.just(_SMALL)), payload=_BODIES, headers=st.just(())),
)
ERRORS = {
    Reason.NO_ROUTE6, Reason.UNREACHABLE6, Reason.PROHIBITED6, Reason.NO_NEIGHBOUR6, Reason.HOP_LIMIT_EXCEEDED,
    Reason.PACKET_TOO_BIG,
}  # fmt: skip


def assert_alike(profile, rows, decide=True):
    """Decide rows by both; decide=False: by the kernels alone, but for what only the reference knows."""
    made_of = ROUTERS[profile]
    reference, batch = (one(made_of, profile=profile, lookup="binary_trie") for one in (Forwarder, BatchForwarder))
    if not decide:
        batch.reference.decide = None
    made = batch.forward(Frames.of(rows))
    outcomes = [reference.forward(*row) for row in rows]
    assert made.reason.tolist() == [outcome.reason for outcome in outcomes]
    columns = (made.packet.tolist(), made.port.tolist(), list(made.frames), made.icmp.tolist())
    expected = [(k, s.port, s.frame, s.icmp) for k, outcome in enumerate(outcomes) for s in outcome.sent]
    assert list(zip(*columns, strict=True)) == expected
    assert batch.counters == dict(reference.counters)
    return outcomes


@pytest.mark.parametrize("profile", PROFILES)
@settings(max_examples=25)
@given(rows=st.lists(st.tuples(st.integers(0, 3), _PACKETS), min_size=1, max_size=12))
def test_errors_of_a_batch_are_the_references(profile, rows):
    assert_alike(profile, [(port, framed(packet, port=port), k) for k, (port, packet) in enumerate(rows)])


def plain_errors():
    """Packets that call for an error each, and for none: nothing about them is left to the reference."""
    bad = a("2003::1")
    yield six(hop_limit=1)
    yield six(hop_limit=0, payload=bytes(1300), traffic_class=0xFF, flow_label=0xFFFFF)
    for size in (1191, 1192, 1193):  # what a message can quote ends within these
        yield six(bad, payload=(bytes(range(1, 251)) * 5)[:size], protocol=59)
    yield from (six(bad, payload=b"\xff" * 1190 + bytes([tail])) for tail in range(256))  # sums that carry twice
    yield from (six(a(f"2001:db8:{net}::1")) for net in "ef")
    yield six(_SMALL, payload=bytes(1241))
    yield six(_SMALL, payload=bytes(1240))
    for kind in (b"", b"\0", b"\x7f", b"\x80", b"\x89"):
        yield six(bad, protocol=ICMP6, payload=kind)
        yield six(bad, protocol=ICMP6, payload=kind, headers=[(60, options(b"")), (43, bytes(7))])
        yield six(bad, protocol=ICMP6, payload=kind, headers=[(51, bytes([1]) + bytes(10))])
        for place in (0, 1, 8):
            yield six(bad, protocol=ICMP6, payload=kind, headers=[(44, bytes([0, 0, place, 0, 0, 0, 9]))])
    near = ["2001:db8:1::9", "2001:db8:1::a", "2001:db8:1::b", "2001:db8:2::7", "2001:db8:2::", "2001:db8:1::1"]
    for source in (*near, "2001:db8:99::", "2001:db8:c::", "2004::1", "2001:db8:d::1"):
        yield six(bad, source=a(source))


@pytest.mark.parametrize("profile", PROFILES)
def test_errors_go_by_the_kernels_alone(profile):
    rows = [(0, framed(packet), 0) for packet in plain_errors()]
    if PROFILES[profile].switches:
        rows += [(0, framed(six(a("2001:db8:3::8"), hop_limit=hops)), 0) for hops in (2, 1)]
    outcomes = assert_alike(profile, rows, decide=False)
    told = {outcome.reason for outcome in outcomes if outcome.sent}
    assert ERRORS - told == (set() if PROFILES[profile].switches else {Reason.NO_NEIGHBOUR6})
    assert sum(not outcome.sent for outcome in outcomes) >= 10


@pytest.mark.parametrize("profile", PROFILES)
def test_messages_below_labels_redirects_and_of_several_next_hops_are_the_references(profile):
    rows = [(0, framed(six(hop_limit=1, source=source)), 0) for source in (LABELLED, a("2001:db8:20::7"))]
    rows.append((0, framed(six(a("2001:db8:0::7"), source=a("2001:db8:0::5"))), 0))
    outcomes = assert_alike(profile, rows * 3)
    assert all(any(sent.icmp for sent in outcome.sent) for outcome in outcomes)


def test_a_limit_leaves_errors_to_the_reference():
    limited = router(profile="linux", linux=LinuxSettings(ipv6_icmp_ratelimit=1000))
    batch = BatchForwarder(limited, lookup="binary_trie")
    made = batch.forward(Frames.of([(0, framed(six(hop_limit=1)), 0)] * 20))
    assert made.icmp.sum() == 6


_NEAR = st.builds(
    lambda base, bit, low: base ^ 1 << bit ^ low,
    st.sampled_from([row[0] for row in LABELS] + [a(text.split("/")[0]) for text in FURTHER]),
    st.integers(0, 127), st.integers(0, 3),
)  # fmt: skip
_NETS = st.one_of(st.sampled_from((0x20010DB8 << 96, 0x2002 << 112, 0xFD << 120, 0x2001 << 112, 0xFEC0 << 112)), _NEAR)


@st.composite
def ports(draw):
    """Ports with addresses in networks of several labels, as a router's file has them."""
    drawn = draw(st.lists(st.tuples(_NETS, st.sampled_from((16, 33, 64, 112, 127)), st.integers(0, 3)), max_size=4))
    nets = [(value ^ bit << 128 - length, length) for value, length, most in drawn for bit in range(1 + most)]
    texts, taken = [], [(0x20010DB8 << 96, 48)]
    for value, length in nets:
        own = (value & IPV6.mask(length)) + 1
        if own >> 96 == 0 or own >> 118 == 0xFE80 >> 6 or own >> 120 == 0xFF:
            continue
        if any((own ^ other) & IPV6.mask(min(length, bits)) == 0 for other, bits in taken):
            continue
        taken.append((own, length))
        texts.append(f"{IPV6.text(own)}/{length}")
    cut = draw(st.integers(0, len(texts)))
    return [
        PortRecord(
            name=f"p{k}", address=f"10.{k}.0.1/24", address6=f"2001:db8:0:{k}::1/64", addresses=some,
            mac=f"02:00:00:00:00:{k:02x}", peer_mac=f"02:00:00:00:01:{k:02x}",
        )
        for k, some in enumerate((texts[:cut], texts[cut:]))
    ]  # fmt: skip


@settings(max_examples=25)
@given(ports=ports(), more=st.lists(st.one_of(_NEAR, addresses6()), max_size=9))
def test_an_address_is_chosen_for_all_senders_alike_as_for_each(ports, more):
    forwarder = Forwarder(resolve_router(RouterFile(profile="linux", port=ports)), lookup="binary_trie")
    side = forwarder.ipv6
    messages = LinuxMessages6(side, FastPath(forwarder, side, None, forwarder.profile.ipv6))
    nets = [net for link in side.ports for net in link.subnets]
    near = [own ^ 1 << max(128 - length + k, 0) for own, length in nets for k in range(-3, 4)]
    senders = [to for to in (*near, *more) if to not in side.own and address_kind(to) is Kind.ROUTABLE]
    rows = [(port, to) for to in senders for port in range(len(ports))]
    for some in (rows[::5], rows):  # what is known of the first is used for the others
        port, column = np.array([port for port, _ in some], np.int16), column_of([to for _, to in some])
        chosen = messages.sources(port, column, np.zeros(len(some), np.int64))
        assert IPV6.numbers(chosen.view(">u8")) == [source_for(side, *row) for row in some]
