"""Flows of captures beside tshark: retransmissions, reordered segments, closed windows, handshakes, streams."""

import subprocess

import pytest

from npexplore.packets import read_capture
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
