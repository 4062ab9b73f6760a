"""Records a program or a visit from text: lines like the body of a Python function of `m` and `packet`.

    with m.loop(ceildiv(packet.packet_bytes, 64)):
        m.me.compute(cycles=p.cycles_per_cell)
    held = m.take("bus")

Forms: a call, `name = value`, `with m.loop / m.branch / m.otherwise / m.fork / m.sending / m.unsent`, `if` on
parameters, `pass`. Anything else needs a Python file. Lines of a visit have its operands `v` instead of `packet`, and
the operations of machine/visits.py.
"""

import ast
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from functools import lru_cache
from inspect import signature
from itertools import zip_longest
from textwrap import dedent
from typing import Any

from npexplore import syntax
from npexplore.dimensions import Quantity, Unit, in_unit_of, value_of
from npexplore.errors import Faults, InputError, ModelError, NpexploreError, UnknownNameError
from npexplore.machine.described.formula import Formulas
from npexplore.machine.holding import Holding
from npexplore.machine.parameters import Parameters
from npexplore.machine.program import Packet, Recorder
from npexplore.machine.resources.base import banks_of
from npexplore.rows.expressions import Expression, Moment, without_unit
from npexplore.units import unit_of

CALLS = ("let", "draw", "turn", "take", "take_all", "give", "priority")
BLOCKS = ("loop", "branch", "otherwise", "fork", "sending", "unsent")
VISIT_CALLS = (
    "let", "draw", "turn", "take", "take_all", "give", "serve", "wait", "until", "window", "now", "moment", "recall",
    "remember", "open", "close", "line", "choose", "within", "count",
)  # fmt: skip


class _LineError(ModelError):
    """An error whose message names the line."""


def _opens(statement: ast.stmt, block: str) -> bool:
    """Return whether a line opens a block of this name."""
    return isinstance(statement, ast.With) and any(
        isinstance(node, ast.Attribute) and node.attr == block
        for item in statement.items for node in ast.walk(item.context_expr)
    )  # fmt: skip


class Lines:
    """Lines of text to be recorded; `place` begins every message. Raises InputError for invalid syntax."""

    def __init__(self, text: str, place: str, calls: Sequence[str] = CALLS) -> None:
        self.place, self.calls = place, calls
        try:
            self.body = syntax.statements(dedent(text))
        except (SyntaxError, ValueError) as error:
            line = getattr(error, "lineno", None)
            raise InputError(f"{place}{f', line {line}' if line else ''}: {getattr(error, 'msg', error)}") from None
        if not self.body:
            raise InputError(f"{place} has no lines")

    def record(self, m: Recorder, names: Mapping[str, Any], file: str, lost: Iterable[str] = ()) -> None:
        """Record the lines; raises ModelError, or FaultsError for several faults.

        names: objects whose attributes lines may read (`p`, `packet`). lost: names missing because of earlier faults.
        """
        lines = _Recording(self, m, names, f"{file}: {self.place}")
        lines.lost.update(lost)
        lines.run(self.body)
        lines.faults.tell()
        lines.left()


class TextProgram(Lines):
    """A program that is recorded from its lines."""

    def __init__(self, text: str, parameters: Parameters, place: str) -> None:
        super().__init__(text, place)
        self.parameters = parameters

    def __call__(self, m: Recorder, packet: Packet) -> None:
        """Record the lines."""
        self.record(m, {"p": self.parameters, "packet": packet}, self.parameters.file.name)


