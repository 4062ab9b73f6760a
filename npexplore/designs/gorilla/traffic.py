"""Gorilla's traffic: a router's tables, minimum-size frames of each kind, and their traces through the step program.

The paper's traffic: minimum-size IPv4 packets of CAIDA traces, the same packets converted to IPv6, MPLS packets with
one to four labels, and mixes (Sec. 4.5). The traces are not published, so that addresses are drawn at random. Routes
are either as long as the trie is deep (every lookup reads all levels, as the paper provisions) or of mixed lengths.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from npexplore.designs.gorilla.steps import Box, accelerators, engine_program, forward
from npexplore.designs.gorilla.steps.accelerators import MEMORY
from npexplore.designs.gorilla.steps.bodies import split
from npexplore.designs.gorilla.tables import RouteCaches, changes
from npexplore.errors import InputError
from npexplore.golden.ethernet import ETHERNET, IPV4_TYPE
from npexplore.golden.ipv4.addresses import prefix_text
from npexplore.golden.ipv4.header import write_packet
from npexplore.golden.ipv6 import addresses as addresses6
from npexplore.golden.ipv6 import header as header6
from npexplore.golden.mpls.impose import TtlModel
from npexplore.golden.mpls.switch import HERE
from npexplore.golden.router.configuration import resolve_router
from npexplore.golden.router.forward import Forwarder
from npexplore.golden.router.records import LabelRecord, PortRecord, RouteRecord, RouterFile
from npexplore.machine.mixes import load_mix
from npexplore.machine.parameters import Parameters
from npexplore.machine.step_programs import Answer, Lowered, Trace, lower
from npexplore.machine.workload import Workload
from npexplore.mapped_arrays import computed, cycled, extremes

FRAME, NETWORK = 64, 64 - ETHERNET  # bytes of a minimum-size frame (as the paper counts), and of the packet in it
CHECK, LARGEST, WORD = 4, 1518, 16  # bytes: the frame check sequence, the largest frame, the scratchpad's width
PORTS, ROWS, ROUTES, LABELS = 4, 240, 64, 16
WARM = 8  # rounds of ROWS packets through the caches; only the last round is simulated
FAR6 = 0x2002  # the first 16 bits of IPv6 prefixes that are routed beyond the links
PEER = bytes.fromhex("020000000100")
MIXES: Mapping[str, Sequence[str]] = {
    "ipv4": ("ipv4",), "ipv6": ("ipv6",), "mpls": ("mpls_1",), "mpls_1": ("mpls_1",), "mpls_2": ("mpls_2",),
    "mpls_3": ("mpls_3",), "mpls_4": ("mpls_4",), "mpls_1_ipv4": ("mpls_1", "ipv4"),
    "mpls_1_ipv6": ("mpls_1", "ipv6"), "ipv4_ipv6": ("ipv4", "ipv6"), "all": ("ipv4", "ipv6", "mpls_1", "mpls_4"),
}  # fmt: skip
LONGEST = ("ipv4", "ipv6", "mpls_4")
METADATA = 4  # bytes of the metadata that the first step reads
MAC = 6


def _mac(port: int) -> bytes:
    return bytes([2, 0, 0, 0, 0, port])


def router_tables(
    addresses: str = "deep", source_lookup: bool = False, labels: str = "warm", pipes: bool = False
) -> Box:
    """Return the tables of a router with four ports.

    addresses: `deep`, routes as long as the tries are deep (every lookup reads all levels), or mixed lengths. labels:
    `warm`, a cluster's label table holds all labels from the start; `cold`, it has a single set and mostly misses.
    pipes: add two labels of the pipe model (RFC 3443), below which a packet's own time to live may expire.
    source_lookup: whether source addresses are looked up, too.
    """
    rng, deep = np.random.default_rng(1), addresses == "deep"
    ports = [
        PortRecord(
            name=f"p{k}", address=f"10.{k}.0.1/24", address6=f"2001:db8:{k}::1/64", mac=_mac(k).hex(":"),
            peer_mac=(PEER[:-1] + bytes([k])).hex(":"),
        )
        for k in range(PORTS)
    ]  # fmt: skip
    routes = []
    for k in range(ROUTES):
        length = 32 if deep else int(rng.integers(16, 25))
        value = int(rng.integers(20 << 24, 120 << 24)) >> (32 - length) << (32 - length)
        routes.append(RouteRecord(prefix=prefix_text(value, length), via=f"10.{k % PORTS}.0.2"))
        length = 64 if deep else int(rng.choice([29, 32, 40, 48, 48]))
        value6 = (FAR6 << 112 | int(rng.integers(0, 1 << 48)) << 64) >> (128 - length) << (128 - length)
        routes.append(RouteRecord(prefix=addresses6.prefix_text(value6, length), via=f"2001:db8:{k % PORTS}::2"))
    record = RouterFile(port=ports, route=routes, label=_labels(rng, pipes))
    box = Box(Forwarder(resolve_router(record), lookup="trie20_4_8"), source_lookup, 64 if labels == "warm" else 1)
    assert box.labels is not None
    for label in box.labels.number if labels == "warm" else ():
        box.label_cache.look_up(label)
    return box


def _labels(rng: np.random.Generator, pipes: bool) -> list[LabelRecord]:
    """Return label entries: even indices pop the label and look below it, odd ones swap it; pipes add one of each."""
    free = np.arange(16, 1 << 20)
    chosen = rng.choice(free, LABELS, replace=False).tolist()
    models: list[tuple[int, TtlModel]] = [(label, "uniform") for label in chosen]
    if pipes:
        models += [(label, "pipe") for label in rng.choice(np.setdiff1d(free, chosen), 2, replace=False).tolist()]
    return [
        LabelRecord(label=label, labels=[1000 + k], via=f"10.{k // 2 % PORTS}.0.2", ttl=ttl)
        if k % 2
        else LabelRecord(label=label, ttl=ttl)
        for k, (label, ttl) in enumerate(models)
    ]


def frame(kind: str, tables: Box, rng: np.random.Generator, ttl: int = 64) -> bytes:
    """Return a minimum-size frame of a kind of traffic (ipv4, ipv6, mpls_1 .. mpls_4) to the router's port 0."""
    head = _mac(0) + PEER
    value, length, _ = tables.ipv4.lpm.routes()
    routed_rows = [row for row in range(len(value)) if int(value[row]) >> 24 != 10]  # all but the links' routes

    def address() -> int:
        k = routed_rows[int(rng.integers(len(routed_rows)))]
        return int(value[k]) | int(rng.integers(0, 1 << (32 - int(length[k]))))

    packet = write_packet(address(), address(), bytes(NETWORK - 20), ttl=ttl)
    if kind == "ipv4":
        return head + IPV4_TYPE + packet
    if kind == "ipv6":
        six = tables.golden.router.six
        assert six is not None
        prefixes = [route for route in six.routes if route.value >> 112 == FAR6]
        source, target = (prefixes[int(rng.integers(len(prefixes)))].value | 1 for _ in range(2))
        return (
            head + b"\x86\xdd" + header6.write_packet(source, target, bytes(NETWORK - header6.SHORTEST), hop_limit=ttl)
        )
    depth = int(kind.removeprefix("mpls_") or 1)
    return head + b"\x88\x47" + _stack(tables, rng, depth, ttl) + packet[: NETWORK - 4 * depth]


