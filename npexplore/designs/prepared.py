"""Machines made ready once: the same design, values and packets give the same machine, demands and rows of the engine.

A point is asked several times (by solver, by seed), and between two questions nothing changes. Only build functions of
this package are known to depend on their parameters alone; a user's own machine is made anew for every question.
What is kept keeps what was read for it, and notes it with every use (npexplore/reads.py).
"""

from __future__ import annotations

import gc
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import cache, partial
from threading import Lock, RLock
from typing import TYPE_CHECKING, NamedTuple

from npexplore.designs.description import MachineDescription
from npexplore.designs.varied import Arriving, ByPackets
from npexplore.errors import ModelError, RefusedError
from npexplore.machine.machine import Machine, Recorded
from npexplore.machine.parameters import Parameters, Value
from npexplore.machine.under_load import UnderLoad, under_load
from npexplore.machine.workload import Workload
from npexplore.reads import Reads, aside, note_all, reading

if TYPE_CHECKING:
    from npexplore.engine.model import EngineModel, MachineCompiler
    from npexplore.solve.prediction import Prediction

CACHED_MACHINES = 16  # machines that are kept, the latest
DEMANDS = 128  # demands that are kept, the latest: small beside a machine's rows
NAMES = 128  # sets of names of parameters that are kept, the latest
MAX_CACHED_PACKETS = 20_000  # packets of a workload whose demands are kept
LARGEST = 100_000  # packets of a workload whose machine is kept
PACKAGE = __name__.partition(".")[0]


@contextmanager
def uncollected() -> Iterator[None]:
    """Let Python's collector of cycles rest while machines are made.

    Hundreds of thousands of small objects are made and kept; to look through them again and again takes as long as
    to make them. Of several threads, whoever began first ends the rest for all.
    """
    on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if on:
            gc.enable()


class DemandKey(NamedTuple):
    """What demands hang on, and the file of the parameters, kept so that no other one has its number."""

    key: Hashable
    file: object


@dataclass
class Programs:
    """A machine's programs for some packets, at whatever rate these arrive: demands, and rows of the engine."""

    parameters: Parameters  # nobody else reads them: `hangs_on` is what the machine and its programs read
    machine: Machine
    workload: Workload
    reads: Reads = field(default_factory=dict)  # made for the machine
    hangs_on: dict[str, Value] | None = None  # None until the rows are there: more may be read
    demand_key: DemandKey | None = None  # what its demands hang on (None: more than is known)
    _under_load: UnderLoad | None = None
    _under_load_reads: Reads = field(default_factory=dict)
    _compiler: MachineCompiler | None = None
    _compiler_reads: Reads = field(default_factory=dict)
    _pools: list[Recorded] | None = None
    _pools_reads: Reads = field(default_factory=dict)
    _making: RLock = field(default_factory=RLock)

    def under_load(self, workload: Workload) -> UnderLoad:
        """Return the demands; raises RefusedError or ModelError where there are none."""
        with self._making:
            self._remembered()
            if self._under_load is None:
                with uncollected():
                    pools = self.pools()
                    with reading() as self._under_load_reads:
                        self._under_load = under_load(self.machine, self.workload, pools)
                self._under_load_reads |= self._pools_reads | self._compiler_reads  # of the same programs
                keep_demands(self.demand_key, self._under_load, self.reads | self._under_load_reads)
            note_all(self._under_load_reads)
            return replace(self._under_load, workload=workload)

    def model(self, workload: Workload) -> EngineModel:
        """Return the arrays of the event engine."""
        from npexplore.engine.model import MachineCompiler

        with self._making:
            if self._compiler is None:
                with uncollected():
                    pools = self.pools()
                    with reading() as self._compiler_reads:
                        self._compiler = MachineCompiler(self.machine, self.workload, pools)
                self._compiler_reads |= self._pools_reads
                changed, known = self.parameters.changed(), self.parameters.file.parameter
                self.hangs_on = {k: changed.get(k, known[k].value) for k in sorted(self.parameters.read)}
            note_all(self._compiler_reads)

            @cache
            def demands() -> UnderLoad | None:
                with suppress(RefusedError, ModelError):
                    return self.under_load(workload)
                return None

            with uncollected():
                return self._compiler.model(workload, demands)

    def pools(self) -> list[Recorded]:
        """Return the recorded programs, of which both demands and rows are made."""
        if self._pools is None:
            self.machine.ingress.arrivals = self.workload.arrivals
            with reading() as self._pools_reads:
                self._pools = self.machine.record_pools(self.workload.columns)
        return self._pools

    def _remembered(self) -> None:
        """Take up the demands if another machine with the same values and packets left them."""
        if self._under_load is None and (cached := kept_demands(self.demand_key)):
            self._under_load, self._under_load_reads = cached

    def serves(self, design: MachineDescription, workload: Workload) -> bool:
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
    reads: Reads = field(default_factory=dict)  # made for the packets
    _under_load: UnderLoad | None = None
    _model: EngineModel | None = None
    _making: Lock = field(default_factory=Lock)
    _answers: dict[Hashable, tuple[Prediction, Reads]] = field(
        default_factory=dict
    )  # of runs that every seed makes alike
    _answering: Lock = field(default_factory=Lock)

    @property
    def machine(self) -> Machine:
        """The machine; designs that differ only in how fast packets arrive have one."""
        return self.programs.machine

    def under_load(self) -> UnderLoad:
        """Return the demands; raises RefusedError or ModelError where there are none."""
        with self._making:
            if self._under_load is None:
                self._under_load = self.programs.under_load(self.workload)
            note_all(self.programs._under_load_reads)
            return self._under_load

    def model(self) -> EngineModel:
        """Return the arrays of the event engine."""
        with self._making:
            if self._model is None:
                self._model = self.programs.model(self.workload)
            note_all(self.programs._compiler_reads)
            return self._model

    def alike(self, question: Hashable, run: Callable[[], Prediction]) -> Prediction:
        """Return what a run answers; where no seed makes a difference, what it answered when the same was asked."""
        if self.model().random:
            return run()
        with self._answering:
            if question not in self._answers:
                with reading() as reads:
                    prediction = run()
                self._answers[question] = prediction, reads
            prediction, reads = self._answers[question]
            note_all(reads)
            return prediction


