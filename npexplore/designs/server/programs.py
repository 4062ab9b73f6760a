"""A packet program on the server's cores: a packet takes what its path costs, beside the driver's cost of its verdict.

time of a packet = driver(verdict) + sum over its path's events of (times x cost)     (programs/costs.py)

The driver's cycles are those measured of programs that do next to nothing: drop_read or drop (a packet that is not
looked at), tx, redirect. Costs are cycles: a core of another clock scales them. A packet that is passed goes on to the
kernel's stack, which takes at least what a drop at its first hook takes (drop_raw).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from npexplore._kernels import ebpf as k
from npexplore.errors import RefusedError
from npexplore.machine.parameters import Parameters
from npexplore.machine.workload import CLASS, Integers, Workload
from npexplore.programs.costs import CostTable
from npexplore.programs.events import events_of
from npexplore.programs.result import VERDICTS, ProgramRun

if TYPE_CHECKING:
    from npexplore.designs.base import Design
    from npexplore.packets import Capture

TIME, LEAVES = "program_ps", "leaves"  # columns: time on the core, how a packet leaves (0: not, 1: same card, 2: other)
SHORTEST = 64  # bytes of an Ethernet frame with its check sequence (IEEE 802.3, 4A.4.2)
MOST_CLASSES = 16  # paths told apart in statistics, the most frequent
PASSED = VERDICTS.index("pass")
BASE = {"aborted": ("xdp", "drop_read"), "drop": ("xdp", "drop_read"), "pass": ("linux", "drop_raw"),
        "tx": ("xdp", "tx"), "redirect": ("xdp", "redirect")}  # fmt: skip


@dataclass(frozen=True, eq=False)
class OnServer:
    """A run of a program as the server's packets: frames of the capture, with check bytes; cycles by path.

    cycles: of the program alone, of a packet of each path. base: parameters of the server -> cycles that the driver
    takes for a packet with them.
    """

    run: ProgramRun
    load: Workload
    costs: CostTable
    cycles: Mapping[int, float]
    base: Callable[[Parameters], float]

    def __call__(self, p: Parameters) -> Workload:
        """Return the packets with the time that each takes on a core of the server."""
        rows, driver = self.run.rows, self._driver(p)
        paths, places = np.unique(rows[:, k.PATH], return_inverse=True)
        own = np.array([self.cycles[path] for path in paths.tolist()])[places.ravel()]
        ps = (driver + own) * (1e6 / float(p.clock_mhz))
        verdicts = rows[:, k.VERDICT]
        leaves = np.select([verdicts == VERDICTS.index("tx"), verdicts == VERDICTS.index("redirect")], [1, 2])
        frames = np.maximum(self.load.packet_bytes + int(p.check_bytes), SHORTEST)
        columns = {"packet_bytes": frames, TIME: np.round(ps).astype(np.int64), LEAVES: leaves.astype(np.int64)}
        if len(paths) > 1:
            columns[CLASS] = _ranks(rows[:, k.PATH])
        return replace(self.load, columns=columns)

    def _driver(self, p: Parameters) -> npt.NDArray[np.float64]:
        """Return the driver's cycles of each packet, by its verdict."""
        rows = self.run.rows
        cycles = np.zeros(len(rows))
        for number, (stack, program) in enumerate(BASE.values()):
            mine = rows[:, k.VERDICT] == number
            unread = program == "drop_read" and not rows[mine, k.LINES_OF_PACKET].any()
            if mine.any():
                cycles[mine] = self.base(p.with_(stack=stack, program="drop" if unread else program))
        return cycles

    def mean_cycles(self) -> dict[str, float]:
        """Return the program's cycles of a mean packet by event."""
        paths, counts = np.unique(self.run.rows[:, k.PATH], return_counts=True)
        spent: dict[str, float] = {}
        for path, events in events_of(self.run).items():
            share = float(counts[np.searchsorted(paths, path)]) / len(self.run)
            for name, ns in self.costs.parts(events).items():
                spent[name] = spent.get(name, 0.0) + share * ns * self.costs.clock_mhz * 1e-3
        return spent

    def rows(self, p: Parameters) -> list[dict[str, object]]:
        """Return paths by verdict, the slowest first: share of packets, cycles, packets a second of one core alone."""
        driver, hz = self._driver(p), 1e6 * float(p.clock_mhz)
        pairs, first, counts = np.unique(
            self.run.rows[:, [k.PATH, k.VERDICT]], axis=0, return_index=True, return_counts=True
        )
        table = []
        for (path, verdict), example, packets in zip(pairs.tolist(), first.tolist(), counts.tolist(), strict=True):
            cycles = self.cycles[path] + float(driver[example])
            table.append({
                "path": path, "share": packets / len(self.run), "verdict": VERDICTS[verdict],
                "program_cycles": self.cycles[path], "cycles": cycles, "one_core_pps": hz / cycles, "example": example,
            })  # fmt: skip
        return sorted(table, key=lambda one: -float(str(one["cycles"])))


