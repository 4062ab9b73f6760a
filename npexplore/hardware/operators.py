"""Python's operators and subscripts on symbolic values, applied to evaluated operands."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from npexplore.hardware.graph import Graph
from npexplore.hardware.known_functions import Builtins
from npexplore.hardware.operations import MOST_CONSTANTS, Values
from npexplore.hardware.values import (
    UNBOUND,
    Bytes,
    Choice,
    Num,
    RefusedError,
    bytes_of,
    is_number,
    known,
    value_text,
)

MOST_SHIFT = 128
OPERATIONS: Mapping[type[ast.operator], str] = {
    ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.BitAnd: "and", ast.BitOr: "or", ast.BitXor: "xor",
}  # fmt: skip
NATIVE: Mapping[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: lambda a, b: a + b, ast.Sub: lambda a, b: a - b, ast.Mult: lambda a, b: a * b,
    ast.BitAnd: lambda a, b: a & b, ast.BitOr: lambda a, b: a | b, ast.BitXor: lambda a, b: a ^ b,
    ast.LShift: lambda a, b: a << b, ast.RShift: lambda a, b: a >> b, ast.Mod: lambda a, b: a % b,
    ast.FloorDiv: lambda a, b: a // b, ast.Div: lambda a, b: a / b, ast.Pow: lambda a, b: a**b,
}  # fmt: skip


class Operators:
    """Arithmetic, shifts, comparisons, subscripts of bytes and tables, and conversion of numbers to bytes and back."""

    def __init__(self, graph: Graph) -> None:
        self.graph, self.values = graph, Values(graph)
        self.known = Builtins(self.values)

    def _bytes_of(self, value: Num, size: Any) -> Bytes:
        lo, hi = self.values.range(value)
        if not isinstance(size, int) or lo < 0 or hi >> 8 * size:
            raise RefusedError(f"a number of {lo} to {hi} is turned into {size} bytes")
        data = []
        for k in reversed(range(size)):
            low = self.graph.shift("shr", value.at, 8 * k)
            data.append(self.values.num(self.graph.binary("and", low, self.graph.const(255))))
        return Bytes(tuple(data), size, size)

    def _number_of(self, data: Any, order: str = "big") -> Any:
        data = bytes_of(data)
        if not isinstance(data.length, int) or order != "big":
            raise RefusedError("bytes of unknown length are turned into a number")
        out: Any = 0
        for k in range(data.length):
            shifted = self.values.num(self.graph.shift("shl", self.values.node(out), 8))
            out = self.values.binary("or", shifted, self.values.item(data, k))
        return out

    def _looked_up(self, table: Mapping[Any, Any], key: Any, otherwise: Any) -> Any:
        if len(table) > MOST_CONSTANTS:
            raise RefusedError(
                f"a table of {len(table)} entries is read outside a call; at most {MOST_CONSTANTS} become constants"
            )
        out = otherwise
        for candidate, value in table.items():
            test = self.values.same(key, candidate)
            out = self.values.merge(self.values.node(test), value, out)
        return out

    def _cut(self, of: Any, first: Any, end: Any) -> Any:
        if isinstance(of, Bytes) or (isinstance(of, bytes) and not known([first, end])):
            return self.values.cut(bytes_of(of), first, end)
        return of[first:end]

    def entry(self, of: Any, index: Any) -> Any:
        """Return an entry of bytes, a list or a table."""
        if isinstance(of, Choice):
            return self.values.spread(
                of, lambda alternative: UNBOUND if alternative is None else self.entry(alternative, index)
            )
        if isinstance(index, Choice):
            return self.values.spread(
                index, lambda alternative: UNBOUND if alternative is None else self.entry(of, alternative)
            )
        if isinstance(of, Bytes):
            return self.values.item_of(of, index) if isinstance(index, Num) else self.values.item(of, index)
        if not isinstance(index, Num):
            return of[index]
        if isinstance(of, np.ndarray):
            raise RefusedError("a table in memory is read outside a call")
        if isinstance(of, Mapping):
            return self._looked_up(of, index, UNBOUND)
        return self.values.pick(index, of)

    def operate(self, op: type[ast.operator], a: Any, b: Any) -> Any:
        """Return the result of a binary operator on two values."""
        if UNBOUND in (a, b):
            return UNBOUND
        if known(a) and known(b):
            return NATIVE[op](a, b)
        if isinstance(a, Choice):
            return self.values.spread(a, lambda alternative: self.operate(op, alternative, b))
        if isinstance(b, Choice):
            return self.values.spread(b, lambda alternative: self.operate(op, a, alternative))
        if isinstance(a, (bytes, Bytes)) and op is ast.Add:
            return self.values.join(bytes_of(a), bytes_of(b))
        if isinstance(a, tuple) and isinstance(b, tuple) and op is ast.Add:
            return (*a, *b)
        if not is_number(a) or not is_number(b):
            raise RefusedError(f"hardware has no form for {value_text(a)} {op.__name__.lower()} {value_text(b)}")
        if op in OPERATIONS:
            return self.values.binary(OPERATIONS[op], a, b)
        return self._shifted(op, a, b)

    def _shifted(self, op: type[ast.operator], a: Any, b: Any) -> Any:
        graph, values = self.graph, self.values
        if op in (ast.LShift, ast.RShift):
            name = "shl" if op is ast.LShift else "shr"
            if isinstance(b, int):
                return values.num(graph.shift(name, values.node(a), b))
            lo, hi = values.range(b)
            if lo < 0 or hi > MOST_SHIFT:
                raise RefusedError(f"a shift by {lo} to {hi}")
            node = graph.nodes[b.at]
            if node.op == "table" and isinstance(a, int):
                shifted = [NATIVE[op](a, amount) for amount in node.value]
                return values.num(graph.table(node.args[0], shifted))
            out: Any = UNBOUND
            for by in range(hi, lo - 1, -1):
                shifted_value = values.num(graph.shift(name, values.node(a), by))
                out = values.merge(graph.binary("eq", b.at, graph.const(by)), shifted_value, out)
            return out
        if op in (ast.Mod, ast.FloorDiv) and isinstance(b, int) and b > 0:
            if op is ast.Mod:
                return values.num(graph.modulo(values.node(a), b))
            return self.known.divmod(a, b)[0]
        raise RefusedError(f"hardware has no form for {op.__name__.lower()!r} of these")

    def compare(self, op: type[ast.cmpop], a: Any, b: Any) -> Any:
        """Return 1 if a comparison holds, else 0."""
        values = self.values
        if op in (ast.Eq, ast.Is):
            return values.same(a, b)
        if op in (ast.NotEq, ast.IsNot):
            return values.binary("xor", values.same(a, b), 1)
        if op in (ast.In, ast.NotIn):
            inside = self._within(a, b)
            return inside if op is ast.In else values.binary("xor", inside, 1)
        if op in (ast.Lt, ast.GtE):
            below = values.less(a, b)
            return below if op is ast.Lt else values.binary("xor", below, 1)
        above = values.less(b, a)
        return above if op is ast.Gt else values.binary("xor", above, 1)

    def _within(self, a: Any, b: Any) -> Any:
        if isinstance(b, Choice):
            return self.values.spread(b, lambda alternative: self._within(a, alternative))
        if known(a) and known(b):
            return int(a in b)
        if isinstance(b, (set, frozenset, Mapping)) and len(b) > MOST_CONSTANTS:
            raise RefusedError(
                f"a table of {len(b)} entries is read outside a call; at most {MOST_CONSTANTS} become constants"
            )
        if isinstance(b, (set, frozenset)):
            b = sorted(b, key=repr)  # the order of a set of bytes differs between processes
        items = [(self.graph.const(1), item) for item in b] if known(b) else self.known.items(b)
        return self.values.some(
            [self.values.binary("and", self.values.num(when), self.values.same(a, item)) for when, item in items]
        )
