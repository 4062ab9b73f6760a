"""IPv6: addresses, header, extension headers, hop-by-hop options, scopes, ICMPv6 errors, each rule with its clause."""

from ipaddress import IPv6Address, IPv6Network

import dpkt
import numpy as np
import pytest
from hypothesis import Phase, find, given, settings
from hypothesis import strategies as st

import npexplore._kernels.golden_ipv6 as kernels
from npexplore.errors import InputError
from npexplore.golden.ipv6 import addresses as six
from npexplore.golden.ipv6.extensions import Chain, read_chain
from npexplore.golden.ipv6.header import ICMP6, read_header, write_packet
from npexplore.golden.ipv6.hop_limit import decrement_hop_limit
from npexplore.golden.ipv6.hop_options import HopOptions, read_hop_options
from npexplore.golden.ipv6.host import host_answer6
from npexplore.golden.ipv6.icmp import IcmpError, checksum, error_for, icmp_error, may_answer
from npexplore.golden.ipv6.reassembly import Piece, Reassembly
from npexplore.golden.ipv6.scope import Kind, address_kind
from npexplore.golden.ipv6.validate import validate
from npexplore.golden.linux.messages6 import about_error
from npexplore.golden.reasons import Reason
from npexplore.testing.strategies6 import ipv6_packets, with_headers

A, B = six.address_number("2001:db8::1"), six.address_number("2001:db8:1::2")
R = Reason


def chained(*headers, protocol=17, payload=b"data", destination=B):
    """Return a packet with extension headers (type, bytes behind the next header field)."""
    next_header, data = with_headers(headers, protocol, payload)
    return write_packet(A, destination, data, next_header=next_header)


@given(st.integers(0, six.MAX_ADDRESS), st.integers(0, 128))
def test_addresses_in_all_forms(number, length):
    text = six.address_text(number)
    assert six.address_number(text) == six.address_number(IPv6Address(number)) == six.address_number(number) == number
    network = IPv6Network((number & six.mask_of(length), length))
    assert six.prefix_pair(network) == six.prefix_pair(str(network)) == (number & six.mask_of(length), length)
    assert six.numbers_of(six.column_of([number])) == [number]


@pytest.mark.parametrize("wrong", ["10.0.0.1", "fe80::1%eth0", "2001:db8::g", "", "a\0b", -1, 1 << 128, True, None])
def test_what_is_no_address_is_refused(wrong):
    with pytest.raises(InputError, match="address must be IPv6"):
        six.address_number(wrong)


@pytest.mark.parametrize(
    ("wrong", "why"),
    [("2001:db8::1/64", "nearest: 2001:db8::/64"), ("::/129", "0 to 128"), ("::/x", "0 to 128"), (5, "must be text")],
)
def test_wrong_prefixes_are_refused(wrong, why):
    with pytest.raises(InputError, match=why):
        six.prefix_pair(wrong)


def test_columns_are_checked():
    with pytest.raises(InputError, match=r"shape \(n, 2\)"):
        six.address_column(np.zeros((3, 3), np.uint64))


@given(ipv6_packets(valid=True))
def test_fields_are_those_dpkt_reads(packet):
    alone = packet[:6] + b"\x3b" + packet[7:40]  # dpkt raises on extension headers that are cut
    theirs, ours = dpkt.ip6.IP6(alone), read_header(alone)
    assert (ours.version, ours.traffic_class, ours.flow_label) == (theirs.v, theirs.fc, theirs.flow)
    assert (ours.payload_length, ours.next_header, ours.hop_limit) == (theirs.plen, theirs.nxt, theirs.hlim)
    assert (ours.source.to_bytes(16, "big"), ours.destination.to_bytes(16, "big")) == (theirs.src, theirs.dst)
    assert validate(packet) is R.NONE


def test_a_packet_has_a_longest_payload():
    with pytest.raises(InputError, match="65535"):
        write_packet(A, B, bytes(65_536))


GOOD = write_packet(A, B, b"data")


@pytest.mark.parametrize(
    ("packet", "reason"),
    [
        (GOOD[:39], R.TOO_SHORT6), (b"\x45" + GOOD[1:], R.BAD_VERSION6), (GOOD[:-1], R.TRUNCATED6), (GOOD, R.NONE),
        (GOOD + b"padding", R.NONE), (write_packet(A, B), R.NONE),
    ],
)  # fmt: skip
def test_validation(packet, reason):
    assert validate(packet) is reason


@pytest.mark.parametrize(("limit", "reason"), [(0, 44), (1, 44), (2, 0), (255, 0)])
def test_hop_limit_zero_or_one_is_not_forwarded(limit, reason):
    packet = write_packet(A, B, hop_limit=limit)
    got, out = decrement_hop_limit(packet)
    assert got == reason
    assert out == (packet if reason else packet[:7] + bytes([limit - 1]) + packet[8:])


