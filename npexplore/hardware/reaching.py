"""The ranges of registers at the start of each step: they are propagated from step to step until nothing changes.

A step in a loop is analysed once for each position at which a window of bytes may begin (`.count` of its registers).
Popping a label moves the window; the bound on the remaining labels bounds the window only if both are analysed
together. The final graph of a step covers all positions.
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

MOST_LOOKS = 40  # analyses of a step with the same window positions
MOVES = ".count"
Place = tuple[str, tuple[tuple[str, int], ...]]  # a step, and the positions of its windows


@dataclass(frozen=True)
class _Seen:
    """The entry and structures of a step's last analysis, and the number of its analyses."""

    entry: Entry
    structures: Mapping[str, Any]
    times: int

    def changed(self, entry: Entry, shapes: Mapping[str, Shape]) -> bool:
        """Return whether the step may leave other values than at its last analysis."""
        return self.entry != entry or any(structure(shapes[name]) != before for name, before in self.structures.items())


def reached(
    compiled: Compiled, units: Mapping[str, Unit], begins: Mapping[str, Shape]
) -> tuple[dict[str, LoweredStep], dict[str, Shape]]:
    """Return the reachable steps as graphs, in the program's order, and the shapes of kept values.

    The next step to analyse is the first one, in the program's order, whose initial values have changed, so that loops
    converge before later steps. Raises ModelError with step, line and reason for code that cannot become hardware.
    """
    program, shapes = compiled.program, dict(begins)
    loops = {name for name in program.steps if _comes_back(program, name)}
    order = {name: k for k, name in enumerate(program.steps)}
    entries = {_place(program.start, first := _first(begins), loops): first}
    looks: dict[Place, _Seen] = {}
    while True:
        changed = [
            place for place, entry in entries.items() if place not in looks or looks[place].changed(entry, shapes)
        ]
        if not changed:
            return _lowered(compiled, units, shapes, entries), shapes
        place = min(changed, key=lambda candidate: (order[candidate[0]], candidate[1]))
        name, shapes_before, times = place[0], dict(shapes), looks[place].times + 1 if place in looks else 1
        stepped = SteppedOver(compiled, program.steps[name], units, shapes, entries[place])
        if times > MOST_LOOKS:
            wide = sorted(name_ for name_ in shapes if shapes[name_] != shapes_before.get(name_))
            raise ModelError(
                f"program {program.name!r}: a loop without bound: {', '.join(wide)} grows with every round of its steps"
            )
        filled = entries[place].filled | stepped.left
        looks[place] = _Seen(entries[place], {name_: structure(shapes[name_]) for name_ in filled}, times)
        for exit_ in stepped.exits:
            for target in exit_.goes:
                _arrives(program, name, target, exit_.leaves, loops, entries)


def _comes_back(program: StepProgram, name: str) -> bool:
    """Return whether a step is part of a loop."""
    reachable, todo = set[str](), list(program.steps[name].goes)
    while todo:
        follower = todo.pop()
        if follower not in reachable:
            reachable.add(follower)
            todo.extend(program.steps[follower].goes)
    return name in reachable


def _first(begins: Mapping[str, Shape]) -> Entry:
    """Return the initial values of the first step: the full ranges of the packet's registers."""
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
    """Widen the initial values of step `to` by the values that another step leaves."""
    if to == ENDS:
        return
    if to not in program.steps[step].goes:
        error = RefusedError(f"it does not declare that it goes to {to!r}")
        raise ModelError(f"program {program.name!r}, step {step!r}: {error}") from error
    place = _place(to, left, loops)
    known_entry = entries.get(place)
    entries[place] = left if known_entry is None else known_entry.joined(left)


def _lowered(
    compiled: Compiled, units: Mapping[str, Unit], shapes: dict[str, Shape], entries: Mapping[Place, Entry]
) -> dict[str, LoweredStep]:
    """Return each step as one graph for all of its initial values."""
    lowered = {}
    for name in compiled.program.steps:
        step_entries = [entry_ for (step, _), entry_ in entries.items() if step == name]
        if step_entries:
            entry = reduce(Entry.joined, step_entries)
            lowered[name] = SteppedOver(compiled, compiled.program.steps[name], units, dict(shapes), entry).lowered()
    return lowered
