"""Shapes of kept values, and the registers ("leaves") that hold a value of each shape.

Whole     a number in a range                          one leaf
Octets    bytes with a window                          one leaf per byte, .length, and .count if the window moves
Parts     a tuple, named or not                        the leaves of each part
Fixed     a value known while lowering                 no leaf
OneOf     one of several shapes                        .kind and the leaves of each shape
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from npexplore.hardware.operations import Values
from npexplore.hardware.values import (
    UNBOUND,
    Bytes,
    Choice,
    Num,
    RefusedError,
    bytes_of,
    is_number,
    kind_of,
    value_text,
)

BYTE = 255


@dataclass(frozen=True)
class Whole:
    """A number from lo to hi.

    Example:
        >>> from npexplore.hardware import Whole
        >>> Whole(0, 255)
        Whole(lo=0, hi=255)
    """

    lo: int
    hi: int


@dataclass(frozen=True)
class Octets:
    """Bytes: `window` places of which `count` are used; `length` of all bytes; tail: whether more follow the window."""

    window: int
    count: tuple[int, int]
    length: tuple[int, int]
    tail: bool


@dataclass(frozen=True)
class Parts:
    """A tuple of type `kind`, with the shape of each part."""

    kind: type
    parts: tuple[Shape, ...]

    def names(self) -> list[str]:
        """Return the names of the parts, or their numbers."""
        return [str(name) for name in getattr(self.kind, "_fields", range(len(self.parts)))]


@dataclass(frozen=True)
class Fixed:
    """A single, known value."""

    value: Any


@dataclass(frozen=True)
class OneOf:
    """One of several shapes, by kind."""

    choices: tuple[tuple[tuple[Any, ...], Shape], ...]


Shape = Whole | Octets | Parts | Fixed | OneOf
Leaf = tuple[str, int, int]


Spans = Mapping[str, tuple[int, int]]  # by register, the smallest and the largest value at some point


def shape_of(values: Values, value: Any) -> Shape:
    """Return the shape of a symbolic value; raises RefusedError for a value that registers cannot hold."""
    if is_number(value):
        return Whole(*values.range(value))
    if isinstance(value, (bytes, Bytes)):
        octets = bytes_of(value)
        return Octets(len(octets.data), values.range(octets.count), values.range(octets.length), octets.tail)
    if isinstance(value, tuple):
        return Parts(type(value), tuple(shape_of(values, part) for part in value))
    if isinstance(value, Choice):
        return OneOf(tuple((kind_of(alternative), shape_of(values, alternative)) for _, alternative in value.entries))
    if value is None or isinstance(value, str):
        return Fixed(value)
    raise RefusedError(f"a step keeps {value_text(value)}")


def join(a: Shape | None, b: Shape) -> Shape:
    """Return the shape that includes the values of both shapes; None: no shape yet."""
    if a is None or a == b:
        return b
    if isinstance(a, Whole) and isinstance(b, Whole):
        return Whole(min(a.lo, b.lo), max(a.hi, b.hi))
    if isinstance(a, Octets) and isinstance(b, Octets) and _kind(a) == _kind(b):
        count, length = (
            (min(x[0], y[0]), max(x[1], y[1])) for x, y in ((a.count, b.count), (a.length, b.length))
        )  # fmt: skip
        return Octets(max(a.window, b.window), count, length, a.tail or b.tail)
    if isinstance(a, Parts) and isinstance(b, Parts) and a.kind is b.kind and len(a.parts) == len(b.parts):
        return Parts(a.kind, tuple(join(x, y) for x, y in zip(a.parts, b.parts, strict=True)))
    shapes: dict[tuple[Any, ...], Shape] = {}
    for side in (a, b):
        for kind, shape in side.choices if isinstance(side, OneOf) else ((_kind(side), side),):
            shapes[kind] = join(shapes.get(kind), shape)
    return OneOf(tuple(shapes.items()))


def structure(shape: Shape) -> Any:
    """Return a shape without the ranges of its numbers; it determines the names and contents of registers."""
    if isinstance(shape, Octets):
        return shape.window, shape.tail
    if isinstance(shape, Parts):
        return shape.kind, tuple(map(structure, shape.parts))
    if isinstance(shape, OneOf):
        return tuple((kind, structure(choice)) for kind, choice in shape.choices)
    return shape if isinstance(shape, Fixed) else Whole


def _kind(shape: Shape) -> tuple[Any, ...]:
    if isinstance(shape, Fixed):
        return kind_of(shape.value)
    if isinstance(shape, Parts):
        return "tuple", shape.kind, len(shape.parts)
    if isinstance(shape, Octets):
        return "bytes", shape.length[0] if shape.length[0] == shape.length[1] and not shape.tail else -1
    return ("number",)


def leaves(shape: Shape, name: str) -> Iterator[Leaf]:
    """Yield the registers of a shape as (name, smallest, largest value); a number with one value has no register."""
    if isinstance(shape, Whole):
        if shape.lo < shape.hi:
            yield name, shape.lo, shape.hi
    elif isinstance(shape, Octets):
        yield from ((f"{name}.{k}", 0, BYTE) for k in range(shape.window))
        yield from leaves(Whole(*shape.count), f"{name}.count")
        yield from leaves(Whole(*shape.length), f"{name}.length")
    elif isinstance(shape, Parts):
        for part, choice in zip(shape.names(), shape.parts, strict=True):
            yield from leaves(choice, f"{name}.{part}")
    elif isinstance(shape, OneOf):
        yield from leaves(Whole(0, len(shape.choices) - 1), f"{name}.kind")
        for k, (_, choice) in enumerate(shape.choices):
            yield from leaves(choice, f"{name}.is{k}")


def decoded(values: Values, shape: Shape, name: str, ranges: Spans | None = None) -> Any:
    """Return the value in a shape's registers, which become inputs of the graph; ranges: narrower ranges of some."""
    known = ranges or {}
    if isinstance(shape, Whole):
        return values.num(_register(values, name, shape.lo, shape.hi, known))
    if isinstance(shape, Octets):
        data = [decoded(values, Whole(0, BYTE), f"{name}.{k}") for k in range(shape.window)]
        count = decoded(values, Whole(*shape.count), f"{name}.count", known)
        length = decoded(values, Whole(*shape.length), f"{name}.length", known)
        return Bytes(tuple(data), count, length, shape.tail)
    if isinstance(shape, Parts):
        parts = [
            decoded(values, part_shape, f"{name}.{part}", known)
            for part, part_shape in zip(shape.names(), shape.parts, strict=True)
        ]
        return shape.kind(*parts) if hasattr(shape.kind, "_fields") else tuple(parts)
    if isinstance(shape, OneOf):
        kind = _register(values, f"{name}.kind", 0, len(shape.choices) - 1, known)
        tests = [values.graph.binary("eq", kind, values.graph.const(k)) for k in range(len(shape.choices))]
        return Choice(
            tuple(
                (tests[k], decoded(values, choice, f"{name}.is{k}", known))
                for k, (_, choice) in enumerate(shape.choices)
                if values.graph.constant(tests[k]) != 0
            )
        )
    return shape.value


