"""Multidimensional range matching: a binary search per field, then the first bit set in all five bit vectors.

Lakshman, Stiliadis, "High-speed policy-based packet forwarding using efficient multi-dimensional range matching", ACM
SIGCOMM 1998, section 3; as used by Lin et al., "DiffServ edge routers over network processors", IEEE Network 17(4),
2003: an interval table and a bit-vector table per field (its Fig. 4), vectors of 512 bits. Storage grows as n^2: up to
2 n - 1 intervals per field, with n bits each.
"""

from collections.abc import Iterable, Mapping
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from npexplore._kernels import golden_classify as kernels
from npexplore.errors import InputError, TableFullError, one_of
from npexplore.golden.classify.base import NO_MATCH, Classifier
from npexplore.golden.classify.intervals import OUTSIDE, IntervalTable, Pieces, pieces
from npexplore.golden.classify.rules import MAX_RULES, Rule, Rules
from npexplore.golden.ipv4.five_tuple import BITS, FIELDS, Columns, FiveTuple
from npexplore.golden.work import Meter, WorkColumns

READINGS = ("whole", "bursts", "first_set")
_PROBE = {"alu": 5, "branch": 1}  # loop test (with the branch), middle (add, shift), its address, moved bound


class RangeMatcher(Classifier):
    """A classifier by range matching: a binary search in each field, then the AND of five bit vectors.

    Its tables are `intervals` and `vectors`, one of each per field.

    Args:
        rules: the rules; the first that matches wins.
        width: bits of a vector, which is also the maximum number of rules.
        ends: interval rows hold begin and end (as in Fig. 4), else only the begin.
        reading: `whole` reads the whole vector of each field and computes the AND of all words; `first_set` searches
            all fields first, then reads one word of each vector at a time until their AND is not zero; `bursts` does
            the same burst by burst.
        burst_words: words of the longest access (None: a vector is one access).
        word_bits: bits of a memory word.

    Work: a probe is one access and 5 alu, 1 branch plus its comparisons; a vector's address 1 alu; a word of a vector
    copied or ANDed 1 alu; a word tested 1 alu, 1 branch; the rule's number 1 find_first_set, 1 alu.

    Example:
        >>> from npexplore.golden import RangeMatcher, generate_rules
        >>> len(RangeMatcher(generate_rules(4, "access", seed=1)))
        4
    """

    source = "Lakshman, Stiliadis 1998; Lin et al. 2003, Fig. 4"

    def __init__(
        self,
        rules: "Rules | Iterable[Rule]",
        *,
        width: int = 512,
        ends: bool = True,
        reading: str = "whole",
        burst_words: int | None = None,
        word_bits: int = 32,
    ) -> None:
        if not 1 <= width <= MAX_RULES:
            raise InputError(f"width of bit vectors must be 1 to {MAX_RULES}, got {width}")
        if burst_words is not None and burst_words < 1:
            raise InputError(f"burst_words must be at least 1, got {burst_words}")
        self.width, self.ends, self.burst_words = width, ends, burst_words
        self.reading = one_of("reading", reading, READINGS)
        super().__init__(rules, word_bits=word_bits)

    @property
    def vector_words(self) -> int:
        """Words of a bit vector."""
        return -(-self.width // self.word_bits)

    @cached_property
    def interval_words(self) -> tuple[int, ...]:
        """Words of an interval's row, by field: two bounds share a word if they fit."""
        return tuple(-(-bits * (1 + self.ends) // self.word_bits) for bits in BITS)

    @property
    def intervals(self) -> Mapping[str, int]:
        """Intervals of each field."""
        return dict(zip(FIELDS, map(len, self.tables), strict=True))

    def storage(self) -> Mapping[str, int]:
        """Return the words of all interval tables and all bit vectors."""
        rows = sum(table.stored * words for table, words in zip(self.tables, self.interval_words, strict=True))
        return {"intervals": rows, "vectors": self.vector_words * sum(map(len, self.tables))}

    @property
    def step_words(self) -> int:
        """Words of each vector that are read before each test of their AND."""
        return {"whole": self.vector_words, "bursts": self.burst_words or self.vector_words, "first_set": 1}[
            self.reading
        ]

    def _build(self, rules: Rules) -> None:
        if len(rules) > self.width:
            raise TableFullError(
                f"{rules.origin}: rule[{self.width}]: bit vectors are {self.width} wide, got {len(rules)} rules"
            )
        fields = zip(*(rule.ranges for rule in rules), strict=True)
        self.tables = tuple(IntervalTable.of(ranges, self.ends) for ranges in fields)
        self._pieces: tuple[Pieces, ...] = tuple(
            pieces(table, bits, len(rules)) for table, bits in zip(self.tables, BITS, strict=True)
        )
        self._guides = tuple(_guide(piece.start, bits) for piece, bits in zip(self._pieces, BITS, strict=True))

    # ---- the reference

    def _walk(self, header: "FiveTuple[int]", meter: Meter) -> int:
        whole = self.reading == "whole"
        common, vectors, at = (1 << self.width) - 1, [], [0, 0]  # addresses of the field's intervals and vectors
        places = []
        for k, (value, table) in enumerate(zip(header, self.tables, strict=True)):
            lookup = table.search(value)
            for row in lookup.probed:
                meter.do(**_PROBE)
                meter.read("intervals", self.interval_words[k], at=at[0] + row * self.interval_words[k])
            meter.do(alu=self.compare_alu[k] * lookup.comparisons, branch=lookup.comparisons + 1)
            if lookup.row == OUTSIDE:
                return NO_MATCH
            meter.do(alu=1)
            vectors.append(table.rows[lookup.row].vector)
            places.append(at[1] + lookup.row * self.vector_words)
            at = [at[0] + table.stored * self.interval_words[k], at[1] + len(table) * self.vector_words]
            if whole:
                self._read_vector(meter, places[-1])
                common &= vectors[-1]
        for word in range(self.vector_words):
            if not whole and word % self.step_words == 0:
                words_read = min(self.step_words, self.vector_words - word)
                for vector, place in zip(vectors, places, strict=True):
                    meter.read("vectors", words_read, at=place + word)
                    meter.do(alu=words_read)
                    common &= vector
            meter.do(alu=1, branch=1)
            bits = common >> word * self.word_bits & (1 << self.word_bits) - 1
            if bits:
                meter.do(find_first_set=1, alu=1)
                return word * self.word_bits + (bits & -bits).bit_length() - 1
        return NO_MATCH

    def _read_vector(self, meter: Meter, at: int) -> None:
        remaining = self.vector_words
        while remaining:
            burst = min(remaining, self.burst_words or remaining)
            meter.read("vectors", burst, at=at + self.vector_words - remaining)
            meter.do(alu=burst)
            remaining -= burst

    # ---- the batch forms

    def _match_many(self, headers: Columns, out: NDArray[np.int32]) -> None:
        starts, vectors = tuple(piece.start for piece in self._pieces), tuple(piece.vectors for piece in self._pieces)
        kernels.range_match(*headers, self._guides, starts, vectors, out)

    def _work_many(self, headers: Columns) -> WorkColumns:
        """A search costs the same for all values of a piece, so its cost is looked up."""
        count, words = len(headers.source), self.vector_words
        alu, branch, probes, probe_words, read = (np.zeros(count, np.int64) for _ in range(5))
        active = np.ones(count, np.bool_)  # all fields so far matched an interval
        for k, (column, field_pieces) in enumerate(zip(headers, self._pieces, strict=True)):
            piece = np.searchsorted(field_pieces.start, column, side="right") - 1
            steps, comparisons = field_pieces.probes[piece] * active, field_pieces.comparisons[piece] * active
            probes += steps
            probe_words += self.interval_words[k] * steps
            alu += _PROBE["alu"] * steps + self.compare_alu[k] * comparisons
            branch += _PROBE["branch"] * steps + comparisons + active
            active = active & field_pieces.matched[piece]
            alu += active
            read += active
        index = self.match_many(headers).astype(np.int64)
        matched = index != NO_MATCH
        tested = np.where(matched, index // self.word_bits + 1, words) * active
        if self.reading == "whole":
            accesses, moved = read * -(-words // (self.burst_words or words)), read * words
        else:
            rounds = -(-tested // self.step_words)
            accesses, moved = len(FIELDS) * rounds, len(FIELDS) * np.minimum(rounds * self.step_words, words) * active
        alu += moved + tested + matched
        return WorkColumns.counted(
            count,
            {"intervals": (probes, probe_words), "vectors": (accesses, moved)},
            alu=alu,
            branch=branch + tested,
            find_first_set=matched.astype(np.int64),
        )


def _guide(start: NDArray[np.uint32], bits: int) -> NDArray[np.uint16]:
    """Return the piece at each value of a field's first 16 bits (all bits, if it has fewer), and the last piece.

    For a 32-bit field: the piece at the first of the 65,536 values with these bits; the next row bounds their pieces.
    """
    steps = 1 << min(bits, 16)
    firsts = np.arange(steps, dtype=np.int64) << max(bits - 16, 0)
    return np.append(np.searchsorted(start, firsts, side="right") - 1, len(start) - 1).astype(np.uint16)
