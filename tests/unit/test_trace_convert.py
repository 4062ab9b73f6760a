"""`npexplore trace convert`: Parquet that others read, captures of other kinds, errors in one line."""

import json

import pandas as pd
import pyarrow.parquet as pq
import pytest
from reference import capture_files as make

from npexplore.cli import main
from npexplore.packets import read_capture
from npexplore.packets.parquet import convert
from npexplore.paths import share

WIKIPEDIA = share("data", "captures", "zeek_wikipedia.pcap")


def run(*arguments):
    return main(["trace", "convert", *map(str, arguments)])


def test_parquet_has_the_capture_columns(tmp_path):
    target = tmp_path / "t.parquet"
    assert run(WIKIPEDIA, target) == 0
    table, columns = pd.read_parquet(target), read_capture(WIKIPEDIA).columns
    for name in (
        "t_ns",
        "length",
        "captured",
        "src",
        "dst",
        "sport",
        "dport",
        "ttl",
        "l3_length",
        "dscp",
        "ipv4",
        "df",
    ):
        assert table[name].tolist() == columns[name].tolist(), name
    assert table["time"].iloc[0] == pd.Timestamp("2011-03-18T19:06:07.096535Z")
    assert table["vlan_id"].isna().all()
    assert table["src6"].notna().tolist() == columns["ipv6"].tolist()
    assert table["src6"].dropna().iloc[0] == columns.ipv6.source[0].tobytes()


def test_parquet_says_where_it_came_from_and_is_compressed(tmp_path):
    target = tmp_path / "t.parquet"
    run(WIKIPEDIA, target, "--where", "ipv4")
    file = pq.ParquetFile(target)
    origin = json.loads(file.metadata.metadata[b"npexplore"])
    assert origin["file"] == str(WIKIPEDIA)
    assert origin["format"] == "pcap"
    assert origin["where"] == "ipv4"
    assert origin["interfaces"][0]["link_type_name"] == "ETHERNET"
    assert file.metadata.num_rows == 121
    assert file.metadata.row_group(0).column(0).compression == "ZSTD"


def test_row_groups_are_bounded(tmp_path, monkeypatch):
    monkeypatch.setattr("npexplore.packets.parquet.GROUP_PACKETS", 40_000)
    (tmp_path / "in").write_bytes(make.pcap([(n, 0, b"x", None) for n in range(100_000)]))
    rows, damage = convert(tmp_path / "in", tmp_path / "t.parquet", workers=2)
    groups = pq.ParquetFile(tmp_path / "t.parquet").metadata
    assert rows == groups.num_rows == 100_000
    assert damage is None
    assert groups.num_row_groups >= 2
    assert pd.read_parquet(tmp_path / "t.parquet")["t_ns"].is_monotonic_increasing


@pytest.mark.parametrize("data", [make.pcap([]), make.section()])
def test_empty_capture_is_an_empty_table(tmp_path, data):
    (tmp_path / "in").write_bytes(data)
    assert run(tmp_path / "in", tmp_path / "t.parquet") == 0
    assert len(pd.read_parquet(tmp_path / "t.parquet")) == 0


def test_packets_without_time_are_null(tmp_path):
    (tmp_path / "in").write_bytes(make.section() + make.interface() + make.simple(b"abc"))
    run(tmp_path / "in", tmp_path / "t.parquet")
    table = pd.read_parquet(tmp_path / "t.parquet")
    assert table["time"].isna().all()
    assert table["t_ns"].isna().all()


@pytest.mark.parametrize(
    ("name", "options", "form"),
    [("o.pcap", [], "pcap-ns"), ("o.pcap", ["--microseconds"], "pcap"), ("o.pcapng", [], "pcapng")],
)
def test_captures_by_the_ending_of_the_output(tmp_path, capsys, name, options, form):
    assert run(WIKIPEDIA, tmp_path / name, "--where", "ip_proto == 6", "--snaplen", 54, *options) == 0
    capture = read_capture(tmp_path / name)
    assert capture.format == form
    assert len(capture) == 78
    assert capture.columns["captured"].max() == 54
    assert "78 packets" in capsys.readouterr().err


def test_anonymise_with_a_key_file(tmp_path):
    (tmp_path / "key").write_bytes(bytes(range(32)))
    assert run(WIKIPEDIA, tmp_path / "o.pcap", "--anonymise", tmp_path / "key") == 0
    assert read_capture(tmp_path / "o.pcap").columns["src"].tolist() != read_capture(WIKIPEDIA).columns["src"].tolist()


def test_damaged_input_is_converted_and_status_3(tmp_path, capsys):
    (tmp_path / "in").write_bytes(WIKIPEDIA.read_bytes()[:5000])
    for name in ("t.parquet", "t.pcap"):
        assert run(tmp_path / "in", tmp_path / name) == 3
        assert "offset 4997" in capsys.readouterr().err
    assert len(pd.read_parquet(tmp_path / "t.parquet")) == 29
    assert (
        json.loads(pq.ParquetFile(tmp_path / "t.parquet").metadata.metadata[b"npexplore"])["damage"]["offset"] == 4997
    )


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["missing.pcap", "t.parquet"], "cannot be read"),
        ([WIKIPEDIA, "t.parkett"], "nearest: .parquet"),
        ([WIKIPEDIA, "t.parquet", "--where", "lenght"], "nearest: length"),
        ([WIKIPEDIA, "t.parquet", "--snaplen", "5"], "need a .pcap or .pcapng"),
        ([WIKIPEDIA, "t.pcap", "--anonymise", "nokey"], "nokey"),
    ],
)
def test_errors_are_status_2_in_one_line(tmp_path, capsys, monkeypatch, arguments, words):
    monkeypatch.chdir(tmp_path)
    assert run(*arguments) == 2
    err = capsys.readouterr().err
    assert words in err
    assert len(err.splitlines()) == 1


@pytest.mark.parametrize("name", ["t.parquet", "t.pcap"])
def test_nothing_is_left_of_a_conversion_that_failed(tmp_path, name):
    assert run(WIKIPEDIA, tmp_path / name, "--where", "length > nonsense") == 2
    assert list(tmp_path.iterdir()) == []


def test_a_capture_is_never_written_over_itself(tmp_path, capsys):
    path = tmp_path / "t.pcap"
    path.write_bytes(WIKIPEDIA.read_bytes())
    assert run(path, path, "--snaplen", 20) == 2
    assert "is the input itself" in capsys.readouterr().err
    assert path.read_bytes() == WIKIPEDIA.read_bytes()
