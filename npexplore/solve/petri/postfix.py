"""Formulas of a net as postfix rows for the kernel: (operation, operand), with a separate table of numbers.

Formulas are those of `machine/petri/formulas`; parts that contain only constants and indexes are evaluated here.
"""

import ast
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from math import prod
from typing import TypeVar

from npexplore import syntax
from npexplore._kernels import petri as kernel
from npexplore.errors import InputError
from npexplore.machine.petri import Formula
from npexplore.machine.petri.formulas import FEED, RANDOM, Evaluator, Places
from npexplore.machine.petri.unfolded import Target

T = TypeVar("T")
BINARY: dict[type[ast.AST], int] = {
    ast.Add: kernel.ADD, ast.Sub: kernel.SUB, ast.Mult: kernel.MUL, ast.Div: kernel.DIV,
    ast.FloorDiv: kernel.FLOORDIV, ast.Mod: kernel.MOD, ast.Lt: kernel.LT, ast.LtE: kernel.LE, ast.Gt: kernel.GT,
    ast.GtE: kernel.GE, ast.Eq: kernel.EQ, ast.NotEq: kernel.NE,
}  # fmt: skip
CALLS = {
    "min": kernel.MIN, "max": kernel.MAX, "floor": kernel.FLOOR, "ceil": kernel.CEIL,
    "chance": kernel.CHANCE, "draw": kernel.DRAW,
}  # fmt: skip


