"""Points answered together are points answered one by one, to the last bit; scaled demands are those of the machine."""

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import npexplore
from npexplore.errors import InputError, NpexploreError, RefusedError
from npexplore.machine.workload_sources import workload
from npexplore.solve import queueing_model
from npexplore.solve.batch import MAX_BATCH_POINTS, Batch, grouped
from npexplore.solve.batch_decisions import DividedError, agreed
from npexplore.solve.batch_structure import structure
from npexplore.solve.bounds import bounds_of
from npexplore.solve.queueing import flow_equivalent, mva
from npexplore.solve.queueing.finite_queue import finite_queues
from npexplore.solve.queueing_model import queueing_of
from npexplore.study.sweeping import answers
from npexplore.study.sweeping.answers import Refusal, answer, answer_all
from npexplore.study.sweeping.grid import SweepPoint

SMALL, LARGE = workload(packet_bytes=64), workload(packet_bytes=1500)
LOADS = [
    SMALL,
    LARGE,
    workload(packet_bytes=64, arrivals="poisson", rate="1Gb/s"),
    workload(packet_bytes=64, arrivals="poisson", rate="40Gb/s"),
    workload(packet_bytes=64, arrivals="periodic", rate="1Gb/s"),
]
KNOBS = {
    "ixp2400": {
        "scheme": ["base", "hb", "fcb_tb"], "banks": [1, 4], "threads": [1, 16], "bus_bits": [32, 64, 128],
        "segments": ["static", "dynamic"], "segment_bytes": [64, 4096], "hash_ns": [10.0, 147.98, 5000.0],
    },
    "soclib": {}, "ixp2400_dram": {"banks": [2, 8], "threads": [1, 5]},
}  # fmt: skip


@st.composite
def points(draw):
    name = draw(st.sampled_from(sorted(KNOBS)))
    design = npexplore.design(name)
    chosen = {knob: draw(st.sampled_from(values)) for knob, values in KNOBS[name].items()}
    load = draw(st.sampled_from(LOADS)) if design.own is None else None
    return SweepPoint(design.with_(**chosen), load, draw(st.sampled_from(["bounds", "queueing"])))


BEHIND_ARRIVALS = SweepPoint(npexplore.design("ixp2400").with_(bus_bits=32, hash_ns=10.0), LOADS[2], "queueing")


@settings(max_examples=12, deadline=None)
@example([BEHIND_ARRIVALS, BEHIND_ARRIVALS])
@given(st.lists(points(), min_size=1, max_size=10))
def test_together_and_alone_are_the_same(asked):
    for point, found in zip(asked, answer_all(asked, 100), strict=True):
        assert found == answer(point, 100)


def near(name, seed, count):
    """Return a listed design with a few of its knobs at random, several times."""
    design, rng = npexplore.design(name), np.random.default_rng(seed)
    known = {key: p for key, p in design.parameters.file.parameter.items() if p.kind == "knob"}
    for _ in range(count):
        chosen = {}
        for key, p in known.items():
            if rng.random() < 0.5:
                continue
            if p.choices:
                chosen[key] = p.choices[rng.integers(len(p.choices))]
            elif isinstance(p.value, int | float) and not isinstance(p.value, bool):
                value = p.value * 2.0 ** rng.integers(-1, 2)
                chosen[key] = type(p.value)(min(max(value, p.min or value), p.max or value))
        yield design.with_(**chosen)


@pytest.mark.filterwarnings("ignore::npexplore.units.UnitWarning")
@pytest.mark.parametrize("name", npexplore.design_names())
def test_a_point_is_answered_as_alone_whatever_else_is_asked(name):
    loads = [SMALL, workload(mix="amp")] if npexplore.design(name).own is None else [None]
    asked = [SweepPoint(design, load, "queueing") for design in near(name, 3, 4) for load in loads]
    order = np.random.default_rng(4).permutation(len(asked))
    found = dict(zip(order.tolist(), answer_all([asked[k] for k in order], 100), strict=True))
    for k, point in enumerate(asked):
        assert found[k] == answer(point, 100)


