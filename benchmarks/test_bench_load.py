"""Twenty loads of a machine, and a search for NDR and PDR: processor and wall time, memory, packets simulated."""

import resource
import sys
import time
from collections import Counter

from reference.timing import record

from npexplore.designs import design
from npexplore.machine.workload_sources import workload
from npexplore.study.loading.curve import POINTS, load_curve
from npexplore.study.loading.lossless import search_lossless

LOAD = workload(packet_bytes=64)
PEAK = 1e3 if sys.platform != "darwin" else 1e6  # of getrusage, to MB


def timed(benchmark, ask, **told):
    def once():
        wall, used = time.perf_counter(), time.process_time()
        found = ask()
        wall, used = time.perf_counter() - wall, time.process_time() - used
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / PEAK
        record(benchmark, wall_seconds=wall, processor_seconds=used, peak_mb=peak, **told)
        return found

    return benchmark.pedantic(once, rounds=1, iterations=1)


def test_a_curve_of_twenty_loads(benchmark):
    curve = timed(benchmark, lambda: load_curve(design("ixp2400"), LOAD))
    by_solver = Counter(point.solver for point in curve.points)
    assert by_solver["simulation"] == POINTS
    assert (
        0.85 * POINTS <= by_solver["queueing"] <= POINTS
    )  # near saturation it refuses what an error of its rate decides
    assert 0.9 * POINTS <= by_solver["estimate"] <= POINTS  # the last load may be too near saturation for an interval


def test_a_search_against_a_bisection_of_full_length_trials(benchmark):
    """Packets that a bisection with as many full-length trials at every load would simulate, over those of the search.

    It would take six trials, for the same confidence, at each of ten loads (0.5 % of a thousandfold range) and goal.
    """
    asked = []
    found = timed(
        benchmark,
        lambda: search_lossless(design("ixp2400"), LOAD, progress=lambda load, packets, done: asked.append(packets)),
    )
    goal = found.found[0].goal
    record(benchmark, packets=sum(asked), bisection_ratio=2 * 10 * 6 * goal.final / sum(asked))
    assert found.found[0].load <= found.found[1].load
