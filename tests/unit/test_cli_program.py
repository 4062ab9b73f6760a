"""`npexplore program`: what it prints and writes, contents of maps from files, bad input in one line."""

import json

import numpy as np
import pandas as pd
import pytest
from reference.ebpf_kernel import FOLDER

import npexplore as npx
from npexplore.cli import main, packet_program
from npexplore.packets.frames import read_frames, write_frames
from npexplore.packets.writing import write_packets

TABLES = str(FOLDER / "tables.o")
FRAMES = [bytes(12) + b"\x08\x00\x45" + bytes(11) + bytes([10, 0, 0, 1, 10, 1, 2, n]) + bytes(30) for n in (3, 4, 3)]


@pytest.fixture
def trace(tmp_path):
    write_frames(tmp_path / "t.pcap", [*FRAMES, bytes(10)], [10**18 + n for n in range(4)])
    return str(tmp_path / "t.pcap")


def test_run_writes_captures_rows_maps_and_a_listing(tmp_path, trace, capsys):
    routes = tmp_path / "routes.txt"
    routes.write_text("10.0.0.0/8 7 # all\n10.1.2.3/32 le32:9\n")
    words = [
        "--section",
        "route",
        "--trace",
        trace,
        "--map",
        f"routes={routes}",
        "--out",
        str(tmp_path / "out"),
        "--json",
    ]
    assert main(["program", "run", TABLES, *words]) == 0
    document = json.loads(capsys.readouterr().out)
    assert (document["verdicts"], document["faults"]) == ({"pass": 1, "tx": 3}, [])
    assert sum(one["packets"] for one in document["paths"]) == document["packets"] == 4
    assert [data[5] for _, data in read_frames(tmp_path / "out/tx.pcap")] == [9, 7, 9]
    assert [data for _, data in read_frames(tmp_path / "out/pass.pcap")] == [bytes(10)]
    rows = pd.read_parquet(tmp_path / "out/packets.parquet")
    assert rows["instructions"].max() == document["instructions"]["max"]
    after = (tmp_path / "out/routes.after.txt").read_text()
    assert after == (tmp_path / "out/routes.before.txt").read_text()
    assert "hex:200000000a010203 hex:09000000" in after
    assert "<code>tables.c:" in (tmp_path / "out/lines.html").read_text()
    again = npx.program(TABLES, "route").run(npx.read_capture(trace))
    assert again.verdicts == {"drop": 3, "pass": 1}


def test_cut_packets_are_told(tmp_path, capsys):
    rows = np.zeros((3, 60), np.uint8)
    lengths, captured = np.array([60, 1500, 90], np.int64), np.array([60, 60, 60], np.int64)
    write_packets(tmp_path / "cut.pcap", np.arange(3), rows, captured, lengths)
    words = ["--section", "by_length", "--trace", str(tmp_path / "cut.pcap"), "--out", str(tmp_path), "--json"]
    assert main(["program", "run", str(FOLDER / "filters.o"), *words]) == 0
    told = capsys.readouterr()
    assert json.loads(told.out)["cut_packets"] == 2
    assert "the snap length cut 2 of 3 packets, by 1,470 bytes; the program saw their captured bytes alone" in told.err
    assert pd.read_parquet(tmp_path / "packets.parquet")["missing_bytes"].tolist() == [0, 1440, 30]
    words = ["--section", "by_length", "--trace", str(tmp_path / "cut.pcap")]
    assert main(["program", "cost", str(FOLDER / "filters.o"), *words]) == 0
    assert "the snap length cut 2 of 3 packets" in capsys.readouterr().err


def test_paths_have_examples(tmp_path, trace, capsys):
    words = ["--section", "flow_table", "--trace", trace, "--out", str(tmp_path), "--json"]
    assert main(["program", "paths", TABLES, *words]) == 0
    paths = json.loads(capsys.readouterr().out)["paths"]
    assert [data for _, data in read_frames(tmp_path / "paths.pcap")] == [
        [*FRAMES, bytes(10)][one["example"]] for one in paths
    ]


def test_texts_for_people(trace, capsys):
    assert main(["program", "run", TABLES, "--section", "route", "--trace", trace]) == 0
    assert main(["program", "list", TABLES]) == 0
    text = capsys.readouterr().out
    assert "tables.c:" in text
    assert "map_delete_elem 1" in text


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--section", "route", "--map", "routes"], "--map must be NAME=FILE, got 'routes'"),
        (["--section", "route", "--map", "rooutes=x"], "map 'rooutes' is unknown (nearest: routes)"),
        (["--section", "route", "--map", "routes={trace}"], "must be text in UTF-8, got byte 0x"),
        (["--section", "route", "--map", "routes={map}"], "line 1: key has 8 bytes, '10.0.0.1' is 4"),
        (["--section", "route", "--map", "routes={twice}"], "line 2: key '10.0.0.0/8' stands twice"),
        (["--section", "route", "--memory", "100 Hz"], "--memory must be in bytes"),
        ([], "has several programs"),
    ],
)
def test_bad_input_is_one_line(words, message, tmp_path, trace, capsys):
    (tmp_path / "map.txt").write_text("10.0.0.1 5\n")
    (tmp_path / "twice.txt").write_text("10.0.0.0/8 5\n10.0.0.0/8 6\n")
    filled = [word.format(trace=trace, map=tmp_path / "map.txt", twice=tmp_path / "twice.txt") for word in words]
    assert main(["program", "run", TABLES, "--trace", trace, *filled]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert message in line


def test_a_text_tells_how_many_paths_it_leaves_out(monkeypatch):
    run = npx.program(FOLDER / "filters.o", "by_length").run([bytes(60), bytes(1000), bytes(60)])
    for shown, more in ((len(run.paths) - 1, "\n1 more paths"), (len(run.paths), "")):
        monkeypatch.setattr(packet_program, "SHOWN", shown)
        text = packet_program._paths(run)
        assert ("more paths" in text, text.endswith(more)) == (bool(more), True)
