"""Laws of fragments, options and errors over any packets; nothing malformed ever raises."""

from hypothesis import given
from hypothesis import strategies as st

from npexplore.golden.checksum import header_checksum_is_right, internet_checksum
from npexplore.golden.ipv4.delivery import Links
from npexplore.golden.ipv4.fragment import fragment
from npexplore.golden.ipv4.header import DF, MF, read_header
from npexplore.golden.ipv4.icmp import IcmpError, icmp_error, silence
from npexplore.golden.ipv4.martians import martian_list
from npexplore.golden.ipv4.options import forward_options, next_of_source_route, read_options
from npexplore.golden.ipv4.ttl import decrement_ttl
from npexplore.golden.ipv4.validate import validate_ipv4
from npexplore.golden.reasons import Reason
from npexplore.testing.strategies import addresses, ipv4_packets

LINKS = Links((0x0A000001, 0xC0A80001), (24, 16))


def octets_by_place(packets):
    """Put pieces together: {place in the datagram: octet}, and where it ends (None without a last piece)."""
    octets, end = {}, None
    for packet in packets:
        header = read_header(packet)
        start = 8 * header.fragment_offset
        payload = packet[header.header_length :]
        for place, octet in enumerate(payload, start):
            assert octets.setdefault(place, octet) == octet
        if not header.flags & MF:
            end = start + len(payload)
    return octets, end


@given(ipv4_packets(valid=True), st.lists(st.integers(68, 200), min_size=1, max_size=3), st.booleans())
def test_pieces_of_pieces_make_the_packet_again(packet, mtus, keep):
    pieces = [packet]
    for mtu in mtus:
        cut = [fragment(piece, mtu, keep_header_length=keep) for piece in pieces]
        assert {one.reason for one in cut} <= {Reason.NONE, Reason.FRAGMENTATION_NEEDED}
        pieces = [piece for one in cut for piece in one.packets]
    if not pieces:
        assert read_header(packet).flags & DF
        return
    if read_header(packet).fragment_offset < 0x1FFF - 60:  # later places wrap in the header's field
        assert octets_by_place(pieces) == octets_by_place([packet])
    head = read_header(packet)
    for number, piece in enumerate(pieces):
        header = read_header(piece)
        assert validate_ipv4(piece) is Reason.NONE
        assert len(piece) <= max(mtus)
        assert (header.identification, header.ttl, header.source) == (head.identification, head.ttl, head.source)
        if number < len(pieces) - 1:
            assert (header.total_length - header.header_length) % 8 == 0
            assert header.flags & MF
    assert len(pieces[-1]) <= mtus[-1]
    assert pieces[0][20 : read_header(pieces[0]).header_length] == packet[20 : head.header_length]


@given(ipv4_packets(valid=True), addresses(), st.sets(addresses()), st.integers(0, 2**40), st.booleans())
def test_options_are_written_inside_the_header_alone(packet, address, own, time_ms, follow):
    options = read_options(packet)
    after = forward_options(packet, options, address, own, time_ms, follow=follow)
    length = read_header(packet).header_length
    assert header_checksum_is_right(after)
    assert (len(after), after[length:], after[:10]) == (len(packet), packet[length:], packet[:10])
    kinds = [(option.kind, option.offset, len(option.octets)) for option in options.options]
    again = read_options(after)
    assert [(option.kind, option.offset, len(option.octets)) for option in again.options][: len(kinds)] == kinds[
        : len(again.options)
    ]
    if not options.options:
        assert after == packet


@given(ipv4_packets(), addresses(), st.integers(0, 255), st.integers(0, 15), st.integers(0, 0xFFFFFFFF))
def test_an_error_about_any_valid_packet_is_a_valid_packet(packet, source, kind, code, rest):
    if validate_ipv4(packet) is not Reason.NONE:
        return
    answer = icmp_error(IcmpError(kind, code, rest), packet, source)
    header = read_header(answer)
    assert validate_ipv4(answer) is Reason.NONE
    assert internet_checksum(answer[header.header_length :]) == 0
    assert len(answer) <= 576
    assert packet.startswith(answer[header.header_length + 8 :])
    assert len(answer) >= header.header_length + 8 + min(read_header(packet).total_length, 28)


@given(ipv4_packets(valid=False), st.integers(0, 200))
def test_nothing_malformed_raises(packet, mtu):
    options = read_options(packet)
    decrement_ttl(packet)
    silence(packet, LINKS, martian_list())
    if validate_ipv4(packet) is not Reason.NONE:
        return
    next_of_source_route(packet, options)
    answer = fragment(packet, mtu)
    assert (answer.reason is Reason.NONE) == bool(answer.packets)


@given(ipv4_packets(valid=True))
def test_a_packet_cut_anywhere_is_dropped(packet):
    reasons = {validate_ipv4(packet[:kept]) for kept in range(len(packet))}
    assert reasons <= {Reason.TOO_SHORT, Reason.HEADER_CUT, Reason.TRUNCATED}


@given(ipv4_packets(valid=True), st.integers(0, 159))
def test_a_flipped_bit_of_the_header_is_noticed(packet, bit):
    at = bit // 8
    flipped = packet[:at] + bytes([packet[at] ^ 1 << bit % 8]) + packet[at + 1 :]
    assert validate_ipv4(flipped) is not Reason.NONE
