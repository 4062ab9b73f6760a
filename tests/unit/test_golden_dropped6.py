"""Malformed and special frames of IPv6 and MPLS through `npexplore route`: each is sent, or dropped with its clause."""

import csv
import json

import msgspec
import pytest
from reference import capture_files as make
from reference.router_cases6 import MIXED, a, framed, labelled, named_cases6, options, six

from npexplore.cli import main
from npexplore.golden.mpls.stack import Label
from npexplore.golden.reasons import Reason

R = Reason
CASES = [(name, port, frame, reason) for name, port, frame, reason in named_cases6() if port == 0]


def config_text(record):
    """Return a router's record as TOML."""
    lines = []
    for table in ("port", "neighbour", "route", "label"):
        for row in msgspec.to_builtins(getattr(record, table)):
            lines.append(f"[[{table}]]")
            lines += [f"{key} = {json.dumps(value)}" for key, value in row.items() if value is not None]
    return "\n".join(lines)


@pytest.fixture
def route(tmp_path):
    """Send frames in by p0; return (number of frames sent that came in, {number of the packet: (reason, clause)})."""

    def run(frames):
        config, capture, drops = tmp_path / "router.toml", tmp_path / "in.pcap", tmp_path / "drops.csv"
        config.write_text(config_text(MIXED))
        capture.write_bytes(make.pcap([(0, k, frame, None) for k, frame in enumerate(frames)]))
        arguments = ["--config", config, "--in", f"p0={capture}", "--out", tmp_path / "out", "--drops", drops]
        assert main(["route", *map(str, arguments), "--json"]) == 0
        with drops.open() as file:
            return {int(row["packet"]): (row["reason"], row["clause"]) for row in csv.DictReader(file)}

    return run


def test_named_cases_by_the_command(route, capsys):
    dropped = route([frame for _, _, frame, _ in CASES])
    found = json.loads(capsys.readouterr().out)
    expected = {k: (r.name, r.clause) for k, (_, _, _, r) in enumerate(CASES) if r}
    assert {CASES[k][0]: row for k, row in dropped.items()} == {CASES[k][0]: row for k, row in expected.items()}
    assert found["forwarded"] == len(CASES) - len(expected)
    assert all("RFC" in clause or "IEEE" in clause for _, clause in dropped.values())


@pytest.mark.parametrize(
    ("frames", "reason"),
    [
        ([framed(bytes(4 * k), b"\x88\x47") for k in (1, 2, 9)], R.NO_BOTTOM),
        ([framed(bytes(k), b"\x88\x47") for k in range(4)], R.LABEL_CUT),
        ([labelled(Label(100, ttl=k)) for k in (0, 1)], R.LABEL_TTL_EXPIRED),
        ([labelled(label, payload=six()[:k]) for label in (120, 121, 2) for k in (0, 1, 39)], R.NOT_IP_BELOW),
        ([framed(six(hop_limit=k)) for k in (0, 1)], R.HOP_LIMIT_EXCEEDED),
        ([labelled(120, payload=six()[:-k]) for k in (1, 4, 12)], R.TRUNCATED6),
        ([labelled(121, payload=six(hop_limit=0))], R.HOP_LIMIT_EXCEEDED),
        ([framed(six(headers=[(kind, bytes([3]) + bytes(6))])) for kind in (43, 60, 135, 139, 140)], R.EXTENSION_CUT),
        ([framed(six(headers=[(51, bytes([60]) + bytes(6))]))], R.EXTENSION_CUT),
        ([framed(six(headers=[(44, bytes(3))], payload=b"", protocol=17))], R.EXTENSION_CUT),
        ([framed(six(headers=[(kind, bytes(7)), (0, options(b""))])) for kind in (43, 60)], R.HOP_BY_HOP_LATE),
        ([framed(six(headers=[(0, options(b"")), (0, options(b""))]))], R.HOP_BY_HOP_LATE),
        ([framed(six(source=a("ff02::1")))], R.MARTIAN_SOURCE6),
    ],
)  # fmt: skip
def test_everything_of_a_kind_leaves_for_one_reason(route, frames, reason):
    assert route(frames) == dict.fromkeys(range(len(frames)), (reason.name, reason.clause))
