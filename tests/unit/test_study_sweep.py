"""Sweeps: a row a point, the same on every executor, and a store that loses and repeats nothing."""

import gc
import multiprocessing
import pickle
import signal
import subprocess
import sys
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
from pandas.testing import assert_frame_equal
from reference.dying_executor import DyingExecutor

import npexplore
import npexplore.designs.prepared
import npexplore.study.sweeping.identity
import npexplore.study.sweeping.rows
from npexplore.designs import design
from npexplore.errors import InputError, NpexploreError
from npexplore.machine.workload import Workload
from npexplore.machine.workload_sources import workload
from npexplore.study.sweeping import executors
from npexplore.study.sweeping.answers import answer_all, solved
from npexplore.study.sweeping.grid import grid
from npexplore.study.sweeping.identity import code_version
from npexplore.study.sweeping.store import Store
from npexplore.study.sweeping.sweep import sweep

LOAD = workload(packet_bytes=64)
FEW = 200  # packets


def points(**knobs):
    return grid("ixp2400", LOAD, seeds=2, **(knobs or {"banks": (4, 8), "threads": (8, 16)}))


def test_machines_of_a_sweep_are_freed_without_the_collector_of_cycles(monkeypatch):
    """Else a sweep of different machines grows by each of them until the collector runs, 6 KB a point."""
    monkeypatch.setattr(npexplore.designs.prepared, "DEMANDS", 1)
    some = grid("ixp2400", LOAD, solver="bounds", banks=(2, 4, 8), scheme=("base", "fcb_tb"))
    npexplore.study.sweeping.rows.answered_rows(some, FEW)
    gc.collect()
    gc.disable()
    try:
        npexplore.study.sweeping.rows.answered_rows(some, FEW)
        assert gc.collect() < 10 * len(some)
    finally:
        gc.enable()


def test_the_collector_of_cycles_rests_for_a_task():
    """After each machine of a sweep it would look through all that was made for it."""
    phases = []
    gc.callbacks.append(lambda phase, about: phases.append(phase))
    try:
        solved(grid("ixp2400", LOAD, banks=(2, 4, 8)), FEW)
    finally:
        gc.callbacks.pop()
    assert phases.count("start") <= 1


def test_rows_of_a_task_are_those_of_its_answers():
    """Columns of a batch and refusals, in the order of the points, and not a bit off."""
    loads = [LOAD.with_arrivals("poisson", rate) for rate in ("1Gb/s", "2Gb/s")]
    several = grid("ixp2400", [LOAD, *loads], solver=("bounds", "queueing"), banks=(2, 4), scheme=("base", "fcb_tb"))
    several += [
        *points()[:2],
        several[0]._replace(
            design=design("ixp2400").with_(scheme="fcb_tb", threads=64, segments="static", segment_bytes=4096)
        ),
    ]
    found = npexplore.study.sweeping.rows.answered_rows(several, FEW).to_pylist()
    for row, answer in zip(found, answer_all(several, FEW), strict=True):
        one = npexplore.study.sweeping.rows.answered(answer)
        assert {name: value for name, value in row.items() if value is not None} == {
            name: value for name, value in one.items() if value is not None
        }
    assert "scratchpad" in found[-1]["refused"]


# ---- grids


def test_a_grid_is_every_combination_the_last_knob_fastest():
    made = grid("ixp2400", [LOAD], solver=("bounds", "simulation"), seeds=(3, 5), banks=(4, 8), scheme="hb")
    assert len(made) == 2 * (1 + 2)
    assert [(p.design.parameters["banks"], p.solver, p.seed) for p in made[:3]] == [
        (4, "bounds", None),
        (4, "simulation", 3),
        (4, "simulation", 5),
    ]
    assert {p.design.parameters["scheme"] for p in made} == {"hb"}


def test_a_value_given_twice_is_one_value():
    assert len(grid("ixp2400", LOAD, knobs={"banks": ["4", 4, 8]})) == 2


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"bank": 4}, "knob of ixp2400 'bank' is unknown \\(nearest: banks"),
        ({"banks": (4, 999)}, "knob banks must be in 1..64, got 999"),
        ({"banks": ()}, "knob banks needs at least one value"),
        ({"solver": "simulate"}, "solver 'simulate' is unknown \\(nearest: simulation"),
        ({"seeds": 0}, "at least one workload, one solver and one seed"),
    ],
)
def test_a_wrong_grid_is_refused_before_anything_runs(options, message):
    with pytest.raises(InputError, match=message):
        grid("ixp2400", LOAD, **options)


