"""Header columns: IPv4 and IPv6 fields, checksums, fragments, ports, tags, and what padding must not become."""

import io

import pytest
from reference import capture_files as make

from npexplore._kernels import capture_headers
from npexplore.packets import read_capture
from npexplore.packets.columns import DERIVED, HEADER_COLUMNS, STORED


def columns(*packets, length=None):
    return read_capture(io.BytesIO(make.pcap([(0, 0, data, length) for data in packets]))).columns


def four(*args, **kwargs):
    return make.ethernet(make.ipv4(*args, **kwargs), pad=60)


def test_ipv4_fields():
    table = columns(four(make.tcp(1, 2, 0x12), proto=6, ttl=1, tos=0xB9, ident=77, fragment=0x4000, src=1, dst=2))
    expected = {
        "ttl": 1, "tos": 0xB9, "dscp": 46, "ecn": 1, "ident": 77, "df": True, "src": 1, "dst": 2, "sport": 1,
        "dport": 2, "ip_proto": 6, "tcp_flags": 0x12, "l3_length": 40, "l3_offset": 14, "l4_offset": 34,
        "is_fragment": False, "options": False, "checksum_good": True, "malformed": False, "protocol": 0x0800,
    }  # fmt: skip
    assert {name: table[name][0] for name in expected} == expected


def test_ipv6_fields_behind_extension_headers():
    hop_by_hop = bytes([43, 0]) + bytes(6)
    routing = bytes([44, 0]) + bytes(6)
    fragment = bytes([17, 0, 0, 1]) + (99).to_bytes(4, "big")
    packet = make.ipv6(hop_by_hop + routing + fragment + make.udp(5, 6), 0, hops=3, traffic_class=0xB8)
    table = columns(make.ethernet(packet, 0x86DD))
    expected = {
        "ttl": 3, "dscp": 46, "ip_proto": 17, "sport": 5, "dport": 6, "is_fragment": True, "nonfirst": False,
        "ident": 99, "l4_offset": 14 + 40 + 24, "l3_length": 40 + 24 + 8, "options": True, "ipv6": True, "ipv4": False,
    }  # fmt: skip
    assert {name: table[name][0] for name in expected} == expected
    assert table.ipv6.packet.tolist() == [0]
    assert table.ipv6.source[0].tobytes() == bytes(15) + b"\1"
    assert table.ipv6.destination[0].tobytes() == bytes(15) + b"\2"


def test_later_ipv6_fragment_has_no_ports():
    fragment = bytes([17, 0]) + (8 << 3).to_bytes(2, "big") + bytes(4)
    table = columns(make.ethernet(make.ipv6(fragment + make.udp(), 44), 0x86DD))
    assert table["nonfirst"].tolist() == [True]
    assert table["has_ports"].tolist() == [False]
    assert table["fragment_offset"].tolist() == [64]


def test_checksum_verdicts():
    good, bad = four(make.udp()), four(make.udp(), bad=True)
    options = four(make.udp(), options=bytes(8))
    cut = columns(options[: 14 + 24], length=len(options))
    table = columns(good, bad, options)
    assert table["checksum_good"].tolist() == [True, False, True]
    assert table["checksum_bad"].tolist() == [False, True, False]
    assert cut["checksum_cut"].tolist() == [True]
    assert not cut["checksum_good"].any()
    assert not cut["checksum_bad"].any()


@pytest.mark.parametrize("first", [0x44, 0x55, 0x00])
def test_header_that_cannot_be_is_malformed_and_its_checksum_bad(first):
    packet = bytearray(four(make.udp()))
    packet[14] = first
    table = columns(bytes(packet))
    assert table["ipv4"].tolist() == [True]
    assert table["malformed"].tolist() == [True]
    assert table["checksum_bad"].tolist() == [True]
    assert table["l4_offset"].tolist() == [0xFFFF]


def test_ipv6_behind_the_type_of_ipv4_is_ipv6():
    assert columns(make.ethernet(make.ipv6(make.udp())))["ipv6"].tolist() == [True]


def test_padding_is_not_payload():
    # an IP packet of 22 bytes in a padded frame: the ports would be zeros of the padding
    table = columns(four(b"\x12\x34", proto=17))
    assert table["length"].tolist() == [60]
    assert table["l3_length"].tolist() == [22]
    assert table["has_ports"].tolist() == [False]
    assert table["sport"].tolist() == [0]


def test_ports_of_the_protocols_that_have_them():
    table = columns(*(four(make.udp(), proto=proto) for proto in (6, 17, 33, 132, 136, 1, 47, 50)))
    assert table["has_ports"].tolist() == [True] * 5 + [False] * 3
    assert table["sport"].tolist() == [1000] * 5 + [0] * 3


def test_fragments():
    table = columns(four(make.udp(), fragment=0x2000), four(make.udp(), fragment=0x2002), four(make.udp(), fragment=3))
    assert table["is_fragment"].tolist() == [True] * 3
    assert table["nonfirst"].tolist() == [False, True, True]
    assert table["fragment_offset"].tolist() == [0, 16, 24]
    assert table["has_ports"].tolist() == [True, False, False]


def test_total_length_zero_of_segmentation_offload_means_the_rest_of_the_frame():
    packet = bytearray(four(make.udp(payload=bytes(100))))
    packet[16:18] = b"\0\0"
    assert columns(bytes(packet))["l3_length"].tolist() == [len(packet) - 14]
    assert columns(bytes(packet), length=9000)["l3_length"].tolist() == [9000 - 14]


def test_lengths_that_contradict_are_malformed():
    short, long = bytearray(four(make.udp())), bytearray(four(make.udp()))
    short[16:18] = (19).to_bytes(2, "big")
    long[16:18] = (1000).to_bytes(2, "big")
    assert columns(bytes(short), bytes(long))["malformed"].tolist() == [True, True]


def test_fields_of_a_cut_header_are_those_that_were_captured():
    packet = four(make.udp(), ttl=9, tos=4)
    table = columns(packet[: 14 + 9], length=60)
    assert table["ttl"].tolist() == [9]
    assert table["tos"].tolist() == [4]
    assert table["ip_proto"].tolist() == [0]
    assert table["header_complete"].tolist() == [False]


def test_tags_are_a_side_table_outermost_first():
    tagged = make.ethernet(make.mpls(make.ipv4(), 100, 200), 0x8847, tags=[(0x88A8, 0xA005), (0x8100, 6)])
    table = columns(four(), tagged)
    assert table["vlans"].tolist() == [0, 2]
    assert table["labels"].tolist() == [0, 2]
    assert table["vlan_id"].tolist() == [-1, 5]
    assert table["mpls_label"].tolist() == [-1, 100]
    assert table.tags.packet.tolist() == [1] * 4
    assert table.tags.kind.tolist() == [1, 1, 2, 2]
    assert table.tags.value.tolist()[:2] == [0x88A8A005, 0x81000006]
    assert [value >> 12 for value in table.tags.value.tolist()[2:]] == [100, 200]


def test_more_tags_than_are_kept_are_still_counted():
    table = columns(make.ethernet(make.ipv4(make.udp()), tags=[(0x8100, n) for n in range(300)]))
    assert table["vlans"].tolist() == [255]
    assert len(table.tags.packet) == capture_headers.MAX_TAGS
    assert table["ipv4"].tolist() == [True]


def test_table_takes_at_most_64_bytes_a_packet():
    table = columns(*[four()] * 10)
    assert table.nbytes <= 64 * table.rows
    assert set(table) == {*STORED, *DERIVED}


def test_flags_are_16_bits():
    assert HEADER_COLUMNS["flags"] == "uint16"
