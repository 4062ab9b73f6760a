"""A router of IPv4, IPv6 and labels: the batch does what the reference does; every frame is sent or has a reason."""

import dataclasses

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference.router_cases6 import MIXED, SOURCE, framed, named_cases6, six

from npexplore.golden.ipv4.header import write_packet
from npexplore.golden.ipv4.icmp_limit import TokenBucket
from npexplore.golden.mpls.stages import LABELLED
from npexplore.golden.reasons import Reason
from npexplore.golden.router.batch import BatchForwarder, Frames
from npexplore.golden.router.configuration import resolve_router
from npexplore.golden.router.forward import Forwarder
from npexplore.golden.router.profiles import PROFILES
from npexplore.golden.router.records import NeighbourRecord
from npexplore.testing.strategies import ipv4_packets
from npexplore.testing.strategies6 import addresses6, ipv6_packets, label_stacks

ROUTER = resolve_router(MIXED)
CASES = named_cases6()
UNLISTED = tuple(dataclasses.replace(port, listed_only=False) for port in ROUTER.ports)
OPEN = dataclasses.replace(ROUTER, ports=UNLISTED)
ROUTERS = {name: ROUTER if profile.switches else OPEN for name, profile in PROFILES.items()}

_NETS = st.sampled_from([0, 1, 2, 3, 0xA, 0xB, 0xC, 0xD, 0xE, 0xF, 0x10, 0x11, 0x12, 0x99])
_NEAR = st.builds(lambda net, host: (0x20010DB8 << 96) + (net << 80) + host, _NETS, st.integers(0, 12))
_FROM, _TOWARDS = st.one_of(st.just(SOURCE), _NEAR, addresses6()), st.one_of(_NEAR, _NEAR, addresses6())
_SIX = ipv6_packets(source=_FROM, destination=_TOWARDS)
_NET4 = st.builds(lambda net, host: net << 24 | host, st.sampled_from([10, 20, 21, 22]), st.integers(0, 9))
_LONG = st.one_of(st.binary(max_size=120), st.sampled_from((255, 256, 268, 269, 276, 277, 600)).map(bytes))
_FOUR = ipv4_packets(destination=_NET4, payload=_LONG)
_LABELS = st.one_of(
    st.sampled_from([100, 101, 102, 103, 110, 111, 120, 120, 121, 121, 0, 2, 7, 1]), st.integers(0, 130)
)
_STACK = label_stacks(label=_LABELS, payload=st.one_of(_SIX, _FOUR))
_PACKET = st.one_of(
    st.tuples(_SIX, st.just(b"\x86\xdd")), st.tuples(_STACK, st.sampled_from((*[b"\x88\x47"] * 8, b"\x88\x48"))),
    st.tuples(_FOUR, st.just(b"\x08\0")),
    st.tuples(st.binary(max_size=20), st.sampled_from((b"\x08\x06", b"\x86\xdd", b"\x88\x47", b""))),
)  # fmt: skip
_TO = st.sampled_from((None, None, None, None, b"\x33\x33\0\0\0\1", b"\2\0\0\0\7\7"))


@st.composite
def frames(draw):
    port = draw(st.integers(0, 4))
    packet, kind = draw(_PACKET)
    return port, framed(packet, kind, port, draw(_TO))


def assert_alike(profile, rows, limit=lambda: None, router=None):
    router = router or ROUTERS[profile]
    reference = Forwarder(router, profile=profile, lookup="binary_trie", error_limit=limit())
    batch = BatchForwarder(router, profile=profile, lookup="binary_trie", error_limit=limit())
    made = batch.forward(Frames.of(rows))
    outcomes = [reference.forward(*row) for row in rows]
    assert made.reason.tolist() == [outcome.reason for outcome in outcomes]
    columns = (made.packet.tolist(), made.port.tolist(), list(made.frames), made.icmp.tolist())
    expected = [(k, s.port, s.frame, s.icmp) for k, outcome in enumerate(outcomes) for s in outcome.sent]
    assert list(zip(*columns, strict=True)) == expected
    assert batch.counters == dict(reference.counters)
    for outcome in outcomes:
        assert bool(outcome.reason) != any(not sent.icmp for sent in outcome.sent)
    return outcomes


@pytest.mark.parametrize("profile", PROFILES)
@settings(max_examples=40)
@given(rows=st.lists(frames(), max_size=6))
def test_batch_equals_reference(profile, rows):
    assert_alike(profile, [(port, frame, k) for k, (port, frame) in enumerate(rows)])


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("source", ["20010db8009900000000000000000005", "fe80" + 28 * "0"])
@pytest.mark.parametrize("target", [32 * "0", "fe80" + 28 * "0", "20010db8009900000000000000000007"])
def test_a_port_without_ipv6_has_decisions(profile, source, target):
    packet = bytes.fromhex("6000000000000640" + source + target)
    assert_alike(profile, [(4, framed(packet, b"\x86\xdd", 4), 0)])


@pytest.mark.parametrize("profile", PROFILES)
def test_batch_equals_reference_on_the_named_cases(profile):
    assert_alike(profile, [(port, frame, 0) for _, port, frame, _ in CASES])