# ---- rows


def test_a_row_holds_the_question_and_the_direct_answer():
    design = npexplore.design("ixp2400").with_(banks=8, hash_ns=100)
    rows = sweep([(design, LOAD, "bounds", None), (design, LOAD, "simulation", 3)], packets=FEW)
    direct = [design.bounds(LOAD), design.simulate(LOAD, 3, packets=FEW)]
    for (_, row), p in zip(rows.iterrows(), direct, strict=True):
        assert (row["design"], row["banks"], row["hash_ns"], row["scheme"]) == ("ixp2400", 8, 100.0, "base")
        assert (row["workload_key"], row["version"]) == (LOAD.key, code_version())
        assert (row["solver"], row["bottleneck"], row["counted"]) == (p.solver, p.bottleneck, p.counted)
        assert (row["throughput_bps"], row["rate_mpps"]) == (p.throughput_bps, p.rate_pps / 1e6)
        assert row["latency_mean_ns"] == p.latency_s.mean * 1e9
        assert row["utilization_hash"] == p.utilization["hash"].busy
    assert rows["seed"].tolist()[1] == 3
    assert pd.isna(rows["seed"][0])
    assert rows["refused"].isna().all()


def test_a_design_by_name_with_its_own_workload_needs_none():
    rows = sweep([("ixp2400_dram", None, "bounds", None)])
    assert rows["workload"].tolist() == ["0% narrow accesses"]


def test_what_cannot_be_answered_is_a_row_with_its_reason():
    timed = Workload("two", {"packet_bytes": np.array([64, 64])}, "timestamps", t_ns=np.array([0, 1000]))
    impossible = npexplore.design("ixp2400").with_(scheme="fcb_tb", segment_bytes=4096)
    rows = sweep(
        [(impossible, LOAD, "simulation", 1), ("ixp1200", timed, "queueing", None), ("ixp2400", LOAD, "bounds", None)]
    )
    assert "bytes of scratchpad" in rows["refused"][0]
    assert "recorded arrival times are not a random process" in rows["refused"][1]
    assert pd.isna(rows["refused"][2])
    assert rows["throughput_bps"].isna().tolist() == [True, True, False]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ([], "at least one point"),
        ([("ixp2400", None, "bounds", None)], "needs a workload"),
        ([("ixp1200", workload(packet_bytes=1600), "bounds", None)], "packet_bytes must be in 20..1518"),
        ([("ixp24", LOAD, "bounds", None)], "design 'ixp24' is unknown"),
    ],
)
def test_a_wrong_point_is_refused_before_anything_runs(given, message):
    with pytest.raises(InputError, match=message):
        sweep(given)


def test_the_model_column_changes_with_whatever_describes_the_machine(monkeypatch):
    base = npexplore.design("ixp2400")
    found = sweep([(d, LOAD, "bounds", None) for d in (base, base.with_(hash_ns=1.0), base.with_(hash_ns=147.98))])
    assert found["model"][0] == found["model"][2] != found["model"][1]
    monkeypatch.setattr(npexplore.study.sweeping.identity, "_programs", lambda *functions: b"another program")
    assert sweep([(base, LOAD, "bounds", None)])["model"][0] != found["model"][0]


# ---- any executor


def test_rows_do_not_depend_on_workers_or_order():
    asked = points() + grid("ixp2400", LOAD, solver=("bounds", "queueing"), banks=(4, 8))
    one = sweep(asked, workers=1, packets=FEW)
    assert_frame_equal(sweep(asked, workers=4, packets=FEW), one)
    backwards = sweep(asked[::-1], workers=2, packets=FEW)[::-1].reset_index(drop=True)
    assert_frame_equal(backwards[one.columns], one)


@pytest.mark.slow
def test_threads_wait_for_each_other_no_longer_than_a_tenth_of_what_python_lets_them():
    before = sys.getswitchinterval()
    with executors.pool("threads", 2) as running:
        assert running.submit(sys.getswitchinterval).result() <= before / 10
    assert sys.getswitchinterval() == before


