"""`npexplore trace stats`: fields, exit status, standard input, one-line errors."""

import io
import json
import sys

import pytest
from reference import capture_files as make

from npexplore.cli import main
from npexplore.paths import share

WIKIPEDIA = share("data", "captures", "zeek_wikipedia.pcap")


def run(capsys, *arguments):
    status = main(["trace", "stats", *map(str, arguments)])
    out = capsys.readouterr()
    return status, out.out, out.err


def test_json_document(capsys):
    status, out, err = run(capsys, WIKIPEDIA, "--json")
    document = json.loads(out)
    assert status == 0
    assert err == ""
    assert document["file"] == str(WIKIPEDIA)
    assert document["packets"] == 136
    assert document["max_time_ns"] == 1300475173475401000
    assert document["damage"] is None
    assert document["narrow_accesses"]["cell_bytes"] == 64
    whole = json.loads(run(capsys, WIKIPEDIA, "--json", "--cell-bytes", 1)[1])
    assert whole["narrow_accesses"] == {"cell_bytes": 1, "share": 0}


def test_table_for_people(capsys):
    status, out, _ = run(capsys, WIKIPEDIA)
    assert status == 0
    assert "2011-03-18T19:06:07.096535000" in out
    assert "narrow accesses, 64-byte cells" in out
    assert "narrow accesses, 128-byte cells" in run(capsys, WIKIPEDIA, "--cell-bytes", 128)[1]


def test_damaged_file_is_status_3_with_what_was_readable(capsys, tmp_path):
    path = tmp_path / "cut.pcap"
    path.write_bytes(WIKIPEDIA.read_bytes()[:5000])
    status, out, err = run(capsys, path, "--json")
    document = json.loads(out)
    assert status == 3
    assert document["packets"] == 29
    assert document["damage"] == {"offset": 4997, "message": "a record needs 16 bytes, the file has 3 more"}
    assert len(err.splitlines()) == 1


def test_empty_capture_is_status_0(capsys, tmp_path):
    path = tmp_path / "empty.pcap"
    path.write_bytes(make.pcap_header())
    status, out, _ = run(capsys, path, "--json")
    assert status == 0
    assert json.loads(out)["packets"] == 0
    assert run(capsys, path)[0] == 0


@pytest.mark.parametrize("content", [None, b"", b"no capture at all"])
def test_unreadable_input_is_status_2_in_one_line(capsys, tmp_path, content):
    path = tmp_path / "input"
    if content is not None:
        path.write_bytes(content)
    status, out, err = run(capsys, path, "--json")
    assert status == 2
    assert out == ""
    assert len(err.splitlines()) == 1
    assert str(path) in err


def test_standard_input(capsys, monkeypatch):
    class Pipe:
        buffer = io.BytesIO(WIKIPEDIA.read_bytes())

    monkeypatch.setattr(sys, "stdin", Pipe)
    status, out, _ = run(capsys, "-", "--json")
    assert status == 0
    assert json.loads(out)["bytes"] == 25260


def test_workers_change_nothing(capsys):
    path = share("data", "captures", "zeek_modbus_modbusBig.pcap.gz")
    assert run(capsys, path, "--json", "--workers", 2)[1] == run(capsys, path, "--json")[1]
