"""The reader and its totals against tshark and capinfos: bundled captures, a folder of the user, made files."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from reference import capture_files as make
from reference.tshark import capinfos, differences, number, tshark

from npexplore.errors import InputError
from npexplore.packets import read_capture
from npexplore.packets.erf import TYPES
from npexplore.packets.statistics import count_capture
from npexplore.paths import share

pytestmark = pytest.mark.skipif(not shutil.which("tshark"), reason="tshark is not installed")

FOLDER = os.environ.get("NPEXPLORE_CAPTURES")
BUNDLED = sorted(share("data", "captures").iterdir())
OWN = sorted(path for path in Path(FOLDER).iterdir() if path.is_file()) if FOLDER and Path(FOLDER).is_dir() else []


def is_capture(path):
    kind = subprocess.run(["capinfos", "-T", "-m", "-r", "-t", str(path)], capture_output=True, text=True, check=False)
    return any(name in kind.stdout.rpartition(",")[2] for name in ("pcap", "erf"))


@pytest.mark.parametrize("path", [*BUNDLED, *OWN], ids=lambda path: path.name)
def test_packet_by_packet_and_in_total(path):
    if not is_capture(path):
        with pytest.raises(InputError, match="must be pcap, pcapng or ERF"):
            read_capture(path)
        return
    assert differences(path)[:10] == []
    counts, scan = count_capture(path)
    assert scan.damage is None
    assert (counts.packets, counts.document("", "", None)["bytes"]) == capinfos(path)


PACKET = make.ethernet(make.ipv4(make.udp(payload=b"hello")), pad=60)
VARIED = [(5 + n, 6 * n, PACKET[: 60 - 7 * n], 60 if n else None) for n in range(5)]
IP = make.ipv4(make.tcp(), proto=6, tos=0x28)
NG = make.section() + make.interface(resolution=9, name=b"a") + make.interface(link=101, offset=100, snaplen=30)
ERF = (
    *((kind, b"\xff\x03\x00\x21" + IP) for kind in (1, 5, 10, 15, 17, 19)),
    *((kind, PACKET) for kind in (2, 11, 16, 20)),
    *((kind, bytes(4) + make.llc_snap(IP)) for kind in (4, 9)),
    *((kind, bytes(40)) for kind in (3, 6, 7, 8, 12, 13, 14, 18, 21, 24, 25, 27, 48)),
    (22, IP),
    (23, make.ipv6(make.udp())),
)
MADE = {
    "us little": make.pcap(VARIED),
    "us big": make.pcap(VARIED, order=">"),
    "ns little": make.pcap(VARIED, make.NS),
    "ns big": make.pcap(VARIED, make.NS, ">"),
    "modified": make.pcap(VARIED, make.MODIFIED),
    "modified big": make.pcap(VARIED, make.MODIFIED, ">"),
    "version 2.2": make.pcap(VARIED, version=(2, 2)),
    "version 2.3": make.pcap(VARIED, version=(2, 3)),
    "Ixia": make.pcap(VARIED, make.IXIA_HW),
    "Ixia software": make.pcap(VARIED, make.IXIA_SW),
    "frame check": make.pcap(VARIED, link=1 | 0x24000000),
    "original 2^31": make.pcap([(0, 0, PACKET, 2**31 - 1)]),
    "pcapng": NG + make.enhanced(PACKET, 10**18 + 7) + make.enhanced(IP, 10**15, 1) + make.obsolete(IP, 5, 1),
    "pcapng big": make.section(">") + make.interface(">") + make.enhanced(PACKET, 10**15, order=">"),
    "pcapng 2^-20": make.section() + make.interface(resolution=0x94) + make.enhanced(PACKET, (9 << 20) + 77),
    "two sections": NG
    + make.enhanced(PACKET)
    + make.section(">")
    + make.interface(">", 101)
    + make.enhanced(IP, order=">"),
    "simple": make.section() + make.interface(snaplen=40) + make.simple(PACKET[:40], 60) + make.simple(PACKET[:20]),
    "unknown block": NG + make.block(0x0BADF00D, b"xyz") + make.enhanced(PACKET, 5),
    "SLL2": make.pcap([(1, 0, b"\x08\x00" + bytes(18) + IP, None)], link=276),
    "loop": make.pcap([(1, 0, b"\0\0\0\x02" + IP, None)], link=108),
    "null big": make.pcap([(1, 0, b"\0\0\0\x02" + IP, None)], link=0),
    "null little": make.pcap([(1, 0, b"\x1e\0\0\0" + make.ipv6(make.udp()), None)], link=0),
    "PPP": make.pcap([(1, 0, b"\xff\x03\x00\x21" + IP, None), (1, 0, b"\x21" + IP, None)], link=9),
    "PPP over HDLC": make.pcap([(1, 0, b"\xff\x03\x00\x21" + IP, None)], link=50),
    "Cisco HDLC": make.pcap([(1, 0, b"\x0f\x00\x08\x00" + IP, None)], link=104),
    "frame relay": make.pcap([(1, 0, b"\x18\x41\x03\xcc" + IP, None)], link=107),
    "802.11": make.pcap([(1, 0, make.wifi_data(make.llc_snap(IP), qos=True), None)], link=105),
    "radiotap": make.pcap(
        [(1, 0, make.radiotap(make.wifi_data(bytes(2) + make.llc_snap(IP), qos=True), 0x20), None)], link=127
    ),
    "pseudowire": make.pcap([(1, 0, make.ethernet(make.mpls(bytes(4) + PACKET, 16), 0x8847), None)]),
    "IPv6": make.pcap([(1, 0, make.ipv6(bytes([17, 0]) + bytes(6) + make.udp(), 0), None)], link=229),
    "ERF": b"".join(
        make.erf(kind, bytes(TYPES[kind].subheader_bytes) + data, (9 << 32) + 3 * kind, port, 70, extensions, pad)
        for kind, data in ERF
        for port, extensions, pad in ((0, 0, 0), (3, 0 if kind == 48 else 2, 5))
    ),
    "options": make.pcap([(1, 0, make.ipv4(make.udp(), options=b"\1" * 8), None)], link=228),
}


@pytest.mark.parametrize("name", MADE)
def test_made_files(name, tmp_path):
    path = tmp_path / "made"
    path.write_bytes(MADE[name])
    assert differences(path) == []
    capture = read_capture(path)
    assert capture.damage is None
    assert (len(capture), int(capture.columns["length"].sum(dtype="int64"))) == capinfos(path)


def cuts():
    for name in ("us little", "modified big", "pcapng", "simple", "two sections", "ERF"):
        data = MADE[name]
        # tshark takes a file for ERF only if its first 20 records are whole
        for cut in range(1800 if name == "ERF" else 28, len(data), max(1, len(data) // 12)):
            yield pytest.param(data[:cut], id=f"{name}, {cut} bytes")


@pytest.mark.parametrize("data", [*cuts()])
def test_cut_files_have_the_same_packets(data, tmp_path):
    path = tmp_path / "cut"
    path.write_bytes(data)
    capture, (rows, status) = read_capture(path), tshark(path)
    assert [number(row["frame.len"]) for row in rows] == capture.columns["length"].tolist()
    assert (status != 0) == (capture.damage is not None)
