"""Formulas of a net: those of machine files, with `and`, `or`, `not`, `min`, `max`, and places such as `Bank[b]`.

Evaluated over many markings at once: a place's name stands for its tokens in each. Names of what a token carries stand
for the values of one token; `chance(p)` is 1 with probability p, `draw(n)` is one of 0..n - 1, all alike likely;
`feed(column)` is what the workload's next row has in a column.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from math import prod
from typing import Any, NamedTuple

import numpy as np

from npexplore.errors import InputError, UnknownNameError, one_of
from npexplore.machine.described.formula import Formulas

RANDOM = ("chance", "draw")
FEED = "feed"
FUNCTIONS = {"min": np.minimum, "max": np.maximum, "floor": np.floor, "ceil": np.ceil}


class Places(NamedTuple):
    """Places by their unfolded names, and the sizes of each family's indexes; an index beyond them goes around."""

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
        """Return the numbers of all places of a family: they are consecutive."""
        first = self.number(family, [0] * len(self.sizes[family]))
        return set(range(first, first + prod(self.sizes[family])))


def indexed(name: str, index: Sequence[int]) -> str:
    """Return a name with its indexes, such as `Bank[2]`."""
    return f"{name}[{','.join(map(str, index))}]" if index else name


class Evaluator(Formulas):
    """Evaluates formulas over constants, indexes, places and what a token carries.

    Notes in `reads` which places were named, in `fields` what of the token, in `drawn` whether chance decides, in
    `fed` whether the workload does. random: () -> a number in 0..1, where chance may decide (None: it may not). row:
    what the workload's row has, by column.
    """

    def __init__(
        self, names: Mapping[str, float], places: Places, columns: Any = None,
        carried: Mapping[str, float] | None = None, random: Callable[[], float] | None = None,
        open_names: frozenset[str] = frozenset(), row: Mapping[str, float] | None = None,
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

    def value(self, node: ast.expr) -> Any:
        """Return the value of a piece of syntax; raises InputError for a form that has no meaning here."""
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
                fixed = not any(isinstance(one, ast.Name) and one.id in self.carried for one in ast.walk(index))
                return self.tokens(name, [int(self.value(one)) for one in parts], fixed=fixed)
            case ast.BoolOp(op=op, values=parts):
                both = np.logical_and if isinstance(op, ast.And) else np.logical_or
                return reduce(both, [self.value(part) for part in parts])
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                return np.logical_not(self.value(operand))
            case ast.IfExp(test=test, body=body, orelse=otherwise):
                return np.where(self.value(test), self.value(body), self.value(otherwise))
            case _:
                return super().value(node)

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
        """Return what the workload's row has in the column that a call of FEED names."""
        if self.random is None or len(node.args) != 1 or not isinstance(node.args[0], ast.Name) or node.keywords:
            raise InputError(f"a workload feeds 'set' alone, as in feed(packet_bytes), got {ast.unparse(node)!r}")
        self.fed = True
        return self.row[one_of("column of [feed]", node.args[0].id, self.row)]

    def tokens(self, family: str, index: Sequence[int] = (), *, fixed: bool = True) -> Any:
        """Return how many tokens a place has in each marking; not `fixed`: the index is what a token carries."""
        number = self.places.number(family, index)
        if not fixed:
            self.reads |= self.places.members(family)
        if self.columns is None:
            raise InputError(f"tokens of {family!r} have no meaning here")
        self.reads.add(number)
        return self.columns[number]
