"""Computes the LUTs of schedulers, reorder queues and arbiters from multiplexers and comparators (Secs. 4.1, 4.5.2).

    multiplexer n:1 of w bits    w n / 4 LUTs             a LUT selects one of four bits, or two times one of two
    comparator of w bits         ceil(w / 3)              three pairs of bits per LUT, joined by the carry chain
    fixed priority of n          n ceil((n - 1) / 5)      a grant depends on all requests of higher priority
    round robin of n             2 (fixed priority) + 2 n two chains, with a mask and without; mask, selection

LUTs have 6 inputs (Xilinx UG364). Registers take no LUTs. The reorder queue of an engine has a place in registers (or
in LUTs as memory) for each thread's header, which leaves in words of the scratchpad. A fair arbiter serves in rounds:
each port holds its request in a register with a bypass. Shares are relative to the engines' LUTs in Fig. 12, which are
assumed to contain neither.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

from npexplore.designs.gorilla.steps import PROTOCOLS, engine_program
from npexplore.designs.gorilla.steps.router import PORTS, WIDTH_BITS
from npexplore.designs.gorilla.traffic import header_words, router_tables
from npexplore.golden.flow_counters import FlowCounters
from npexplore.machine.parameters import Parameters
from npexplore.machine.step_programs.layout import scratchpad
from npexplore.study.papers.gorilla.area import REFERENCE, engine_share, scale

MUX_INPUTS, COMPARED_BITS, CHAIN_INPUTS = 4, 3, 5  # capacity of one LUT
RAM_LUTS, RAM_WORDS, RAM_BITS = 4, 32, 6  # LUTs as a memory with one read and one write port
LABEL_BITS = 20
BLOCK_RAM_BITS, BLOCK_RAM_WIDTH = 18 * 1024, 36


def multiplexer(inputs: int, bits: int) -> float:
    """Return the LUTs of a multiplexer of some inputs, each of `bits` bits; 0 for one input."""
    return bits * inputs / MUX_INPUTS if inputs > 1 else 0.0


def comparator(bits: int) -> int:
    """Return the LUTs of an equality comparator of two numbers."""
    return math.ceil(bits / COMPARED_BITS)


def fixed_priority(ports: int) -> int:
    """Return the LUTs of an arbiter that prefers lower port numbers."""
    return ports * math.ceil((ports - 1) / CHAIN_INPUTS) if ports > 1 else 0


def round_robin(ports: int) -> int:
    """Return the LUTs of a round-robin arbiter."""
    return 2 * fixed_priority(ports) + 2 * ports if ports > 1 else 0


def number_bits(count: int) -> int:
    """Return the bits needed for a number below `count`."""
    return max(0, count - 1).bit_length()


def request_bits(p: Parameters) -> Mapping[str, int]:
    """Return by port of a cluster's accelerators the bits of a request: its argument, and the requester's number."""
    program = engine_program(router_tables(), counting=True).program
    requester_bits = number_bits(int(p.engines)) + number_bits(int(p.threads))
    arguments = {
        "lookup4": program.fields["ipv4_addresses"].bits // 2, "lookup6": program.fields["ipv6_addresses"].bits // 2,
        "label_table": LABEL_BITS, "flow_counter": 2 * FlowCounters().class_bits,
    }  # fmt: skip
    return {
        f"{name}{k if PORTS.get(name, 1) > 1 else ''}": bits + requester_bits
        for name, bits in arguments.items()
        for k in range(1, PORTS.get(name, 1) + 1)
    }


def scheduler_luts(p: Parameters) -> Mapping[str, float]:
    """Return by part the LUTs that an engine's ready scheduler adds to strict turns."""
    threads, words = int(p.threads), header_words(str(p.protocols))
    order = number_bits(threads)
    if threads == 1:
        return {"choice among ready threads": 0.0, "places of the reorder queue": 0.0, "whose turn it is": 0.0}
    place_luts = multiplexer(threads * words, WIDTH_BITS)
    if p.lut_structures == "lut_ram":
        place_luts = float(RAM_LUTS * math.ceil(WIDTH_BITS / RAM_BITS) * math.ceil(threads * words / RAM_WORDS))
    return {
        "choice among ready threads": float(round_robin(threads)),
        "places of the reorder queue": place_luts,
        "whose turn it is": multiplexer(threads, order) + threads * comparator(order),
    }


def fair_luts(p: Parameters) -> Mapping[str, float]:
    """Return by part the LUTs that a cluster's fair local arbiters add to fixed priorities."""
    engines, ports = int(p.engines), request_bits(p)
    if engines == 1:
        return {"going round": 0.0, "requests that are held": 0.0}
    return {
        "going round": float(len(ports) * (round_robin(engines) - fixed_priority(engines))),
        "requests that are held": engines * sum(multiplexer(2, bits) for bits in ports.values()),
    }


def engine_luts(p: Parameters, protocols: tuple[str, ...] = PROTOCOLS) -> float:
    """Return the LUTs of an engine by the areas of Fig. 12."""
    return engine_share(p, int(p.threads), protocols) * float(p.luts_v6hx380t)


def overheads(p: Parameters) -> Mapping[str, float]:
    """Return the area shares that a ready scheduler with reorder queue and fair local arbiters add to the engines."""
    luts = engine_luts(p)
    return {
        "ready": sum(scheduler_luts(p).values()) / luts,
        "fair": sum(fair_luts(p).values()) / (int(p.engines) * luts),
    }


def lut_share(p: Parameters, device: str = REFERENCE, protocols: tuple[str, ...] = PROTOCOLS) -> float:
    """Return the share of a device's LUTs of a configuration, with its scheduler and its local arbiters."""
    engines = int(p.clusters) * int(p.engines)
    additional_luts = engines * sum(scheduler_luts(p).values()) if p.scheduler in ("ready", "ready_on_stall") else 0.0
    additional_luts += int(p.clusters) * sum(fair_luts(p).values()) if p.local_arbiter == "fair" else 0.0
    of_reference = engines * engine_share(p, int(p.threads), protocols) + additional_luts / float(p.luts_v6hx380t)
    return of_reference * scale(p, device)


def block_ram(p: Parameters) -> Mapping[str, int]:
    """Return the block RAM of a configuration's scratchpads: words per thread, used bits, and blocks of 18 Kb."""
    protocols = PROTOCOLS if p.protocols == "all" else ("ipv4",)
    layout = scratchpad(engine_program(router_tables(), protocols))
    engines, threads = int(p.clusters) * int(p.engines), int(p.threads)
    deep = BLOCK_RAM_BITS // BLOCK_RAM_WIDTH
    blocks = math.ceil(layout.width_bits / BLOCK_RAM_WIDTH) * math.ceil(threads * layout.words / deep)
    return {"words of a thread": layout.words, "bits": engines * layout.bits(threads), "blocks": engines * blocks}
