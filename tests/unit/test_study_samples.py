"""Samples of a space of knobs: in range, evenly spread, the same for a seed; spans as values of a grid."""

import numpy as np
import pytest

import npexplore
from npexplore import Span
from npexplore.errors import InputError
from npexplore.study.sweeping.grid import grid
from npexplore.study.sweeping.samples import METHODS, sample

LOAD = npexplore.workload(packet_bytes=64)


def values(points, knob):
    return [point.design.parameters[knob] for point in points]


@pytest.mark.parametrize("method", METHODS)
def test_samples_lie_in_their_spans_and_are_the_same_for_a_seed(method):
    space = {"banks": Span(2, 5), "bus_clock_mhz": Span(100.0, 400.0), "scheme": ["base", "hb"], "engines": 3}
    made = [
        sample("ixp2400", LOAD, n=40, method=method, sample_seed=s, solver="bounds", knobs=space) for s in (1, 1, 2)
    ]
    found = [[p.design.parameters.changed() for p in points] for points in made]
    assert found[0] == found[1] != found[2]
    assert set(values(made[0], "banks")) == {2, 3, 4, 5}
    assert all(100 <= clock <= 400 for clock in values(made[0], "bus_clock_mhz"))
    assert set(values(made[0], "scheme")) == {"base", "hb"}
    assert set(values(made[0], "engines")) == {3}


@pytest.mark.parametrize("method", ["latin_hypercube", "sobol"])
def test_each_part_of_a_span_has_its_share(method):
    points = sample("ixp2400", LOAD, n=64, method=method, banks=Span(1, 8), hash_ns=Span(1.0, 65.0), solver="bounds")
    assert np.bincount(values(points, "banks"))[1:].tolist() == [8] * 8
    assert sorted(int(ns - 1) // 8 for ns in values(points, "hash_ns")) == sorted([*range(8)] * 8)


def test_a_logarithmic_span_is_even_in_the_logarithm():
    points = sample("ixp2400", LOAD, n=64, hash_ns=Span(1.0, 10_000.0, log=True), threads=Span(1, 63, log=True))
    assert np.bincount(np.log10(values(points, "hash_ns")).astype(int)).tolist() == [16] * 4
    assert min(values(points, "threads")) == 1
    assert np.mean(np.array(values(points, "threads")) < 8) == pytest.approx(0.5, abs=0.05)


def test_the_first_of_a_longer_sobol_sample_are_the_shorter_one():
    few, many = (sample("ixp2400", LOAD, n=n, banks=Span(1, 64), hash_ns=Span(1.0, 9.0)) for n in (5, 8))
    assert [p.design.parameters.changed() for p in few] == [p.design.parameters.changed() for p in many[:5]]


def test_a_sample_goes_with_every_workload_solver_and_seed():
    loads = [LOAD, npexplore.workload(packet_bytes=1500)]
    points = sample("ixp2400", loads, n=3, banks=[4, 8], solver=["bounds", "simulation"], seeds=2)
    assert len(points) == 2 * 3 * (1 + 2)


def test_a_span_of_whole_numbers_is_a_list_in_a_grid():
    assert values(grid("ixp2400", LOAD, banks=Span(2, 5)), "banks") == [2, 3, 4, 5]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"banks": Span(8, 4)}, "span of knob banks must go upwards, got 8..4"),
        ({"banks": Span(1, 999)}, "knob banks must be in 1..64, got 999"),
        ({"bnaks": Span(1, 2)}, "knob of ixp2400 'bnaks' is unknown \\(nearest: banks"),
        ({"scheme": ["bas"]}, "knob scheme must be one of base"),
        (
            {"bus_overhead_bytes": Span(0.0, 4.0, log=True)},
            "logarithmic span of knob bus_overhead_bytes must begin above 0",
        ),
        ({"banks": Span(1, 4), "n": 0}, "a sample needs at least one point, got 0"),
        ({"banks": Span(1, 4), "method": "sobul"}, "sampling method 'sobul' is unknown \\(nearest: sobol"),
        ({"banks": []}, "knob banks needs at least one value"),
        ({}, "a sample needs at least one knob to vary"),
    ],
)
def test_a_wrong_sample_is_refused_before_anything_runs(options, message):
    with pytest.raises(InputError, match=message):
        sample("ixp2400", LOAD, **{"n": 4, **options})


@pytest.mark.parametrize(
    ("span", "message"),
    [
        (Span(4, 2), "span of knob banks must go upwards, got 4..2"),
        (Span(1, float("inf")), "knob banks must be finite, got inf"),
        (Span(1.5, 4), "knob banks must be a whole number"),
    ],
)
def test_a_wrong_span_in_a_grid(span, message):
    with pytest.raises(InputError, match=message):
        grid("ixp2400", LOAD, banks=span)


def test_a_span_of_real_numbers_is_no_grid():
    with pytest.raises(InputError, match="knob hash_ns is not an integer"):
        grid("ixp2400", LOAD, hash_ns=Span(1.0, 4.0))


def test_a_space_too_large_to_be_made_is_refused_at_once():
    wide = Span(64, 10**9)
    with pytest.raises(InputError, match="span of knob receive_buffer_bytes has 999,999,937 values, at most 2,000,000"):
        grid("ixp2400", LOAD, receive_buffer_bytes=wide)
    with pytest.raises(InputError, match="at most 2,000,000 points, got 1,000,000,000"):
        sample("ixp2400", LOAD, n=10**9, receive_buffer_bytes=wide)
    with pytest.raises(InputError, match="at most 2,000,000 combinations of knobs, got 4,165,632; take a sample"):
        grid("ixp2400", LOAD, banks=Span(1, 64), threads=Span(1, 64), bus_bits=Span(8, 1024))
