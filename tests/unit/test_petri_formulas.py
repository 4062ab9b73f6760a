"""What formulas over the marking look at: `and`, `or` and `if` pass over what they do not need, everywhere alike."""

import pytest

from npexplore.cli.nets import solve_net
from npexplore.errors import InputError, SimulationError
from npexplore.machine.petri import net
from npexplore.solve.petri import find_markings, record, simulate_net, solve_chain

GUARDS = {  # guard of A -> B, and the markings of (A, B) from (2, 1) on: the other direction is always free
    "B == 0 or 6 / B > 3": 3,
    "B == 0 or 6 // B >= 3": 4,
    "6 / B > 3 if B else 1": 3,
    "A > 9 and 1 / 0 > 2 or B < 2": 3,
    "0 and 1 / 0 or A": 4,
    "not (B and 5 % B == 0)": 2,
    "min(6 // B if B else 9, 9) > 2 and B < 3": 4,
}


def swap(guard, timing="race"):
    lines = {"go": f"A -> B, if {guard}, for exponential(2)", "back": "B -> A, for exponential(3)"}
    return net(timing=timing, place={"A": 2, "B": 1}, transition=lines)


@pytest.mark.parametrize("guard", GUARDS)
def test_what_divides_by_zero_where_it_is_not_needed_is_no_fault(guard):
    made = swap(guard)
    assert find_markings(made).states == GUARDS[guard]
    visited = {(step.marking.get("A", 0), step.marking.get("B", 0)) for step in record(made, 300).steps()}
    assert len(visited) == GUARDS[guard]


def test_chain_and_simulation_agree_on_such_a_guard():
    made = swap("B == 0 or 6 / B > 3")
    found = simulate_net(made, range(4)).transitions["go"]
    assert found.throughput == pytest.approx(solve_chain(made).transitions["go"].throughput, rel=0.02)


@pytest.mark.parametrize("timing", ["race", "duration"])
def test_what_divides_by_zero_where_it_is_needed_is_told(timing):
    made = swap("6 / B > 2 or A > 5", timing)
    with pytest.raises(InputError, match=r"transition.go: formula '6 / B > 2 or A > 5': division by zero"):
        find_markings(made)
    with pytest.raises(InputError, match=r"transition.go: a formula divides by zero, at time .* \(A: \d\)"):
        simulate_net(made)
    with pytest.raises(InputError, match=r"'1 / 0 > A': division by zero"):
        swap("1 / 0 > A", timing)


def test_a_guard_over_an_index_passes_over_what_the_index_makes_senseless():
    made = net(timing="race", index={"b": 3}, place={"P[b]": 1, "Q": 0},
               transition={"t": "P[b] -> Q, if b != 0 and 4 // b > 2, rate 1"})  # fmt: skip
    assert [one.name for one in made.transitions] == ["t[1]"]


def test_chance_is_asked_where_it_is_needed_alone():
    """Half of the tokens are told by the second draw: a quarter in all."""
    made = net(timing="duration", token={"d": {"x": 2}}, place={"A": 1, "D": {"of": "d"}},
               transition={"make": "A -> D, set x = chance(0.5) and chance(0.5)", "hit": "D -> A, if x == 1, for 1",
                           "miss": "D -> A, if x == 0, for 1"})  # fmt: skip
    found = simulate_net(made, firings=100_000).transitions
    assert found["hit"].throughput == pytest.approx(0.25, abs=0.02)


def test_servers_are_as_many_as_the_place_has_that_a_token_says():
    made = net(timing="race", index={"b": 3}, token={"d": {"x": "b"}},
               place={"D": {"of": "d", "tokens": 3, "carried": {"x": 2}}, "R[b]": "b + 1"},
               transition={"t": "D + R[x] -> D + R[x], rate 1, servers all"})  # fmt: skip
    assert simulate_net(made).transitions["t"].throughput == pytest.approx(3, rel=0.02)


def test_a_loop_in_no_time_is_told_with_its_file(tmp_path):
    path = tmp_path / "loop.toml"
    path.write_text('timing = "duration"\n[place]\nA = 1\nB = 0\n[transition]\nt = "A -> B"\nu = "B -> A"\n')
    with pytest.raises(SimulationError, match=r"^endless instant: loop.toml: transition '\w' and others fire for ever"):
        solve_net(path, "simulation", [], None, 1, 100, as_json=True)


UNITS = {"wait": "40 ns", "pause": "2 us", "line": "64 bytes", "clock": "322 MHz", "n": 3}


def timed(delay, **more):
    return net(timing="duration", constant={**UNITS, **more}, place={"A": 1, "B": 0},
               transition={"first": "A -> B, for wait", "then": f"B -> A, {delay}"})  # fmt: skip


@pytest.mark.parametrize(
    ("delay", "mean"),
    [
        ("for 2 * wait", 80), ("for exponential(pause * 1000)", 2000), ("for wait + pause", 2040),
        ("for max(wait, pause)", 2000), ("for 5", 5), ("for erlang(wait if n > 2 and not n == 4 else 5, n)", 40),
        ("rate clock / 1000", 1000 / 322),
    ],
)  # fmt: skip
def test_constants_carry_units(delay, mean):
    assert timed(delay).transitions[1].delay.mean == pytest.approx(mean)


@pytest.mark.parametrize(
    ("delay", "words"),
    [
        ("for pause", r"the delay pause counts in 1e-06 s, the delay wait in 1e-09 s: .* multiply by 1000"),
        ("rate clock", r"the rate clock counts in 1e-06 s, .* multiply by 0.001"),
        ("for clock", r"the delay must be a time, got clock \(frequency or rate\)"),
        ("for exponential(line)", r"the delay must be a time, got line \(bytes or bits\)"),
        ("rate wait", r"the rate must be a frequency or rate, got wait \(time\)"),
        ("for wait + line", r"adding wait \(time\) and line \(bytes or bits\)"),
    ],
)
def test_unlike_units_of_a_net_are_refused(delay, words):
    with pytest.raises(InputError, match=f"net: transition.then: {words}"):
        timed(delay)
    with pytest.raises(InputError, match=r"constant.odd: comparing wait \(time\) and line"):
        timed("for 1", odd="max(wait, line)")
