"""Linear search: read the rules in order until one matches."""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from npexplore._kernels import golden_classify as kernels
from npexplore.golden.classify.base import NO_MATCH, Classifier
from npexplore.golden.classify.rules import Rules
from npexplore.golden.ipv4.five_tuple import Columns, FiveTuple
from npexplore.golden.work import Meter, WorkColumns


class LinearSearch(Classifier):
    """The reference classifier: compares a header with the rules in order until one matches.

    One access per rule reads its whole record of the table `rules`.

    A rule costs one alu instruction (the record's address), one branch (test for the end of the list), and its
    comparisons up to the first field that does not match.

    Example:
        >>> from npexplore.golden import LinearSearch, generate_rules
        >>> LinearSearch(generate_rules(4, "access", seed=1)).storage()
        {'rules': 28}
    """

    source = (
        "Lin et al., DiffServ edge routers over network processors, IEEE Network 17(4), 2003 (its second classifier)"
    )

    def storage(self) -> Mapping[str, int]:
        """Return the words of the records."""
        return {"rules": self.record_words * len(self)}

    def _build(self, rules: Rules) -> None:
        self._low, self._high = rules.low, rules.high

    def _walk(self, header: "FiveTuple[int]", meter: Meter) -> int:
        for index, rule in enumerate(self.rules):
            meter.do(alu=1, branch=1)
            meter.read("rules", self.record_words, at=index * self.record_words)
            fields = enumerate(zip(header, rule.ranges, strict=True))
            if all(self._compare(meter, k, value, low, high) for k, (value, (low, high)) in fields):
                return index
        meter.do(branch=1)
        return NO_MATCH

    def _match_many(self, headers: Columns, out: NDArray[np.int32]) -> None:
        kernels.linear(*headers, self._low, self._high, out)

    def _work_many(self, headers: Columns) -> WorkColumns:
        count = len(headers.source)
        records, alu, branch = (np.zeros(count, np.int64) for _ in range(3))
        kernels.linear_work(*headers, self._low, self._high, self._costs, records, alu, branch)
        return WorkColumns.counted(count, {"rules": (records, self.record_words * records)}, alu=alu, branch=branch)
