"""Numbers on a graph, and merging of the values of two branches.

`merge(test, a, b)` is `a` if the test is 1, and `b` if it is 0. If a branch never assigned a value (UNBOUND), the
result is the other branch's value.
"""

from __future__ import annotations

import dataclasses
from typing import Any

from npexplore.hardware.graph import Graph
from npexplore.hardware.values import (
    UNBOUND,
    Blend,
    Bytes,
    Choice,
    Num,
    Number,
    RefusedError,
    bytes_of,
    is_number,
    kind_of,
    value_text,
)


class Merging:
    """Numbers on a graph, and merging of symbolic values."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph

    def num(self, at: int) -> Number:
        """Return a node as a number: an int if its value is known, else a Num."""
        value = self.graph.constant(at)
        return Num(at) if value is None else value

    def node(self, value: Any) -> int:
        """Return the node of a number; raises RefusedError for anything else."""
        if isinstance(value, Num):
            return value.at
        if isinstance(value, int):
            return self.graph.const(value)
        raise RefusedError(f"a number is needed, got {value_text(value)}")

    def range(self, value: Number) -> tuple[int, int]:
        """Return the smallest and the largest value of a number."""
        return self.graph.range(value.at) if isinstance(value, Num) else (int(value), int(value))

    def binary(self, op: str, a: Number, b: Number) -> Number:
        """Return an operation of the graph on two numbers."""
        return self.num(self.graph.binary(op, self.node(a), self.node(b)))

    def invert(self, a: Number) -> Number:
        """Return 1 for 0 and 0 for 1."""
        return self.num(self.graph.invert(self.node(a)))

    def merge(self, test: int, a: Any, b: Any) -> Any:
        """Return `a` if a test is 1, else `b`, as one value."""
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
            return self._merged_bytes(test, bytes_of(a), bytes_of(b))
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
            pair = [side.data[k] if k < len(side.data) else UNBOUND for side in (a, b)]
            data.append(self.merge(test, *pair))
        count, length = self.merge(test, a.count, b.count), self.merge(test, a.length, b.length)
        return Bytes(tuple(data), count, length, a.tail or b.tail)

    def _blended(self, test: int, a: Any, b: Any) -> Blend:
        sides = [side.parts if isinstance(side, Blend) else self._parts(side) for side in (a, b)]
        kind = a.kind if isinstance(a, Blend) else type(a)
        return Blend(kind, {name: self._part(test, sides[0][name], sides[1][name]) for name in sides[0]})

    @staticmethod
    def _parts(one: Any) -> dict[str, Any]:
        return {field.name: getattr(one, field.name) for field in dataclasses.fields(one)}

    def _part(self, test: int, a: Any, b: Any) -> Any:
        return UNBOUND if isinstance(a, str) or isinstance(b, str) else self.merge(test, a, b)  # no texts in hardware

    def _chosen(self, test: int, a: Any, b: Any) -> Any:
        graph = self.graph
        choices: dict[tuple[Any, ...], tuple[int, Any]] = {}
        for side_test, side in ((test, a), (graph.invert(test), b)):
            for when, value in side.entries if isinstance(side, Choice) else ((graph.const(1), side),):
                condition, kind = graph.binary("and", side_test, when), kind_of(value)
                if kind in choices:
                    before, earlier = choices[kind]
                    choices[kind] = (graph.binary("or", before, condition), self.merge(before, earlier, value))
                else:
                    choices[kind] = condition, value
        entries = tuple((when, value) for when, value in choices.values() if graph.constant(when) != 0)
        return entries[0][1] if len(entries) == 1 else Choice(entries)

    def pruned(self, value: Any) -> Any:
        """Return a choice without alternatives that the current path excludes; a single one is returned as itself."""
        if not isinstance(value, Choice):
            return value
        entries = tuple(entry for entry in value.entries if self.graph.constant(entry[0]) != 0)
        if len(entries) == 1:
            return entries[0][1]
        return value if len(entries) == len(value.entries) or not entries else Choice(entries)

    def spread(self, value: Any, what: Any) -> Any:
        """Apply `what` to a value, or to each alternative of a choice, and merge the results.

        An alternative that raises KeyError, IndexError or AttributeError is impossible and is left out.
        """
        if not isinstance(value, Choice):
            return what(value)
        out: Any = UNBOUND
        for when, alternative in reversed(value.entries):
            if self.graph.constant(when) == 0:
                continue
            mark = self.graph.mark()
            self.graph.assume(when, True)
            try:
                result = what(alternative)
            except (KeyError, IndexError, AttributeError):
                result = UNBOUND
            self.graph.undo(mark)
            out = self.merge(when, result, out)
        return out
