"""Flows of captures beside tshark: retransmissions, reordered segments, closed windows, handshakes, streams."""

import re
import subprocess
from collections import Counter

import pandas as pd
import pytest

from npexplore.packets import read_capture
from npexplore.packets.application import FIRST_PACKETS
from npexplore.paths import share

FIELDS = ("analysis.retransmission", "analysis.out_of_order", "analysis.zero_window", "stream", "analysis.initial_rtt")
CAPTURES = sorted(
    path.name for path in share("data", "captures").glob("*.pcap*") if path.stat().st_size < 2_000_000
)  # larger ones alike, see docs/captures.md
INSIDE = ("erspan", "gre", "gtp", "fragmented", "qinq", "vnc", "modbusBig")  # tunnels and others: see docs/captures.md


@pytest.mark.parametrize("name", [name for name in CAPTURES if not any(word in name for word in INSIDE)][:30])
def test_segments_are_as_tshark_tells(name):
    path = share("data", "captures") / name
    words = [word for field in FIELDS for word in ("-e", f"tcp.{field}")]
    ran = subprocess.run(
        ["tshark", "-r", path, "-Y", "tcp", "-T", "fields", *words], capture_output=True, text=True, check=False
    )
    rows = [line.split("\t") for line in ran.stdout.splitlines()]
    capture = read_capture(path)
    if capture.damage is not None:
        return
    flows = capture.flows()
    counted = [int(flows[name].sum()) for name in ("retransmitted", "out_of_order", "zero_window")]
    assert counted == [sum(bool(row[k]) for row in rows) for k in range(3)]
    assert (flows["ip_proto"] == 6).sum() == len({row[3] for row in rows})
    handshakes = sorted(float(value) for _, value in {(row[3], row[4]) for row in rows if row[4]})
    assert sorted(flows["handshake_s"].dropna()) == pytest.approx(handshakes, abs=1e-8)
    assert flows["packets"].sum() + flows["packets_back"].sum() <= len(capture)


def tshark(path, *arguments):
    ran = subprocess.run(["tshark", "-n", "-r", path, *arguments], capture_output=True, text=True, check=False)
    return ran.stdout.splitlines()


CONVERSATION = re.compile(
    r"(\S+):(\d+) +<-> (\S+):(\d+) +(\d+) (\d+) (\S+) +(\d+) (\d+) (\S+) +\d+ \d+ \S+ +[\d.]+ +([\d.]+)"
)
UNITS = {"bytes": 1, "kB": 1000, "MB": 1000000}  # tshark prints whole ones


@pytest.mark.parametrize("name", [name for name in CAPTURES if "fragmented" not in name])
def test_conversations_are_as_tshark_counts_them(name):
    """Packets and bytes each way, and durations, of `-z conv`; fragments are of a flow here, and of none there."""
    path = share("data", "captures") / name
    flows = read_capture(path).flows()
    ours = {}
    for row in flows[flows["ip_proto"].isin((6, 17))].itertuples():
        ends, ways = (
            [(row.src, row.sport), (row.dst, row.dport)],
            [row.packets, row.bytes, row.packets_back, row.bytes_back],
        )
        seconds = (row.last_ns - row.first_ns) * 1e-9
        ours[*ends, row.ip_proto] = (*ways, seconds)
        ours[*ends[::-1], row.ip_proto] = (*ways[2:], *ways[:2], seconds)
    lines = [
        (CONVERSATION.match(line), p)
        for p, kind in ((6, "tcp"), (17, "udp"))
        for line in tshark(path, "-q", "-z", f"conv,{kind}")
    ]
    theirs = [(*found.groups(), protocol) for found, protocol in lines if found]
    assert 2 * len(theirs) == len(ours)
    for a, aport, b, bport, back, back_bytes, back_unit, there, there_bytes, unit, seconds, protocol in theirs:
        row = ours[(a, int(aport)), (b, int(bport)), protocol]
        assert (row[0], row[2]) == (int(there), int(back))
        assert row[1] // UNITS[unit] == int(there_bytes)
        assert row[3] // UNITS[back_unit] == int(back_bytes)
        assert row[4] == pytest.approx(float(seconds), abs=1e-4)


NAMES = ("dns.qry.name", "http.host", "http.response.code")


@pytest.mark.parametrize("name", CAPTURES)
def test_names_of_applications_are_as_tshark_reads_them(name):
    """Of all flows together; no capture here holds TLS, whose 150 public captures are in docs/captures.md."""
    path = share("data", "captures") / name
    fields = ("tcp.srcport", "udp.srcport", "tcp.dstport", "udp.dstport", "tcp.len", *NAMES)
    words = [word for field in fields for word in ("-e", field)]
    rows = [line.split("\t") for line in tshark(path, "-o", "http.desegment_body:FALSE", "-T", "fields", *words)]
    theirs, packets = {}, Counter()
    for row in rows:
        flow = (bool(row[0]), *sorted((row[0] or row[1], row[2] or row[3])))
        packets[flow] += row[4] != "0"
        for k, value in enumerate(row[5:] if packets[flow] <= FIRST_PACKETS else ()):
            if value and (k == 0 or (flow, k) not in theirs):
                theirs.setdefault((flow, k), {})[value] = None
    ours = {}
    for row in read_capture(path).flows(application=True).itertuples():
        flow = (row.ip_proto == 6, *sorted((str(row.sport), str(row.dport))))
        for k, value in enumerate((row.dns_names, row.http_host, row.http_status)):
            if not pd.isna(value):
                ours.setdefault((flow, k), {}).update(dict.fromkeys(str(value).split(",")))
    assert ours == theirs
