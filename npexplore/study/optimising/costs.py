"""Counts a machine's costs from its resources, as proxies that rank designs; facts are in models/costs/proxies.toml.

    memory_bits  on chip: receive buffer, queues, FIFOs of links, registers of threads, and a design's `memory`
    banks        banks of DRAM, and channels of word memories
    bus_pins     data pins of memories: width of a DDR bus (if not stated, bandwidth / (2 / tCK)); for word memories
                 width x channels x directions
    threads      threads of all pools
    luts         engines x LUTs per engine + registers / 64 + multiplexers of n inputs in front of banks, n / 4 per bit

A capacity that models an unlimited queue counts as it is written: costs only compare designs of one family.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache, singledispatch

from npexplore.designs import Design
from npexplore.errors import one_of
from npexplore.machine.machine import Machine
from npexplore.machine.resources import (
    BoundedQueue,
    Dram,
    DramController,
    LineCard,
    Mesh,
    Processor,
    ReorderQueue,
    StaticStreams,
    WordMemory,
)
from npexplore.machine.resources.base import Resource
from npexplore.machine.resources.ingress import Ingress
from npexplore.paths import share
from npexplore.toml import Record, decode

COSTS = ("memory_bits", "banks", "bus_pins", "threads", "luts")
UNITS: Mapping[str, str] = {"memory_bits": "bit", "banks": "1", "bus_pins": "pins", "threads": "1", "luts": "LUTs"}
BYTE = 8


class Proxy(Record, frozen=True):
    """Schema of an entry of models/costs/proxies.toml."""

    value: float
    unit: str
    about: str
    source: str


@cache
def proxies() -> dict[str, Proxy]:
    """Return the facts behind the costs, each with its source."""
    path = share("models", "costs", "proxies.toml")
    proxies: dict[str, Proxy] = decode(path.read_bytes(), dict[str, Proxy], path)
    return proxies


def fact(name: str) -> float:
    """Return one of the facts behind the costs."""
    return proxies()[one_of("cost proxy", name, proxies())].value


def costs(design: Design) -> dict[str, float]:
    """Return the costs of a design by the names of COSTS; raises ModelError for impossible values of its knobs."""
    return costs_of(design.machine(), design.memory(design.parameters) if design.memory is not None else {})


def costs_of(machine: Machine, memory: Mapping[str, float] | None = None) -> dict[str, float]:
    """Return the costs of a machine; memory: on-chip bytes by name that belong to no resource."""
    total = dict.fromkeys(COSTS, 0.0)
    for (name, _), amount in parts(machine, memory).items():
        total[name] += amount
    return total


def parts(machine: Machine, memory: Mapping[str, float] | None = None) -> dict[tuple[str, str], float]:
    """Return the costs of a machine by (cost, resource that causes it)."""
    registers = machine.threads * fact("thread_registers") * fact("word_bits")
    parts = {("threads", "threads"): float(machine.threads), ("memory_bits", "threads"): registers}
    parts["luts", "threads"] = registers / fact("lut_bits")
    parts |= {("memory_bits", f"{name}.memory"): BYTE * size for name, size in (memory or {}).items()}
    for resource in machine.resources.values():
        parts |= {(name, resource.name): amount for name, amount in counted(resource).items()}
    return parts


def multiplexer(inputs: int, bits: float) -> float:
    """Return the LUTs of a multiplexer of some inputs, each of `bits` bits; 0 for a single input."""
    return bits * inputs / fact("lut_inputs_of_multiplexer") if inputs > 1 else 0.0


def _ddr(banks: int, channels: int, pins: float) -> dict[str, float]:
    """Return the costs of DDR memory: banks per channel, channels, data pins per channel."""
    return {
        "banks": banks * channels,
        "bus_pins": pins * channels,
        "luts": multiplexer(banks * channels, pins),
    }


@singledispatch
def counted(resource: Resource) -> dict[str, float]:
    """Return the costs of a resource; kinds without memory and pins (servers, locks) cost nothing."""
    return {}


@counted.register
def _(resource: Dram) -> dict[str, float]:
    pins = BYTE / resource.byte * resource.timing.t_ck / fact("transfers_per_clock")
    return _ddr(resource.banks, 1, pins if resource.bus_bits is None else resource.bus_bits)


@counted.register
def _(resource: DramController) -> dict[str, float]:
    units = resource.device.pseudo_channels * resource.channels
    return _ddr(resource.device.banks, units, resource.device.bus_bits)


@counted.register
def _(resource: WordMemory) -> dict[str, float]:
    lines = BYTE * resource.burst_bytes / resource.burst * resource.channels * (2 if resource.split_ports else 1)
    return {"banks": resource.channels, "bus_pins": lines, "luts": multiplexer(resource.channels, lines)}


@counted.register
def _(resource: Processor) -> dict[str, float]:
    return {"luts": resource.engines * fact("engine_luts")}


@counted.register
def _(resource: Ingress) -> dict[str, float]:
    return {"memory_bits": BYTE * resource.capacity}


@counted.register
def _(resource: BoundedQueue) -> dict[str, float]:
    if resource.unit == "bytes":
        return {"memory_bits": BYTE * resource.capacity * resource.members}
    places = resource.capacity * resource.members
    return {"memory_bits": places * (1 + len(resource.carries)) * fact("word_bits")}


@counted.register
def _(resource: LineCard) -> dict[str, float]:
    return {"memory_bits": BYTE * (resource.buffer or 0) * resource.ports}


@counted.register
def _(resource: ReorderQueue) -> dict[str, float]:
    return {"memory_bits": resource.places * resource.members * fact("word_bits")}


@counted.register(Mesh)
@counted.register(StaticStreams)
def _(resource: Mesh | StaticStreams) -> dict[str, float]:
    return {"memory_bits": len(resource.links()) * resource.depth * fact("word_bits")}


def sources(names: tuple[str, ...] = COSTS) -> dict[str, str]:
    """Return for each cost the sources of the facts behind it."""
    facts_of_cost: Mapping[str, tuple[str, ...]] = {
        "memory_bits": ("thread_registers", "word_bits"),
        "banks": (),
        "bus_pins": ("transfers_per_clock",),
        "threads": (),
        "luts": ("engine_luts", "thread_registers", "lut_bits", "lut_inputs_of_multiplexer"),
    }
    return {
        one_of("cost", name, COSTS): "; ".join(dict.fromkeys(proxies()[key].source for key in facts_of_cost[name]))
        or "counted from the machine's resources"
        for name in names
    }
