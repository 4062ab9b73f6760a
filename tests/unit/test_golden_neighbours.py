"""Neighbours that a router asks for: what waits and how long, what is learnt, in both profiles; what is refused."""

import msgspec
import pytest
from reference.neighbour_cases import MACS, RECORD, arp, passing, passing6

from npexplore.errors import InputError
from npexplore.golden.ipv4.arp import REPLY, REQUEST
from npexplore.golden.reasons import Reason
from npexplore.golden.router.configuration import resolve_router
from npexplore.golden.router.forward import Forwarder
from npexplore.golden.router.neighbours import ASKED, SECOND, WAITING
from npexplore.golden.router.profiles import PROFILES
from npexplore.golden.router.records import LabelRecord, NeighbourRecord

ARP, IPV4 = b"\x08\x06", b"\x08\x00"


def forwarder(profile="rfc1812", **changes):
    linux = RECORD.linux if profile == "linux" else type(RECORD.linux)()
    record = msgspec.structs.replace(RECORD, profile=profile, linux=linux, **changes)
    return Forwarder(resolve_router(record), lookup="binary_trie")


@pytest.mark.parametrize("profile", PROFILES)
def test_a_packet_waits_until_its_next_hop_answers(profile):
    golden = forwarder(profile)
    asked = golden.forward(*passing(), 0)
    assert (asked.reason, [sent.frame[12:14] for sent in asked.sent]) == (Reason.AWAITS_NEIGHBOUR, [ARP])
    assert asked.sent[0].frame[:6] == b"\xff" * 6
    assert golden.forward(*passing("10.3.0.2"), 1).sent == ()
    answer = golden.forward(*arp(REPLY, 1, MACS[0], "11.0.0.2", "11.0.0.1"), 2)
    assert answer.reason is Reason.ARP
    assert [(sent.port, sent.frame[:6], sent.frame[29]) for sent in answer.sent] == [(1, MACS[0], 1), (1, MACS[0], 2)]
    assert golden.forward(*passing(), 3).sent[0].frame[:6] == MACS[0]


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize(("make", "told"), [(passing, (3, 1)), (passing6, (1, 3))])
def test_a_neighbour_is_asked_three_times_and_then_given_up(profile, make, told):
    ends = ("10.0.0.9", "20.0.0.1") if make is passing else ("2001:db8::9", "2001:db8:a::1")
    mac = "02:00:00:00:00:77"
    known = [NeighbourRecord(address=ends[0], mac=mac)]
    golden = forwarder(profile, neighbour=known)
    questions = [golden.forward(*make(*ends), 5).sent]
    assert golden.wait(SECOND + 4) == ()
    questions += [golden.wait(k * SECOND + 5) for k in range(1, ASKED)]
    assert len(set(questions)) == 1
    assert golden.wait(ASKED * SECOND + 4) == ()
    (error,) = golden.wait(ASKED * SECOND + 5)
    body = error.frame[34:] if make is passing else error.frame[54:]
    assert (error.port, tuple(body[:2]), error.frame[:6].hex(":")) == (0, told, mac)
    assert golden.wait(1 << 60) == ()
    assert len(golden.forward(*make(*ends), 1 << 60).sent) == 1  # it is asked for anew
    assert golden.counters["icmp.p1"] == ASKED + 1


def test_time_passes_with_frames_as_it_does_without():
    golden, other = forwarder(), forwarder()
    for one in (golden, other):
        one.forward(*passing("10.0.0.9"), 0)
    later = golden.forward(*passing("10.0.0.9", "31.0.0.1"), 10 * SECOND).sent
    waited = other.wait(10 * SECOND)
    assert [sent for sent in later if sent.port == 1] == [sent for sent in waited if sent.port == 1]


def test_the_oldest_goes_where_too_many_wait():
    golden = forwarder()
    for k in range(WAITING + 2):
        golden.forward(*passing(f"10.3.0.{k}"), k)
    sent = golden.forward(*arp(REPLY, 1, MACS[0], "11.0.0.2", "11.0.0.1"), 200).sent
    assert [one.frame[29] for one in sent] == list(range(2, WAITING + 2))


@pytest.mark.parametrize(
    ("sender", "target", "answered"),
    [
        ("10.0.0.9", "10.0.0.1", {"rfc1812", "linux"}),
        ("10.9.0.9", "10.9.0.1", {"rfc1812", "linux"}),
        ("10.0.0.9", "11.0.0.1", {"linux"}),
        ("77.0.0.9", "10.0.0.1", {"linux"}),
        ("10.0.0.9", "10.0.0.8", set()),
    ],
)
def test_who_is_answered(sender, target, answered):
    for profile in PROFILES:
        sent = forwarder(profile).forward(*arp(REQUEST, 0, MACS[3], sender, target)).sent
        assert [one.frame[:6] for one in sent] == ([MACS[3]] if profile in answered else [])


def test_labels_need_neighbours_that_are_known():
    with pytest.raises(InputError, match=r"policy: neighbours = \"resolve\" does not go with \[\[label\]\]"):
        forwarder(label=[LabelRecord(label=16, via="10.0.0.2")])


def test_a_question_about_an_address_behind_several_next_hops_is_heard():
    """It has no flow to choose a next hop by, and needs none: the address is not the router's."""
    hops = [{"via": "11.0.0.2"}, {"via": "11.0.0.3"}]
    route = msgspec.convert({"prefix": "30.0.0.0/8", "next_hops": hops}, type(RECORD.route[0]))
    golden = forwarder("linux", route=[*RECORD.route, route])
    assert golden.forward(*arp(REQUEST, 0, MACS[0], "10.0.0.9", "30.0.0.1"), 0).sent == ()
