"""Python's built-in functions on symbolic values, which are known only in hardware."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from npexplore.hardware.operations import Values
from npexplore.hardware.values import Bytes, Choice, Num, RefusedError, Some, is_number, known, value_text

MOST_TURNS = 256  # iterations of a loop whose end is known only in hardware


class Builtins:
    """Built-in functions and their symbolic versions; list items are (test, value), with test 1 for certain items."""

    def __init__(self, values: Values) -> None:
        self.values = values
        self.of: Mapping[Any, Callable[..., Any]] = {
            len: self.length, bool: values.truth, int: self.whole, any: self.any, all: self.all, sum: self.sum,
            min: self.min, max: self.max, range: self.range, enumerate: self.enumerate, zip: self.zip,
            bytes: self.bytes, bytearray: self.bytes, str: self.text, tuple: self.tuple,
            list: self.tuple, divmod: self.divmod,
        }  # fmt: skip

    def items(self, value: Any) -> list[tuple[int, Any]]:
        """Return the items of a list as (test, value)."""
        sure = self.values.graph.const(1)
        if isinstance(value, Some):
            return list(value.entries)
        if isinstance(value, Bytes):
            if value.tail or not isinstance(value.count, int):
                raise RefusedError("a loop without bound: it goes over all bytes of a packet")
            within = [self.values.less(index, value.length) for index in range(value.count)]
            return [(self.values.node(is_within), value.data[k]) for k, is_within in enumerate(within)]
        if isinstance(value, (Num, Choice)):
            raise RefusedError(f"a loop goes over {value_text(value)}")
        return [(sure, item) for item in value]

    def length(self, value: Any) -> Any:
        """Return len() of bytes, or of a known value."""
        if isinstance(value, Bytes):
            return value.length
        if isinstance(value, Choice):
            return self.values.spread(value, self.length)
        if isinstance(value, Some):
            raise RefusedError("the length of a list is known only in hardware")
        return len(value)

    def whole(self, value: Any = 0) -> Any:
        """Return int() of a number."""
        return value if isinstance(value, Num) else int(value)

    def any(self, items: Any) -> Any:
        """Return whether any item is true."""
        values = self.values
        tests = [values.binary("and", values.num(when), values.truth(item)) for when, item in self.items(items)]
        return values.some(tests)

    def all(self, items: Any) -> Any:
        """Return whether all items are true."""
        values = self.values
        failures = [(values.num(when), values.invert(values.truth(item))) for when, item in self.items(items)]
        return values.invert(values.some([values.binary("and", *pair) for pair in failures]))

    def sum(self, items: Any, start: Any = 0) -> Any:
        """Return the sum of items."""
        total = start
        for when, item in self.items(items):
            total = self.values.binary("add", total, self.values.merge(when, item, 0))
        return total

    def min(self, *arguments: Any) -> Any:
        """Return the smallest of numbers."""
        return self._least(arguments, self.values.least)

    def max(self, *arguments: Any) -> Any:
        """Return the largest of numbers."""
        return self._least(arguments, self.values.most)

    def _least(self, arguments: Any, better: Callable[[Any, Any], Any]) -> Any:
        items = arguments if len(arguments) > 1 else [item for _, item in self.items(arguments[0])]
        out = items[0]
        for item in items[1:]:
            out = better(out, item)
        return out

    def range(self, *arguments: Any) -> Any:
        """Return the numbers up to an end that may be symbolic; raises RefusedError for too many iterations."""
        first, end, step = (0, *arguments, 1) if len(arguments) == 1 else (*arguments, 1)[:3]
        if not isinstance(end, Num):
            if not known((first, step)):
                raise RefusedError("the start or step of a loop is a number known only in hardware")
            return range(first, end, step)
        low, high = self.values.range(end)
        if not isinstance(first, int) or not isinstance(step, int) or step < 1 or (high - first) // step > MOST_TURNS:
            raise RefusedError(f"a loop without bound: it may take {high} turns, at most {MOST_TURNS} are allowed")
        numbers = range(first, high, step)
        return Some(tuple((self.values.node(1 if k < low else self.values.less(k, end)), k) for k in numbers))

    def enumerate(self, items: Any, start: int = 0) -> Any:
        """Return items with their numbers."""
        if isinstance(items, Some):
            raise RefusedError("the items of a list known only in hardware are numbered")
        return list(enumerate([item for _, item in self.items(items)], start))

    def zip(self, *lists: Any, strict: bool = False) -> Any:
        """Return tuples of items of several lists."""
        return list(zip(*([item for _, item in self.items(items)] for items in lists), strict=strict))

    def bytes(self, value: Any = b"") -> Any:
        """Return bytes with the values of a list of numbers."""
        if isinstance(value, Bytes):
            return value
        if is_number(value):
            raise RefusedError("as many zeros as a number known only in hardware says")
        data = [item for _, item in self.items(value)]
        for item in data:
            lo, hi = self.values.range(item)
            if lo < 0 or hi > 255:
                raise RefusedError(f"a byte must be 0 to 255, may be {lo} to {hi}")
        return Bytes(tuple(data), len(data), len(data))

    def text(self, value: Any) -> Any:
        """Return a choice of texts unchanged; raises RefusedError for other values."""
        if isinstance(value, Choice) and all(isinstance(text, str) for _, text in value.entries):
            return value
        raise RefusedError(f"{value_text(value)} is turned into text")

    def tuple(self, items: Any = ()) -> Any:
        """Return items as a tuple."""
        return items if isinstance(items, Some) else tuple(item for _, item in self.items(items))

    def divmod(self, a: Any, b: Any) -> Any:
        """Return quotient and remainder by a power of two."""
        if not isinstance(b, int) or b < 1 or b & (b - 1):
            raise RefusedError("a division by something other than a known power of two")
        graph, at = self.values.graph, self.values.node(a)
        return self.values.num(graph.shift("shr", at, b.bit_length() - 1)), self.values.num(graph.modulo(at, b))
