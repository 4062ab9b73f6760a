"""Computes throughput of SoCLIB's architectures over processors: ensembles, the lock as a Markov chain, sensitivities.

    sleepers: a birth-death chain, births (n - j) / Z, deaths 1 / S(j)     (j of n tasks at the lock)
    an access takes R: (j - 1) / (R + gap) + 1 / (R + way) = 1 / g, or g if the RAM is not saturated

Z: cycles between two sections. S(j): cycles of a section and a hand-over while j - 1 processors read the RAM, each
`gap` cycles after its last read. g: service time of an access. If births exceed deaths with many sleepers but not with
few, the chain has two long-lived states, and the start determines which of them a finite window measures.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from npexplore.designs import Design
from npexplore.designs.prepared import prepared
from npexplore.designs.soclib.design import bits_per_cycle, conflict_cycles, conflict_readings, words_read
from npexplore.designs.soclib.unit import alone_cycles, element_cycles, section_cycles, way_cycles
from npexplore.designs.soclib.ways import mean_share
from npexplore.errors import InputError, RefusedError, one_of
from npexplore.golden.elements import Graph
from npexplore.machine.parameters import Parameters, Value
from npexplore.solve.queueing.birth_death import steady_state, transient
from npexplore.study.sweeping.answers import usable_cores

if TYPE_CHECKING:
    import pandas as pd

Floats = np.ndarray[tuple[int, ...], np.dtype[np.float64]]
ARCHITECTURES: Mapping[str, Mapping[str, Value]] = {
    "one bank, mutex": {"memory": "shared", "lock": "mutex"},
    "distributed, mutex": {"memory": "distributed", "lock": "mutex"},
    "distributed, spin": {"memory": "distributed", "lock": "spin"},
}
STARTS = ("simultaneous", "staggered")
_runs: dict[Hashable, tuple[object, Told]] = {}  # the parameters' file is kept, so that its id stays unique


class Told(NamedTuple):
    """The numbers that figures show: words read at egress, bit/cycle, conflict cycles, mean latency in cycles."""

    words: float
    throughput: float
    conflict_cycles: float | None
    latency_cycles: float | None


def run_of(at: Design, seed: int) -> Told:
    """Return the numbers of a run. Each design point runs once for all figures; seeds matter only for random models."""
    p = at.parameters
    point = (id(p.file), tuple(p.changed().items()), seed if prepared(at, None).model().random else None)
    if point not in _runs:
        answer = at.simulate(seed=seed, breakdown=False)
        mean = answer.latency_s.mean
        latency = None if mean is None else mean * p.clock_mhz * 1e6
        _runs[point] = (
            p.file,
            Told(words_read(p, answer), bits_per_cycle(p, answer), conflict_cycles(p, answer), latency),
        )
    return _runs[point][1]


def ensemble(
    design: Design, processors: Iterable[int], architectures: Mapping[str, Mapping[str, Value]] = ARCHITECTURES,
    starts: Sequence[str] = STARTS, seeds: Sequence[int] = (1, 2, 3),
) -> pd.DataFrame:  # fmt: skip
    """Return simulations of every architecture with every number of processors, start and seed.

    Columns: architecture, start, processors, seed, words, throughput (bit/cycle), conflict_cycles, latency_cycles.
    """
    import pandas as pd

    points = list(product(architectures, starts, processors))

    def runs(point: tuple[str, str, int]) -> list[tuple[object, ...]]:
        name, start, n = point
        at = design.with_(**architectures[name], start=start, processors=n)
        return [(*point, seed, *run_of(at, seed)) for seed in seeds]

    with ThreadPoolExecutor(usable_cores()) as pool:
        rows = [row for results in pool.map(runs, points) for row in results]
    columns = [
        "architecture",
        "start",
        "processors",
        "seed",
        "words",
        "throughput",
        "conflict_cycles",
        "latency_cycles",
    ]
    return pd.DataFrame(rows, columns=columns)


def spread(runs: pd.DataFrame, value: str = "throughput", by: Sequence[str] = ("architecture",)) -> pd.DataFrame:
    """Return the mean, lowest and highest `value` over seeds and starts: columns `by`, processors, VALUE, low, high."""
    summary = runs.groupby([*by, "processors"], sort=False)[value].agg(["mean", "min", "max"]).reset_index()
    return summary.rename(columns={"mean": value, "min": "low", "max": "high"})


def peaks(runs: pd.DataFrame) -> pd.DataFrame:
    """Return by architecture the minimum, median and maximum over runs of the peak's processors and throughput."""
    curve = runs.sort_values("throughput").groupby(["architecture", "start", "seed"], sort=False).tail(1)
    summary = curve.groupby("architecture", sort=False)[["processors", "throughput"]].agg(["min", "median", "max"])
    summary.columns = [f"{name} {statistic}" for name, statistic in summary.columns]
    return summary.reset_index()


