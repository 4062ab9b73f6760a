"""Traps for readers of captures: wire length lost, rounded times, one clock for all, half packets, bad headers."""

import io

import dpkt
import pytest
from reference import capture_files as make

from npexplore.packets import read_capture
from npexplore.packets.statistics import count_capture

PACKET = make.ethernet(make.ipv4(make.udp(payload=bytes(60))))


def columns(data):
    return read_capture(io.BytesIO(data)).columns


def test_the_wire_length_of_a_cut_packet_is_not_lost():
    data = make.pcap([(0, 0, PACKET[:64], 1500)])
    assert [len(buffer) for _, buffer in dpkt.pcap.Reader(io.BytesIO(data))] == [64]
    assert columns(data)["length"].tolist() == [1500]
    assert count_capture(io.BytesIO(data))[0].mean_length() == 1500


@pytest.mark.parametrize("micros", [1, 333_333, 999_999])
def test_times_are_not_rounded_through_floating_point(micros):
    seconds = 1_763_000_123
    assert columns(make.pcap([(seconds, micros, b"", 60)]))["t_ns"].tolist() == [seconds * 10**9 + micros * 1000]
    data = make.section() + make.interface(resolution=9) + make.enhanced(b"", seconds * 10**9 + micros)
    assert columns(data)["t_ns"].tolist() == [seconds * 10**9 + micros]
    assert count_capture(io.BytesIO(data))[0].time_range()["max_time_ns"] == seconds * 10**9 + micros


def test_each_interface_has_its_own_clock():
    blocks = [make.section(), make.interface(resolution=9), make.interface(), make.enhanced(b"", 5, 1)]
    assert columns(b"".join(blocks))["t_ns"].tolist() == [5000]


@pytest.mark.parametrize("cut", [1, len(PACKET) - 1, len(PACKET), len(PACKET) + 15])
def test_half_a_packet_is_no_packet(cut):
    data = make.pcap([(0, 0, PACKET, None)] * 2)
    capture = read_capture(io.BytesIO(data[:-cut]))
    assert len(capture) == 1
    assert capture.damage is not None


def test_headers_that_another_reader_accepts_are_told_apart():
    six = bytearray(PACKET)
    six[14] = 0x65
    truncated = PACKET[: 14 + 12]
    table = columns(make.pcap([(0, 0, make.ethernet(make.ipv4(bad=True)), None), (0, 0, bytes(six), None)]))
    assert table["checksum_bad"].tolist() == [True, False]
    assert table["ipv4"].tolist() == [True, False]
    cut = columns(make.pcap([(0, 0, truncated, len(PACKET))]))
    assert cut["checksum_cut"].tolist() == [True]
    assert not cut["header_complete"].any()
    body = columns(make.pcap([(0, 0, PACKET[:60], None)]))
    assert body["malformed"].tolist() == [True]
