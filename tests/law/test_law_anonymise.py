"""No address of a packet is left in an anonymised capture, in either byte order or as text; checksums stay right."""

from random import Random

import numpy as np
import pytest
from reference import capture_files as make
from reference.addressed_packets import addressed_frame, verdicts

from npexplore._kernels import capture_addresses as kernels
from npexplore.jit import plain
from npexplore.packets import read_capture
from npexplore.packets.writing import rewrite

KEY = bytes(range(32))
FRAMES = 600


@pytest.fixture(scope="module")
def frames():
    return [addressed_frame(Random(f"51 {k}")) for k in range(FRAMES)]


def packets_of(path):
    data, columns = path.read_bytes(), read_capture(path).columns
    return [data[at : at + size] for at, size in zip(columns["position"], columns["captured"], strict=True)]


@pytest.mark.parametrize("cut", [None, 0.7], ids=["whole", "cut"])
def test_no_address_is_left(tmp_path, frames, cut):
    sizes = [len(one.data) if cut is None else int(len(one.data) * cut) for one in frames]
    records = [(0, 0, one.data[:size], len(one.data)) for one, size in zip(frames, sizes, strict=True)]
    (tmp_path / "in").write_bytes(make.pcap(records))
    rewrite(tmp_path / "in", tmp_path / "out", key=KEY)
    for one, data in zip(frames, packets_of(tmp_path / "out"), strict=True):
        for value in one.addresses:
            assert value not in data
            assert value[::-1] not in data
            assert ".".join(map(str, value[:4])).encode() not in data


ADDRESS, OTHER = bytes.fromhex("c633644d"), bytes.fromhex("20010db8beef00000000000000007777")
INSIDE = make.ipv4(payload=make.udp())
LINKS = {
    "tunnel": (113, bytes.fromhex("000003080004") + ADDRESS + bytes(4) + b"\x08\0" + INSIDE),
    "tunnel of IPv6": (113, bytes.fromhex("000003010010") + OTHER[:8] + b"\x08\0" + INSIDE),
    "tunnel, cooked again": (276, bytes.fromhex("08000000000000010308 0004") + ADDRESS + bytes(4) + INSIDE),
    "Cisco's address resolution": (104, bytes.fromhex("0f00803500000001") + ADDRESS + b"\xff\xff\xff\0"),
    "service header": (1, make.ethernet(make.nsh(INSIDE, kind=1, context=OTHER), 0x894F)),
    "service header of any size": (1, make.ethernet(make.nsh(INSIDE, context=ADDRESS), 0x894F)),
    "resolution inside a tunnel": (1, make.ethernet(bytes.fromhex("030a080004040001") + ADDRESS * 4, 0x0806)),
    "resolution on Infiniband": (1, make.ethernet(bytes.fromhex("0020080014040001") + bytes(4) + OTHER * 2, 0x0806)),
}


@pytest.mark.parametrize("name", LINKS)
def test_no_address_is_left_in_front_of_the_packet(tmp_path, name):
    link, data = LINKS[name]
    (tmp_path / "in").write_bytes(make.pcap([(0, 0, data, None)], link=link))
    rewrite(tmp_path / "in", tmp_path / "out", key=KEY)
    (left,) = packets_of(tmp_path / "out")
    assert ADDRESS not in left
    assert OTHER[:8] not in left
    assert (INSIDE in data) == (b"\x45\0\0" in left)


def test_a_link_address_of_ethernet_stays_in_a_cooked_header(tmp_path):
    head = bytes.fromhex("000000010006 020000000007 0000 0800")
    (tmp_path / "in").write_bytes(make.pcap([(0, 0, head + INSIDE, None)], link=113))
    rewrite(tmp_path / "in", tmp_path / "out", key=KEY)
    assert packets_of(tmp_path / "out")[0].startswith(head)


def test_checksums_stay_as_right_or_wrong_as_they_were(tmp_path, frames):
    (tmp_path / "in").write_bytes(make.pcap([(0, 0, one.data, None) for one in frames]))
    rewrite(tmp_path / "in", tmp_path / "out", key=KEY, keep_payload=True)
    kept = 0
    for one, data in zip(frames, packets_of(tmp_path / "out"), strict=True):
        assert verdicts(one, data) == verdicts(one, one.data)
        kept += data != one.data
    assert kept > 500


def noted(find, packet, kind):
    edits, sums, counts = np.zeros((200, 3), np.int64), np.zeros((200, 7), np.int64), np.zeros(2, np.int64)
    cut, first = np.zeros(1, np.int64), np.zeros(1, np.int64)
    find(packet, 0, np.array([kind]), first, np.array([len(packet)]), first, cut, edits, sums, counts)
    return edits[: counts[0]].tolist(), sums[: counts[1]].tolist(), int(cut[0])


@pytest.mark.parametrize("seed", range(250))
def test_damaged_packets_are_walked_inside_their_bounds(seed):
    rnd = Random(seed)
    data = bytearray(addressed_frame(rnd).data)
    for _ in range(rnd.randrange(4)):
        data[rnd.randrange(12, len(data))] = rnd.randrange(256)
    packet = np.frombuffer(bytes(data[14 : rnd.randrange(14, len(data) + 1)]), np.uint8)
    kind = {0x08: 1, 0x86: 2, 0x80: 3}.get(data[12], 0)
    edits, sums, cut = noted(kernels.find_addresses, packet, kind)
    assert (edits, sums, cut) == noted(plain(kernels.find_addresses), packet, kind)
    assert 0 <= cut <= len(packet)
    assert all(at + many <= len(packet) for at, many, _ in edits)
    assert all(at + 2 <= len(packet) and end <= len(packet) for at, _, end, *_ in sums)