def efficiency(runs: pd.DataFrame) -> pd.DataFrame:
    """Return speed-up over one processor of the same architecture, and speed-up over the number of processors."""
    mean = spread(runs)
    single = mean[mean["processors"] == 1].set_index("architecture")["throughput"]
    speed_up = mean["throughput"] / mean["architecture"].map(single)
    return mean.assign(speed_up=speed_up, efficiency=speed_up / mean["processors"])


def analytic(
    design: Design, processors: Iterable[int], architectures: Mapping[str, Mapping[str, Value]] = ARCHITECTURES
) -> pd.DataFrame:  # fmt: skip
    """Return bounds and queueing answers: columns architecture, solver, processors, throughput (bit/cycle)."""
    import pandas as pd

    rows = []
    for name, n in product(architectures, processors):
        at = design.with_(**architectures[name], processors=n)
        for solver in ("bounds", "queueing"):
            try:
                answer = at.bounds() if solver == "bounds" else at.queueing()
            except RefusedError:
                continue
            rows.append((name, solver, n, bits_per_cycle(at.parameters, answer)))
    return pd.DataFrame(rows, columns=["architecture", "solver", "processors", "throughput"])


def highest(runs: pd.DataFrame) -> pd.DataFrame:
    """Return the highest mean of each curve of an ensemble: columns change, processors_at_peak, throughput_at_peak."""
    mean = spread(runs)
    top = mean.loc[mean.groupby("architecture", sort=False)["throughput"].idxmax()]
    return top[["architecture", "processors", "throughput"]].rename(
        columns={"architecture": "change", "processors": "processors_at_peak", "throughput": "throughput_at_peak"}
    )


def conflict_constraints(design: Design, before: int = 27, fallen: int = 28) -> pd.DataFrame:
    """Compare each reading of the counter of conflict cycles with Sec. 4's description.

    The text: several initiators want the RAM of global variables at one time and at least one is blocked; with `fallen`
    processors and more, over a million cycles are counted. So a reading must not count cycles in which no processor is
    blocked at this RAM, and must count at least a million cycles with `fallen` processors.
    Columns: reading (design.conflict_readings), before, fallen (million cycles with these numbers of processors),
    elsewhere (million cycles with `before` processors in which no processor is blocked at the RAM), most (million
    cycles that the reading can count at most with `fallen` processors), refuted (reason; empty: not refuted).
    """
    import pandas as pd

    machines = [design.with_(memory="distributed", processors=n, conflicts="target") for n in (before, fallen)]
    grown, stopped = (conflict_readings(at.parameters, at.simulate()) for at in machines)
    window = float(design.parameters.window_cycles - design.parameters.boot_cycles) / 1e6
    blocked_at_most = {"initiators": fallen - 1, "target": 1}  # the RAM serves one processor while the others wait
    rows = []
    for reading, cycles in grown.items():
        elsewhere = max(cycles - grown["initiators"], 0.0)
        reasons = {"it counts where nobody is blocked": elsewhere > 0, "below a million": stopped[reading] < 1e6}
        refuted = "; ".join(reason for reason, holds in reasons.items() if holds)
        countable = window * blocked_at_most.get(reading, fallen)
        rows.append((reading, cycles / 1e6, stopped[reading] / 1e6, elsewhere / 1e6, countable, refuted))
    return pd.DataFrame(rows, columns=["reading", "before", "fallen", "elsewhere", "most", "refuted"])


def what_moves(
    design: Design, changes: Mapping[str, Mapping[str, Value]], processors: Sequence[int], seeds: Sequence[int] = (1,),
) -> pd.DataFrame:  # fmt: skip
    """Return the peaks of variants of one design with a simultaneous start (columns as `highest`)."""
    return highest(ensemble(design, processors, changes, starts=("simultaneous",), seeds=seeds))


def access_cycles(p: Parameters, sleepers: Floats) -> Floats:
    """Return the cycles of the lock holder's access to the RAM of global variables, by number of sleepers.

    The other accesses come from processors in the scheduler.
    """
    path_cycles, service = float(way_cycles(p)), float(p.global_cycles)
    low, high = np.full_like(sleepers, service), service * (sleepers + 1)
    for _ in range(50):
        middle = (low + high) / 2
        full = sleepers / (middle + path_cycles + p.scheduler_cycles) + 1 / (middle + path_cycles) > 1 / service
        low, high = np.where(full, middle, low), np.where(full, high, middle)
    return high


