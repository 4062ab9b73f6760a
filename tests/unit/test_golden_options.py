"""Options of the header, case by case: where a fault points, and what a router writes."""

import pytest

from npexplore.golden.checksum import header_checksum_is_right
from npexplore.golden.ipv4.header import read_header, write_packet
from npexplore.golden.ipv4.options import (
    LOOSE_ROUTE,
    RECORD_ROUTE,
    STRICT_ROUTE,
    TIMESTAMP,
    Option,
    forward_options,
    next_of_source_route,
    read_options,
    reversed_source_route,
)

SOURCE, ROUTER, OUT, FAR = 0x0A000001, 0x0A0000FE, 0x0B0000FE, 0x0C000001
HERE = OUT.to_bytes(4, "big")
TIME = 0x01020304
STAMP = TIME.to_bytes(4, "big")


def packet(options, destination=FAR):
    return write_packet(SOURCE, destination, b"data", options=options)


def forwarded(options, own=frozenset(), follow=False, destination=FAR):
    """Return the options of a packet as the router leaves them; its checksum must be right and its rest untouched."""
    before = packet(options, destination)
    after = forward_options(before, read_options(before), OUT, own, TIME, follow=follow)
    assert header_checksum_is_right(after)
    assert len(after) == len(before)
    assert after[:10] + after[12:16] == before[:10] + before[12:16]
    return after[20 : 4 * (after[0] & 15)], read_header(after).destination


def listed(kind, pointer, *slots, room=0):
    body = b"".join(slots) + bytes(4 * room)
    return bytes([kind, 3 + len(body), pointer]) + body


def stamps(pointer, overflow, flag, body):
    return bytes([TIMESTAMP, 4 + len(body), pointer, overflow << 4 | flag]) + body


def test_options_are_found_in_order():
    options = b"\x01" + bytes([0x94, 4, 0, 0]) + bytes([30, 3, 9]) + b"\0\x07"
    found = read_options(packet(options))
    assert found.pointer is None
    assert found.options == (
        Option(1, 20, b"\x01"),
        Option(0x94, 21, b"\x94\x04\0\0"),
        Option(30, 25, b"\x1e\x03\x09"),  # what follows the end of the list is none
    )
    assert [option.copied for option in found.options] == [False, True, False]
    assert read_options(packet(b"")).options == ()
    assert read_options(b"").options == ()


@pytest.mark.parametrize(
    ("options", "pointer"),
    [
        (bytes([30, 0, 1, 1]), 20),  # no length below 2
        (bytes([30, 1, 1, 1]), 20),
        (bytes([30, 5, 1, 1]), 20),  # beyond the header
        (bytes([1, 1, 1, 30]), 23),  # no octet for the length
        (bytes([1, 1, RECORD_ROUTE, 2]), 23),
        (bytes([RECORD_ROUTE, 3, 4, 1]), None),  # no room, nothing to write
        (bytes([RECORD_ROUTE, 7, 3]) + bytes(5), 22),
        (bytes([RECORD_ROUTE, 7, 5]) + bytes(5), 22),  # room for 3 octets of an address
        (bytes([RECORD_ROUTE, 7, 8]) + bytes(5), None),  # full
        (bytes([RECORD_ROUTE, 7, 255]) + bytes(5), None),
        (listed(RECORD_ROUTE, 4, room=1) + b"\1" + listed(RECORD_ROUTE, 4, room=1), 28),  # twice
        (bytes([LOOSE_ROUTE, 2, 1, 1]), 21),
        (bytes([LOOSE_ROUTE, 7, 3]) + bytes(5), 22),
        (listed(LOOSE_ROUTE, 4, room=1) + listed(STRICT_ROUTE, 4, room=1), 27),
        (bytes([TIMESTAMP, 3, 5, 1]), 21),
        (stamps(4, 0, 0, bytes(4)), 22),
        (stamps(5, 0, 2, bytes(4)), 23),  # no such flag
        (stamps(5, 0, 1, bytes(4)), 22),  # room for an address alone
        (stamps(6, 0, 0, bytes(4)), 22),
        (stamps(9, 14, 0, bytes(4)), None),
        (stamps(9, 15, 0, bytes(4)), 23),  # the count of those without room overflows
        (stamps(13, 15, 3, bytes(8)), None),
        (bytes([0x94, 3, 0, 1]), 21),
    ],
)
def test_a_fault_points_to_its_octet(options, pointer):
    assert read_options(packet(options)).pointer == pointer


