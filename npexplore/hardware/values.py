"""Values that a step's body is run on: numbers as nodes of a graph, bytes with a window, and values of several kinds.

    Num      a whole number that is a node                     Bytes    bytes of which the first are nodes
    Choice   values of different kinds, each with its test     Blend    an object whose attributes were merged

`merging` says how two ways through a body meet again, `operations` what is done with values.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any

from npexplore.errors import ModelError


class RefusedError(ModelError):
    """What hardware cannot have; the lowering adds step and line."""


class _Unbound:
    def __repr__(self) -> str:
        return "UNBOUND"


UNBOUND: Any = _Unbound()


@dataclass(frozen=True)
class Num:
    """A whole number; `at`: its node."""

    at: int

    def __bool__(self) -> bool:
        """Refuse to be tested by what does not know of graphs."""
        raise RefusedError("a choice that lowering must make depends on a value known only in hardware")


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


def bytes_of(value: bytes | Bytes) -> Bytes:
    """Return known bytes as a window of all of them."""
    return value if isinstance(value, Bytes) else Bytes(tuple(value), len(value), len(value))


def value_text(value: Any) -> str:
    """Describe a value, for an error message."""
    names = {Num: "a number known only in hardware", Bytes: "bytes known only in hardware"}
    return names.get(type(value), repr(value)[:60])
