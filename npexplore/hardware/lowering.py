"""From a step program to graphs: each step's calls and body as expressions over the registers of a thread.

`stepping` lowers a step over the shapes and ranges of what steps keep; what it leaves widens them, `reaching` until
nothing changes. What no later step and no result looks at has no register.

A step that hardware cannot have is refused with its name, the line and why.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from npexplore.errors import ModelError
from npexplore.hardware.graph import Graph
from npexplore.hardware.operations import Values
from npexplore.hardware.programs import ENDS, Inline, LoweredProgram, LoweredStep, Outside, Request, Unit
from npexplore.hardware.reaching import reached
from npexplore.hardware.shapes import Leaf, Shape, Whole, decoded, encoded, leaves
from npexplore.machine.step_programs.compiler import Compiled

__all__ = ["ENDS", "Inline", "LoweredProgram", "LoweredStep", "Outside", "Request", "Unit", "lower_program"]


def lower_program(
    compiled: Compiled, units: Mapping[str, Unit], begins: Mapping[str, Shape], results: Sequence[str]
) -> LoweredProgram:
    """Return a program as graphs.

    Args:
        compiled: the step program.
        units: its accelerators by name, as hardware has them.
        begins: name -> shape of what a packet begins with.
        results: the kept values that are the program's answer, by name.

    Raises ModelError with step, line and reason for a program that hardware cannot have, and for a kept value that is
    wider than declared; UnknownNameError for an unknown accelerator.
    """
    steps, shapes = reached(compiled, units, begins)
    _check_widths(compiled, shapes)
    values, first = Values(Graph()), set[str]()
    for name, shape in begins.items():
        first |= dict(encoded(values, shapes[name], decoded(values, shape, name), name)).keys()
    return _trimmed(compiled.program.name, compiled.program.start, steps, shapes, first, results)


def _check_widths(compiled: Compiled, shapes: Mapping[str, Shape]) -> None:
    """Hold the registers of kept numbers to what steps declare; several steps may keep one name, the widest counts."""
    declared: dict[str, tuple[int, str]] = {}
    for step in compiled.program.steps.values():
        for register in step.keeps:
            most = ((1 << register.bits) - 1) * register.unit
            declared[register.name] = max(declared.get(register.name, (0, "")), (most, step.name))
    for name, (most, step_name) in declared.items():
        shape = shapes.get(name)
        if isinstance(shape, Whole) and shape.hi > most:
            raise ModelError(
                f"program {compiled.program.name!r}, step {step_name!r}: kept {name!r} may be {shape.hi}, but is "
                f"declared up to {most}"
            )


def _trimmed(
    name: str, start: str, steps: Mapping[str, LoweredStep], shapes: Mapping[str, Shape], first: set[str],
    results: Sequence[str],
) -> LoweredProgram:  # fmt: skip
    """Return a program without the registers that nothing looks at."""
    every = {leaf[0]: leaf for register, shape in shapes.items() for leaf in leaves(shape, register)}
    answer = tuple(leaf[0] for one in results for leaf in leaves(shapes[one], one))
    needed = set(answer)
    while True:
        before = len(needed)
        for step in steps.values():
            read_nodes = [at for one in step.requests for at in (one.when, *one.arguments)]
            left = [at for leaf, at in step.writes.items() if leaf in needed]
            needed |= {leaf for leaf in step.inputs([step.next, *read_nodes, *left]) if leaf in every}
        if len(needed) == before:
            break
    cut = {
        key: replace(step, writes={leaf: at for leaf, at in step.writes.items() if leaf in needed})
        for key, step in steps.items()
    }
    registers = tuple(every[one] for one in sorted(needed, key=_place(every)))
    return LoweredProgram(name, start, cut, registers, shapes, frozenset(first & needed), answer)


def _place(every: Mapping[str, Leaf]) -> Callable[[str], int]:
    order = {leaf: k for k, leaf in enumerate(every)}
    return order.__getitem__
