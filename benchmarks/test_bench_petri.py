"""Firings a second of processor time: a ring beside simpn and SNAKES, the DRAM net beside the engine.

The ring: five transitions, each with a resource of two, twenty tokens, delays 3 to 7. simpn runs it with its delays;
SNAKES has no time and fires the same net untimed, which is less work. It tries every token that differs: tokens that
are numbers (as simpn's) cost it twice or more of what tokens cost that are alike, as ours are. Both are shown.
Peers run fewer firings, for about as long.
"""

import time
from functools import partial

import pytest
from reference.timing import record

from npexplore.designs import design
from npexplore.machine.petri import load_net, net
from npexplore.solve.petri import find_markings, solve_chain
from npexplore.solve.petri.run import Run

STATIONS, TOKENS, UNITS = 5, 20, 2


def ring():
    places = {f"P{k}": TOKENS * (k == 0) for k in range(STATIONS)} | {f"R{k}": UNITS for k in range(STATIONS)}
    lines = {f"t{k}": f"P{k} -> P{(k + 1) % STATIONS}, using R{k}, for {k + 3}" for k in range(STATIONS)}
    return net(timing="duration", place=places, transition=lines)


def processor(function):
    """Return seconds of processor time, and what the function returned."""
    began = time.process_time()
    result = function()
    return time.process_time() - began, result


def firings_a_second(made, firings):
    run = Run.of(made)
    run.advance(firings=1000)
    took, _ = processor(lambda: run.advance(firings=firings))
    return firings / took, run


def by_simpn(until):
    simulator = pytest.importorskip("simpn.simulator")
    problem = simulator.SimProblem()
    queues = [problem.add_var(f"P{k}") for k in range(STATIONS)]
    units = [problem.add_var(f"R{k}") for k in range(STATIONS)]
    for token in range(TOKENS):
        queues[0].put(f"c{token}")
    fired = [0]

    def behavior(delay):
        def moved(c, u):
            fired[0] += 1
            return [simulator.SimToken(c, delay=delay), simulator.SimToken(u, delay=delay)]

        return moved

    for k in range(STATIONS):
        for unit in range(UNITS):
            units[k].put(f"u{unit}")

        inputs, outputs = [queues[k], units[k]], [queues[(k + 1) % STATIONS], units[k]]
        problem.add_event(inputs, outputs, behavior(k + 3), name=f"t{k}")
    took, _ = processor(lambda: problem.simulate(until))
    return fired[0] / took


def by_snakes(firings, alike=False):
    nets = pytest.importorskip("snakes.nets")
    made = nets.PetriNet("ring")

    def tokens(many):
        return [nets.dot] * many if alike else range(many)

    customer, unit = [nets.Value(nets.dot)] * 2 if alike else [nets.Variable(name) for name in ("customer", "unit")]
    for k in range(STATIONS):
        made.add_place(nets.Place(f"P{k}", tokens(TOKENS) if k == 0 else []))
        made.add_place(nets.Place(f"R{k}", tokens(UNITS)))
    for k in range(STATIONS):
        made.add_transition(nets.Transition(f"t{k}"))
        made.add_input(f"P{k}", f"t{k}", customer)
        made.add_input(f"R{k}", f"t{k}", unit)
        made.add_output(f"P{(k + 1) % STATIONS}", f"t{k}", customer)
        made.add_output(f"R{k}", f"t{k}", unit)

    def run():
        done = 0
        while done < firings:
            for one in made.transition():
                modes = one.modes()
                if modes:
                    one.fire(modes[0])
                    done += 1

    took, _ = processor(run)
    return firings / took


PEERS = {"simpn": by_simpn, "snakes": by_snakes, "snakes, tokens alike": partial(by_snakes, alike=True)}


@pytest.mark.parametrize(("peer", "aim"), [("simpn", 150), ("snakes", 1000), ("snakes, tokens alike", 1000)])
def test_ring(benchmark, peer, aim):
    theirs = benchmark.pedantic(PEERS[peer], (3000,), rounds=1, iterations=1)
    ours, _ = firings_a_second(ring(), 5_000_000)
    record(benchmark, million_firings_per_s=ours / 1e6, times_as_fast=ours / theirs, aim=aim)


def test_random_choice_beside_none(benchmark):
    """The same net where one of eight may always fire, by chance or by eight priorities."""

    def made(clause):
        lines = {f"t{k}": "A -> A, for 1, " + clause.format(k=k) for k in range(8)}
        return net(timing="duration", place={"A": 1}, transition=lines)

    chance, _ = benchmark.pedantic(firings_a_second, (made("priority 0"), 3_000_000), rounds=1, iterations=1)
    first, _ = firings_a_second(made("priority {k}"), 3_000_000)
    record(benchmark, million_firings_per_s=chance / 1e6, first_enabled_over_random=first / chance, aim=1.5)


def test_dram_net_beside_the_engine(benchmark):
    rate, run = benchmark.pedantic(firings_a_second, (load_net("ixp2400_dram"), 3_000_000), rounds=1, iterations=1)
    fired = dict(zip((one.name for one in run.program.net.transitions), run.snapshot().fired.tolist(), strict=True))
    ours = rate * fired["CpuTrans"] / sum(fired.values())
    engine = design("ixp2400_dram")
    engine.simulate(packets=1000)
    took, _ = processor(lambda: engine.simulate(packets=400_000, breakdown=False))
    record(benchmark, million_accesses_per_s=ours / 1e6, of_the_engine=ours * took / 450_000, aim=0.2)


def test_kanban_of_five_cards(benchmark):
    cards, states = (3, 58_400) if benchmark.disabled else (5, 2_546_432)
    made = load_net("kanban", {"t": cards})
    explored, found = benchmark.pedantic(processor, (lambda: find_markings(made),), rounds=1, iterations=1)
    assert found.states == states
    solved, answer = processor(lambda: solve_chain(made, only=["in1"]))
    record(benchmark, exploration_s=explored, solution_s=solved, certified=answer.error)
