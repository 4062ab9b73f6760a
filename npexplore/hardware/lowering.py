"""Lowers a step program to graphs: each step's calls and body become expressions over a thread's registers.

`stepping` lowers a step for the shapes and ranges of kept values; the values that the step leaves widen them, and
`reaching` repeats this until nothing changes. Values that no later step and no result reads have no register.

A step that cannot become hardware raises ModelError with its name, the line and the reason.
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
        units: how hardware implements its accelerators, by name.
        begins: the shapes of a packet's initial values, by name.
        results: the names of the kept values that are the program's result.

    Raises ModelError with step, line and reason for a program that cannot become hardware, and for a kept value that is
    wider than declared; UnknownNameError for an unknown accelerator.
    """
    steps, shapes = reached(compiled, units, begins)
    _check_widths(compiled, shapes)
    values, first_registers = Values(Graph()), set[str]()
    for name, shape in begins.items():
        first_registers |= dict(encoded(values, shapes[name], decoded(values, shape, name), name)).keys()
    return _trimmed(compiled.program.name, compiled.program.start, steps, shapes, first_registers, results)


def _check_widths(compiled: Compiled, shapes: Mapping[str, Shape]) -> None:
    """Raise ModelError for a kept number that exceeds its declaration; of several declarations, the widest counts."""
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
    """Return a program without registers that are never read."""
    leaf_by_name = {leaf[0]: leaf for register, shape in shapes.items() for leaf in leaves(shape, register)}
    answer = tuple(leaf[0] for result in results for leaf in leaves(shapes[result], result))
    needed = set(answer)
    while True:
        previous_size = len(needed)
        for step in steps.values():
            read_nodes = [node for request in step.requests for node in (request.when, *request.arguments)]
            written_nodes = [node for leaf, node in step.writes.items() if leaf in needed]
            needed |= {leaf for leaf in step.inputs([step.next, *read_nodes, *written_nodes]) if leaf in leaf_by_name}
        if len(needed) == previous_size:
            break
    trimmed_steps = {
        key: replace(step, writes={leaf: node for leaf, node in step.writes.items() if leaf in needed})
        for key, step in steps.items()
    }
    registers = tuple(leaf_by_name[name_] for name_ in sorted(needed, key=_place(leaf_by_name)))
    return LoweredProgram(name, start, trimmed_steps, registers, shapes, frozenset(first & needed), answer)


def _place(every: Mapping[str, Leaf]) -> Callable[[str], int]:
    order = {leaf: k for k, leaf in enumerate(every)}
    return order.__getitem__
