"""A program as text: the lines that the body of a Python function of `m` and `packet` would have.

    with m.loop(ceildiv(packet.packet_bytes, 64)):
        m.me.compute(cycles=p.cycles_per_cell)
    held = m.take("bus")

Forms: a call, `name = value`, `with m.loop / m.branch / m.otherwise / m.fork`, `if` on parameters, `pass`. Anything
else needs a Python file.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from contextlib import ExitStack
from textwrap import dedent
from typing import Any

from npexplore import syntax
from npexplore.errors import InputError, ModelError, NpexploreError, UnknownNameError
from npexplore.machine.described.formula import Formulas
from npexplore.machine.parameters import Parameters
from npexplore.machine.program import Packet, Recorder

CALLS = ("let", "draw", "turn", "take", "take_all", "give", "priority")
BLOCKS = ("loop", "branch", "otherwise", "fork")


class _LineError(ModelError):
    """An error that says its line already."""


class TextProgram:
    """A program that is recorded from its lines; `place` begins every message. Raises InputError for other forms."""

    def __init__(self, text: str, parameters: Parameters, place: str) -> None:
        self.parameters, self.place = parameters, place
        try:
            self.body = syntax.statements(dedent(text))
        except (SyntaxError, ValueError) as error:
            line = getattr(error, "lineno", None)
            raise InputError(f"{place}{f', line {line}' if line else ''}: {getattr(error, 'msg', error)}") from None
        if not self.body:
            raise InputError(f"{place} has no lines")

    def __call__(self, m: Recorder, packet: Packet) -> None:
        """Record the lines."""
        _Lines(self, m, packet).run(self.body)


class _Lines(Formulas):
    """The lines of one recording, and the names that they have given."""

    def __init__(self, program: TextProgram, m: Recorder, packet: Packet) -> None:
        super().__init__({"p": program.parameters, "packet": packet}, frozenset({"p", "packet"}))
        self.m, self.place = m, f"{program.parameters.file.name}: {program.place}"

    def run(self, body: Sequence[ast.stmt]) -> None:
        """Record lines; an error names the first that is wrong."""
        for statement in body:
            try:
                self.statement(statement)
            except _LineError:
                raise
            except (NpexploreError, TypeError, ValueError, ZeroDivisionError, OverflowError) as error:
                said = str(error).replace("Recorder.", "m.")
                raise _LineError(f"{self.place}, line {statement.lineno}: {said}") from None

    def statement(self, node: ast.stmt) -> None:
        """Record one line, with the block that it opens."""
        match node:
            case ast.Expr(value=ast.Call() as call):
                self.value(call)
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                self.name(name, self.value(value))
            case ast.Assign(targets=[ast.Tuple(elts=parts)], value=value):
                for part, one in zip(parts, self.value(value), strict=True):
                    if not isinstance(part, ast.Name):
                        raise InputError(f"{ast.unparse(part)!r} is no name")
                    self.name(part.id, one)
            case ast.With(items=items, body=body):
                with ExitStack() as stack:
                    for item in items:
                        self.enter(stack, item)
                    self.run(body)
            case ast.If(test=test, body=body, orelse=otherwise):
                self.run(body if self.value(test) else otherwise)
            case ast.Pass():
                pass
            case _:
                line = ast.unparse(node).splitlines()[0]
                raise InputError(f"{line!r} has no meaning here; write a Python file for it")

    def name(self, name: str, value: Any) -> None:
        """Let a name stand for a value from here on."""
        if name in ("p", "m", "packet"):
            raise InputError(f"{name!r} cannot be given another meaning")
        self.names[name] = value

    def enter(self, stack: ExitStack, item: ast.withitem) -> None:
        """Open one of the recorder's blocks."""
        match item.context_expr:
            case ast.Call(func=ast.Attribute(value=ast.Name(id="m"), attr=block)) as call if block in BLOCKS:
                unnamed, named = self.operands(call)
                given = stack.enter_context(getattr(self.m, block)(*unnamed, **named))
            case other:
                raise InputError(f"{ast.unparse(other)!r} opens no block (m.{', m.'.join(BLOCKS)} do)")
        if item.optional_vars is not None:
            if not isinstance(item.optional_vars, ast.Name):
                raise InputError(f"{ast.unparse(item.optional_vars)!r} is no name")
            self.name(item.optional_vars.id, given)

    def call(self, node: ast.Call) -> Any:
        """Record a word of the recorder or a visit, or return what a function gives."""
        match node.func:
            case ast.Attribute(value=ast.Name(id="m"), attr=name):
                if name in BLOCKS:
                    raise InputError(f"m.{name} opens a block: with m.{name}(...):")
                if name not in CALLS:
                    raise UnknownNameError("recorder's word", name, [*CALLS, *BLOCKS])
                unnamed, named = self.operands(node)
                return getattr(self.m, name)(*unnamed, **named)
            case ast.Attribute(value=ast.Attribute(value=ast.Name(id="m"), attr=resource), attr=visit):
                unnamed, named = self.operands(node)
                return getattr(getattr(self.m, resource), visit)(*unnamed, **named)
        return super().call(node)
