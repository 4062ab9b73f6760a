"""Findings about one machine and workload beyond the solvers' answers: assumptions, and changes that would help."""

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

    shelf: whether the number is the default of a shelf part, and the machine's own file does not state it.
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
    """The solvers' answers, and the effects of changes of the machine (None: not computed).

    no_parameters: whether the machine has no parameters to change. program_changes: changes of its packet program.
    """

    assumptions: tuple[Assumption, ...] = ()
    sensitivity: Sensitivity | None = None
    what_if: WhatIf | None = None
    no_parameters: bool = False
    program_changes: tuple[ProgramChange, ...] = ()
