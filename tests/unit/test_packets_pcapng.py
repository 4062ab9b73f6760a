"""pcapng: blocks of every kind, clocks of each interface, several sections, and every kind of damage."""

import io
import struct

import pytest
from reference import capture_files as make

from npexplore.errors import InputError
from npexplore.packets import CaptureScan, read_capture
from npexplore.packets.writing import rewrite

PACKET = make.ethernet(make.ipv4(make.udp()))
START = make.section() + make.interface()


def read(*blocks):
    return read_capture(io.BytesIO(b"".join(blocks)))


def times(*blocks):
    return read(*blocks).columns["t_ns"].tolist()


def test_each_interface_keeps_its_own_clock():
    # 5 microseconds on one interface are not 5 nanoseconds on the other
    blocks = [make.interface(), make.interface(resolution=9), make.enhanced(b"", 5, 0), make.enhanced(b"", 5, 1)]
    assert times(make.section(), *blocks) == [5000, 5]


@pytest.mark.parametrize(
    ("resolution", "ticks", "expected"),
    [
        (0, 3, 3_000_000_000),
        (3, 1234, 1_234_000_000),
        (6, 1_234_567, 1_234_567_000),
        (9, 1_600_000_000_123_456_789, 1_600_000_000_123_456_789),
        (12, 1_234_567_890_123, 1_234_567_890),
        (18, 2**64 - 1, 18_446_744_073),
        (28, 2**64 - 1, 1),
        (29, 2**64 - 1, 0),
        (0x80, 3, 3_000_000_000),
        (0x81, 3, 1_500_000_000),
        (0x80 | 20, 1 << 20, 1_000_000_000),
        (0x80 | 32, (7 << 32) + (1 << 31), 7_500_000_000),
        (0x80 | 63, 2**64 - 1, 1_999_999_999),
        (0x80 | 64, 2**64 - 1, 999_999_999),
        (0x80 | 127, 2**64 - 1, 0),
    ],
)
def test_resolutions_are_exact(resolution, ticks, expected):
    assert times(make.section(), make.interface(resolution=resolution), make.enhanced(b"", ticks)) == [expected]


def test_offset_is_added_in_seconds():
    assert times(make.section(), make.interface(offset=10), make.enhanced(b"", 1)) == [10_000_001_000]
    assert times(make.section(), make.interface(offset=-10), make.enhanced(b"", 1)) == [-9_999_999_000]


@pytest.mark.parametrize(("resolution", "offset"), [(0, None), (6, 2**62), (6, -(2**63))])
def test_times_beyond_64_bits_of_nanoseconds_are_no_times(resolution, offset):
    capture = read(make.section(), make.interface(resolution=resolution, offset=offset), make.enhanced(b"", 2**63))
    assert capture.columns["has_time"].tolist() == [False]
    assert "duration" not in capture.summary()


def test_sections_start_their_interfaces_anew_and_may_change_byte_order():
    capture = read(
        START, make.interface(link=101), make.enhanced(PACKET, number=0), make.section(">"),
        make.interface(">", link=113), make.enhanced(b"", 7, 0, order=">"),
    )  # fmt: skip
    assert capture.columns["interface"].tolist() == [0, 2]
    assert [i.section for i in capture.interfaces] == [0, 0, 1]
    assert capture.columns["link_type"].tolist() == [1, 113]
    assert capture.damage is None


def test_simple_packets_have_no_time_and_are_cut_at_the_snaplen():
    capture = read(make.section(), make.interface(snaplen=20), make.simple(PACKET[:20], 1500), make.simple(b"abcde"))
    assert capture.columns["captured"].tolist() == [20, 5]
    assert capture.columns["length"].tolist() == [1500, 5]
    assert not capture.columns["has_time"].any()


@pytest.mark.parametrize("order", "<>")
def test_obsolete_packet_block(order):
    blocks = [make.section(order), make.interface(order), make.interface(order)]
    capture = read(*blocks, make.obsolete(PACKET, 5, 1, 999, order))
    assert capture.columns["interface"].tolist() == [1]
    assert capture.columns["length"].tolist() == [999]
    assert capture.columns["t_ns"].tolist() == [5000]


def test_blocks_without_packets_are_passed_over():
    others = [make.block(kind, b"body") for kind in (4, 5, 9, 10, 0xBAD, 0x40000BAD, 0x80000001)]
    large = make.block(0xBAD, bytes(5_000_000))
    capture = read(START, *others, make.enhanced(PACKET), large, make.enhanced(PACKET), *others)
    assert len(capture) == 2
    assert capture.damage is None


def test_names_and_frame_check_of_interfaces():
    capture = read(make.section(), make.interface(name=b"eth0", fcs=4, resolution=0x8A, offset=3))
    assert capture.interfaces[0].name == "eth0"
    assert capture.interfaces[0].fcs_bytes == 4
    assert capture.interfaces[0].resolution == "2^-10"
    assert capture.interfaces[0].offset_s == 3


def test_block_length_without_padding_is_understood():
    body = struct.pack("<IIIII", 0, 0, 5, 1, 1) + b"x"
    raw = struct.pack("<II", 6, 33) + body + bytes(3) + struct.pack("<I", 33)
    assert read(START, raw, make.enhanced(b"y")).columns["captured"].tolist() == [1, 1]


GOOD = make.enhanced(PACKET)


def patched(data, at, value):
    return data[:at] + struct.pack("<I", value) + data[at + 4 :]


