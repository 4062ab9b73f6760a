"""Code points and marking, rule by rule."""

import pytest

from npexplore.errors import InputError, UnknownNameError
from npexplore.golden.checksum import header_checksum_is_right
from npexplore.golden.code_points import DSCP, class_dscp, class_of, dscp_name, dscp_number
from npexplore.golden.columns import Packets
from npexplore.golden.diffserv.mark import mark_dscp, mark_dscps
from npexplore.golden.ipv4.header import read_header, write_packet
from npexplore.golden.police import Colour

# RFC 2597 section 6, RFC 3246 section 2.7, RFC 2474 section 4.2.2
STANDARD = {
    "AF11": 0b001010, "AF12": 0b001100, "AF13": 0b001110, "AF21": 0b010010, "AF22": 0b010100, "AF23": 0b010110,
    "AF31": 0b011010, "AF32": 0b011100, "AF33": 0b011110, "AF41": 0b100010, "AF42": 0b100100, "AF43": 0b100110,
    "EF": 0b101110, "BE": 0, "CS1": 0b001000, "CS6": 0b110000, "CS7": 0b111000,
}  # fmt: skip


@pytest.mark.parametrize("name", STANDARD)
def test_code_points_of_the_standards(name):
    assert dscp_number(name) == dscp_number(name.lower()) == STANDARD[name]
    assert dscp_name(STANDARD[name]) == name


def test_names_and_numbers_round_trip():
    assert [dscp_number(dscp_name(number)) for number in range(64)] == list(range(64))
    assert len(set(DSCP.values())) == len(DSCP)
    assert dscp_number("DF") == dscp_number("CS0") == 0


def test_classes_and_colours():
    assert [class_dscp("AF3", colour) for colour in Colour] == [26, 28, 30]
    assert [class_dscp("EF", colour) for colour in Colour] == [46] * 3
    assert class_of(28) == ("AF3", Colour.YELLOW)
    assert class_of(46) == ("EF", Colour.GREEN)
    assert class_of(13) == ("BE", Colour.GREEN)
    for number in DSCP.values():
        assert class_dscp(*class_of(number)) == number


@pytest.mark.parametrize("wrong", ["64", "AF14", "AF51", "EFF"])
def test_wrong_names(wrong):
    with pytest.raises(InputError, match=wrong):
        dscp_number(wrong)


def test_nearest_names_are_proposed():
    with pytest.raises(UnknownNameError, match=r"DSCP 'AF14' is unknown \(nearest: AF4"):
        dscp_number("AF14")


def test_marking_keeps_congestion_bits_and_the_checksum_right():
    packet = write_packet(0x0A000001, 0x0B000001, b"hello", tos=0b000011)
    marked = mark_dscp(packet, DSCP["AF41"])
    assert read_header(marked).tos == DSCP["AF41"] << 2 | 3
    assert header_checksum_is_right(marked)
    assert marked[20:] == packet[20:]
    assert mark_dscp(marked, 0) == packet


def test_wrong_code_points_in_columns():
    packets = Packets.of([write_packet(1, 2)])
    with pytest.raises(InputError, match="-1 to 63"):
        mark_dscps(packets, [64])
    packets.buffer.flags.writeable = False
    with pytest.raises(InputError, match="read-only"):
        mark_dscps(packets, [1], in_place=True)
