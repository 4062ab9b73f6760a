"""Classifier rules: five ranges and an action for packets that match all five; the first matching rule wins.

The action is a DS field code point, with the names of code_points.py, and optionally a policer.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import overload

import numpy as np
from numpy.typing import NDArray

from npexplore.errors import InputError, one_of
from npexplore.golden.code_points import DSCP, MAX_DSCP, class_dscp, dscp_name
from npexplore.golden.ipv4.addresses import MAX_ADDRESS, address_text, prefix_text
from npexplore.golden.ipv4.five_tuple import BITS, FIELDS, FiveTuple

MAX_RULES = 16_384
Range = tuple[int, int]  # first and last value
ANY_ADDRESS, ANY_PORT, ANY_PROTOCOL = (0, 0xFFFFFFFF), (0, 0xFFFF), (0, 0xFF)
CLASSES = (*DSCP, "AF1", "AF2", "AF3", "AF4")  # AFx means AFx1


def class_number(name: str) -> int:
    """Return the code point of a class; raises UnknownNameError with the nearest names."""
    return class_dscp(one_of("class", name, CLASSES))


@dataclass(frozen=True)
class Rule:
    """Ranges with both ends included, the code point to mark packets with, and the name of their policer."""

    source: Range = ANY_ADDRESS
    destination: Range = ANY_ADDRESS
    source_port: Range = ANY_PORT
    destination_port: Range = ANY_PORT
    protocol: Range = ANY_PROTOCOL
    dscp: int = 0
    policer: str | None = None

    def __post_init__(self) -> None:
        for name, bits, (low, high) in zip(FIELDS, BITS, self.ranges, strict=True):
            if not (0 <= low < 1 << bits and 0 <= high < 1 << bits):
                raise InputError(f"{name} must be 0 to {(1 << bits) - 1}, got {range_text(name, (low, high))}")
            if low > high:
                raise InputError(f"{name} must have its lower end first, got {range_text(name, (low, high))}")
        if not 0 <= self.dscp <= MAX_DSCP:
            raise InputError(f"dscp must be 0 to {MAX_DSCP}, got {self.dscp}")

    @property
    def ranges(self) -> "tuple[Range, ...]":
        """The ranges in the order of FIELDS."""
        return self.source, self.destination, self.source_port, self.destination_port, self.protocol

    @property
    def class_name(self) -> str:
        """The name of the code point, its number as text if it has none."""
        return dscp_name(self.dscp)

    def matches(self, header: "FiveTuple[int]") -> bool:
        """Say whether every field is in its range."""
        return all(low <= value <= high for value, (low, high) in zip(header, self.ranges, strict=True))


@dataclass(frozen=True)
class Rules(Sequence[Rule]):
    """1 to 16,384 rules in order. origin: their file, for messages."""

    rules: tuple[Rule, ...]
    origin: str = field(default="rules", compare=False)

    def __post_init__(self) -> None:
        if not 1 <= len(self.rules) <= MAX_RULES:
            beyond = f", rule[{MAX_RULES}] is one too many" if self.rules else ""
            raise InputError(
                f"{self.origin}: rule: there must be 1 to {MAX_RULES} rules, got {len(self.rules)}{beyond}"
            )

    @classmethod
    def of(cls, rules: "Iterable[Rule]") -> "Rules":
        """Return a `Rules` unchanged, or build one from any iterable of rules."""
        return rules if isinstance(rules, Rules) else cls(tuple(rules))

    def __len__(self) -> int:
        return len(self.rules)

    @overload
    def __getitem__(self, at: int) -> Rule: ...
    @overload
    def __getitem__(self, at: slice) -> "Rules": ...
    def __getitem__(self, at: "int | slice") -> "Rule | Rules":
        return Rules(self.rules[at], self.origin) if isinstance(at, slice) else self.rules[at]

    def __iter__(self) -> Iterator[Rule]:
        return iter(self.rules)

    def inserted(self, rule: Rule, at: int | None = None) -> "Rules":
        """Return the rules with a rule inserted at an index (default: the end); raises InputError for a bad index."""
        place = len(self) if at is None else at
        if not 0 <= place <= len(self):
            raise InputError(f"{self.origin}: a rule can be put at 0 to {len(self)}, got {at}")
        return Rules((*self.rules[:place], rule, *self.rules[place:]), self.origin)

    def removed(self, at: int) -> "Rules":
        """Return the rules without the one at an index; raises InputError for a bad index, or the only rule."""
        if not 0 <= at < len(self):
            raise InputError(f"{self.origin}: a rule can be taken from 0 to {len(self) - 1}, got {at}")
        return Rules((*self.rules[:at], *self.rules[at + 1 :]), self.origin)

    @cached_property
    def low(self) -> NDArray[np.uint32]:
        """First values, shape (rules, 5)."""
        return np.array([[low for low, _ in rule.ranges] for rule in self.rules], np.uint32)

    @cached_property
    def high(self) -> NDArray[np.uint32]:
        """Last values, shape (rules, 5)."""
        return np.array([[high for _, high in rule.ranges] for rule in self.rules], np.uint32)

    @cached_property
    def dscp(self) -> NDArray[np.uint8]:
        """The code point of each rule."""
        return np.array([rule.dscp for rule in self.rules], np.uint8)


def prefix_length(low: int, high: int, bits: int = 32) -> int | None:
    """Return the length of the prefix that equals this range, None if no prefix does."""
    free_bits = (high - low).bit_length()
    span = (1 << free_bits) - 1
    return bits - free_bits if high - low == span and not low & span else None


def range_text(name: str, ends: Range) -> str:
    """Return a range of a field in the syntax of rule files: a prefix, a value or LOW-HIGH; 'any' for all values."""
    bits = BITS[FIELDS.index(name)]
    low, high = ends
    if ends == (0, (1 << bits) - 1):
        return "any"
    if bits < 32 or not (0 <= low <= MAX_ADDRESS and 0 <= high <= MAX_ADDRESS):
        return str(low) if low == high else f"{low}-{high}"
    length = prefix_length(low, high) if low <= high else None
    return f"{address_text(low)}-{address_text(high)}" if length is None else prefix_text(low, length)
