"""One step of a program as a graph: its calls and its body, run over what the registers of a thread hold.

Where the body returns, what is kept at that moment, and the ranges that hold there, say what the next step begins with;
`reaching` carries that from step to step. Header checks (`Inline`) are lowered with the step that asks for them; units
behind ports (`Outside`) leave a request.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from npexplore.errors import ModelError, UnknownNameError
from npexplore.hardware.graph import Graph
from npexplore.hardware.interpreter import Interpreter
from npexplore.hardware.programs import ENDS, Inline, LoweredStep, Request, Unit
from npexplore.hardware.shapes import Shape, Spans, decoded, encoded, join, leaves, shape_of, spans
from npexplore.hardware.values import UNBOUND, Bytes, Choice, RefusedError, bytes_of
from npexplore.machine.step_programs.compiler import Compiled
from npexplore.machine.step_programs.language import Call, Step


@dataclass(frozen=True)
class Entry:
    """What a step begins with: names that are kept, and ranges by register."""

    filled: frozenset[str]
    ranges: Spans

    def joined(self, other: Entry) -> Entry:
        """Return what holds for both; a register that one of them has not, nobody has filled there."""
        ranges = {**self.ranges, **other.ranges}
        for leaf in self.ranges.keys() & other.ranges.keys():
            (lo, hi), (low, high) = self.ranges[leaf], other.ranges[leaf]
            ranges[leaf] = min(lo, low), max(hi, high)
        return Entry(self.filled | other.filled, ranges)


@dataclass(frozen=True)
class Exit:
    """Where a step's body returns: the steps it may go to from there (`(end)` among them), and what they begin with."""

    goes: tuple[str, ...]
    leaves: Entry


class SteppedOver:
    """A step run over shapes of what is kept, and what it begins with; `shapes` is widened by what it leaves.

    exits: where it returns. left: names that are kept then. Raises ModelError with step, line and reason.
    """

    def __init__(
        self, compiled: Compiled, step: Step, units: Mapping[str, Unit], shapes: dict[str, Shape], entry: Entry
    ) -> None:
        self.compiled, self.step, self.units, self.shapes = compiled, step, units, shapes
        self.graph, self.exits, self.requests = Graph(), list[Exit](), list[Request]()
        self.run = Interpreter(self.graph, {})
        self.values = self.run.values
        self.left = frozenset[str]()
        filled, ranges = entry.filled, entry.ranges
        try:
            self.run.step_state = {
                name: decoded(self.values, shape, name, ranges) for name, shape in shapes.items() if name in filled
            }
            self.began = dict(self.run.step_state)
            self.following = self._run()
        except RefusedError as error:
            raise ModelError(f"program {compiled.program.name!r}, step {step.name!r}: {error}") from error

    def _run(self) -> Any:
        for piece in self.compiled.pieces[self.step.name]:
            replies = {}
            for call in piece.calls:
                if call.accelerator not in self.units:
                    program = self.compiled.program.name
                    raise UnknownNameError(f"accelerator of program {program!r}", call.accelerator, self.units)
                replies[call.reply] = self._called(call, self.units[call.accelerator])
            self.run.step_state |= replies
        self.run.on_return = self._leaves
        return self.run.run(self.step.run, self.run.context)

    def _called(self, call: Call, unit: Unit) -> Any:
        """Return the reply of a call, which is None where the call is not made."""
        run, values, fields = self.run, self.values, self.compiled.program.fields
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
                whole = bytes_of(region)
                arguments.append(values.cut(whole, one.first_byte, one.first_byte - (-one.bits // 8)))
        when = self.graph.const(1)
        if call.when is not None:
            when = values.node(values.truth(run.attribute(run.context, call.when)))
        if isinstance(unit, Inline):
            return values.merge(when, run.run(unit.run, *arguments), None)
        flat = [part for one in arguments for part in _parts(one)]
        nodes = tuple(values.node(one) for one in flat)
        name = f"reply.{call.reply}"
        self.requests.append(Request(call.reply, call.accelerator, when, nodes, tuple(leaves(unit.reply, name))))
        reply = decoded(values, unit.reply, name)
        if unit.table is not None:
            table = unit.table
            reply = values.spread(reply, lambda one: None if one is None else run.entry(table, one))
        return values.merge(when, reply, None)

    def _leaves(self, value: Any) -> None:
        """Note that the body returns: where to, and what is kept."""
        ways = value.entries if isinstance(value, Choice) else ((self.graph.const(1), value),)
        goes = tuple(ENDS if one is None else str(one) for when, one in ways if self.graph.constant(when) != 0)
        ranges: dict[str, tuple[int, int]] = {}
        for name, register in self.run.step_state.items():
            if register is UNBOUND:
                continue
            if register is not self.began.get(name, UNBOUND):
                shape = shape_of(self.values, self.values.pruned(register))
                self.shapes[name] = join(self.shapes.get(name), shape)
            ranges |= {leaf: (lo, hi) for leaf, lo, hi in spans(self.values, self.shapes[name], register, name)}
        filled = frozenset(name for name, register in self.run.step_state.items() if register is not UNBOUND)
        self.left |= filled
        self.exits.append(Exit(goes, Entry(filled, ranges)))

    def lowered(self) -> LoweredStep:
        """Return the step as nodes of its graph."""
        goes: list[str] = []

        def number(one: Any) -> int:
            name = ENDS if one is None else str(one)
            if name not in goes:
                goes.append(name)
            return goes.index(name)

        values, writes = self.values, dict[str, int]()
        at = values.node(values.spread(self.following, number))
        for name, value in self.run.step_state.items():
            if value is not UNBOUND and value is not self.began.get(name, UNBOUND):
                writes |= dict(encoded(values, self.shapes[name], value, name))
        return LoweredStep(self.step.name, self.graph, tuple(self.requests), writes, at, tuple(goes))


def _parts(argument: Any) -> tuple[Any, ...]:
    """Return the numbers that an argument of a call is asked as, those of bytes one by one."""
    if isinstance(argument, Bytes):
        if argument.length != len(argument.data):
            raise RefusedError("a call takes bytes whose length is known only in hardware")
        return argument.data
    return argument if isinstance(argument, tuple) else (argument,)