def options(*content):
    """Return hop-by-hop options: length in words, then the content padded."""
    data = b"".join(content)
    data += bytes(-(len(data) + 2) % 8)
    return 0, bytes([len(data) // 8]) + data


@pytest.mark.parametrize(
    ("packet", "chain"),
    [
        (GOOD, Chain(0, 0, 17, 40, 0)),
        (chained(options(), (43, bytes(7)), (60, bytes([1]) + bytes(14))), Chain(0, 0, 17, 72, 3)),
        (chained((60, bytes(7)), options()), Chain(R.HOP_BY_HOP_LATE, 40, 0, 48, 1)),
        (chained((44, bytes([0, 0, 1, 0, 0, 0, 9])), (60, bytes(7))), Chain(0, 0, 17, 56, 2)),
        (chained((44, bytes([0, 0, 8, 0, 0, 0, 9])), (60, bytes(7))), Chain(0, 0, 44, 48, 1)),
        (chained((51, bytes([4]) + bytes(22))), Chain(0, 0, 17, 64, 1)),
        (chained((50, bytes(7))), Chain(0, 0, 50, 40, 0)),  # encrypted: nothing behind can be read
        (chained((60, bytes([9]) + bytes(6))), Chain(R.EXTENSION_CUT, 40, 60, 40, 0)),
        (write_packet(A, B, bytes(7), next_header=60), Chain(R.EXTENSION_CUT, 40, 60, 40, 0)),
    ],
)  # fmt: skip
def test_chains(packet, chain):
    assert read_chain(packet) == chain


@pytest.mark.parametrize(
    ("content", "found"),
    [
        (b"", HopOptions()),
        (b"\x05\x02\x00\x00", HopOptions()),
        (b"\x1e\x01\x00", HopOptions()),  # 0: skip
        (b"\x5e\x01\x00", HopOptions(R.HOP_OPTION_UNKNOWN, 42, False)),
        (b"\0\x9e\x01\x00", HopOptions(R.HOP_OPTION_UNKNOWN, 43, True)),
        (b"\xde\x01\x00", HopOptions(R.HOP_OPTION_UNKNOWN, 42, True)),
        (b"\x1e\x7f\x00", HopOptions(R.HOP_OPTION_CUT, 42)),
        (b"\0\0\0\0\0\x1e", HopOptions(R.HOP_OPTION_CUT, 47)),
    ],
)
def test_hop_by_hop_options(content, found):
    assert read_hop_options(chained(options(content))) == found


def test_an_unknown_option_of_many_is_told_only_where_it_says_so():
    for kind, tell in ((0x9E, True), (0xDE, False)):
        packet = chained(options(bytes([kind, 0])), destination=six.address_number("ff05::9"))
        assert read_hop_options(packet).tell is tell


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("::", Kind.UNSPECIFIED), ("::1", Kind.LOOPBACK), ("::2", Kind.ROUTABLE), ("fe80::1", Kind.LINK_LOCAL),
        ("febf:ffff::", Kind.LINK_LOCAL), ("fec0::", Kind.ROUTABLE), ("ff02::1", Kind.MULTICAST),
        ("fdff::1", Kind.ROUTABLE), ("2001:db8::", Kind.ROUTABLE),
    ],
)  # fmt: skip
def test_kinds_of_addresses(text, kind):
    assert address_kind(six.address_number(text)) is kind


def test_errors_by_reason():
    assert error_for(R.PACKET_TOO_BIG, mtu=1280) == IcmpError(2, 0, 1280)
    assert error_for(R.HOP_OPTION_UNKNOWN, pointer=42) == IcmpError(4, 2, 42)
    assert error_for(R.HOP_LIMIT_EXCEEDED, mtu=9, pointer=9) == IcmpError(3, 0)
    assert [error_for(reason) for reason in (R.TRUNCATED6, R.MULTICAST6, R.BLACKHOLE)] == [None] * 3


def test_an_error_is_a_packet_that_dpkt_reads_with_a_right_checksum():
    message = icmp_error(IcmpError(3, 0), write_packet(A, B, bytes(3000)), B)
    assert len(message) == 1280
    theirs = dpkt.ip6.IP6(message)
    assert (theirs.nxt, theirs.icmp6.type, theirs.icmp6.code) == (ICMP6, 3, 0)
    assert message[48:] == write_packet(A, B, bytes(3000))[:1232]
    assert checksum(B, A, message[40:]) == 0


EXCEEDED, BIG, OPTION = IcmpError(3, 0), IcmpError(2, 0), IcmpError(4, 2)


@pytest.mark.parametrize(
    ("packet", "error", "may"),
    [
        (GOOD, EXCEEDED, True),
        (write_packet(A, B, b"\x80\0\0\0", next_header=ICMP6), EXCEEDED, True),
        (write_packet(A, B, b"\x03\0\0\0", next_header=ICMP6), EXCEEDED, False),
        (write_packet(A, B, b"\x89\0\0\0", next_header=ICMP6), EXCEEDED, False),
        (write_packet(A, B, b"", next_header=ICMP6), EXCEEDED, False),
        (chained((60, bytes(7)), protocol=ICMP6, payload=b"\1"), EXCEEDED, False),
        (write_packet(0, B), EXCEEDED, False),
        (write_packet(0xFF02 << 112, B), EXCEEDED, False),
        (write_packet(A, 0xFF05 << 112), EXCEEDED, False),
        (write_packet(A, 0xFF05 << 112), BIG, True),
        (write_packet(A, 0xFF05 << 112), OPTION, True),
    ],
)
def test_when_errors_may_be_sent(packet, error, may):
    assert may_answer(packet, error) is may