class _Recording(Formulas):
    """The state of one recording: names assigned so far, and the line of each open take."""

    def __init__(self, lines: Lines, m: Recorder, names: Mapping[str, Any], place: str) -> None:
        super().__init__(names, frozenset(names))
        self.m, self.place, self.calls, self.reserved = m, place, lines.calls, frozenset({"m", *names})
        self.taken: dict[Holding, int] = {}
        self.faults = Faults()
        self.lost = set[str]()  # names that faulty lines would have assigned

    def run(self, body: Sequence[ast.stmt]) -> None:
        """Record lines; collects faults, each with its line, without those that only follow from others."""
        skipped = False
        for statement in body:
            try:
                if not (skipped and _opens(statement, "otherwise")):
                    self.statement(statement)
                    skipped = False
            except (NpexploreError, TypeError, ValueError, ZeroDivisionError, OverflowError) as error:
                follows = isinstance(error, UnknownNameError) and error.got.partition(".")[0] in self.lost
                skipped = _opens(statement, "branch")
                names = [node for node in ast.walk(statement) if isinstance(node, ast.Name)]
                self.lost |= {name.id for name in names if isinstance(name.ctx, ast.Store)}
                if follows:
                    continue
                message = str(error).replace("VisitRecorder.", "m.").replace("Recorder.", "m.")
                with self.faults.one():
                    raise _LineError(f"{self.place}, line {statement.lineno}: {message}") from None
            for held in self.m._holdings.open:
                self.taken.setdefault(held, statement.lineno)

    def left(self) -> None:
        """Raise ModelError for units that are still held after the last line."""
        for held in self.m._holdings.open:
            raise _LineError(f"{self.place}, line {self.taken[held]}: {held.name} is taken here and never given")

    def statement(self, node: ast.stmt) -> None:
        """Record one line, with its block if it opens one."""
        match node:
            case ast.Expr(value=ast.Call() as call):
                self.value(call)
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                self.name(name, self.value(value))
            case ast.Assign(targets=[ast.Tuple(elts=parts)], value=value):
                self.several(parts, self.value(value))
            case ast.With(items=items, body=body):
                with ExitStack() as stack:
                    for item in items:
                        self.enter(stack, item)
                    self.run(body)
            case ast.If(test=test, body=body, orelse=otherwise):
                self.run(body if value_of(self.value(test)) else otherwise)
            case ast.Pass():
                pass
            case _:
                line = ast.unparse(node).splitlines()[0]
                raise InputError(f"{line!r} has no meaning here; write a Python file for it")

    def name(self, name: str, value: Any) -> None:
        """Assign a value to a name; raises InputError for a reserved name."""
        if name in self.reserved:
            raise InputError(f"{name!r} cannot be given another meaning")
        self.names[name] = value

    def several(self, parts: Sequence[ast.expr], values: Sequence[Any]) -> None:
        """Assign values to the same number of names."""
        for part, value in zip(parts, values, strict=True):
            if not isinstance(part, ast.Name):
                raise InputError(f"{ast.unparse(part)!r} is not a name")
            self.name(part.id, value)

    def enter(self, stack: ExitStack, item: ast.withitem) -> None:
        """Open one of the recorder's blocks."""
        match item.context_expr:
            case ast.Call(func=ast.Attribute(value=ast.Name(id="m"), attr=block)) as call if block in BLOCKS:
                unnamed, named = self.plain_operands(call)
                held = stack.enter_context(getattr(self.m, block)(*unnamed, **named))
            case other:
                raise InputError(f"{ast.unparse(other)!r} opens no block (m.{', m.'.join(BLOCKS)} do)")
        match item.optional_vars:
            case ast.Name(id=name):
                self.name(name, held)
            case ast.Tuple(elts=parts) if isinstance(held, list):
                self.several(parts, held)
            case ast.expr() as other:
                raise InputError(f"{ast.unparse(other)!r} is not a name")

    def call(self, node: ast.Call) -> Any:
        """Record an operation of the recorder or a visit, or return the result of a function."""
        match node.func:
            case ast.Attribute(value=ast.Name(id="m"), attr=name):
                if name in BLOCKS:
                    raise InputError(f"m.{name} opens a block: with m.{name}(...):")
                if name not in self.calls:
                    raise UnknownNameError("recorder's word", name, [*self.calls, *BLOCKS])
                unnamed, named = self.plain_operands(node)
                result = getattr(self.m, name)(*unnamed, **named)
                return Quantity(result, Unit(1, 0, "", 1.0), name) if isinstance(result, Moment) else result
            case ast.Attribute(value=ast.Attribute(value=ast.Name(id="m"), attr=resource), attr=visit):
                unnamed, named = self.plain_operands(node)
                return getattr(getattr(self.m, resource), visit)(*unnamed, **named)
        return super().call(node)

    def value(self, node: ast.expr) -> Any:
        """Return the value of an expression; `m.NAME.banks` is the number of a memory's banks."""
        match node:
            case ast.Attribute(value=ast.Attribute(value=ast.Name(id="m"), attr=name), attr="banks"):
                getattr(self.m, name)  # raises UnknownNameError with the nearest name
                if (banks := banks_of(self.m.resources[name])) is None:
                    raise InputError(f"{name} has no banks")
                return banks
        return super().value(node)

    def plain_operands(self, node: ast.Call) -> tuple[list[Any], dict[str, Any]]:
        """Return the operands of a call as plain numbers, each in the unit of its name."""
        unnamed, named = self.operands(node)
        place = _text_of(node.func)
        if place == "m.let":  # keeps the unit
            return unnamed, named
        word = place.removeprefix("m.") if unnamed else ""
        names = list(signature(getattr(self.m, word)).parameters) if hasattr(type(self.m), word) else []
        return (
            [
                _measured(operand, _unit_meant(key), f"{place}: {key}" if key else place)
                for operand, key in zip_longest(unnamed, names[: len(unnamed)], fillvalue="")
            ],
            {key: _measured(operand, _unit_meant(key), f"{place}: {key}") for key, operand in named.items()},
        )


def _unit_meant(operand: str) -> str | None:
    """Return the unit of an operand from its name; None for a plain number."""
    return "s" if operand == "moment" else unit_of(operand)


@lru_cache(maxsize=4096)
def _text_of(node: ast.expr) -> str:
    """Return the text of an expression."""
    return ast.unparse(node)


def _measured(operand: Any, unit: str | None, place: str) -> Any:
    """Return an operand as a number or expression in a unit, without its unit."""
    value = in_unit_of(operand, unit, place)
    return without_unit(value) if isinstance(operand, Quantity) and isinstance(value, Expression) else value
