"""The packets of a SoCLIB unit: each goes its own way through the elements, and is as long a piece of work as that is.

    bursts of a packet = bursts of the longest way x cycles of its way / cycles of the longest way      (Figs. 1, 7)

Frames run through the element graph: drawn ones, all of one length, or those of a capture. What a frame causes on the
side (a redirect) is part of its work; what is dropped, or is for the router itself, puts no words out.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import lru_cache
from itertools import islice
from pathlib import Path

import numpy as np

from npexplore.designs.base import Design
from npexplore.designs.soclib.unit import WORD_BYTES, cycle_s, element_cycles
from npexplore.errors import InputError
from npexplore.golden.elements import Graph
from npexplore.golden.ethernet import IPV4_TYPE
from npexplore.golden.ipv4.header import write_packet
from npexplore.machine.parameters import Parameters
from npexplore.machine.workload import Workload
from npexplore.mapped_arrays import chosen, computed, extremes, parts
from npexplore.packets.frames import read_frames
from npexplore.paths import share

GRAPH = ("models", "graphs", "soclib_ipv4.click")
ROWS = 240  # drawn packets before the sequence begins anew
MACS = bytes.fromhex("020000000010020000000110")
ETHERNET, SWITCH = 0, 1  # the interfaces of a unit; devices of the graph
DEVICES = ("eth0", "switch")
HEADER = 8  # bytes of the switch header in front of a frame
HEADER_BYTES = 20  # of IPv4
HERE, BEYOND = 0x0A000009, 0xC0000201  # a neighbour behind the Ethernet link, an address behind another unit


def drawn(p: Parameters, load: Workload) -> Iterator[tuple[str, bytes]]:
    """Yield (device, frame) for each packet, spread evenly: from the matrix to the Ethernet link, or the other way."""
    frames: dict[tuple[bool, int], tuple[str, bytes]] = {}
    for part in parts(len(load.packet_bytes)):
        for k, length in enumerate(load.packet_bytes[part].tolist(), part.start):
            kind = _every(k, float(p.from_switch)), length
            if kind not in frames:
                inward = DEVICES[SWITCH], bytes(HEADER) + _frame(HERE, length)
                frames[kind] = inward if kind[0] else (DEVICES[ETHERNET], _frame(BEYOND, length))
            yield frames[kind]


def _every(k: int, share: float) -> bool:
    return int((k + 1) * share + 0.5) > int(k * share + 0.5)


def _frame(to: int, length: int) -> bytes:
    return MACS + IPV4_TYPE + write_packet(0x0A000008, to, bytes(length - HEADER_BYTES))


def of_capture(design: Design, capture: str | Path) -> Design:
    """Return the design fed with the frames of a capture, in their order, by its Ethernet link."""
    frames = tuple((DEVICES[ETHERNET], frame) for _, frame in read_frames(capture))
    named = Workload(str(capture), {"packet_bytes": np.ones(len(frames), dtype=np.int64)})
    return replace(design, own=lambda p: _dressed(p, named, frames))


def traffic(p: Parameters) -> Workload:
    """Return the design's own packets: of one length, drawn from the ways that the parameters ask for."""
    one = Workload(f"{p.packet_bytes}-byte packets", {"packet_bytes": np.full(1, p.packet_bytes, dtype=np.int64)})
    return replace(on_ways(p, one), ordered=p.order == "in_turn")


def on_ways(p: Parameters, load: Workload) -> Workload:
    """Return packets each on its way through the elements; saturated ones come at `input_bits_per_cycle`, if it is set.

    Raises InputError for packets too short for a header, or of several lengths in a router of several units.
    """
    least, longest = extremes(load.packet_bytes)
    if least < HEADER_BYTES:
        raise InputError(f"packets of soclib need a header of {HEADER_BYTES} bytes, {load.name!r} has one of {least}")
    if p.units > 1 and least < longest:
        raise InputError(f"several units of soclib take packets of one length, got {least} to {longest} bytes")
    load = load.repeated(ROWS)
    return _dressed(p, load, drawn(p, load))


def _dressed(p: Parameters, load: Workload, frames: Iterable[tuple[str, bytes]]) -> Workload:
    distinct: dict[tuple[str, bytes], int] = {}
    numbers, packets = (distinct.setdefault(frame, len(distinct)) for frame in frames), len(load.packet_bytes)
    way = computed(packets, lambda part: np.fromiter(islice(numbers, part.stop - part.start), np.int64))
    by_way = _columns(tuple(distinct), tuple(element_cycles(p).items()), int(p.bursts))
    columns = {name: chosen(np.array(values, np.int64), way) for name, values in by_way.items()}
    dressed = replace(load, columns=columns)
    if not p.input_bits_per_cycle or load.arrivals != "saturated":
        return dressed
    bits_per_s = float(p.input_bits_per_cycle) / cycle_s(p)
    return dressed.with_arrivals("periodic", bits_per_s / (8 * dressed.mean_packet_bytes))


def mean_share(p: Parameters) -> float:
    """Return the mean work of a drawn packet over that of the longest way."""
    bursts = traffic(p).columns["bursts"]
    return float(bursts.mean() / p.bursts)


@lru_cache(maxsize=32)
def _columns(
    frames: tuple[tuple[str, bytes], ...], prices: tuple[tuple[str, int], ...], bursts: int
) -> dict[str, list[int]]:
    """Return of distinct frames: packet_bytes, words put out, bursts, the engines by which each enters and leaves."""
    graph, cost = Graph.load(share(*GRAPH)), dict(prices)
    longest = sum(cost.values())

    def row(device: str, frame: bytes) -> tuple[int, ...]:
        gone = graph.run(device, frame)
        seen = {passage.path[:k] for passage in gone for k in range(1, len(passage.path) + 1)}
        cycles = graph.cycles((path[-1] for path in seen), cost)
        out = [one for one in gone if one.exit in ("device", "switch")]
        size = max(1, len(frame) - 14 - (HEADER if device == DEVICES[SWITCH] else 0))
        leaves = SWITCH if any(one.exit == "switch" for one in out) else ETHERNET
        words = len(out) * -(-size // WORD_BYTES)
        return size, words, max(1, round(bursts * cycles / longest)), DEVICES.index(device), leaves

    names = ("packet_bytes", "words", "bursts", "enters", "leaves")
    return dict(zip(names, map(list, zip(*(row(*one) for one in frames), strict=True)), strict=True))
