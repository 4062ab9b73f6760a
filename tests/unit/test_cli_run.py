"""`npexplore run`: what it says, the rows and captures it writes, and what does not fit together."""

import json

import numpy as np
import pandas as pd
import pytest

import npexplore as npx
from npexplore.cli import main
from npexplore.packets import read_capture
from npexplore.packets.frames import read_frames, write_frames

CAPTURE = str(npx.bundled_path("data/captures/zeek_wikipedia.pcap"))


def run(capsys, *arguments):
    status = main(["run", *map(str, arguments)])
    out, err = capsys.readouterr()
    return status, out, err


def test_rows_and_captures_hold_every_packet_once(capsys, tmp_path):
    frames = [bytes(frame) for _, frame in read_frames(CAPTURE)]
    copies = [frame for frame in frames for _ in range(4)]
    times = [10**18 + 20 * k for k in range(len(copies))]
    trace = tmp_path / "in.pcap"
    write_frames(trace, copies, times)
    ask = ("ixp2400", "--trace", trace, "--out", tmp_path / "out", "--by-resource", "--json")
    status, out, err = run(capsys, *ask)
    assert status == 0, err
    found = json.loads(out)
    assert found["sent"] > 0
    assert found["dropped"] > 0
    assert found["packets"] == found["sent"] + found["dropped"] + found["inside"]
    assert sum(end["packets"] for end in found["ends"]) == found["packets"]
    rows = pd.read_parquet(found["files"]["packets"])
    assert rows.index.name == "packet"
    assert len(rows) == found["packets"]
    sent, lost = rows[rows.outcome == "sent"], rows[rows.outcome == "dropped"]
    left = sent.sort_values("departure_s", kind="stable")
    out_times, out_frames = zip(*read_frames(found["files"]["sent"]), strict=True)
    assert list(map(bytes, out_frames)) == [copies[k] for k in left.index]
    first = times[rows.index.min()]
    assert np.allclose(np.array(out_times) - first, left.departure_s * 1e9, rtol=0, atol=0.51)
    assert (np.diff(out_times) >= 0).all()
    dropped = list(read_frames(found["files"]["dropped"]))
    assert dropped == [(times[k], copies[k]) for k in lost.index]
    assert read_capture(found["files"]["sent"]).damage is None


def test_the_text_says_how_packets_ended(capsys):
    status, out, _ = run(capsys, "soclib", "--trace", CAPTURE, "--rate", "8Gb/s", "--set", "processors=7")
    heading, latency, *_ = out.splitlines()
    assert status == 0
    assert heading.startswith("soclib: 126 packets: ")
    assert latency.startswith("latency: mean ")


@pytest.mark.parametrize(
    ("more", "told"),
    [
        (("--speed", "2", "--rate", "1Gb/s"), "--rate and --speed"),
        (("--speed", "0"), "--speed"),
        (("--by-resource",), "there is no --out"),
    ],
)
def test_what_does_not_fit_together_is_refused(capsys, more, told):
    status, _, err = run(capsys, "ixp2400", "--trace", CAPTURE, *more)
    assert status == 2
    assert told in err


def test_a_damaged_capture_is_run_up_to_the_damage(capsys, tmp_path):
    with open(CAPTURE, "rb") as file:
        (tmp_path / "cut.pcap").write_bytes(file.read()[:-7])
    status, out, err = run(capsys, "ixp2400", "--trace", tmp_path / "cut.pcap")
    assert status == 3
    assert out.startswith("ixp2400: 125 packets: ")
    assert "the packets before it were run" in err