def _register(values: Values, name: str, lo: int, hi: int, ranges: Spans) -> int:
    at = values.graph.input(name, lo, hi)
    if name in ranges:
        values.graph.narrow(at, *ranges[name])
    return at


def spans(values: Values, shape: Shape, value: Any, name: str) -> Iterator[Leaf]:
    """Yield the ranges of a value's numbers, kinds, counts and lengths on the current path, under registers' names.

    Numbers with a single value, which have no register, are included.
    """
    if value is UNBOUND:
        return
    if isinstance(shape, Whole):
        yield name, *values.range(value)
    elif isinstance(shape, Octets):
        octets = bytes_of(value)
        yield f"{name}.count", *values.range(octets.count)
        yield f"{name}.length", *values.range(octets.length)
    elif isinstance(shape, Parts):
        for part, alternative, item in zip(shape.names(), shape.parts, value, strict=True):
            yield from spans(values, alternative, item, f"{name}.{part}")
    elif isinstance(shape, OneOf):
        order = [kind for kind, _ in shape.choices]
        entries = value.entries if isinstance(value, Choice) else ((values.graph.const(1), value),)
        kinds = {
            order.index(kind_of(alternative)): alternative
            for when, alternative in entries
            if values.graph.constant(when) != 0
        }
        if kinds:
            yield f"{name}.kind", min(kinds), max(kinds)
        for k, alternative in kinds.items():
            yield from spans(values, shape.choices[k][1], alternative, f"{name}.is{k}")


def encoded(values: Values, shape: Shape, value: Any, name: str) -> Iterator[tuple[str, int]]:
    """Yield (register, node) for the registers that hold a value; other registers of the shape may hold anything."""
    if value is UNBOUND:
        return
    if isinstance(shape, Whole):
        if shape.lo < shape.hi:
            yield name, values.node(value)
    elif isinstance(shape, Octets):
        octets = bytes_of(value)
        for k, item in enumerate(octets.data):
            if item is not UNBOUND:
                yield f"{name}.{k}", values.node(item)
        yield from encoded(values, Whole(*shape.count), octets.count, f"{name}.count")
        yield from encoded(values, Whole(*shape.length), octets.length, f"{name}.length")
    elif isinstance(shape, Parts):
        for part, alternative, item in zip(shape.names(), shape.parts, value, strict=True):
            yield from encoded(values, alternative, item, f"{name}.{part}")
    elif isinstance(shape, OneOf):
        kinds = [kind for kind, _ in shape.choices]

        def number(one: Any) -> int | Num:
            return kinds.index(kind_of(one))

        yield from encoded(values, Whole(0, len(kinds) - 1), values.spread(value, number), f"{name}.kind")
        for _, alternative in value.entries if isinstance(value, Choice) else ((0, value),):
            k = kinds.index(kind_of(alternative))
            yield from encoded(values, shape.choices[k][1], alternative, f"{name}.is{k}")


def maybe(most: int) -> OneOf:
    """Return the shape of a reply that is either None or a number from 0 to `most`."""
    return OneOf(((("none",), Fixed(None)), (("number",), Whole(0, most))))
