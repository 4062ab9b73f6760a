"""Conversion of Python values to registers and back, by shape."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from npexplore.errors import InputError
from npexplore.hardware.shapes import Fixed, Octets, Parts, Shape, Whole
from npexplore.hardware.values import kind_of


def filled(shape: Shape, value: Any, name: str) -> dict[str, int]:
    """Return the registers that hold a value; raises InputError for a value that the shape excludes."""
    if isinstance(shape, Whole):
        if not isinstance(value, int) or not shape.lo <= value <= shape.hi:
            raise InputError(f"{name or 'a reply'} must be a number from {shape.lo} to {shape.hi}, got {value!r}")
        return {name: int(value)} if shape.lo < shape.hi else {}
    if isinstance(shape, Octets):
        return _filled_bytes(shape, value, name)
    if isinstance(shape, Parts):
        if not isinstance(value, tuple) or len(value) != len(shape.parts):
            raise InputError(f"{name or 'a reply'} must be a tuple of {len(shape.parts)}, got {value!r}")
        named_parts = zip(shape.names(), shape.parts, value, strict=True)
        return {
            leaf: bits
            for part, part_shape, item in named_parts
            for leaf, bits in filled(part_shape, item, f"{name}.{part}").items()
        }
    if isinstance(shape, Fixed):
        if value != shape.value:
            raise InputError(f"{name or 'a reply'} must be {shape.value!r}, got {value!r}")
        return {}
    kinds = [kind for kind, _ in shape.choices]
    if kind_of(value) not in kinds:
        raise InputError(f"{name or 'a reply'} may not be {value!r}")
    k = kinds.index(kind_of(value))
    return {f"{name}.kind": k, **filled(shape.choices[k][1], value, f"{name}.is{k}")}


def _filled_bytes(shape: Octets, value: Any, name: str) -> dict[str, int]:
    low, high = shape.length
    longest = high if shape.tail else min(high, shape.window)
    if not isinstance(value, bytes) or not low <= len(value) <= longest:
        raise InputError(f"{name or 'a reply'} must be {low} to {longest} bytes, got {value!r}")
    data = value[: shape.window] + bytes(max(0, shape.window - len(value)))
    inputs = {f"{name}.{k}": byte for k, byte in enumerate(data)}
    inputs |= filled(Whole(*shape.count), max(shape.count[0], min(len(value), shape.count[1])), f"{name}.count")
    return inputs | filled(Whole(*shape.length), len(value), f"{name}.length")


def taken(shape: Shape, registers: Mapping[str, int], name: str, tail: bytes = b"") -> Any:
    """Return the value that registers hold; tail: the bytes after the window.

    Raises KeyError or IndexError if they hold no value of the shape.
    """
    if isinstance(shape, Whole):
        return registers.get(name, shape.lo)
    if isinstance(shape, Octets):
        count, length = (
            taken(Whole(*limits), registers, f"{name}.{suffix}")
            for suffix, limits in (("count", shape.count), ("length", shape.length))
        )
        data = bytes(registers[f"{name}.{k}"] for k in range(shape.window))
        return (data[:count] + (tail if shape.tail else b""))[:length]
    if isinstance(shape, Parts):
        named_parts = zip(shape.names(), shape.parts, strict=True)
        return tuple(taken(part_shape, registers, f"{name}.{part}", tail) for part, part_shape in named_parts)
    if isinstance(shape, Fixed):
        return shape.value
    kind = registers.get(f"{name}.kind", 0)
    return taken(shape.choices[kind][1], registers, f"{name}.is{kind}", tail)
