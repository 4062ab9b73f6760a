"""Measures this computer's cost table: programs with one kind of event, timed by BPF_PROG_TEST_RUN, and a fit of costs.

time of a run = (thread time of many repeats - of few) / (many - few)         (the set-up of a call cancels)
costs         = least squares of relative errors, none below 0 (Lawson and Hanson, Solving Least Squares Problems, 1974)

Programs are timed in turn, in several rounds; the fastest round counts, because other work of the computer only adds
time.
"""

from __future__ import annotations

import platform
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from time import CLOCK_THREAD_CPUTIME_ID, clock_gettime_ns, perf_counter
from typing import Any

import numpy as np
import numpy.typing as npt

from npexplore._kernels import ebpf as k
from npexplore.errors import InputError
from npexplore.programs.costs import Cost, CostTable
from npexplore.programs.events import Events, events_of
from npexplore.programs.linux import LinuxProgram, is_available
from npexplore.programs.loading import program
from npexplore.programs.micro import Micro, empty, suite
from npexplore.programs.records import Program
from npexplore.results import Result

SHORT_REPEATS, ROUNDS, ROUND_NS = 100, 7, 2_000_000  # repeats of a short call; rounds; time of a long call
LEAST_NS = 4.0  # shorter times (beyond the empty program) have their errors taken relative to this time
REWEIGHTED = 4  # number of fits, each with weights from the residuals of the fit before
SAMPLES, SEED = 100, 1  # bootstrap samples of the intervals, and their seed
CLOCK_STEPS = 2000  # dependent multiplications, each 3 cycles on every x86-64 and arm64 core since 2010
REPEATS = 12  # runs on one packet until the maps are in their steady state

Contents = Mapping[str, Mapping[bytes, bytes]]
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Timed:
    """A program's time on one packet beyond an empty program in ns: measured, and predicted from its events."""

    name: str
    events: Events
    measured_ns: float
    predicted_ns: float | None = None

    @property
    def error(self) -> float | None:
        """Relative error predicted / measured - 1, both beyond an empty program; None without a prediction."""
        return None if self.predicted_ns is None else self.predicted_ns / max(self.measured_ns, 1e-9) - 1


@dataclass(frozen=True)
class Measurement(Result):
    """A cost table of this computer, the programs that it was fitted to, and the time the measurement took.

    Example:
        >>> from npexplore.programs import Measurement, read_costs
        >>> Measurement(read_costs("x86_server"), (), 1.0).to_dict()["programs"]
        []
    """

    costs: CostTable
    programs: tuple[Timed, ...]
    seconds: float

    def records(self) -> list[dict[str, Any]]:
        """Return the events, one row each."""
        events = self.costs.event.items()
        return [{"event": name, "ns": cost.ns, "low_ns": cost.low, "high_ns": cost.high} for name, cost in events]

    def to_dict(self) -> dict[str, Any]:
        """Return the document of `npexplore program measure --json`."""
        costs = {name: {"ns": cost.ns, "low": cost.low, "high": cost.high} for name, cost in self.costs.event.items()}
        rows = [
            {"program": program.name, "measured_ns": program.measured_ns, "predicted_ns": program.predicted_ns}
            for program in self.programs
        ]
        return {
            "clock_mhz": self.costs.clock_mhz, "empty_ns": self.costs.empty_ns, "events": costs, "programs": rows,
            "seconds": self.seconds,
        }  # fmt: skip


def measure(rounds: int = ROUNDS) -> Measurement:
    """Time the suite of calibration programs on this computer and fit a cost table.

    Raises InputError if this process may not load programs into the kernel.
    """
    if not is_available():
        raise InputError(
            "program measure: the kernel does not let this process load programs (it takes root and bpf(2))"
        )
    began = perf_counter()
    micros = [empty(), _clock(1), _clock(2), *suite()]
    times = time_all(micros, rounds)
    empty_ns = times[0]
    clock_mhz = 3 * CLOCK_STEPS / (times[2] - times[1]) * 1e3
    micro_times = [(micro, time_ns - empty_ns) for micro, time_ns in zip(micros[3:], times[3:], strict=True)]
    table = fitted([(micro.name, events(micro), time_ns) for micro, time_ns in micro_times], clock_mhz, empty_ns)
    timed = tuple(
        Timed(micro.name, micro_events := events(micro), time_ns, table.price(micro_events))
        for micro, time_ns in micro_times
    )
    return Measurement(table, timed, perf_counter() - began)


def events(one: Micro) -> Events:
    """Return the events of a program on its packet, after earlier runs on the same packet."""
    return _steady(program(one.text), one.packet, one.maps)


def _steady(loaded: Program, packet: bytes, maps: Contents) -> Events:
    run = loaded.run([packet] * REPEATS, maps=maps)
    return events_of(run)[int(run.rows[-1, k.PATH])]