def test_points_that_do_not_agree_divide_a_batch():
    assert agreed([True, True])
    assert not agreed(np.zeros(3))
    assert agreed(True)
    with pytest.raises(DividedError) as divided:
        agreed([False, True, False])
    assert divided.value.of_points.tolist() == [False, True, False]


def test_a_divided_batch_is_answered_part_by_part(monkeypatch):
    def solved(batch):
        if len(batch) > 1:
            raise DividedError(np.arange(len(batch)) % 2 == 0)
        return whole(batch)

    whole = queueing_model._solved
    points = [npexplore.design("ixp2400").with_(hash_ns=ns).demands(SMALL) for ns in (10.0, 150.0, 900.0, 5000.0)]
    batch = Batch.of(points)
    together = queueing_of(batch)
    monkeypatch.setattr(queueing_model, "_solved", solved)
    apart = queueing_of(batch)
    assert [apart.prediction(k) for k in range(4)] == [together.prediction(k) for k in range(4)]


def test_banks_alone_and_constant_reads_among_others_are_answered_as_alone():
    """An exact chain, and a deterministic event graph, are decided by one machine and not by its neighbours."""
    pcie = npexplore.design("pcie").with_(host="hsw2620", op="read", iommu="off")
    windows = [(4096, "warm"), (2**26, "warm"), (2**24, "warm"), (2**24, "cold")]
    designs = [pcie.with_(window_bytes=size, cache=cache) for size, cache in windows]
    banks = [npexplore.resource("banks", word=f"{ns} ns", precharge="60 ns") for ns in (10, 20, 40)]
    designs += [one.design(4) for one in banks]
    asked = [SweepPoint(design, SMALL, "queueing") for design in designs]
    assert answer_all(asked, 100) == [answer(point, 100) for point in asked]


@pytest.mark.parametrize("name", npexplore.design_names())
def test_every_design_is_answered_in_a_batch(name):
    design = npexplore.design(name)
    load = SMALL if design.own is None else None
    asked = [SweepPoint(design, load, solver) for solver in ("bounds", "queueing", "bounds")]
    together = answer_all(asked, 100)
    assert together == [answer(point, 100) for point in asked]
    assert not isinstance(together[0], Refusal)


def test_points_of_one_structure_are_one_batch_of_limited_size():
    design = npexplore.design("ixp2400")
    slow, fast, more = (design.with_(**knobs).demands(SMALL) for knobs in ({}, {"bus_bits": 128}, {"banks": 8}))
    assert structure(slow) == structure(fast) != structure(more)
    parts = grouped([slow, more, fast])
    assert [numbers for numbers, _ in parts] == [[0, 2], [1]]
    assert [len(batch) for _, batch in grouped([slow] * (MAX_BATCH_POINTS + 1))] == [MAX_BATCH_POINTS, 1]
    with pytest.raises(InputError, match="must be of one structure"):
        Batch.of([slow, more])
    with pytest.raises(InputError, match="at least one point"):
        Batch.of([])


@settings(max_examples=10, deadline=None)
@given(st.lists(st.floats(0.1, 10.0), min_size=1, max_size=5))
def test_scaled_demands_are_those_of_a_machine_that_takes_so_long(factors):
    design = npexplore.design("ixp2400")
    batch = Batch.of([design.demands(SMALL)]).scaled({"hash": factors})
    base = float(design.parameters["hash_ns"])
    for solve, alone in ((bounds_of, "bounds"), (queueing_of, "queueing")):
        found = solve(batch)
        for place, factor in enumerate(factors):
            expected = getattr(design.with_(hash_ns=base * factor), alone)(SMALL)
            got = found.prediction(place)
            assert got.throughput_bps == pytest.approx(expected.throughput_bps, rel=1e-9)
            assert got.latency_s.mean == pytest.approx(expected.latency_s.mean, rel=1e-9)
            assert {k: u.busy for k, u in got.utilization.items()} == pytest.approx(
                {k: u.busy for k, u in expected.utilization.items()}, rel=1e-9
            )


