"""What a check of an installation or of a stored file reports: one finding for each thing checked.

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

    subject: what was checked (a file, a folder, a library). state: GOOD, REPAIRED (it was broken, and works now) or
    BROKEN (it still is). note: one sentence that says what is wrong, what was done, or what the user can do.
    """

    subject: str
    state: str
    note: str


# A check takes the files and folders to look at (those that concern it), and whether it may repair.
Check = Callable[[Sequence[Path], bool], list[Finding]]
