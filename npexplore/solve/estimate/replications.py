"""Independent runs of one machine, each with its own packets, thread order and phases, and sums over its window.

A saturated run is measured over a number of packets after its warm-up. An open run is measured between two arrivals,
and packets that leave the machine in this window are compared with packets that leave the control's server in it. A run
of recorded arrivals is measured from its first packet to its last, and a machine with its own time window over that.
"""

import itertools
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field, replace
from threading import Lock as ThreadLock

import numpy as np
import numpy.typing as npt

from npexplore._kernels import engine
from npexplore.engine.intervals import ratio_interval
from npexplore.engine.model import EngineModel, build
from npexplore.engine.offered import STRATUM, from_elsewhere, open_model, packets_offered, played
from npexplore.engine.run import Run, run
from npexplore.errors import ModelError, RefusedError
from npexplore.machine.machine import Machine
from npexplore.machine.resources.ingress import OFFERED
from npexplore.machine.resources.lock import Lock
from npexplore.machine.under_load import UnderLoad, under_load
from npexplore.machine.workload import Workload
from npexplore.solve.estimate.control import Control
from npexplore.solve.prediction import Prediction
from npexplore.solve.simulate import BATCHES, Stretch, measure, meet_at_locks

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
WORKERS = 2  # threads that run replications: the event loop holds no interpreter lock
GOLDEN = (5**0.5 - 1) / 2  # the fractional parts of its multiples are spread evenly over 0..1
MAX_SHORTENING = 4  # a window is shortened by at most 1 / MAX_SHORTENING
UNKNOWN_SPREAD_S = 1e-6  # spread of the threads' start times if no latency is known


@dataclass(frozen=True)
class Replication:
    """Sums over one run's window: packets, seconds, bits, latencies, offered and lost packets, waits of controls."""

    seed: int
    packets: int
    seconds: float
    bits: float
    latency_s: float  # summed over the packets
    histogram: Integers  # of latencies, in the bins of engine/intervals.py
    offered: int
    lost: int
    waits_s: tuple[float | None, ...]  # by control: mean over its packets in the window (None: no packet)
    rates: Floats  # packets per second in each batch of the window
    latencies: Floats  # mean seconds in each batch (nan: no packet)
    losses: Floats  # loss ratio in each batch
    prediction: Prediction
    events: int = 0  # of the engine, in the whole run
    finished: int = 0  # packets in the whole run

    @property
    def rate_pps(self) -> float:
        """Finished packets per second."""
        return self.packets / self.seconds

    @property
    def mean_s(self) -> float:
        """Mean latency in seconds."""
        return self.latency_s / self.packets if self.packets else float("nan")


def over(amounts: Iterable[float], weights: Iterable[float]) -> tuple[float, float]:
    """Return a ratio of sums over runs and its half width (95 %, Student's t over the runs)."""
    top, bottom = np.array([*amounts], dtype=float), np.array([*weights], dtype=float)
    low, high = ratio_interval(top, bottom)
    ratio = float(top.sum() / bottom.sum())
    return ratio, max(high - ratio, ratio - low)


