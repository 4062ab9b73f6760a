"""Many captures as one: files, folders and patterns; counted side by side, read one after another; what goes wrong."""

import gzip
import json
import sqlite3
from concurrent.futures import Future, ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import closing
from multiprocessing import get_context

import numpy as np
import pandas as pd
import pytest
from reference import capture_files as make

import npexplore
from npexplore._kernels.capture_headers import HEADER, IPV4
from npexplore.cli import main
from npexplore.errors import InputError
from npexplore.packets import read_capture
from npexplore.packets.columns import STORED, PacketTable
from npexplore.packets.files import CaptureSeries, find_captures
from npexplore.packets.statistics import flow_set, several
from npexplore.packets.statistics.kept import KeptCounts
from npexplore.packets.statistics.several import count_captures
from npexplore.packets.synthetic import Traffic, fit_lengths, fixed_length, poisson_arrivals

EACH = 700
OF_THE_FILES = ("file", "format", "files", "damage")


@pytest.fixture
def folder(tmp_path):
    """Three captures of one traffic, in order of time."""
    rng = np.random.default_rng(1)
    arrivals = poisson_arrivals(3 * EACH, 1e5, rng)
    mix = fit_lengths([fixed_length(40), fixed_length(1500)], mean=600)
    for k, name in enumerate(("a.pcap", "b.pcap", "c.pcap")):
        Traffic.made(arrivals[k * EACH : (k + 1) * EACH], mix, rng).write(tmp_path / name)
    return tmp_path


def stats(capsys, *arguments):
    status = main(["trace", "stats", *map(str, arguments), "--json"])
    out, err = capsys.readouterr()
    return status, json.loads(out) if out else None, err


def without_names(document):
    return {name: value for name, value in document.items() if name not in OF_THE_FILES}


def test_names(folder):
    (folder / ".hidden").write_text("")
    (folder / "inside").mkdir()
    (folder / "[x].pcap").write_text("")
    everything = [str(folder / name) for name in ("[x].pcap", "a.pcap", "b.pcap", "c.pcap")]
    assert find_captures(folder) == everything
    assert find_captures([f"{folder}/?.pcap"]) == everything[1:]
    assert find_captures([folder / "c.pcap", folder / "a.pcap"]) == [everything[3], everything[1]]
    assert find_captures(f"{folder}/[x].pcap") == everything[:1]  # a file of that name is meant before a pattern


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (["{}/none/*.pcap"], "the pattern stands for no files"),
        (["{}/inside"], "the folder has no files"),
        (["{}/a.pcap", "{}/*.pcap"], r"a\.pcap: is named twice"),
        ([], "must be at least one file"),
    ],
)
def test_names_that_mean_nothing(names, message, folder):
    (folder / "inside").mkdir()
    with pytest.raises(InputError, match=message):
        find_captures([name.format(folder) for name in names])


def test_counts_are_those_of_the_merged_capture(folder, tmp_path, capsys):
    whole = tmp_path / "whole"
    whole.mkdir()
    assert main(["trace", "convert", str(folder / "*.pcap"), str(whole / "all.pcap")]) == 0
    status, one, _ = stats(capsys, whole / "all.pcap")
    assert status == 0
    status, many, err = stats(capsys, folder / "*.pcap", "--workers", "2")
    assert (status, err) == (0, "")
    assert one["packets"] == 3 * EACH
    assert without_names(many) == without_names(one)
    assert [row["packets"] for row in many["files"]] == [EACH] * 3


def test_processes_send_the_same_counts(folder):
    paths = find_captures(folder)
    with ThreadPoolExecutor(2) as threads, ProcessPoolExecutor(1, get_context("spawn")) as processes:
        near, far = (count_captures(paths, pool, slots=2).document("f") for pool in (threads, processes))
    assert near == far


