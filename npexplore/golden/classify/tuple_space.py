"""Tuple-space search: rules with equal prefix lengths in all fields share a tuple, which is searched by hashing.

Srinivasan, Suri, Varghese, "Packet classification using tuple space search", ACM SIGCOMM 1999. A range is hashed by the
longest prefix that contains it, so the rules in a bucket are compared in full.
"""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from npexplore._kernels import golden_classify as kernels
from npexplore.golden.classify.base import NO_MATCH, RECORD_BITS, Classifier
from npexplore.golden.classify.rules import Rules
from npexplore.golden.ipv4.five_tuple import BITS, Columns, FiveTuple
from npexplore.golden.work import Meter, WorkColumns

_END = -1
_MULTIPLIER = 0x9E3779B97F4A7C15  # 2^64 over the golden ratio (Knuth, TAOCP 3, section 6.4)
_TUPLE_BITS = 5 * 8 + 16  # a prefix length for each field, and the tuple's first rule
_LINK_BITS = 2 * 16  # the rule's tuple, and the next rule in its bucket
# test for the end of the list, the tuple's address, its first rule compared with the best so far
_TUPLE = {"alu": 2, "branch": 2}
# unpack, shift, mix and multiply each field; then the bucket's number and address
_HASH = {"alu": 3 * len(BITS) + 2, "multiply": len(BITS)}
# test for the end of the bucket, rule number compared with the best so far; then its address and tuple
_CANDIDATE, _RECORD = {"alu": 1, "branch": 2}, {"alu": 2, "branch": 1}


class TupleSpaceSearch(Classifier):
    """A classifier by tuple-space search.

    Tables: `tuples`, in the order of their first rules; `buckets`, one word each; `rules`, chained by bucket.
    The search ends at the first tuple whose first rule comes after the best match so far.

    Example:
        >>> from npexplore.golden import TupleSpaceSearch, generate_rules
        >>> len(TupleSpaceSearch(generate_rules(4, "access", seed=1)))
        4
    """

    source = "Srinivasan, Suri, Varghese, ACM SIGCOMM 1999"

    @property
    def tuple_words(self) -> int:
        """Words of a tuple's row."""
        return -(-_TUPLE_BITS // self.word_bits)

    @property
    def linked_words(self) -> int:
        """Words of a rule's record and its links."""
        return -(-(RECORD_BITS + _LINK_BITS) // self.word_bits)

    @property
    def tuples(self) -> int:
        """Number of different combinations of prefix lengths."""
        return len(self._shift)

    def storage(self) -> Mapping[str, int]:
        """Return the words of all tables."""
        words = {"tuples": self.tuple_words * self.tuples, "buckets": len(self._head)}
        return {**words, "rules": self.linked_words * len(self)}

    def _build(self, rules: Rules) -> None:
        shifts = [tuple((low ^ high).bit_length() for low, high in rule.ranges) for rule in rules]
        number = {shift: index for index, shift in enumerate(dict.fromkeys(shifts))}
        self._low, self._high = rules.low, rules.high
        self._shift = np.array(list(number), np.uint64)
        self._first = np.array([shifts.index(shift) for shift in number], np.int32)
        self._tuple = np.array([number[shift] for shift in shifts], np.int32)
        self._hash_bits = max(1, (2 * len(rules) - 1).bit_length())
        self._head = np.full(1 << self._hash_bits, _END, np.int32)
        self._next = np.full(len(rules), _END, np.int32)
        for rule in reversed(range(len(rules))):
            bucket = self._bucket(int(self._tuple[rule]), tuple(low for low, _ in rules[rule].ranges))
            self._next[rule], self._head[bucket] = self._head[bucket], rule

    def _bucket(self, number: int, values: tuple[int, ...]) -> int:
        mixed = number + 1
        for value, shift in zip(values, self._shift[number].tolist(), strict=True):
            mixed = (mixed ^ value >> shift) * _MULTIPLIER & 0xFFFFFFFFFFFFFFFF
        return mixed >> (64 - self._hash_bits)

    def _walk(self, header: "FiveTuple[int]", meter: Meter) -> int:
        best = len(self)
        for number in range(self.tuples):
            meter.do(**_TUPLE)
            meter.read("tuples", self.tuple_words, at=number * self.tuple_words)
            if self._first[number] >= best:
                break
            meter.do(**_HASH)
            bucket = self._bucket(number, header)
            meter.read("buckets", at=bucket)
            rule = int(self._head[bucket])
            while rule != _END:
                meter.do(**_CANDIDATE)
                if rule >= best:
                    break
                meter.do(**_RECORD)
                meter.read("rules", self.linked_words, at=rule * self.linked_words)
                if self._tuple[rule] == number and self._holds(meter, rule, header):
                    best = rule
                    break
                rule = int(self._next[rule])
            else:
                meter.do(branch=1)
        else:
            meter.do(branch=1)
        return best if best < len(self) else NO_MATCH

    def _holds(self, meter: Meter, rule: int, header: "FiveTuple[int]") -> bool:
        fields = enumerate(zip(header, self.rules[rule].ranges, strict=True))
        return all(self._compare(meter, k, value, low, high) for k, (value, (low, high)) in fields)

    def _search(self, headers: Columns, out: NDArray[np.int32], counts: NDArray[np.int64]) -> None:
        tables = (self._low, self._high, self._shift, self._first, self._tuple, self._head, self._next)
        hashing = (np.uint64(_MULTIPLIER), np.uint64(64 - self._hash_bits))
        kernels.tuple_space(*headers, *tables, *hashing, self._costs, out, counts)

    def _match_many(self, headers: Columns, out: NDArray[np.int32]) -> None:
        self._search(headers, out, np.zeros((0, len(kernels.COUNTS)), np.int64))

    def _work_many(self, headers: Columns) -> WorkColumns:
        count = len(headers.source)
        counts = np.zeros((count, len(kernels.COUNTS)), np.int64)
        self._search(headers, np.empty(count, np.int32), counts)
        tuples, buckets, candidates, records, alu, branch = np.ascontiguousarray(counts.T)
        for cost, times in ((_TUPLE, tuples), (_HASH, buckets), (_CANDIDATE, candidates), (_RECORD, records)):
            alu, branch = alu + cost["alu"] * times, branch + cost.get("branch", 0) * times
        words = (tuples, self.tuple_words), (buckets, 1), (records, self.linked_words)
        reads = {
            name: (accesses, size * accesses)
            for name, (accesses, size) in zip(("tuples", "buckets", "rules"), words, strict=True)
        }
        return WorkColumns.counted(count, reads, alu=alu, branch=branch, multiply=_HASH["multiply"] * buckets)
