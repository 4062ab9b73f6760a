"""Branches that a core predicts wrong when packets come in a capture's order: counters by branch and by history.

The longest of four global histories that has met a branch before decides, as in TAGE (A. Seznec and P. Michaud, A case
for (partially) tagged geometric history length branch prediction, 2006); tables are unlimited.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from npexplore._kernels import ebpf as k
from npexplore.programs.result import ProgramRun

HISTORIES = (64, 16, 4, 0)  # outcomes of branches before, the longest first
STRONG = 3  # a counter of two bits: 0, 1 not taken, 2, 3 taken
SEEN = 2  # times that a history must have met a branch before it is believed


def mispredicted(run: ProgramRun) -> NDArray[np.int64]:
    """Return how many branches of each packet are predicted wrong, packets in their order.

    Within a path branches come in the order of the code; of one visited several times the taken turns come first.
    """
    outcomes = _outcomes(run)
    counters: dict[tuple[int, int, int], list[int]] = {}  # (branch, length, history) -> counter, times met
    history, wrong = 0, np.zeros(len(run), np.int64)
    for packet, path in enumerate(run.rows[:, k.PATH].tolist()):
        for branch, taken in outcomes[path]:
            entries = [
                counters.setdefault((branch, length, history & ((1 << length) - 1)), [1, 0]) for length in HISTORIES
            ]
            believed = next((one for one in entries if one[1] >= SEEN), entries[-1])
            wrong[packet] += (believed[0] >= 2) != taken
            for one in entries:
                one[0] = min(one[0] + 1, STRONG) if taken else max(one[0] - 1, 0)
                one[1] += 1
            history = (history << 1 | taken) & ((1 << HISTORIES[0]) - 1)
    return wrong


def _outcomes(run: ProgramRun) -> list[Sequence[tuple[int, bool]]]:
    """Return the conditional branches of each path with their outcomes."""
    places = [(row, slot) for row, slot in enumerate(run.work.slots) if run.program.code[slot].is_jump]
    return [
        [
            (slot, bool(turn < taken[row]))
            for row, slot in places
            for turn in range(int(visits[row]))
        ]
        for visits, taken in zip(run.work.visits, run.work.taken, strict=True)
    ]  # fmt: skip
