"""pcap files of every kind: byte orders, clocks, record shapes, old versions, and what is refused."""

import gzip
import io

import pytest
from reference import capture_files as make

from npexplore.errors import InputError
from npexplore.machine.workload_sources import workload
from npexplore.packets import read_capture

PACKET = make.ethernet(make.ipv4(make.udp()))


def read(data):
    return read_capture(io.BytesIO(data))


@pytest.mark.parametrize("order", "<>")
@pytest.mark.parametrize(
    ("magic", "name", "tick"),
    [
        (make.US, "pcap", 1000),
        (make.NS, "pcap-ns", 1),
        (make.MODIFIED, "pcap-modified", 1000),
        (make.IXIA_HW, "pcap-ixia-hw", 1000),
        (make.IXIA_SW, "pcap-ixia-sw", 1000),
    ],
)
def test_every_magic_in_both_byte_orders(order, magic, name, tick):
    capture = read(make.pcap([(5, 6, PACKET, None), (2**32 - 1, 999, PACKET[:20], 1500)], magic, order))
    assert capture.format == name
    assert capture.columns["t_ns"].tolist() == [5 * 10**9 + 6 * tick, (2**32 - 1) * 10**9 + 999 * tick]
    assert capture.columns["length"].tolist() == [len(PACKET), 1500]
    assert capture.columns["captured"].tolist() == [len(PACKET), 20]
    assert capture.columns["ipv4"].tolist() == [True, True]
    assert capture.columns["checksum_good"].tolist() == [True, False]
    assert capture.damage is None


@pytest.mark.parametrize("version", [(2, 0), (2, 2), (2, 3), (2, 4), (543, 0)])
def test_old_versions_put_the_original_length_first(version):
    capture = read(make.pcap([(0, 0, PACKET[:30], 2000)], version=version))
    assert capture.columns["length"].tolist() == [2000]
    assert capture.columns["captured"].tolist() == [30]


def test_version_2_3_lengths_may_stand_in_either_order():
    data = make.pcap([(0, 0, PACKET[:30], 2000)], version=(2, 3))
    swapped = bytearray(data)
    swapped[32:36], swapped[36:40] = data[36:40], data[32:36]
    assert read(bytes(swapped)).columns["captured"].tolist() == [30]


@pytest.mark.parametrize("order", "<>")
@pytest.mark.parametrize("magic", [make.US, make.NS, make.MODIFIED, make.IXIA_SW])
def test_an_appended_capture_is_no_packet(order, magic):
    first = make.pcap([(5, 6, PACKET, None)] * 2, magic, order)
    capture = read(first + make.pcap([(7, 8, PACKET, None)], magic, order))
    assert len(capture) == 2
    assert capture.damage.offset == len(first)
    assert "another pcap file begins" in capture.damage.message


def test_link_types_that_are_not_decoded_are_named():
    capture = read(make.pcap([(5, 6, PACKET, None)], link=239))
    assert capture.summary()["not decoded"] == "link type NFLOG"
    assert "not decoded" not in read(make.pcap([(5, 6, PACKET, None)])).summary()
    with pytest.raises(InputError, match="of link type NFLOG only lengths and times are read"):
        workload(capture)


def test_frame_check_bits_in_the_link_type():
    capture = read(make.pcap([(0, 0, PACKET, None)], link=1 | 0x04000000 | 2 << 28))
    assert capture.interfaces[0].link_type == 1
    assert capture.interfaces[0].fcs_bytes == 4
    assert capture.columns["ipv4"].all()
    assert read(make.pcap([])).interfaces[0].fcs_bytes is None


def test_empty_capture_is_valid():
    capture = read(make.pcap_header())
    assert len(capture) == 0
    assert capture.damage is None
    assert len(capture.packets) == 0
    assert "packets:       0" in repr(capture)


@pytest.mark.parametrize("limit", [262144])
def test_captured_length_has_a_limit(limit):
    big = bytes(limit)
    assert read(make.pcap([(0, 0, big, None)])).columns["captured"].tolist() == [limit]
    capture = read(make.pcap([(0, 0, PACKET, None), (0, 0, big + b"x", None)]))
    assert len(capture) == 1
    assert capture.damage.offset == 24 + 16 + len(PACKET)
    assert "at most 262144" in capture.damage.message
    assert "262145" in capture.damage.message


def test_link_types_of_large_messages_may_be_longer():
    data = bytes(300_000)
    assert read(make.pcap([(0, 0, data, None)], link=249)).columns["captured"].tolist() == [300_000]


def test_captured_length_2_to_31_is_damage_not_memory():
    data = bytearray(make.pcap([(0, 0, PACKET, None)] * 3))
    at = 24 + 16 + len(PACKET)
    data[at + 8 : at + 12] = (2**31).to_bytes(4, "little")
    capture = read(bytes(data))
    assert len(capture) == 1
    assert capture.damage.offset == at


def test_original_length_2_to_31_is_believed():
    capture = read(make.pcap([(0, 0, PACKET, 2**31), (0, 0, PACKET, 2**32 - 1)]))
    assert capture.columns["length"].tolist() == [2**31, 2**32 - 1]
    assert capture.damage is None


def test_cut_record_is_not_a_packet():
    data = make.pcap([(0, 0, PACKET, None)] * 2)
    capture = read(data[:-1])
    assert len(capture) == 1
    assert capture.damage.offset == 24 + 16 + len(PACKET)
    assert "needs" in capture.damage.message


def test_cut_file_header_is_damage():
    capture = read(make.pcap_header()[:10])
    assert len(capture) == 0
    assert capture.damage.offset == 0


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "is empty"),
        (b"\xd4\xc3", "starts with d4 c3"),
        (b"PK\3\4 and so on, no capture", r"starts with 50 4b 03 04 \(zip; decompress it first\)"),
        (b"snoop\0\0\0\0\0\0\2", "snoop; editcap -F pcapng converts it"),
        (b"12:00:01 IP 1.2.3.4 > 5.6.7.8", "text; text2pcap"),
        (gzip.compress(gzip.compress(make.pcap([]), mtime=0), mtime=0), r"1f 8b 08 00 \(gzip; decompress it first\)"),
        (make.pcap_header(version=(7, 9)), "got 7.9"),
    ],
)
def test_what_is_no_capture_is_refused(data, words):
    with pytest.raises(InputError, match=words):
        read(data)


def test_missing_file_and_folder_are_refused(tmp_path):
    with pytest.raises(InputError, match=r"nothing\.pcap: cannot be read"):
        read_capture(tmp_path / "nothing.pcap")
    with pytest.raises(InputError, match="the folder has no files"):
        read_capture(tmp_path)
