"""The reader and its totals against tshark and capinfos: bundled captures, a folder of the user, made files."""

import csv
import io
import ipaddress
import os
import shutil
import subprocess
from pathlib import Path

import pytest
from reference import capture_files as make

from npexplore.errors import InputError
from npexplore.packets import read_capture
from npexplore.packets.erf import TYPES
from npexplore.packets.statistics import count_capture
from npexplore.paths import share

pytestmark = pytest.mark.skipif(not shutil.which("tshark"), reason="tshark is not installed")

FOLDER = os.environ.get("NPEXPLORE_CAPTURES")
BUNDLED = sorted(share("data", "captures").iterdir())
OWN = sorted(path for path in Path(FOLDER).iterdir() if path.is_file()) if FOLDER and Path(FOLDER).is_dir() else []
FIELDS = [
    "frame.protocols", "frame.time_epoch", "frame.len", "frame.cap_len", "ip.version", "ipv6.version", "vlan.id",
    "mpls.label", "ip.ttl", "ip.dsfield.dscp", "ip.dsfield.ecn", "ip.proto", "ip.id", "ip.flags.df", "ip.flags.mf",
    "ip.hdr_len", "ip.len", "ip.checksum.status", "ip.src", "ip.dst", "tcp.srcport", "tcp.dstport", "udp.srcport",
    "udp.dstport", "ipv6.hlim", "ipv6.plen", "ipv6.src", "ipv6.dst", "ipv6.flow",
]  # fmt: skip
STATUS = {"1": "good", "0": "bad"}
# frames in which tshark's first address or port belongs to something other than the outermost network header
INSIDE = ("gtp", "icmp", "vxlan", "erspan", "teredo", "ayiya", "capwap", "dvmrp")


def tshark(path):
    command = ["tshark", "-n", "-r", str(path), "-T", "fields", "-E", "occurrence=f", "-E", "separator=/t"]
    for option in ("ip.check_checksum:TRUE", "ip.defragment:FALSE", "ipv6.defragment:FALSE", "ip.tso_support:FALSE"):
        command += ["-o", option]
    for field in FIELDS:
        command += ["-e", field]
    out = subprocess.run(command, capture_output=True, text=True, check=False)
    rows = csv.DictReader(io.StringIO(out.stdout), FIELDS, delimiter="\t", quoting=csv.QUOTE_NONE)
    # custom and other blocks without a packet are shown as frames too: they have no protocols below their data
    return [row for row in rows if row["frame.protocols"] not in ("data", "file-pcapng", "")], out.returncode


def capinfos(path):
    command = ["capinfos", "-T", "-m", "-r", "-c", "-d", str(path)]
    out = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    _, packets, size = out.strip().split(",")
    return int(packets), int(size)


def number(text, missing=None):
    return int(text, 0) if text else missing


def nanoseconds(text):
    seconds, _, fraction = text.partition(".")
    return int(seconds) * 10**9 + int(fraction.ljust(9, "0"))


def differences(path):
    """Return (packet number, what, tshark's value, ours) wherever the two differ."""
    capture, (rows, _) = read_capture(path), tshark(path)
    table = {name: capture.columns[name] for name in capture.columns}
    assert len(rows) == len(capture)
    sixes = {int(packet): row for row, packet in enumerate(capture.columns.ipv6.packet)}
    found = []
    for i, row in enumerate(rows):
        ours = {name: column[i].item() for name, column in table.items()}
        pairs = {
            "length": (number(row["frame.len"]), ours["length"]),
            "captured": (number(row["frame.cap_len"]), ours["captured"]),
            "VLAN": (number(row["vlan.id"], -1), ours["vlan_id"]),
            "MPLS": (number(row["mpls.label"], -1), ours["mpls_label"]),
        }
        if row["frame.time_epoch"]:
            pairs["time"] = nanoseconds(row["frame.time_epoch"]), ours["t_ns"]
        if ours["ipv4"] or ours["ipv6"] or "arp" not in row["frame.protocols"]:
            pairs["IP"] = bool(row["ip.version"] or row["ipv6.version"]), ours["ipv4"] or ours["ipv6"]
        if ours["ipv4"] and row["ip.ttl"]:
            pairs |= {
                "TTL": (number(row["ip.ttl"]), ours["ttl"]),
                "DSCP": (number(row["ip.dsfield.dscp"]), ours["dscp"]),
                "ECN": (number(row["ip.dsfield.ecn"]), ours["ecn"]),
                "protocol": (number(row["ip.proto"]), ours["ip_proto"]),
                "identification": (number(row["ip.id"]), ours["ident"]),
                "DF": (row["ip.flags.df"] in ("1", "True"), ours["df"]),
                "MF": (row["ip.flags.mf"] in ("1", "True"), bool(ours["fragment"] & 0x2000)),
                "options": (number(row["ip.hdr_len"], 20) > 20, ours["options"]),
                "total length": (number(row["ip.len"]), ours["l3_length"]),
            }
            if row["ip.checksum.status"] in STATUS:
                verdict = "good" if ours["checksum_good"] else "bad" if ours["checksum_bad"] else "unverified"
                pairs["checksum"] = STATUS[row["ip.checksum.status"]], verdict
            if row["ip.dst"]:
                pairs["source"] = int(ipaddress.ip_address(row["ip.src"])), ours["src"]
                pairs["destination"] = int(ipaddress.ip_address(row["ip.dst"])), ours["dst"]
        if (
            ours["ipv6"]
            and row["ipv6.dst"]
            and row["frame.protocols"].find("ipv6") < (row["frame.protocols"] + ":ip:").find(":ip:")
        ):
            pairs |= {
                "hop limit": (number(row["ipv6.hlim"]), ours["ttl"]),
                "flow label": (number(row["ipv6.flow"]), ours["flow_label"]),
                "payload": (number(row["ipv6.plen"]) + 40, ours["l3_length"]),
                "IPv6 source": (
                    ipaddress.ip_address(row["ipv6.src"]).packed,
                    capture.columns.ipv6.source[sixes[i]].tobytes(),
                ),
            }
        name = {6: "tcp", 17: "udp"}.get(ours["ip_proto"])
        if ours["has_ports"] and name and not any(inner in row["frame.protocols"] for inner in INSIDE):
            for end in ("src", "dst"):
                if row[f"{name}.{end}port"]:
                    pairs[f"{end} port"] = number(row[f"{name}.{end}port"]), ours["sport" if end == "src" else "dport"]
        found += [(i + 1, what, theirs, mine) for what, (theirs, mine) in pairs.items() if theirs != mine]
    return found


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