@pytest.mark.parametrize(
    ("bad", "words"),
    [
        (patched(GOOD, 4, 8), "at least 12 bytes, got 8"),
        (patched(GOOD, 4, 24), "at least 32 bytes, got 24"),
        (patched(GOOD, 4, 2**31), "at most 16777216 bytes"),
        (patched(GOOD, 8, 1), "interface must be below 1"),
        (patched(GOOD, 20, 2**31), "captured length must be at most 262144"),
        (patched(GOOD, 20, len(PACKET) + 20), "its block's"),
        (patched(GOOD, len(GOOD) - 4, 12), "two lengths must be equal"),
        (GOOD[:-1], "a block needs"),
        (GOOD[:7], "a block needs 12 bytes"),
        (patched(make.block(0xBAD, bytes(8)), 4, 2**32 - 4), "is cut off after"),
        (patched(make.block(0xBAD, bytes(8)), 16, 21), "two lengths must be equal"),
        (patched(make.section(), 8, 0x12345678), "byte-order magic"),
        (patched(make.section(), 4, 16), "at least 28"),
        (patched(make.section(), 24, 32), "two lengths must be equal"),
        (make.section()[:20], "a section header needs 28"),
        (make.section(version=(2, 0)), "version must be 1.0 or 1.2, got 2.0"),
        (make.section(version=(1, 3)), "version must be 1.0 or 1.2, got 1.3"),
    ],
)
def test_damage_is_described_and_the_packets_before_it_are_kept(bad, words):
    capture = read(START, GOOD, GOOD, bad)
    assert len(capture) == 2
    assert capture.damage is not None
    at = len(START) + 2 * len(GOOD)
    assert at <= capture.damage.offset <= at + 12
    assert words in capture.damage.message


def test_first_section_header_may_be_damaged():
    capture = read(make.section()[:8])
    assert len(capture) == 0
    assert capture.damage.offset == 0
    assert capture.format == "pcapng"


def test_too_many_interfaces_are_damage():
    capture = read(make.section(), make.interface() * 65536, make.enhanced(PACKET, number=65535), make.interface())
    assert capture.columns["interface"].tolist() == [65535]
    assert "65536 interfaces" in capture.damage.message


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (make.option(9, b"\x06\x00"), "if_tsresol of an interface must have 1 bytes, got 2"),
        (make.option(9, b""), "if_tsresol of an interface must have 1 bytes, got 0"),
        (make.option(14, bytes(4)), "if_tsoffset of an interface must have 8 bytes, got 4"),
        (make.option(13, bytes(2)), "if_fcslen of an interface must have 1 bytes, got 2"),
        (make.option(9, b"\x06") + make.option(9, b"\x09"), "if_tsresol of an interface must stand once"),
        (struct.pack("<HH", 2, 40) + b"eth0", "must end inside its block"),
    ],
)
def test_options_that_change_what_packets_mean_are_read_or_damage(options, words):
    bad = make.block(1, struct.pack("<HHI", 1, 0, 0) + options)
    capture = read(START, GOOD, bad, make.enhanced(PACKET, number=1))
    assert len(capture) == 1
    assert words in capture.damage.message


def test_options_that_change_nothing_are_passed_over():
    known = [
        (1, b"a comment"),
        (3, b"text"),
        (4, bytes(8)),
        (8, bytes(8)),
        (10, bytes(4)),
        (11, b"\0udp"),
        (12, b"Linux"),
    ]
    options = b"".join(make.option(code, value) for code, value in [*known, (2988, bytes(5)), (31000, b"x")])
    block = make.block(1, struct.pack("<HHI", 1, 0, 0) + options + make.option(9, b"\x09") + make.option(0, b""))
    assert times(make.section(), block, make.enhanced(PACKET, 7, options=make.option(2, bytes(4)))) == [7]


def test_blocks_that_hold_no_packets_are_listed_by_type():
    large = make.block(0xBAD, bytes(5_000_000))
    capture = read(START, *[make.block(10, b"")] * 3, GOOD, large, make.block(0x80000001, b"pktap"))
    listed = {"decryption secrets (0x0000000a)": 3, "custom (0x00000bad)": 1, "unknown type 0x80000001": 1}
    assert capture.other_blocks == listed
    assert capture.to_dict()["other_blocks"] == listed
    assert "3 blocks: decryption secrets" in capture.summary()["not read"]
    many = read(START, *[make.block(100 + k, b"") for k in range(40)])
    assert sum(many.other_blocks.values()) == 40
    assert many.other_blocks["other types"] == 25


@pytest.mark.parametrize("form", ["pcap", "pcapng"])
def test_frame_check_sequences_are_declared_again(form, tmp_path):
    source = tmp_path / "in.pcapng"
    source.write_bytes(make.section() + make.interface(fcs=4) + make.enhanced(PACKET + bytes(4)))
    rewrite(source, tmp_path / "out", form=form)
    assert [one.fcs_bytes for one in read_capture(tmp_path / "out").interfaces] == [4]
    source.write_bytes(source.read_bytes() + make.interface() + make.enhanced(PACKET, number=1))
    if form == "pcap":
        with pytest.raises(InputError, match="one length of frame check sequences, got"):
            rewrite(source, tmp_path / "out", form=form)


@pytest.mark.parametrize("last", [b"", make.section()[:20], make.interface()[:16]])
def test_sections_and_interfaces_do_not_cut_chunks(last):
    # one table a section, each with arrays over all interfaces, made the time quadratic
    one = make.section() + make.interface() + make.enhanced(PACKET) + make.interface() + make.enhanced(PACKET, number=1)
    scan = CaptureScan(io.BytesIO(one * 300 + last))
    tables = list(scan)
    assert [table.rows for table in tables] == [600]
    assert tables[0]["interface"].tolist() == list(range(600))
    assert (scan.damage is not None) == bool(last)
