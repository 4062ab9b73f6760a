"""A packet program on the server's cores: a packet's time is the driver's cost of its verdict plus its path's cost.

time of a packet = driver(verdict) + sum over its path's events of (count x cost)     (programs/costs.py)

The driver's cycles are those of measured programs that do almost nothing: drop_read or drop (a packet that is not
read), tx, redirect. Costs are cycles, which scale with the core's clock. A packet with verdict `pass` goes to the
kernel's stack, which takes at least as long as a drop at its first hook (drop_raw).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from npexplore._kernels import ebpf as k
from npexplore.designs.running import ProgramChange, Running, packets_of
from npexplore.designs.server.caches import caches
from npexplore.designs.server.map_changes import changed_cycles
from npexplore.errors import RefusedError
from npexplore.golden.touches import Touches
from npexplore.machine.parameters import Parameters
from npexplore.machine.workload import CLASS, Integers, Workload
from npexplore.packets.frames import read_frames
from npexplore.programs.costs import CostTable
from npexplore.programs.locality import map_touches
from npexplore.programs.result import VERDICTS, ProgramRun

if TYPE_CHECKING:
    from npexplore.designs.base import Design
    from npexplore.packets import Capture

TIME, LEAVES = "program_ps", "leaves"  # columns: time on the core; output (0: none, 1: same card, 2: other)
MOST_PLAYED = 4096  # packets whose map accesses are simulated through the caches
PASSED = VERDICTS.index("pass")
BASE = {"aborted": ("xdp", "drop_read"), "drop": ("xdp", "drop_read"), "pass": ("linux", "drop_raw"),
        "tx": ("xdp", "tx"), "redirect": ("xdp", "redirect")}  # fmt: skip


@dataclass(frozen=True, eq=False)
class OnServer(Running):
    """A program's run as the server's packets: frames of the capture with check bytes; cycles by path.

    base: server parameters -> the driver's cycles per packet. dress: adds the packets' queues.
    """

    base: Callable[[Parameters], float]
    source: str
    dress: Callable[[Parameters, Workload], Workload]

    def on(self, design: Design) -> Design:
        """Return a server whose only workload is these packets."""

        def own(p: Parameters) -> Workload:
            if p.stack != "xdp":
                raise RefusedError(f"server: a program runs in the driver, with stack = xdp; got {p.stack}")
            return self.dress(p, self(p))

        def only_these(p: Parameters, other: Workload) -> Workload:
            if TIME not in other.columns:
                name = self.run.program.name
                raise RefusedError(f"server: {name} was run on {self.source}; run it on other packets first")
            return other

        return replace(design, own=own, dress=only_these, program=self)

    def changes(self, design: Design) -> tuple[ProgramChange, ...]:
        """Return the gains of other maps, by bounds; empty if map lines are simulated with the capture's own keys."""
        p = design.parameters
        if p.map_lines == "in_order":
            return ()
        current_pps, changes = design.bounds().rate_pps, []
        for name, extra_cycles in changed_cycles(self.run, self.costs, p).items():
            cycles = {path: path_cycles + extra_cycles.get(path, 0.0) for path, path_cycles in self.cycles.items()}
            changed_prediction = replace(self, cycles=cycles).on(design).bounds()
            changes.append(
                ProgramChange(name, changed_prediction.rate_pps / current_pps - 1, changed_prediction.bottleneck)
            )
        return tuple(changes)

    @cached_property
    def touches(self) -> tuple[Integers, Integers]:
        """Map accesses of the first packets: (packet of each access, its address)."""
        packets = [frame for _, frame in islice(read_frames(self.source), MOST_PLAYED)]
        return map_touches(self.run.program, packets, self.run.before, self.run.fib)

    def far_cycles(self, p: Parameters) -> npt.NDArray[np.float64]:
        """Return the cycles that each packet's map lines take beyond the first cache, in a second pass of the capture.

        Packets after the simulated ones get their mean.
        """
        packets, addresses = self.touches
        count = min(len(self.run), MOST_PLAYED)
        level = caches(p).levels_of(Touches.of(np.tile(packets, 2), np.tile(addresses, 2)))[len(packets) :]
        cost = np.array([0.0, float(p.l2_cycles), float(p.l3_cycles), float(p.miss_cycles)])
        far_cycles = np.bincount(packets, cost[level], count)
        return np.concatenate([far_cycles, np.full(len(self.run) - count, far_cycles.mean())])

    def __call__(self, p: Parameters) -> Workload:
        """Return the packets with their time on a core and their output as columns."""
        program_cycles = self.own_cycles()
        if p.branches == "in_order":
            program_cycles = program_cycles + self.mispredicted * self.costs.cycles({"branch_missed": 1.0})
        if p.map_lines == "in_order":
            program_cycles = program_cycles + self.far_cycles(p)
        core_ps = (self.around(p) + program_cycles) * (1e6 / float(p.clock_mhz))
        verdicts = self.run.rows[:, k.VERDICT]
        leaves = np.select([verdicts == VERDICTS.index("tx"), verdicts == VERDICTS.index("redirect")], [1, 2])
        columns = {
            "packet_bytes": self.frames(int(p.check_bytes)), TIME: np.round(core_ps).astype(np.int64),
            LEAVES: leaves.astype(np.int64),
        }  # fmt: skip
        if (classes := self.classes()) is not None:
            columns[CLASS] = classes
        return replace(self.load, columns=columns)

    def around(self, p: Parameters) -> npt.NDArray[np.float64]:
        """Return the driver's cycles for each packet, which depend on its verdict."""
        rows = self.run.rows
        cycles = np.zeros(len(rows))
        for number, (stack, program) in enumerate(BASE.values()):
            with_verdict = rows[:, k.VERDICT] == number
            never_read = program == "drop_read" and not rows[with_verdict, k.LINES_OF_PACKET].any()
            if with_verdict.any():
                cycles[with_verdict] = self.base(p.with_(stack=stack, program="drop" if never_read else program))
        return cycles


def on_server(
    design: Design, run: ProgramRun, capture: Capture, costs: CostTable, base: Callable[[Parameters], float],
    dress: Callable[[Parameters, Workload], Workload],
) -> Design:  # fmt: skip
    """Return the server whose cores run a program, with the packets of the program's run as its own workload.

    Raises RefusedError for a run with faults or without packets, InputError for an event without a cost.
    """
    load, cycles = packets_of("server", run, capture, costs)
    if (run.rows[:, k.VERDICT] == PASSED).any():
        assumption = "packets that it passes take the least that the kernel's stack takes"
        load = replace(load, assumption="; ".join(filter(None, (load.assumption, assumption))))
    packets = OnServer(run, load, costs, cycles, base, str(capture.path), dress)
    verdicts = set(run.verdicts)
    egress = "other_port" if "redirect" in verdicts else "same_port" if "tx" in verdicts else "none"

    return packets.on(design).with_(program="own", egress=egress)
