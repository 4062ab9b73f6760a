"""This computer's cost table: one-purpose programs timed by BPF_PROG_TEST_RUN, one cost an event fitted to them.

time of a run = (thread time of many repeats - of few) / (many - few)         (what a call sets up cancels)
costs         = least squares of relative errors, none below 0 (Lawson and Hanson, Solving Least Squares Problems, 1974)

Programs take turns, and of several rounds the fastest counts: what else the computer does only adds time.
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

SHORT_REPEATS, ROUNDS, ROUND_NS = 100, 7, 2_000_000  # repeats of a short call; rounds; what a long call is to take
LEAST_NS = 4.0  # of a run beyond the empty program: errors of shorter ones count as of so much
REWEIGHTED = 4  # fits, each with weights by the one before
SAMPLES, SEED = 100, 1  # of the intervals
CLOCK_STEPS = 2000  # multiplications in a row, each three cycles on every x86-64 and arm64 core since 2010
REPEATS = 12  # runs on one packet, after which maps hold what it leaves in them

Contents = Mapping[str, Mapping[bytes, bytes]]
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Timed:
    """A program's time on one packet beyond an empty program (ns), measured and as its events are priced."""

    name: str
    events: Events
    measured_ns: float
    predicted_ns: float | None = None

    @property
    def error(self) -> float | None:
        """Predicted over measured, less 1, an empty program's time on both sides left out; None without a price."""
        return None if self.predicted_ns is None else self.predicted_ns / max(self.measured_ns, 1e-9) - 1


