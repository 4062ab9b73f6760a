"""Operations on symbolic values: comparison, access to bytes and entries, slicing and concatenation."""

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
MOST_PLACES = 8  # possible positions of a byte whose position is known only in hardware


class Values(Merging):
    """Operations on symbolic values of a graph."""

    def truth(self, value: Any) -> Number:
        """Return 1 for a value that Python treats as true, else 0."""
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
        """Return 1 if two values are equal by Python's ==, else 0."""
        if isinstance(a, Choice):
            return self.spread(a, lambda alternative: self.same(alternative, b))  # type: ignore[no-any-return]
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
        known_lengths = [operand.length for operand in (a, b) if isinstance(operand.length, int)]
        if not known_lengths:
            raise RefusedError("bytes of unknown length are compared")
        size = known_lengths[0]
        data = [self.binary("eq", self.item(a, k), self.item(b, k)) for k in range(size)]
        return self.every([self.binary("eq", a.length, b.length), *data])

    def every(self, tests: Sequence[Number]) -> Number:
        """Return 1 if all tests are 1, else 0."""
        out: Number = 1
        for test in tests:
            out = self.binary("and", out, test)
        return out

    def some(self, tests: Sequence[Number]) -> Number:
        """Return 1 if any test is 1, else 0."""
        out: Number = 0
        for test in tests:
            out = self.binary("or", out, test)
        return out

    def less(self, a: Any, b: Any) -> Number:
        """Return 1 if a < b, else 0."""
        if isinstance(a, Choice):
            return self.spread(a, lambda alternative: self.less(alternative, b))  # type: ignore[no-any-return]
        if isinstance(b, Choice):
            return self.spread(b, lambda alternative: self.less(a, alternative))  # type: ignore[no-any-return]
        return self.binary("lt", a, b)

    def item(self, of: Bytes, at: int) -> Number:
        """Return the byte at a known position; raises RefusedError if it is outside the window."""
        if at < 0 or at >= self.range(of.count)[0]:
            window = self.range(of.count)[0]
            if not of.tail and at >= 0 and at < len(of.data):
                return of.data[at]
            if not of.tail and at >= window:
                return 0  # an impossible path: Python would raise IndexError
            raise RefusedError(f"byte {at} is read, but hardware keeps only the first {window} bytes of a header")
        return of.data[at]

    def item_of(self, of: Bytes, at: Num) -> Number:
        """Return the byte at a symbolic position; raises RefusedError for many positions, or any outside the window."""
        lo, hi = self.range(at)
        if lo < 0 or hi - lo >= MOST_PLACES or hi >= self.range(of.count)[0]:
            raise RefusedError("a byte is read at a place known only in hardware (an unknown length as an index)")
        out: Any = UNBOUND
        for k in range(hi, lo - 1, -1):
            out = self.merge(self.graph.binary("eq", at.at, self.graph.const(k)), of.data[k], out)
        return out  # type: ignore[no-any-return]

    def cut(self, of: Bytes, first: Any, end: Any) -> Bytes:
        """Return the slice of bytes from a known start to an end that may be symbolic."""
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
        remaining = self.binary("sub", self.most(length, first), first)
        return Bytes(data[first:], self.binary("sub", count, first), remaining, tail)

    def least(self, a: Number, b: Number) -> Number:
        """Return the smaller number."""
        return self.merge(self.node(self.less(a, b)), a, b)  # type: ignore[no-any-return]

    def most(self, a: Number, b: Number) -> Number:
        """Return the larger number."""
        return self.merge(self.node(self.less(a, b)), b, a)  # type: ignore[no-any-return]

    def join(self, a: Bytes, b: Bytes) -> Bytes:
        """Return the concatenation of `a`, whose length must be known, and `b`."""
        size = a.length
        if not isinstance(size, int) or size > len(a.data):
            raise RefusedError("bytes are appended to others whose length is known only in hardware")
        return Bytes((*a.data[:size], *b.data), self.binary("add", b.count, size), self._sum(b.length, size), b.tail)

    def _sum(self, a: Number, b: Number) -> Number:
        return self.binary("add", a, b)

    def pick(self, index: Num, values: Sequence[Any]) -> Any:
        """Return the entry of a list at a symbolic index; raises RefusedError for a long list."""
        if not len(values):
            return UNBOUND
        if len(values) > MOST_CONSTANTS:
            raise too_long(len(values))
        node = self.graph.nodes[index.at]
        if node.op == "table":
            return self.pick(Num(node.args[0]), [values[entry] for entry in node.value])
        lo, hi = self.range(index)
        values = values[: hi + 1]
        used = values[max(lo, 0) :]
        if not used:
            return UNBOUND
        kinds = {kind_of(value) for value in used}
        if kinds == {("number",)} and all(map(known, used)):
            return self.num(self.graph.table(index.at, [value if is_number(value) else 0 for value in values]))
        first = used[0]
        if all(value is first for value in used) or (known(used) and all(value == first for value in used)):
            return first
        if len(kinds) == 1 and isinstance(first, bytes):
            filled = [value if kind_of(value) in kinds else first for value in values]
            data = [self.num(self.graph.table(index.at, [value[k] for value in filled])) for k in range(len(first))]
            return Bytes(tuple(data), len(first), len(first))
        if len(kinds) == 1 and isinstance(first, tuple):
            filled = [value if isinstance(value, tuple) else first for value in values]
            parts = [self.pick(index, [value[k] for value in filled]) for k in range(len(first))]
            return type(first)(*parts) if hasattr(first, "_fields") else tuple(parts)
        if len(kinds) == 1 and dataclasses.is_dataclass(first):
            names = [field.name for field in dataclasses.fields(first)]
            filled = [value if type(value) is type(first) else first for value in values]
            columns = {name: [getattr(value, name) for value in filled] for name in names}
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
    """Return the error for a table of too many entries."""
    limit = f"at most {MOST_CONSTANTS} become constants"
    return RefusedError(f"a table of {entries} entries is read outside a call; {limit}")
