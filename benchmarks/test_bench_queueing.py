"""How many design points a second the queueing solvers answer, as ratios to LINE and Ciw taken in the same run.

LINE (line-solver on PyPI) is asked for exact MVA in two ways: its plain Python recursion, and SolverMVA of its Java
library through its Python interface (needs Java and the packages jpype1 and enum-tools; skipped by name without them).
Set NPEXPLORE_BENCH_POINTS for another batch than 200,000 points.
"""

import importlib.util
import json
import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from reference.timing import held, record, seconds

from npexplore.solve.queueing import multiserver_rates, mva, open_network

POINTS = int(os.environ.get("NPEXPLORE_BENCH_POINTS", "200_000"))
POPULATION, SERVERS = 16, [2, 4, 1, 1, 1]
DEMANDS = np.random.default_rng(1).uniform(0.1, 1.0, (POINTS, 5))
RATES = multiserver_rates(SERVERS, POPULATION)
SEVERAL = multiserver_rates([16] * 5, POPULATION)  # the most levels that 16 customers can tell apart


def once(benchmark, function):
    """Run `function` as the benchmark and return its own result, also where benchmarks are disabled."""
    return benchmark.pedantic(function, rounds=1, iterations=1)


@pytest.mark.parametrize(
    ("kind", "rates"), [("load independent", None), ("two multi-server", RATES), ("five load-dependent", SEVERAL)]
)
def test_points_per_second(benchmark, kind, rates):
    each = once(benchmark, lambda: seconds(lambda: mva(DEMANDS, POPULATION, 0.0, rates), 5) / POINTS)
    record(benchmark, million_points_per_s=1e-6 / each)


def test_points_per_second_beside_bare_c(benchmark, tmp_path):
    """What a point costs at least: the same recursion as C, optimised for this processor."""
    flags = ["-O3", "-march=native", "-o", str(tmp_path / "bare")]
    subprocess.run(["cc", *flags, str(Path(__file__).with_name("mva.c"))], check=True)

    def run():
        each = seconds(lambda: mva(DEMANDS, POPULATION), 5) / POINTS
        words = [tmp_path / "bare", str(POINTS)]
        done = subprocess.run(words, check=True, capture_output=True, input=DEMANDS.tobytes())
        total, took = map(float, done.stdout.split())
        record(
            benchmark,
            million_points_per_s=1e-6 / each,
            of_c_million=1e-6 * POINTS / took,
            share_of_c=took / POINTS / each,
        )
        return total

    assert mva(DEMANDS, POPULATION).throughput.sum() == pytest.approx(once(benchmark, run), rel=1e-9)


def test_a_million_points_into_a_data_frame(benchmark):
    demands = np.resize(DEMANDS, (5 * POINTS, 5))

    def frame():
        got = mva(demands, POPULATION, 0.0, RATES)
        columns = {f"utilization_{k}": got.utilization[:, k] for k in range(5)}
        return pd.DataFrame({"throughput": got.throughput, "response_time": got.response_time, **columns})

    took = once(benchmark, lambda: seconds(frame, 2))
    record(benchmark, points=len(demands), seconds=took)


