"""The first difference is found and named: its field, both values, its clause; what is free is left out."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from reference.router_cases6 import MIXED, framed

from npexplore.golden.compare.difference import CLAUSES, first_difference, frame_difference
from npexplore.golden.compare.masked import without_time
from npexplore.golden.ipv4.header import with_checksum, write_packet
from npexplore.golden.ipv4.icmp import IcmpError, icmp_error
from npexplore.golden.mpls.stack import Label, write_stack
from npexplore.golden.reasons import Reason
from npexplore.golden.router.configuration import resolve_router
from npexplore.golden.router.forward import Forwarder
from npexplore.golden.router.walk import Sent

LINK = bytes.fromhex("020000000100 020000000001 0800")
PACKET = write_packet(0x0A000009, 0x14000001, bytes(range(40)), identification=7, ttl=9)
FRAME = LINK + PACKET
STAMPED = LINK + write_packet(1, 2, b"body", options=bytes([68, 12, 9, 0, 0, 0, 0, 5, 0, 0, 0, 0]))
ERROR = LINK + icmp_error(IcmpError(11, 0), PACKET, 0x0A010001, identification=5)


def changed(frame, at, value, *, sum_right=True):
    """Return a frame with one octet changed."""
    out = frame[:at] + bytes([value]) + frame[at + 1 :]
    return out[:14] + with_checksum(out[14:]) if sum_right else out


@pytest.mark.parametrize(
    ("at", "field", "values"),
    [
        (0, "destination MAC", ("02:00:00:00:01:00", "66:00:00:00:01:00")),
        (6, "source MAC", ("02:00:00:00:00:01", "66:00:00:00:00:01")),
        (12, "Ethernet type", ("0x0800", "0x6600")),
        (15, "type of service", ("0x00", "0x66")),
        (18, "identification", ("0x0007", "0x6607")),
        (20, "flags", ("000", "011")),
        (21, "fragment offset", ("0", "816")),
        (22, "time to live", ("9", "102")),
        (23, "protocol", ("17", "102")),
        (24, "checksum", None),
        (26, "source", ("10.0.0.9", "102.0.0.9")),
        (30, "destination", ("20.0.0.1", "102.0.0.1")),
        (53, "payload", None),
    ],
)
def test_each_field_is_named(at, field, values):
    found = frame_difference(Sent(0, FRAME), changed(FRAME, at, 0x66, sum_right=at != 24))
    assert found is not None
    assert (found.field, found.clause) == (field, CLAUSES[field][0])
    assert values is None or (found.expected, found.got) == values
    assert field in str(found)
    assert found.clause in str(found)


@pytest.mark.parametrize(
    ("at", "field"),
    [(34, "ICMP type"), (35, "ICMP code"), (39, "ICMP value"), (45, "quoted packet"), (36, "ICMP checksum")],
)
def test_fields_of_a_message_are_named_with_their_clause(at, field):
    found = frame_difference(Sent(0, ERROR, icmp=True), changed(ERROR, at, 0x66))
    assert (found.field, found.clause) == (field, CLAUSES[field][1])


def test_options_and_what_follows_the_packet_are_fields():
    assert frame_difference(Sent(0, STAMPED), changed(STAMPED, 34, 7)).field == "options"
    long = LINK + write_packet(1, 2, bytes(60))
    assert frame_difference(Sent(0, long), long + b"x").field == "behind the packet"


def test_padding_to_the_shortest_frame_is_none():
    assert (
        frame_difference(Sent(0, FRAME[:14] + write_packet(1, 2)), FRAME[:14] + write_packet(1, 2) + bytes(26)) is None
    )


def test_the_identification_of_a_message_is_free_but_its_checksum_must_fit():
    other = changed(ERROR, 18, 9)
    assert frame_difference(Sent(0, ERROR, icmp=True), other) is None
    wrong = changed(ERROR, 18, 9, sum_right=False)
    found = frame_difference(Sent(0, ERROR, icmp=True), wrong)
    assert (found.field, found.expected[:6]) == ("checksum", f"0x{other[24:26].hex()}")
    assert frame_difference(Sent(0, ERROR), other).field == "identification"


def test_the_time_of_day_is_free_but_the_checksum_must_fit():
    later = changed(STAMPED, 41, 200)
    assert frame_difference(Sent(0, STAMPED), later) is None
    assert frame_difference(Sent(0, STAMPED), changed(STAMPED, 41, 200, sum_right=False)).field == "checksum"
    assert frame_difference(Sent(0, STAMPED), changed(STAMPED, 45, 200)).field == "options"  # a place not yet used


def frames(count):
    return [LINK + write_packet(1, 2, bytes([k]), identification=k) for k in range(count)]


def test_a_missing_frame_is_told_from_a_wrong_one():
    sent = [Sent(1, frame) for frame in frames(5)]
    found = first_difference(sent, [(1, frame) for k, frame in enumerate(frames(5)) if k != 2])
    assert (found.port, found.frame, found.field) == (1, 2, "frame")
    assert "the one after it" in found.got
    found = first_difference(sent, [(1, frame) for frame in frames(4)])
    assert (found.frame, found.got) == (4, "none")
    assert first_difference(sent, [(1, frame) for frame in frames(5)]) is None


def test_a_frame_too_much_is_explained_by_the_packet_that_was_dropped():
    sent = [Sent(0, frame) for frame in frames(5) if frame != frames(5)[3]]
    got = [(0, frame) for frame in frames(5)]
    found = first_difference(sent, got, [(Reason.TTL_EXPIRED, frames(5)[3])])
    assert (found.frame, found.expected) == (3, "none, for no time to live is left")
    assert found.clause == "RFC 1812 section 5.3.1"
    assert first_difference(sent, got).expected == "none"


def test_another_port_is_a_missing_frame():
    found = first_difference([Sent(0, FRAME)], [(1, FRAME)])
    assert (found.port, found.got) == (0, "none")


@given(st.sampled_from((FRAME, STAMPED, ERROR)), st.booleans(), st.integers(0, 80), st.integers(0, 255), st.booleans())
def test_none_means_equal_but_for_what_is_free(frame, made, at, value, sum_right):
    other = changed(frame, at % len(frame), value, sum_right=sum_right and at % len(frame) != 14)
    equal = without_time(frame, made) == without_time(other, made)
    found = frame_difference(Sent(0, frame, made), other)
    assert equal or found is not None
    assert found is None or found.expected != found.got
    assert found is None or not equal or "fits" in found.expected


def test_a_frame_too_many_is_explained_by_the_packet_that_it_is():
    """Many senders leave the identification 0; destination and payload tell their packets apart."""

    def frame(destination, body, ttl=9):
        return LINK + write_packet(0x0A000009, destination, body, identification=0, ttl=ttl)

    dropped = [
        (Reason.NO_ROUTE, frame(0x14000001, b"one", ttl=10)),
        (Reason.TTL_EXPIRED, frame(0x14000002, b"two", ttl=10)),
        (Reason.BAD_CHECKSUM, frame(0x14000002, b"three", ttl=10)),
    ]
    for body, text in ((b"two", Reason.TTL_EXPIRED.text), (b"three", Reason.BAD_CHECKSUM.text)):
        found = first_difference([], [(0, frame(0x14000002, body))], dropped)
        assert found.expected == f"none, for {text}"
    changed_way = first_difference([], [(0, frame(0x14000009, b"other"))], dropped)
    assert changed_way.expected == f"none, for {Reason.NO_ROUTE.text}"
    stranger = LINK + write_packet(0x0A000077, 0x14000001, b"one", identification=0)
    assert first_difference([], [(0, stranger)], dropped).expected == "none"


def test_a_message_below_labels_is_as_free_as_one_without():
    golden = Forwarder(resolve_router(MIXED), lookup="binary_trie")
    packet = write_packet(0x15000001, 0x14000001, b"data", ttl=1)
    (told,) = golden.forward(0, framed(packet, b"\x08\0")).sent
    assert (told.icmp, told.frame[12:14]) == (True, b"\x88\x47")
    at = 14 + 8
    renamed = told.frame[:at] + with_checksum(told.frame[at : at + 4] + b"\x12\x34" + told.frame[at + 6 :])
    assert frame_difference(told, renamed) is None
    wrong = renamed[: at + 10] + bytes([renamed[at + 10] ^ 1]) + renamed[at + 11 :]
    assert frame_difference(told, wrong).field == "checksum"
    relabelled = renamed[:16] + bytes([renamed[16] ^ 0x10]) + renamed[17:]
    assert frame_difference(told, relabelled).field == "label stack"


def test_a_stack_that_looks_like_a_header_of_ipv4_is_none():
    frame = bytes(12) + b"\x88\x47" + write_stack([Label(0x45000, ttl=9)]) + bytes(60)
    assert without_time(frame, True) == frame


def test_a_quoted_time_that_is_0_is_as_free_as_any():
    """Of a packet whose own checksum is 0, too: nothing in the quote is changed by setting what is free to 0."""

    def message(time):
        quoted = bytearray(write_packet(1, 2, b"body", options=bytes([68, 8, 9, 0, *time])))
        quoted[10:12] = bytes(2)
        return LINK + icmp_error(IcmpError(12, 0), bytes(quoted), 0x0A010001, identification=5)

    assert message([0, 0, 0, 0]) != message([0, 0, 0, 5])
    assert frame_difference(Sent(0, message([0, 0, 0, 0]), True), message([0, 0, 0, 5])) is None
    assert without_time(message([0, 0, 0, 0]), True) == without_time(message([0, 0, 0, 5]), True)
