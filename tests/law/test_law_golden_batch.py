"""The batch pipeline does with every frame what the reference does: reasons, frames sent, counters; both profiles."""

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference.router_cases import NAMED, NOTABLE, named_cases, packet
from reference.router_random import random_cases, random_router

from npexplore._kernels import golden_forward as kernels
from npexplore.errors import InputError
from npexplore.golden.columns import Packets
from npexplore.golden.ipv4.addresses import address_text
from npexplore.golden.ipv4.icmp_limit import TokenBucket
from npexplore.golden.lookup import LPMS
from npexplore.golden.reasons import Reason
from npexplore.golden.router.batch import BatchForwarder, Frames
from npexplore.golden.router.configuration import KINDS, RouteRecord, resolve_router
from npexplore.golden.router.forward import Forwarder
from npexplore.golden.router.profiles import PROFILES
from npexplore.testing.routers import frames, router_configurations

ROUTER = resolve_router(NAMED)


def sent(made):
    """Return all that a batch sent, a row each."""
    columns = (made.packet.tolist(), made.port.tolist(), list(made.frames), made.icmp.tolist())
    return list(zip(*columns, strict=True))


def assert_alike(router, profile, rows, lookup="binary_trie", limit=lambda: None):
    reference = Forwarder(router, profile=profile, lookup=lookup, error_limit=limit())
    batch = BatchForwarder(router, profile=profile, lookup=lookup, error_limit=limit())
    made = batch.forward(Frames.of(rows))
    outcomes = [reference.forward(*row) for row in rows]
    assert made.reason.tolist() == [outcome.reason for outcome in outcomes]
    expected = [(k, s.port, s.frame, s.icmp) for k, outcome in enumerate(outcomes) for s in outcome.sent]
    assert sent(made) == expected
    assert batch.counters == dict(reference.counters)
    return made


@pytest.mark.parametrize("profile", PROFILES)
@given(rows=st.lists(frames(ROUTER), max_size=4))
def test_batch_equals_reference(profile, rows):
    assert_alike(ROUTER, profile, [(port, frame, k) for k, (port, frame) in enumerate(rows)])


@pytest.mark.parametrize("profile", PROFILES)
@settings(max_examples=30)
@given(st.data())
def test_batch_equals_reference_for_any_router(profile, data):
    router = data.draw(router_configurations(labels=data.draw(st.booleans())))
    rows = data.draw(st.lists(frames(router), max_size=4))
    assert_alike(router, profile, [(port, frame, k) for k, (port, frame) in enumerate(rows)])


@pytest.mark.parametrize("profile", PROFILES)
def test_batch_equals_reference_on_all_pairs_of_notable_addresses(profile):
    head = ROUTER.ports[0].mac + ROUTER.ports[0].peer_mac + b"\x08\x00"
    rows = [(0, head + packet(src, dst), 0) for src in NOTABLE for dst in NOTABLE]
    rows += [(0, b"\xff" * 6 + frame[6:], 0) for _, frame, _ in rows]
    assert_alike(ROUTER, profile, rows)


OPTIONS = [b"", b"\1\1\1\1", b"\x94\4\0\0", b"\x94\4\0\1", b"\x94\3\0\1", b"\x94\6\0\0\0\0", b"\1\x94\4", b"\0\0\0\0",
           b"\0\0\0\7", b"\x99\4\0\0", b"\7\7\4\0\0\0\0"]  # fmt: skip


@pytest.mark.parametrize("profile", PROFILES)
def test_batch_equals_reference_on_all_pairs_of_options(profile):
    head = ROUTER.ports[0].mac + ROUTER.ports[0].peer_mac + b"\x08\x00"
    rows = [
        (0, head + packet("30.0.0.1", to, options=one + other, ttl=ttl), 0)
        for one in OPTIONS for other in OPTIONS for to in ("20.200.0.1", "99.0.0.1", "224.0.0.22") for ttl in (1, 64)
    ]  # fmt: skip
    assert_alike(ROUTER, profile, rows)


@pytest.mark.parametrize("profile", PROFILES)
def test_batch_equals_reference_on_the_named_cases(profile):
    router, cases = named_cases()
    made = assert_alike(router, profile, [(port, frame, k * 10**9) for k, (_, port, frame) in enumerate(cases)])
    assert len(set(made.reason.tolist())) >= 20


@pytest.mark.slow
@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("lookup", sorted(set(LPMS) - {"linear"}))
def test_batch_equals_reference_on_random_packets(profile, lookup):
    router = random_router()
    rows = [(port, frame, 0) for _, port, frame in random_cases(router, count=1000, seed=7)]
    assert_alike(router, profile, rows, lookup)


def test_errors_are_limited_in_the_order_of_packets():
    head = ROUTER.ports[0].mac + ROUTER.ports[0].peer_mac + b"\x08\x00"
    rows = [(0, head + packet("172.16.0.9", "20.0.0.1", ttl=1 + k % 2, payload=bytes(k)), k * 10**8) for k in range(40)]
    made = assert_alike(ROUTER, "rfc1812", rows, limit=lambda: TokenBucket(1, 2))
    assert 2 < made.icmp.sum() < 20


