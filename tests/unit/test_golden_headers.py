"""Headers, rule by rule: checksums and their updates, validation, time to live, martians, delivery, redirects."""

import dpkt
import numpy as np
import pytest

from npexplore._kernels import golden_headers as kernels
from npexplore.errors import InputError
from npexplore.golden.checksum import (
    header_checksum_is_right,
    header_checksums_are_right,
    internet_checksum,
    update_checksum,
    update_checksum_rfc1141,
    update_checksums,
)
from npexplore.golden.columns import Packets
from npexplore.golden.ipv4.addresses import address_number
from npexplore.golden.ipv4.delivery import Destination, Links, delivery, destination_kind
from npexplore.golden.ipv4.header import read_header, with_checksum, write_packet
from npexplore.golden.ipv4.martians import martian, martian_list
from npexplore.golden.ipv4.redirect import redirects
from npexplore.golden.ipv4.ttl import decrement_ttl, decrement_ttls
from npexplore.golden.ipv4.validate import validate_ipv4, validate_ipv4_many
from npexplore.golden.reasons import Reason
from npexplore.golden.router.profiles import PROFILES

PACKET = write_packet(0x0A000001, 0x14000001, b"payload!", identification=0x1234, ttl=9)


def changed(packet, at, byte):
    return packet[:at] + bytes([byte]) + packet[at + 1 :]


def test_example_of_rfc_1071():
    data = bytes.fromhex("0001f203f4f5f6f7")  # section 3: the sum is ddf2
    assert internet_checksum(data) == 0xFFFF - 0xDDF2
    assert internet_checksum(data + b"\x80") == internet_checksum(data + b"\x80\x00")
    assert internet_checksum(b"") == 0xFFFF


def test_example_of_rfc_1624():
    """Section 4: a word changes from 5555 to 3285 under dd2f; the checksum is 0, which RFC 1141 misses."""
    assert update_checksum(0xDD2F, 0x5555, 0x3285) == 0x0000
    assert update_checksum_rfc1141(0xDD2F, 0x5555, 0x3285) == 0xFFFF


@pytest.mark.parametrize("old", [0x0000, 0x0001, 0x4011, 0xFFFE, 0xFFFF])
def test_all_changes_of_a_word_give_what_a_new_checksum_gives(old):
    others = bytes.fromhex("45000054abcd40004001")  # any other words that are not all zero
    before = internet_checksum(others + old.to_bytes(2, "big"))
    new = np.arange(65_536)
    anew = [internet_checksum(others + word.to_bytes(2, "big")) for word in new.tolist()]
    assert update_checksums(np.full(65_536, before), np.full(65_536, old), new).tolist() == anew
    assert [update_checksum(before, old, word) for word in new.tolist()] == anew
    as_1141 = np.array([update_checksum_rfc1141(before, old, word) for word in new.tolist()])
    differs = np.flatnonzero(as_1141 != anew)
    assert {anew[i] for i in differs} <= {0}
    assert set(as_1141[differs].tolist()) <= {0xFFFF}


def test_all_zero_words_are_the_one_corner():
    """With nothing left but zeros a new checksum is ffff, an updated one 0; no IP header is all zeros."""
    assert internet_checksum(b"\0\0") == 0xFFFF
    assert update_checksum(internet_checksum(b"\0\1"), 1, 0) == 0


@pytest.mark.parametrize("offset", range(4))
def test_checksums_of_headers_at_every_alignment(offset):
    rng = np.random.default_rng(offset)
    packets = [write_packet(1, 2, options=bytes(4 * int(rng.integers(0, 11)))) for _ in range(30)]
    wrong = [changed(packet, 4, 1) for packet in packets]
    both = Packets.of([b"x" * offset, *packets, *wrong])
    assert header_checksums_are_right(both).tolist() == [False] + [True] * 30 + [False] * 30


def test_packets_must_lie_in_their_buffer():
    buffer = np.zeros(30, np.uint8)
    with pytest.raises(InputError, match="packet 1 must lie in the buffer of 30 bytes, it ends at 31"):
        Packets(buffer, np.array([0, 11]), np.array([20, 20]))
    with pytest.raises(InputError, match="buffer of packets"):
        Packets(buffer.astype(np.int8), np.array([0]), np.array([20]))
    with pytest.raises(InputError, match="one for each of 1 offsets"):
        Packets(buffer, np.array([0]), np.array([20, 20]))
    assert list(Packets.of([])) == []
    assert validate_ipv4_many(Packets.of([b"", b"ab"])).tolist() == [Reason.TOO_SHORT] * 2
    assert Packets.of([b"ab", b"cd"])[1] == b"cd"


