"""A packet program on the server's cores: a packet takes what its path costs, beside the driver's cost of its verdict.

time of a packet = driver(verdict) + sum over its path's events of (times x cost)     (programs/costs.py)

The driver's cycles are those measured of programs that do next to nothing: drop_read or drop (a packet that is not
looked at), tx, redirect. Costs are cycles: a core of another clock scales them. A packet that is passed goes on to the
kernel's stack, which takes at least what a drop at its first hook takes (drop_raw).
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

TIME, LEAVES = "program_ps", "leaves"  # columns: time on the core, how a packet leaves (0: not, 1: same card, 2: other)
MOST_PLAYED = 4096  # packets whose keys go through the caches
PASSED = VERDICTS.index("pass")
BASE = {"aborted": ("xdp", "drop_read"), "drop": ("xdp", "drop_read"), "pass": ("linux", "drop_raw"),
        "tx": ("xdp", "tx"), "redirect": ("xdp", "redirect")}  # fmt: skip


@dataclass(frozen=True, eq=False)
class OnServer(Running):
    """A run of a program as the server's packets: frames of the capture, with check bytes; cycles by path.

    base: parameters of the server -> cycles that the driver takes for a packet with them. dress: adds the queues that
    the packets go to.
    """

    base: Callable[[Parameters], float]
    source: str
    dress: Callable[[Parameters, Workload], Workload]

    def on(self, design: Design) -> Design:
        """Return a server with these packets as its own, and no others."""

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
        """Return the gain of other maps, by bounds; none where the capture's own keys go through the caches."""
        p = design.parameters
        if p.map_lines == "in_order":
            return ()
        now, changes = design.bounds().rate_pps, []
        for name, more in changed_cycles(self.run, self.costs, p).items():
            cycles = {path: each + more.get(path, 0.0) for path, each in self.cycles.items()}
            then = replace(self, cycles=cycles).on(design).bounds()
            changes.append(ProgramChange(name, then.rate_pps / now - 1, then.bottleneck))
        return tuple(changes)

    @cached_property
    def touches(self) -> tuple[Integers, Integers]:
        """Lines of maps that the first packets touch: packets, addresses."""
        packets = [frame for _, frame in islice(read_frames(self.source), MOST_PLAYED)]
        return map_touches(self.run.program, packets, self.run.before, self.run.fib)

    def far_cycles(self, p: Parameters) -> npt.NDArray[np.float64]:
        """Return the cycles that each packet's lines of maps take behind the first cache, the capture played again.

        Packets behind the first ones take the mean of those.
        """
        packets, addresses = self.touches
        count = min(len(self.run), MOST_PLAYED)
        level = caches(p).levels_of(Touches.of(np.tile(packets, 2), np.tile(addresses, 2)))[len(packets) :]
        cost = np.array([0.0, float(p.l2_cycles), float(p.l3_cycles), float(p.miss_cycles)])
        played = np.bincount(packets, cost[level], count)
        return np.concatenate([played, np.full(len(self.run) - count, played.mean())])

    def __call__(self, p: Parameters) -> Workload:
        """Return the packets with the time that each takes on a core of the server."""
        own = self.own_cycles()
        if p.branches == "in_order":
            own = own + self.mispredicted * self.costs.cycles({"branch_missed": 1.0})
        if p.map_lines == "in_order":
            own = own + self.far_cycles(p)
        ps = (self.around(p) + own) * (1e6 / float(p.clock_mhz))
        verdicts = self.run.rows[:, k.VERDICT]
        leaves = np.select([verdicts == VERDICTS.index("tx"), verdicts == VERDICTS.index("redirect")], [1, 2])
        columns = {
            "packet_bytes": self.frames(int(p.check_bytes)), TIME: np.round(ps).astype(np.int64),
            LEAVES: leaves.astype(np.int64),
        }  # fmt: skip
        if (classes := self.classes()) is not None:
            columns[CLASS] = classes
        return replace(self.load, columns=columns)

    def around(self, p: Parameters) -> npt.NDArray[np.float64]:
        """Return the driver's cycles of each packet, by its verdict."""
        rows = self.run.rows
        cycles = np.zeros(len(rows))
        for number, (stack, program) in enumerate(BASE.values()):
            mine = rows[:, k.VERDICT] == number
            unread = program == "drop_read" and not rows[mine, k.LINES_OF_PACKET].any()
            if mine.any():
                cycles[mine] = self.base(p.with_(stack=stack, program="drop" if unread else program))
        return cycles


def on_server(
    design: Design, run: ProgramRun, capture: Capture, costs: CostTable, base: Callable[[Parameters], float],
    dress: Callable[[Parameters, Workload], Workload],
) -> Design:  # fmt: skip
    """Return the server whose cores run a program, with the packets that the program has run on as its own.

    Raises RefusedError for a run with faults or without packets; InputError for an event without price.
    """
    load, cycles = packets_of("server", run, capture, costs)
    if (run.rows[:, k.VERDICT] == PASSED).any():
        passed = "packets that it passes take the least that the kernel's stack takes"
        load = replace(load, assumption="; ".join(filter(None, (load.assumption, passed))))
    packets = OnServer(run, load, costs, cycles, base, str(capture.path), dress)
    ways = set(run.verdicts)
    egress = "other_port" if "redirect" in ways else "same_port" if "tx" in ways else "none"

    return packets.on(design).with_(program="own", egress=egress)