def _stack(tables: Box, rng: np.random.Generator, depth: int, ttl: int) -> bytes:
    """Return a label stack whose last label is swapped and whose other labels are popped."""
    assert tables.labels is not None
    entries = {label: tables.labels.entries[number] for label, number in tables.labels.number.items()}
    pops = [label for label, entry in entries.items() if entry.port == HERE]
    swaps = [label for label, entry in entries.items() if entry.port != HERE]
    chosen = [int(rng.choice(pops)) for _ in range(depth - 1)] + [int(rng.choice(swaps))]
    words = [label << 12 | (k == depth - 1) << 8 | ttl for k, label in enumerate(chosen)]
    return b"".join(word.to_bytes(4, "big") for word in words)


def kinds(mix: str) -> list[str]:
    """Return the kind of each of a mix's ROWS packets; kinds alternate packet by packet."""
    if mix not in MIXES:
        raise InputError(f"traffic must be one of {', '.join(MIXES)}, got {mix!r}")
    return [MIXES[mix][k % len(MIXES[mix])] for k in range(ROWS)]


Frames = tuple[str, bool, bool, str, str, float, float, bool, int, tuple[int, int]]  # arguments of `_traces`


def traces(p: Parameters) -> list[Trace]:
    """Run the step program on the frames that the parameters select, and return their traces."""
    return list(_traces(*_frames(p)))


