"""The interface of classifiers: they find the first rule that matches a header, and count the work of the search."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from npexplore.display import ShownByArguments
from npexplore.errors import InputError
from npexplore.golden.classify.rules import Rule, Rules
from npexplore.golden.ipv4.addresses import Address
from npexplore.golden.ipv4.five_tuple import BITS, Columns, FiveTuple, five_columns, five_tuple
from npexplore.golden.work import Meter, Work, WorkColumns

NO_MATCH = -1
_ACTION_BITS = 16  # in a rule's record: code point and policer number
RECORD_BITS = 2 * sum(BITS) + _ACTION_BITS


class Classifier(ShownByArguments, ABC):
    """Finds the first of its rules that matches a header. word_bits: bits of a memory word, the unit of work.

    The reference (`match`, `work`) is plain Python for one header; `match_many` and `work_many` are its batch forms.
    Comparing a field with one bound costs an alu instruction and a branch, and another alu instruction to unpack a
    bound that shares its word. Header fields are in registers: reading them costs nothing.

    Example:
        >>> from npexplore.golden import Classifier, LinearSearch, generate_rules
        >>> isinstance(LinearSearch(generate_rules(4, "access", seed=1)), Classifier)
        True
    """

    source: ClassVar[str]  # the paper or text that describes the method

    def __init__(self, rules: "Rules | Iterable[Rule]", *, word_bits: int = 32) -> None:
        if word_bits < 8 or word_bits % 8:
            raise InputError(f"word_bits must be a multiple of 8, got {word_bits}")
        self.word_bits = word_bits
        self.compare_alu = tuple(1 + (bits < word_bits) for bits in BITS)  # per comparison with one bound, by field
        self.rules = Rules.of(rules)
        self._build(self.rules)

    def __len__(self) -> int:
        return len(self.rules)

    @property
    def record_words(self) -> int:
        """Words of a rule's record: both ends of every field, code point and policer."""
        return -(-RECORD_BITS // self.word_bits)

    def match(self, header: "FiveTuple[int] | Sequence[Address]") -> int | None:
        """Return the index of the first matching rule, None if none matches; raises InputError for a bad header."""
        index = self._walk(five_tuple(header), Meter())
        return None if index == NO_MATCH else index

    def work(self, header: "FiveTuple[int] | Sequence[Address]") -> Work:
        """Return the work of `match` for this header: memory accesses and instructions."""
        meter = Meter()
        self._walk(five_tuple(header), meter)
        return meter.work

    def match_many(self, headers: Columns, out: "NDArray[np.int32] | None" = None) -> NDArray[np.int32]:
        """Return the first matching rule of each header, -1: none; written into `out` (int32, same length) if given."""
        columns = five_columns(headers)
        shape = columns.source.shape
        if out is None:
            out = np.empty(shape, np.int32)
        elif out.dtype != np.int32 or out.shape != shape or not out.flags.c_contiguous:
            raise InputError(f"out must be int32 of shape {shape}, got {out.dtype} of shape {out.shape}")
        self._match_many(columns, out)
        return out

    def work_many(self, headers: Columns) -> WorkColumns:
        """Return the work of `match` for each header."""
        return self._work_many(five_columns(headers))

    def insert(self, rule: Rule, at: int | None = None) -> None:
        """Insert a rule at an index (default: the end) and rebuild; an error changes nothing."""
        self._rebuild(self.rules.inserted(rule, at))

    def remove(self, at: int) -> None:
        """Remove a rule and rebuild; raises InputError for an index out of range, and for the only rule."""
        self._rebuild(self.rules.removed(at))

    def _rebuild(self, rules: Rules) -> None:
        self._build(rules)
        self.rules = rules

    @abstractmethod
    def storage(self) -> Mapping[str, int]:
        """Return the words of each table."""

    @abstractmethod
    def _build(self, rules: Rules) -> None:
        """Build the tables; raise errors before changing anything."""

    @abstractmethod
    def _walk(self, header: "FiveTuple[int]", meter: Meter) -> int: ...

    @abstractmethod
    def _match_many(self, headers: Columns, out: NDArray[np.int32]) -> None: ...

    @abstractmethod
    def _work_many(self, headers: Columns) -> WorkColumns: ...

    def _compare(self, meter: Meter, field: int, value: int, low: int, high: int) -> bool:
        """Compare a field with both ends of a range; the second only if the first comparison does not decide."""
        meter.do(alu=self.compare_alu[field], branch=1)
        if value < low:
            return False
        meter.do(alu=self.compare_alu[field], branch=1)
        return value <= high

    @property
    def _costs(self) -> NDArray[Any]:
        """Alu instructions of a comparison with one bound, by field."""
        return np.array(self.compare_alu, np.int64)