def test_what_came_before_a_fault_is_kept():
    found = read_options(packet(b"\x94\x04\0\0" + bytes([30, 0, 1, 1])))
    assert (found.pointer, len(found.options)) == (24, 1)


def test_record_route():
    first = bytes([1, 2, 3, 4])
    assert forwarded(listed(RECORD_ROUTE, 8, first, room=2) + b"\1") == (
        listed(RECORD_ROUTE, 12, first, HERE, room=1) + b"\1",
        FAR,
    )
    full = listed(RECORD_ROUTE, 8, first) + b"\1"
    assert forwarded(full)[0] == full


def test_time_stamps():
    assert forwarded(stamps(5, 0, 0, bytes(8)))[0] == stamps(9, 0, 0, STAMP + bytes(4))
    assert forwarded(stamps(5, 0, 1, bytes(8)))[0] == stamps(13, 0, 1, HERE + STAMP)
    assert forwarded(stamps(9, 3, 0, STAMP))[0] == stamps(9, 4, 0, STAMP)
    assert forwarded(stamps(13, 0, 1, HERE + STAMP))[0] == stamps(13, 1, 1, HERE + STAMP)


def test_prespecified_time_stamps():
    wanted = ROUTER.to_bytes(4, "big") + bytes(4)
    assert forwarded(stamps(5, 0, 3, wanted), own={ROUTER})[0] == stamps(13, 0, 3, wanted[:4] + STAMP)
    assert forwarded(stamps(5, 0, 3, wanted), own={OUT})[0] == stamps(5, 0, 3, wanted)
    assert forwarded(stamps(13, 0, 3, wanted), own={ROUTER})[0] == stamps(13, 0, 3, wanted)


def test_time_stamps_count_from_midnight():
    before = packet(stamps(5, 0, 0, bytes(4)))
    after = forward_options(before, read_options(before), OUT, frozenset(), 86_400_000 + 5)
    assert after[24:28] == (5).to_bytes(4, "big")


@pytest.mark.parametrize(("kind", "strict"), [(LOOSE_ROUTE, False), (STRICT_ROUTE, True)])
def test_source_routes(kind, strict):
    far = FAR.to_bytes(4, "big")
    options = listed(kind, 4, far, room=1) + b"\1"
    route = next_of_source_route(packet(options, ROUTER), read_options(packet(options, ROUTER)))
    assert route == (strict, FAR, None)
    after, destination = forwarded(options, follow=True, destination=ROUTER)
    assert (after, destination) == (listed(kind, 8, HERE, room=1) + b"\1", FAR)
    # not this router's turn: nothing changes
    assert forwarded(options, destination=FAR) == (options, FAR)


def test_ends_of_source_routes():
    done = packet(listed(LOOSE_ROUTE, 8, HERE) + b"\1", ROUTER)
    assert next_of_source_route(done, read_options(done)) == (False, None, None)
    short = packet(listed(LOOSE_ROUTE, 6, HERE) + b"\1", ROUTER)
    assert next_of_source_route(short, read_options(short)) == (False, None, 22)
    assert forward_options(short, read_options(short), OUT, frozenset(), 0, follow=True) == short
    assert next_of_source_route(packet(b""), read_options(packet(b""))) is None


def test_the_way_back():
    one, two, source = (bytes([n] * 4) for n in (1, 2, 3))
    there = write_packet(0x03030303, FAR, options=listed(STRICT_ROUTE, 12, one, two, room=1) + b"\1")
    assert reversed_source_route(there, read_options(there)) == (0x02020202, listed(STRICT_ROUTE, 4, one, source))
    fresh = write_packet(0x03030303, FAR, options=listed(STRICT_ROUTE, 4, one, two) + b"\1")
    assert reversed_source_route(fresh, read_options(fresh)) == (0x03030303, b"")


def test_unknown_options_pass_unchanged():
    """RFC 1812 section 5.3.13.1."""
    options = bytes([30, 4, 9, 9, 158, 4, 8, 8])
    assert forwarded(options)[0] == options