@dataclass
class Postfix:
    """All formulas of a net: their rows, the table of numbers, and the first row of each.

    slots: numbers of fields by name. columns: numbers of the feed's columns by name.
    """

    slots: Mapping[str, int]
    columns: Mapping[str, int] = field(default_factory=dict)
    rows: list[tuple[int, int]] = field(default_factory=list)
    numbers: list[float] = field(default_factory=list)
    begins: list[int] = field(default_factory=lambda: [0])
    known: dict[tuple[str, tuple[tuple[str, float], ...]], int] = field(default_factory=dict)

    def formula(self, formula: Formula) -> int:
        """Return the number of a formula, the same for the same text over the same names."""
        used_names = {node.id for node in ast.walk(syntax.expression(formula.text)) if isinstance(node, ast.Name)}
        key = formula.text, tuple((name, value) for name, value in formula.names.items() if name in used_names)
        if key not in self.known:
            self._write(formula, syntax.expression(formula.text))
            self.known[key] = self._end()
        return self.known[key]

    def number(self, value: float) -> int:
        """Return the number of a constant formula."""
        self._constant(value)
        return self._end()

    def target(self, target: Target) -> int:
        """Return the number of the formula for the offset of a place in its family, which token data selects."""
        only = target.at[0]
        if len(target.at) == 1 and isinstance(only, Formula) and only.text in self.slots:  # within its family, checked
            self._write(only, syntax.expression(only.text))
            return self._end()
        self._constant(0.0)
        for index, size, stride in _strides(target.at, target.sizes):
            if isinstance(index, Formula):
                self._write(index, syntax.expression(index.text))
            else:
                self._constant(index)
            self._wrapped(size, stride)
        return self._end()

    def _end(self) -> int:
        depth = deepest = 0
        for op, _ in self.rows[self.begins[-1] :]:
            depth += 1 if op in PUSHES else 0 if op in KEEPS else -1
            deepest = max(deepest, depth)
        if deepest > kernel.STACK:
            raise InputError(f"a formula is nested too deep: it keeps {deepest} numbers, at most {kernel.STACK}")
        self.begins.append(len(self.rows))
        return len(self.begins) - 2

    def _constant(self, value: float) -> None:
        self.rows.append((kernel.CONST, len(self.numbers)))
        self.numbers.append(float(value))

    def _wrapped(self, size: int, stride: int) -> None:
        """Add the index on the stack, modulo its size and times its stride, to the offset below it."""
        self._constant(size)
        self.rows.append((kernel.MOD, 0))
        self._constant(stride)
        self.rows += [(kernel.MUL, 0), (kernel.ADD, 0)]

    def _write(self, formula: Formula, node: ast.expr) -> None:
        """Write the rows of a syntax tree, operands first."""
        places = formula.places
        names = [part for part in ast.walk(node) if isinstance(part, ast.Name)]
        is_variable = any(n.id in places.sizes or n.id in self.slots or n.id in (*RANDOM, FEED) for n in names)
        if not is_variable:
            with suppress(ZeroDivisionError):  # an error only when the formula is evaluated, if ever
                self._constant(float(Evaluator(formula.names, places).value(node)))
                return
        match node:
            case ast.Name(id=name) if name in self.slots:
                self.rows.append((kernel.FIELD, self.slots[name]))
            case ast.Name(id=name):
                self.rows.append((kernel.TOKENS, places.number(name)))
            case ast.Subscript(value=ast.Name(id=name), slice=index):
                self._tokens(formula, places, name, index.elts if isinstance(index, ast.Tuple) else [index])
            case ast.UnaryOp(op=op, operand=operand):
                self._write(formula, operand)
                self.rows.append((kernel.NOT if isinstance(op, ast.Not) else kernel.NEG, 0))
            case ast.BinOp(left=left, op=op2, right=right) | ast.Compare(left=left, ops=[op2], comparators=[right]):
                self._write(formula, left)
                self._write(formula, right)
                self.rows.append((BINARY[type(op2)], 0))
            case ast.BoolOp(op=op3, values=parts):
                self._write(formula, parts[0])
                for part in parts[1:]:
                    with self._passed_over(kernel.AND if isinstance(op3, ast.And) else kernel.OR):
                        self._write(formula, part)
                        if not isinstance(part, ast.Compare):
                            self._constant(0.0)
                            self.rows.append((kernel.NE, 0))
            case ast.IfExp(test=test, body=body, orelse=otherwise):
                self._write(formula, test)
                with self._passed_over(kernel.UNLESS):
                    self._write(formula, body)
                    end = len(self.rows)
                    self.rows.append((kernel.GO_ON, 0))
                self._write(formula, otherwise)
                self.rows[end] = kernel.GO_ON, len(self.rows) - end - 1
            case ast.Call(func=ast.Name(id=name), args=[ast.Name(id=column)]) if name == FEED:
                self.rows.append((kernel.FEED, self.columns[column]))
            case ast.Call(func=ast.Name(id=name), args=operands):
                if len(operands) == 1:
                    self._write(formula, operands[0])
                    self.rows.append((CALLS[name], 0))
                else:
                    self._fold(formula, operands, CALLS[name])

    @contextmanager
    def _passed_over(self, op: int) -> Iterator[None]:
        """Write an operation that can skip the rows written within this context."""
        at = len(self.rows)
        self.rows.append((op, 0))
        yield
        self.rows[at] = op, len(self.rows) - at - 1

    def _fold(self, formula: Formula, parts: list[ast.expr], op: int) -> None:
        self._write(formula, parts[0])
        for part in parts[1:]:
            self._write(formula, part)
            self.rows.append((op, 0))

    def _tokens(self, formula: Formula, places: Places, name: str, parts: list[ast.expr]) -> None:
        if not any(isinstance(node, ast.Name) and node.id in self.slots for part in parts for node in ast.walk(part)):
            values = [int(Evaluator(formula.names, places).value(part)) for part in parts]
            self.rows.append((kernel.TOKENS, places.number(name, values)))
            return
        sizes = places.sizes[name]
        self._constant(0.0)
        for part, size, stride in _strides(parts, sizes):
            self._write(formula, part)
            self._wrapped(size, stride)
        self.rows.append((kernel.TOKENS_AT, places.number(name, [0] * len(sizes))))


PUSHES = (kernel.CONST, kernel.TOKENS, kernel.FIELD, kernel.FEED)
KEEPS = (kernel.TOKENS_AT, kernel.CHANCE, kernel.DRAW, kernel.NEG, kernel.NOT, kernel.FLOOR, kernel.CEIL)


def _strides(parts: Sequence[T], sizes: Sequence[int]) -> list[tuple[T, int, int]]:
    """Return each index with its size and its stride in places."""
    strides = [prod(sizes[k + 1 :]) for k in range(len(sizes))]
    return list(zip(parts, sizes, strides, strict=True))
