"""RAW's tables: solvers side by side, the study's random sets, offered against forwarded for unequal packets."""

import numpy as np
import pytest

from npexplore.machine.workload import workload
from npexplore.study.papers import tiled


def test_request_loops_stand_beside_the_roofline_where_there_are_any():
    table = tiled.by_solver(("v3", "v4"), 1500, packets=320).set_index("version")
    bound, loops, seen = (table[f"{name}, Gb/s"] for name in ("bound", "request loops", "simulated"))
    assert loops["III"] < bound["III"] == pytest.approx(15.5)
    assert loops["III"] == pytest.approx(seen["III"], rel=0.1)
    assert np.isnan(loops["IV"])


@pytest.mark.slow
def test_random_sets_are_uneven_and_hit_the_cache():
    row = tiled.random_sets(("v3",), 64, packets=1600).iloc[0]
    assert 25 < row["busiest card, %"] < 40
    assert row["hits, %"] > 80
    assert row["even, tables in memory"] < row["least"] <= row["mean, Mpps"] <= row["most"]
    assert row["most"] < row["even, tables in the cache"]


def test_nothing_is_forwarded_that_was_not_offered():
    """Packets of the trace are unequal: bits a second of a short run are no measure."""
    table = tiled.offered(("null",), workload(mix="raw_trace"), (4.0, 8.0), packets=1000)
    assert (table["forwarded_gbps"] <= table["offered_gbps"] * 1.01).all()
    assert table["forwarded_gbps"].to_numpy() == pytest.approx(table["offered_gbps"].to_numpy(), rel=0.02)