@pytest.mark.parametrize("profile", PROFILES)
def test_plain_packets_go_by_the_kernels_alone(profile, monkeypatch):
    batch = BatchForwarder(ROUTER, profile=profile)
    monkeypatch.setattr(batch.reference, "decide", None)
    head = ROUTER.ports[0].mac + ROUTER.ports[0].peer_mac + b"\x08\x00"
    good = [packet("172.16.0.9", f"20.0.0.{k}", ttl=k, payload=bytes(k)) for k in range(2, 200)]
    bad = [packet("172.16.0.9", address) for address in ("224.0.0.5", "255.255.255.255", "127.0.0.1", "30.0.0.1")]
    made = batch.forward(Frames.of([(0, head + one, 0) for one in good + bad]))
    assert made.reason.tolist() == [0] * len(good) + [
        Reason.MULTICAST, Reason.LIMITED_BROADCAST, Reason.MARTIAN_DESTINATION, Reason.BLACKHOLE,
    ]  # fmt: skip
    assert made.packet.tolist() == list(range(len(good)))


@pytest.mark.parametrize("profile", PROFILES)
def test_errors_about_plain_packets_go_by_the_kernels_alone(profile, monkeypatch):
    def rows():
        for src, dst, more in (
            ("172.16.0.9", "20.0.0.1", {"ttl": 1}), ("172.16.0.9", "99.0.0.1", {}), ("172.16.0.9", "31.0.0.1", {}),
            ("172.16.0.9", "32.0.0.1", {}), ("10.0.0.9", "24.0.0.1", {}), ("10.0.0.0", "99.0.0.1", {}),
            ("172.16.0.9", "99.0.0.1", {"protocol": 1, "payload": b"\x03"}), ("172.16.0.9", "99.0.0.1", {"offset": 1}),
            ("172.16.0.9", "20.0.0.1", {"df": True, "payload": bytes(1481)}),
        ):  # fmt: skip
            yield 0, head + packet(src, dst, **more), 0

    head = ROUTER.ports[0].mac + ROUTER.ports[0].peer_mac + b"\x08\x00"
    asked = assert_alike(ROUTER, profile, list(rows()))
    batch = BatchForwarder(ROUTER, profile=profile)
    monkeypatch.setattr(batch.reference, "decide", None)
    made = batch.forward(Frames.of(list(rows())))
    assert sent(made) == sent(asked)
    assert made.icmp.sum() >= 5


def test_nothing_in_nothing_out():
    made = BatchForwarder(ROUTER).forward(Frames.of([]))
    assert (len(made), len(made.reason), len(made.frames)) == (0, 0, 0)


def test_frames_need_ports_that_are_there():
    batch = BatchForwarder(ROUTER)
    with pytest.raises(InputError, match="port must be 0 to 4, got 0 to 5"):
        batch.forward(Frames.of([(0, b"", 0), (5, b"", 0)]))
    with pytest.raises(InputError, match="2 frames need 2 ports and times, got 1"):
        batch.forward(Frames(Packets.of([b"", b""]), np.zeros(1, np.int16), np.zeros(2, np.int64)))


def test_codes_of_the_kernels_are_those_of_the_reasons():
    for reason in Reason:
        assert getattr(kernels, reason.name, int(reason)) == reason
    assert max(Reason) < kernels.GO
    assert KINDS.index("unicast") == kernels.UNICAST_ROUTE
    assert KINDS.index("blackhole") == kernels.BLACKHOLE_ROUTE


@given(ttl=st.integers(2, 255), protocol=st.integers(0, 255), rest=st.integers(0, 0xFFFF))
def test_checksums_stay_right(ttl, protocol, rest):
    head = ROUTER.ports[0].mac + ROUTER.ports[0].peer_mac + b"\x08\x00"
    source = address_text(0xAC100000 | rest)
    rows = [(0, head + packet(source, "20.0.0.1", ttl=ttl, protocol=protocol, identification=rest), 0)]
    assert len(assert_alike(ROUTER, "rfc1812", rows)) == 1


@pytest.mark.parametrize("profile", PROFILES)
def test_a_neighbour_that_is_routed_elsewhere_gets_the_next_hops_address(profile):
    detour = RouteRecord(prefix="10.1.0.2/32", via="10.4.0.1")
    router = resolve_router(msgspec.structs.replace(NAMED, route=[*NAMED.route, detour]))
    head = router.ports[0].mac + router.ports[0].peer_mac + b"\x08\x00"
    made = assert_alike(router, profile, [(0, head + packet("172.16.0.9", "10.1.0.2"), 0)])
    assert made.frames[0][:6] == router.ports[4].peer_mac


@pytest.mark.parametrize("profile", PROFILES)
def test_a_sender_far_off_that_is_routed_to_the_port_alone_counts_as_the_profile_says(profile):
    everything = RouteRecord(prefix="0.0.0.0/0", port="p0")
    router = resolve_router(msgspec.structs.replace(NAMED, route=[*NAMED.route, everything]))
    head = router.ports[0].mac + router.ports[0].peer_mac + b"\x08\x00"
    made = assert_alike(router, profile, [(0, head + packet("192.0.2.1", "24.0.0.1"), 0)])
    assert made.icmp.tolist() == [True, False][not PROFILES[profile].ipv4.any_sender :]