def _frames(p: Parameters) -> Frames:
    """Return the arguments of `_traces` that the parameters select."""
    counting = p.flow_counting == "on"
    both = p.source_lookup == "always" or (p.source_lookup == "with_counting" and counting)
    chip, updates = p.first_level == "chip", int(p.update_routes) if p.controls else 0
    caches = (int(p.cache_entries), int(p.clusters)) if p.cache_entries else (0, 1)
    return p.proto, counting, both, p.addresses, p.label_tables, p.exceptions, p.controls, chip, updates, caches


def traces_of(mix: str, counting: bool = False) -> tuple[Trace, ...]:
    """Return the traces of a mix's packets; source addresses are looked up only with counting."""
    return _traces(mix, counting, counting, "deep", "warm", 0.0, 0.0, False, 0, (0, 1))


def fewest_and_most_calls() -> tuple[int, int]:
    """Return the (fewest, most) accelerator calls of a packet over all traffic, with and without counting.

    A frame of an unknown protocol makes the fewest calls.
    """
    calls = [len(trace.calls) for mix in MIXES for counting in (False, True) for trace in traces_of(mix, counting)[:8]]
    tables = router_tables()
    unknown = _mac(0) + PEER + b"\x88\xcc" + bytes(NETWORK)  # LLDP
    unknown_trace = forward(engine_program(tables), accelerators(tables), 0, unknown)
    return min(*calls, len(unknown_trace.calls)), max(calls)


@lru_cache(maxsize=64)
def _traces(
    mix: str, counting: bool, both: bool, addresses: str, labels: str, exceptions: float, controls: float,
    chip: bool, updates: int, caches: tuple[int, int],
) -> tuple[Trace, ...]:  # fmt: skip
    """Run frames in order and return their traces; later frames see the route changes of earlier control packets.

    caches: (entries of a cluster's cache, number of clusters); frames go to clusters in turn.
    """
    tables, rng = router_tables(addresses, both, labels), np.random.default_rng(2)
    program, units = engine_program(tables, counting=counting), dict(accelerators(tables))
    for name in ("lookup4", "lookup6") if chip else ():
        units[name] = _without_first_read(units[name])
    route_caches = RouteCaches(*caches)
    for name in ("lookup4", "lookup6") if caches[0] else ():
        units[name] = route_caches.in_front_of(units[name])
    unchanged = router_tables(addresses, both, labels) if updates else tables  # senders ignore route changes
    update_words, traces = changes(tables, updates), []
    for k, kind in enumerate(kinds(mix) * (WARM if caches[0] else 1)):
        octets, route_caches.cluster = frame(kind, unchanged, rng, 1 if _every(k, exceptions) else 64), k % caches[1]
        if _every(k + 2, controls):
            octets = octets[:12] + IPV4_TYPE + write_packet(0x14000001, 0x0A000001, bytes(NETWORK - 20))
        trace = forward(program, units, 0, octets)
        trace.context.update_words = 0
        if trace.context.left_to_control:
            trace.context.update_words = next(update_words)
        traces.append(trace)
    return tuple(traces[-ROWS:])


def _without_first_read(unit: Callable[..., Answer]) -> Callable[..., Answer]:
    """Return a lookup whose first trie level is on chip, which saves one read of the external memory."""

    def answer(*operands: object) -> Answer:
        full_walk = unit(*operands)
        return Answer(full_walk.value, {**full_walk.used, MEMORY: max(0, full_walk.used[MEMORY] - 1)})

    return answer


