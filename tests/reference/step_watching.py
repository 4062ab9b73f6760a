"""Values that tell who looks at them: bytes of a region, parts of a named tuple, attributes of an object with tables.

A value that only goes by (bytes cut and joined, a structure handed on) is not looked at.
"""

from __future__ import annotations

import types
from collections.abc import Iterable, Sequence
from typing import Any, Protocol

BYTE = 8


class Watcher(Protocol):
    """What is told: bits of regions, lengths, kept values, tables; `watched` are the classes whose attributes count."""

    watched: tuple[type, ...]

    def touched(self, name: str, region: str, bits: Iterable[int]) -> None:
        """Bits are looked at."""

    def measured(self, region: str) -> None:
        """Record that a length was asked for."""

    def taken(self, name: str, value: Any) -> Any:
        """A kept value is taken; returns what is given for it."""

    def looked_up(self, table: str) -> None:
        """A table is looked into."""


class TracedBytes(bytes):
    """Bytes that know which bytes of a region they are (-1: of none), and tell who looks at them."""

    tracer: Watcher
    region: str
    origin: Sequence[int]

    @classmethod
    def over(cls, tracer: Watcher, region: str, value: bytes, origin: Sequence[int] | None = None) -> TracedBytes:
        """Return bytes as those of a region; origin: which ones, all from its begin where not given."""
        traced = super().__new__(cls, bytes.__getitem__(value, slice(None)))
        traced.tracer, traced.region = tracer, region
        traced.origin = range(bytes.__len__(value)) if origin is None else origin
        return traced

    def _look(self, at: Iterable[int]) -> None:
        self.tracer.touched(self.region, self.region, (BYTE * k + bit for k in at if k >= 0 for bit in range(BYTE)))

    def __getitem__(self, key: Any) -> Any:
        """Return a byte, which is looked at, or some bytes, which are not."""
        if isinstance(key, slice):
            return TracedBytes.over(self.tracer, self.region, super().__getitem__(key), self.origin[key])
        value = super().__getitem__(key)
        self._look([self.origin[key]])
        return value

    def __add__(self, other: Any) -> TracedBytes:
        """Join bytes."""
        return TracedBytes.over(self.tracer, self.region, super().__add__(other), [*self.origin, *self._places(other)])

    def __radd__(self, other: bytes) -> TracedBytes:
        """Join bytes in front."""
        joined = bytes.__add__(other, self)
        return TracedBytes.over(self.tracer, self.region, joined, [*self._places(other), *self.origin])

    def _places(self, other: bytes) -> Sequence[int]:
        if isinstance(other, TracedBytes) and other.region == self.region:
            return other.origin
        return [-1] * bytes.__len__(other)

    def __len__(self) -> int:
        """Return how many there are, which is asked for."""
        self.tracer.measured(self.region)
        return super().__len__()

    def __bytes__(self) -> bytes:
        """Return them as what nobody watches."""
        self._look(self.origin)
        return bytes.__getitem__(self, slice(None))

    def __iter__(self) -> Any:
        """Look at all of them."""
        return iter(bytes(self))

    def __eq__(self, other: object) -> bool:
        """Compare them."""
        return bytes(self) == other

    def __ne__(self, other: object) -> bool:
        """Compare them."""
        return bytes(self) != other

    def __hash__(self) -> int:
        """Use them as a key."""
        return hash(bytes(self))


class Watched:
    """An object whose attributes are noted as tables, unless they are numbers, names or watched themselves."""

    def __init__(self, tracer: Watcher, value: Any) -> None:
        object.__setattr__(self, "_held", (tracer, value))

    def __getattr__(self, name: str) -> Any:
        """Return an attribute; methods and properties run on the watched object."""
        tracer, value = self._held
        own = getattr(type(value), name, None)
        if isinstance(own, property) and own.fget is not None:
            return own.fget(self)
        attribute = getattr(value, name)
        if isinstance(attribute, types.MethodType) and attribute.__self__ is value:
            return types.MethodType(attribute.__func__, self)
        if isinstance(attribute, tracer.watched):
            return Watched(tracer, attribute)
        if attribute is not None and not isinstance(attribute, (bool, int, str, bytes)):
            tracer.looked_up(f"{type(value).__name__}.{name}")
        return attribute


def watched_tuple(tracer: Watcher, name: str, value: Any) -> Any:
    """Return a named tuple that notes which of its parts are taken, as `name.part`."""

    def part(k: int, called: str) -> Any:
        return property(lambda self: tracer.taken(f"{name}.{called}", tuple.__getitem__(self, k)))

    body: dict[str, Any] = {called: part(k, called) for k, called in enumerate(value._fields)}
    body["__iter__"] = lambda self: iter([getattr(self, called) for called in value._fields])
    return tuple.__new__(type(type(value).__name__, (type(value),), body), tuple(value))
