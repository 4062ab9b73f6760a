"""Lists the single changes of a machine to try: which parameters, and which values of each.

    numbers   half and double the present value (integers change by at least 1, within their range); for the curve of
              a knob all multiples in LADDER
    choices   the neighbours in a list of numbers; every other word in a list of words

Only parameters that can change while the machine does the same work are tried: knobs and facts that may be `advised`
(machine/parameters.py). Assumptions of parts, which the machine file does not state, are tried too: they show how
much the result depends on them and are never advised.
"""

from __future__ import annotations

from collections.abc import Sequence

from npexplore.designs import Design
from npexplore.machine.described.part_parameters import from_part
from npexplore.machine.parameters import Kind, Value
from npexplore.machine.workload import Workload

KINDS: tuple[Kind, ...] = ("knob", "fact")
LADDER = (1 / 4, 1 / 2, 1.0, 2.0, 4.0, 8.0)
Tried = tuple[str, Value]


def changes_to_try(design: Design, workload: Workload | None = None) -> list[Tried]:
    """Return (name, value) of every change to try: parameters that the machine reads and that may be advised."""
    names_read, parameters = design.depends_on(workload), design.parameters.file.parameter
    file = design.parameters.file
    names = [
        name for name, p in parameters.items()
        if name in names_read and p.advised and (p.kind in KINDS or (p.kind == "assumption" and from_part(file, name)))
    ]  # fmt: skip
    return [(name, value) for name in names for value in _values(design, name)]


def is_single(design: Design, name: str, value: Value) -> bool:
    """Return whether a value is ranked as a single change: a neighbouring choice, or a number halved or doubled."""
    parameter, present = design.parameters.file.parameter[name], design.parameters[name]
    if isinstance(value, str) or isinstance(present, str):
        return True
    return value in (parameter.neighbours(present) if parameter.choices else _steps(design, name, (0.5, 2.0)))


def _values(design: Design, name: str) -> list[Value]:
    """Return the values to try for a parameter, without its present value."""
    parameter, present = design.parameters.file.parameter[name], design.parameters[name]
    if isinstance(present, str):
        choices = parameter.advised if isinstance(parameter.advised, list) else parameter.choices
        return [choice for choice in choices if choice != present]
    if parameter.choices or not present > 0:
        return [choice for choice in parameter.choices if choice != present]
    return _steps(design, name, LADDER if parameter.kind == "knob" else (0.5, 2.0))


def _steps(design: Design, name: str, factors: Sequence[float]) -> list[Value]:
    """Return the multiples of a parameter's value, limited to its range; an integer changes by at least 1."""
    parameter, present = design.parameters.file.parameter[name], design.parameters[name]
    assert not isinstance(present, str)
    low = float("-inf") if parameter.min is None else parameter.min
    high = float("inf") if parameter.max is None else parameter.max
    values: list[Value] = []
    for factor in factors:
        value: float = min(max(present * factor, low), high)
        if isinstance(present, int):
            value = int(value) if value != present else value
        if value > 0 and value != present and parameter.allows(value):
            values.append(value)
    return list(dict.fromkeys(values))
