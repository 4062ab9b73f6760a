"""Counts mispredicted branches when packets come in a capture's order: counters indexed by branch and branch history.

The longest of four global histories that has occurred at this branch before gives the prediction, as in TAGE (A. Seznec
and P. Michaud, A case for (partially) tagged geometric history length branch prediction, 2006); tables are unlimited.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from npexplore._kernels import ebpf as k
from npexplore.programs.result import ProgramRun

HISTORIES = (64, 16, 4, 0)  # numbers of earlier outcomes, longest first
STRONG = 3  # a counter of two bits: 0, 1 not taken, 2, 3 taken
SEEN = 2  # times that a history must have occurred at a branch before it is used


def mispredicted(run: ProgramRun) -> NDArray[np.int64]:
    """Return the number of mispredicted branches of each packet, int64 (packets,).

    The branches of a path are in the order of the code; a branch that runs several times is first taken, then not.
    """
    outcomes = _outcomes(run)
    counters: dict[tuple[int, int, int], list[int]] = {}  # (branch, length, history) -> counter, occurrences
    history, wrong = 0, np.zeros(len(run), np.int64)
    for packet, path in enumerate(run.rows[:, k.PATH].tolist()):
        for branch, taken in outcomes[path]:
            entries = [
                counters.setdefault((branch, length, history & ((1 << length) - 1)), [1, 0]) for length in HISTORIES
            ]
            predicting = next((entry for entry in entries if entry[1] >= SEEN), entries[-1])
            wrong[packet] += (predicting[0] >= 2) != taken
            for entry in entries:
                entry[0] = min(entry[0] + 1, STRONG) if taken else max(entry[0] - 1, 0)
                entry[1] += 1
            history = (history << 1 | taken) & ((1 << HISTORIES[0]) - 1)
    return wrong


def _outcomes(run: ProgramRun) -> list[Sequence[tuple[int, bool]]]:
    """Return the conditional branches of each path as (slot, whether taken), in order."""
    places = [(row, slot) for row, slot in enumerate(run.work.slots) if run.program.code[slot].is_jump]
    return [
        [
            (slot, bool(visit < taken[row]))
            for row, slot in places
            for visit in range(int(visits[row]))
        ]
        for visits, taken in zip(run.work.visits, run.work.taken, strict=True)
    ]  # fmt: skip
