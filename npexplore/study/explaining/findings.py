"""What was found out about one machine and workload beside the solvers' answers: assumptions, and what would help."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from npexplore.machine.parameters import Value
from npexplore.solve.solver_answers import SolverAnswers
from npexplore.study.explaining.sensitivity import Sensitivity
from npexplore.study.explaining.whatif import WhatIf

if TYPE_CHECKING:
    from npexplore.designs.running import ProgramChange


@dataclass(frozen=True)
class Assumption:
    """A number that no source states: assumed, fitted to calibration rows, or built into the workload.

    shelf: whether it is the default of a part of the shelf, which the machine's own file does not state.
    """

    kind: str
    name: str
    value: Value | None
    unit: str
    about: str
    source: str
    shelf: bool = False


@dataclass(frozen=True, repr=False)
class Findings(SolverAnswers):
    """Answers, and what changes of the machine would make of them (None: not asked).

    no_parameters: whether the machine has none to change. program_changes: of the packet program that it runs.
    """

    assumptions: tuple[Assumption, ...] = ()
    sensitivity: Sensitivity | None = None
    what_if: WhatIf | None = None
    no_parameters: bool = False
    program_changes: tuple[ProgramChange, ...] = ()
