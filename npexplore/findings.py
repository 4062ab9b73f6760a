"""Findings: the results of checks of an installation or of stored files, one for each checked thing.

`npexplore doctor` (npexplore/cli/doctor.py) lists the checks, runs them and prints their findings.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

GOOD, REPAIRED, BROKEN = "good", "repaired", "broken"


@dataclass(frozen=True)
class Finding:
    """The state of one checked thing.

    subject: the checked file, folder or library. state: GOOD, REPAIRED (it was broken and works now) or BROKEN (it
    still is). note: one sentence that says what is wrong, what was done, or what the user can do.
    """

    subject: str
    state: str
    note: str


# A check gets the files and folders to look at (it skips those of other checks), and whether it may repair.
Check = Callable[[Sequence[Path], bool], list[Finding]]
