"""Describes each resource kind as a line: service, rest, servers, places. `line.py` has the formulas."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from npexplore.machine.described.defaults import kind_of
from npexplore.machine.described.parts import Part
from npexplore.machine.described.steps import DRAWN
from npexplore.machine.lone import unloaded_visit
from npexplore.machine.program import visit
from npexplore.machine.resources import (
    Accelerator,
    Arbiter,
    BufferPool,
    FifoServer,
    LineCard,
    Mesh,
    Processor,
    StaticStreams,
    WordMemory,
)
from npexplore.machine.resources.base import OwnFaces, Resource, Server
from npexplore.study.laboratory.lone import LoneResource
from npexplore.study.laboratory.theory.line import Line

Operands = Mapping[str, Any]


def line_of(lone: LoneResource) -> Line | None:
    """Return the line that describes a resource alone; None if the resource or its operands make no line."""
    operands, resource = {name: lone.number(name) for name in lone.operands}, lone.resource
    if any(isinstance(value, str) and value.partition(":")[0] not in DRAWN for value in operands.values()):
        return None
    if isinstance(resource, Part):
        line_of_part = PARTS.get((kind_of(resource), lone.visit))
        return None if line_of_part is None else line_of_part(resource.parameters, operands)
    return LINES.get(type(resource), _one_server)(resource, operands, lone)


def _one_server(one: Resource, v: Operands, lone: LoneResource) -> Line | None:
    """Return the line of a kind without a formula here: one server, held once for the recorded time of a visit."""
    if isinstance(one, OwnFaces) or one.servers() != [Server(one.name)]:
        return None
    unloaded = unloaded_visit(visit(one, lone.visit, **v))
    if len(unloaded.holds) != 1 or unloaded.holds[0].visits != 1:
        return None
    held_s = float(unloaded.holds[0].seconds)
    return Line(held_s, held_s**2 + float(unloaded.holds[0].variance or 0.0), float(unloaded.latency) - held_s)


def _up(amount: float, step: float) -> int:
    return int(-(-amount // step))


def _server(one: FifoServer, v: Operands, lone: LoneResource) -> Line | None:
    square = one.service**2 if one.random is None else one.random.moments()[1]
    member = v.get("member", 0)
    if one.members == 1 or not isinstance(member, str):  # all visits use one member
        return Line(one.service, square, 0.0, one.units)
    has_result = one.units == 1 and member in ("random", "round_robin")
    return Line(one.service, square, 0.0, one.members, member == "random") if has_result else None


def _memory(one: WordMemory, v: Operands, lone: LoneResource) -> Line | None:
    if one.select not in ("in_turn", "random"):
        return None
    service = _up(v["bytes"], one.burst_bytes) * one.burst * one.word + one.command
    return Line.constant(service, one.latency, one.channels, one.select == "random")


def _accelerator(one: Accelerator, v: Operands, lone: LoneResource) -> Line | None:
    rest = one.rest + v.get("words", 0) * one.word
    return None if one.members > 1 else Line.constant(one.interval, rest, room=one.window)


def _arbiter(one: Arbiter, v: Operands, lone: LoneResource) -> Line | None:
    return (
        Line.constant(lone.parameters["interval_s"]) if set(lone.parameters) <= {"requesters", "interval_s"} else None
    )


def _processor(one: Processor, v: Operands, lone: LoneResource) -> Line | None:
    plain = set(lone.parameters) <= {"engines", "clock_hz"} and lone.parameters["engines"] == 1
    return Line.constant(v["cycles"] / lone.parameters["clock_hz"]) if plain else None


def _line_card(one: LineCard, v: Operands, lone: LoneResource) -> Line | None:
    plain = set(lone.parameters) <= {"bytes_per_s", "gap_bytes"}
    wire = v["bytes"] + lone.parameters["gap_bytes"]
    return Line.constant(wire / lone.parameters["bytes_per_s"]) if plain else None


def _pool(one: BufferPool, v: Operands, lone: LoneResource) -> Line:
    assert lone.held_s is not None
    return Line.constant(lone.held_s, 0.0, lone.parameters["count"])


def _mesh(one: Mesh, v: Operands, lone: LoneResource) -> Line | None:
    if not all(isinstance(v[name], int) for name in ("source", "target", "words")) or lone.visit != "deliver":
        return None
    p = lone.parameters
    cycle, header, hop = 1 / p["clock_hz"], p.get("header_words", 1), p.get("hop_cycles", 1)
    links = one.grid.apart(one.grid.home[v["source"]], one.grid.home[v["target"]]) + 2
    service = (v["words"] + header) * cycle
    return Line.constant(service, (links * hop - 1) * cycle)


def _streams(one: StaticStreams, v: Operands, lone: LoneResource) -> Line | None:
    """Return the line of one path, or of a switch that all paths cross without changes of route; service: its words."""
    trees = one.trees if isinstance(v["path"], str) else one.trees[v["path"] : v["path"] + 1]
    hops = sum(tree.depth(tree.targets[0]) for tree in trees) / len(trees)
    common_tiles = [tile for tile in one.crossings if all(tile in tree.before for tree in trees)]
    drawn = v["path"] in ("random", "round_robin") and not one.change and len(common_tiles) == 1
    if lone.visit != "stream" or one.turns or not (len(trees) == 1 or drawn):
        return None
    return Line.constant(v["words"] * one.cycle, (hops + 2) * one.hop * one.cycle)


LINES: dict[type[Any], Callable[[Any, Operands, LoneResource], Line | None]] = {
    FifoServer: _server, WordMemory: _memory, Accelerator: _accelerator, Arbiter: _arbiter,
    Processor: _processor, LineCard: _line_card, BufferPool: _pool, Mesh: _mesh, StaticStreams: _streams,
}  # fmt: skip


def _hash_unit(p: Any, v: Operands) -> Line:
    clock = 1e-6 / p.clock_mhz
    return Line.constant(
        _up(v["bytes"], p.step_bytes) * p.step_clocks * clock, p.latency_clocks * clock, room=p.requests
    )


def _qdr(p: Any, v: Operands, reads: bool) -> Line:
    clock = 1e-6 / p.clock_mhz
    service = _up(v["bytes"], p.burst * p.word_bytes) * p.burst / 2 * clock
    return Line.constant(service, p.latency_clocks * clock + p.way_ns * 1e-9 if reads else 0.0, p.channels)


def _byte_engine(p: Any, v: Operands) -> Line | None:
    service = v["bytes"] / p.bytes_per_s + p.request_ns * 1e-9
    return Line.constant(service, p.latency_ns * 1e-9) if p.engines == 1 else None


def _ethernet(p: Any, v: Operands) -> Line | None:
    if p.ports > 1:
        return None
    wire = max(v["bytes"] + p.frame_bytes, p.shortest_bytes) + p.preamble_bytes + p.gap_bytes
    return Line.constant(wire * 8 / (float(p.rate) * 1e9))


def pcie_byte_s(p: Any) -> float:
    """Return the time of a byte on a link's wires in s, with coding, acknowledgements and clock compensation."""
    gtps = (2.5, 5.0, 8.0, 16.0, 32.0, 64.0)[p.generation - 1]
    coding = 0.8 if p.generation < 3 else 128 / 130 if p.generation < 6 else 236 / 256
    payload_share = 1 - (16 / p.ack_every + 4 / 1538) if p.generation < 6 else 1.0
    return float(8 / (p.lanes * gtps * 1e9 * coding) / payload_share)


