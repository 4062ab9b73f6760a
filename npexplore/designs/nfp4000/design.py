"""What an NFP-4000 card does with a packet: port, a thread of a microengine, commands to memories, words of maps.

rate = min(port, cores x clock / (packet_cycles + program's cycles), words of maps a second / words a packet)
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from npexplore._kernels import ebpf as k
from npexplore.designs.base import Design
from npexplore.designs.running import Running, packets_of
from npexplore.errors import RefusedError
from npexplore.machine.machine import Machine, Pool
from npexplore.machine.parameters import Parameters
from npexplore.machine.program import Packet, Recorder
from npexplore.machine.resources import Delay, FifoServer, Processor
from npexplore.machine.resources.base import Resource
from npexplore.machine.resources.ingress import Ingress
from npexplore.machine.workload import CLASS, Workload
from npexplore.rows.expressions import maximum

if TYPE_CHECKING:
    from npexplore.packets import Capture
    from npexplore.programs import CostTable, ProgramRun

PS, KB = 1e-12, 2**10
CELL = 64  # bytes in which the receive buffer is counted
PROGRAM, COMMANDS, READS, ADDS = (
    "program_ticks",
    "commands",
    "map_reads",
    "map_adds",
)  # columns of a program's packets; ticks of 1 ps
WAITS = ("read.packet", "write.packet", "read.map", "write.map")


def build(p: Parameters) -> Machine:
    """Return the card: the port, its microengines with their threads, the time of commands, the memory of maps."""
    cores, cycle_ps = int(p.cores), 1e6 / float(p.clock_mhz)
    byte_ps, least_ps = round(8e3 / float(p.port_gbps)), round(1e6 / float(p.port_mpps))
    read_ps, add_ps = round(1e6 / float(p.reads_mps)), round(1e6 / float(p.adds_mps))
    around, command = float(p.packet_cycles) * cycle_ps, round(float(p.command_cycles) * cycle_ps)
    paced = p.receive == "paced"
    resources: list[Resource] = [
        Processor("port", 1, 1 / PS), Processor("core", cores, 1 / PS), Delay("commands"), Processor("maps", 1, 1 / PS)
    ]  # fmt: skip
    if paced:
        resources.append(FifoServer("pace", round(float(p.pace_cycles) * cycle_ps) * PS, units=cores))

    def handle(m: Recorder, packet: Packet) -> None:
        own = PROGRAM in packet
        m.port.compute(cycles=maximum((packet.packet_bytes + int(p.gap_bytes)) * byte_ps, least_ps))
        if paced:
            m.pace.serve()
        m.core.compute(
            cycles=packet.program_ticks + round(around) if own else round(around + float(p.program_cycles) * cycle_ps)
        )
        m.commands.wait(seconds=(packet.commands if own else int(p.commands)) * (command * PS))
        reads, adds = (packet.map_reads, packet.map_adds) if own else (int(p.map_reads), int(p.map_adds))
        if own or reads or adds:
            m.maps.compute(cycles=reads * read_ps + adds * add_ps)
        m.receive.free(bytes=packet.packet_bytes)

    return Machine(
        p.file.name, Pool("thread", cores * int(p.threads), handle, home="core"),
        Ingress("receive", int(p.buffer_kb) * KB, CELL), {one.name: one for one in resources}, counted="frame bytes",
        facts=p,
    )  # fmt: skip


@dataclass(frozen=True, eq=False)
class OnCard(Running):
    """A run of a program as the card's packets; demands: of a packet of each path, by column."""

    demands: dict[str, npt.NDArray[np.int64]]

    def __call__(self, p: Parameters) -> Workload:
        """Return the packets with the time that each takes on a microengine, its commands and its words of maps."""
        ps = np.round(self.own_cycles() * (1e6 / float(p.clock_mhz))).astype(np.int64)
        paths = self.run.rows[:, k.PATH]
        columns = {"packet_bytes": self.frames(int(p.check_bytes)), PROGRAM: ps}
        columns |= {name: by_path[paths] for name, by_path in self.demands.items()}
        if (classes := self.classes()) is not None:
            columns[CLASS] = classes
        return replace(self.load, columns=columns)

    def around(self, p: Parameters) -> npt.NDArray[np.float64]:
        """Return the cycles around the program, of every packet alike."""
        return np.full(len(self.run), float(p.packet_cycles))


def nfp4000() -> Design:
    """Return the card of which J. Krude et al. measured paths of programs."""
    return replace(Design.of("nfp4000", build), runs=on_card, costs="nfp4000")


def on_card(design: Design, run: ProgramRun, capture: Capture, costs: CostTable) -> Design:
    """Return the card whose microengines run a program, with the packets that it has run on as its own.

    Raises RefusedError for a run with faults, without packets, or of what the card's compiler does not take.
    """
    if costs.counts != "microengine":
        raise RefusedError(f"nfp4000: cost table {costs.name!r} counts eBPF instructions, not those of a microengine")
    load, cycles = packets_of("nfp4000", run, capture, costs)
    events = costs.events_of(run)
    counted = {COMMANDS: WAITS, READS: ("read_word", "write_word"), ADDS: ("add_word",)}
    demands = {
        column: np.array([round(sum(events[path].get(name, 0) for name in names)) for path in sorted(events)])
        for column, names in counted.items()
    }
    packets = OnCard(run, load, costs, cycles, demands)

    def only_these(p: Parameters, other: Workload) -> Workload:
        if PROGRAM not in other.columns:
            raise RefusedError(f"nfp4000: {run.program.name} was run on {capture.path}; run it on other packets first")
        return other

    return replace(replace(design, own=packets, dress=only_these), program=packets)