def test_scaled_loads_are_offered_loads():
    design = npexplore.design("ixp2400")
    rates = [1e5, 1e6, 5e6]
    load = SMALL.with_arrivals("poisson", 1.0)
    batch = Batch.of([design.demands(load)]).scaled({}, offered=rates)
    for solve, alone in ((bounds_of, design.bounds), (queueing_of, design.queueing)):
        found = solve(batch)
        for k, rate in enumerate(rates):
            one, same = alone(load.with_arrivals("poisson", rate)), found.prediction(k)
            assert (one.rate_pps, one.latency_s.mean) == pytest.approx((same.rate_pps, same.latency_s.mean), rel=1e-12)
            assert (one.bottleneck, one.offered_pps, one.rates) == (same.bottleneck, rate, pytest.approx(same.rates))


def test_what_cannot_be_scaled_is_refused():
    batch = Batch.of([npexplore.design("ixp2400").demands(SMALL)])
    with pytest.raises(InputError, match="ixp2400 has no demand at a server 'hahs'"):
        batch.scaled({"hahs": 2.0})
    raw = npexplore.design("raw")
    with pytest.raises(RefusedError, match="only a program of one pool"):
        Batch.of([raw.demands(SMALL)]).scaled({})


@given(st.lists(st.tuples(st.floats(0.01, 10), st.floats(0.01, 10)), min_size=1, max_size=4), st.integers(1, 40))
def test_finite_queues_side_by_side_are_each_alone(points, places):
    arrival, service = (np.array(values) for values in zip(*points, strict=True))
    curve = service[:, None] * np.array([1.0, 1.7, 2.0])
    found = finite_queues(arrival, curve, places)
    alone = [np.ravel(finite_queues(arrival[[k]], curve[[k]], places)) for k in range(len(curve))]
    np.testing.assert_allclose(np.stack(found, axis=1), alone, rtol=1e-13)  # sums in another order


def plain_curve(demands, think, most):
    """Mean value analysis as it is written down: Reiser and Lavenberg, JACM 27, 1980."""
    queue, found = [0.0] * len(demands), []
    for n in range(1, most + 1):
        residence = [d * (1.0 + q) for d, q in zip(demands, queue, strict=True)]
        found.append(n / (think + sum(residence)))
        queue = [found[-1] * r for r in residence]
    return found


@given(
    st.integers(1, 5).flatmap(lambda k: st.lists(st.tuples(*[st.floats(0.001, 10)] * k), min_size=1, max_size=40)),
    st.floats(0.0, 10.0),
    st.integers(1, 30),
)
def test_throughput_curves_are_mean_value_analysis(demands, think, most):
    found = flow_equivalent(demands, most, think_time=think)
    expected = [plain_curve(row, think, most) for row in demands]
    np.testing.assert_allclose(found, expected, rtol=1e-10)
    every = mva(np.repeat(demands, most, axis=0), np.tile(np.arange(1, most + 1), len(demands)), think)
    np.testing.assert_allclose(found.ravel(), every.throughput, rtol=1e-12)


def test_a_delay_station_of_a_curve_only_takes_time():
    found = flow_equivalent([[1.0, 3.0]], 5, think_time=0.5, delay=[False, True])
    np.testing.assert_allclose(found, flow_equivalent([[1.0]], 5, think_time=3.5), rtol=1e-12)
    with pytest.raises(InputError, match="sum of demands and think time of point 0 must be above"):
        flow_equivalent([[0.0]], 5)


def test_one_point_that_is_refused_takes_no_other_with_it(monkeypatch):
    def refuse_many(batch):
        raise RefusedError("one of them")

    monkeypatch.setitem(answers.BATCHED, "queueing", refuse_many)
    asked = [SweepPoint(npexplore.design("ixp2400"), load, "queueing") for load in (SMALL, LARGE)]
    assert all(not isinstance(found, NpexploreError | Refusal) for found in answer_all(asked, 100))