@dataclass(frozen=True)
class Measurement(Result):
    """A cost table of this computer, the programs that it was fitted to, and what they say of its errors.

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
        return [{"event": name, "ns": one.ns, "low_ns": one.low, "high_ns": one.high} for name, one in events]

    def to_dict(self) -> dict[str, Any]:
        """Return the document of `npexplore program measure --json`."""
        costs = {name: {"ns": one.ns, "low": one.low, "high": one.high} for name, one in self.costs.event.items()}
        rows = [
            {"program": one.name, "measured_ns": one.measured_ns, "predicted_ns": one.predicted_ns}
            for one in self.programs
        ]
        return {
            "clock_mhz": self.costs.clock_mhz, "empty_ns": self.costs.empty_ns, "events": costs, "programs": rows,
            "seconds": self.seconds,
        }  # fmt: skip


def measure(rounds: int = ROUNDS) -> Measurement:
    """Time the suite of one-purpose programs on this computer and fit a cost table.

    Raises InputError where this process may not load programs into the kernel.
    """
    if not is_available():
        raise InputError(
            "program measure: the kernel does not let this process load programs (it takes root and bpf(2))"
        )
    began = perf_counter()
    micros = [empty(), _clock(1), _clock(2), *suite()]
    times = time_all(micros, rounds)
    zero = times[0]
    clock_mhz = 3 * CLOCK_STEPS / (times[2] - times[1]) * 1e3
    rest = [(one, t - zero) for one, t in zip(micros[3:], times[3:], strict=True)]
    table = fitted([(one.name, events(one), t) for one, t in rest], clock_mhz, zero)
    timed = tuple(Timed(one.name, e := events(one), t, table.price(e)) for one, t in rest)
    return Measurement(table, timed, perf_counter() - began)


def events(one: Micro) -> Events:
    """Return what a program does with its packet, when it is not the first."""
    return _steady(program(one.text), one.packet, one.maps)


def _steady(loaded: Program, packet: bytes, maps: Contents) -> Events:
    run = loaded.run([packet] * REPEATS, maps=maps)
    return events_of(run)[int(run.rows[-1, k.PATH])]


def time_paths(
    loaded: Program, packets: Sequence[bytes], costs: CostTable, maps: Contents | None = None, rounds: int = ROUNDS
) -> list[Timed]:
    """Time a program on an example packet of each of its paths, beside what a cost table says of it.

    Left out: packets that repeats would change (the kernel does not restore them), and paths that a second packet of
    the same kind does not take. Raises InputError where the kernel does not take the program, and for one that
    calls `fib_lookup`, which would ask this computer's own routes.
    """
    if "fib_lookup" in loaded.helpers:
        raise InputError(
            f"{loaded.path}: {loaded.name!r} calls fib_lookup, which asks this computer's own routes; it is not timed"
        )
    held, first = maps or {}, loaded.run(packets, maps=maps or {}, keep=False)
    chosen = []
    for path in first.paths:
        packet = packets[path["example"]]
        again = loaded.run([packet] * REPEATS, maps=held)
        back = loaded.run(again.packets[:1], maps=held).packets
        ways = set(again.rows[REPEATS // 3 :, k.PATH].tolist())
        if len(ways) == 1 and packet in (again.packets[0], back[0]):
            chosen.append((path["path"], packet))
    files = [(LinuxProgram(loaded, held), packet) for _, packet in chosen]
    zero = empty()
    try:
        base = (LinuxProgram(program(zero.text)), zero.packet)
        files.append(base)
        times = time_loaded(files, rounds)
    finally:
        for file, _ in files:
            file.close()
    rows = []
    for (path, packet), t in zip(chosen, times, strict=False):
        events = _steady(loaded, packet, held)
        rows.append(Timed(f"{loaded.name}, path {path}", events, t - times[-1], costs.price(events)))
    return rows


def time_all(micros: Sequence[Micro], rounds: int = ROUNDS) -> list[float]:
    """Return nanoseconds of a run of each program, the least of so many rounds."""
    loaded = [LinuxProgram(program(one.text), one.maps) for one in micros]
    try:
        return time_loaded([(file, one.packet) for file, one in zip(loaded, micros, strict=True)], rounds)
    finally:
        for file in loaded:
            file.close()


def time_loaded(loaded: Sequence[tuple[LinuxProgram, bytes]], rounds: int = ROUNDS) -> list[float]:
    """Return nanoseconds of a run of each loaded program on its packet, the least of so many rounds."""
    many = [SHORT_REPEATS + max(1000, int(ROUND_NS / max(file.run(packet, 1000)[2], 1))) for file, packet in loaded]
    best = np.full((2, len(loaded)), np.inf)
    for _ in range(rounds):
        for n, (file, packet) in enumerate(loaded):
            best[:, n] = np.minimum(best[:, n], [_spent(file, packet, many[n]), _spent(file, packet, SHORT_REPEATS)])
    return [float(t) for t in (best[0] - best[1]) / (np.array(many) - SHORT_REPEATS)]


def _spent(file: LinuxProgram, packet: bytes, repeats: int) -> int:
    begin = clock_gettime_ns(CLOCK_THREAD_CPUTIME_ID)
    file.run(packet, repeats)
    return clock_gettime_ns(CLOCK_THREAD_CPUTIME_ID) - begin


def _clock(times: int) -> Micro:
    """Return a chain of multiplications that wait for each other, which tells the clock."""
    return Micro(f"clock {times}", "mov r1, 3\nmov r0, 1\n" + "mul r1, r1\n" * CLOCK_STEPS * times + "exit")


def fitted(rows: Iterable[tuple[str, Events, float]], clock_mhz: float, empty_ns: float) -> CostTable:
    """Return the costs that fit programs best, with 95 % intervals by a wild bootstrap (residuals of random sign).

    rows: name, events, and nanoseconds beyond an empty program.
    """
    rows = list(rows)
    names = sorted({name for _, events, _ in rows for name in events})
    counts = np.array([[events.get(name, 0.0) for name in names] for _, events, _ in rows])
    times = np.array([t for _, _, t in rows])
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
            name: Cost(ns=_short(costs[n]), low=_short(low[n]), high=_short(high[n])) for n, name in enumerate(names)
        },
    )  # fmt: skip


def _short(value: float) -> float:
    return float(f"{value:.4g}")


def _least(counts: Floats, times: Floats) -> Floats:
    """Return the costs of least weighted squares, the weights less for what lies far off (Huber, Robust Statistics)."""
    from scipy.optimize import nnls

    weights = 1 / np.maximum(times, LEAST_NS)
    trust = np.ones(len(times))
    for _ in range(REWEIGHTED):
        costs = np.asarray(nnls(counts * (trust * weights)[:, None], times * trust * weights)[0])
        off = np.abs(counts @ costs - times) * weights
        trust = np.minimum(1.0, (2 * np.median(off) / np.maximum(off, 1e-12)) ** 0.5)
    return costs