_machines: OrderedDict[Hashable, Prepared] = OrderedDict()
_demands: OrderedDict[Hashable, tuple[UnderLoad, Reads, object]] = OrderedDict()
_names: OrderedDict[Hashable, tuple[frozenset[str], Reads, object]] = OrderedDict()
_keeping = Lock()


def demands_key(design: MachineDescription, load: Workload | None) -> DemandKey | None:
    """Return what a design's demands depend on, apart from the rate of its packets; None if that is not known."""
    key = _key(design, load)
    if key is None:
        return None
    if load is not None and design.dress is None and design.own is None:
        key = (*key[:-1], load.arrivals, load.bursts, load.ordered, load.packets_key)
    return DemandKey(key, design.parameters.file)


def kept_demands(key: DemandKey | None) -> tuple[UnderLoad, Reads] | None:
    """Return kept demands with what was read for them and for their machine (None: there are none)."""
    with _keeping:
        if key is None or key.key not in _demands:
            return None
        _demands.move_to_end(key.key)
        return _demands[key.key][:2]


def keep_demands(key: DemandKey | None, demands: UnderLoad | None, reads: Reads) -> None:
    """Keep demands for when the same are asked for again: by another solver, or after many other machines."""
    if key is None or demands is None or demands.workload.arrivals == "timestamps":
        return
    if len(demands.workload.packet_bytes) > MAX_CACHED_PACKETS:
        return
    with _keeping:
        _demands[key.key] = demands, reads, key.file
        while len(_demands) > DEMANDS:
            _demands.popitem(last=False)


def names_read(design: MachineDescription, load: Workload | None, read: Callable[[], set[str]]) -> set[str]:
    """Return the names of the parameters that a design reads for its packets, told by `read` once."""
    key = _key(design, load)
    with _keeping:
        cached = None if key is None else _names.get(key)
    if cached is None:
        with reading() as reads:
            cached = frozenset(read()), reads, design.parameters.file
        with _keeping:
            if key is not None and (load is None or len(load.packet_bytes) <= LARGEST):
                _names[key] = cached
            while len(_names) > NAMES:
                _names.popitem(last=False)
    note_all(cached[1])
    return set(cached[0])


def prepared(design: MachineDescription, load: Workload | None) -> Prepared:
    """Return a design's machine with the packets given (None: the design's own)."""
    key = _key(design, load)
    with _keeping:
        cached = _machines.get(key)
        if cached is not None:
            _machines.move_to_end(key)
    if cached is not None:
        note_all(cached.programs.reads | cached.reads)
        return cached
    unfitted = design
    with reading() as reads:
        workload, design = design.workload(load), design.fitted(load)
    entry = _prepare(design, workload, demands_key(unfitted, load), key is not None, reads)
    note_all(entry.programs.reads)
    if key is not None and len(entry.workload.packet_bytes) <= LARGEST:
        with _keeping:
            entry = _machines.setdefault(key, entry)
            while len(_machines) > CACHED_MACHINES:
                _machines.popitem(last=False)
    return entry


def _prepare(
    design: MachineDescription, workload: Workload, demand_key: DemandKey | None, shared: bool, reads: Reads
) -> Prepared:
    """Return a design with its packets; the programs are those of a kept one that differs in nothing they read.

    demand_key: what its demands hang on. reads: made for the packets.
    """
    if shared and len(workload.packet_bytes) <= LARGEST:
        with _keeping:
            candidates = [one.programs for one in _machines.values() if one.build == design.build]
        for programs in reversed(candidates):
            if programs.serves(design, workload):
                with aside():  # values that no program reads may still be such as cannot be
                    replace(design, parameters=design.parameters.with_()).machine()
                return Prepared(programs, workload, design.build, reads)
    fresh = replace(design, parameters=design.parameters.with_())
    with reading() as of_machine:
        machine = fresh.machine()
    programs = Programs(fresh.parameters, machine, workload, of_machine, demand_key=demand_key)
    return Prepared(programs, workload, design.build, reads)


def _key(design: MachineDescription, load: Workload | None) -> tuple[Hashable, ...] | None:
    """Return what a machine and its packets depend on; None: more than is known here."""
    functions = design.build, design.own, design.dress
    if not all(function is None or _of_the_package(function) for function in functions):
        return None
    file, changed = design.parameters.file, tuple(design.parameters.changed().items())
    return functions, id(file), changed, load  # what is kept keeps the file, so that no other one has its number


def _of_the_package(function: Callable[..., object]) -> bool:
    if isinstance(function, Arriving | ByPackets):
        return _of_the_package(function.function)
    return not isinstance(function, partial) and function.__module__.partition(".")[0] == PACKAGE
