"""From a step program to graphs: each step's calls and body as expressions over the registers of a thread.

A step is lowered over the shapes of what steps keep; what it leaves widens them, until nothing changes. Accelerators
are of two sorts: `Inline`, a function that is lowered with the step that calls it (it checks a header as it is read),
and `Outside`, which answers through a port: a shape of its reply. What no later step and no result looks at has no
register.

A step that hardware cannot have is refused with its name, the line and why.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from npexplore.errors import ModelError, UnknownNameError
from npexplore.hardware.graph import Graph
from npexplore.hardware.interpreter import Interpreter
from npexplore.hardware.shapes import Leaf, Shape, Whole, decoded, encoded, join, leaves, shape_of
from npexplore.hardware.values import UNBOUND, RefusedError
from npexplore.machine.step_programs.compiler import Compiled
from npexplore.machine.step_programs.language import Call, Step

ROUNDS = 12
ENDS = "(end)"


@dataclass(frozen=True)
class Inline:
    """An accelerator that is a function of its arguments, lowered with the step."""

    run: Callable[..., Any]


@dataclass(frozen=True)
class Outside:
    """An accelerator behind a port: the shape of what it answers."""

    reply: Shape


Unit = Inline | Outside


@dataclass(frozen=True)
class Request:
    """A call that goes through a port: made where `when` is 1; the reply's registers begin with `reply.NAME`."""

    name: str
    accelerator: str
    when: int
    arguments: tuple[int, ...]
    reply: tuple[Leaf, ...]


@dataclass(frozen=True)
class LoweredStep:
    """A step as nodes of its graph: its requests, the register each name takes, the number of the next step.

    goes: names by number; the last one may be `(end)`.
    """

    name: str
    graph: Graph = field(repr=False)
    requests: tuple[Request, ...]
    writes: Mapping[str, int]
    next: int
    goes: tuple[str, ...]

    def inputs(self, nodes: Sequence[int]) -> set[str]:
        """Return the names of the inputs that some nodes are made of."""
        under = (self.graph.nodes[at] for at in self.graph.under(nodes))
        return {node.value for node in under if node.op == "input"}


@dataclass(frozen=True)
class LoweredProgram:
    """A program as graphs by step, the registers of a thread, and the shapes of what steps keep."""

    name: str
    start: str
    steps: Mapping[str, LoweredStep]
    registers: tuple[Leaf, ...]
    shapes: Mapping[str, Shape]


def lower_program(
    compiled: Compiled, units: Mapping[str, Unit], begins: Mapping[str, Shape], results: Sequence[str]
) -> LoweredProgram:
    """Return a program as graphs. begins: shapes of what a packet begins with; results: kept values, its answer.

    Raises ModelError with step, line and reason for a program that hardware cannot have, and for a kept value that is
    wider than it is declared; UnknownNameError for an accelerator that is not there.
    """
    program, shapes = compiled.program, dict(begins)
    done: dict[str, LoweredStep] = {}
    for _ in range(ROUNDS):
        before, reached = dict(shapes), [program.start]
        for name in reached:
            done[name] = _lowered(compiled, program.steps[name], units, shapes)
            reached += [one for one in done[name].goes if one not in (*reached, ENDS)]
        if shapes == before:
            order = [name for name in program.steps if name in reached]
            _check_widths(compiled, shapes)
            return _trimmed(program.name, program.start, {name: done[name] for name in order}, shapes, results)
    wide = sorted(name for name in shapes if shapes[name] != before.get(name))
    raise ModelError(
        f"program {program.name!r}: a loop without bound: {', '.join(wide)} grows with every round of its steps"
    )


