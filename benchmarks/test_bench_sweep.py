"""Sweeps: what a second worker brings, and what an analytic point costs beside solving it.

Two workers against one, and two of a Dask cluster against one of it, take wall time of the same points in the same run:
on a machine whose two cores are busy with something else the ratios say little. Set NPEXPLORE_BENCH_POINTS for another
batch than 100,000 points.
"""

import importlib.util
import os
import time
from contextlib import contextmanager

import numpy as np
import pytest
from reference.dask_cluster import dask_cluster
from reference.timing import best, record

import npexplore
from npexplore.solve import stations
from npexplore.solve.batch import Batch
from npexplore.solve.bounds import bounds_of
from npexplore.solve.queueing_model import queueing_of
from npexplore.study.sweeping import executors
from npexplore.study.sweeping.executors import pool, usable_cores
from npexplore.study.sweeping.sweep import sweep

POINTS = int(os.environ.get("NPEXPLORE_BENCH_POINTS", "100_000"))
LOAD = npexplore.workload(packet_bytes=64)
IXP = npexplore.design("ixp2400")
SIMULATIONS = npexplore.grid(IXP, LOAD, seeds=8, banks=(4, 8))
two_cores = pytest.mark.skipif(usable_cores() < 2, reason="needs two cores")


def wall(function):
    """Return the wall time of a call."""
    began = time.perf_counter()
    function()
    return time.perf_counter() - began


def speedup(benchmark, make, packets=20_000):
    """Record how much faster two workers are than one; `make` gives the executor of so many."""

    packets = 200 if benchmark.disabled else packets

    def measure():
        took = {}
        for workers in (1, 2):
            with make(workers) as running:
                sweep(SIMULATIONS, executor=running, packets=200)  # imports and kernels are there
                took[workers] = min(wall(lambda: sweep(SIMULATIONS, executor=running, packets=packets)) for _ in "ab")
        return took

    took = benchmark.pedantic(measure, rounds=1, iterations=1)
    record(benchmark, two_workers_over_one=took[1] / took[2], points_per_s=len(SIMULATIONS) / took[2])


@two_cores
@pytest.mark.parametrize("kind", ["threads", "processes"])
def test_two_workers(benchmark, kind):
    speedup(benchmark, lambda workers: pool(kind, workers))


@two_cores
@pytest.mark.skipif(importlib.util.find_spec("distributed") is None, reason="needs the extra cluster")
def test_two_workers_of_a_dask_cluster(benchmark, tmp_path, monkeypatch):
    monkeypatch.setattr(executors, "REACHED_WITHIN_S", 600)

    @contextmanager
    def cluster(workers):
        folder = tmp_path / str(workers)
        folder.mkdir()
        with dask_cluster(folder, workers) as started, pool(started.address) as running:
            running._client.wait_for_workers(workers, timeout=600)
            yield running

    speedup(benchmark, cluster)


def factors():
    return np.random.default_rng(1).uniform(0.5, 2.0, POINTS)


def test_overhead_of_a_batched_bound(benchmark):
    """A bound is a few divisions: all of its time counts as overhead."""
    batch = Batch.of([IXP.demands(LOAD)]).scaled({"hash": factors()})
    took, _ = benchmark.pedantic(lambda: best(lambda: bounds_of(batch)), rounds=1, iterations=1)
    record(benchmark, microseconds_a_point=1e6 * took / POINTS)


def test_overhead_of_a_batched_queueing_model(benchmark, monkeypatch):
    """What `queueing_of` takes beyond the recursion over customers, which is timed while it is called."""
    batch = Batch.of([IXP.demands(LOAD)]).scaled({"hash": factors()[: POINTS // 10]})
    recursion, inside = stations.residual, []

    def timed(*arguments):
        took, solved = best(lambda: recursion(*arguments), 1)
        inside.append(took)
        return solved

    monkeypatch.setattr(stations, "residual", timed)

    def measure():
        rounds = []
        for _ in range(5):
            inside.clear()
            took, _ = best(lambda: queueing_of(batch), 1)
            rounds.append((took - sum(inside), took))
        return min(rounds)

    overhead, took = benchmark.pedantic(measure, rounds=1, iterations=1)
    assert inside
    each = 1e6 / len(batch)
    record(benchmark, overhead_microseconds_a_point=each * overhead, microseconds_a_point=each * took)


def test_an_analytic_sweep_beside_its_machines(benchmark):
    """Points a second of a whole sweep, and how much of its time goes into building machines and their demands."""
    points = npexplore.grid(
        IXP, LOAD, solver=("bounds", "queueing"), banks=(2, 4, 8), bus_bits=(32, 64, 128), hash_ns=(50.0, 100.0, 150.0)
    )
    sweep(points[:4], workers=1)

    def measure():
        whole, _ = best(lambda: sweep(points, workers=1))
        machines, _ = best(lambda: [point.design.demands(LOAD) for point in points[::2]])
        return whole, machines

    whole, machines = benchmark.pedantic(measure, rounds=1, iterations=1)
    record(benchmark, points_per_s=len(points) / whole, share_of_machines=machines / whole)


def test_an_analytic_sweep_over_rates_of_one_machine(benchmark):
    """No machine but one is built: what a point costs beside it, from the question to the row of the table."""
    rates = np.linspace(1e5, 4e6, POINTS // 10)
    points = npexplore.grid(IXP, [LOAD.with_arrivals("poisson", rate) for rate in rates], solver=("bounds", "queueing"))
    sweep(points[:4], workers=1)
    took, _ = benchmark.pedantic(lambda: best(lambda: sweep(points, workers=1), 2), rounds=1, iterations=1)
    record(benchmark, microseconds_a_point=1e6 * took / len(points))