def test_processes_give_the_same_rows():
    asked = points()
    with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("spawn")) as executor:
        assert_frame_equal(sweep(asked, executor=executor, packets=FEW), sweep(asked, workers=1, packets=FEW))


def test_a_design_that_was_sent_twice_is_the_same_machine_there():
    """What a worker made ready for one task serves the next: the copies share their machine file."""
    one, two = (pickle.loads(pickle.dumps(design("ixp2400").with_(banks=banks))) for banks in (2, 8))
    assert one.parameters.file is two.parameters.file
    assert (one.parameters.banks, two.parameters.changed()) == (2, {"banks": 8})
    again = pickle.loads(pickle.dumps(design("ixp2400").with_(banks=2)))
    assert again.demands(LOAD) is one.demands(LOAD)
    other = pickle.loads(pickle.dumps(design("raw")))
    assert other.parameters.file.name == "raw"


def test_a_question_asked_twice_is_answered_once():
    calls = []
    asked = points(banks=(4,))
    rows = sweep(asked + asked, packets=FEW, progress=lambda done, total: calls.append((done, total)))
    assert calls[-1] == (2, 2)
    assert_frame_equal(rows[:2], rows[2:].reset_index(drop=True))


@pytest.mark.slow
def test_a_process_that_dies_costs_nothing_that_was_finished(tmp_path, monkeypatch):
    path, asked = tmp_path / "a.parquet", points()
    monkeypatch.setattr(Store, "commit_interval_s", 0.0)

    def kill_a_child(done, total):
        if done == 3:
            multiprocessing.active_children()[0].kill()

    with pytest.raises(NpexploreError, match=r"a worker died: .*; \d of 8 points are finished and kept"):
        sweep(asked, store=path, packets=FEW, executor="processes", workers=1, progress=kill_a_child)
    assert 3 <= pq.read_metadata(path).num_rows < 8
    assert_frame_equal(sweep(asked, store=path, packets=FEW), sweep(asked, packets=FEW))


def test_a_design_that_cannot_be_sent_is_told_before_it_is():
    base = npexplore.design("ixp2400")
    local = replace(base, build=lambda p: base.build(p))
    with pytest.raises(InputError, match=r"a design cannot be sent to another process \(.*lambda.*\); use threads"):
        sweep([(local, LOAD, "bounds", None)], executor="processes", workers=1)


def test_a_command_answers_in_copies_of_its_process():
    """A design that no other process could import is answered there, and gives the same as in threads."""
    program = """if True:
        import os, npexplore as npx
        from dataclasses import replace
        from npexplore import signals
        from npexplore.study.sweeping.answers import answer_points, run_tasks, takes_long
        from npexplore.study.sweeping.grid import SweepPoint
        design = npx.design("ixp2400")
        local = replace(design, build=lambda p: design.build(p))
        points = [SweepPoint(local, npx.workload(packet_bytes=64), "simulation", seed) for seed in (1, 2, 3)]
        found = {}
        for copies in (False, True):
            if copies:
                signals.take_process()
            answer_points(points, lambda ended: found.setdefault(copies, {}).update(ended), packets=100, workers=2)
        rates = [[one[k].throughput_bps for k in range(3)] for one in found.values()]
        assert rates[0] == rates[1] and len(set(rates[0])) == 3, rates
        pids = []
        run_tasks(points, lambda some: os.getpid(), lambda numbers, pid: pids.append(pid), takes_long=bool, workers=2)
        assert pids and os.getpid() not in pids
        estimates, sizes = [point._replace(solver="estimate") for point in points], []
        run_tasks(estimates, len, lambda numbers, size: sizes.append(size), takes_long=takes_long, workers=2)
        assert sizes == [1, 1, 1], sizes  # each takes as long as many simulations
    """
    subprocess.run([sys.executable, "-W", "error", "-c", program], check=True)


def test_an_executor_and_workers_contradict_each_other():
    with pytest.raises(InputError, match="not both"):
        sweep(points(), executor=DyingExecutor(0), workers=2)
    with pytest.raises(InputError, match="workers must be at least 1, got -1"):
        sweep(points(), workers=-1)


# ---- the store