def _pcie_write(p: Any, v: Operands) -> Line | None:
    pieces = _up(v["bytes"], p.payload_bytes)
    header = p.write_header_bytes + (p.framing_bytes if p.generation < 6 else 0)
    service = (v["bytes"] + pieces * header) * pcie_byte_s(p)
    loop_s = 2 * p.flight_ns * 1e-9 + v["bytes"] / pieces / p.drain_bytes_per_s + service / pieces
    data = _up(v["bytes"] / pieces, p.credit_bytes)
    enough_credits = min(p.header_credits, p.data_credits // data) * service / pieces > 1.5 * loop_s
    return (
        Line.constant(service)
        if pieces == 1 and enough_credits and service * p.drain_bytes_per_s > 1.2 * v["bytes"]
        else None
    )


PARTS: dict[tuple[str, str], Callable[[Any, Operands], Line | None]] = {
    ("hash_unit", "hash"): _hash_unit, ("qdr_sram", "read"): lambda p, v: _qdr(p, v, True),
    ("qdr_sram", "write"): lambda p, v: _qdr(p, v, False), ("byte_engine", "process"): _byte_engine,
    ("ethernet_port", "send"): _ethernet, ("ethernet_port", "receive"): _ethernet, ("pcie_link", "write"): _pcie_write,
}  # fmt: skip
