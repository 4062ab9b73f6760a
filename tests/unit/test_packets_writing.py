"""Writing, filtering and anonymising captures."""

import io
import ipaddress
import struct

import numpy as np
import pytest
from reference import capture_files as make

from npexplore._kernels.capture_write import aes_encrypt, aes_expand, aes_tables
from npexplore.errors import InputError, UnknownNameError
from npexplore.packets import read_capture
from npexplore.packets.anonymise import Anonymiser
from npexplore.packets.filters import matching_packets
from npexplore.packets.writing import CaptureWriter, rewrite, write_packets
from npexplore.paths import share

CAPTURES = sorted(share("data", "captures").iterdir())
COLUMNS = ("length", "captured", "src", "dst", "sport", "dport", "flags", "ttl", "vlans", "labels")
# the key and the first addresses of the sample trace that comes with Crypto-PAn
KEY = bytes([21, 34, 23, 141, 51, 164, 207, 128, 19, 10, 91, 22, 73, 144, 125, 16,
             216, 152, 143, 131, 121, 121, 101, 39, 98, 87, 76, 45, 42, 132, 34, 2])  # fmt: skip
SAMPLE = {
    "128.11.68.132": "135.242.180.132",
    "129.118.74.4": "134.136.186.123",
    "130.132.252.244": "133.68.164.234",
    "141.223.7.43": "141.167.8.160",
    "141.233.145.108": "141.129.237.235",
    "152.163.225.39": "151.140.114.167",
    "156.29.3.236": "147.225.12.42",
    "165.247.96.84": "162.9.99.234",
    "166.107.77.190": "160.132.178.185",
    "192.102.249.13": "252.138.62.131",
}


@pytest.mark.parametrize("path", CAPTURES, ids=lambda path: path.name)
@pytest.mark.parametrize("form", ["pcap", "pcap-ns", "pcapng"])
def test_a_copy_has_the_same_packets(path, form, tmp_path):
    count, damage = rewrite(path, tmp_path / "copy", form=form)
    old, new = read_capture(path), read_capture(tmp_path / "copy")
    assert count == len(old) == len(new)
    assert damage is None
    assert new.format == form
    for name in (*COLUMNS, "t_ns", "link_type"):
        assert new.columns[name].tolist() == old.columns[name].tolist()


def test_nanoseconds_are_kept_or_cut_off(tmp_path):
    (tmp_path / "in").write_bytes(make.pcap([(1, 123_456_789, b"x" * 60, None)], make.NS))
    expected = {"pcap": 1_123_456_000, "pcap-ns": 1_123_456_789, "pcapng": 1_123_456_789}
    for form, time in expected.items():
        rewrite(tmp_path / "in", tmp_path / "out", form=form)
        assert read_capture(tmp_path / "out").columns["t_ns"].tolist() == [time]


def test_times_that_a_format_cannot_hold_are_refused_by_the_name_of_the_output(tmp_path):
    early = make.section() + make.interface(offset=-2_000_000_000, name=b"wire 7") + make.enhanced(b"a", 5)
    for offset, forms in ((-2_000_000_000, ("pcap", "pcap-ns", "pcapng")), (4_294_967_296, ("pcap", "pcap-ns"))):
        (tmp_path / "in").write_bytes(make.section() + make.interface(offset=offset) + make.enhanced(b"a", 5))
        for form in forms:
            with pytest.raises(InputError, match=rf"out: {form} holds times from 1970"):
                rewrite(tmp_path / "in", tmp_path / "out", form=form)
    (tmp_path / "in").write_bytes(early.replace(struct.pack("<q", -2_000_000_000), struct.pack("<q", 2_000_000_000)))
    rewrite(tmp_path / "in", tmp_path / "out", form="pcapng")
    assert [one.name for one in read_capture(tmp_path / "out").interfaces] == ["wire 7"]


def test_snaplen_cuts_but_keeps_original_lengths(tmp_path):
    rewrite(share("data", "captures", "zeek_wikipedia.pcap"), tmp_path / "out", snaplen=40)
    new = read_capture(tmp_path / "out").columns
    assert new["captured"].max() == 40
    assert new["length"].sum() == 25260


def test_several_link_types_need_pcapng(tmp_path):
    (tmp_path / "in").write_bytes(
        make.section() + make.interface() + make.interface(link=101) + make.enhanced(b"a") + make.enhanced(b"b", 0, 1)
    )
    with pytest.raises(InputError, match="one link type"):
        rewrite(tmp_path / "in", tmp_path / "out")
    assert rewrite(tmp_path / "in", tmp_path / "out", form="pcapng")[0] == 2
    assert read_capture(tmp_path / "out").columns["link_type"].tolist() == [1, 101]
    assert rewrite(tmp_path / "in", tmp_path / "out", where="link_type == 101")[0] == 1


