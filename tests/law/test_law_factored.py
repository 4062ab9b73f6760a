"""Functions over a grid from a few machines: equal to building every point, for any product, sum or kink of knobs."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from npexplore.errors import InputError
from npexplore.study.optimising import factored as module
from npexplore.study.optimising.factored import factored
from npexplore.study.optimising.pareto import boxes, front


@st.composite
def functions(draw):
    """Axes of up to four knobs, and functions made of products, sums and minima of them; some points impossible."""
    names = "abcd"[: draw(st.integers(1, 4))]
    axes = {n: draw(st.lists(st.integers(1, 50), min_size=1, max_size=5, unique=True)) for n in names}
    kinds = draw(
        st.lists(st.sampled_from(["product", "ratio", "sum", "kink", "zero", "mixed"]), min_size=1, max_size=3)
    )
    limit = draw(st.sampled_from([None, 10, 60, 400]))
    return axes, kinds, limit


def value(kind, knobs):
    v = np.array(list(knobs.values()), dtype=float)
    return {
        "product": np.prod(v), "ratio": v[0] / v[-1] ** 2, "sum": np.sum(v), "kink": max(v[0], v[-1]) * v.mean(),
        "zero": 0.0, "mixed": v[0] * (3.0 + v[1:].sum()),
    }[kind]  # fmt: skip


@settings(max_examples=150, deadline=None)
@given(functions(), st.integers(0, 100))
def test_every_point_has_the_value_it_would_have_if_it_were_built(case, seed):
    axes, kinds, limit = case

    def possible(knobs):
        return limit is None or knobs["a"] * list(knobs.values())[-1] <= limit

    def evaluate(knobs):
        return {kind: value(kind, knobs) for kind in kinds}

    made = factored(axes, evaluate, possible, seed)
    places = list(product(*(range(len(values)) for values in axes.values())))
    wrong = 0
    for place in places:
        knobs = made.values(place)
        assert made.possible[place] == possible(knobs)
        if possible(knobs):
            wrong += any(not np.isclose(made.full(kind)[place], value(kind, knobs), rtol=1e-9) for kind in kinds)
    # Everything that was compared is right; a kink that no trial met may be left in a few of many points.
    assert wrong == 0 or (len(places) > module.CHECKS and wrong / len(places) < 0.15)


def test_products_take_few_machines():
    axes = {name: list(range(1, 11)) for name in "abcdef"}
    built = []
    made = factored(axes, lambda k: built.append(k) or {"f": float(np.prod(list(k.values())))}, lambda k: True)
    assert made.possible.size == 10**6
    assert len(built) == made.built < 300
    assert made.full("f")[9, 9, 9, 9, 9, 9] == pytest.approx(1e6)


def test_what_cannot_be_factored_is_refused_by_name():
    axes = {name: list(range(1, 41)) for name in "abc"}
    with pytest.raises(InputError, match=r"64,000 combinations of a, b, c would have to be built one by one"):
        factored(axes, lambda k: {"f": float(hash(tuple(k.values())) % 1000 + 1)}, lambda k: True)


def test_no_machine_possible_is_an_empty_space():
    made = factored({"a": [1, 2]}, lambda k: {"f": 1.0}, lambda k: False)
    assert not made.possible.any()


points = st.lists(st.tuples(*[st.integers(0, 4)] * 4), min_size=1, max_size=40)


@given(points)
def test_a_front_is_what_nothing_dominates(rows):
    costs, merits = np.array([r[:2] for r in rows], float), np.array([r[2:] for r in rows], float)
    kept = set(front(costs, merits).tolist())

    def dominated(k):
        return any(
            (costs[j] <= costs[k]).all() and (merits[j] >= merits[k]).all()
            and (tuple(rows[j]) != tuple(rows[k]) or j < k)
            for j in range(len(rows)) if j != k
        )  # fmt: skip

    assert kept == {k for k in range(len(rows)) if not dominated(k)}


@given(st.floats(1e-3, 1e12), st.floats(0.01, 1.0))
def test_merits_of_one_box_differ_by_less_than_the_tolerance(merit, tolerance):
    box = boxes([merit, merit * (1 + tolerance) * 1.0001], tolerance)
    assert box[1] > box[0]


def test_a_tolerance_is_a_share():
    with pytest.raises(InputError, match="above 0 and at most 1, got 0"):
        boxes([1.0], 0)