@dataclass
class Subject:
    """A machine and its packets, ready for runs with any seed; engine models are built when they are needed.

    prepared: returns the model with the workload's arrivals, which may exist already (None: it is built here).
    """

    machine: Machine
    workload: Workload
    prepared: Callable[[], EngineModel] | None = None
    _models: dict[int | str, EngineModel] = field(default_factory=dict)
    _making: ThreadLock = field(default_factory=ThreadLock)

    def __post_init__(self) -> None:
        self.recorded = self.workload.arrivals == "timestamps"
        self.windowed = self.machine.window_s is not None
        self.endless = self.workload.with_arrivals("saturated")
        rows = len(self.endless.packet_bytes)
        if not self.endless.ordered and 1 < rows < STRATUM:  # a run repeats its rows
            columns = {name: np.tile(column, -(-STRATUM // rows)) for name, column in self.endless.columns.items()}
            self.endless = replace(self.endless, columns=columns)

    @property
    def inside(self) -> int:
        """The most packets that threads and queues between pools hold."""
        return self.machine.threads + sum(self._queue_rooms)

    @property
    def longest_queue(self) -> int:
        """Capacity in packets of the longest queue between pools (0: no queue)."""
        return max(self._queue_rooms, default=0)

    @property
    def _queue_rooms(self) -> list[int]:
        smallest = int(self.workload.packet_bytes.min())
        return [queue.most_packets(smallest) * queue.members for queue in self.machine.queues().values()]

    @property
    def waiting_room(self) -> int:
        """Packets of mean length that fit into the receive buffer."""
        ingress = self.machine.ingress
        cells = -(-self.workload.packet_bytes // ingress.cell_bytes)
        return int(ingress.capacity // (float(cells.mean()) * ingress.cell_bytes))

    def described_model(self) -> EngineModel:
        """Return the engine model with the workload's arrivals."""
        return self._cached_model("described", self.prepared or (lambda: build(self.machine, self.workload)))

    def _cached_model(self, key: int | str, make: Callable[[], EngineModel]) -> EngineModel:
        with self._making:
            if key not in self._models:
                self._models[key] = make()
            return self._models[key]

    @property
    def locks(self) -> list[str]:
        """Locks that several threads share."""
        if not meet_at_locks(self.machine):
            return []
        return [name for name, resource in self.machine.resources.items() if isinstance(resource, Lock)]

    @property
    def alike(self) -> bool:
        """Whether all packets are the same."""
        return len(self.workload.distinct()[1]) == 1

    def saturated_model(self) -> EngineModel:
        """Return the engine model with saturated arrivals."""
        if self.workload.arrivals == "saturated" and len(self.workload.packet_bytes) == len(self.endless.packet_bytes):
            return self.described_model()
        return self._cached_model("saturated", lambda: build(self.machine, self.endless))

    def open_model(self, packets: int) -> EngineModel:
        """Return the engine model for `packets` packets with given arrival times."""
        load = self.saturated_model().under_load
        return self._cached_model(packets, lambda: open_model(self.machine, self.workload, packets, load))

    def model(self, kind: str, packets: int) -> EngineModel:
        """Return the engine model for runs of a kind: saturated, window, open or recorded."""
        if kind == "saturated":
            return self.saturated_model()
        return self.described_model() if kind == "window" else self.open_model(packets)

    def demands(self) -> UnderLoad | None:
        """Return the demands with the times of each distinct packet (None: unknown)."""
        rows = len(self.workload.packet_bytes)
        timed = replace(self.endless, arrivals="timestamps", t_ns=np.arange(rows), ordered=True)
        with self._making, suppress(RefusedError, ModelError):
            return under_load(self.machine, timed)
        return None

    def spread_s(self, load: UnderLoad | None) -> float:
        """Return the seconds over which thread starts are spread: the longest latency without contention."""
        return UNKNOWN_SPREAD_S if load is None else load.longest

    def saturated_model_of(self, seed: int) -> EngineModel:
        """Return the engine model of the saturated run with a seed.

        Threads start as described for even seeds, else in another order and at other times.
        """
        model = self.saturated_model()
        rows = len(self.endless.packet_bytes)
        if rows > 1:
            model = played(model, self.endless, packets_offered(self.endless, seed, rows, model.tick))
        if seed % 2:
            model = from_elsewhere(model, seed, self.spread_s(model.under_load))
        return model

    def saturated_run(self, seed: int, warm_up: int, packets: int, breakdown: bool = False) -> Replication:
        """Return one saturated run: `packets` finished packets after `warm_up` others, or somewhat fewer of both.

        Packets that start together leave in waves of as many packets as the machine holds. If all windows began at the
        same place of a wave, all would have the same error; so windows differ in length and beginning between runs.
        breakdown: the prediction includes the latency breakdown.
        """
        model = self.saturated_model_of(seed)
        cut = -(-BATCHES * warm_up // packets)
        if len(self.workload.packet_bytes) == 1 and cut:
            places = min(self.inside // cut, packets // BATCHES // MAX_SHORTENING)
            packets -= BATCHES * int(places * (seed * GOLDEN % 1.0))
        goal, batches = packets * (BATCHES + cut) // BATCHES, BATCHES + cut
        result = run(model, seed, goal, batches, cut=cut, at_once=True, accounts=breakdown)
        return _replication(self.machine, self.endless, result, min(cut, 1), ())

    def windowed_run(self, seed: int) -> Replication:
        """Return one run of a machine that has its own time window; odd seeds shift thread starts as elsewhere."""
        boot, window = self.machine.boot_s, self.machine.window_s
        assert window is not None
        model = self.described_model()
        if seed % 2:
            model = from_elsewhere(model, seed, self.spread_s(model.under_load))
        result = run(model, seed, 0, BATCHES, from_s=boot, until_s=boot + window, stall_s=2 * (boot + window))
        return _replication(self.machine, self.workload, result, 0, ())

    def open_run(self, seed: int, warm_up: int, packets: int, controls: Sequence[Control]) -> Replication:
        """Return one run of `packets` arrivals after `warm_up` others; of recorded arrivals, all.

        Packets arrive after all threads have started, since earlier ones would form a burst that takes long to drain.
        """
        model = self.open_model(warm_up + packets)
        offered = packets_offered(self.workload, seed, warm_up + packets, model.tick)
        spread = self.spread_s(model.under_load)
        if not self.recorded:
            begun = spread + max(pool.start.latest(pool.count) for pool in self.machine.pools)
            offered = offered._replace(ticks=offered.ticks + round(begun / model.tick))
        model = from_elsewhere(played(model, self.workload, offered), seed, spread)
        if self.recorded:
            result = run(model, seed, packets, BATCHES)
            return _replication(self.machine, self.workload, result, 0, ())
        begin, end = int(offered.ticks[warm_up - 1]) if warm_up else 0, int(offered.ticks[-1])
        result = run(
            model, seed, 0, BATCHES, from_s=begin * model.tick, until_s=end * model.tick, stall_s=2 * end * model.tick
        )
        waits = tuple(control.window_wait(offered, model.tick, begin, end) for control in controls)
        return _replication(self.machine, self.workload, result, 0, waits)


def _replication(
    machine: Machine, workload: Workload, result: Run, cut: int, waits_s: tuple[float | None, ...]
) -> Replication:
    tick = result.model.tick
    shots = result.snapshots[cut:]
    total = Stretch.between(shots[0], shots[-1], tick)
    parts = [Stretch.between(a, b, tick) for a, b in itertools.pairwise(shots) if b.now > a.now]
    counters = np.stack([shot.counters for shot in shots])
    arrived, dropped = _column(result.model, counters, OFFERED), _column(result.model, counters, "drop.")
    latencies = [part.latency_s(tick) for part in parts]
    return Replication(
        seed=result.seed, packets=total.of(engine.D_COUNT), seconds=total.seconds,
        bits=8.0 * total.of(engine.D_PADDED if machine.padded else engine.D_BYTES),
        latency_s=total.of(engine.D_LATENCY) * tick, histogram=(shots[-1].histogram - shots[0].histogram).sum(axis=0),
        offered=int(arrived[-1] - arrived[0]), lost=int(dropped[-1] - dropped[0]),
        waits_s=waits_s, rates=np.array([part.of(engine.D_COUNT) / part.seconds for part in parts]),
        latencies=np.array(latencies, dtype=float),
        losses=np.diff(dropped) / np.maximum(np.diff(arrived), 1),
        prediction=measure(machine, workload, result, cut),
        events=shots[-1].events, finished=int(shots[-1].done[:, engine.D_COUNT].sum()),
    )  # fmt: skip


def _column(model: EngineModel, counters: Integers, start: str) -> Integers:
    """Return, for each snapshot, the sum of the counters whose names begin with `start`."""
    chosen = [k for k, name in enumerate(model.counters) if name.startswith(start)]
    total: Integers = counters[:, chosen].sum(axis=1)
    return total


def replicate(one_run: Callable[[int], Replication], seeds: Sequence[int]) -> list[Replication]:
    """Return the runs of some seeds in the order of the seeds."""
    if len(seeds) == 1:
        return [one_run(seeds[0])]
    with ThreadPoolExecutor(WORKERS) as pool:
        return list(pool.map(one_run, seeds))
