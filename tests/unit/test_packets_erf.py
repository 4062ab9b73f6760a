"""ERF: exact times, lengths without headers, interfaces by type and port, padding, refusal and damage."""

import gzip
import io
import struct

import pytest
from reference import capture_files as make

from npexplore.cli import main
from npexplore.errors import InputError
from npexplore.packets import read_capture
from npexplore.packets.erf import TYPES, subheader_bytes
from npexplore.packets.links import LINK_TYPES, link_format

IP = make.ipv4(make.udp(payload=b"hello"))
FRAME = make.ethernet(IP, pad=60)
ETH = make.erf(2, bytes(2) + FRAME, 5 << 32, wire=64)


def read(*records):
    return read_capture(io.BytesIO(b"".join(records)))


@pytest.mark.parametrize(
    ("ticks", "t_ns"),
    [
        (0, 0),
        (1, 0),
        (3, 1),
        ((7 << 32) + (1 << 31), 7_500_000_000),
        ((7 << 32) + 0xFFFFFFFF, 8_000_000_000),
        ((0xFFFFFFFF << 32) + 0x80000000, 4_294_967_295_500_000_000),
    ],
)
def test_times_are_rounded_to_the_nearest_nanosecond(ticks, t_ns):
    assert read(make.erf(22, IP, ticks)).columns["t_ns"].tolist() == [t_ns]


def test_length_is_of_the_wire_and_captured_without_headers_and_padding():
    capture = read(ETH, make.erf(2, bytes(2) + FRAME, 5 << 32, wire=58, extensions=2, pad=6))
    assert capture.columns["length"].tolist() == [64, 58]
    assert capture.columns["captured"].tolist() == [60, 58]
    assert capture.columns["l3_offset"].tolist() == [14, 14]
    assert capture.format == "erf"
    assert capture.damage is None


DECODED = {
    1: b"\xff\x03\x00\x21" + IP, 2: bytes(2) + FRAME, 4: bytes(4) + make.llc_snap(IP),
    5: bytes(4) + b"\x0f\x00\x08\x00" + IP, 9: bytes(8) + make.llc_snap(IP), 10: b"\x8f\x00\x08\x00" + IP,
    11: bytes(2) + FRAME, 15: b"\x21" + IP, 16: bytes(2) + FRAME, 17: bytes(4) + b"\xff\x03\x00\x21" + IP,
    19: b"\xff\x03\x00\x21" + IP, 20: bytes(2) + FRAME, 22: IP, 23: IP,
}  # fmt: skip


@pytest.mark.parametrize("kind", sorted(set(TYPES) - {48}))
@pytest.mark.parametrize("extensions", [0, 1, 20])
def test_every_type_is_counted_and_what_is_known_is_decoded(kind, extensions):
    data = DECODED.get(kind, bytes(60))
    capture = read(make.erf(kind, data, 1 << 32, 2, extensions=extensions))
    assert capture.columns["length"].tolist() == [len(data)]
    assert capture.columns["captured"].tolist() == [len(data) - TYPES[kind].subheader_bytes]
    assert capture.columns["ipv4"].tolist() == [kind in DECODED]
    assert capture.columns["checksum_good"].tolist() == [kind in DECODED]
    assert capture.interfaces[0].name == "interface 2"
    assert capture.interfaces[0].link_type in LINK_TYPES


@pytest.mark.parametrize("kind", sorted(set(TYPES) - {48}))
def test_records_inside_a_pcap_are_decoded_as_those_of_a_file(kind):
    record = make.erf(kind, DECODED.get(kind, bytes(60)), extensions=1)
    columns = read(make.pcap([(0, 0, record, None)], link=197)).columns
    assert columns["ipv4"].tolist() == [kind in DECODED]
    assert columns["length"].tolist() == [len(record)]


def test_one_interface_for_each_type_and_port():
    capture = read(ETH, make.erf(22, IP, 5 << 32, 1), ETH, make.erf(22, IP, 5 << 32, 3), make.erf(99, IP, 5 << 32))
    assert capture.columns["interface"].tolist() == [0, 1, 0, 2, 3]
    names = [link_format(one.link_type).name for one in capture.interfaces]
    assert names == ["ETHERNET", "IPV4", "IPV4", f"LINKTYPE_{0xE700 + 99}"]


def test_padding_records_are_no_packets():
    pad = make.erf(48, bytes(24))
    assert len(read(pad, ETH, pad, make.erf(48, b""), ETH, pad)) == 2


def test_packets_without_a_link_type_of_pcap_are_not_written(tmp_path, capsys):
    path = tmp_path / "in.erf.gz"
    path.write_bytes(gzip.compress(ETH + make.erf(24, bytes(60), 5 << 32)))
    assert main(["trace", "convert", str(path), str(tmp_path / "out.pcapng")]) == 2
    assert "no link type for ERF_RAW_LINK packets; filter them out" in capsys.readouterr().err
    assert main(["trace", "convert", str(path), str(tmp_path / "out.pcap"), "--where", "link_type == 1"]) == 0
    assert read_capture(tmp_path / "out.pcap").columns["length"].tolist() == [64]
    assert main(["trace", "convert", str(path), str(tmp_path / "out.parquet")]) == 0


SHORT = struct.pack("<Q", 5 << 32) + struct.pack(">BBHHH", 2, 4, 15, 0, 60) + bytes(60)


@pytest.mark.parametrize(
    ("tail", "message"),
    [
        (ETH[:9], "a record needs 16 bytes, the file has 9 more"),
        (ETH[:-1], "a record needs 78 bytes, the file has 77 more"),
        (SHORT, "record length must be at least 17 bytes, got 15"),
        (bytes(100), "record length must be at least 17 bytes, got 0"),
        (make.erf(2, b"", pad=1), "record length must be at least 18 bytes, got 17"),
        (make.erf(0x82, bytes(7), 5 << 32), "record length must be at least 24 bytes, got 23"),
        (make.erf(0x82, b"\x80" + bytes(7), 5 << 32), "record length must be at least 32 bytes, got 24"),
    ],
)
def test_damage_keeps_the_packets_before(tail, message):
    capture = read(ETH * 3, tail)
    assert len(capture) == 3
    assert capture.damage.offset == 3 * len(ETH)
    assert capture.damage.message == message


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"no capture at all",
        ETH[:-1],
        b"0" * 20_000,
        bytes(200),
        make.erf(48, bytes(24)) * 5,
        ETH + make.erf(2, bytes(60), 2 << 32),
        ETH + make.erf(2, bytes(60), (5 + 400 * 86400) << 32),
        ETH + make.erf(99, bytes(60), 5 << 32),
    ],
)
def test_what_does_not_start_as_erf_is_refused(data):
    with pytest.raises(InputError, match="must be pcap, pcapng or ERF"):
        read(data)


def test_subheaders_are_those_of_the_types():
    sizes = subheader_bytes()
    assert len(sizes) == 128
    assert {kind for kind in range(128) if sizes[kind]} == {2, 5, 6, 7, 8, 9, 11, 12, 16, 17, 18, 20}