def test_a_profile_of_ones_own_has_the_rules_of_each_family_that_it_names():
    rfc, linux = PROFILES["rfc1812"], PROFILES["linux"]
    rows = [(port, frame, 0) for _, port, frame, _ in CASES]
    ipv6 = [row for row, (_, frame, _) in enumerate(rows) if frame[12:14] == b"\x86\xdd"]
    found = []
    for profile in (rfc, linux, rfc._replace(name="mine", ipv6=linux.ipv6), linux._replace(name="mine", ipv6=rfc.ipv6)):
        made = assert_alike(profile, rows, router=OPEN)
        found.append([made[row] for row in ipv6])
    assert found[0] == found[3] != found[1] == found[2]


@pytest.mark.parametrize("family", ["ipv4", "ipv6"])
def test_nobody_is_looked_for_by_rules_that_do_not(family):
    mine = PROFILES["rfc1812"]._replace(name="mine", **{family: getattr(PROFILES["linux"], family)})
    assert_alike(mine, [(port, frame, 0) for _, port, frame, _ in CASES], router=ROUTER)


def test_errors_are_limited_by_protocol_and_in_order():
    rows = [(port, frame, k * 10**8) for k, (_, port, frame, _) in enumerate(CASES * 2)]
    unlimited = assert_alike("rfc1812", rows)
    limited = assert_alike("rfc1812", rows, lambda: TokenBucket(1, 2))
    told = [sum(len(outcome.sent) for outcome in outcomes) for outcomes in (limited, unlimited)]
    assert told[0] < told[1]


@pytest.mark.parametrize(("name", "port", "frame", "reason"), CASES, ids=[case[0] for case in CASES])
def test_named_cases_leave_for_their_reasons(name, port, frame, reason):
    assert Forwarder(ROUTER, lookup="binary_trie").forward(port, frame).reason is reason


def test_a_case_leaves_for_every_declared_reason():
    stages = [stage for rules in (LABELLED, *(one.ipv6 for one in PROFILES.values())) for stage in rules.stages]
    declared = {reason for stage in stages for reason in stage.exits}
    linux = Forwarder(OPEN, lookup="binary_trie", profile="linux")
    assert declared <= {case[3] for case in CASES} | {linux.decide(*case[1:3]).reason for case in CASES}
    others = {
        Reason.SOURCE_ROUTE_REFUSED,
        Reason.UNKNOWN_VLAN,
        Reason.ARP,
        Reason.AWAITS_NEIGHBOUR,
    }  # not of a stage here
    assert {reason for reason in Reason if reason >= Reason.TOO_SHORT6} - others <= declared
    assert all("RFC" in stage.clause for stage in stages)


def test_plain_packets_go_by_the_kernels_alone(monkeypatch):
    batch = BatchForwarder(ROUTER)
    monkeypatch.setattr(batch.reference, "decide", None)
    plain = {"plain", "padding", "longer prefix", "host route", "link-local next hop", "destination options", "swap",
             "by a port", "on a link", "neighbour with a MAC address", "somebody there",
             "push two", "pop to a port", "pop here, IPv6", "pop here, IPv4", "four labels", "blackhole",
             "push two, uniform", "push above explicit null", "push, as long as the link", "push four",
             "push, short pipe", "pop here and push", "entropy label", "upstream label"}  # fmt: skip
    assert plain <= {case[0] for case in CASES}
    rows = [(port, frame, 0) for name, port, frame, _ in CASES if name in plain]
    made = batch.forward(Frames.of(rows))
    assert made.reason.tolist() == [int(reason) for name, _, _, reason in CASES if name in plain]


@pytest.mark.parametrize("listed_only", [False, True])
@given(listed=st.sets(st.integers(2, 20), max_size=12))
def test_every_neighbour_is_found_among_any_others(listed_only, listed):
    """Hosts of a link, some with a MAC address of their own, as IPv4 and IPv6 destinations."""
    records = [
        NeighbourRecord(address=text.format(host), mac=f"02:00:00:00:03:{host:02x}")
        for host in listed
        for text in ("10.1.0.{}", "2001:db8:1::{:x}")
    ]
    ports = [msgspec.structs.replace(port, listed_only=listed_only and port.name == "p1") for port in MIXED.port]
    router = resolve_router(msgspec.structs.replace(MIXED, port=ports, neighbour=records))
    four = [framed(write_packet(0x14000001, 0x0A010000 + host), b"\x08\0") for host in range(2, 21)]
    rows = [(0, frame, 0) for frame in (*four, *(framed(six((0x20010DB80001 << 80) + host)) for host in range(2, 21)))]
    sent = [outcome.sent[-1] for outcome in assert_alike("rfc1812", rows, router=router) if not outcome.reason]
    own = [one.frame[5] for one in sent if one.frame[:5] == b"\2\0\0\0\3"]
    assert own == [*sorted(listed), *sorted(listed)]
    assert len(sent) == (len(own) if listed_only else len(rows))


def test_a_router_without_ipv6_and_labels_knows_neither():
    plain = dataclasses.replace(ROUTER, six=None, labels=None)
    for forwarder in (Forwarder(plain, lookup="binary_trie"),):
        others = [(port, frame) for _, port, frame, _ in CASES if frame[12:14] != b"\x08\0"]
        assert {forwarder.forward(port, frame).reason for port, frame in others} == {Reason.NOT_IPV4}


@pytest.mark.parametrize("profile", PROFILES)
def test_frames_cut_at_each_byte_never_raise(profile):
    rows = [
        (port, frame[:kept], 0)
        for name, port, frame, _ in CASES
        if name in ("plain", "hop-by-hop router alert", "first fragment", "push two", "four labels")
        for kept in range(len(frame))
    ]
    assert_alike(profile, rows)