def test_nothing_is_told_about_what_the_link_sent_to_many():
    assert not may_answer(GOOD, EXCEEDED, link_multicast=True)


QUICK = settings(phases=[Phase.generate], max_examples=3_000, database=None)


@pytest.mark.parametrize(
    "reason", [R.NONE, R.TOO_SHORT6, R.BAD_VERSION6, R.TRUNCATED6, R.EXTENSION_CUT, R.HOP_BY_HOP_LATE]
)
def test_malformed_packets_fail_every_way(reason):
    assert (
        find(ipv6_packets(valid=False), lambda packet: read_chain(packet).reason == reason, settings=QUICK) is not None
    )


@pytest.mark.parametrize("name", [r.name for r in Reason if hasattr(kernels, r.name)])
def test_codes_of_the_kernels_are_those_of_reasons(name):
    assert getattr(kernels, name) == Reason[name]


@pytest.mark.parametrize("linux", [False, True])
def test_a_host_looks_behind_extension_headers(linux):
    udp = bytes.fromhex("0009000900 0cdf71 61626364".replace(" ", ""))
    ends = bytes.fromhex("20010db8000a0000000000000000000520010db8000a00000000000000000001")
    at_42 = IcmpError(4, 0, 42)
    for chain, following, answer in (
        ("1102 0001 00000000 20010db8000000000000000000090009", 43, at_42),  # routing type 0, one segment left
        ("1102 0000 00000000 20010db8000000000000000000090009", 43, IcmpError(1, 4)),  # none is left
        ("1100 0104 00000000", 60, IcmpError(1, 4)),
        ("1100 8a04 00000000", 60, IcmpError(4, 2, 42)),  # an option that must be known
        ("1100 4a04 00000000", 60, None),
        ("1100 0000 12345678", 44, IcmpError(1, 4)),  # a fragment that is the whole
        ("1100 0001 12345678", 44, None),
        ("6300 0104 00000000", 60, IcmpError(4, 1, 40)),
        ("1100 0104 00000001", 60, None if linux else IcmpError(1, 4)),  # padding that is not zero
    ):
        data = bytes.fromhex(chain.replace(" ", "")) + udp
        packet = bytes([0x60, 0, 0, 0, 0, len(data), following, 64]) + ends + data
        assert host_answer6(packet, linux=linux) == answer, chain


@given(st.binary(min_size=9, max_size=200), st.sets(st.integers(1, 24), max_size=4), st.integers(0, 3), st.data())
def test_fragments_in_any_order_make_the_packet_again(data, cuts, mark, draws):
    head = bytes([0x60, mark << 4, 0, 0, 0, 0, 17, 64]) + bytes(15) + b"\1" + bytes(15) + b"\2"
    places = sorted({0, *(8 * cut for cut in cuts if 8 * cut < len(data))})
    ranges = list(zip(places, [*places[1:], len(data)], strict=True))

    def piece(begin, end):
        body = bytes([17, 0]) + (begin | (end < len(data))).to_bytes(2, "big") + b"iden" + data[begin:end]
        return head[:4] + len(body).to_bytes(2, "big") + bytes([44]) + head[7:] + body

    order = draws.draw(st.permutations(ranges + ranges[1:2]))  # one comes twice
    seen, reassembly = set(), Reassembly()
    for number, (begin, end) in enumerate(order):
        whole = reassembly.add(piece(begin, end), Piece(40, 6), 0, number)
        complete = seen | {begin} == set(places) and len(seen) < len(places)
        seen.add(begin)
        assert whole == (head[:4] + len(data).to_bytes(2, "big") + head[6:] + data if complete else None)
    if len(ranges) > 1:
        late = Reassembly()
        assert [late.add(piece(*one), Piece(40, 6), 0, k * 61 * 10**9) for k, one in enumerate(ranges)][-1] is None
        over = Reassembly()
        twisted = [(ranges[0][0], ranges[0][1] + 8), *ranges] if ranges[0][1] + 8 < len(data) else []
        assert not any(over.add(piece(*one), Piece(40, 6), 0, 0) for one in twisted[:2])


@pytest.mark.parametrize("length", [40, 42, 43])
def test_a_fragment_header_that_is_cut_hides_what_follows(length):
    packet = bytes([0x60, 0, 0, 0, 0, 8, 44, 9]) + bytes(32) + bytes([58, 0, 0, 0, 0, 0, 0, 1]) + bytes([1, 0])
    assert about_error(packet)
    assert not about_error(packet[:length])
