"""Petri nets: what solvers say of random nets with every feature equals a plain interpreter and the definitions."""

from itertools import combinations

import numpy as np
import pytest
from reference.petri_interpreter import fired, fires, graph, steady
from scipy.sparse import csr_matrix
from scipy.sparse.csgraph import connected_components

from npexplore.errors import InputError, RefusedError
from npexplore.machine.petri import net
from npexplore.solve.petri import find_markings, solve_chain
from npexplore.solve.petri.graph import find_graph
from npexplore.solve.petri.markings import find_growth
from npexplore.solve.petri.structure import incidence, semiflows

PLACES = "ABCDE"


def random_net(rng, lively=False, limits=1.0):
    """A net of up to five places, a share of them with capacities; `lively`: tokens stay as many, and few nets die."""
    names = PLACES[: rng.integers(2, 6)]
    places = {}
    for name in names:
        limited = {"tokens": int(rng.integers(1, 4)), "capacity": int(rng.integers(3, 6))}
        places[name] = limited if rng.random() < (0.3 if lively else limits) else int(rng.integers(0, 3))
    lines = {}

    def terms(count):
        chosen = rng.choice(list(names), size=count, replace=False)
        return " + ".join(f"{rng.integers(1, 3) if rng.random() < 0.3 and not lively else 1} {name}" for name in chosen)

    for t in range(int(rng.integers(3, 8))):
        count = int(rng.integers(1, 3))
        line = f"{terms(count)} -> {terms(count if lively else int(rng.integers(0, 3)))}"
        one, other = rng.choice(list(names), size=2, replace=False)
        for chance, clause in (
            (0.15, f"unless 2 {one}"),
            (0.15, f"while {other}"),
            (0.1, f"if {one} != 1 or {other} > 0"),
            (0.1, f"using {other}"),
        ):
            line += f", {clause}" if rng.random() < chance else ""
        if rng.random() < 0.35:
            line += f", priority {rng.integers(0, 2)}, weight {rng.integers(1, 4)}"
        elif rng.random() < 0.3:
            line += f", rate {rng.integers(1, 5)} * {one}"
        else:
            line += f", rate {rng.integers(1, 5)}, servers {rng.choice(['1', '2', 'all'])}"
        lines[f"t{t}"] = line
    return net(timing="race", place=places, transition=lines)


@pytest.mark.parametrize("seed", range(4))
def test_markings_equal_the_plain_interpreter(seed):
    rng = np.random.default_rng(seed)
    compared = dead = 0
    for _ in range(60):
        made = random_net(rng)
        ways = graph(made)
        if ways is None:
            continue
        found = find_graph(made)
        assert {tuple(row) for row in found.states.tolist()} == set(ways)
        assert found.arcs == sum(map(len, ways.values()))
        assert {tuple(found.states[k].tolist()) for k in found.dead} == {m for m, arcs in ways.items() if not arcs}
        compared += len(ways) > 3
        if len(found.dead):
            dead += 1
            assert_leads_to(made, find_markings(made).deadlock)
    assert compared > 20
    assert dead > 10


def assert_leads_to(made, deadlock):
    marking = tuple(place.tokens for place in made.places)
    for name in deadlock.firings:
        marking = fired(next(one for one in fires(made, marking) if one.name == name), marking)
    assert made.marking(marking) == deadlock.marking
    assert fires(made, marking) == []


@pytest.mark.parametrize("seed", range(4))
def test_the_chain_equals_the_jump_chain_of_the_interpreter(seed):
    rng = np.random.default_rng(100 + seed)
    compared = vanishing = 0
    while compared < 12:
        made = random_net(rng, lively=True)
        ways = graph(made, 300)
        if ways is None or not all(ways.values()) or len(ways) < 4:
            continue
        number = {marking: k for k, marking in enumerate(ways)}
        arcs = [(number[m], number[after]) for m, out in ways.items() for _, after, _ in out]
        table = csr_matrix((np.ones(len(arcs)), tuple(zip(*arcs, strict=True))), shape=(len(ways), len(ways)))
        count, part = connected_components(table, connection="strong")
        ends = set(range(count)) - {part[a] for a, b in arcs if part[a] != part[b]}
        timed = {part[number[m]] for m, out in ways.items() if out[0][0].timed}
        if not ends <= timed:
            with pytest.raises(InputError, match="for ever in zero time"):
                solve_chain(made)
            continue
        if len(ends) > 1:
            assert "no single steady state" in solve_chain(made).refused
            continue
        answer = solve_chain(made)
        means, rates = steady(made, ways)
        np.testing.assert_allclose([one.mean for one in answer.places.values()], means, rtol=1e-7, atol=1e-9)
        told = {name: one.throughput for name, one in answer.transitions.items()}
        assert told == pytest.approx(rates, rel=1e-7, abs=1e-9)
        compared += 1
        vanishing += answer.vanishing > 0
    assert vanishing > 3


@pytest.mark.parametrize("seed", range(3))
def test_semiflows_are_all_that_are_minimal(seed):
    """A support is minimal where the solutions on it are the multiples of one vector above 0."""
    rng = np.random.default_rng(seed)
    found = 0
    for _ in range(40):
        change = rng.integers(-2, 3, (int(rng.integers(3, 7)), int(rng.integers(1, 4))))
        flows = semiflows(change)
        assert not (flows @ change).any()
        assert (np.gcd.reduce(flows, axis=1) == 1).all()
        assert {tuple(np.flatnonzero(flow)) for flow in flows} == minimal_supports(change)
        found += len(flows)
    assert found > 40


def minimal_supports(change):
    supports = set()
    for size in range(1, len(change) + 1):
        for rows in combinations(range(len(change)), size):
            if any(set(other) <= set(rows) for other in supports):
                continue
            _, values, basis = np.linalg.svd(change[list(rows)].T, full_matrices=True)
            null = basis[np.sum(values > 1e-9) :]
            if len(null) == 1 and (np.abs(null[0]) > 1e-9).all() and len(set(np.sign(null[0]))) == 1:
                supports.add(rows)
    return supports


def test_too_many_semiflows_are_refused_not_cut():
    pairs = 8  # each step can be made by either of two transitions: 2^8 ways around
    names = [f"P{k}" for k in range(pairs)]
    lines = {f"{way}{k}": f"P{k} -> P{(k + 1) % pairs}" for k in range(pairs) for way in "ab"}
    change = incidence(net(timing="race", place={name: int(name == "P0") for name in names}, transition=lines)).T
    with pytest.raises(RefusedError, match="more than 200 candidates"):
        semiflows(change, 200)
    assert len(semiflows(change)) == 2**pairs


def test_what_is_said_to_grow_can_be_fired_again_and_again(monkeypatch):
    monkeypatch.setattr("npexplore.solve.petri.markings.DEEPEST", 25)  # most nets grow early, or not for certain
    rng = np.random.default_rng(5)
    grown = 0
    for _ in range(80):
        made = random_net(rng, limits=0.3)
        growth = find_growth(made)
        if growth is None:
            continue
        grown += 1
        marking = tuple(place.tokens for place in made.places)
        for name in growth.firings:
            marking = fired(next(one for one in fires(made, marking) if one.name == name), marking)
        for _ in range(4):
            before = marking
            for name in growth.again:
                marking = fired(next(one for one in fires(made, marking) if one.name == name), marking)
            more = [place.name for place, a, b in zip(made.places, before, marking, strict=True) if b > a]
            assert more == growth.places
            assert all(b >= a for a, b in zip(before, marking, strict=True))
    assert grown > 5
