"""ICMP errors and fragments, case by case."""

import dpkt
import pytest

from npexplore.errors import InputError
from npexplore.golden.checksum import internet_checksum
from npexplore.golden.ipv4.delivery import Links
from npexplore.golden.ipv4.fragment import fragment
from npexplore.golden.ipv4.header import DF, MF, read_header, write_packet
from npexplore.golden.ipv4.icmp import IcmpError, Silence, error_for, icmp_error, redirect_to, silence
from npexplore.golden.ipv4.icmp_limit import TokenBucket
from npexplore.golden.ipv4.martians import martian_list
from npexplore.golden.ipv4.options import read_options
from npexplore.golden.reasons import Reason

LINKS = Links((0x0A0000FE, 0x0B0000FE), (24, 24))
SOURCE, FAR = 0x0A000001, 0x14000001
ROUTE = bytes([131, 11, 8]) + bytes([9, 9, 9, 9]) + bytes(4) + b"\1"  # one hop recorded


@pytest.mark.parametrize(
    ("reason", "error"),
    [
        (Reason.TTL_EXPIRED, (11, 0, 0)),
        (Reason.NO_ROUTE, (3, 0, 0)),
        (Reason.UNREACHABLE, (3, 1, 0)),
        (Reason.NO_NEIGHBOUR, (3, 1, 0)),
        (Reason.FRAGMENTATION_NEEDED, (3, 4, 576)),
        (Reason.SOURCE_ROUTE_FAILED, (3, 5, 0)),
        (Reason.PROHIBITED, (3, 13, 0)),
        (Reason.BAD_OPTION, (12, 0, 21 << 24)),
        (Reason.BLACKHOLE, None),
        (Reason.BAD_CHECKSUM, None),
        (Reason.MARTIAN_SOURCE, None),
        (Reason.MULTICAST, None),
        (Reason.NONE, None),
    ],
)
def test_the_error_a_drop_calls_for(reason, error):
    assert error_for(reason, mtu=576, pointer=21) == error


def quiet(**changes):
    fields = {"source": SOURCE, "destination": FAR, "payload": b"\x08\0\0\0"} | changes
    broadcast = fields.pop("link_broadcast", False)
    return silence(write_packet(**fields), LINKS, martian_list(), link_broadcast=broadcast)


@pytest.mark.parametrize(
    ("changes", "rule"),
    [
        ({}, Silence.MAY_ANSWER),
        ({"protocol": 1}, Silence.MAY_ANSWER),  # an echo request is no error
        *[({"protocol": 1, "payload": bytes([kind])}, Silence.ABOUT_ERROR) for kind in (3, 4, 5, 11, 12)],
        ({"protocol": 1, "payload": b""}, Silence.ABOUT_ERROR),
        ({"protocol": 17, "payload": b"\x0b"}, Silence.MAY_ANSWER),
        ({"flags": MF}, Silence.MAY_ANSWER),
        ({"fragment_offset": 1}, Silence.LATER_FRAGMENT),
        ({"protocol": 1, "fragment_offset": 1}, Silence.LATER_FRAGMENT),
        ({"destination": 0xE0000001}, Silence.BROADCAST),
        ({"destination": 0xFFFFFFFF}, Silence.BROADCAST),
        ({"destination": 0x0B0000FF}, Silence.BROADCAST),
        ({"destination": 0x0B000000}, Silence.BROADCAST),
        ({"destination": 0x0B0000FE}, Silence.MAY_ANSWER),
        ({"link_broadcast": True}, Silence.LINK_BROADCAST),
        ({"source": 0}, Silence.BAD_SOURCE),
        ({"source": 0x7F000001}, Silence.BAD_SOURCE),
        ({"source": 0xE0000001}, Silence.BAD_SOURCE),
        ({"source": 0xF0000001}, Silence.BAD_SOURCE),
        ({"source": 0x0A0000FF}, Silence.BAD_SOURCE),
    ],
)
def test_when_to_keep_silent(changes, rule):
    assert quiet(**changes) is rule


def test_nothing_is_said_about_what_is_no_packet():
    assert silence(b"abc", LINKS, martian_list()) is Silence.INVALID


def test_an_error_is_what_dpkt_reads():
    cause = write_packet(SOURCE, FAR, b"0123456789", tos=0x08, ttl=1)
    answer = icmp_error(error_for(Reason.TTL_EXPIRED), cause + b"padding", 0x0A0000FE, identification=7)
    ip = dpkt.ip.IP(answer)
    assert (ip.p, ip.ttl, ip.id, ip.tos) == (1, 64, 7, 0xC8)
    assert (ip.src, ip.dst) == ((0x0A0000FE).to_bytes(4, "big"), SOURCE.to_bytes(4, "big"))
    assert (ip.icmp.type, ip.icmp.code) == (11, 0)
    assert bytes(ip.icmp.data.ip) == cause
    assert internet_checksum(answer[:20]) == internet_checksum(answer[20:]) == 0


@pytest.mark.parametrize(("size", "quoted"), [(547, 547), (548, 548), (549, 548), (1500, 548)])
def test_an_error_has_at_most_576_bytes(size, quoted):
    cause = write_packet(SOURCE, FAR, bytes(size - 20))
    answer = icmp_error(IcmpError(3, 0), cause, 1)
    assert answer[28:] == cause[:quoted]
    assert len(icmp_error(IcmpError(3, 0), cause, 1, longest=56)) == 56


