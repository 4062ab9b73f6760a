"""What is done with values on a graph: comparing, picking bytes and entries, cutting and joining."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

from npexplore.hardware.merging import Merging
from npexplore.hardware.values import (
    UNBOUND,
    Blend,
    Bytes,
    Choice,
    Num,
    Number,
    RefusedError,
    Some,
    bytes_of,
    is_number,
    kind_of,
    known,
    value_text,
)

MOST_CONSTANTS = 1024
MOST_PLACES = 8  # of a byte whose place is known only in hardware


class Values(Merging):
    """What is done with values on a graph."""

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
            raise RefusedError("a list is tested whose length is known only in hardware")
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
            return self._same_bytes(bytes_of(a), bytes_of(b))
        if kind_of(a) != kind_of(b):
            return 0
        if is_number(a):
            return self.binary("eq", a, b)
        if isinstance(a, tuple):
            return self.every([self.same(x, y) for x, y in zip(a, b, strict=True)])
        raise RefusedError(f"{value_text(a)} is compared with {value_text(b)}")

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

    def item(self, of: Bytes, at: int) -> Number:
        """Return a byte at a known place; raises RefusedError where it is not in the window."""
        if at < 0 or at >= self.range(of.count)[0]:
            window = self.range(of.count)[0]
            if not of.tail and at >= 0 and at < len(of.data):
                return of.data[at]
            if not of.tail and at >= window:
                return 0  # nobody comes this way: Python would raise IndexError
            raise RefusedError(f"byte {at} is read, but hardware keeps only the first {window} bytes of a header")
        return of.data[at]

    def item_of(self, of: Bytes, at: Num) -> Number:
        """Return a byte at one of a few places that are all in the window; raises RefusedError for others."""
        lo, hi = self.range(at)
        if lo < 0 or hi - lo >= MOST_PLACES or hi >= self.range(of.count)[0]:
            raise RefusedError("a byte is read at a place known only in hardware (an unknown length as an index)")
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
            raise RefusedError("bytes are appended to others whose length is known only in hardware")
        return Bytes((*a.data[:size], *b.data), self.binary("add", b.count, size), self._sum(b.length, size), b.tail)

    def _sum(self, a: Number, b: Number) -> Number:
        return self.binary("add", a, b)

    def pick(self, index: Num, values: Sequence[Any]) -> Any:
        """Return the entry of a list at an index known only in hardware; raises RefusedError for a long list."""
        if not len(values):
            return UNBOUND
        if len(values) > MOST_CONSTANTS:
            raise too_long(len(values))
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


def too_long(entries: int) -> RefusedError:
    """Return what refuses a table of so many entries."""
    told_of = f"at most {MOST_CONSTANTS} become constants"
    return RefusedError(f"a table of {entries} entries is read outside a call; {told_of}")
