"""Symbolic values on which a step's body is run: numbers as nodes of a graph, bytes with a window, choices of values.

    Num      an integer that is a node                         Bytes    bytes of which the first are nodes
    Choice   values of different kinds, each with its test     Blend    an object whose attributes were merged

`merging` merges the values of two branches; `operations` has the operations on values.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any

from npexplore.errors import ModelError


class RefusedError(ModelError):
    """Code that cannot become hardware; lowering adds step and line."""


class _Unbound:
    def __repr__(self) -> str:
        return "UNBOUND"


UNBOUND: Any = _Unbound()


@dataclass(frozen=True)
class Num:
    """An integer; `at`: its node."""

    at: int

    def __bool__(self) -> bool:
        """Raise RefusedError: only code that handles graphs may test a symbolic number."""
        raise RefusedError("a choice that lowering must make depends on a value known only in hardware")


Number = int | Num


@dataclass(frozen=True)
class Bytes:
    """Bytes: a window with the first `count` bytes and, if `tail`, more bytes of the frame that are never read.

    length: of all bytes, which may end inside the window. Places of `data` beyond `count` have no meaning.
    """

    data: tuple[Number, ...]
    count: Number
    length: Number
    tail: bool = False


@dataclass(frozen=True)
class Choice:
    """Alternative values of different kinds, as (test, value); exactly one test is 1."""

    entries: tuple[tuple[int, Any], ...]


@dataclass(frozen=True)
class Blend:
    """Merged objects of one class; parts: the merged attributes by name."""

    kind: type
    parts: dict[str, Any]


@dataclass(frozen=True)
class Some:
    """A list with uncertain items, as (test, value); an item exists if its test is 1."""

    entries: tuple[tuple[int, Any], ...]


def is_number(value: Any) -> bool:
    """Return whether a value is an integer, known or symbolic."""
    return isinstance(value, (int, Num))


def known(value: Any) -> bool:
    """Return whether a value contains nothing that is known only in hardware."""
    if isinstance(value, (tuple, list)):
        return all(map(known, value))
    return value is not UNBOUND and not isinstance(value, (Num, Bytes, Choice, Blend, Some))


def kind_of(value: Any) -> tuple[Any, ...]:
    """Return a value's kind; values of the same kind merge into one value of that kind."""
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


def bytes_of(value: bytes | Bytes) -> Bytes:
    """Return known bytes as a window of all of them."""
    return value if isinstance(value, Bytes) else Bytes(tuple(value), len(value), len(value))


def value_text(value: Any) -> str:
    """Describe a value, for an error message."""
    names = {Num: "a number known only in hardware", Bytes: "bytes known only in hardware"}
    return names.get(type(value), repr(value)[:60])
