"""What registers can hold where a step begins: ranges carried from step to step, until nothing changes.

A step on a loop is looked at once for each place where a window of bytes may begin (`.count` of its registers): a label
popped moves it, and what bounds the labels that are left bounds the window only where both are looked at together. The
graph that a step becomes is one for all of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import reduce
from typing import Any

from npexplore.errors import ModelError
from npexplore.hardware.graph import Graph
from npexplore.hardware.operations import Values
from npexplore.hardware.programs import ENDS, LoweredStep, Unit
from npexplore.hardware.shapes import Shape, decoded, spans, structure
from npexplore.hardware.stepping import Entry, SteppedOver
from npexplore.hardware.values import RefusedError
from npexplore.machine.step_programs.compiler import Compiled
from npexplore.machine.step_programs.language import StepProgram

MOST_LOOKS = 40  # at a step with windows at one place
MOVES = ".count"
Place = tuple[str, tuple[tuple[str, int], ...]]  # a step, and where windows begin


@dataclass(frozen=True)
class _Seen:
    """What a step was last looked at with, and how often it was."""

    entry: Entry
    structures: Mapping[str, Any]
    times: int

    def changed(self, entry: Entry, shapes: Mapping[str, Shape]) -> bool:
        """Say whether the step may leave something else now."""
        return self.entry != entry or any(structure(shapes[name]) != one for name, one in self.structures.items())


def reached(
    compiled: Compiled, units: Mapping[str, Unit], begins: Mapping[str, Shape]
) -> tuple[dict[str, LoweredStep], dict[str, Shape]]:
    """Return the steps that a packet may come to, in the program's order, as graphs, and the shapes of what is kept.

    The first step of the program's order that begins with something new is looked at next, so that loops are done with
    before what is behind them. Raises ModelError with step, line and reason for what hardware cannot have.
    """
    program, shapes = compiled.program, dict(begins)
    loops = {name for name in program.steps if _comes_back(program, name)}
    order = {name: k for k, name in enumerate(program.steps)}
    entries = {_place(program.start, first := _first(begins), loops): first}
    seen: dict[Place, _Seen] = {}
    while True:
        changed = [at for at, entry in entries.items() if at not in seen or seen[at].changed(entry, shapes)]
        if not changed:
            return _lowered(compiled, units, shapes, entries), shapes
        place = min(changed, key=lambda at: (order[at[0]], at[1]))
        name, before, times = place[0], dict(shapes), seen[place].times + 1 if place in seen else 1
        run = SteppedOver(compiled, program.steps[name], units, shapes, entries[place])
        if times > MOST_LOOKS:
            wide = sorted(one for one in shapes if shapes[one] != before.get(one))
            raise ModelError(
                f"program {program.name!r}: a loop without bound: {', '.join(wide)} grows with every round of its steps"
            )
        filled = entries[place].filled | run.left
        seen[place] = _Seen(entries[place], {one: structure(shapes[one]) for one in filled}, times)
        for one in run.exits:
            for to in one.goes:
                _arrives(program, name, to, one.leaves, loops, entries)


def _comes_back(program: StepProgram, name: str) -> bool:
    """Say whether a step may be passed again behind itself."""
    reachable, todo = set[str](), list(program.steps[name].goes)
    while todo:
        one = todo.pop()
        if one not in reachable:
            reachable.add(one)
            todo.extend(program.steps[one].goes)
    return name in reachable


def _first(begins: Mapping[str, Shape]) -> Entry:
    """Return what the first step begins with: all that the shapes of a packet's registers hold."""
    values = Values(Graph())
    first_steps = [
        leaf for name, shape in begins.items() for leaf in spans(values, shape, decoded(values, shape, name), name)
    ]
    return Entry(frozenset(begins), {name: (lo, hi) for name, lo, hi in first_steps})


def _place(step: str, entry: Entry, loops: set[str]) -> Place:
    moved = [(leaf, lo) for leaf, (lo, hi) in entry.ranges.items() if leaf.endswith(MOVES) and lo == hi]
    return step, tuple(sorted(moved)) if step in loops else ()


def _arrives(
    program: StepProgram, step: str, to: str, left: Entry, loops: set[str], entries: dict[Place, Entry]
) -> None:
    """Widen what a step may begin with by what another leaves."""
    if to == ENDS:
        return
    if to not in program.steps[step].goes:
        refused = RefusedError(f"it does not declare that it goes to {to!r}")
        raise ModelError(f"program {program.name!r}, step {step!r}: {refused}") from refused
    place = _place(to, left, loops)
    known = entries.get(place)
    entries[place] = left if known is None else known.joined(left)


def _lowered(
    compiled: Compiled, units: Mapping[str, Unit], shapes: dict[str, Shape], entries: Mapping[Place, Entry]
) -> dict[str, LoweredStep]:
    """Return each step as one graph, over all that it may begin with."""
    lowered = {}
    for name in compiled.program.steps:
        here = [one for (step, _), one in entries.items() if step == name]
        if here:
            entry = reduce(Entry.joined, here)
            lowered[name] = SteppedOver(compiled, compiled.program.steps[name], units, dict(shapes), entry).lowered()
    return lowered
