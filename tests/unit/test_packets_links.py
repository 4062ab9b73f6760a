"""Every link type of the table leads to the network layer below it, and the table is whole."""

import io
import struct

import pytest
from reference import capture_files as make

from npexplore.packets import read_capture
from npexplore.packets.links import FORMATS, LINK_TYPES, link_format

FOUR, SIX = make.ipv4(make.udp()), make.ipv6(make.udp())
SNAP = make.llc_snap(FOUR)


def one(link, data, length=None):
    return read_capture(io.BytesIO(make.pcap([(1, 0, data, length)], link=link))).columns


def cooked2(payload, kind):
    return struct.pack(">HHIHBB8s", kind, 0, 1, 1, 0, 6, bytes(8)) + payload


CASES = {
    "Ethernet": (1, make.ethernet(FOUR), 14),
    "Ethernet IPv6": (1, make.ethernet(SIX, 0x86DD), 14),
    "802.3 SNAP": (1, make.ethernet(SNAP, len(SNAP)), 22),
    "802.3 LLC": (1, make.ethernet(b"\6\6\3" + FOUR, len(FOUR) + 3), 17),
    "VLAN": (1, make.ethernet(FOUR, tags=[(0x8100, 5)]), 18),
    "QinQ": (1, make.ethernet(FOUR, tags=[(0x88A8, 5), (0x8100, 6)]), 22),
    "three tags": (1, make.ethernet(FOUR, tags=[(0x9100, 5), (0x8100, 6), (0x8100, 7)]), 26),
    "VLAN with a length": (1, make.ethernet(SNAP, len(SNAP), tags=[(0x8100, 5)]), 26),
    "MPLS": (1, make.ethernet(make.mpls(FOUR, 17), 0x8847), 18),
    "MPLS x 3, IPv6": (1, make.ethernet(make.mpls(SIX, 17, 18, 2), 0x8848), 26),
    "MPLS in VLAN": (1, make.ethernet(make.mpls(FOUR, 17), 0x8847, tags=[(0x8100, 5)]), 22),
    "Ethernet pseudowire": (1, make.ethernet(make.mpls(bytes(4) + make.ethernet(FOUR), 17), 0x8847), 36),
    "PPPoE": (1, make.ethernet(make.pppoe(FOUR), 0x8864), 22),
    "PPPoE IPv6": (1, make.ethernet(make.pppoe(SIX, 0x57), 0x8864), 22),
    "PPPoE MPLS": (1, make.ethernet(make.pppoe(make.mpls(FOUR, 5), 0x281), 0x8864), 26),
    "raw 12": (12, FOUR, 0),
    "raw 14": (14, SIX, 0),
    "raw 101": (101, SIX, 0),
    "IPv4": (228, FOUR, 0),
    "IPv6": (229, SIX, 0),
    "null, little-endian host": (0, struct.pack("<I", 2) + FOUR, 4),
    "null, big-endian host": (0, struct.pack(">I", 30) + SIX, 4),
    "null, 16 bits in front": (0, b"\0\2\0\0" + FOUR, 4),
    "null, 16 bits behind": (0, b"\x0f\0\2\0" + FOUR, 4),
    "null, an ethertype": (0, b"\x0f\0\x86\xdd" + SIX, 4),
    "MACsec without encryption": (1, make.ethernet(bytes(6) + b"\x08\0" + FOUR, 0x88E5), 22),
    "MACsec with its channel": (1, make.ethernet(b"\x20" + bytes(13) + b"\x86\xdd" + SIX, 0x88E5), 30),
    "loop": (108, struct.pack(">I", 24) + SIX, 4),
    "OpenBSD encapsulation": (109, struct.pack("<III", 2, 0, 0) + FOUR, 12),
    "packet filter log": (117, bytes([61, 2]) + bytes(62) + FOUR, 64),
    "Linux cooked": (113, bytes(14) + b"\x08\x00" + FOUR, 16),
    "Linux cooked, 802.2": (113, bytes(14) + b"\x00\x04" + SNAP, 24),
    "Linux cooked VLAN": (113, bytes(14) + b"\x81\x00\x00\x05\x08\x00" + FOUR, 20),
    "Linux cooked 2": (276, cooked2(SIX, 0x86DD), 20),
    "PPP": (9, b"\x00\x21" + FOUR, 2),
    "PPP ff03": (9, b"\xff\x03\x00\x57" + SIX, 4),
    "PPP 1-byte protocol": (9, b"\x21" + FOUR, 1),
    "PPP ff03, 1-byte protocol": (50, b"\xff\x03\x21" + FOUR, 3),
    "PPP or Cisco HDLC": (50, b"\x0f\x00\x08\x00" + FOUR, 4),
    "PPP over Ethernet alone": (51, make.pppoe(FOUR), 8),
    "PPP with direction": (204, b"\x01\xff\x03\x00\x21" + FOUR, 5),
    "pppd": (166, b"\x00\x00\x21" + FOUR, 3),
    "Cisco HDLC": (104, b"\x0f\x00\x08\x00" + FOUR, 4),
    "Cisco HDLC with direction": (205, b"\x00\x0f\x00\x86\xdd" + SIX, 5),
    "frame relay": (107, b"\x18\x41\x03\xcc" + FOUR, 4),
    "frame relay IPv6, padded": (107, b"\x18\x41\x03\x00\x8e" + SIX, 5),
    "frame relay SNAP": (107, b"\x18\x41\x03\x00\x80\x00\x00\x00\x08\x00" + FOUR, 10),
    "frame relay Cisco": (107, b"\x18\x41\x08\x00" + FOUR, 4),
    "frame relay, 4-byte address": (107, b"\x18\x40\x00\x01\x03\xcc" + FOUR, 6),
    "frame relay, bridged": (107, b"\x18\x41\x03\x00\x80\x00\x80\xc2\x00\x07" + make.ethernet(FOUR), 24),
    "frame relay with direction": (206, b"\x00\x18\x41\x03\xcc" + FOUR, 5),
    "MPLS alone": (219, make.mpls(FOUR, 3, 4), 8),
    "802.11": (105, make.wifi_data(SNAP), 32),
    "802.11 QoS": (105, make.wifi_data(SNAP, qos=True), 34),
    "802.11 QoS, HT": (105, make.wifi_data(SNAP, qos=True, order=True), 38),
    "802.11 bridge": (105, make.wifi_data(SNAP, four_addresses=True), 38),
    "802.11 A-MSDU": (105, make.wifi_data(bytes(14) + SNAP, qos=True, aggregated=True), 48),
    "radiotap": (127, make.radiotap(make.wifi_data(SNAP)), 40),
    "radiotap with flags": (127, make.radiotap(make.wifi_data(SNAP, qos=True), 0x10), 51),
    "radiotap, padded": (127, make.radiotap(make.wifi_data(bytes(2) + SNAP, qos=True), 0x20), 53),
    "Prism": (119, bytes(144) + make.wifi_data(SNAP), 176),
    "AVS": (163, struct.pack(">II", 0, 64) + bytes(56) + make.wifi_data(SNAP), 96),
    "PPI 802.11": (192, struct.pack("<BBHI", 0, 0, 12, 105) + bytes(4) + make.wifi_data(SNAP), 44),
    "PPI Ethernet": (192, struct.pack("<BBHI", 0, 0, 8, 1) + make.ethernet(FOUR), 22),
    "FDDI": (10, b"\x50" + bytes(12) + SNAP, 21),
    "token ring": (6, b"\x10\x40" + bytes(12) + SNAP, 22),
    "token ring, source routed": (6, b"\x10\x40" + bytes(6) + b"\x80" + bytes(5) + b"\x06" + bytes(5) + SNAP, 28),
    "ATM LLC": (100, SNAP, 8),
    "IP over FireWire": (138, bytes(16) + b"\x08\x00" + FOUR, 18),
    "Ethernet with preamble": (274, bytes(8) + make.ethernet(FOUR), 22),
    "netANALYZER": (240, bytes(4) + make.ethernet(FOUR), 18),
    "netANALYZER transparent": (241, bytes(12) + make.ethernet(FOUR), 26),
}


