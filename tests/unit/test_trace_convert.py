"""`npexplore trace convert`: Parquet that others read, captures of other kinds, errors in one line."""

import json
from itertools import pairwise

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from reference import capture_files as make

from npexplore.cli import main
from npexplore.packets import read_capture
from npexplore.packets.parquet import convert_to_parquet
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


@pytest.fixture
def small_groups(monkeypatch):
    monkeypatch.setattr("npexplore.packets.parquet.GROUP_PACKETS", 1000)
    monkeypatch.setattr("npexplore.packets.parquet.WINDOW_PACKETS", 2000)


def groups(path):
    """Return (rows, least t_ns, greatest t_ns) of each row group, as the statistics in the file say."""
    file = pq.ParquetFile(path).metadata
    at = pq.ParquetFile(path).schema_arrow.names.index("t_ns")
    found = [file.row_group(k) for k in range(file.num_row_groups)]
    return [(g.num_rows, g.column(at).statistics.min, g.column(at).statistics.max) for g in found]


def order_of(path):
    return json.loads(pq.ParquetFile(path).metadata.metadata[b"npexplore"])["order"]


def test_row_groups_are_bounded_and_tell_their_times(tmp_path, small_groups):
    (tmp_path / "in").write_bytes(make.pcap([(n, 0, b"x", None) for n in range(100_500)]))
    rows, damage = convert_to_parquet(tmp_path / "in", tmp_path / "t.parquet", workers=2)
    assert rows == 100_500
    assert damage is None
    expected = [
        (min(1000, 100_500 - s), s * 10**9, (min(s + 1000, 100_500) - 1) * 10**9) for s in range(0, 100_500, 1000)
    ]
    assert groups(tmp_path / "t.parquet") == expected
    assert order_of(tmp_path / "t.parquet") == {"by": "time", "window_packets": 2000, "late_packets": 0}


def test_rows_are_sorted_by_time_within_the_window(tmp_path, small_groups):
    rng = np.random.default_rng(1)
    seconds = np.arange(60_000) + rng.integers(0, 500, 60_000)
    (tmp_path / "in").write_bytes(make.pcap([(int(n), 0, b"x", None) for n in seconds]))
    convert_to_parquet(tmp_path / "in", tmp_path / "t.parquet")
    table = pd.read_parquet(tmp_path / "t.parquet")
    assert (table["t_ns"] // 10**9).tolist() == sorted(seconds.tolist())
    assert order_of(tmp_path / "t.parquet")["late_packets"] == 0
    bounds = groups(tmp_path / "t.parquet")
    assert all(before[2] <= after[1] for before, after in pairwise(bounds))
    in_file_order = table.sort_values("position")["t_ns"] // 10**9
    assert in_file_order.tolist() == seconds.tolist()


def test_packets_later_than_the_window_are_counted_and_kept(tmp_path, small_groups):
    seconds = [*range(1000, 70_000), 5, 6, *range(70_000, 80_000)]
    (tmp_path / "in").write_bytes(make.pcap([(n, 0, b"x", None) for n in seconds]))
    convert_to_parquet(tmp_path / "in", tmp_path / "t.parquet")
    found = pd.read_parquet(tmp_path / "t.parquet")["t_ns"] // 10**9
    assert sorted(found.tolist()) == sorted(seconds)
    assert order_of(tmp_path / "t.parquet")["late_packets"] == 2
    assert sum(low == 5 * 10**9 for _, low, _ in groups(tmp_path / "t.parquet")) == 1


def test_a_filter_by_time_reads_the_row_groups_it_needs(tmp_path, small_groups):
    import pyarrow.dataset as ds

    path = tmp_path / "t.parquet"
    (tmp_path / "in").write_bytes(make.pcap([(n, 0, b"x", None) for n in range(50_000)]))
    convert_to_parquet(tmp_path / "in", path)
    low, high = 20_100 * 10**9, 21_900 * 10**9
    wanted = (ds.field("t_ns") >= low) & (ds.field("t_ns") < high)
    (fragment,) = ds.dataset(path).get_fragments(wanted)
    assert [group.id for group in fragment.subset(wanted).row_groups] == [20, 21]
    times = (ds.field("time") >= pa.scalar(low, pa.timestamp("ns", "UTC"))) & (
        ds.field("time") < pa.scalar(high, pa.timestamp("ns", "UTC"))
    )
    assert [group.id for group in fragment.subset(times).row_groups] == [20, 21]
    found = pd.read_parquet(path, filters=[("t_ns", ">=", low), ("t_ns", "<", high)])
    assert len(found) == 1800


def test_packets_without_time_stay_behind_their_neighbours(tmp_path):
    parts = [make.section(), make.interface(resolution=9), make.simple(b"0")]
    parts += [make.enhanced(b"9", 9), make.simple(b"99"), make.enhanced(b"5", 5), make.simple(b"5555")]
    (tmp_path / "in").write_bytes(b"".join(parts))
    convert_to_parquet(tmp_path / "in", tmp_path / "t.parquet")
    table = pd.read_parquet(tmp_path / "t.parquet")
    assert table["length"].tolist() == [1, 1, 4, 1, 2]
    assert table["t_ns"].isna().tolist() == [True, False, True, False, True]


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
        ([WIKIPEDIA, "t.pcapng", "--microseconds"], "--microseconds needs a .pcap output"),
        ([WIKIPEDIA, "t.pcap", "--keep-payload"], "there is no --anonymise KEYFILE"),
        ([WIKIPEDIA, "t.pcap", "--where", " "], "--where is empty"),
        (["t.pcap"], "trace convert IN... OUT needs captures and the file to write, got"),
        ([WIKIPEDIA, "t.pcap", "--anonymise", "nokey"], "nokey"),
        ([WIKIPEDIA, "nowhere/t.pcap"], "nowhere/t.pcap: cannot be written: there is no folder nowhere"),
        ([WIKIPEDIA, "nowhere/t.parquet"], "nowhere/t.parquet: cannot be written: there is no folder nowhere"),
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