def line_recursion():
    """LINE's MVA recursion in Python, loaded alone: the package itself starts a Java machine."""
    package = importlib.util.find_spec("line_solver")
    if package is None:
        pytest.skip("line-solver is not installed")
    path = Path(package.submodule_search_locations[0]) / "native" / "api" / "pfqn" / "pfqn_mva.py"
    spec = importlib.util.spec_from_file_location("line_pfqn_mva", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.pfqn_mva


def test_ratio_to_the_recursion_of_line(benchmark):
    theirs = line_recursion()
    some, count = DEMANDS[:50, :, None], np.array([POPULATION])
    answers = [theirs(row, count, np.zeros(1)) for row in some]
    np.testing.assert_allclose([a[0][0] for a in answers], mva(DEMANDS[:50], POPULATION).throughput, rtol=1e-9)
    other = seconds(lambda: [theirs(row, count, np.zeros(1)) for row in some], 5) / len(some)
    each = once(benchmark, lambda: seconds(lambda: mva(DEMANDS, POPULATION), 5) / POINTS)
    record(benchmark, line_times_ours=other / each, line_models_per_s=1 / other)
    held(benchmark, other > 200 * each)


LINE = """
import json, sys, time
import numpy as np
from line_solver import *
GlobalConstants.setVerbose(VerboseLevel.SILENT)
population, servers, demands = json.load(sys.stdin)

def solve(row):
    model = Network("model")
    queues = [Queue(model, f"Q{k}", SchedStrategy.PS) for k in range(len(row))]
    jobs = ClosedClass(model, "jobs", population, queues[0], 0)
    for queue, demand, count in zip(queues, row, servers):
        queue.setService(jobs, Exp(1 / demand))
        if count > 1:
            queue.setNumberOfServers(count)
    model.link(Network.serialRouting(*queues))
    return SolverMVA(model, "exact").getAvgTable()

times, answers = [], []
for row in demands:
    began = time.perf_counter()
    answers.append(solve(row))
    times.append(time.perf_counter() - began)
print("\\n" + json.dumps([min(times), sorted(times[len(times) // 2:])[len(times) // 4],
                         [list(map(float, a["QLen"])) for a in answers]]))
"""


@pytest.mark.parametrize(("kind", "servers"), [("load independent", [1] * 5), ("multi-server", SERVERS)])
def test_ratio_to_a_model_of_line(benchmark, kind, servers):
    some = DEMANDS[:100]
    question = json.dumps([POPULATION, servers, some.tolist()])
    run = subprocess.run([sys.executable, "-c", LINE], input=question, capture_output=True, text=True, timeout=1800)
    if run.returncode:
        pytest.skip(f"LINE cannot run here: {run.stderr.strip().splitlines()[-1]}")
    quickest, usual, queues = json.loads(run.stdout.splitlines()[-1])
    rates = multiserver_rates(servers, POPULATION)
    np.testing.assert_allclose(mva(some, POPULATION, 0.0, rates).queue_length, queues, rtol=1e-4, atol=1e-4)
    each = once(benchmark, lambda: seconds(lambda: mva(DEMANDS, POPULATION, 0.0, rates), 5) / POINTS)
    record(benchmark, line_times_ours=quickest / each, line_median_times_ours=usual / each, line_ms=quickest * 1e3)
    held(benchmark, quickest > 1000 * each)


def test_ratio_to_a_simulation_by_ciw(benchmark):
    ciw = pytest.importorskip("ciw", reason="Ciw is not installed")
    arrival, services, customers = 0.5, np.array([1.0, 3.0, 1.5]), 4000
    network = ciw.create_network(
        arrival_distributions=[ciw.dists.Exponential(arrival), None, None],
        service_distributions=[ciw.dists.Exponential(1 / s) for s in services],
        number_of_servers=[1, 3, 1],
        routing=[[0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [0.0, 0.0, 0.0]],
    )

    def simulate():
        ciw.seed(3)
        run = ciw.Simulation(network)
        run.simulate_until_max_customers(customers, method="Finish")
        return run.get_all_records()

    began = time.process_time()
    records = simulate()
    theirs = time.process_time() - began
    rates, points = multiserver_rates([1, 3, 1], 3), 2000
    demands = np.tile(services[:, None], (points, 1, 1))
    response = sum(r.waiting_time + r.service_time for r in records) / customers
    assert response == pytest.approx(open_network(demands[0], arrival, rates).response_time[0, 0], rel=0.15)
    each = once(benchmark, lambda: seconds(lambda: open_network(demands, arrival, rates), 5) / points)
    record(benchmark, ciw_times_ours=theirs / each, ciw_customers=customers, points_per_s=1 / each)
    held(benchmark, theirs > 1000 * each)