@pytest.mark.filterwarnings("always:.*begun anew")
def test_finished_files_are_kept(folder, capsys, monkeypatch):
    keep, begun = folder / "kept", []
    whole = stats(capsys, folder / "*.pcap")[1]
    count = several.count_file
    monkeypatch.setattr(several, "count_file", lambda path: (begun.append(path[-6:]), count(path))[1])
    names = [folder / f"{name}.pcap" for name in "abc"]
    assert stats(capsys, *names[:2], "--keep", keep)[0] == 0
    begun.clear()
    data = names[1].read_bytes()
    names[1].write_bytes(data[:-3])  # has changed
    status, _, err = stats(capsys, folder / "*.pcap", "--keep", keep)
    assert (status, sorted(begun), len(err.splitlines())) == (3, ["b.pcap", "c.pcap"], 1)
    names[1].write_bytes(data)
    with closing(sqlite3.connect(keep / "counts.sqlite")) as rows, rows:
        (stored,) = rows.execute("SELECT count(*) FROM counts").fetchone()
        rows.execute("UPDATE counts SET arrays = x'00' WHERE capture = (SELECT min(capture) FROM counts)")
        rows.execute("UPDATE counts SET arrays = x'' WHERE capture = (SELECT max(capture) FROM counts)")
    assert stored == 4  # b.pcap twice
    assert without_names(stats(capsys, folder / "*.pcap", "--keep", keep)[1]) == without_names(whole)
    begun.clear()
    assert without_names(stats(capsys, folder / "*.pcap", "--keep", keep)[1]) == without_names(whole)
    assert begun == []
    (keep / "counts.sqlite").write_bytes(b"broken")
    _, document, err = stats(capsys, folder / "*.pcap", "--keep", keep)
    assert without_names(document) == without_names(whole)
    assert "moved to counts.sqlite.damaged, and begun anew" in err
    assert len(begun) == 3
    (folder / "a file").write_text("")
    assert stats(capsys, *names, "--keep", folder / "a file")[0] == 2


def test_flows_beyond_the_memory_are_a_sketch_of_any_order(monkeypatch):
    monkeypatch.setattr(flow_set, "LG_KEPT", 8)
    rng = np.random.default_rng(1)
    src = np.repeat(np.arange(3000, dtype=np.uint32), 2)

    def counted(parts, most_rows=1024):
        found = flow_set.FlowSet(most_rows)
        for part in parts:
            stored = {name: np.zeros(len(part), dtype) for name, dtype in STORED.items()}
            stored |= {"src": part, "flags": np.full(len(part), IPV4 | HEADER, np.uint16)}
            found.add(PacketTable.of_records(stored, np.array([1], np.uint16)))
        return found

    for fits in (src[: 2 * 768], np.tile(src[: 2 * 768], 2)):
        assert (counted([fits]).count, counted([fits]).bounds) == (768, None)
    assert counted([src[: 2 * 769]]).bounds is not None
    one = counted([src])
    low, high = one.bounds
    assert low < 3000 < high < 3600
    pieces = [counted([part]) for part in np.split(rng.permutation(src), [700, 2000, 2100])]
    assert [piece.bounds is None for piece in pieces] == [True, False, True, False]
    for order in rng.permuted(np.tile(np.arange(4), (4, 1)), axis=1):
        joined = flow_set.FlowSet(1024)
        for k in order:
            joined.merge(flow_set.FlowSet.of_state(pieces[k].state()))
        assert (joined.count, joined.bounds) == (one.count, one.bounds)


@pytest.mark.parametrize("first_rows", [4, 64, 4096])
def test_flows_are_found_again_however_often_the_table_has_grown(first_rows, monkeypatch):
    """Every flow comes twice, before and behind each growth: a key that cannot be found would count twice."""
    monkeypatch.setattr(flow_set, "FIRST_ROWS", first_rows)
    rng = np.random.default_rng(26)
    for count in (3, 12, 300, 7000, 20_000):
        src = np.unique(rng.integers(0, 2**32, 2 * count, dtype=np.uint32))[:count]
        order = rng.integers(0, np.arange(1, 2 * count + 1)) % count  # early ones come again and again
        found = flow_set.FlowSet()
        for part in np.array_split(np.concatenate([src[order], src, src[::-1]]), 7):
            stored = {name: np.zeros(len(part), dtype) for name, dtype in STORED.items()}
            stored |= {"src": part, "flags": np.full(len(part), IPV4 | HEADER, np.uint16)}
            found.add(PacketTable.of_records(stored, np.array([1], np.uint16)))
        assert found.count == count
        assert sorted(found.state()["flows"][:, 0].tolist()) == sorted(int(one) << 32 for one in src)


def test_a_file_that_is_gone_or_broken_is_told_and_the_rest_counted(folder, capsys):
    data = (folder / "b.pcap").read_bytes()
    (folder / "b.pcap").write_bytes(data[:-3])
    (folder / "text.pcap").write_text("no capture")
    status, document, err = stats(capsys, *(folder / f"{name}.pcap" for name in ("a", "b", "gone", "text", "c")))
    assert status == 3
    assert document["packets"] == 3 * EACH - 1
    assert [bool(row["error"]) for row in document["files"]] == [False, False, True, True, False]
    lines = err.splitlines()
    assert [name in line for name, line in zip(("b.pcap", "gone.pcap", "text.pcap"), lines, strict=True)] == [True] * 3
    assert document["damage"]["offset"] == document["files"][1]["damage"]["offset"] > 0