def test_rest_of_the_icmp_header():
    cause = write_packet(SOURCE, FAR)
    for error, octets in (
        (error_for(Reason.FRAGMENTATION_NEEDED, mtu=1280), b"\0\0\x05\0"),
        (error_for(Reason.BAD_OPTION, pointer=22), b"\x16\0\0\0"),
        (redirect_to(0x0A000002), b"\x0a\0\0\x02"),
    ):
        assert icmp_error(error, cause, 1)[24:28] == octets


def test_an_error_goes_back_by_the_source_route():
    cause = write_packet(SOURCE, FAR, options=ROUTE)
    answer = icmp_error(error_for(Reason.TTL_EXPIRED), cause, 1)
    assert read_header(answer).destination == 0x09090909
    assert answer[20:28] == bytes([131, 7, 4]) + SOURCE.to_bytes(4, "big") + b"\0"
    assert len(icmp_error(error_for(Reason.NO_ROUTE), write_packet(SOURCE, FAR, bytes(900), options=ROUTE), 1)) == 576
    about_route = icmp_error(error_for(Reason.BAD_OPTION, pointer=22), cause, 1)
    assert (read_header(about_route).destination, read_header(about_route).header_length) == (SOURCE, 20)


def test_a_packet_that_fits_stays_whole():
    packet = write_packet(SOURCE, FAR, bytes(80), flags=DF)
    assert fragment(packet + b"pad", 100) == (Reason.NONE, (packet,), 0)
    assert fragment(packet, 99) == (Reason.FRAGMENTATION_NEEDED, (), 99)


def test_example_of_fragmentation():
    """RFC 791 appendix A, example 2: 452 octets of data over an MTU of 280 go as 256 and 196."""
    packet = write_packet(SOURCE, FAR, bytes(range(226)) * 2, identification=111)
    first, second = fragment(packet, 280).packets
    assert [len(first), len(second)] == [276, 216]
    assert (read_header(first).flags, read_header(first).fragment_offset) == (MF, 0)
    assert (read_header(second).flags, read_header(second).fragment_offset) == (0, 32)
    assert first[20:] + second[20:] == packet[20:]


def test_options_of_fragments():
    options = bytes([7, 7, 4, 0, 0, 0, 0]) + bytes([158, 4, 1, 2]) + b"\1"
    packet = write_packet(SOURCE, FAR, bytes(100), options=options)
    first, *later = fragment(packet, 64).packets
    assert first[20:32] == options
    assert [piece[20:24] for piece in later] == [bytes([158, 4, 1, 2])] * len(later)
    assert {read_header(piece).header_length for piece in later} == {24}
    first, *later = fragment(packet, 64, keep_header_length=True).packets
    assert {piece[20:32] for piece in later} == {b"\1" * 7 + bytes([158, 4, 1, 2]) + b"\1"}


def test_a_middle_piece_is_cut_again():
    packet = write_packet(SOURCE, FAR, bytes(300))
    middle = fragment(packet, 120).packets[1]
    one, two = fragment(middle, 68).packets
    assert [read_header(piece).flags for piece in (one, two)] == [MF, MF]
    assert [read_header(piece).fragment_offset for piece in (one, two)] == [12, 18]
    assert [len(one), len(two)] == [68, 68]


def test_links_that_carry_no_piece():
    packet = write_packet(SOURCE, FAR, bytes(100), options=b"\1" * 40)
    assert fragment(packet, 67).reason is Reason.MTU_TOO_SMALL
    assert len(fragment(packet, 68).packets[0]) == 68


def test_limit_of_errors():
    bucket = TokenBucket(per_second=2, burst=3)
    assert [bucket.allow(0) for _ in range(4)] == [True, True, True, False]
    assert [bucket.allow(t) for t in (499_999_999, 500_000_000, 500_000_001)] == [False, True, False]
    assert [bucket.allow(10**12) for _ in range(4)] == [True, True, True, False]
    assert not bucket.allow(0)  # an earlier time gives nothing and takes nothing
    assert [bucket.allow(10**12 + t) for t in (499_999_999, 500_000_000)] == [False, True]
    with pytest.raises(InputError, match="burst of errors must be greater than 0"):
        TokenBucket(1, 0)
    never = TokenBucket(0, 1)
    assert [never.allow(t) for t in (0, 10**15)] == [True, False]


@pytest.mark.parametrize(
    ("options", "back"),
    [
        (ROUTE + bytes([7, 3, 3]), 0x09090909),  # a record route with a pointer below 4: not the source route's fault
        (ROUTE + bytes([131, 7, 4, 1, 2, 3, 4]), SOURCE),  # a second source route
        (bytes([131, 11, 3]) + bytes(8), SOURCE),  # its own pointer
    ],
)
def test_a_parameter_problem_goes_by_the_source_route_unless_it_is_about_one(options, back):
    """RFC 1812 section 4.3.2.6."""
    packet = write_packet(SOURCE, FAR, b"data", options=options)
    pointer = read_options(packet).pointer
    assert pointer is not None
    error = icmp_error(error_for(Reason.BAD_OPTION, pointer=pointer), packet, 0x0B0000FE)
    assert read_header(error).destination == back