def counted(monkeypatch):
    """Count the points that are really computed."""
    computed = []

    def count(asked, packets):
        computed.extend(asked)
        return solved(asked, packets)

    monkeypatch.setattr("npexplore.study.sweeping.rows.solved", count)
    return computed


def test_a_finished_sweep_is_read_by_pandas_and_computed_once(tmp_path, monkeypatch):
    path = tmp_path / "a.parquet"
    first = sweep(points(), store=path, packets=FEW)
    assert_frame_equal(pd.read_parquet(path), first)
    assert [file.name for file in tmp_path.iterdir()] == ["a.parquet"]
    computed = counted(monkeypatch)
    assert_frame_equal(sweep(points(), store=path, packets=FEW), first)
    assert computed == []


def test_more_points_join_a_store(tmp_path, monkeypatch):
    path = tmp_path / "a.parquet"
    sweep(points(banks=(4,)), store=path, packets=FEW)
    computed = counted(monkeypatch)
    more = sweep(points(banks=(4, 8), hash_ns=(100.0, 147.98)), store=path, packets=FEW)
    assert len(computed) == 6  # of eight, the two with the default hash and 4 banks are known
    assert len(more) == 8
    assert more["hash_ns"].tolist() == [100.0, 100.0, 147.98, 147.98] * 2  # known rows tell it too
    assert pd.read_parquet(path)["hash_ns"].tolist() == more["hash_ns"].tolist()
    assert pq.read_metadata(path).num_rows == 8


def test_a_dead_worker_costs_nothing_that_was_finished(tmp_path, monkeypatch):
    path = tmp_path / "a.parquet"
    with pytest.raises(NpexploreError, match="a worker died: killed; 3 of 8 points are finished and kept"):
        sweep(points(), store=path, packets=FEW, executor=DyingExecutor(3))
    assert pq.read_metadata(path).num_rows == 3
    computed = counted(monkeypatch)
    assert_frame_equal(sweep(points(), store=path, packets=FEW), sweep(points(), packets=FEW))
    assert len(computed) == 5 + 8


def test_stopping_keeps_what_is_finished(tmp_path, monkeypatch):
    path = tmp_path / "a.parquet"
    monkeypatch.setattr(Store, "commit_interval_s", 0.0)

    def stop(done, total):
        if done == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        sweep(points(), store=path, packets=FEW, workers=1, progress=stop)
    assert pq.read_metadata(path).num_rows == 3
    assert_frame_equal(sweep(points(), store=path, packets=FEW), sweep(points(), packets=FEW))


def test_rows_of_another_version_are_kept_apart(tmp_path, monkeypatch):
    path = tmp_path / "a.parquet"
    monkeypatch.setattr(npexplore.study.sweeping.rows, "code_version", lambda: "0.0.0")
    sweep(points(), store=path, packets=FEW)
    monkeypatch.undo()
    with pytest.warns(UserWarning, match=r"a\.parquet: 8 rows are of npexplore 0\.0\.0, here is .*; they stay"):
        rows = sweep(points(), store=path, packets=FEW)
    assert rows["version"].unique().tolist() == [code_version()]
    assert pd.read_parquet(path)["version"].tolist() == ["0.0.0"] * 8 + [code_version()] * 8


def test_other_packets_and_other_seeds_are_other_points(tmp_path):
    path = tmp_path / "a.parquet"
    sweep(points(), store=path, packets=FEW)
    sweep(points(), store=path, packets=FEW + 1)
    sweep(grid("ixp2400", LOAD, seeds=(7,), banks=4), store=path, packets=FEW)
    assert pq.read_metadata(path).num_rows == 17