def test_no_file_at_all_is_an_error(folder, capsys):
    status, document, err = stats(capsys, folder / "gone1", folder / "gone2")
    assert (status, document, len(err.splitlines())) == (2, None, 1)


def test_a_file_that_vanishes_midway(folder):
    """It is there when the names are looked up, and gone when its turn comes."""
    paths = find_captures(folder)

    class Late:
        def submit(self, function, some):
            if any(path.endswith("b.pcap") for path in some):
                (folder / "b.pcap").unlink()
            future = Future()
            future.set_result(function(some))
            return future

    found = count_captures(paths, Late())
    assert found.counts.packets == 2 * EACH
    assert [file.trouble is None for file in found.files] == [True, False, True]


def test_a_file_that_vanishes_once_it_is_counted(folder):
    """There is nothing to keep its counts by; they count all the same."""
    paths = find_captures(folder)

    class Removes:
        def submit(self, function, path):
            future = Future()
            future.set_result(function(path))
            (folder / "b.pcap").unlink(missing_ok=True) if path.endswith("b.pcap") else None
            return future

    with closing(KeptCounts(folder / "kept")) as kept:
        found = count_captures(paths, Removes(), store=kept)
        assert found.counts.packets == 3 * EACH
        assert [kept.find(path) is None for path in paths] == [False, True, False]


def test_a_worker_without_the_file(folder, tmp_path_factory, monkeypatch):
    """As one of another computer: names that begin in this folder mean nothing in its own."""
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    monkeypatch.chdir(folder)

    class Worker:
        def submit(self, function, some):
            monkeypatch.chdir(elsewhere if some == ["b.pcap"] else folder)
            future = Future()
            future.set_result(function(some))
            monkeypatch.chdir(folder)
            return future

    found = count_captures(["a.pcap", "b.pcap", "gone.pcap"], Worker())
    assert found.counts.packets == EACH
    whole, unseen, gone = (file.trouble for file in found.files)
    assert whole is None
    assert unseen == "b.pcap: is here, but not where the worker looks: workers must see the files under the same names"
    assert gone.startswith("gone.pcap: cannot be read: ")


def test_clocks_and_link_types_are_told(folder, capsys):
    (folder / "raw.pcap").write_bytes(make.pcap([(1, 0, bytes(20), 20)], link=101))
    status, document, err = stats(capsys, folder / "b.pcap", folder / "a.pcap", folder / "raw.pcap")
    assert status == 0
    assert document["burstiness"]["backwards_steps"] == 1
    assert sorted(document["link_types"].values()) == [1, 2 * EACH]
    clocks, links = sorted(err.splitlines(), key=lambda line: "begins" not in line)
    assert "a.pcap begins" in clocks
    assert "2 link types" in links


def test_several_are_read_as_one(folder, capsys):
    whole = read_capture(folder)
    assert len(whole) == 3 * EACH
    assert len(whole.interfaces) == 1  # alike in all files
    parts = [read_capture(path) for path in find_captures(folder)]
    for name in ("t_ns", "length", "src", "dst", "sport"):
        assert (whole.columns[name] == np.concatenate([part.columns[name] for part in parts])).all()
    load = npexplore.workload(trace=[folder / "a.pcap", folder / "b.pcap"])
    assert (load.name, len(load.packet_bytes)) == ("a.pcap, b.pcap", 2 * EACH)


def test_interfaces_of_a_mixed_series(folder, tmp_path):
    (folder / "d.pcap").write_bytes(make.pcap([(1, 0, bytes(20), 20)], link=101))
    series = CaptureSeries(find_captures(folder))
    links = [table["link_type"].tolist() for table in series]
    assert links == [[1] * EACH] * 3 + [[101]]
    out = tmp_path / "out.pcapng"
    assert main(["trace", "convert", str(folder / "a.pcap"), str(folder / "d.pcap"), str(out)]) == 0
    assert read_capture(out).columns["link_type"].tolist() == [1] * EACH + [101]


