"""Many captures through one machine: each result is that of its own run, and what is finished is never lost."""

import json
from dataclasses import replace
from shutil import copy

import pytest
from reference.dying_executor import DyingExecutor

import npexplore as npx
from npexplore.cli import main
from npexplore.errors import InputError, NpexploreError
from npexplore.golden import load_router
from npexplore.packets.writing import rewrite
from npexplore.solve import packet_router
from npexplore.study import packet_runs, run_each

CAPTURE = npx.bundled_path("data/captures/zeek_wikipedia.pcap")
PARTS = {"mon/a.pcap": "ip_proto == 6", "mon/b.pcap": "ip_proto == 17", "tue/a.pcap": "ipv4"}


@pytest.fixture(scope="module")
def captures(tmp_path_factory):
    """Three captures, two of them with one name."""
    folder = tmp_path_factory.mktemp("captures")
    for name, where in PARTS.items():
        (folder / name).parent.mkdir(exist_ok=True)
        rewrite(CAPTURE, folder / name, where=where)
    return folder


def all_of(captures):
    return [captures / name for name in PARTS]


def contents(folder):
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.fixture
def computed(monkeypatch):
    """The names of captures that are really run."""
    names = []

    def run_captures(runs, before=packet_runs.run_captures):
        names.extend("/".join(run.folder.parts[-2:]) for run in runs)
        return before(runs)

    monkeypatch.setattr(packet_runs, "run_captures", run_captures)
    return names


def test_each_capture_has_the_files_of_its_own_run_bit_for_bit(captures, tmp_path, capsys):
    options = {"seed": 5, "speed": 30_000, "loops": 2, "by_resource": True, "any_station": True, "port": "campus"}
    table = run_each("ixp2400", [captures / "mon", captures / "tue"], tmp_path / "each", workers=2,
                     router=load_router("office"), **options)  # fmt: skip
    assert table.dropped.sum() > 0
    for row, name in zip(table.itertuples(), PARTS, strict=True):
        one = tmp_path / "one" / name
        asked = ["ixp2400", "--seed", "5", "--speed", "30000", "--loops", "2", "--by-resource", "--any-station",
                 "--port", "campus", "--router", "office", "--json"]  # fmt: skip
        assert main(["run", *asked, "--trace", str(captures / name), "--out", str(one)]) == 0
        alone = json.loads(capsys.readouterr().out)
        each = contents(tmp_path / "each" / name)
        document = json.loads(each.pop("run.json"))
        assert each == contents(one)
        assert len(each) > 3
        for key in ("design", "packets", "sent", "dropped", "inside", "ends", "prediction", "loops", "seed"):
            assert document[key] == alone[key], key
        assert all(document["router"][key] == alone["router"][key] for key in ("drops", "ports", "ways"))
        assert (row.capture, row.folder) == (str(captures / name), str(tmp_path / "each" / name))
        ends = [alone[end] for end in ("packets", "sent", "dropped", "inside")]
        assert [row.packets, row.sent, row.dropped, row.inside, row.forwarded, row.latency_p99_ns] == [
            *ends, alone["router"]["forwarded"], alone["prediction"]["latency_ns"]["p99"],
        ]  # fmt: skip
    assert table.attrs["units"]["latency_p99_ns"] == "ns"


def test_a_dead_worker_costs_nothing_that_was_finished(captures, tmp_path, computed):
    whole = run_each("smartnic", all_of(captures), tmp_path / "whole")
    with pytest.raises(NpexploreError, match=r"killed; 2 of 3 captures are finished and kept in "):
        run_each("smartnic", all_of(captures), tmp_path / "out", executor=DyingExecutor(2))
    before = contents(tmp_path / "out")
    computed.clear()
    told = []
    table = run_each("smartnic", all_of(captures), tmp_path / "out", progress=lambda *done: told.append(done))
    assert computed == ["tue/a.pcap"]
    assert told == [(2, 3), (3, 3)]
    assert before.items() <= contents(tmp_path / "out").items()
    assert table.drop(columns="folder").equals(whole.drop(columns="folder"))


