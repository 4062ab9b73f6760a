"""What all walks over a record give, written to a file and compared: rows, demands, times alone, states of chains.

    python tests/reference/one_walk.py write FILE [SEEDS]       before a change of npexplore/machine
    python tests/reference/one_walk.py compare FILE [SEEDS]     after it: prints what differs, and ends with 1

Machines are those of the shelf and SEEDS (300) random ones. Rows of simulations must be equal; demands, latencies and
chains equal within a relative 1e-12, or 1e-24 s (1e-19 s of what is the small difference of two times).
"""

import dataclasses
import pickle
import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))
from reference.random_machines import random_machine

from npexplore import design
from npexplore.designs.listed import LISTED
from npexplore.engine.model import build
from npexplore.errors import InputError, ModelError, RefusedError
from npexplore.machine.demands import demands
from npexplore.machine.flows import flows
from npexplore.machine.mixes import load_mix
from npexplore.solve.machine_chain.chain import machine_chain

RELATIVE, SECONDS = 1e-12, 1e-24
MAX_STATES = 300
LEFT_OUT = {"under_load"}  # of an engine model: demands again


def flat(value, path=()):
    """Yield the numbers and texts of nested records, each with its place."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        for each in dataclasses.fields(value):
            if each.name not in LEFT_OUT:
                yield from flat(getattr(value, each.name), (*path, each.name))
    elif isinstance(value, dict):
        for key in value:
            yield from flat(value[key], (*path, str(key)))
    elif isinstance(value, set | frozenset):
        yield path, " ".join(sorted(map(str, value)))
    elif isinstance(value, list | tuple | range):
        for number, each in enumerate(value):
            yield from flat(each, (*path, number))
    elif isinstance(value, np.ndarray | float | int | np.number):
        yield path, np.asarray(value)
    elif value is None or isinstance(value, str):
        yield path, str(value)
    else:
        yield path, type(value).__name__


def answer(function):
    """Return what a function gives, flat; or its refusal."""
    try:
        return dict(flat(function()))
    except (ModelError, RefusedError, InputError) as error:
        return {(): f"{type(error).__name__}: {error}"}


def demanded(machine, load):
    """Return the demands of all pools, and of the first turn by turn of its loops, a tenth of the packets left out."""
    distinct, weights = load.distinct()
    found, first = flows(machine, distinct, weights, apart=True), machine.record_pools(load.columns)[0]
    columns = {variable: np.asarray(distinct[name], dtype=float) for name, variable in first.columns.items()}
    return found, demands(first.body, columns, np.where(np.arange(len(weights)) % 10 == 9, 0.0, weights), at_once=1)


def states(machine, load):
    """Return states and rates of the machine with one thread in each pool."""
    counts = [pool.count for pool in machine.pools]
    for pool in machine.pools:
        pool.count = 1
    try:
        found = machine_chain(machine, load, phases=1, most_states=MAX_STATES)
    finally:
        for pool, count in zip(machine.pools, counts, strict=True):
            pool.count = count
    return found.states, found.rewards, found.chain


def machines(seeds):
    """Yield (name, machine, workload)."""
    for name in LISTED:
        one = design(name)
        for mix in ("64 bytes", "imix") if LISTED[name].needs_workload else (None,):
            load = one.workload(mix and load_mix(mix).workload(64))
            for at in (load, load.with_arrivals("poisson", 1e5)) if mix else (load,):
                yield f"{name} {mix} {at.arrivals}", one.machine(at), at
    for seed in range(seeds):
        one = random_machine(seed)
        yield f"random {seed}", one.design.machine(one.workload()), one.workload()


def answers(seeds):
    return {
        name: {
            "rows": answer(lambda: build(machine, load)),  # noqa: B023
            "demands": answer(lambda: demanded(machine, load)),  # noqa: B023
            "chain": answer(lambda: states(machine, load)),  # noqa: B023
        }
        for name, machine, load in machines(seeds)
    }


def differs(what, place, one, other):
    if isinstance(one, str) or isinstance(other, str):
        return not isinstance(one, str) or not isinstance(other, str) or one != other
    if one.shape != other.shape:
        return True
    if what == "rows" and place != ("patience_s",):  # which is made of demands
        return not np.array_equal(one, other, equal_nan=True)
    within = 1e-12 if "scv" in place else 1e-19 if "own_waits" in place else SECONDS
    return not np.allclose(one, other, rtol=RELATIVE, atol=within, equal_nan=True)


def main(word, path, seeds="300"):
    now = answers(int(seeds))
    if word == "write":
        Path(path).write_bytes(pickle.dumps(now))
        return 0
    before, wrong = pickle.loads(Path(path).read_bytes()), 0
    for name, parts in now.items():
        for what, found in parts.items():
            past = before[name][what]
            for place in {**past, **found}:
                if differs(what, place, past.get(place, np.zeros(())), found.get(place, np.zeros(()))):
                    wrong += 1
                    if wrong < 40:
                        print(name, what, *place, past.get(place), found.get(place), sep=" | ")
    print(f"{len(now)} machines, {sum(len(v) for p in now.values() for v in p.values())} values, {wrong} differ")
    return wrong > 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
