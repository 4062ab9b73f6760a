"""File names that are no UTF-8: every command reads and writes them, and tells them as text that anything takes."""

import io
import json
import os
import re
import shutil
import sys

import pyarrow.parquet as pq
import pytest

import npexplore
from npexplore.cli import main
from npexplore.errors import InputError, shown
from npexplore.paths import share

CAPTURE = share("data", "captures", "zeek_wikipedia.pcap")


def odd(name):
    return os.fsdecode(name.encode("latin-1"))


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    shutil.copy(CAPTURE, odd("café.pcap"))
    shutil.copy(share("models", "routers", "office_routes.txt"), ".")
    shutil.copy(share("models", "routers", "office.toml"), odd("büro.toml"))
    with open(odd("zugriffé.csv"), "w") as file:
        file.write("order,bank,bytes,write\n0,0,64,1\n1,1,64,0\n")
    return tmp_path


@pytest.mark.parametrize(
    ("name", "text"),
    [("plain.pcap", "plain.pcap"), ("café", "café"), ("caf\udce9", r"caf\xe9"), ("\ud800", r"\ud800")],
)
def test_names_as_text(name, text):
    assert shown(name) == text
    text.encode()


def test_an_error_is_told_as_text():
    assert str(InputError("caf\udce9: is none")) == r"caf\xe9: is none"


@pytest.mark.parametrize(
    ("arguments", "written"),
    [
        (["trace", "stats", "café.pcap"], None),
        (["trace", "stats", "café.pcap", "--json"], None),
        (["trace", "report", "café.pcap", "-o", "é.html"], "é.html"),
        (["trace", "convert", "café.pcap", "é.parquet"], "é.parquet"),
        (["trace", "convert", "café.pcap", "é.pcapng"], "é.pcapng"),
        (["route", "--config", "büro.toml", "--in", "campus=café.pcap", "--out", "é", "--report", "é.html",
          "--drops", "é.csv", "--json"], "é.html"),
        (["explain", "ixp2400", "--trace", "café.pcap", "--html", "é.html", "--no-sensitivity", "--json"], "é.html"),
        (["sweep", "ixp2400", "--trace", "café.pcap", "--solver", "bounds", "--out", "é.parquet"], "é.parquet"),
        (["sweep", "ixp2400_dram", "--trace", "zugriffé.csv", "--solver", "bounds", "--out", "é.parquet", "--json"],
         "é.parquet"),
    ],
    ids=lambda value: "-".join(value[:2]) if isinstance(value, list) else "",
)  # fmt: skip
def test_commands_take_them(arguments, written, folder, monkeypatch):
    out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8", errors="strict") for _ in range(2))
    monkeypatch.setattr(sys, "stdout", out)
    monkeypatch.setattr(sys, "stderr", err)
    status = main([odd(argument) for argument in arguments])
    told = [(stream.flush(), stream.buffer.getvalue().decode())[1] for stream in (out, err)]
    assert status == 0, told
    if "--json" in arguments:
        json.dumps(json.loads(told[0]), ensure_ascii=False).encode()  # no lone surrogate in it
    if written is None:
        assert r"caf\\xe9.pcap" in told[0] if "--json" in arguments else r"caf\xe9.pcap" in told[0]
    else:
        assert os.path.getsize(odd(written)) > 0
    if written is not None and written.endswith(".html"):
        with open(odd(written), encoding="utf-8") as page:
            assert {r"caf\xe9.pcap", r"b\xfcro"} & set(re.findall(r"caf\\xe9\.pcap|b\\xfcro", page.read()))


def test_a_sweep_goes_on_in_such_a_file(folder, capsys):
    again = ["sweep", "ixp2400", "--packet-bytes", "64", "--solver", "bounds", "--out", odd("é.parquet")]
    assert main(again) == main([*again, "--resume"]) == 0
    with open(odd("é.parquet"), "rb") as file:
        assert pq.read_table(file).num_rows == 1


def test_a_missing_one_is_told(folder, capsys):
    assert main(["trace", "stats", odd("né.pcap")]) == 2
    assert capsys.readouterr().err == r"npexplore: n\xe9.pcap: cannot be read: No such file or directory" + "\n"


def test_what_is_shown_of_a_capture_is_text(folder):
    capture = npexplore.read_capture(odd("café.pcap"))
    for text in (repr(capture), capture._repr_html_(), npexplore.workload(capture).name):
        assert r"caf\xe9.pcap" in text
        text.encode()
