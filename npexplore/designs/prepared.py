"""Caches of machines, demands and engine rows: the same design, values and packets are prepared only once.

Several solvers and seeds use the same design point. Only build functions of this package are known to depend on their
parameters alone, so a user's machine is built again for every request. Every cache entry stores the parameters that
were read to compute it, and reports them at every use (npexplore/reads.py).
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

CACHED_MACHINES = 16  # cached machines, the most recently used
DEMANDS = 128  # cached demands, the most recently used; they are small compared with a machine's rows
NAMES = 128  # cached sets of parameter names, the most recently used
MAX_CACHED_PACKETS = 20_000  # largest workload whose demands are cached
LARGEST = 100_000  # packets of the largest workload whose machine is cached
PACKAGE = __name__.partition(".")[0]


@contextmanager
def uncollected() -> Iterator[None]:
    """Disable Python's cyclic garbage collector inside the block, while machines are built.

    A build allocates hundreds of thousands of small objects that stay alive; collections would take as long as the
    build. With several threads, the thread that disabled the collector enables it again for all.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


class DemandKey(NamedTuple):
    """What demands depend on. `file` keeps the parameters' file alive, so that its `id` in the key stays unique."""

    key: Hashable
    file: object


@dataclass
class Programs:
    """A machine's recorded programs for some packets, at any arrival rate: its demands and engine rows."""

    parameters: Parameters  # read by this machine and its programs only, so that `hangs_on` lists exactly their reads
    machine: Machine
    workload: Workload
    reads: Reads = field(default_factory=dict)  # the reads that built the machine
    hangs_on: dict[str, Value] | None = None  # values read; None until the rows exist, because more may be read
    demand_key: DemandKey | None = None  # what its demands depend on (None: unknown)
    _under_load: UnderLoad | None = None
    _under_load_reads: Reads = field(default_factory=dict)
    _compiler: MachineCompiler | None = None
    _compiler_reads: Reads = field(default_factory=dict)
    _pools: list[Recorded] | None = None
    _pools_reads: Reads = field(default_factory=dict)
    _making: RLock = field(default_factory=RLock)

    def under_load(self, workload: Workload) -> UnderLoad:
        """Return the demands; raises RefusedError or ModelError if they cannot be computed."""
        with self._making:
            self._remembered()
            if self._under_load is None:
                with uncollected():
                    pools = self.pools()
                    with reading() as self._under_load_reads:
                        self._under_load = under_load(self.machine, self.workload, pools)
                self._under_load_reads |= self._pools_reads | self._compiler_reads  # the programs are the same
                keep_demands(self.demand_key, self._under_load, self.reads | self._under_load_reads)
            note_all(self._under_load_reads)
            return replace(self._under_load, workload=workload)

    def model(self, workload: Workload) -> EngineModel:
        """Return the event engine's arrays."""
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
        """Return the recorded programs, from which both demands and rows are derived."""
        if self._pools is None:
            self.machine.ingress.arrivals = self.workload.arrivals
            with reading() as self._pools_reads:
                self._pools = self.machine.record_pools(self.workload.columns)
        return self._pools

    def _remembered(self) -> None:
        """Reuse cached demands of another machine with the same values and packets."""
        if self._under_load is None and (cached := kept_demands(self.demand_key)):
            self._under_load, self._under_load_reads = cached

    def serves(self, design: MachineDescription, workload: Workload) -> bool:
        """Return whether these programs are also those of another design and its packets."""
        recorded_load, values = self.workload, design.parameters
        changed_values, parameter_records = values.changed(), values.file.parameter  # neither marks parameters as read
        return (
            self.hangs_on is not None
            and self.parameters.file is values.file
            and (recorded_load.arrivals, recorded_load.packets_key) == (workload.arrivals, workload.packets_key)
            and all(
                value == changed_values.get(name, parameter_records[name].value)
                for name, value in self.hangs_on.items()
            )
        )


