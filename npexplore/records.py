"""Hashes of frozen records whose fields hold mappings or lists: records that are equal have the same hash."""

from collections.abc import Hashable, Mapping
from dataclasses import fields, is_dataclass
from typing import Any


def content_hash(record: Any) -> int:
    """Return the hash of all fields of a frozen dataclass that take part in its comparison; its method `__hash__`."""
    return hash(tuple(_hashable(getattr(record, field.name)) for field in fields(record) if field.compare))


def _hashable(value: Any) -> Hashable:
    """Return a value that is equal and hashable where the values compared are equal."""
    if isinstance(value, Mapping) and type(value).__hash__ is None:
        return frozenset((key, _hashable(one)) for key, one in value.items())
    if isinstance(value, list | tuple):
        return tuple(map(_hashable, value))
    if hasattr(value, "__struct_fields__"):  # a msgspec record
        return tuple(_hashable(getattr(value, name)) for name in value.__struct_fields__)
    if is_dataclass(value) and type(value).__hash__ is None:
        return content_hash(value)
    return hash(value)
