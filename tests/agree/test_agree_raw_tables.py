"""RAW's tables: solvers side by side, the study's random sets, offered against forwarded for unequal packets."""

import pytest

from npexplore.designs import design
from npexplore.machine.workload_sources import workload
from npexplore.study.checking.quantities.raw import at
from npexplore.study.papers.raw import performance
from npexplore.study.sweeping.points import Predictions


def test_simulation_stays_below_the_roofline():
    table = performance.by_solver(("v3", "v4"), 1500, packets=640).set_index("version")
    bound, simulated = (table[f"{name}, Gb/s"] for name in ("bound", "simulated"))
    assert simulated["III"] < bound["III"] == pytest.approx(15.5)
    assert simulated["IV"] == pytest.approx(bound["IV"], rel=0.02)


@pytest.mark.slow
def test_readings_are_those_of_runs_of_their_own():
    """Also of alternatives that a version does not read, which are not simulated again."""
    table, plain = performance.readings(("v1", "v3"), 64, packets=16).set_index("reading"), design("raw")
    unread = 0
    for one in plain.parameters.file.alternative:
        for version, name in (("v1", "I"), ("v3", "III")):
            made = plain.with_(version=version)
            own = made.with_(**one.set).simulate(workload(packet_bytes=64), packets=16)
            assert table.loc[one.name, name] == own.rate_pps / 1e6, (one.name, version)
            unread += not set(one.set) & made.depends_on(workload(packet_bytes=64))
    assert unread


def test_what_a_check_has_simulated_is_not_run_again():
    done = Predictions(seeds=(1,), packets=64, solvers=("simulation",))
    done.fetch([at("v3", 64)])
    (known,) = done.answers.values()
    assert performance.saturated("v3", 64, 64, done) is known
    assert performance.saturated("v3", 64, 32, done) is known
    for own in (performance.saturated("v3", 64, 65, done), performance.saturated("v2", 64, 64, done)):
        assert own is not known
        assert own.about["packets"] < 100
    assert performance.saturated("v3", 64, 64, done, tiles="8x4") is not known


@pytest.mark.slow
def test_random_sets_are_uneven_and_hit_the_cache():
    row = performance.random_sets(("v3",), 64, packets=1600).iloc[0]
    assert 25 < row["busiest card, %"] < 40
    assert row["hits, %"] > 80
    assert row["even, tables in memory"] < row["least"] <= row["mean, Mpps"] <= row["most"]
    assert row["most"] < row["even, tables in the cache"]


def test_nothing_is_forwarded_that_was_not_offered():
    """Packets of the trace are unequal: bits a second of a short run are no measure."""
    table = performance.offered(("null",), workload(mix="raw_trace"), (4.0, 8.0), packets=1000)
    assert (table["forwarded_gbps"] <= table["offered_gbps"] * 1.01).all()
    assert table["forwarded_gbps"].to_numpy() == pytest.approx(table["offered_gbps"].to_numpy(), rel=0.02)
