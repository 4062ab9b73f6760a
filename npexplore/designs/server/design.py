"""A server's packet path: card, PCIe link to the host, ring, core, and back to a card.

rate = min(wire, link up and down, cores x clock / cycles), cycles = program x sharing + misses x memory. The cycles of
one core are calibrated for each program; a user's program has its own cycles.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from npexplore.designs.base import Design
from npexplore.designs.server.caches import caches, ring_miss
from npexplore.designs.server.cycles import KERNELS, cycles
from npexplore.designs.server.programs import TIME, on_server
from npexplore.errors import ModelError
from npexplore.machine.described.parts import part
from npexplore.machine.machine import Machine, Pool
from npexplore.machine.parameters import Parameters
from npexplore.machine.program import Packet, Recorder
from npexplore.machine.resources import Delay, FifoServer, Processor
from npexplore.machine.resources.base import Resource
from npexplore.machine.resources.ingress import Ingress
from npexplore.machine.steering import fullest, hashed, steered, taken
from npexplore.machine.workload import Workload
from npexplore.reads import aside
from npexplore.rows.expressions import maximum

if TYPE_CHECKING:
    from npexplore.packets import Capture
    from npexplore.programs import CostTable, ProgramRun

PS = 1e-12  # processors compute in picoseconds
UNDER_WAY_PER_CORE = 8  # packets in progress per core, at most: enough to keep all cores busy with any mix
MIN_UNDER_WAY = 32  # packets in progress in a server of few cores, at most
UNREAD = ("drop",)  # programs that never read a packet


def packet_miss(p: Parameters) -> float:
    """Return the share of packets that are in no cache when a core reads them."""
    if p.stack != "xdp" or p.program in UNREAD or p.striding == "on":
        return 0.0
    p.assume("pages")
    return ring_miss(p)


def completions(p: Parameters) -> float:
    """Return completion writes per packet, in whole completions: one, or a packet's share of a compressed block."""
    if p.stack != "dpdk" and p.cqe_compress == "off":
        return 1.0
    block = int(p.block)
    return (1 + -(-(block - 1) * int(p.mini_bytes) // int(p.cqe_bytes))) / block  # a whole one, then short ones


def _possible(p: Parameters) -> None:
    """Raise ModelError for impossible cache sizes, unknown kernels, and short completions longer than whole ones."""
    unread = p.with_()  # a copy: these checks do not mark parameters as read
    with aside():
        caches(unread)
        if unread.kernel not in KERNELS:
            raise ModelError(f"kernel must be one that was measured, 4.18 or 4.19, got {unread.kernel}")
        if int(unread.mini_bytes) > int(unread.cqe_bytes):
            raise ModelError(f"mini_bytes must be at most cqe_bytes = {unread.cqe_bytes}, got {unread.mini_bytes}")


def build(p: Parameters) -> Machine:
    """Return the server; raises ModelError for a program without a measurement and for impossible sizes."""
    _possible(p)
    cores, cycle_ps = int(p.cores), 1e6 / float(p.clock_mhz)
    program_cycles, miss_share = cycles(p), packet_miss(p)  # with a packet program, columns replace them
    byte_ps = 8e3 / float(p.port_gbps)
    min_frame_ps = 1e6 / float(p.generated_mpps) if p.generated_mpps else 0.0
    if p.nic == "xl710":
        min_frame_ps = max(min_frame_ps, program_cycles * cycle_ps)  # the card is the bottleneck, not the core
    cards = ["rx", "tx"] if p.egress == "other_port" else ["rx"]
    links = [
        part(
            "pcie_wires", card, generation=3, lanes=p.pcie_lanes, payload_bytes=p.payload_bytes,
            request_bytes=p.request_bytes,
        )
        for card in cards
    ]  # fmt: skip
    report_share, batch, cqe = completions(p), int(p.poll_packets), int(p.cqe_bytes)
    hash_ = p.steering == "hash"  # each core has its own queue, instead of a common one
    per_core = {"members": cores} if hash_ else {"units": cores}
    resources: list[Resource] = [Processor("ethernet", 1, 1 / PS), *links, FifoServer("core", 0.0, **per_core)]
    resources += [Delay("work"), FifoServer("ring_misses", round(int(p.miss_cycles) * cycle_ps) * PS, **per_core)]

    def handle(m: Recorder, packet: Packet) -> None:
        frame, data = packet.packet_bytes, packet.packet_bytes - int(p.check_bytes)
        m.ethernet.compute(cycles=maximum((frame + int(p.gap_bytes)) * round(byte_ps), round(min_frame_ps)))
        m.rx.packet_in(bytes=data, posted=int(p.wqe_bytes) * batch, share=1 / batch, told=cqe, reports=report_share)
        own_queue = {"member": packet.queue} if hash_ else {}
        core_hold = m.take("core", **own_queue)
        m.work.wait(seconds=(packet.program_ps if TIME in packet else round(program_cycles * cycle_ps)) * PS)
        if miss_share:
            with m.branch(miss_share, "miss"):
                m.ring_misses.serve(**own_queue)  # wait for a packet that full rings evicted from the cache
        m.give(core_hold)
        m.receive.free(bytes=frame)
        posted = {"posted": int(p.send_wqe_bytes) * batch, "share": 1 / batch, "told": cqe, "reports": 1 / batch}
        if TIME in packet:
            for card_number, card in enumerate(cards, 1):
                with m.branch(packet.leaves == card_number, f"leaves by {card}"):
                    getattr(m, card).packet_out(bytes=data, **posted)
        elif p.egress != "none":
            with m.sending() as sent:
                getattr(m, cards[-1]).packet_out(bytes=sent - int(p.check_bytes), **posted)

    return Machine(
        p.file.name, Pool("packet", max(cores * UNDER_WAY_PER_CORE, MIN_UNDER_WAY), handle),
        Ingress("receive", cores * int(p.ring) * int(p.buffer_bytes), int(p.buffer_bytes)),
        {resource.name: resource for resource in resources}, counted="frame bytes", facts=p,
    )  # fmt: skip


def in_buffers(p: Parameters, load: Workload) -> Workload:
    """Return frames, assigned to queues if steered; raises ModelError for one that is empty or exceeds its buffer."""
    shortest, longest = (
        int(frame_bytes) - int(p.check_bytes) for frame_bytes in (load.packet_bytes.min(), load.packet_bytes.max())
    )
    if shortest < 1:
        raise ModelError(
            f"check_bytes must leave a byte of a frame of {shortest + int(p.check_bytes)}, got {p.check_bytes}"
        )
    if p.striding == "off" and longest > int(p.buffer_bytes):
        raise ModelError(f"buffer_bytes must hold a frame's {longest} without check bytes, got {p.buffer_bytes}")
    return load if p.steering == "even" else _steered(p, load)


def _steered(p: Parameters, load: Workload) -> Workload:
    """Return packets with the queue that their flow hashes to; a note compares the fullest queue with other flows'."""
    flows, cores, skew, entries = int(p.flows), int(p.cores), float(p.flow_skew), int(p.hash_entries)
    shares, usual_fullest = hashed(flows, cores, skew, int(p.flow_set), entries), fullest(flows, cores, skew, entries)
    note = (
        f"of {cores} queues the fullest gets {max(shares):.1%} of the packets of {flows:,} flows (mean of random "
        f"flows: {usual_fullest.mean:.1%}, one set of 20 has {usual_fullest.q95:.1%} or more)"
    )
    if mpps := float(p.generated_mpps):
        note += f"; of {mpps:g} Mpps cores take {taken(float(p.clock_mhz) / cycles(p), mpps, shares):.4g} with losses"
    return steered(load, shares, note)


def server() -> Design:
    """Return the server on which the authors of XDP measured."""
    machine = Design.of("server", build, dress=in_buffers)
    return replace(machine, runs=_running)


def _running(design: Design, run: ProgramRun, capture: Capture, costs: CostTable) -> Design:
    return on_server(design, run, capture, costs, cycles, in_buffers)
