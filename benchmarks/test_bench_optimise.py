"""A grid of machines as arrays against building every machine: bounds and costs of a point, in the same run.

NPEXPLORE_BENCH_CLOCKS: how many values the knob `bus_clock_mhz` takes (the grid has 38,400 points for each of them).
"""

import os
import time

from reference.timing import record

import npexplore
from npexplore.study.optimising.costs import costs
from npexplore.study.optimising.space import space

CLOCKS = int(os.environ.get("NPEXPLORE_BENCH_CLOCKS", "3"))
KNOBS = {
    "scheme": ["base", "hb", "fcb", "fcb_tb"], "engines": [1, 2, 4, 8], "threads": [2, 4, 6, 8, 12, 16, 24, 32, 48, 64],
    "bus_bits": [16, 32, 64, 128, 256, 512], "dram_slots": [2, 4, 6, 8, 12, 16, 24, 32], "banks": [1, 2, 4, 8, 16],
}  # fmt: skip


def test_a_grid_of_machines(benchmark):
    load, design = npexplore.workload(mix="amp"), npexplore.design("ixp2400")
    design.bounds(load)
    begun = time.process_time()
    made = benchmark.pedantic(
        lambda: space(design, load, {**KNOBS, "bus_clock_mhz": [100.0 + 10 * k for k in range(CLOCKS)]}),
        rounds=1,
        iterations=1,
    )
    arrays = (time.process_time() - begun) / made.points
    some = range(0, made.possible, made.possible // 40)
    begun = time.process_time()
    for point in some:
        one = made.design_at(point)
        one.bounds(load)
        costs(one)
    each = (time.process_time() - begun) / len(some)
    assert made.points == 38_400 * CLOCKS
    record(
        benchmark, points=made.points, machines_built=made.built, us_per_point=1e6 * arrays, times_faster=each / arrays
    )
