"""A device's reads and writes of a host's memory over PCI Express; each worker does one at a time (pcie-bench).

A read takes a descriptor and a place among the reads in flight, sends a request up, waits for the host's memory (its
cache, another socket, the page tables), receives completions, and the device moves the data. For a write, the device
moves the data and splits it into packets, one write after another, and the packets go up.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np

from npexplore.designs.base import Design
from npexplore.errors import ModelError
from npexplore.machine.described.parts import Part, part
from npexplore.machine.machine import Machine, Pool
from npexplore.machine.parameters import Parameters
from npexplore.machine.program import Packet, Recorder
from npexplore.machine.resources import Delay, FifoServer, Processor
from npexplore.machine.resources.base import Resource
from npexplore.machine.resources.ingress import Ingress
from npexplore.machine.workload import Workload
from npexplore.rows.expressions import Expression, Operand, ceildiv, maximum, minimum

NS, PS = 1e-9, 1e-12
MB, PAGE, LARGE_PAGE = 2**20, 2**12, 2**21  # bytes
SHORT_PAYLOAD = 128
ROOM = 2**22  # bytes of transfers that may wait for a worker
LOCAL, REMOTE, CROSSED = "read_ns_local", "read_ns_remote", "read_ns_crossed"
READ_PARAMETERS = {  # host -> (socket of memory, socket of process) -> parameter with the latency of a single read
    "bdw2630": {(0, 0): LOCAL, (0, 1): CROSSED, (1, 0): LOCAL, (1, 1): REMOTE},
    "hsw1226": {(0, 0): "read_ns_hsw1226"},
    "hsw2620": {(0, 0): LOCAL},
    "hsw2637": {(0, 0): "read_ns_hsw2637"},
    "ivb2620": {(0, 0): LOCAL, (1, 1): REMOTE},
    "snb2630": {(0, 0): LOCAL},
}


def payload(p: Parameters) -> int:
    """Return the host's maximum payload size, in bytes."""
    return int(p[f"payload_{p.host}"])


def link(p: Parameters, generation: int, lanes: int) -> Part:
    """Return the host's link."""
    return part(
        "pcie_wires", "link", generation=generation, lanes=lanes, payload_bytes=payload(p),
        request_bytes=p[f"request_{p.host}"], ack_every=_ack_bytes(p),
    )  # fmt: skip


def _ack_bytes(p: Parameters) -> int:
    """Return the transferred bytes per acknowledgement and flow-control update."""
    return int(p.ack_bytes_128 if payload(p) == SHORT_PAYLOAD else p.ack_bytes_256)


@cache
def _wires(size: int, ack_bytes: int, line: int) -> float:
    """Return the wire time of reading a line over the measured links (generation 3, eight lanes), in seconds."""
    p = part("pcie_wires", "link", generation=3, lanes=8, payload_bytes=size, ack_every=ack_bytes)
    write_bytes, up_byte_s, completion_bytes, down_byte_s = (
        float(getattr(p.parameters, name)) for name in ("write_bytes", "up_byte_s", "completion_bytes", "down_byte_s")
    )
    return write_bytes * up_byte_s + (line + completion_bytes) * down_byte_s


def host_s(p: Parameters) -> float:
    """Return the host's part of the latency of reading a cached line, in seconds.

    Raises ModelError for sockets without a measurement, and for latencies shorter than device and link alone.
    """
    sockets = int(p.memory_socket), int(p.control_socket)
    if sockets not in READ_PARAMETERS[str(p.host)]:
        raise ModelError(
            f"host {p.host} was not measured with memory_socket={sockets[0]} and control_socket={sockets[1]}"
        )
    name = READ_PARAMETERS[str(p.host)][sockets]
    wires = _wires(payload(p), _ack_bytes(p), int(p.line_bytes))
    device = float(p.queue_ns) + float(p.arrive_ns) + float(p.move_ns_a_line)
    if (read := float(p[name])) < device + wires / NS:
        raise ModelError(
            f"{name} must be at least {device + wires / NS:.5g} ns, what the device (queue_ns, arrive_ns, "
            f"move_ns_a_line) and the link take of it, got {read:g}"
        )
    return (read - device) * NS - wires


def misses(p: Parameters) -> float:
    """Return the share of lines that the host reads from memory instead of its cache."""
    if p.cache == "cold":
        return 1.0
    return max(0.0, 1 - float(p[f"l3_{p.host}"]) * MB / int(p.window_bytes))


def walks(p: Parameters) -> float:
    """Return the share of transfers that miss the address translation cache."""
    if p.iommu == "off":
        return 0.0
    page = LARGE_PAGE if p.iommu == "large" else PAGE
    return max(0.0, 1 - int(p.translations) * page / int(p.window_bytes))


