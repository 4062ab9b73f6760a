"""Machines made ready once: the same design, values and packets give the same machine, demands and rows of the engine.

A point is asked several times (by solver, by seed), and between two questions nothing changes. Only build functions of
this package are known to depend on their parameters alone; a user's own machine is made anew for every question.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field, replace
from functools import partial
from threading import Lock
from typing import TYPE_CHECKING

from npexplore.machine.demanded import Demanded, demanded
from npexplore.machine.machine import Machine
from npexplore.machine.parameters import Parameters, Value
from npexplore.machine.workload import Workload

if TYPE_CHECKING:
    from npexplore.designs.base import Design
    from npexplore.engine.model import EngineModel, MachineCompiler

MOST = 16  # machines that are kept, the latest
LARGEST = 100_000  # packets of a workload whose machine is kept
PACKAGE = __name__.partition(".")[0]


@dataclass
class Programs:
    """A machine's programs for some packets, at whatever rate these arrive: demands, and rows of the engine."""

    parameters: Parameters  # nobody else reads them: `hangs_on` is what the machine and its programs read
    machine: Machine
    workload: Workload
    hangs_on: dict[str, Value] | None = None  # None until the rows are there: more may be read
    _demanded: Demanded | None = None
    _compiler: MachineCompiler | None = None
    _making: Lock = field(default_factory=Lock)

    def demanded(self, workload: Workload) -> Demanded:
        """Return the demands; raises RefusedError or ModelError where there are none."""
        with self._making:
            if self._demanded is None:
                self._demanded = demanded(self.machine, self.workload)
            return replace(self._demanded, workload=workload)

    def model(self, workload: Workload) -> EngineModel:
        """Return the arrays of the event engine."""
        from npexplore.engine.model import MachineCompiler

        with self._making:
            if self._compiler is None:
                self._compiler = MachineCompiler(self.machine, self.workload)
                self._demanded = self._demanded or self._compiler.demanded()
                self.hangs_on = {name: self.parameters[name] for name in sorted(self.parameters.read)}
            found = None if self._demanded is None else replace(self._demanded, workload=workload)
            return self._compiler.model(workload, found)

    def serves(self, design: Design, workload: Workload) -> bool:
        """Return whether a design would get the same programs for its packets."""
        of, values = self.workload, design.parameters
        changed, known = values.changed(), values.file.parameter  # neither counts as read
        return (
            self.hangs_on is not None
            and self.parameters.file is values.file
            and (of.arrivals, of.packets_key) == (workload.arrivals, workload.packets_key)
            and all(value == changed.get(name, known[name].value) for name, value in self.hangs_on.items())
        )


@dataclass
class Prepared:
    """A machine with its packets; demands and the engine's model are made when somebody asks. Nobody changes it."""

    programs: Programs
    workload: Workload
    build: Callable[..., object]
    _demanded: Demanded | None = None
    _model: EngineModel | None = None
    _making: Lock = field(default_factory=Lock)

    @property
    def machine(self) -> Machine:
        """The machine; designs that differ only in how fast packets arrive have one."""
        return self.programs.machine

    def demanded(self) -> Demanded:
        """Return the demands; raises RefusedError or ModelError where there are none."""
        with self._making:
            if self._demanded is None:
                self._demanded = self.programs.demanded(self.workload)
            return self._demanded

    def model(self) -> EngineModel:
        """Return the arrays of the event engine."""
        with self._making:
            if self._model is None:
                self._model = self.programs.model(self.workload)
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
    made = _made(design, design.workload(given), shared=key is not None)
    if key is not None and len(made.workload.packet_bytes) <= LARGEST:
        with _keeping:
            made = _kept.setdefault(key, made)
            while len(_kept) > MOST:
                _kept.popitem(last=False)
    return made


def _made(design: Design, workload: Workload, shared: bool) -> Prepared:
    """Return a design with its packets; the programs are those of a kept one that differs in nothing they read."""
    if shared and len(workload.packet_bytes) <= LARGEST:
        with _keeping:
            kept = [one.programs for one in _kept.values() if one.build is design.build]
        for programs in reversed(kept):
            if programs.serves(design, workload):
                return Prepared(programs, workload, design.build)
    fresh = replace(design, parameters=design.parameters.with_())
    return Prepared(Programs(fresh.parameters, fresh.machine(), workload), workload, design.build)


def _key(design: Design, given: Workload | None) -> Hashable:
    """Return what a machine and its packets depend on; None: more than is known here."""
    functions = design.build, design.own, design.dress
    if not all(function is None or _of_the_package(function) for function in functions):
        return None
    file, changed = design.parameters.file, tuple(design.parameters.changed().items())
    return functions, id(file), changed, given  # what is kept keeps the file, so that no other one has its number


def _of_the_package(function: Callable[..., object]) -> bool:
    return not isinstance(function, partial) and function.__module__.partition(".")[0] == PACKAGE