def test_empty_and_impossible_outputs(tmp_path):
    (tmp_path / "in").write_bytes(make.pcap([]))
    for form in ("pcap", "pcapng"):
        rewrite(tmp_path / "in", tmp_path / "out", form=form)
        assert len(read_capture(tmp_path / "out")) == 0
    with pytest.raises(UnknownNameError, match="nearest: pcapng"):
        CaptureWriter(tmp_path / "out", "pcapngg")
    (tmp_path / "in").write_bytes(make.section() + make.interface(offset=-5) + make.enhanced(b"a"))
    with pytest.raises(InputError, match="from 1970 to 2106"):
        rewrite(tmp_path / "in", tmp_path / "out")


def test_made_packets(tmp_path):
    packets = np.arange(180, dtype=np.uint8).reshape(3, 60)
    write_packets(tmp_path / "out", np.array([5, 6, 7]), packets, np.array([60, 10, 0]), np.array([60, 1500, 9000]))
    columns = read_capture(tmp_path / "out").columns
    assert columns["t_ns"].tolist() == [5, 6, 7]
    assert columns["captured"].tolist() == [60, 10, 0]
    assert columns["length"].tolist() == [60, 1500, 9000]
    with pytest.raises(InputError, match="at most 60"):
        write_packets(tmp_path / "out", np.array([5]), packets[:1], np.array([61]), np.array([61]))


@pytest.fixture(scope="module")
def table():
    return read_capture(share("data", "captures", "zeek_wikipedia.pcap")).columns


def link_local(t):
    found = t["src"] == 0x8D8EDC76
    found[t.ipv6.packet] = (t.ipv6.source[:, 0] == 0xFE) & (t.ipv6.source[:, 1] & 0xC0 == 0x80)
    return found


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("ipv4", lambda t: t["ipv4"]),
        ("not ipv4 and length > 60", lambda t: ~t["ipv4"] & (t["length"] > 60)),
        ("60 <= length < 100 or arp", lambda t: ((t["length"] >= 60) & (t["length"] < 100)) | t["arp"]),
        ('src in "141.142.220.0/24"', lambda t: t["src"] >> 8 == 0x8D8EDC),
        ('dst not in "0.0.0.0/0"', lambda t: ~t["ipv4"]),
        ('dst in "::/0"', lambda t: t["ipv6"]),
        ('src in "fe80::/10" or src == "141.142.220.118"', link_local),
        ('dst != "ff02::fb"', lambda t: ~t["ipv6"] | (t["dport"] != 5353)),
        ("tcp_flags & 2", lambda t: t["tcp_flags"] & 2 != 0),
        ("length % 2 == -1 + 2", lambda t: t["length"] % 2 == 1),
        ("True", lambda t: t["length"] >= 0),
    ],
)
def test_filters(table, text, expected):
    assert matching_packets(table, text).tolist() == expected(table).tolist()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("lenght > 5", "nearest: length"),
        ("length >", "is not a valid expression"),
        ("__import__('os')", "is not allowed in a filter"),
        ("length.sum()", "is not allowed in a filter"),
        ("length > 'x'", "is not allowed in a filter"),
        ('src in "10.0.0.1/8"', "host bits set"),
        ('src in "10::1/8"', "host bits set"),
        ('length in "10.0.0.0/8"', "only src and dst can be in a prefix, got 'length'"),
        ("[length]", "is not allowed in a filter"),
        ("length ** 5", "is not allowed in a filter"),
        ("ttl == 300", "ttl must be 0 to 255, got 300"),
        ("ipv4 and 70000 < sport", "sport must be 0 to 65535, got 70000"),
        ("0 < dscp < 64", "dscp must be 0 to 63, got 64"),
    ],
)
def test_filters_that_are_not_understood(table, text, words):
    with pytest.raises(InputError, match=words):
        matching_packets(table, text)


def test_aes_of_fips_197():
    box = aes_tables()
    key = np.frombuffer(bytes(range(16)), np.uint8)
    block = np.frombuffer(bytes.fromhex("00112233445566778899aabbccddeeff"), np.uint8)
    assert aes_encrypt(block, aes_expand(key, box), box).tobytes().hex() == "69c4e0d86a7b0430d8cdb78070b4c55a"


def test_addresses_of_the_published_sample():
    old = np.array([list(ipaddress.ip_address(text).packed) for text in SAMPLE], np.uint8)
    new = [str(ipaddress.ip_address(row.tobytes())) for row in Anonymiser(KEY).images(old)]
    assert new == list(SAMPLE.values())


