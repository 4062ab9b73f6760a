"""Every reason that a stage may give is given to some packet, and stages give no other; nothing malformed raises."""

import dataclasses
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st
from reference.router_cases import named_cases, packet, record, route, stamp

from npexplore.errors import InputError
from npexplore.golden.linux.settings import LinuxSettings
from npexplore.golden.reasons import Reason
from npexplore.golden.router.batch import BatchForwarder, Frames
from npexplore.golden.router.configuration import ProfileName
from npexplore.golden.router.forward import Forwarder
from npexplore.golden.router.policy import Policy
from npexplore.golden.router.profiles import PROFILES
from npexplore.golden.router.walk import Walk

ROUTER, CASES = named_cases()
NARROW = dataclasses.replace(ROUTER, ports=tuple(dataclasses.replace(port, mtu=60) for port in ROUTER.ports))
HEAD = ROUTER.ports[0].mac + ROUTER.ports[0].peer_mac + b"\x08\x00"
EMPTY = tuple(dataclasses.replace(port, listed_only=True) for port in ROUTER.ports)
LISTED = dataclasses.replace(ROUTER, ports=EMPTY, neighbours={})
FILTER = dataclasses.replace(ROUTER, policy=Policy(reverse_path=True))
STRICT = dataclasses.replace(ROUTER, linux=LinuxSettings(rp_filter=1))
# what the named cases do not have: a link below IPv4's smallest MTU under a header of 60 bytes, and switches
MORE = [
    (NARROW, HEAD + packet("172.16.0.9", "20.0.0.1", options=b"\x01" * 40, payload=bytes(8)), list(PROFILES)),
    (LISTED, HEAD + packet("172.16.0.9", "20.0.0.1"), ["rfc1812"]),
    (FILTER, HEAD + packet("20.0.0.1", "172.16.0.9"), ["rfc1812"]),
    (STRICT, HEAD + packet("20.0.0.1", "172.16.0.9"), ["linux"]),
    (STRICT, HEAD + packet("172.16.0.9", "10.0.0.1", options=route(False, "20.0.0.9")), ["linux"]),
]
EXITS = [
    (name, reason) for name, profile in PROFILES.items() for reason in {r for s in profile.ipv4.stages for r in s.exits}
]


def left_by(forwarder, port, frame):
    """Return the stage and reason by which a packet leaves; None if it is sent."""
    walk = Walk(port, frame, 0, forwarder.ipv4.read)
    for stage in forwarder.profile.ipv4.stages:
        reason = stage.run(forwarder.ipv4, walk)
        if reason:
            return stage, reason
    return None


@pytest.fixture(scope="module")
def found():
    """All reasons by profile, with a packet for each."""
    frames = {name: {} for name in PROFILES}
    for name, reasons in frames.items():
        forwarder = Forwarder(ROUTER, profile=name, lookup="binary_trie")
        for case, port, frame in CASES:
            if left := left_by(forwarder, port, frame):
                stage, reason = left
                assert reason in stage.exits, (name, case, stage.name, reason)
                reasons.setdefault(reason, frame)
        for router, frame in [row[:2] for row in MORE if name in row[2]]:
            if left := left_by(Forwarder(router, profile=name, lookup="binary_trie"), 0, frame):
                assert left[1] in left[0].exits
                reasons.setdefault(left[1], frame)
    return frames


@pytest.mark.parametrize(("profile", "reason"), EXITS, ids=lambda value: getattr(value, "name", value))
def test_a_packet_leaves_for_every_declared_reason(found, profile, reason):
    assert reason in found[profile]


def test_the_profiles_that_a_configuration_may_name_are_those_that_are_listed():
    assert get_args(ProfileName) == tuple(PROFILES) == tuple(profile.name for profile in PROFILES.values())
    with pytest.raises(InputError, match="nearest: linux"):
        Forwarder(ROUTER, profile="linus")


def test_every_reason_of_ipv4_belongs_to_a_stage():
    later = Reason.SOURCE_ROUTE_REFUSED
    assert {reason for _, reason in EXITS} == {r for r in Reason if Reason.NONE < r < Reason.TOO_SHORT6 or r is later}


@pytest.mark.parametrize("reason", [reason for reason in Reason if reason], ids=lambda reason: reason.name)
def test_every_reason_says_why_and_where_it_is_written(reason):
    assert reason.text
    assert "section" in reason.clause or "clause" in reason.clause


def through(profile, frames):
    """Return the reasons of frames, by reference and batch; each frame has a reason or is sent."""
    reference = Forwarder(ROUTER, profile=profile, lookup="binary_trie")
    outcomes = [reference.forward(0, frame) for frame in frames]
    for outcome in outcomes:
        assert bool(outcome.reason) != any(not sent.icmp for sent in outcome.sent)
    made = BatchForwarder(ROUTER, profile=profile, lookup="binary_trie").forward(Frames.of([(0, f, 0) for f in frames]))
    assert made.reason.tolist() == [outcome.reason for outcome in outcomes]
    return [outcome.reason for outcome in outcomes]


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize(
    "options", [b"", record(3), route(False, "20.0.0.9"), stamp(1, 2), b"\x94\x04\x00\x00" + record(2)],
    ids=["plain", "record route", "source route", "time stamp", "two options"],
)  # fmt: skip
def test_a_frame_cut_at_each_byte_is_dropped(profile, options):
    frame = HEAD + packet("172.16.0.9", "10.0.0.1" if options[:1] == b"\x83" else "20.0.0.1", options=options)
    *cut, whole = through(profile, [frame[:kept] for kept in range(len(frame) + 1)])
    assert set(cut) <= {Reason.NOT_IPV4, Reason.TOO_SHORT, Reason.HEADER_CUT, Reason.TRUNCATED}
    assert whole is Reason.NONE


@pytest.mark.parametrize("profile", PROFILES)
@given(st.lists(st.one_of(st.binary(max_size=90), st.binary(max_size=80).map(HEAD.__add__)), max_size=6))
def test_random_bytes_never_raise(profile, frames):
    through(profile, frames)


@pytest.mark.parametrize("profile", PROFILES)
def test_lying_lengths_never_raise(profile):
    good = packet("172.16.0.9", "20.0.0.1", options=record(2), payload=bytes(9))
    frames = [
        HEAD + packet("172.16.0.9", "20.0.0.1", ihl=ihl, total=total, options=good[20:32], payload=bytes(9))
        for ihl in range(16) for total in (0, 19, 20, 31, 32, 40, 41, 42, 65535)
    ]  # fmt: skip
    frames += [HEAD + good[:at] + bytes([value]) + good[at + 1 :] for at in range(20) for value in (0, 1, 127, 255)]
    assert len(set(through(profile, frames))) >= 5
