"""Ranges (smallest, largest value) of integers under the operations of a graph."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence

Range = tuple[int, int]
BINARY: Mapping[str, Callable[[int, int], int]] = {
    "add": operator.add, "sub": operator.sub, "mul": operator.mul, "and": operator.and_, "or": operator.or_,
    "xor": operator.xor, "eq": lambda a, b: int(a == b), "lt": lambda a, b: int(a < b), "shl": operator.lshift,
    "shr": operator.rshift, "mod": operator.mod,
}  # fmt: skip
NO_BIT = 64  # number of trailing zeros of the constant 0


def combined(op: str, a: Range, b: Range) -> Range:
    """Return the range of an operation's result for operands in two ranges."""
    if op == "add":
        return a[0] + b[0], a[1] + b[1]
    if op == "sub":
        return a[0] - b[1], a[1] - b[0]
    if op == "mul":
        ends = [x * y for x in a for y in b]
        return min(ends), max(ends)
    if op == "eq":
        return 0, int(a[0] <= b[1] and b[0] <= a[1])
    if op == "lt":
        return int(a[1] < b[0]), int(a[0] < b[1])
    return _bitwise(op, a, b)


def _bitwise(op: str, a: Range, b: Range) -> Range:
    if a[0] >= 0 and b[0] >= 0:
        whole = (1 << max(a[1], b[1]).bit_length()) - 1
        if op == "and":
            return _masked(a, b[1]) if b[0] == b[1] else (0, min(a[1], b[1]))
        if op == "or":
            return max(a[0], b[0]), whole
        return (whole - a[1], whole - a[0]) if b == (whole, whole) else (0, whole)
    if op == "and" and max(a[0], b[0]) >= 0:
        return 0, a[1] if a[0] >= 0 else b[1]
    bits = max(max(abs(end + (end < 0)) for end in (*a, *b)).bit_length(), 1)
    return -(1 << bits), (1 << bits) - 1


def _masked(a: Range, mask: int) -> Range:
    size = mask + 1
    if mask & size == 0 and a[0] // size == a[1] // size:
        return a[0] & mask, a[1] & mask
    return 0, min(a[1], mask)


def fold_range(most: int, bits: int) -> int:
    """Return the maximum of (x & 2^bits - 1) + (x >> bits) for x from 0 to `most`."""
    top = most >> bits
    return max((most & ((1 << bits) - 1)) + top, (1 << bits) - 1 + top - 1 if top else 0)


def trailing_zeros(op: str, value: int, args: Sequence[int]) -> int:
    """Return the number of low bits of a node that are always 0; args: the same numbers of its arguments."""
    if op == "const":
        return (value & -value).bit_length() - 1 if value else NO_BIT
    if op == "shl":
        return int(args[0] + value)
    if op in ("add", "sub", "or", "xor"):
        return min(args)
    if op == "mux":
        return min(args[1:])
    if op == "and":
        return max(args)
    if op == "mul":
        return sum(args)
    return 0