def time_paths(
    loaded: Program, packets: Sequence[bytes], costs: CostTable, maps: Contents | None = None, rounds: int = ROUNDS
) -> list[Timed]:
    """Time a program on an example packet of each of its paths, with the prediction of a cost table.

    Left out: packets that repeats would change (the kernel does not restore them), and paths that a second packet of
    the same kind does not take. Raises InputError if the kernel refuses the program, and for a program that calls
    `fib_lookup`, which would read this computer's own routes.
    """
    if "fib_lookup" in loaded.helpers:
        raise InputError(
            f"{loaded.path}: {loaded.name!r} calls fib_lookup, which asks this computer's own routes; it is not timed"
        )
    initial_maps, first_run = maps or {}, loaded.run(packets, maps=maps or {}, keep=False)
    chosen = []
    for path in first_run.paths:
        packet = packets[path["example"]]
        repeated_run = loaded.run([packet] * REPEATS, maps=initial_maps)
        packets_after_second_run = loaded.run(repeated_run.packets[:1], maps=initial_maps).packets
        paths_taken = set(repeated_run.rows[REPEATS // 3 :, k.PATH].tolist())
        if len(paths_taken) == 1 and packet in (repeated_run.packets[0], packets_after_second_run[0]):
            chosen.append((path["path"], packet))
    files = [(LinuxProgram(loaded, initial_maps), packet) for _, packet in chosen]
    empty_micro = empty()
    try:
        empty_program = (LinuxProgram(program(empty_micro.text)), empty_micro.packet)
        files.append(empty_program)
        times = time_loaded(files, rounds)
    finally:
        for file, _ in files:
            file.close()
    rows = []
    for (path, packet), time_ns in zip(chosen, times, strict=False):
        events = _steady(loaded, packet, initial_maps)
        rows.append(Timed(f"{loaded.name}, path {path}", events, time_ns - times[-1], costs.price(events)))
    return rows


def time_all(micros: Sequence[Micro], rounds: int = ROUNDS) -> list[float]:
    """Return nanoseconds of a run of each program, the minimum over the rounds."""
    loaded = [LinuxProgram(program(micro.text), micro.maps) for micro in micros]
    try:
        return time_loaded([(file, micro.packet) for file, micro in zip(loaded, micros, strict=True)], rounds)
    finally:
        for file in loaded:
            file.close()


def time_loaded(loaded: Sequence[tuple[LinuxProgram, bytes]], rounds: int = ROUNDS) -> list[float]:
    """Return nanoseconds of a run of each loaded program on its packet, the minimum over the rounds."""
    repeats = [SHORT_REPEATS + max(1000, int(ROUND_NS / max(file.run(packet, 1000)[2], 1))) for file, packet in loaded]
    best = np.full((2, len(loaded)), np.inf)
    for _ in range(rounds):
        for index, (file, packet) in enumerate(loaded):
            best[:, index] = np.minimum(
                best[:, index], [_spent(file, packet, repeats[index]), _spent(file, packet, SHORT_REPEATS)]
            )
    return [float(time_ns) for time_ns in (best[0] - best[1]) / (np.array(repeats) - SHORT_REPEATS)]


def _spent(file: LinuxProgram, packet: bytes, repeats: int) -> int:
    begin = clock_gettime_ns(CLOCK_THREAD_CPUTIME_ID)
    file.run(packet, repeats)
    return clock_gettime_ns(CLOCK_THREAD_CPUTIME_ID) - begin


def _clock(times: int) -> Micro:
    """Return a chain of dependent multiplications, whose time gives the clock frequency."""
    return Micro(f"clock {times}", "mov r1, 3\nmov r0, 1\n" + "mul r1, r1\n" * CLOCK_STEPS * times + "exit")


def fitted(rows: Iterable[tuple[str, Events, float]], clock_mhz: float, empty_ns: float) -> CostTable:
    """Return the least-squares costs of events, with 95 % intervals by a wild bootstrap (random signs of residuals).

    rows: name, events, and nanoseconds beyond an empty program.
    """
    rows = list(rows)
    names = sorted({name for _, events, _ in rows for name in events})
    counts = np.array([[events.get(name, 0.0) for name in names] for _, events, _ in rows])
    times = np.array([time_ns for _, _, time_ns in rows])
    costs = _least(counts, times)
    rng = np.random.default_rng(SEED)
    fits = np.array([
        _least(counts, counts @ costs + (times - counts @ costs) * rng.choice((-1, 1), len(times)))
        for _ in range(SAMPLES)
    ])  # fmt: skip
    low, high = np.quantile(fits, (0.025, 0.975), axis=0)
    source = f"measured: BPF_PROG_TEST_RUN, {platform.system()} {platform.release()}, {platform.machine()}"
    return CostTable(
        name="host", title="this computer, as measured", clock_mhz=round(clock_mhz), source=source,
        empty_ns=round(empty_ns, 2),
        event={
            name: Cost(ns=_short(costs[k]), low=_short(low[k]), high=_short(high[k])) for k, name in enumerate(names)
        },
    )  # fmt: skip


def _short(value: float) -> float:
    return float(f"{value:.4g}")


def _least(counts: Floats, times: Floats) -> Floats:
    """Return weighted least-squares costs; outliers get smaller weights (Huber, Robust Statistics)."""
    from scipy.optimize import nnls

    weights = 1 / np.maximum(times, LEAST_NS)
    robustness = np.ones(len(times))
    for _ in range(REWEIGHTED):
        costs = np.asarray(nnls(counts * (robustness * weights)[:, None], times * robustness * weights)[0])
        relative_errors = np.abs(counts @ costs - times) * weights
        robustness = np.minimum(1.0, (2 * np.median(relative_errors) / np.maximum(relative_errors, 1e-12)) ** 0.5)
    return costs