@pytest.mark.parametrize("size", [4, 16])
def test_prefixes_are_preserved_exactly(size):
    rng = np.random.default_rng(5)
    old = rng.integers(0, 256, (60, size), dtype=np.uint8)
    old[1::2] = old[::2]
    for row, bit in zip(old[1::2], range(30), strict=True):
        row[bit % (8 * size) // 8] ^= 0x80 >> bit % 8
    new = Anonymiser(bytes(range(32))).images(old)
    number = [[int.from_bytes(row.tobytes()) for row in rows] for rows in (old, new)]
    for i in range(60):
        for j in range(i):
            assert (number[0][i] ^ number[0][j]).bit_length() == (number[1][i] ^ number[1][j]).bit_length()
    assert (old != new).any()


def test_anonymised_capture_keeps_verdicts_and_locality(tmp_path, table):
    rewrite(share("data", "captures", "zeek_wikipedia.pcap"), tmp_path / "out", key=KEY, keep_payload=True)
    new = read_capture(tmp_path / "out").columns
    for name in ("flags", "length", "captured", "sport", "l3_length", "t_ns"):
        assert new[name].tolist() == table[name].tolist()
    assert len(np.unique(new["dst"])) == len(np.unique(table["dst"]))
    v4 = table["ipv4"]
    assert (new["src"][v4] != table["src"][v4]).any()
    assert (new.ipv6.source != table.ipv6.source).any()


def test_anonymised_capture_loses_its_payload(tmp_path):
    payload = b"the address is 10.0.0.1"
    packets = [
        make.ethernet(make.ipv4(make.udp(payload=payload))),
        make.ethernet(make.ipv4(make.tcp(payload=payload), proto=6)),
        make.ethernet(make.ipv6(make.udp(payload=payload)), 0x86DD),
        make.ethernet(make.ipv4(payload, fragment=5)),
        make.ethernet(payload, 0x88CC),
        make.ethernet(make.ipv4(make.ipv4(payload), proto=4)),
    ]
    (tmp_path / "in").write_bytes(make.pcap([(0, 0, data, None) for data in packets]))
    rewrite(tmp_path / "in", tmp_path / "out", key=KEY)
    data = (tmp_path / "out").read_bytes()
    assert b"address" not in data
    assert ipaddress.ip_address("10.0.0.1").packed not in data
    columns = read_capture(tmp_path / "out").columns
    assert columns["captured"].tolist() == [42, 54, 62, 34, 14, 62]
    assert columns["length"].tolist() == [len(data) for data in packets]


def transport_checksum_is_right(packet):
    header, segment = packet[14:34], packet[34:]
    return make.checksum(header[12:20] + bytes([0, header[9]]) + len(segment).to_bytes(2, "big") + segment) == 0


def test_anonymising_keeps_transport_checksums_right(tmp_path):
    packets = []
    for segment, proto, at in ((make.udp(payload=b"abcd"), 17, 6), (make.tcp(payload=b"abcd"), 6, 16)):
        pseudo = make.ipv4(proto=proto)[12:20] + bytes([0, proto]) + len(segment).to_bytes(2, "big")
        value = make.checksum(pseudo + segment).to_bytes(2, "big")
        packets.append(make.ethernet(make.ipv4(segment[:at] + value + segment[at + 2 :], proto=proto)))
    assert all(transport_checksum_is_right(packet) for packet in packets)
    (tmp_path / "in").write_bytes(make.pcap([(0, 0, data, None) for data in packets]))
    rewrite(tmp_path / "in", tmp_path / "out", key=KEY, keep_payload=True)
    data, columns = (tmp_path / "out").read_bytes(), read_capture(tmp_path / "out").columns
    for at, size in zip(columns["position"], columns["captured"], strict=True):
        assert transport_checksum_is_right(data[at : at + size])
    assert columns["src"].tolist() != [0x0A000001] * 2


def test_arp_addresses_are_replaced_like_ip_addresses(tmp_path):
    address = ipaddress.ip_address("10.0.0.1").packed
    arp = b"\0\1\x08\0\6\4" + bytes(8) + address + bytes(6) + address
    packets = [make.ethernet(arp, 0x0806, pad=60), make.ethernet(make.ipv4(make.udp()))]
    (tmp_path / "in").write_bytes(make.pcap([(0, 0, data, None) for data in packets]))
    rewrite(tmp_path / "in", tmp_path / "out", key=KEY)
    data, columns = (tmp_path / "out").read_bytes(), read_capture(tmp_path / "out").columns
    at = int(columns["position"][0]) + 14
    image = int(columns["src"][1]).to_bytes(4, "big")
    assert data[at + 14 : at + 18] == data[at + 24 : at + 28] == image
    assert image != address


def test_key_must_have_32_bytes():
    with pytest.raises(InputError, match="32 bytes long, got 16"):
        Anonymiser(bytes(16))


def test_damage_is_handed_on(tmp_path):
    (tmp_path / "in").write_bytes(make.pcap([(0, 0, b"x" * 20, None)] * 3)[:-1])
    count, damage = rewrite(tmp_path / "in", tmp_path / "out")
    assert count == 2
    assert damage.offset == 24 + 2 * 36
    assert len(read_capture(io.BytesIO((tmp_path / "out").read_bytes()))) == 2
