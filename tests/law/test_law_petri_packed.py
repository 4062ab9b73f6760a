"""Markings packed into words: the same graph as row by row, whatever the bits, the words, and how they grow."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from npexplore._kernels import markings as kernels
from npexplore.errors import RefusedError
from npexplore.jit import plain
from npexplore.machine.petri import load_net, net
from npexplore.solve.petri import packed
from npexplore.solve.petri.firing import Firing
from npexplore.solve.petri.graph import _by_formulas, find_graph

ROOM = 10**9


def plain_net(rng, count, timing="race"):
    """Up to six of `count` places with arcs, some with capacities, the others stand by; every clause but formulas."""
    names = [f"P{k}" for k in range(count)]
    places = dict.fromkeys(names, 1)
    active = rng.choice(names, size=min(count, 6), replace=False)
    for name in active:
        tokens = int(rng.choice([0, 1, 1, 2, 5]))
        capacity = max(tokens, int(rng.choice([1, 3, 7, 40])))
        places[name] = tokens if rng.random() < 0.6 else {"tokens": tokens, "capacity": capacity}
    lines = {}
    for t in range(int(rng.integers(4, 10))):
        a, b, c, d = (f"{rng.choice([1, 1, 1, 1, 2, 3])} {name}" for name in rng.choice(active, size=4))
        line = f"{a} -> {b}" if rng.random() < 0.8 else f"{a} + {c} -> {b} + {d}"
        for chance, clause in ((0.1, f"unless {rng.choice([1, 3])} {c[2:]}"), (0.1, f"while {d}"), (0.1, f"using {c}")):
            line += f", {clause}" if rng.random() < chance else ""
        if timing == "duration":
            line += f", for {rng.integers(0, 2)}, priority {rng.integers(0, 3) // 2}"
        elif rng.random() < 0.2:
            line += f", priority {rng.integers(0, 2)}, weight {rng.integers(1, 4)}"
        else:
            line += f", rate {rng.integers(1, 5)}, servers {rng.choice(['1', '2', 'all'])}"
        lines[f"t{t}"] = line
    return net(timing=timing, place=places, transition=lines)


@settings(max_examples=40)
@given(st.integers(0, 2**32), st.integers(2, 70), st.sampled_from(["race", "duration"]))
def test_words_give_the_graph_of_rows(seed, count, timing):
    rng = np.random.default_rng(seed)
    made = plain_net(rng, count, timing)
    firing = Firing(made)
    assert packed.can_pack(made)
    try:
        expected = _by_formulas(firing, 400, ROOM)
    except RefusedError:
        with pytest.raises(RefusedError, match="more than 400 states"):
            find_graph(made, 400)
        return
    found = find_graph(made, 400)
    for name in ("states", "begin", "target", "which"):
        np.testing.assert_array_equal(getattr(found, name), getattr(expected, name), name)
    _, _, strength, _ = firing.firings(found.states)
    assert sorted(found.strength.tolist()) == sorted(strength.tolist())


def test_places_grow_bit_by_bit_and_words_with_them():
    """Tokens come one by one: the first place needs 1, then 2, ... 10 bits, and the marking a second word."""
    made = net(
        timing="race",
        place={"A": {"capacity": 1000}} | {f"B{k}": 1 for k in range(29)},
        transition={"come": "-> A, rate 1", "go": "A ->, rate 2, servers all"},
    )
    found = packed.explore_packed(Firing(made), 10_000, ROOM)
    assert found.layout.bits.tolist() == [10] + [1] * 29
    assert found.words.shape == (1001, 2)
    graph = find_graph(made)
    assert graph.states[:, 0].tolist() == list(range(1001))
    assert graph.strength[graph.which == 1].tolist() == [2.0 * n for n in range(1, 1001)]


def test_a_place_of_more_tokens_than_can_be_told_is_refused():
    made = net(timing="race", place={"A": 1_000_000_000}, transition={"come": "-> 1000000000 A, rate 1"})
    with pytest.raises(RefusedError, match="place 'A' gets more than 2147483647 tokens"):
        find_graph(made)


def test_more_memory_than_allowed_is_refused_with_the_number():
    places = {f"P{k}": 1 for k in range(20)}
    lines = {f"t{k}": f"P{k} ->, rate 1" for k in range(20)}  # 2^20 markings
    made = net(timing="race", place=places, transition=lines)
    with pytest.raises(RefusedError, match=r"the next step needs .* GB of memory"):
        find_graph(made, most_bytes=20_000_000)


def test_the_kernel_equals_its_plain_function(monkeypatch):
    made = [load_net("kanban", {"t": 1}), load_net("philosophers", {"n": 3}), load_net("tandem", {"c": 4})]
    quick = [packed.explore_packed(Firing(one), 1_000, ROOM) for one in made]
    for name in ("explore", "enter", "unpack"):
        monkeypatch.setattr(kernels, name, plain(getattr(kernels, name)))
    with np.errstate(over="ignore"):
        slow = [packed.explore_packed(Firing(one), 1_000, ROOM) for one in made]
        rows = [one.layout.unpack(one.words) for one in slow]
    for one, other, row in zip(quick, slow, rows, strict=True):
        for name in ("words", "begin", "target", "which"):
            np.testing.assert_array_equal(getattr(one, name), getattr(other, name))
        np.testing.assert_array_equal(one.layout.unpack(one.words), row)
