"""GI/M/c, batches, loss and caches against chains and formulas written down again."""

import math

import numpy as np
import pytest

from npexplore.errors import InputError
from npexplore.solve.chains import chain, stationary
from npexplore.solve.queueing import (
    chance_to_wait,
    characteristic_time,
    deterministic_cycle,
    gm1,
    gm1_root,
    gmc,
    hit_chances,
    mg1,
    mgcc,
    mmc,
    mxg1,
    mxm1,
)


def erlang_transform(stages, rate):
    return lambda s: (stages * rate / (stages * rate + s)) ** stages


def erlang_arrivals(stages, rate, service, servers, most=400):
    """Mean number in E_k/M/c: states (customers, stage of the next arrival), cut where next to nobody comes."""
    source, target, speed = [], [], []
    for n in range(most):
        for k in range(stages):
            after = (n, k + 1) if k + 1 < stages else (min(n + 1, most - 1), 0)
            source.append(n * stages + k)
            target.append(after[0] * stages + after[1])
            speed.append(stages * rate)
            if n:
                source.append(n * stages + k)
                target.append((n - 1) * stages + k)
                speed.append(min(n, servers) / service)
    one = chain(most * stages, source, target, speed)
    return stationary(one, np.repeat(np.arange(most), stages)).mean[0]


@pytest.mark.parametrize(("stages", "rate", "servers"), [(1, 0.7, 1), (3, 0.8, 1), (2, 1.5, 2), (4, 3.3, 4)])
def test_renewal_arrivals_equal_a_chain(stages, rate, servers):
    found, waits = gmc(erlang_transform(stages, rate), rate, 1.0, servers)
    assert found.mean_number == pytest.approx(erlang_arrivals(stages, rate, 1.0, servers), rel=1e-8)
    if stages == 1:
        assert waits == pytest.approx(chance_to_wait(rate, 1.0, servers).item())
        assert found.mean_number == pytest.approx(mmc(rate, 1.0, servers).mean_number)


def test_evenly_spaced_arrivals():
    """D/M/1 at half load: sigma = 0.203188, 0.627501 customers (Kleinrock I, section 6.4)."""
    assert gm1_root(lambda s: math.exp(-2 * s), 0.5, 1.0) == pytest.approx(0.203188, abs=1e-6)
    assert gm1(lambda s: math.exp(-2 * s), 0.5, 1.0).mean_number == pytest.approx(0.627501, abs=1e-6)
    with pytest.raises(InputError, match="below 1"):
        gm1(lambda s: math.exp(-s), 1.0, 1.0)


def test_batches():
    assert mxm1(0.6, 1.0, 3, 9).mean_number == pytest.approx(0.6 * (1 + 3) / 2 / 0.4)
    assert mxg1(0.6, 1.0, 0.3, 1, 1).mean_wait == pytest.approx(mg1(0.6, 1.0, 0.3).mean_wait)


def test_loss_is_erlangs():
    found = mgcc(2.0, 1.0, 3)
    top = 2**3 / 6
    assert found.loss == pytest.approx(top / (1 + 2 + 2 + top))
    assert found.mean_number == pytest.approx(2 * (1 - found.loss))


def test_waiting_as_erlang_has_it():
    top = 2.4**3 / 6 / (1 - 0.8)
    assert chance_to_wait(2.4, 1.0, 3) == pytest.approx(top / (1 + 2.4 + 2.88 + top))


def test_constant_cycles():
    assert deterministic_cycle([1.0, 0.5], 1) == pytest.approx(1 / 1.5)
    assert deterministic_cycle([1.0, 0.5], 2) == 1.0
    assert deterministic_cycle([1.0, 0.5], 9, [3, 1]) == 2.0


def contents(p, places, replace):
    """Hit chances from the chain of a cache's contents, requests one a second."""
    index, todo, arcs = {tuple(range(places)): 0}, [tuple(range(places))], []
    while todo:
        state = todo.pop()
        for item, chance in enumerate(p):
            if item in state and replace != "lru":
                continue
            rest = [x for x in state if x != item]
            if replace == "random":
                ways = [(tuple(sorted({*state, item} - {out})), chance / places) for out in state]
            else:
                ways = [((item, *rest)[:places], chance)]
            for after, rate in ways:
                if after not in index:
                    index[after] = len(index)
                    todo.append(after)
                arcs.append((index[state], index[after], rate))
    held = np.array([[item in state for item in range(len(p))] for state in index], float)
    return stationary(chain(len(index), *map(np.array, zip(*arcs, strict=True))), held).mean


@pytest.mark.parametrize("replace", ["lru", "fifo", "random"])
def test_caches_equal_the_chain_of_their_contents(replace):
    p = np.array([0.4, 0.25, 0.2, 0.1, 0.05])
    found = hit_chances(p, 3, replace)
    assert found.approximation is None
    np.testing.assert_allclose(found.hit, contents(p, 3, replace), rtol=1e-9)


def test_large_caches_by_their_characteristic_time():
    p = np.arange(1, 1001) ** -0.8
    found = hit_chances(p, 100, "lru")
    assert found.approximation == "characteristic time"
    assert found.hit.sum() == pytest.approx(100)
    share = p / p.sum()
    rng, order, hits = np.random.default_rng(1), {}, 0
    for n, item in enumerate(rng.choice(1000, 60_000, p=share)):
        if item in order:
            hits += n >= 10_000
            del order[item]
        order[item] = True
        if len(order) > 100:
            order.pop(next(iter(order)))
    assert share @ found.hit == pytest.approx(hits / 50_000, rel=0.02)
    assert characteristic_time(share, 100) > 100
    with pytest.raises(InputError, match=r"places of a cache must be in 1\.\.4, got 5"):
        hit_chances(np.ones(5), 5)
