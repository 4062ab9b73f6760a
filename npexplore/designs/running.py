"""A packet program on a machine's cores: its packets, the processor time of each path, and tables of them.

time of a packet = machine's own part + sum over its path's events of (count x cost)     (programs/costs.py)
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from npexplore._kernels import ebpf as k
from npexplore.errors import RefusedError
from npexplore.machine.parameters import Parameters
from npexplore.machine.workload import Integers, Workload
from npexplore.packets import Capture
from npexplore.programs.costs import CostTable, as_toml
from npexplore.programs.predictor import mispredicted
from npexplore.programs.result import VERDICTS, ProgramRun

if TYPE_CHECKING:
    from npexplore.designs.base import Design

MOST_CLASSES = 16  # packet classes in statistics: the most frequent paths, and a class for all others
AROUND, UNKNOWN_LINE = "(around the program)", "(loads of what several stores wrote)"
NEGLIGIBLE = 1e-9  # cycles; lines with fewer are left out
SHORTEST = 64  # bytes of an Ethernet frame with its check sequence (IEEE 802.3, 4A.4.2)


@dataclass(frozen=True)
class ProgramChange:
    """The effect of a changed program: relative gain in packet rate (bounds), and the bottleneck after the change.

    Example:
        >>> from npexplore.designs.running import ProgramChange
        >>> ProgramChange("map flows per CPU", 0.22, "core").gain
        0.22
    """

    change: str
    gain: float
    bottleneck: str


@dataclass(frozen=True, eq=False)
class Running(ABC):
    """A program's run as a machine's packets; cycles: the program's cycles per packet, by path number."""

    run: ProgramRun
    load: Workload
    costs: CostTable
    cycles: Mapping[int, float]

    @abstractmethod
    def around(self, p: Parameters) -> npt.NDArray[np.float64]:
        """Return the cycles per packet that the machine spends outside the program."""

    def changes(self, design: Design) -> tuple[ProgramChange, ...]:
        """Return the effects of other kinds of maps on a design that runs this program."""
        return ()

    @property
    def identity(self) -> bytes:
        """A hash of all inputs: code, maps, forwarding tables, costs, packet lengths and times, and paths."""
        digest = blake2b(digest_size=16)
        digest.update(repr((self.run.program.code, self.run.program.maps, sorted(self.run.before.items()))).encode())
        digest.update(repr(self.run.fib and (self.run.fib.ports, self.run.fib.contents())).encode())
        digest.update(as_toml(self.costs).encode())
        digest.update(repr(sorted(self.cycles.items())).encode())
        for array in (self.run.rows, self.load.packet_bytes, self.load.t_ns):
            digest.update(b"" if array is None else np.ascontiguousarray(array).tobytes())
        return digest.digest()

    def own_cycles(self) -> npt.NDArray[np.float64]:
        """Return the program's cycles for each packet."""
        paths, path_indices = np.unique(self.run.rows[:, k.PATH], return_inverse=True)
        return np.array([self.cycles[path] for path in paths.tolist()])[path_indices.ravel()]

    @cached_property
    def mispredicted(self) -> Integers:
        """Mispredicted branches of each packet, with packets in the order of the capture."""
        return mispredicted(self.run)

    def frames(self, check_bytes: int) -> Integers:
        """Return the bytes of each frame with its check sequence and padding."""
        return np.maximum(self.load.packet_bytes + check_bytes, SHORTEST)

    def classes(self) -> Integers | None:
        """Return each packet's class: the rank of its path by packet count, with all rare paths in the last class.

        None if the program has a single path.
        """
        numbers, path_indices, counts = np.unique(self.run.rows[:, k.PATH], return_inverse=True, return_counts=True)
        rank = np.empty(len(numbers), np.int64)
        rank[np.argsort(-counts, kind="stable")] = np.arange(len(numbers))
        return np.minimum(rank, MOST_CLASSES - 1)[path_indices.ravel()] if len(numbers) > 1 else None

    def mean_cycles(self) -> dict[str, float]:
        """Return the program's mean cycles per packet, by event."""
        paths, counts = np.unique(self.run.rows[:, k.PATH], return_counts=True)
        cycles_by_event: dict[str, float] = {}
        for path, events in self.costs.events_of(self.run).items():
            share = float(counts[np.searchsorted(paths, path)]) / len(self.run)
            for name, ns in self.costs.parts(events).items():
                cycles_by_event[name] = cycles_by_event.get(name, 0.0) + share * ns * self.costs.clock_mhz * 1e-3
        return cycles_by_event

    def lines(self, p: Parameters) -> list[dict[str, object]]:
        """Return source lines with their mean cycles per packet and their share of the total, largest first.

        Two more rows count the machine's work around the program, and loads that wait for several stores, whose line is
        unknown. Branch mispredictions and remote map cache lines (`branches`, `map_lines`) are not included.
        """
        scale = self.costs.clock_mhz * 1e-3
        cycles = {line: ns * scale for line, ns in self.costs.price_lines(self.run).items()}
        cycles[AROUND] = float(self.around(p).mean())
        total = cycles[AROUND] + float(self.own_cycles().mean())
        cycles[UNKNOWN_LINE] = total - sum(cycles.values())
        rows = [{"line": line, "cycles": c, "share": c / total} for line, c in cycles.items() if c > NEGLIGIBLE]
        return sorted(rows, key=lambda row: -float(str(row["cycles"])))

    def rows(self, p: Parameters) -> list[dict[str, object]]:
        """Return a row per path and verdict, slowest first: share of packets, cycles, packets/s of a single core."""
        around, hz = self.around(p), 1e6 * float(p.clock_mhz)
        pairs, first, counts = np.unique(
            self.run.rows[:, [k.PATH, k.VERDICT]], axis=0, return_index=True, return_counts=True
        )
        table = []
        for (path, verdict), example, packets in zip(pairs.tolist(), first.tolist(), counts.tolist(), strict=True):
            cycles = self.cycles[path] + float(around[example])
            table.append({
                "path": path, "share": packets / len(self.run), "verdict": VERDICTS[verdict],
                "program_cycles": self.cycles[path], "cycles": cycles, "one_core_pps": hz / cycles, "example": example,
            })  # fmt: skip
        return sorted(table, key=lambda row: -float(str(row["cycles"])))