def test_stopping_keeps_what_is_finished_and_says_so(captures, tmp_path, monkeypatch, capsys, computed):
    def stopped(points, task, ended, before=packet_runs.run_tasks, **options):
        before(points[:1], task, ended, **options)
        raise KeyboardInterrupt

    ask = ["run", "smartnic", "--each", str(captures / "mon"), "--each", str(captures / "tue" / "*.pcap"),
           "--out", str(tmp_path)]  # fmt: skip
    with monkeypatch.context() as patch:
        patch.setattr(packet_runs, "run_tasks", stopped)
        assert main(ask) == 130
    said = capsys.readouterr().err.splitlines()[-1]
    assert said == f"npexplore: stopped; 1 of 3 captures are finished and kept in {tmp_path}; --resume goes on"
    computed.clear()
    assert main([*ask, "--resume", "--json"]) == 0
    assert computed == ["mon/b.pcap", "tue/a.pcap"]
    document = json.loads(capsys.readouterr().out)
    assert [row["capture"] for row in document["captures"]] == [str(captures / name) for name in PARTS]
    assert main(ask) == 0
    assert len(computed) == 2 + 3  # without --resume all are run again


def full_disk(*arguments, **options):
    raise OSError("the disk is full")


def test_what_a_result_depends_on_is_run_again(captures, tmp_path, monkeypatch, computed):
    mine = tmp_path / "mine"
    mine.mkdir()
    copy(captures / "mon" / "a.pcap", mine)
    design, router, out = npx.design("smartnic"), load_router("office"), tmp_path / "out"

    def runs(of=design, **options):
        computed.clear()
        run_each(of, mine, out, **options)
        return bool(computed)

    assert [runs(), runs(), runs(memory_bytes=1e9)] == [True, False, False]
    assert [runs(design.with_(cores=2)), runs(design.with_(cores=2)), runs()] == [True, False, True]
    for options in ({"seed": 2}, {"speed": 2}, {"rate": "1Gb/s"}, {"loops": 2}, {"by_resource": True},
                    {"router": router}, {"router": replace(router, profile="linux")},
                    {"router": router, "port": "campus"}, {"router": router, "any_station": True}):  # fmt: skip
        assert [runs(**options), runs(**options)] == [True, False], options
    for file in (out / "a.pcap" / "packets.parquet", next((out / "a.pcap" / "ports").iterdir())):
        file.unlink()
        assert runs(**options)
    copy(captures / "tue" / "a.pcap", mine)
    assert [runs(**options), runs(**options)] == [True, False]
    (out / "a.pcap" / "run.json").write_text("{")
    assert runs(**options)
    with monkeypatch.context() as patch:
        patch.setattr(packet_router, "route_run", full_disk)  # by then other files are those of seed 3
        with pytest.raises(OSError, match="disk is full"):
            runs(**options, seed=3)
    assert runs(**options)


def test_a_capture_that_cannot_be_run_is_a_row_with_the_reason(captures, tmp_path, capsys):
    mine, out = tmp_path / "mine", tmp_path / "out"
    mine.mkdir()
    (mine / "a.pcap").write_bytes((captures / "tue" / "a.pcap").read_bytes()[:-7])
    (mine / "b.txt").write_text("no capture")
    assert run_each("smartnic", "sample:zeek_wikipedia", out).sent.tolist() == [126]
    table = run_each("smartnic", [mine, mine / "c.pcap"], out)
    assert table.sent.isna().tolist() == [False, True, True]
    assert table.damage.notna().tolist() == [True, False, False]
    assert "must be pcap" in table.error[1]
    assert not (out / "b.txt" / "run.json").exists()
    assert main(["run", "smartnic", "--each", str(mine), "--out", str(out), "--json"]) == 3
    told = capsys.readouterr()
    assert json.loads(told.out)["captures"][1]["sent"] is None
    assert "the packets before it were run" in told.err
    assert "b.txt: must be pcap" in told.err
    with pytest.raises(InputError, match="must be pcap"):
        run_each("smartnic", mine / "b.txt", out)


def test_what_cannot_be_is_refused_before_anything_runs(captures, tmp_path, computed):
    file = captures / "mon" / "a.pcap"
    with pytest.raises(InputError, match="is named twice"):
        run_each("smartnic", [file, captures / "tue" / ".." / "mon" / "a.pcap"], tmp_path)
    with pytest.raises(InputError, match="is a file, and results would be a folder of this name"):
        run_each("smartnic", file, captures / "mon")
    with pytest.raises(InputError, match="standard input can be read only once"):
        run_each("smartnic", "-", tmp_path)
    with pytest.raises(NpexploreError, match="port 'lan' is unknown"):
        run_each("smartnic", file, tmp_path, router=load_router("office"), port="lan")
    assert computed == []
