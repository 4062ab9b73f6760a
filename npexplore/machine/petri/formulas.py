"""Evaluates formulas of a net: those of machine files, with `and`, `or`, `not`, `min`, `max`, and places (`Bank[b]`).

A formula is evaluated over many markings at once. A place's name stands for its tokens in each marking, the name of a
field for its value in one token. `chance(p)` is 1 with probability p, `draw(n)` a random integer in 0..n - 1, and
`feed(column)` the value of a column in the workload's next row. `and`, `or` and `a if b else c` evaluate their parts
only in the markings that need them; a division by zero in other markings is no fault.
"""

import ast
from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from math import prod
from typing import Any, NamedTuple

import numpy as np

from npexplore.dimensions import value_of
from npexplore.errors import InputError, UnknownNameError, one_of
from npexplore.machine.described.formula import OPERATORS, Formulas

RANDOM = ("chance", "draw")
FEED = "feed"
FUNCTIONS = {"min": np.minimum, "max": np.maximum, "floor": np.floor, "ceil": np.ceil}


class Places(NamedTuple):
    """Numbers of places by unfolded name, and sizes of each family's indexes; larger indexes wrap around."""

    numbers: Mapping[str, int]
    sizes: Mapping[str, tuple[int, ...]]

    def number(self, family: str, index: Sequence[int] = ()) -> int:
        """Return the number of a place; raises InputError for an unknown family or too few indexes."""
        if family not in self.sizes:
            raise UnknownNameError("place", family, self.sizes)
        sizes = self.sizes[family]
        if len(index) != len(sizes):
            raise InputError(f"place {family!r} has {len(sizes)} indexes, got {len(index)}")
        return self.numbers[indexed(family, [k % size for k, size in zip(index, sizes, strict=True)])]

    def members(self, family: str) -> set[int]:
        """Return the numbers of all places of a family, which are consecutive."""
        first = self.number(family, [0] * len(self.sizes[family]))
        return set(range(first, first + prod(self.sizes[family])))


def indexed(name: str, index: Sequence[int]) -> str:
    """Return a name with its indexes, such as `Bank[2]`."""
    return f"{name}[{','.join(map(str, index))}]" if index else name