@dataclass(frozen=True)
class LockChain:
    """The mutex as a birth-death chain over the number of tasks at the lock; rates are per cycle."""

    births: Floats
    deaths: Floats
    packet_bits: float

    @staticmethod
    def of(p: Parameters) -> LockChain:
        """Return the chain of a design's parameters (distributed memory, mutex); each packet has two sections."""
        n, section = int(p.processors), float(section_cycles(p))
        between = (alone_cycles(p, mean_share(p)) - 2 * section) / 2
        j = np.arange(n, dtype=np.float64)  # sleepers
        access = access_cycles(p, j)
        loading = p.switch_accesses * (access + way_cycles(p)) * (j > 0)
        deaths = 1.0 / (section + p.global_accesses * (access - p.global_cycles) + loading)
        return LockChain((n - j) / between, deaths, 8.0 * float(p.packet_bytes))

    def throughput(self, share: Floats) -> float:
        """Return bit/cycle; share: shares of time with 0..n tasks at the lock, shape (n + 1,)."""
        return float(share[1:] @ self.deaths) / 2 * self.packet_bits

    def steady(self) -> float:
        """Return the steady-state throughput in bit/cycle."""
        return self.throughput(steady_state(self.births, self.deaths))

    def within(self, cycles: float, at_lock: int) -> float:
        """Return the mean throughput (bit/cycle) of a window that begins with `at_lock` tasks at the lock."""
        return self.throughput(transient(self.births, self.deaths, at_lock, [cycles]).average[0])

    def rests(self) -> list[tuple[int, str]]:
        """Return the states where births and deaths balance: (tasks at the lock, "stable" or "unstable")."""
        drift = np.append(self.births[1:], 0.0) - self.deaths  # with 1..n tasks there
        previous_drift = np.append(self.births[0], drift[:-1])
        states = [(k + 1, "stable" if drift[k] < 0 else "unstable") for k in range(len(drift))]
        return [state for state, a, b in zip(states, previous_drift, drift, strict=True) if (a > 0) != (b > 0)]


def two_states(design: Design, processors: Iterable[int]) -> pd.DataFrame:
    """Return the chain's answers: columns processors, endless, from_empty, from_full, rests (as text)."""
    import pandas as pd

    rows = []
    for n in processors:
        p = design.with_(**ARCHITECTURES["distributed, mutex"], processors=n).parameters
        chain, window = LockChain.of(p), float(p.window_cycles - p.boot_cycles)
        rests = ", ".join(f"{j} ({kind})" for j, kind in chain.rests())
        rows.append((n, chain.steady(), chain.within(window, 0), chain.within(window, n), rests))
    return pd.DataFrame(rows, columns=["processors", "endless", "from_empty", "from_full", "rests"])


def elements(design: Design) -> pd.DataFrame:
    """Return the timed elements in their order: columns element, cycles, share (of the longest path)."""
    import pandas as pd

    cycles = element_cycles(design.parameters)
    total = sum(cycles.values())
    rows = [(name, n, n / total) for name, n in cycles.items()]
    return pd.DataFrame(rows, columns=["element", "cycles", "share"])


def ways(design: Design, graph: Graph, frames: Iterable[tuple[str, bytes]] | None = None) -> pd.DataFrame:
    """Return the paths through a graph with their cycles; with frames (device, bytes), only the paths of these frames.

    Columns: way, exit, elements, cycles, packets, share (of the packets). `way` shows the first and last elements.
    """
    import pandas as pd

    element_costs = element_cycles(design.parameters)
    paths = graph.ways(element_costs) if frames is None else graph.traffic(frames, element_costs)
    total = sum(path.packets for path in paths)
    rows = [
        (
            " → ".join(path.path if len(path.path) <= 4 else [path.path[0], "...", *path.path[-3:]]), path.exit,
            len(path.path), path.cycles, path.packets, path.packets / total if total else None,
        )
        for path in paths
    ]  # fmt: skip
    return pd.DataFrame(rows, columns=["way", "exit", "elements", "cycles", "packets", "share"])


def way_of(design: Design, graph: Graph, entry: str, left: str) -> list[tuple[str, float]]:
    """Return (element class, cycles) along the costliest path from an entry's device to an exit; raises InputError."""
    element_costs = element_cycles(design.parameters)
    first = graph.entries()[one_of("device", entry, graph.entries())]
    matches = [path for path in graph.ways(element_costs) if path.path[0] == first and path.exit == left]
    if not matches:
        raise InputError(f"no way leads from {entry!r} to the exit {left!r}")
    return [(graph.elements[name].kind, graph.cycles([name], element_costs)) for name in matches[0].path]
