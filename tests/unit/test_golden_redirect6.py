"""Redirects of IPv6: who is told of which hop, and every field of the message (RFC 4861 sections 4.5, 4.6, 8.2)."""

import pytest
from reference.router_cases6 import MIXED, UDP_HEAD, a, framed, six

from npexplore.golden.ipv4.icmp_limit import TokenBucket
from npexplore.golden.ipv6.redirect import redirect_target
from npexplore.golden.reasons import Reason
from npexplore.golden.router.configuration import resolve_router
from npexplore.golden.router.forward import Forwarder
from npexplore.golden.router.ports import Port6
from npexplore.golden.router.routes import Hop

ROUTER = resolve_router(MIXED)
GOLDEN = Forwarder(ROUTER, lookup="binary_trie")
LINK = Port6(a("2001:db8::1"), 64, a("fe80::1"))
NEAR, FAR, HOST, THERE = (a(text) for text in ("2001:db8::5", "2001:db9::5", "2001:db8::7", "2001:db9::7"))
ROUTER_NEXT, GLOBAL = a("fe80::9"), a("2001:db8::9")


@pytest.mark.parametrize(
    ("link", "port", "via", "stack", "source", "destination", "target"),
    [
        (LINK, 0, 0, b"", NEAR, HOST, HOST),
        (LINK, 0, ROUTER_NEXT, b"", NEAR, THERE, ROUTER_NEXT),
        (LINK, 0, ROUTER_NEXT, b"", a("fe80::5"), THERE, ROUTER_NEXT),
        (LINK, 0, 0, b"", a("fe80::5"), HOST, HOST),
        (LINK, 0, GLOBAL, b"", NEAR, THERE, None),  # hosts take no global address of a router
        (LINK, 0, GLOBAL, b"", NEAR, GLOBAL, GLOBAL),  # but that of the destination itself
        (LINK, 1, 0, b"", NEAR, HOST, None),  # leaves by another port
        (LINK, 0, ROUTER_NEXT, b"", FAR, THERE, None),  # the source is no neighbour
        (LINK, 0, ROUTER_NEXT, bytes(4), NEAR, THERE, None),  # below labels
        (None, 0, ROUTER_NEXT, b"", NEAR, THERE, None),  # a port without IPv6
    ],
)
def test_who_is_told_of_what(link, port, via, stack, source, destination, target):
    assert redirect_target(0, link, Hop(0, port, via, stack), source, destination) == target


def words(data):
    """Return the one's complement sum of 16-bit words."""
    data += bytes(len(data) % 2)
    total = sum(int.from_bytes(data[k : k + 2], "big") for k in range(0, len(data), 2))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return total


@pytest.mark.parametrize("size", [0, 1, 8, 1138, 1139, 1200, 1400])
def test_every_field_of_the_message(size):
    packet = six(a("2001:db8:12::7"), source=a("2001:db8::5"), payload=UDP_HEAD + bytes(size))
    told, on = GOLDEN.forward(0, framed(packet + b"link padding")).sent
    assert (told.port, told.icmp, on.port, on.icmp) == (0, True, 0, False)
    assert told.frame[:14] == ROUTER.ports[0].peer_mac + ROUTER.ports[0].mac + b"\x86\xdd"
    message = told.frame[14:]
    source, destination = message[8:24], message[24:40]
    assert source == ROUTER.six.ports[0].link_local.to_bytes(16, "big")
    assert destination == packet[8:24]
    assert (message[6], message[7], len(message) <= 1280) == (58, 255, True)
    body = message[40:]
    assert int.from_bytes(message[4:6], "big") == len(body)
    assert words(source + destination + len(body).to_bytes(4, "big") + bytes([0, 0, 0, 58]) + body) == 0xFFFF
    assert (body[:2], body[4:8]) == (b"\x89\0", bytes(4))
    assert (body[8:24], body[24:40]) == (a("fe80::9").to_bytes(16, "big"), packet[24:40])
    assert body[40:48] == b"\2\1" + ROUTER.ports[0].peer_mac
    assert (body[48], 8 * body[49], body[50:56]) == (4, len(body) - 48, bytes(6))
    quoted = body[56:]
    assert quoted == packet[: len(quoted)]
    assert len(packet) - len(quoted) < 8 or len(message) + 8 > 1280


def test_the_packet_goes_on_with_one_hop_less():
    packet = six(a("2001:db8::7"), source=a("2001:db8::5"), hop_limit=9)
    on = GOLDEN.forward(0, framed(packet)).sent[1].frame
    assert on[14:] == packet[:7] + b"\x08" + packet[8:]


def test_a_link_local_source_may_go_back_onto_its_link_alone():
    back, beyond = (six(a(to), source=a("fe80::5")) for to in ("2001:db8:12::7", "2001:db8:a::7"))
    assert GOLDEN.forward(0, framed(back)).reason is Reason.NONE
    assert GOLDEN.forward(0, framed(beyond)).reason is Reason.BEYOND_SCOPE


def test_nothing_is_told_about_what_does_not_leave_or_was_for_many():
    source = a("2001:db8::5")
    for packet, to in (
        (six(a("ff0e::5"), source=source), None), (six(a("2001:db8:12::7"), source=source), b"\x33\x33\0\0\0\1"),
        (six(a("2001:db8:0::1"), source=source), None), (six(a("2001:db8:12::7"), source=source, hop_limit=0), None),
    ):  # fmt: skip
        assert all(one.frame[54] != 137 for one in GOLDEN.forward(0, framed(packet, to=to)).sent)


def test_redirects_count_among_the_messages_that_are_limited():
    golden = Forwarder(ROUTER, lookup="binary_trie", error_limit=TokenBucket(1, 2))
    packet = framed(six(a("2001:db8:12::7"), source=a("2001:db8::5")))
    assert [len(golden.forward(0, packet, 0).sent) for _ in range(4)] == [2, 2, 1, 1]


def test_somebody_who_is_not_on_the_list_is_not_told():
    packet = six(a("2001:db8:3::9"), source=a("2001:db8:3::8"))
    assert [one.icmp for one in GOLDEN.forward(3, framed(packet, port=3)).sent] == [False]