def test_header_is_what_dpkt_reads():
    ip = dpkt.ip.IP(PACKET)
    header = read_header(PACKET)
    assert (ip.v, ip.hl * 4, ip.len, ip.id, ip.ttl, ip.p, ip.sum) == (
        *(header.version, header.header_length, header.total_length, header.identification),
        *(header.ttl, header.protocol, header.checksum),
    )
    assert (ip.src, ip.dst) == (header.source.to_bytes(4, "big"), header.destination.to_bytes(4, "big"))
    assert bytes(ip) == PACKET
    assert set(read_header(PACKET[:19])) == {0}


def test_packets_that_no_header_can_describe_are_refused():
    with pytest.raises(InputError, match="40 bytes of options"):
        write_packet(1, 2, options=bytes(41))
    with pytest.raises(InputError, match="65535 in all"):
        write_packet(1, 2, bytes(65_516))


@pytest.mark.parametrize(
    ("packet", "reason"),
    [
        (PACKET, Reason.NONE),
        (PACKET + b"padding", Reason.NONE),
        (PACKET[:20], Reason.TRUNCATED),
        (PACKET[:27], Reason.TRUNCATED),
        (PACKET[:19], Reason.TOO_SHORT),
        (b"", Reason.TOO_SHORT),
        (changed(PACKET, 0, 0x65), Reason.BAD_VERSION),
        (changed(PACKET, 0, 0x44), Reason.BAD_HEADER_LENGTH),
        (changed(PACKET, 0, 0x4F), Reason.HEADER_CUT),
        (with_checksum(changed(PACKET, 3, 19)), Reason.BAD_TOTAL_LENGTH),
        (with_checksum(changed(PACKET, 3, 20)), Reason.NONE),
        (with_checksum(changed(PACKET, 3, 29)), Reason.TRUNCATED),
        (changed(PACKET, 10, PACKET[10] ^ 1), Reason.BAD_CHECKSUM),
        (changed(PACKET, 8, 8), Reason.BAD_CHECKSUM),
    ],
)
def test_validation(packet, reason):
    assert validate_ipv4(packet) is reason
    assert validate_ipv4_many(Packets.of([packet])).tolist() == [reason]


def test_reasons_are_complete_and_kernels_use_their_codes():
    assert [reason for reason in Reason if reason and not (reason.text and "RFC " in reason.clause)] == []
    assert len({reason.text for reason in Reason}) == len(Reason)
    codes = {name: value for name, value in vars(kernels).items() if name in Reason.__members__}
    assert len(codes) >= 11
    assert codes == {name: int(Reason[name]) for name in codes}


@pytest.mark.parametrize(("ttl", "left"), [(0, None), (1, None), (2, 1), (255, 254)])
def test_time_to_live(ttl, left):
    packet = write_packet(1, 2, b"x", ttl=ttl)
    reason, after = decrement_ttl(packet)
    if left is None:
        assert (reason, after) == (Reason.TTL_EXPIRED, packet)
    else:
        assert (reason, after) == (Reason.NONE, write_packet(1, 2, b"x", ttl=left))


def test_time_to_live_of_a_mapped_file():
    buffer = np.frombuffer(PACKET, np.uint8)  # read-only
    packets = Packets(buffer, np.array([0]), np.array([len(PACKET)]))
    assert validate_ipv4_many(packets).tolist() == [Reason.NONE]
    codes, after = decrement_ttls(packets)
    assert (codes.tolist(), list(after), list(packets)) == ([Reason.NONE], [decrement_ttl(PACKET)[1]], [PACKET])
    with pytest.raises(InputError, match="in_place must have a buffer that can be written to"):
        decrement_ttls(packets, in_place=True)
    writable = packets.copy()
    decrement_ttls(writable, in_place=True)
    assert list(writable) == list(after)


def test_time_to_live_with_every_checksum():
    """Over all identifications the checksum takes every value; the update is right for all of them."""
    for identification in range(0, 65_536, 13):
        packet = write_packet(1, 2, ttl=64, identification=identification)
        assert decrement_ttl(packet)[1] == write_packet(1, 2, ttl=63, identification=identification)
        assert header_checksum_is_right(decrement_ttl(packet)[1])