def packets_of(
    name: str, run: ProgramRun, capture: Capture, costs: CostTable
) -> tuple[Workload, dict[int, float]]:  # fmt: skip
    """Return the packets that a program ran on, and the program's cycles per packet by path.

    Raises RefusedError for a run with faults or without packets, InputError for an event without a cost.
    """
    if not len(run):
        raise RefusedError(f"{name}: {capture.path}: no packets that {run.program.name} could run on")
    if run.faults:
        raise RefusedError(f"{name}: the program faults: {run.faults[0]['fault']}")
    unknown_verdicts = sorted(set(run.rows[:, k.VERDICT].tolist()) - set(range(len(VERDICTS))))
    if unknown_verdicts:
        raise RefusedError(f"{name}: the program returns {unknown_verdicts[0]}, which is no verdict")
    scale = costs.clock_mhz * 1e-3
    cycles = {path: ns * scale for path, ns in costs.price_paths(run).items()}
    if missing := set(run.rows[:, k.PATH].tolist()) - set(cycles):
        raise RefusedError(f"{name}: {len(missing):,} paths of the program were not told apart; raise memory_bytes")
    note = f"time on a core by costs of {costs.name}"
    occurring_events = {event for events in costs.events_of(run).values() for event, times in events.items() if times}
    guessed = sorted(event for event in occurring_events if costs.event[event].source.startswith("assumed"))
    table = capture.packets
    if (table["captured"] < table["length"]).any():
        note += "; it ran on what was captured of longer packets"
    times = table["t_ns"].to_numpy(np.int64)
    load = Workload(
        f"{run.program.name} on {Path(str(capture.path)).name}", {"packet_bytes": table["length"].to_numpy(np.int64)},
        t_ns=times - times.min(), note=note,
        assumption=f"prices of {', '.join(guessed)} in {costs.name}" if guessed else "",
        damage=str(capture.damage) if capture.damage else None,
    )  # fmt: skip
    return load, cycles