@pytest.fixture
def heeded():
    """Ctrl-C is heeded, also where these tests run in the background of a script, which ignores it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def test_a_control_c_waits_until_rows_are_kept(tmp_path, heeded, monkeypatch):
    """The signal comes while rows are written; it takes effect between tasks, and everything finished is there."""
    path, seen, survived = tmp_path / "a.parquet", [], []
    monkeypatch.setattr(Store, "commit_interval_s", 0.0)
    many = grid("ixp2400", LOAD, seeds=60, banks=(4, 8))  # of some 10 ms each: a wish to stop is seen every 200 ms

    def stop(done, total):
        seen.append(done)
        if done >= 2 and not survived:  # two tasks may end at once
            survived.append("signal")
            signal.raise_signal(signal.SIGINT)
            survived.append("after it")

    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt):
        sweep(many, store=path, packets=3000, workers=2, progress=stop)
    assert signal.getsignal(signal.SIGINT) is before
    assert survived == ["signal", "after it"]
    assert pq.read_metadata(path).num_rows == seen[-1] < len(many)


def test_columns_have_units_in_the_table_and_in_the_file(tmp_path):
    path = tmp_path / "a.parquet"
    rows = sweep(grid("ixp2400", LOAD, solver="bounds", hash_ns=(10.0, 20.0)), store=path)
    told = rows.attrs["units"]
    assert {told[name] for name in ("throughput_bps", "latency_mean_ns", "rate_mpps")} == {"bit/s", "ns", "Mpps"}
    assert (told["hash_ns"], told["bus_bits"], told["utilization_hash"]) == ("ns", "bit", "1")
    assert "scheme" not in told
    assert pd.read_parquet(path).attrs == rows.attrs


def test_a_knob_must_not_take_the_name_of_a_column(tmp_path):
    machine = tmp_path / "mine.toml"
    machine.write_text(
        'name = "mine"\ntitle = "t"\npaper = "p"\nextends = "ixp2400"\n[parameter.seed]\n'
        'kind = "knob"\nvalue = 1\nabout = "a"\nsource = "s"\n'
    )
    with pytest.raises(InputError, match="knob 'seed' of mine has the name of a column"):
        sweep([(npexplore.design(machine), LOAD, "bounds", None)])


def test_a_sweep_that_was_all_refused_does_not_stand_in_the_way(tmp_path):
    path = tmp_path / "a.parquet"
    refused = npexplore.design("ixp2400").with_(scheme="fcb_tb", threads=2, scratch_bytes=1 << 6)
    load = workload(packet_bytes=640)
    assert sweep([(refused, load, "bounds", None)], store=path, resume=False)["refused"].notna().all()
    again = sweep([("ixp2400", load, "bounds", None)], store=path, resume=False)
    assert again["refused"].isna().all()
    assert len(pd.read_parquet(path)) == 1
    with pytest.raises(InputError, match="holds a sweep already"):
        sweep([("ixp2400", load, "bounds", None)], store=path, resume=False)


def test_knobs_named_like_columns_are_told_apart():
    """A design with its own load: the rate that is offered and the rate that is forwarded are two columns."""
    row = npexplore.sweep(npexplore.grid("gorilla", rate_mpps=(100.0, 300.0), engines=(4,), solver=("bounds",)))
    assert list(row["design_rate_mpps"]) == [100.0, 300.0]
    assert list(row["offered_mpps"]) == [100.0, 300.0]
    assert row["rate_mpps"].iloc[1] < 200


def test_a_knob_that_is_text_does_not_come_into_a_file_where_it_is_a_number(tmp_path):
    store, mine = tmp_path / "a.parquet", tmp_path / "mine.toml"
    mine.write_text("""name = "mine"
title = "mine"
extends = "ixp2400"
[parameter.size]
kind = "knob"
value = "small"
choices = ["small", "large"]
about = "a size"
source = "assumed"
""")
    numbers = mine.read_text().replace('"small"\nchoices = ["small", "large"]', "1").replace('"mine"', '"other"')
    (tmp_path / "other.toml").write_text(numbers)
    first = grid(npexplore.design(tmp_path / "other.toml"), LOAD, solver="bounds")
    assert sweep(first, store=store)["size"].tolist() == [1]
    with pytest.raises(InputError, match="'size' is a number in its rows and text here; choose another file"):
        sweep(grid(npexplore.design(mine), LOAD, solver="bounds"), store=store)
    assert len(sweep(first, store=store)) == 1  # the file is as it was


def test_estimates_of_a_sweep_have_intervals_and_seeds():
    found = sweep(grid("server", LOAD, solver="estimate", seeds=2))
    assert list(found["seed"]) == [1, 2]
    for row in found.to_dict("records"):
        assert row["throughput_low_bps"] < row["throughput_bps"] < row["throughput_high_bps"]
        assert row["latency_low_ns"] < row["latency_mean_ns"] < row["latency_high_ns"]
