"""Lowers one step of a program to a graph: it runs the step's calls and body on the symbolic contents of registers.

At each return of the body, the kept values and their ranges are initial values of the next step; `reaching` propagates
them from step to step. Header checks (`Inline`) are lowered with the calling step; units behind ports (`Outside`)
become requests.
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
    """The initial values of a step: names of kept values, and ranges by register."""

    filled: frozenset[str]
    ranges: Spans

    def joined(self, other: Entry) -> Entry:
        """Return an entry that includes both; a register that only one of them has keeps its range."""
        ranges = {**self.ranges, **other.ranges}
        for leaf in self.ranges.keys() & other.ranges.keys():
            (lowest, highest), (low, high) = self.ranges[leaf], other.ranges[leaf]
            ranges[leaf] = min(lowest, low), max(highest, high)
        return Entry(self.filled | other.filled, ranges)


@dataclass(frozen=True)
class Exit:
    """A return of a step's body: the possible next steps (with `(end)`), and the initial values that it leaves them."""

    goes: tuple[str, ...]
    leaves: Entry


class SteppedOver:
    """A step, run on its initial values; it widens `shapes` by the values that it leaves.

    exits: its returns. left: names of the values kept at any return. Raises ModelError with step, line and reason.
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
        """Return the reply of a call; None if the call is not made."""
        run, values, fields = self.run, self.values, self.compiled.program.fields
        arguments = []
        for name in call.takes:
            if name not in fields:
                arguments.append(run.attribute(run.context, name))
                continue
            field_ = fields[name]
            if field_.of is not None:
                arguments.append(run.run(field_.of, run.context))
            else:
                region = run.attribute(run.context, field_.region)
                octets = bytes_of(region)
                arguments.append(values.cut(octets, field_.first_byte, field_.first_byte - (-field_.bits // 8)))
        when = self.graph.const(1)
        if call.when is not None:
            when = values.node(values.truth(run.attribute(run.context, call.when)))
        if isinstance(unit, Inline):
            return values.merge(when, run.run(unit.run, *arguments), None)
        flat = [part for argument in arguments for part in _parts(argument)]
        nodes = tuple(values.node(number) for number in flat)
        name = f"reply.{call.reply}"
        self.requests.append(Request(call.reply, call.accelerator, when, nodes, tuple(leaves(unit.reply, name))))
        reply = decoded(values, unit.reply, name)
        if unit.table is not None:
            table = unit.table
            reply = values.spread(reply, lambda answer: None if answer is None else run.entry(table, answer))
        return values.merge(when, reply, None)

    def _leaves(self, value: Any) -> None:
        """Record a return of the body: the next steps, and the kept values."""
        alternatives = value.entries if isinstance(value, Choice) else ((self.graph.const(1), value),)
        goes = tuple(
            ENDS if target is None else str(target) for when, target in alternatives if self.graph.constant(when) != 0
        )
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
    """Return a call's argument as numbers; bytes become one number each."""
    if isinstance(argument, Bytes):
        if argument.length != len(argument.data):
            raise RefusedError("a call takes bytes whose length is known only in hardware")
        return argument.data
    return argument if isinstance(argument, tuple) else (argument,)
