"""Machines made ready once: the same design, values and packets give the same machine, demands and rows of the engine.

A point is asked several times (by solver, by seed), and between two questions nothing changes. Only build functions of
this package are known to depend on their parameters alone; a user's own machine is made anew for every question.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from functools import partial
from threading import Lock
from typing import TYPE_CHECKING

from npexplore.machine.machine import Machine
from npexplore.machine.parameters import Parameters
from npexplore.machine.workload import Workload
from npexplore.solve.bounds import Demanded, demanded

if TYPE_CHECKING:
    from npexplore.designs.base import Design
    from npexplore.solve.model import EngineModel

MOST = 16  # machines that are kept, the latest
LARGEST = 100_000  # packets of a workload whose machine is kept
PACKAGE = __name__.partition(".")[0]


@dataclass
class Prepared:
    """A machine with its packets; demands and the engine's model are made when somebody asks. Nobody changes it."""

    parameters: Parameters
    machine: Machine
    workload: Workload
    _demanded: Demanded | None = None
    _model: EngineModel | None = None
    _making: Lock = field(default_factory=Lock)

    def demanded(self) -> Demanded:
        """Return the demands; raises RefusedError or ModelError where there are none."""
        with self._making:
            if self._demanded is None:
                self._demanded = demanded(self.machine, self.workload)
            return self._demanded

    def model(self) -> EngineModel:
        """Return the arrays of the event engine."""
        from npexplore.solve.model import build

        with self._making:
            if self._model is None:
                self._model = build(self.machine, self.workload)
                self._demanded = self._demanded or self._model.demanded
            return self._model


_kept: OrderedDict[Hashable, Prepared] = OrderedDict()
_keeping = Lock()


def prepared(design: Design, given: Workload | None) -> Prepared:
    """Return a design's machine with the packets given (None: the design's own)."""
    key = _key(design, given)
    with _keeping:
        found = _kept.get(key)
        if found is not None:
            _kept.move_to_end(key)
            return found
    made = Prepared(design.parameters, design.machine(), design.workload(given))
    if key is not None and len(made.workload.packet_bytes) <= LARGEST:
        with _keeping:
            made = _kept.setdefault(key, made)
            while len(_kept) > MOST:
                _kept.popitem(last=False)
    return made


def _key(design: Design, given: Workload | None) -> Hashable:
    """Return what a machine and its packets depend on; None: more than is known here."""
    functions = design.build, design.own, design.dress
    if not all(function is None or _of_the_package(function) for function in functions):
        return None
    file, changed = design.parameters.file, tuple(design.parameters.changed().items())
    return functions, id(file), changed, given  # what is kept keeps the file, so that no other one has its number


def _of_the_package(function: Callable[..., object]) -> bool:
    return not isinstance(function, partial) and function.__module__.partition(".")[0] == PACKAGE