def completions(p: Parameters, size: Operand) -> Expression:
    """Return the number of completions with which a host answers a read."""
    p.assume("completions")
    lines = ceildiv(size, p.line_bytes)
    full_count = ceildiv(size, payload(p))
    short_count = lines if p.op == "both" else 1 + ceildiv(lines - 1, 2)
    longest_short = 4 * payload(p) if p.op == "both" else payload(p) + int(p.line_bytes)
    is_long = minimum(size // (longest_short + 1), 1)
    return is_long * full_count + (1 - is_long) * short_count


def sending(p: Parameters, size: Operand) -> Expression:
    """Return the time in which the device moves a write's data and headers, in picoseconds.

    A header takes the time of a line; the last of several packets takes at least two lines' time.
    """
    p.assume("header_lines")
    further_packets = ceildiv(size, payload(p)) - 1
    byte_ps, line_ps = ps(float(p.move_ns_a_line) / int(p.line_bytes)), ps(float(p.move_ns_a_line))
    last_ps = (size - further_packets * payload(p)) * byte_ps
    extra_ps = minimum(further_packets, 1) * maximum(2 * line_ps - last_ps, 0)
    return maximum(size * byte_ps + line_ps, ps(float(p.write_ns))) + extra_ps


def ps(ns: float) -> int:
    """Return nanoseconds as whole picoseconds."""
    return round(ns * 1000)


def resources(p: Parameters) -> list[Resource]:
    """Return the link, the device's engines and the host's page walkers; writer and taker count picoseconds."""
    return [
        link(p, int(p.generation), int(p.lanes)),
        Delay("device"),
        Delay("host"),
        FifoServer("reads", 0.0, units=int(p.reads_in_flight)),
        FifoServer("walker", float(p.walk_ns) * NS, units=int(p.walkers)),
        Processor("writer", 1, 1 / PS),
        Processor("taker", 1, 1 / PS),
    ]


def build(p: Parameters) -> Machine:
    """Return the device, its link and its host; raises ModelError for a socket without a measurement."""
    p.assume("one_after_another")
    p.assume("random_units")
    host_latency_s, miss_share, walk_share = host_s(p), misses(p), walks(p)
    engines = {resource.name: resource for resource in resources(p)}

    def translate(m: Recorder) -> None:
        if walk_share:
            with m.branch(walk_share, "page"):
                m.host.wait(seconds=float(p.find_ns) * NS)
                m.walker.serve()

    def read(m: Recorder, size: Expression) -> None:
        pieces = m.let(completions(p, size))
        m.device.wait(seconds=float(p.queue_ns) * NS)
        m.link.ask(bytes=size, more=pieces * p.ack_bytes_each if p.op == "both" else 0)
        read_slot = m.take("reads")
        m.host.wait(seconds=host_latency_s)
        if miss_share:
            with m.branch(miss_share, "cache"):
                m.host.wait(seconds=float(p.miss_ns) * NS)
        translate(m)
        m.link.answer(bytes=size, pieces=pieces)
        m.taker.compute(cycles=pieces * ps(p.arrive_ns) + ceildiv(size, p.line_bytes) * ps(p.move_ns_a_line))
        m.give(read_slot)

    def write(m: Recorder, size: Expression) -> None:
        m.device.wait(seconds=float(p.post_ns) * NS)
        m.writer.compute(cycles=sending(p, size))
        m.link.post(bytes=size, between_s=float(p.between_ns) * NS)
        translate(m)

    def transfer(m: Recorder, packet: Packet) -> None:
        size = packet.packet_bytes
        m.receive.free(bytes=size)
        if p.op == "both":
            with m.branch(packet.reads == 1):
                read(m, size)
            with m.otherwise():
                write(m, size)
            return
        if p.op != "read":
            write(m, size)
        if p.op != "write":
            read(m, size)

    return Machine(
        p.file.name, Pool("worker", p.workers, transfer), Ingress("receive", ROOM, 1), engines,
        counted="transfer bytes", facts=p,
    )  # fmt: skip


def by_turns(p: Parameters, load: Workload) -> Workload:
    """Return transfers; with op `both`, each becomes a write and a read, marked by the column `reads`.

    Raises ModelError for a transfer that is longer than the host's buffer.
    """
    if load.packet_bytes.max() > int(p.window_bytes):
        raise ModelError(f"window_bytes must hold a transfer of {load.packet_bytes.max()}, got {p.window_bytes}")
    if p.op != "both":
        return load
    columns = {name: np.repeat(column, 2) for name, column in load.columns.items()}
    reads = np.arange(2 * len(load.packet_bytes)) % 2
    equal_sizes = len(np.unique(load.packet_bytes)) == 1  # shuffling would only mix reads and writes
    return replace(load, columns=columns | {"reads": reads}, ordered=equal_sizes or load.ordered)


def pcie() -> Design:
    """Return the device with the host that was measured in most detail."""
    return Design.of("pcie", build, dress=by_turns)
