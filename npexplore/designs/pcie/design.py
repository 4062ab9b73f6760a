"""A device's reads and writes of a host's memory over PCI Express, one after the other by each worker (pcie-bench).

A read: descriptor, a place among the reads in flight, request up, memory of the host (its cache, another socket, the
page tables), completions down, and the device moves the data. A write: the device moves the data and makes packets of
it, one write after the other, and the packets go up.
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
READ_PARAMETERS = {  # host -> sockets of memory and process -> parameter with the latency of a lone read
    "bdw2630": {(0, 0): LOCAL, (0, 1): CROSSED, (1, 0): LOCAL, (1, 1): REMOTE},
    "hsw1226": {(0, 0): "read_ns_hsw1226"},
    "hsw2620": {(0, 0): LOCAL},
    "hsw2637": {(0, 0): "read_ns_hsw2637"},
    "ivb2620": {(0, 0): LOCAL, (1, 1): REMOTE},
    "snb2630": {(0, 0): LOCAL},
}


def payload(p: Parameters) -> int:
    """Return the largest payload of the host, in bytes."""
    return int(p[f"payload_{p.host}"])


def link(p: Parameters, generation: int, lanes: int) -> Part:
    """Return the link of the host."""
    return part(
        "pcie_wires", "link", generation=generation, lanes=lanes, payload_bytes=payload(p),
        request_bytes=p[f"request_{p.host}"], ack_every=_ack_bytes(p),
    )  # fmt: skip


def _ack_bytes(p: Parameters) -> int:
    """Return the bytes in which one acknowledgement and one flow-control update are sent."""
    return int(p.ack_bytes_128 if payload(p) == SHORT_PAYLOAD else p.ack_bytes_256)


@cache
def _wires(size: int, ack_bytes: int, line: int) -> float:
    """Return the time of a read of a line on the wires of the measured links: third generation, eight lanes."""
    p = part("pcie_wires", "link", generation=3, lanes=8, payload_bytes=size, ack_every=ack_bytes)
    head, up, answer, down = (
        float(getattr(p.parameters, name)) for name in ("write_bytes", "up_byte_s", "completion_bytes", "down_byte_s")
    )
    return head * up + (line + answer) * down


def host_s(p: Parameters) -> float:
    """Return what the host alone adds to a read of a line that its cache has; raises ModelError if never measured."""
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
    """Return the share of lines that come from the host's memory."""
    if p.cache == "cold":
        return 1.0
    return max(0.0, 1 - float(p[f"l3_{p.host}"]) * MB / int(p.window_bytes))


def walks(p: Parameters) -> float:
    """Return the share of transfers whose page the address translation does not keep."""
    if p.iommu == "off":
        return 0.0
    page = LARGE_PAGE if p.iommu == "large" else PAGE
    return max(0.0, 1 - int(p.translations) * page / int(p.window_bytes))


def completions(p: Parameters, size: Operand) -> Expression:
    """Return in how many completions a host answers a read."""
    p.assume("completions")
    lines = ceildiv(size, p.line_bytes)
    whole = ceildiv(size, payload(p))
    short = lines if p.op == "both" else 1 + ceildiv(lines - 1, 2)
    longest = 4 * payload(p) if p.op == "both" else payload(p) + int(p.line_bytes)
    longer = minimum(size // (longest + 1), 1)
    return longer * whole + (1 - longer) * short


def sending(p: Parameters, size: Operand) -> Expression:
    """Return the picoseconds in which the device moves a write's data and headers.

    A header takes a line's time; the last of several packets takes two at least.
    """
    p.assume("header_lines")
    further = ceildiv(size, payload(p)) - 1
    byte, line = ps(float(p.move_ns_a_line) / int(p.line_bytes)), ps(float(p.move_ns_a_line))
    last = (size - further * payload(p)) * byte
    short = minimum(further, 1) * maximum(2 * line - last, 0)
    return maximum(size * byte + line, ps(float(p.write_ns))) + short


def ps(ns: float) -> int:
    """Return whole picoseconds."""
    return round(ns * 1000)


def resources(p: Parameters) -> list[Resource]:
    """Return the link, the device's engines and the host's page walkers; the taker computes in picoseconds."""
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
    far, missed, walked = host_s(p), misses(p), walks(p)
    engines = {one.name: one for one in resources(p)}

    def translate(m: Recorder) -> None:
        if walked:
            with m.branch(walked, "page"):
                m.host.wait(seconds=float(p.find_ns) * NS)
                m.walker.serve()

    def read(m: Recorder, size: Expression) -> None:
        pieces = m.let(completions(p, size))
        m.device.wait(seconds=float(p.queue_ns) * NS)
        m.link.ask(bytes=size, more=pieces * p.ack_bytes_each if p.op == "both" else 0)
        held = m.take("reads")
        m.host.wait(seconds=far)
        if missed:
            with m.branch(missed, "cache"):
                m.host.wait(seconds=float(p.miss_ns) * NS)
        translate(m)
        m.link.answer(bytes=size, pieces=pieces)
        m.taker.compute(cycles=pieces * ps(p.arrive_ns) + ceildiv(size, p.line_bytes) * ps(p.move_ns_a_line))
        m.give(held)

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
    """Return transfers with the direction of each, where a device reads and writes by turns.

    Raises ModelError for a transfer that is longer than the host's buffer.
    """
    if load.packet_bytes.max() > int(p.window_bytes):
        raise ModelError(f"window_bytes must hold a transfer of {load.packet_bytes.max()}, got {p.window_bytes}")
    if p.op != "both":
        return load
    columns = {name: np.repeat(column, 2) for name, column in load.columns.items()}
    reads = np.arange(2 * len(load.packet_bytes)) % 2
    alike = len(np.unique(load.packet_bytes)) == 1  # their order is all there is to shuffle
    return replace(load, columns=columns | {"reads": reads}, ordered=alike or load.ordered)


def pcie() -> Design:
    """Return the device and the host that were measured with most care."""
    return Design.of("pcie", build, dress=by_turns)