def _every(k: int, share: float) -> bool:
    """Return whether packet k belongs to a share of packets that is spread evenly."""
    return int((k + 1) * share) > int(k * share)


@lru_cache
def header_bytes(kind: str) -> int:
    """Return the header bytes of a frame of a kind of traffic; the rest is its body."""
    return len(split(frame(kind, _usual_tables(), np.random.default_rng(2)))[0])


@lru_cache
def _usual_tables() -> Box:
    """Return the default tables, shared and never modified."""
    return router_tables()


@lru_cache
def header_words(protocols: str) -> int:
    """Return the scratchpad words of the longest header with its metadata; protocols: `ipv4` or `all`."""
    longest = max(header_bytes(kind) for kind in (MIXES["ipv4"] if protocols == "ipv4" else LONGEST))
    return -(-(METADATA + longest) // WORD)


def frame_bytes(p: Parameters) -> npt.NDArray[np.int64]:
    """Return the bytes of each of ROWS frames with frame check: all equal, or the IMIX lengths in random order."""
    if p.frames != "imix":
        return np.full(ROWS, LARGEST if p.frames == "maximum" else FRAME, np.int64)
    lengths = load_mix("imix_ethernet").lengths(ROWS)
    return np.random.default_rng(3).permutation(lengths) + ETHERNET + CHECK


def lowered(p: Parameters) -> Lowered:
    """Return the paths of the traffic that the parameters select, with the words that control packets write."""
    frames = _frames(p)
    paths = _lowered(*frames)
    if not p.controls:
        return paths
    words = np.array([trace.context.update_words for trace in _traces(*frames)])
    return replace(paths, columns={**paths.columns, "update_words": words})


@lru_cache(maxsize=64)
def _lowered(*frames: Any) -> Lowered:
    """Return the paths of frames' traces. They are cached because most knobs of the machine do not change them."""
    return lower(_traces(*frames))


def cached_share(p: Parameters) -> float:
    """Return the share of route lookups that the caches answer; 0 without caches."""
    if not p.cache_entries:
        return 0.0
    calls = [call for trace in traces(p) for call in trace.calls if call.accelerator in ("lookup4", "lookup6")]
    return sum(not call.used[MEMORY] for call in calls) / len(calls) if calls else 0.0


def traffic(p: Parameters) -> Workload:
    """Return the workload: packets with their program paths, at the offered rate (0: saturated arrivals)."""
    sizes = frame_bytes(p)
    size_text = f"{FRAME}-byte" if p.frames == "minimum" else str(p.frames)
    load = _with_paths(p, Workload(f"{p.proto}, {size_text} frames", {"packet_bytes": sizes - ETHERNET}), sizes)
    return load.with_arrivals(p.arrivals, p.rate_mpps * 1e6) if p.rate_mpps else load


def in_frames(p: Parameters, load: Workload) -> Workload:
    """Return a workload's packets in frames of at least 64 bytes, with paths of the kinds of traffic in turn."""
    load = load.repeated(ROWS)
    lengths = load.packet_bytes
    return _with_paths(
        p, load, computed(len(lengths), lambda part: np.maximum(lengths[part] + ETHERNET + CHECK, FRAME))
    )


def _with_paths(p: Parameters, load: Workload, sizes: npt.NDArray[np.int64]) -> Workload:
    """Return packets in frames of these sizes (bytes) with the columns of the step program's paths."""
    n = len(sizes)
    headers = cycled(np.array([header_bytes(kind) for kind in kinds(p.proto)]), n)
    words = computed(n, lambda part: -((headers[part] - sizes[part]) // WORD))
    columns = {"packet_bytes": load.packet_bytes, "body_words": words}
    columns |= {name: cycled(column, n) for name, column in lowered(p).columns.items()}
    if extremes(sizes)[1] > FRAME:
        columns["units"] = computed(n, lambda part: -(-sizes[part] // FRAME))
    return replace(load, columns=columns)