def _ranks(paths: Integers) -> Integers:
    """Return for each packet the rank of its path by packets, those behind the first as one."""
    numbers, places, counts = np.unique(paths, return_inverse=True, return_counts=True)
    rank = np.empty(len(numbers), np.int64)
    rank[np.argsort(-counts, kind="stable")] = np.arange(len(numbers))
    return np.minimum(rank, MOST_CLASSES - 1)[places.ravel()]


def on_server(
    design: Design, run: ProgramRun, capture: Capture, costs: CostTable, base: Callable[[Parameters], float],
    dress: Callable[[Parameters, Workload], Workload],
) -> Design:  # fmt: skip
    """Return the server whose cores run a program, with the packets that the program has run on as its own.

    Raises RefusedError for a run with faults or without packets; InputError for an event without price.
    """
    if not len(run):
        raise RefusedError(f"server: {capture.path}: no packets that {run.program.name} could run on")
    if run.faults:
        raise RefusedError(f"server: the program faults: {run.faults[0]['fault']}")
    beyond = sorted(set(run.rows[:, k.VERDICT].tolist()) - set(range(len(VERDICTS))))
    if beyond:
        raise RefusedError(f"server: the program returns {beyond[0]}, which is no verdict")
    scale = costs.clock_mhz * 1e-3
    cycles = {path: ns * scale for path, ns in costs.price_paths(run).items()}
    if missing := set(run.rows[:, k.PATH].tolist()) - set(cycles):
        raise RefusedError(f"server: {len(missing):,} paths of the program were not told apart; raise memory_bytes")
    note = f"time on a core by costs of {costs.name}"
    met = {event for events in events_of(run).values() for event, times in events.items() if times}
    guessed = sorted(event for event in met if costs.event[event].source.startswith("assumed"))
    assumed = [f"prices of {', '.join(guessed)} in {costs.name}"] if guessed else []
    if (run.rows[:, k.VERDICT] == PASSED).any():
        assumed.append("packets that it passes take the least that the kernel's stack takes")
    table = capture.packets
    if (table["captured"] < table["length"]).any():
        note += "; it ran on what was captured of longer packets"
    times = table["t_ns"].to_numpy(np.int64)
    load = Workload(
        f"{run.program.name} on {Path(str(capture.path)).name}", {"packet_bytes": table["length"].to_numpy(np.int64)},
        t_ns=times - times.min(), note=note, assumption="; ".join(assumed),
        damage=str(capture.damage) if capture.damage else None,
    )  # fmt: skip
    packets = OnServer(run, load, costs, cycles, base)
    ways = set(run.verdicts)
    egress = "other_port" if "redirect" in ways else "same_port" if "tx" in ways else "none"

    def own(p: Parameters) -> Workload:
        if p.stack != "xdp":
            raise RefusedError(f"server: a program runs in the driver, with stack = xdp; got {p.stack}")
        return dress(p, packets(p))

    def only_these(p: Parameters, other: Workload) -> Workload:
        if TIME not in other.columns:
            raise RefusedError(f"server: {run.program.name} was run on {capture.path}; run it on other packets first")
        return other

    made = replace(design, own=own, dress=only_these).with_(program="own", egress=egress)
    return replace(made, program=packets)