class Evaluator(Formulas):
    """Evaluates formulas over constants, indexes, places and fields of a token.

    Records the places read in `reads`, the fields in `fields`, random draws in `drawn`, and use of the workload in
    `fed`. random: () -> a number in 0..1 (None: random functions are not allowed). row: the workload's row, by column.
    live: flags of the markings in which the value counts. probing: whether only these records matter, and the marking
    is arbitrary.
    """

    MEASURES = False  # numbers have no units: a net chooses its unit of time

    def __init__(
        self, names: Mapping[str, float], places: Places, columns: Any = None,
        carried: Mapping[str, float] | None = None, random: Callable[[], float] | None = None,
        open_names: frozenset[str] = frozenset(), row: Mapping[str, float] | None = None,
        live: Any = True, probing: bool = False,
    ) -> None:  # fmt: skip
        super().__init__({**names, **(carried or {})}, open_names)
        self.places = places
        self.columns = columns
        self.carried = carried or {}
        self.random = random
        self.reads: set[int] = set()
        self.fields: set[str] = set()
        self.row = row or {}
        self.drawn = self.fed = False
        self.live = live
        self.probing = probing

    def value(self, node: ast.expr) -> Any:
        """Return the value of an expression; raises InputError for a form that is not supported."""
        match node:
            case ast.Name(id=name) if name in self.places.sizes:
                return self.tokens(name)
            case ast.Name(id=name) if name in self.carried:
                self.fields.add(name)
                return self.carried[name]
            case ast.Name(id=name) if name not in self.names:
                raise UnknownNameError("name", name, [*self.names, *self.places.sizes, *FUNCTIONS])
            case ast.Subscript(value=ast.Name(id=name), slice=index):
                parts = index.elts if isinstance(index, ast.Tuple) else [index]
                fixed = not any(isinstance(part, ast.Name) and part.id in self.carried for part in ast.walk(index))
                return self.tokens(name, [int(self.value(part)) for part in parts], fixed=fixed)
            case ast.BoolOp(op=op, values=parts):
                return self.both(parts, every=isinstance(op, ast.And))
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                return np.logical_not(value_of(self.value(operand)))
            case ast.IfExp(test=test, body=body, orelse=otherwise):
                holds = np.asarray(self.value(test), dtype=bool)
                return np.where(holds, self.where(holds, body), self.where(~holds, otherwise))
            case ast.BinOp(left=left, op=ast.Div() | ast.FloorDiv() | ast.Mod() as op2, right=right):
                return self.divided(op2, self.value(left), self.value(right))
            case _:
                return super().value(node)

    def both(self, parts: Sequence[ast.expr], *, every: bool) -> Any:
        """Return whether all parts hold, or any; each is evaluated in the markings that earlier parts leave open."""
        holds = np.asarray(value_of(self.value(parts[0])), dtype=bool)
        for part in parts[1:]:
            part_holds = np.asarray(value_of(self.where(holds if every else ~holds, part)), dtype=bool)
            holds = holds & part_holds if every else holds | part_holds
        return holds

    def where(self, holds: Any, node: ast.expr) -> Any:
        """Return the value of an expression in markings where `holds` is true; any value elsewhere."""
        outer_live, self.live = self.live, np.logical_and(self.live, holds)
        value = self.value(node) if self.probing or np.any(self.live) else 0.0
        self.live = outer_live
        return value

    def divided(self, op: ast.operator, left: Any, right: Any) -> Any:
        """Return a quotient or a remainder; raises ZeroDivisionError for a zero divisor in a live marking."""
        is_zero = np.equal(right, 0)
        if not np.any(is_zero):
            return OPERATORS[type(op)](left, right)
        depends_on_inputs = self.reads or self.fields or self.drawn or self.fed
        if np.any(np.logical_and(is_zero, self.live)) and not (self.probing and depends_on_inputs):
            raise ZeroDivisionError("division by zero")
        return OPERATORS[type(op)](left, np.where(is_zero, 1, right))

    def call(self, node: ast.Call) -> Any:
        """Return the value of a call of one of FUNCTIONS."""
        if isinstance(node.func, ast.Name) and node.func.id in RANDOM:
            return self.by_chance(node)
        if isinstance(node.func, ast.Name) and node.func.id == FEED:
            return self.from_feed(node)
        if not isinstance(node.func, ast.Name) or node.func.id not in FUNCTIONS:
            raise UnknownNameError("function", ast.unparse(node.func), FUNCTIONS)
        unnamed, named = self.operands(node)
        function = FUNCTIONS[node.func.id]
        if named or len(unnamed) < function.nin:
            raise InputError(f"{node.func.id} needs {function.nin} operands, got {ast.unparse(node)!r}")
        return reduce(function, unnamed) if function.nin > 1 else function(*unnamed)

    def by_chance(self, node: ast.Call) -> Any:
        """Return the value of a call of one of RANDOM."""
        unnamed, named = self.operands(node)
        if self.random is None or named or len(unnamed) != 1:
            raise InputError(f"chance decides in 'set' alone, as in chance(0.5) or draw(4), got {ast.unparse(node)!r}")
        self.drawn = True
        u = self.random()
        return u < unnamed[0] if ast.unparse(node.func) == "chance" else np.floor(u * unnamed[0])

    def from_feed(self, node: ast.Call) -> Any:
        """Return the value of the workload's row in the column that a call of FEED names."""
        if self.random is None or len(node.args) != 1 or not isinstance(node.args[0], ast.Name) or node.keywords:
            raise InputError(f"a workload feeds 'set' alone, as in feed(packet_bytes), got {ast.unparse(node)!r}")
        self.fed = True
        return self.row[one_of("column of [feed]", node.args[0].id, self.row)]

    def tokens(self, family: str, index: Sequence[int] = (), *, fixed: bool = True) -> Any:
        """Return the tokens of a place in each marking; not `fixed`: fields of a token select the index."""
        number = self.places.number(family, index)
        if not fixed:
            self.reads |= self.places.members(family)
        if self.columns is None:
            raise InputError(f"tokens of {family!r} have no meaning here")
        self.reads.add(number)
        return self.columns[number]
