"""Equality and hashes of frozen records by content: mappings, lists and arrays are compared by their elements.

Two arrays are equal if their types, shapes and elements are equal; NaN equals NaN, and 0 equals -0.
"""

from collections.abc import Hashable, Mapping
from dataclasses import fields, is_dataclass
from typing import Any, TypeVar

Kind = TypeVar("Kind", bound=type)


def by_content(kind: Kind) -> Kind:
    """Decorate a frozen dataclass or NamedTuple: equal records have equal content, and equal hashes."""
    setattr(kind, "__eq__", content_equal)  # noqa: B010  # mypy rejects assigning to a method
    setattr(kind, "__ne__", lambda record, other: not content_equal(record, other))  # noqa: B010  # not tuple's own
    setattr(kind, "__hash__", content_hash)  # noqa: B010
    return kind


def content_equal(record: Any, other: object) -> bool:
    """Return whether two records have the same class and equal fields; the `__eq__` of `by_content`."""
    return record is other or (type(record) is type(other) and _content(record) == _content(other))


def content_hash(record: Any) -> int:
    """Return the hash of all fields that a comparison of the record uses; the `__hash__` of `by_content`."""
    return hash(_content(record))


def _content(record: Any) -> tuple[Hashable, ...]:
    """Return the fields that a comparison uses, in hashable form."""
    names = getattr(record, "_fields", None) or [field.name for field in fields(record) if field.compare]
    return tuple(_hashable(getattr(record, name)) for name in names)


def _hashable(value: Any) -> Hashable:
    """Return a hashable object that is equal for equal values."""
    if hasattr(value, "tobytes") and hasattr(value, "dtype"):
        return _array(value)
    if isinstance(value, float):
        return value if value == value else "nan"
    if isinstance(value, Mapping) and type(value).__hash__ is None:
        return frozenset((key, _hashable(item)) for key, item in value.items())
    if isinstance(value, set):
        return frozenset(value)
    if isinstance(value, list | tuple) and type(value).__eq__ is not content_equal:
        return tuple(map(_hashable, value))
    if hasattr(value, "__struct_fields__"):  # a msgspec record
        return tuple(_hashable(getattr(value, name)) for name in value.__struct_fields__)
    try:
        hash(value)
    except TypeError:
        if not is_dataclass(value):
            raise
        return (type(value), *_content(value))
    return value  # type: ignore[no-any-return]


def _array(array: Any) -> Hashable:
    """Return the content of a numpy array or number in hashable form."""
    if not array.shape:
        return _hashable(array.item())
    if array.dtype.kind in "OV":
        return array.shape, _hashable(array.tolist())
    if array.dtype.kind in "fc":
        array = array + 0.0  # -0 becomes 0
        array[array != array] = float("nan")  # all NaNs become the same
    return array.dtype.str, array.shape, array.tobytes()