GOOD = "10.0.0.1"


@pytest.mark.parametrize(
    ("source", "destination", "reason"),
    [
        (GOOD, GOOD, Reason.NONE),
        ("0.0.0.0", GOOD, Reason.MARTIAN_SOURCE),
        ("0.1.2.3", GOOD, Reason.MARTIAN_SOURCE),
        ("127.0.0.1", GOOD, Reason.MARTIAN_SOURCE),
        ("224.0.0.1", GOOD, Reason.MARTIAN_SOURCE),
        ("240.0.0.1", GOOD, Reason.MARTIAN_SOURCE),
        ("255.255.255.255", GOOD, Reason.MARTIAN_SOURCE),
        (GOOD, "0.0.0.0", Reason.MARTIAN_DESTINATION),
        (GOOD, "127.9.9.9", Reason.MARTIAN_DESTINATION),
        (GOOD, "255.255.255.254", Reason.MARTIAN_DESTINATION),
        (GOOD, "255.255.255.255", Reason.NONE),
        (GOOD, "224.0.0.1", Reason.NONE),
        ("1.0.0.0", "126.255.255.255", Reason.NONE),
        ("128.0.0.0", "223.255.255.255", Reason.NONE),
    ],
)
def test_martians(source, destination, reason):
    assert martian(address_number(source), address_number(destination), martian_list()) is reason


def test_the_kernel_profile_forwards_class_e():
    source, destination = address_number("240.0.0.1"), address_number("250.0.0.1")
    assert martian(source, destination, martian_list("linux")) is Reason.NONE
    with pytest.raises(InputError, match="nearest: linux"):
        martian_list("linus")


def test_every_martian_prefix_has_its_clause():
    for profile in PROFILES.values():
        prefixes = martian_list(profile.ipv4.martians).prefixes
        assert len(prefixes) >= 4
        assert [row for row in prefixes if not row.clause.startswith("RFC ")] == []


LINKS = Links((0x0A000001, 0x0A010001, 0x0A020000), (24, 8, 31))


@pytest.mark.parametrize(
    ("destination", "kind"),
    [
        ("10.0.0.1", Destination.LOCAL),
        ("10.1.0.1", Destination.LOCAL),
        ("10.0.0.2", Destination.ELSEWHERE),
        ("10.0.0.255", Destination.DIRECTED_BROADCAST),
        ("10.0.0.0", Destination.NETWORK_ZERO),
        ("10.255.255.255", Destination.DIRECTED_BROADCAST),
        ("10.2.0.0", Destination.LOCAL),
        ("10.2.0.1", Destination.ELSEWHERE),  # a network of 31 bits has no broadcast address
        ("11.0.0.255", Destination.ELSEWHERE),
        ("224.0.0.1", Destination.MULTICAST),
        ("239.255.255.255", Destination.MULTICAST),
        ("255.255.255.255", Destination.LIMITED_BROADCAST),
    ],
)
def test_whom_a_destination_means(destination, kind):
    assert destination_kind(address_number(destination), LINKS) is kind


def test_what_is_forwarded():
    assert delivery(Destination.ELSEWHERE, False) is Reason.NONE
    assert delivery(Destination.ELSEWHERE, True) is Reason.LINK_BROADCAST
    assert delivery(Destination.LOCAL, False) is Reason.LOCAL_DELIVERY
    assert delivery(Destination.LOCAL, True) is Reason.LINK_BROADCAST
    assert delivery(Destination.DIRECTED_BROADCAST, False) is Reason.DIRECTED_BROADCAST
    assert delivery(Destination.DIRECTED_BROADCAST, True, forward_directed=True) is Reason.NONE
    assert delivery(Destination.LIMITED_BROADCAST, True, forward_directed=True) is Reason.LIMITED_BROADCAST
    assert delivery(Destination.NETWORK_ZERO, False) is Reason.NETWORK_ZERO
    assert delivery(Destination.MULTICAST, True) is Reason.MULTICAST


def test_redirect_needs_all_three_conditions():
    near, far = 0x0A000007, 0x0B000001
    assert redirects(0, 0, near, near + 1, False, LINKS)
    assert not redirects(0, 1, near, near + 1, False, LINKS)
    assert not redirects(0, 0, far, near + 1, False, LINKS)
    assert not redirects(0, 0, near, far, False, LINKS)
    assert not redirects(0, 0, near, near + 1, True, LINKS)
