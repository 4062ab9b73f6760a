"""What rows of every packet's fate cost: the rate of the engine with them, as a share of its rate without.

Goal: 0.7 with rows; times by resource are written for each packet and place, and cost more where a packet's work is
little. Set NPEXPLORE_BENCH_PACKETS for other than 400,000 packets.
"""

import os

import numpy as np
import pytest
from reference.timing import best, record

from npexplore.designs import design
from npexplore.designs.prepared import prepared
from npexplore.engine.fates import Fates
from npexplore.engine.run import run
from npexplore.machine.workload import Workload

PACKETS = int(os.environ.get("NPEXPLORE_BENCH_PACKETS", "400_000"))


@pytest.mark.parametrize(("name", "gap_ns"), [("ixp2400", 1200), ("smartnic", 40), ("gorilla", 40)])
def test_rows_of_packets(benchmark, name, gap_ns):
    r, packets = np.random.default_rng(1), max(PACKETS // 4, 100)
    times = np.cumsum(r.exponential(gap_ns, packets)).astype(np.int64)
    lengths = r.choice([64, 576, 1500], packets)
    load = Workload("drawn", {"packet_bytes": lengths}, arrivals="timestamps", t_ns=times)
    model = prepared(design(name).by_packets(), load).model()
    run(model, 1, 100, 2, fates=Fates.of(model, by_place=True))

    def measured():
        plain, _ = best(lambda: run(model, 1, packets, 16))
        rows, _ = best(lambda: run(model, 1, packets, 16, fates=Fates.of(model)))
        wide, found = best(lambda: run(model, 1, packets, 16, fates=Fates.of(model, by_place=True)))
        record(
            benchmark, thousand_packets_per_s=1e-3 * packets / plain, share_with_rows=plain / rows,
            share_by_resource=plain / wide,
        )  # fmt: skip
        return found

    found = benchmark.pedantic(measured, rounds=1, iterations=1)
    assert found.snapshots[-1].done.sum() > 0