@pytest.mark.parametrize("case", CASES)
def test_the_network_layer_is_found(case):
    link, data, offset = CASES[case]
    columns = one(link, data)
    assert columns["ipv4"].any() or columns["ipv6"].any()
    assert columns["l3_offset"].tolist() == [offset]
    assert columns["sport"].tolist() == [1000]
    assert columns["l4_offset"].tolist() == [offset + (40 if columns["ipv6"][0] else 20)]


@pytest.mark.parametrize("case", CASES)
def test_cut_at_any_byte_never_invents_a_packet(case):
    link, data, offset = CASES[case]
    for cut in range(offset):
        columns = one(link, data[:cut], len(data))
        assert columns["length"].tolist() == [len(data)]
        assert not columns["has_ports"].any()
        assert columns["l3_offset"][0] in (0xFFFF, cut)


@pytest.mark.parametrize("link", [147, 189, 9999])
def test_unknown_link_types_still_have_lengths(link):
    columns = one(link, make.ethernet(FOUR), 1234)
    assert columns["length"].tolist() == [1234]
    assert not columns["ipv4"].any()
    assert columns["l3_offset"].tolist() == [0xFFFF]


NO_NETWORK = {
    "spanning tree": (1, make.ethernet(b"\x42\x42\x03" + bytes(35), 38)),
    "raw IPX": (1, make.ethernet(b"\xff\xff" + bytes(40), 42)),
    "Cisco discovery": (1, make.ethernet(make.llc_snap(bytes(20), 0x2000, 0x00000C), 28)),
    "PPPoE discovery": (1, make.ethernet(make.pppoe(FOUR, code=9), 0x8863)),
    "PPPoE, not a session": (1, make.ethernet(make.pppoe(FOUR, code=9), 0x8864)),
    "PPP link control": (9, b"\xff\x03\xc0\x21" + bytes(10)),
    "router alert label": (1, make.ethernet(make.mpls(FOUR, 14), 0x8847)),
    "encrypted 802.11": (105, make.wifi_data(SNAP, protected=True)),
    "later 802.11 fragment": (105, make.wifi_data(SNAP, fragment=1)),
    "802.11 beacon": (105, b"\x80\x00" + bytes(40)),
    "FDDI station management": (10, b"\x41" + bytes(12) + SNAP),
    "radiotap shorter than itself": (127, struct.pack("<BBHI", 0, 0, 4, 0) + make.wifi_data(SNAP)),
    "unknown IP version": (101, b"\x55" + FOUR[1:]),
    "unknown family": (0, struct.pack("<I", 7) + FOUR),
}


@pytest.mark.parametrize("case", NO_NETWORK)
def test_what_is_no_ip_is_not_taken_for_it(case):
    link, data = NO_NETWORK[case]
    columns = one(link, data)
    assert not columns["ipv4"].any()
    assert not columns["ipv6"].any()


def test_arp_and_protocol_numbers():
    assert one(1, make.ethernet(bytes(28), 0x0806))["arp"].tolist() == [True]
    assert one(1, make.ethernet(bytes(28), 0x88CC))["protocol"].tolist() == [0x88CC]
    assert one(1, make.ethernet(b"\x42\x42\x03" + bytes(35), 38))["protocol"].tolist() == [0x42]


def test_numbers_are_unique_and_names_too():
    numbers = [number for form in FORMATS for number in form.numbers]
    assert len(numbers) == len(set(numbers)) == len(LINK_TYPES)
    assert len({form.name for form in FORMATS}) == len(FORMATS)
    assert link_format(1).name == "ETHERNET"
    assert link_format(777).name == "LINKTYPE_777"