@dataclass
class Prepared:
    """A machine with its packets, shared and never modified; demands and the engine's model are made at first use."""

    programs: Programs
    workload: Workload
    build: Callable[..., object]
    reads: Reads = field(default_factory=dict)  # the reads that made the packets
    _under_load: UnderLoad | None = None
    _model: EngineModel | None = None
    _making: Lock = field(default_factory=Lock)
    _answers: dict[Hashable, tuple[Prediction, Reads]] = field(
        default_factory=dict
    )  # predictions of runs that do not depend on the seed
    _answering: Lock = field(default_factory=Lock)

    @property
    def machine(self) -> Machine:
        """The machine; designs that differ only in the arrival rate share it."""
        return self.programs.machine

    def under_load(self) -> UnderLoad:
        """Return the demands; raises RefusedError or ModelError if they cannot be computed."""
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
        """Return the prediction of `run`. If nothing in it is random, a repeated question is answered from the cache.

        question: identifies the run, apart from its seed.
        """
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
    """Return what a design's demands depend on, except the packet rate; None if this is unknown."""
    key = _key(design, load)
    if key is None:
        return None
    if load is not None and design.dress is None and design.own is None:
        key = (*key[:-1], load.arrivals, load.bursts, load.ordered, load.packets_key)
    return DemandKey(key, design.parameters.file)


def kept_demands(key: DemandKey | None) -> tuple[UnderLoad, Reads] | None:
    """Return cached demands with the reads that made them and their machine; None if none are cached."""
    with _keeping:
        if key is None or key.key not in _demands:
            return None
        _demands.move_to_end(key.key)
        return _demands[key.key][:2]


def keep_demands(key: DemandKey | None, demands: UnderLoad | None, reads: Reads) -> None:
    """Cache demands for another solver, or for the same design after many others."""
    if key is None or demands is None or demands.workload.arrivals == "timestamps":
        return
    if len(demands.workload.packet_bytes) > MAX_CACHED_PACKETS:
        return
    with _keeping:
        _demands[key.key] = demands, reads, key.file
        while len(_demands) > DEMANDS:
            _demands.popitem(last=False)


def names_read(design: MachineDescription, load: Workload | None, read: Callable[[], set[str]]) -> set[str]:
    """Return the names of the parameters that a design reads for its packets; calls `read` unless they are cached."""
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
    """Return a design's machine with its packets, from the cache if possible; load None: the design's own packets."""
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
    """Return a design with its packets; reuses cached programs if they read only values that are the same.

    demand_key: what its demands depend on. shared: whether reuse is allowed. reads: the reads that made the packets.
    """
    if shared and len(workload.packet_bytes) <= LARGEST:
        with _keeping:
            candidates = [entry.programs for entry in _machines.values() if entry.build == design.build]
        for programs in reversed(candidates):
            if programs.serves(design, workload):
                with aside():  # values that no program reads may still be invalid: building the machine checks them
                    replace(design, parameters=design.parameters.with_()).machine()
                return Prepared(programs, workload, design.build, reads)
    unread_design = replace(design, parameters=design.parameters.with_())
    with reading() as machine_reads:
        machine = unread_design.machine()
    programs = Programs(unread_design.parameters, machine, workload, machine_reads, demand_key=demand_key)
    return Prepared(programs, workload, design.build, reads)


def _key(design: MachineDescription, load: Workload | None) -> tuple[Hashable, ...] | None:
    """Return what a machine and its packets depend on; None if this is unknown."""
    functions = design.build, design.own, design.dress
    if not all(function is None or _of_the_package(function) for function in functions):
        return None
    file, changed = design.parameters.file, tuple(design.parameters.changed().items())
    return functions, id(file), changed, load  # entries keep the file alive: its id stays unique


def _of_the_package(function: Callable[..., object]) -> bool:
    if isinstance(function, Arriving | ByPackets):
        return _of_the_package(function.function)
    return not isinstance(function, partial) and function.__module__.partition(".")[0] == PACKAGE