def test_writing_in_threads_gives_the_bytes_of_one_pass(folder, tmp_path):
    """Anonymised and filtered: of the merged capture, of its parts, in one thread and in two."""
    key, whole = tmp_path / "key", tmp_path / "whole.pcap"
    key.write_bytes(bytes(range(32)))
    assert main(["trace", "convert", str(folder / "*.pcap"), str(whole)]) == 0
    whole.rename(folder / "whole.d")
    asked = ["--anonymise", str(key), "--where", "length > 40 and interface == 0"]
    for name, end, options in (("a", "pcap", asked), ("b", "parquet", asked[2:])):
        written = []
        for number, (source, workers) in enumerate([("whole.d", 1), ("whole.d", 2), ("?.pcap", 1), ("?.pcap", 2)]):
            out = tmp_path / f"{name}{number}.{end}"
            assert main(["trace", "convert", str(folder / source), str(out), "--workers", str(workers), *options]) == 0
            written.append(out.read_bytes() if end == "pcap" else pd.read_parquet(out).drop(columns="position"))
        assert len(written[0]) > EACH
        if end == "pcap":
            assert written.count(written[0]) == 4
        else:
            for other in written[1:]:
                pd.testing.assert_frame_equal(other, written[0])


def test_progress_goes_by_bytes(folder):
    (folder / "d.pcap.gz").write_bytes(gzip.compress((folder / "a.pcap").read_bytes()))
    series = CaptureSeries([*find_captures(folder), folder / "gone"])
    read = [series.bytes_read for _ in series]
    sizes = [path.stat().st_size for path in sorted(folder.iterdir())]
    assert [*dict.fromkeys(read)] == np.cumsum(sizes).tolist()
    assert series.bytes_read == series.bytes_total == sum(sizes)


def test_reading_goes_on_behind_a_file_that_cannot_be_read(folder, tmp_path, capsys):
    (folder / "b.pcap").unlink()
    names = [str(folder / f"{name}.pcap") for name in "abc"]
    assert main(["trace", "convert", *names, str(tmp_path / "out.parquet")]) == 3
    note, warning = capsys.readouterr().err.splitlines()
    assert f"{2 * EACH:,} packets" in note
    assert "b.pcap: cannot be read" in warning
    assert main(["trace", "report", *names, "-o", str(tmp_path / "out.html")]) == 3
    assert "a.pcap, b.pcap, c.pcap" in (tmp_path / "out.html").read_text()


@pytest.mark.parametrize(
    ("sizes", "slots", "wanted"),
    [
        ([5] * 8, 2, [2, 2, 1, 1, 1, 1]),
        ([5] * 3, 8, [1, 1, 1]),  # no fewer tasks than workers can do at once
        ([1, 1, 1, 90, 1, 1, 1], 2, [3, 1, 1, 1, 1]),  # small ones together, a large one alone
        ([0, 0, 0, 0], 2, [4]),  # nothing to read, whatever is wrong with them
        ([several.TASK_BYTES // 2] * 9, 1, [2, 2, 2, 2, 1]),
        ([], 2, []),
    ],
)
def test_files_that_are_one_task(sizes, slots, wanted):
    assert several.tasks(sizes, slots) == wanted


@pytest.mark.parametrize("slots", [1, 2, 9])
def test_counts_do_not_depend_on_what_is_one_task(folder, slots):
    """Nor on a file among them that breaks off, is empty of packets or is none."""
    whole = (folder / "b.pcap").read_bytes()
    (folder / "cut.pcap").write_bytes(whole[:-3])
    (folder / "empty.pcap").write_bytes(whole[:24])
    (folder / "text.pcap").write_text("no capture")
    for order in (1, -1):
        paths = find_captures(folder)[::order]
        kept = folder.parent / f"kept{order}"
        with ThreadPoolExecutor(2) as threads:
            with closing(KeptCounts(kept)) as stored:
                apart = count_captures(paths, threads, slots=slots, store=stored)
            found = count_captures(paths, threads, slots=slots)
        assert found.document("f") == apart.document("f")
        assert [file.path for file in found.files] == paths
        assert sum(file.packets for file in found.files) == found.counts.packets == 4 * EACH - 1


def test_a_folder_of_other_files_is_told_in_one_line(tmp_path):
    for k in range(12):
        (tmp_path / f"{k:02}.txt").write_text("no capture")
    (tmp_path / "z.pcap").write_bytes(make.pcap([(0, 0, make.ethernet(make.ipv4(make.udp())), None)]))
    capture = read_capture(tmp_path)
    assert (len(capture), capture.file_packets[-1]) == (1, 1)
    assert "12 of 13 files are damaged or no captures, first" in str(capture.damage)
    assert "00.txt" in str(capture.damage)
    assert capture.path.endswith("07.txt, and 5 more")
