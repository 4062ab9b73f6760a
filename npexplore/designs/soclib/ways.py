"""The packets of a SoCLIB unit: each packet's path through the element graph determines its work.

    bursts of a packet = bursts of the longest path x cycles of its path / cycles of the longest path      (Figs. 1, 7)

Frames run through the element graph: generated frames, or those of a capture. Packets that a frame causes (a redirect)
are part of its work; dropped packets and packets for the router itself send no words.
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
ROWS = 240  # generated packets before the sequence repeats
MACS = bytes.fromhex("020000000010020000000110")
ETHERNET, SWITCH = 0, 1  # the interfaces of a unit; indices of the graph's devices
DEVICES = ("eth0", "switch")
HEADER = 8  # bytes of the switch header in front of a frame
HEADER_BYTES = 20  # of IPv4
HERE, BEYOND = 0x0A000009, 0xC0000201  # a neighbour at the Ethernet link, an address reached through another unit


def drawn(p: Parameters, load: Workload) -> Iterator[tuple[str, bytes]]:
    """Yield (device, frame) of each packet; the share `from_switch` goes from matrix to Ethernet, the rest back."""
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
    """Return the design whose own workload is a capture's frames, in order, at its Ethernet link."""
    frames = tuple((DEVICES[ETHERNET], frame) for _, frame in read_frames(capture))
    capture_load = Workload(str(capture), {"packet_bytes": np.ones(len(frames), dtype=np.int64)})
    return replace(design, own=lambda p: _dressed(p, capture_load, frames))


def traffic(p: Parameters) -> Workload:
    """Return the design's own packets: one length, with the mix of paths that the parameters set."""
    packet = Workload(f"{p.packet_bytes}-byte packets", {"packet_bytes": np.full(1, p.packet_bytes, dtype=np.int64)})
    return replace(on_ways(p, packet), ordered=p.order == "in_turn")


def on_ways(p: Parameters, load: Workload) -> Workload:
    """Return packets with columns of their path's work; `input_bits_per_cycle`, if set, makes saturated ones periodic.

    Raises InputError for packets too short for a header, and for several lengths in a router of several units.
    """
    shortest, longest = extremes(load.packet_bytes)
    if shortest < HEADER_BYTES:
        raise InputError(
            f"packets of soclib need a header of {HEADER_BYTES} bytes, {load.name!r} has one of {shortest}"
        )
    if p.units > 1 and shortest < longest:
        raise InputError(f"several units of soclib take packets of one length, got {shortest} to {longest} bytes")
    load = load.repeated(ROWS)
    return _dressed(p, load, drawn(p, load))


def _dressed(p: Parameters, load: Workload, frames: Iterable[tuple[str, bytes]]) -> Workload:
    distinct: dict[tuple[str, bytes], int] = {}
    frame_numbers, packets = (distinct.setdefault(frame, len(distinct)) for frame in frames), len(load.packet_bytes)
    frame_number = computed(packets, lambda part: np.fromiter(islice(frame_numbers, part.stop - part.start), np.int64))
    columns_by_frame = _columns(tuple(distinct), tuple(element_cycles(p).items()), int(p.bursts))
    columns = {name: chosen(np.array(values, np.int64), frame_number) for name, values in columns_by_frame.items()}
    routed_load = replace(load, columns=columns)
    if not p.input_bits_per_cycle or load.arrivals != "saturated":
        return routed_load
    bits_per_s = float(p.input_bits_per_cycle) / cycle_s(p)
    return routed_load.with_arrivals("periodic", bits_per_s / (8 * routed_load.mean_packet_bytes))


def mean_share(p: Parameters) -> float:
    """Return a generated packet's mean work as a share of the longest path's."""
    bursts = traffic(p).columns["bursts"]
    return float(bursts.mean() / p.bursts)


@lru_cache(maxsize=32)
def _columns(
    frames: tuple[tuple[str, bytes], ...], prices: tuple[tuple[str, int], ...], bursts: int
) -> dict[str, list[int]]:
    """Return columns for distinct frames: packet_bytes, words sent, bursts, input engine, output engine."""
    graph, cost = Graph.load(share(*GRAPH)), dict(prices)
    longest = sum(cost.values())

    def row(device: str, frame: bytes) -> tuple[int, ...]:
        passages = graph.run(device, frame)
        path_prefixes = {passage.path[:length] for passage in passages for length in range(1, len(passage.path) + 1)}
        cycles = graph.cycles((path[-1] for path in path_prefixes), cost)
        exits = [passage for passage in passages if passage.exit in ("device", "switch")]
        size = max(1, len(frame) - 14 - (HEADER if device == DEVICES[SWITCH] else 0))
        leaves = SWITCH if any(passage.exit == "switch" for passage in exits) else ETHERNET
        words = len(exits) * -(-size // WORD_BYTES)
        return size, words, max(1, round(bursts * cycles / longest)), DEVICES.index(device), leaves

    names = ("packet_bytes", "words", "bursts", "enters", "leaves")
    return dict(zip(names, map(list, zip(*(row(*frame) for frame in frames), strict=True)), strict=True))
