"""Optimise: the front is that of simulating everything, costs little, and says where every point went."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import npexplore
from npexplore.cli import main
from npexplore.designs import design
from npexplore.errors import InputError, ModelError, UnknownNameError
from npexplore.study.optimising.costs import COSTS, costs
from npexplore.study.optimising.optimise import optimise
from npexplore.study.optimising.pareto import boxes, front, worth_their_cost
from npexplore.study.optimising.space import space

LOAD = npexplore.workload(packet_bytes=64)
DESIGN = design("ixp2400")
KNOBS = {
    "scheme": ["base", "fcb_tb"],
    "engines": [1, 2, 4],
    "threads": [4, 8, 16, 64],
    "banks": [1, 4],
    "bus_bits": [32, 64],
}


@pytest.fixture(scope="module")
def grid():
    return space(DESIGN, LOAD, KNOBS, latency=True)


def test_arrays_equal_the_machines_they_stand_for(grid):
    assert grid.points == 2 * 3 * 4 * 2 * 2
    for point in range(0, grid.possible, 5):
        made = grid.design_at(point)
        bound = made.bounds(LOAD)
        assert grid.throughput[point] == pytest.approx(bound.rate_pps * 512, rel=1e-9)
        assert grid.latency[point] == pytest.approx(bound.latency_s.mean, rel=1e-9)
        assert {name: grid.cost(name)[point] for name in COSTS} == pytest.approx(costs(made), rel=1e-9)
        assert 0 < grid.smooth[point] <= grid.throughput[point]
    assert grid.built < grid.points


def test_impossible_machines_are_no_points():
    made = space(DESIGN.with_(scheme="fcb_tb"), LOAD, {"threads": [16, 32], "scratch_bytes": [1024, 2048, 4096]})
    left = [(k["threads"], k["scratch_bytes"]) for k in map(made.knobs_at, range(made.possible))]
    assert left == [(16, 2048), (16, 4096), (32, 4096)]  # two segments of 64 bytes a thread
    assert "needs 2048 bytes of scratchpad for 16 threads" in made.reason


def test_the_offered_load_bounds_every_machine():
    made = space(DESIGN, LOAD.with_arrivals("poisson", 1e5), {"threads": [1, 16]})
    assert made.throughput == pytest.approx(1e5 * 512)


@pytest.fixture(scope="module")
def found():
    return optimise(
        DESIGN, LOAD, knobs=KNOBS, costs=["threads", "banks"], simulations=40, packets=800, confirm="simulation"
    )


def test_counts_add_up_and_simulations_are_saved(found):
    n = dict(found.counts)
    assert n["points"] == 96 == sum(n.values()) - 96
    assert n["simulated"] <= 40
    assert found.saved == 96 - n["simulated"] > 48
    assert found.unconfirmed == 0


def test_the_front_is_that_of_simulating_everything(found, grid):
    """Up to the tolerance: every point of the whole grid is matched by one of the front that costs no more."""
    for point in range(0, grid.possible, 3):
        made = grid.design_at(point)
        x = made.simulate(LOAD, 1, packets=800).rate_pps * 512
        price = costs(made)
        best = max(b.throughput for b in found.front if all(b.costs[c] <= price[c] for c in found.costs))
        assert best * (1 + found.tolerance) ** 2 >= x


def test_no_point_of_the_front_beats_another(found):
    price = np.array([[best.costs[name] for name in found.costs] for best in found.front])
    merit = boxes(np.array([[best.throughput] for best in found.front]), found.tolerance)
    assert len(front(price, merit)) == len(found.front)


def test_a_front_over_latency_too():
    both = optimise(
        DESIGN, LOAD, knobs={"threads": [1, 4, 16]}, merits=["throughput", "latency"], simulations=10, packets=400
    )
    by_threads = {best.knobs["threads"]: best for best in both.front}
    assert set(by_threads) == {1, 4, 16}  # more threads: more throughput, and longer
    assert by_threads[1].latency < by_threads[4].latency < by_threads[16].latency


def test_a_spent_budget_is_told():
    few = optimise(DESIGN, LOAD, knobs=KNOBS, simulations=2, queueing=3, packets=200)
    assert few.counts["simulated"] == 2
    assert few.counts["queueing"] <= 3
    assert few.unconfirmed > 0
    assert 1 <= len(few.front) <= 2


@pytest.mark.parametrize(
    ("more", "error", "message"),
    [
        ({"knobs": {"bank": [4]}}, UnknownNameError, "nearest: banks"),
        ({"knobs": {}}, InputError, "needs at least one knob with its values"),
        ({"knobs": {"hash_ns": npexplore.Span(1, 8)}}, InputError, "is not an integer"),
        ({"knobs": {"banks": npexplore.Span(8, 1)}}, InputError, "must go upwards, got 8..1"),
        ({"knobs": {"banks": []}}, InputError, "knob banks needs at least one value"),
        ({"knobs": {"hash_ns": [1.0, 2.0]}}, InputError, "change none of the costs"),
        ({"knobs": KNOBS, "costs": ["pins"]}, UnknownNameError, "nearest: bus_pins"),
        ({"knobs": KNOBS, "merits": ["rate"]}, UnknownNameError, "merit 'rate' is unknown"),
        ({"knobs": KNOBS, "merits": []}, InputError, "needs a merit"),
        ({"knobs": KNOBS, "tolerance": 0}, InputError, "tolerance of a front must be above 0"),
        ({"knobs": KNOBS, "simulations": 0}, InputError, "simulations must be at least 1"),
        ({"knobs": {"threads": range(1, 65), "engines": range(1, 9), "banks": range(1, 65),
                    "bus_bits": range(8, 1025)}},
         InputError, "at most 20,000,000 points"),
        ({"knobs": {"scheme": ["fcb_tb"], "scratch_bytes": [64, 128], "threads": [16, 32]}}, ModelError,
         "no machine of the 4 is possible: scheme fcb_tb needs"),
    ],
)  # fmt: skip
def test_what_cannot_be_searched_is_one_line(more, error, message):
    with pytest.raises(error, match=message):
        optimise(DESIGN, LOAD, **more)


def test_the_command_prints_the_front_and_one_document(capsys):
    arguments = [
        "optimise",
        "ixp2400",
        "--packet-bytes",
        "64",
        "--set",
        "threads=2,8",
        "--set",
        "banks=2,4",
        "--packets",
        "200",
    ]
    assert main(arguments) == 0
    out = capsys.readouterr().out
    assert "ixp2400 under 64 bytes. Of 4 machines all were simulated. Rates that differ by less than 5% count" in out
    heads = next(line for line in out.splitlines() if "cost threads" in line).split("  ")
    assert {"banks", "cost banks", "threads", "cost threads"} <= {head.strip() for head in heads}
    rows = [line.split() for line in out.split("---\n")[-1].splitlines()]
    assert {row[1] for row in rows} <= {"2", "4"}  # the knob, not DRAM and SRAM together
    assert main([*arguments, "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert set(document) == {
        "design", "workload", "costs", "merits", "points", "machines_built", "simulations_saved", "unconfirmed",
        "tolerance", "front", "cost_sources", "cost_units", "recommendation",
    }  # fmt: skip
    assert set(document["costs"]) == {"banks", "threads", "memory_bits", "luts"}
    assert main(["optimise", "ixp2400", "--packet-bytes", "64", "--set", "treads=2"]) == 2
    assert "nearest: threads" in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.parametrize("name", ["ixp1200", "soclib", "raw"])
def test_every_machine_can_be_searched(name):
    knobs = {"ixp1200": {"receivers": [4, 16], "sram_banks": [1, 2]}, "soclib": {"processors": [1, 4], "banks": [1, 2]},
             "raw": {"version": ["v1", "v3"], "fifo_depth": [4, 8]}}[name]  # fmt: skip
    load = LOAD if design(name).own is None else None
    best = optimise(design(name), load, knobs=knobs, packets=100, simulations=8)
    assert best.front
    assert sum(best.counts.values()) == 2 * best.counts["points"]


@pytest.mark.parametrize(("rate", "merits"), [("1Gb/s", ["latency"]), ("3Gb/s", ["throughput", "latency"])])
def test_under_an_offered_load_latency_is_ranked_with_its_queues(rate, merits):
    """Without contention all these machines take as long; a cheap one that is overloaded beats none of the others."""
    load = npexplore.workload(packet_bytes=64, arrivals="poisson", rate=rate)
    knobs = {"banks": npexplore.Span(1, 4), "threads": [1, 2, 4, 8]}
    more = {"packets": 500, "confirm": "simulation"}  # of overloaded machines latencies grow with the packets
    found = optimise(DESIGN, load, knobs=knobs, costs=["banks", "threads"], merits=merits, **more)
    whole = space(DESIGN, load, knobs)
    assert found.unconfirmed == 0
    for point in range(whole.possible):
        made = whole.design_at(point)
        latency, price = made.simulate(load, 1, packets=500).latency_s.mean, costs(made)
        best = min(b.latency for b in found.front if all(b.costs[c] <= price[c] for c in found.costs))
        assert best <= latency * (1 + found.tolerance) ** 2
    assert min(b.latency for b in found.front) < 0.2 * max(b.latency for b in found.front)


def test_estimates_confirm_the_front_as_simulations_do():
    machine, knobs = design("smartnic"), {"cores": [1, 2]}
    front_by = {
        confirm: optimise(machine, LOAD, knobs=knobs, queueing=0, packets=500, confirm=confirm).front
        for confirm in ("simulation", "estimate")
    }
    assert [best.knobs for best in front_by["estimate"]] == [best.knobs for best in front_by["simulation"]]
    for best in front_by["estimate"]:
        low, high = best.interval
        assert low <= best.throughput <= high


def test_of_few_points_all_are_estimated_and_each_that_is_left_out_is_matched():
    """A front of points that queueing had ranked lacked half of its machines, and said what cheaper ones lose."""
    knobs = {"cores": [1, 2, 4, 8], "packet_cycles": [200, 400], "buffer": ["chip", "memory"]}
    found = optimise(design("smartnic"), LOAD, knobs=knobs, costs=["threads", "memory_bits"])
    assert found.counts["simulated"] == found.counts["points"] == 16
    assert found.searched == "Of 16 machines all were estimated."
    assert all(best.queueing for best in found.front)  # stands beside what was confirmed
    whole = space(design("smartnic"), LOAD, knobs)
    for point in range(whole.possible):
        made = whole.design_at(point)
        reached, price = made.estimate(LOAD, seed=2).throughput_bps, costs(made)
        no_dearer = [best for best in found.front if all(best.costs[name] <= price[name] for name in found.costs)]
        assert max(best.throughput for best in no_dearer) * (1 + found.tolerance) * 1.03 >= reached


@given(st.lists(st.tuples(st.integers(1, 9), st.integers(1, 9), st.integers(1, 60)), min_size=1, max_size=25))
def test_a_front_covers_every_point_within_the_tolerance(points):
    price, merit = np.array([one[:2] for one in points], float), np.array([one[2:] for one in points], float)
    kept = worth_their_cost(price, merit, 0.1)
    for k in range(len(points)):
        as_cheap = [one for one in kept if (price[one] <= price[k]).all()]
        assert any(merit[one] * 1.1 >= merit[k] for one in as_cheap)
    for k in kept:
        assert not any((price[one] <= price[k]).all() and merit[one] * 1.1 >= merit[k] for one in kept if one != k)
