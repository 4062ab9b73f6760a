"""An NFP-4000 card that runs a packet program: port, microengine thread, memory commands and map accesses of a packet.

rate = min(port, cores x clock / (packet_cycles + program's cycles), map words per second / map words per packet)
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
CELL = 64  # bytes of a receive buffer cell
PROGRAM, COMMANDS, READS, ADDS = (
    "program_ticks",
    "commands",
    "map_reads",
    "map_adds",
)  # columns of packets with a program; a tick is 1 ps
WAITS = ("read.packet", "write.packet", "read.map", "write.map")


def build(p: Parameters) -> Machine:
    """Return the card: port, microengines with threads, memory commands (a delay) and the memory of maps."""
    cores, cycle_ps = int(p.cores), 1e6 / float(p.clock_mhz)
    byte_ps, min_frame_ps = round(8e3 / float(p.port_gbps)), round(1e6 / float(p.port_mpps))
    read_ps, add_ps = round(1e6 / float(p.reads_mps)), round(1e6 / float(p.adds_mps))
    around_ps, command_ps = float(p.packet_cycles) * cycle_ps, round(float(p.command_cycles) * cycle_ps)
    paced = p.receive == "paced"
    resources: list[Resource] = [
        Processor("port", 1, 1 / PS), Processor("core", cores, 1 / PS), Delay("commands"), Processor("maps", 1, 1 / PS)
    ]  # fmt: skip
    if paced:
        resources.append(FifoServer("pace", round(float(p.pace_cycles) * cycle_ps) * PS, units=cores))

    def handle(m: Recorder, packet: Packet) -> None:
        has_program = PROGRAM in packet
        m.port.compute(cycles=maximum((packet.packet_bytes + int(p.gap_bytes)) * byte_ps, min_frame_ps))
        if paced:
            m.pace.serve()
        m.core.compute(
            cycles=packet.program_ticks + round(around_ps)
            if has_program
            else round(around_ps + float(p.program_cycles) * cycle_ps)
        )
        m.commands.wait(seconds=(packet.commands if has_program else int(p.commands)) * (command_ps * PS))
        reads, adds = (packet.map_reads, packet.map_adds) if has_program else (int(p.map_reads), int(p.map_adds))
        if has_program or reads or adds:
            m.maps.compute(cycles=reads * read_ps + adds * add_ps)
        m.receive.free(bytes=packet.packet_bytes)

    return Machine(
        p.file.name, Pool("thread", cores * int(p.threads), handle, home="core"),
        Ingress("receive", int(p.buffer_kb) * KB, CELL), {unit.name: unit for unit in resources}, counted="frame bytes",
        facts=p,
    )  # fmt: skip


@dataclass(frozen=True, eq=False)
class OnCard(Running):
    """A program's run as the card's packets; demands: by column, the value for a packet of each path."""

    demands: dict[str, npt.NDArray[np.int64]]

    def __call__(self, p: Parameters) -> Workload:
        """Return the packets with their time on a microengine, their commands and their map accesses as columns."""
        program_ps = np.round(self.own_cycles() * (1e6 / float(p.clock_mhz))).astype(np.int64)
        paths = self.run.rows[:, k.PATH]
        columns = {"packet_bytes": self.frames(int(p.check_bytes)), PROGRAM: program_ps}
        columns |= {name: by_path[paths] for name, by_path in self.demands.items()}
        if (classes := self.classes()) is not None:
            columns[CLASS] = classes
        return replace(self.load, columns=columns)

    def around(self, p: Parameters) -> npt.NDArray[np.float64]:
        """Return the cycles per packet outside the program, which are the same for all packets."""
        return np.full(len(self.run), float(p.packet_cycles))


def nfp4000() -> Design:
    """Return the card on which J. Krude et al. measured paths of programs."""
    return replace(Design.of("nfp4000", build), runs=on_card, costs="nfp4000")


def on_card(design: Design, run: ProgramRun, capture: Capture, costs: CostTable) -> Design:
    """Return the card whose microengines run a program, with the packets of the program's run as its own workload.

    Raises RefusedError for a run with faults or without packets, and for a cost table of another instruction set.
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
