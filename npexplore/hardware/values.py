"""Values that a step's body is run on: numbers as nodes of a graph, bytes with a window, and values of several kinds.

    Num      a whole number that is a node                     Bytes    bytes of which the first are nodes
    Choice   values of different kinds, each with its test     Blend    an object whose attributes were merged

`Values.merge(test, a, b)` is the one way in which two ways through a body meet again. A value that one way never made
(UNBOUND) gives way to the other.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from npexplore.errors import ModelError
from npexplore.hardware.graph import Graph


class RefusedError(ModelError):
    """What hardware cannot have; the lowering adds step and line."""


class _Unbound:
    def __repr__(self) -> str:
        return "UNBOUND"


UNBOUND: Any = _Unbound()
MOST_CONSTANTS = 1024
MOST_PLACES = 8  # of a byte whose place is known only in hardware


@dataclass(frozen=True)
class Num:
    """A whole number; `at`: its node."""

    at: int

    def __bool__(self) -> bool:
        """Refuse to be tested by what does not know of graphs."""
        raise RefusedError("a value that is known only in hardware decides something that is decided while lowering")


Number = int | Num


@dataclass(frozen=True)
class Bytes:
    """Bytes: a window of the first `count`, then, where `tail`, those of the frame that are never looked at.

    length: of all of them together, which may end inside the window. The places of `data` behind `count` mean nothing.
    """

    data: tuple[Number, ...]
    count: Number
    length: Number
    tail: bool = False


@dataclass(frozen=True)
class Choice:
    """Values of different kinds; exactly one test is 1."""

    entries: tuple[tuple[int, Any], ...]


@dataclass(frozen=True)
class Blend:
    """Merged objects of one class: its attributes, merged one by one."""

    kind: type
    parts: dict[str, Any]


@dataclass(frozen=True)
class Some:
    """Items of a list that are there where their test is 1."""

    entries: tuple[tuple[int, Any], ...]


def is_number(value: Any) -> bool:
    """Say whether a value is a whole number, known or not."""
    return isinstance(value, (int, Num))


def known(value: Any) -> bool:
    """Say whether a value has nothing in it that is known only in hardware."""
    if isinstance(value, (tuple, list)):
        return all(map(known, value))
    return value is not UNBOUND and not isinstance(value, (Num, Bytes, Choice, Blend, Some))


def kind_of(value: Any) -> tuple[Any, ...]:
    """Return what values must share to be merged into one of their own kind."""
    if value is None:
        return ("none",)
    if is_number(value):
        return ("number",)
    if isinstance(value, bytes):
        return "bytes", len(value)
    if isinstance(value, Bytes):
        return "bytes", value.length if isinstance(value.length, int) and not value.tail else -1
    if isinstance(value, tuple):
        return "tuple", type(value), len(value)
    if isinstance(value, str):
        return "text", value
    if isinstance(value, frozenset):
        return "set", value
    if isinstance(value, Blend):
        return "blend", value.kind
    return ("blend", type(value)) if dataclasses.is_dataclass(value) else ("object", id(value))


class Values:
    """What is done with values on a graph."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph

    def num(self, at: int) -> Number:
        """Return a node as a number, known if it is."""
        value = self.graph.constant(at)
        return Num(at) if value is None else value

    def node(self, value: Any) -> int:
        """Return the node of a number; raises RefusedError for anything else."""
        if isinstance(value, Num):
            return value.at
        if isinstance(value, int):
            return self.graph.const(value)
        raise RefusedError(f"a number is needed, got {told(value)}")

    def range(self, value: Number) -> tuple[int, int]:
        """Return the least and the largest value of a number."""
        return self.graph.range(value.at) if isinstance(value, Num) else (int(value), int(value))

    def binary(self, op: str, a: Number, b: Number) -> Number:
        """Return an operation of the graph on two numbers."""
        return self.num(self.graph.binary(op, self.node(a), self.node(b)))

    def invert(self, a: Number) -> Number:
        """Return 1 for 0 and 0 for 1."""
        return self.num(self.graph.invert(self.node(a)))

    def merge(self, test: int, a: Any, b: Any) -> Any:
        """Return a value that is one where a test is 1 and another where it is 0."""
        decided = self.graph.constant(test)
        if decided is not None:
            return a if decided else b
        if a is b or b is UNBOUND:
            return a
        if a is UNBOUND:
            return b
        if isinstance(a, Choice) or isinstance(b, Choice) or kind_of(a) != kind_of(b):
            return self._chosen(test, a, b)
        if is_number(a):
            return self.num(self.graph.mux(test, self.node(a), self.node(b)))
        if isinstance(a, (bytes, Bytes)):
            return self._merged_bytes(test, self.bytes_of(a), self.bytes_of(b))
        if isinstance(a, tuple):
            parts = [self.merge(test, x, y) for x, y in zip(a, b, strict=True)]
            return type(a)(*parts) if hasattr(a, "_fields") else tuple(parts)
        if isinstance(a, Blend) or dataclasses.is_dataclass(a):
            return self._blended(test, a, b)
        return a

    def _merged_bytes(self, test: int, a: Bytes, b: Bytes) -> Any:
        if a == b:
            return a
        size = max(len(a.data), len(b.data))
        data = []
        for k in range(size):
            pair = [one.data[k] if k < len(one.data) else UNBOUND for one in (a, b)]
            data.append(self.merge(test, *pair))
        count, length = self.merge(test, a.count, b.count), self.merge(test, a.length, b.length)
        return Bytes(tuple(data), count, length, a.tail or b.tail)

    def _blended(self, test: int, a: Any, b: Any) -> Blend:
        sides = [one.parts if isinstance(one, Blend) else self._parts(one) for one in (a, b)]
        kind = a.kind if isinstance(a, Blend) else type(a)
        return Blend(kind, {name: self._part(test, sides[0][name], sides[1][name]) for name in sides[0]})

    @staticmethod
    def _parts(one: Any) -> dict[str, Any]:
        return {field.name: getattr(one, field.name) for field in dataclasses.fields(one)}

    def _part(self, test: int, a: Any, b: Any) -> Any:
        return UNBOUND if isinstance(a, str) or isinstance(b, str) else self.merge(test, a, b)  # texts: for people

    def _chosen(self, test: int, a: Any, b: Any) -> Any:
        graph = self.graph
        found: dict[tuple[Any, ...], tuple[int, Any]] = {}
        for sure, side in ((test, a), (graph.invert(test), b)):
            for when, value in side.entries if isinstance(side, Choice) else ((graph.const(1), side),):
                here, kind = graph.binary("and", sure, when), kind_of(value)
                if kind in found:
                    before, other = found[kind]
                    found[kind] = graph.binary("or", before, here), self.merge(before, other, value)
                else:
                    found[kind] = here, value
        entries = tuple((when, value) for when, value in found.values() if graph.constant(when) != 0)
        return entries[0][1] if len(entries) == 1 else Choice(entries)

    def pruned(self, value: Any) -> Any:
        """Return a choice without what cannot be on the way being looked at; what is left alone is no choice."""
        if not isinstance(value, Choice):
            return value
        entries = tuple(entry for entry in value.entries if self.graph.constant(entry[0]) != 0)
        if len(entries) == 1:
            return entries[0][1]
        return value if len(entries) == len(value.entries) or not entries else Choice(entries)

    def spread(self, value: Any, what: Any) -> Any:
        """Return `what` of a value, or of each value of a choice, merged; one without such an entry is not come by."""
        if not isinstance(value, Choice):
            return what(value)
        out: Any = UNBOUND
        for when, one in reversed(value.entries):
            if self.graph.constant(when) == 0:
                continue
            mark = self.graph.mark()
            self.graph.assume(when, True)
            try:
                done = what(one)
            except (KeyError, IndexError, AttributeError):
                done = UNBOUND
            self.graph.undo(mark)
            out = self.merge(when, done, out)
        return out

    def truth(self, value: Any) -> Number:
        """Return 1 for what counts as true in Python, else 0."""
        if isinstance(value, Num):
            return self.invert(self.binary("eq", value, 0))
        if isinstance(value, Choice):
            return self.spread(value, self.truth)  # type: ignore[no-any-return]
        if isinstance(value, Bytes):
            return self.truth(value.length)
        if isinstance(value, Blend):
            return 1
        if isinstance(value, Some):
            raise RefusedError("a list whose length is known only in hardware is tested")
        return int(bool(value)) if value is not UNBOUND else 0

    def same(self, a: Any, b: Any) -> Number:
        """Return whether two values are equal, as Python's == has it."""
        if isinstance(a, Choice):
            return self.spread(a, lambda one: self.same(one, b))  # type: ignore[no-any-return]
        if isinstance(b, Choice):
            return self.same(b, a)
        if UNBOUND in (a, b):
            return 0
        if known(a) and known(b):
            return int(a == b)
        if isinstance(a, (bytes, Bytes)) and isinstance(b, (bytes, Bytes)):
            return self._same_bytes(self.bytes_of(a), self.bytes_of(b))
        if kind_of(a) != kind_of(b):
            return 0
        if is_number(a):
            return self.binary("eq", a, b)
        if isinstance(a, tuple):
            return self.every([self.same(x, y) for x, y in zip(a, b, strict=True)])
        raise RefusedError(f"{told(a)} is compared with {told(b)}")

    def _same_bytes(self, a: Bytes, b: Bytes) -> Number:
        sure = [one.length for one in (a, b) if isinstance(one.length, int)]
        if not sure:
            raise RefusedError("bytes of unknown length are compared")
        size = sure[0]
        data = [self.binary("eq", self.item(a, k), self.item(b, k)) for k in range(size)]
        return self.every([self.binary("eq", a.length, b.length), *data])

    def every(self, tests: Sequence[Number]) -> Number:
        """Return 1 where all tests are 1."""
        out: Number = 1
        for one in tests:
            out = self.binary("and", out, one)
        return out

    def some(self, tests: Sequence[Number]) -> Number:
        """Return 1 where a test is 1."""
        out: Number = 0
        for one in tests:
            out = self.binary("or", out, one)
        return out

    def less(self, a: Any, b: Any) -> Number:
        """Return whether a number is below another."""
        if isinstance(a, Choice):
            return self.spread(a, lambda one: self.less(one, b))  # type: ignore[no-any-return]
        if isinstance(b, Choice):
            return self.spread(b, lambda one: self.less(a, one))  # type: ignore[no-any-return]
        return self.binary("lt", a, b)

    @staticmethod
    def bytes_of(value: bytes | Bytes) -> Bytes:
        """Return known bytes as a window of all of them."""
        return value if isinstance(value, Bytes) else Bytes(tuple(value), len(value), len(value))

    def item(self, of: Bytes, at: int) -> Number:
        """Return a byte at a known place; raises RefusedError where it is not in the window."""
        if at < 0 or at >= self.range(of.count)[0]:
            window = self.range(of.count)[0]
            if not of.tail and at >= 0 and at < len(of.data):
                return of.data[at]
            if not of.tail and at >= window:
                return 0  # nobody comes this way: Python would raise IndexError
            raise RefusedError(f"byte {at} is looked at; the first {window} are in the window that hardware keeps")
        return of.data[at]

    def item_of(self, of: Bytes, at: Num) -> Number:
        """Return a byte at one of a few places that are all in the window; raises RefusedError for others."""
        lo, hi = self.range(at)
        if lo < 0 or hi - lo >= MOST_PLACES or hi >= self.range(of.count)[0]:
            raise RefusedError("a byte at a place that is known only in hardware (an unknown length as an index)")
        out: Any = UNBOUND
        for k in range(hi, lo - 1, -1):
            out = self.merge(self.graph.binary("eq", at.at, self.graph.const(k)), of.data[k], out)
        return out  # type: ignore[no-any-return]

    def cut(self, of: Bytes, first: Any, end: Any) -> Bytes:
        """Return the bytes from a known place on, up to an end that may be known only in hardware."""
        first = 0 if first is None else first
        if not isinstance(first, int) or first < 0 or (isinstance(end, int) and end < 0):
            raise RefusedError(
                "bytes are cut from a place that is known only in hardware (an unknown length as an index)"
            )
        data, count, length, tail = of.data, of.count, of.length, of.tail
        if end is not None:
            length = self.least(length, end)
            if isinstance(end, int) and end <= self.range(count)[0]:
                data, count, tail = data[:end], end, False
        if first > self.range(count)[0]:
            if tail:
                raise RefusedError(f"bytes from {first} on are cut, but the window has {self.range(count)[0]}")
            return Bytes((), 0, 0)
        left = self.binary("sub", self.most(length, first), first)
        return Bytes(data[first:], self.binary("sub", count, first), left, tail)

    def least(self, a: Number, b: Number) -> Number:
        """Return the smaller number."""
        return self.merge(self.node(self.less(a, b)), a, b)  # type: ignore[no-any-return]

    def most(self, a: Number, b: Number) -> Number:
        """Return the larger number."""
        return self.merge(self.node(self.less(a, b)), b, a)  # type: ignore[no-any-return]

    def join(self, a: Bytes, b: Bytes) -> Bytes:
        """Return bytes behind others, of which the length must be known."""
        size = a.length
        if not isinstance(size, int) or size > len(a.data):
            raise RefusedError("bytes are put behind others of a length that is known only in hardware")
        return Bytes((*a.data[:size], *b.data), self.binary("add", b.count, size), self._sum(b.length, size), b.tail)

    def _sum(self, a: Number, b: Number) -> Number:
        return self.binary("add", a, b)

    def pick(self, index: Num, values: Sequence[Any]) -> Any:
        """Return the entry of a list at an index known only in hardware; raises RefusedError for a long list."""
        if not len(values):
            return UNBOUND
        if len(values) > MOST_CONSTANTS:
            raise RefusedError(
                f"a table of {len(values)} entries is read outside a call; at most {MOST_CONSTANTS} become constants"
            )
        node = self.graph.nodes[index.at]
        if node.op == "table":
            return self.pick(Num(node.args[0]), [values[one] for one in node.value])
        lo, hi = self.range(index)
        values = values[: hi + 1]
        used = values[max(lo, 0) :]
        if not used:
            return UNBOUND
        kinds = {kind_of(one) for one in used}
        if kinds == {("number",)} and all(map(known, used)):
            return self.num(self.graph.table(index.at, [one if is_number(one) else 0 for one in values]))
        first = used[0]
        if all(one is first for one in used) or (known(used) and all(one == first for one in used)):
            return first
        if len(kinds) == 1 and isinstance(first, bytes):
            filled = [one if kind_of(one) in kinds else first for one in values]
            data = [self.num(self.graph.table(index.at, [one[k] for one in filled])) for k in range(len(first))]
            return Bytes(tuple(data), len(first), len(first))
        if len(kinds) == 1 and isinstance(first, tuple):
            filled = [one if isinstance(one, tuple) else first for one in values]
            parts = [self.pick(index, [one[k] for one in filled]) for k in range(len(first))]
            return type(first)(*parts) if hasattr(first, "_fields") else tuple(parts)
        if len(kinds) == 1 and dataclasses.is_dataclass(first):
            names = [field.name for field in dataclasses.fields(first)]
            filled = [one if type(one) is type(first) else first for one in values]
            columns = {name: [getattr(one, name) for one in filled] for name in names}
            texts = {name for name in names if isinstance(columns[name][0], str)}
            return Blend(
                type(first),
                {name: UNBOUND if name in texts else self.pick(index, columns[name]) for name in names},
            )
        out: Any = UNBOUND
        for number in range(len(values) - 1, max(lo, 0) - 1, -1):
            out = self.merge(self.graph.binary("eq", index.at, self.graph.const(number)), values[number], out)
        return out


def told(value: Any) -> str:
    """Return what a value is, for a message."""
    names = {Num: "a number known only in hardware", Bytes: "bytes known only in hardware"}
    return names.get(type(value), repr(value)[:60])