def _lowered(compiled: Compiled, step: Step, units: Mapping[str, Unit], shapes: dict[str, Shape]) -> LoweredStep:
    """Return a step over the shapes so far, which what it leaves widens."""
    graph, program = Graph(), compiled.program
    run = Interpreter(graph, {})
    values = run.values
    try:
        run.kept = {name: decoded(values, shape, name) for name, shape in shapes.items()}
        began, requests = dict(run.kept), list[Request]()
        for piece in compiled.pieces[step.name]:
            replies = {}
            for call in piece.calls:
                if call.accelerator not in units:
                    raise UnknownNameError(f"accelerator of program {program.name!r}", call.accelerator, units)
                replies[call.reply] = _called(run, compiled, call, units[call.accelerator], requests)
            run.kept |= replies
        following = run.run(step.run, run.context)
        goes: list[str] = []

        def number(one: Any) -> int:
            name = ENDS if one is None else str(one)
            if name != ENDS and name not in step.goes:
                raise RefusedError(f"it does not declare that it goes to {name!r}")
            if name not in goes:
                goes.append(name)
            return goes.index(name)

        at = values.node(values.spread(following, number))
        writes: dict[str, int] = {}
        for name, value in run.kept.items():
            if value is not UNBOUND and value is not began.get(name):
                shapes[name] = join(shapes.get(name), shape_of(values, value))
                writes |= dict(encoded(values, shapes[name], value, name))
        return LoweredStep(step.name, graph, tuple(requests), writes, at, tuple(goes))
    except RefusedError as error:
        raise ModelError(f"program {program.name!r}, step {step.name!r}: {error}") from error


def _called(run: Interpreter, compiled: Compiled, call: Call, unit: Unit, requests: list[Request]) -> Any:
    """Return the reply of a call, which is None where the call is not made."""
    values, fields = run.values, compiled.program.fields
    arguments = []
    for name in call.takes:
        if name not in fields:
            arguments.append(run.attribute(run.context, name))
            continue
        one = fields[name]
        if one.of is not None:
            arguments.append(run.run(one.of, run.context))
        else:
            region = run.attribute(run.context, one.region)
            whole = values.bytes_of(region)
            arguments.append(values.cut(whole, one.first_byte, one.first_byte - (-one.bits // 8)))
    when = values.graph.const(1)
    if call.when is not None:
        when = values.node(values.truth(run.attribute(run.context, call.when)))
    if isinstance(unit, Inline):
        reply = run.run(unit.run, *arguments)
    else:
        flat = [part for one in arguments for part in (one if isinstance(one, tuple) else (one,))]
        nodes = tuple(values.node(one) for one in flat)
        name = f"reply.{call.reply}"
        requests.append(Request(call.reply, call.accelerator, when, nodes, tuple(leaves(unit.reply, name))))
        reply = decoded(values, unit.reply, name)
    return values.merge(when, reply, None)


def _check_widths(compiled: Compiled, shapes: Mapping[str, Shape]) -> None:
    """Hold the registers of kept numbers to what steps declare; several steps may keep one name, the widest counts."""
    declared: dict[str, tuple[int, str]] = {}
    for step in compiled.program.steps.values():
        for kept in step.keeps:
            most = ((1 << kept.bits) - 1) * kept.unit
            declared[kept.name] = max(declared.get(kept.name, (0, "")), (most, step.name))
    for name, (most, step_name) in declared.items():
        shape = shapes.get(name)
        if isinstance(shape, Whole) and shape.hi > most:
            raise ModelError(
                f"program {compiled.program.name!r}, step {step_name!r}: kept {name!r} may be {shape.hi}, but is "
                f"declared up to {most}"
            )


def _trimmed(
    name: str, start: str, steps: Mapping[str, LoweredStep], shapes: Mapping[str, Shape], results: Sequence[str]
) -> LoweredProgram:
    """Return a program without the registers that nothing looks at."""
    every = {leaf[0]: leaf for kept, shape in shapes.items() for leaf in leaves(shape, kept)}
    needed = {leaf[0] for one in results for leaf in leaves(shapes[one], one)}
    while True:
        before = len(needed)
        for step in steps.values():
            asked = [at for one in step.requests for at in (one.when, *one.arguments)]
            left = [at for leaf, at in step.writes.items() if leaf in needed]
            needed |= {leaf for leaf in step.inputs([step.next, *asked, *left]) if leaf in every}
        if len(needed) == before:
            break
    cut = {
        key: replace(step, writes={leaf: at for leaf, at in step.writes.items() if leaf in needed})
        for key, step in steps.items()
    }
    return LoweredProgram(name, start, cut, tuple(every[one] for one in sorted(needed, key=_place(every))), shapes)


def _place(every: Mapping[str, Leaf]) -> Callable[[str], int]:
    order = {leaf: k for k, leaf in enumerate(every)}
    return order.__getitem__
