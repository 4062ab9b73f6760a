"""Runs captures through the RAW router's line cards (Sec. 2) and compares the results with the golden router.

    in:     one file per card; a capture is split by source address, each source behind a random card
    tiles:  golden functions: 1 DIR-24-8, 2 checks of RFC 1812 section 5.2.2, 3 TTL and the RFC 1141 update
    out:    one file per card in the machine's order: headers after stage 3, payloads as stored
    check:  the golden router forwards the same files: same port, same bytes, same reasons
    order:  between two cards packets keep the order of the files

Routes have 24 bits and lead to random cards, as in the study. A checksum of 0xffff (RFC 1141) is equivalent to 0
(RFC 1624).
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from npexplore._kernels import engine
from npexplore.designs import Design
from npexplore.designs.raw.files import NUMBER, Discard, Trace
from npexplore.designs.raw.traffic import MISSES, OUTPUT, PIPELINE, table_misses
from npexplore.engine.model import build
from npexplore.engine.run import FOREVER
from npexplore.engine.state import State
from npexplore.errors import InputError, SimulationError
from npexplore.golden.captures.replay import Replay
from npexplore.golden.checksum import update_checksums_rfc1141
from npexplore.golden.columns import Packets
from npexplore.golden.ipv4.validate import validate_ipv4_many
from npexplore.golden.lookup import Dir24_8
from npexplore.golden.reasons import Reason
from npexplore.golden.router.configuration import load_router
from npexplore.machine.workload import Workload
from npexplore.packets.merging import merged
from npexplore.packets.scan import CaptureScan
from npexplore.packets.writing import write_packets

Integers = npt.NDArray[np.int64]
CARDS = 4
ETHERNET = 14
LONGEST = 1500  # bytes; largest payload of an Ethernet frame
BY_CODE = {int(reason): reason for reason in Reason}
BEYOND = {
    Reason.MARTIAN_SOURCE, Reason.MARTIAN_DESTINATION, Reason.LINK_BROADCAST, Reason.LIMITED_BROADCAST,
    Reason.DIRECTED_BROADCAST, Reason.NETWORK_ZERO, Reason.MULTICAST, Reason.LOCAL_DELIVERY, Reason.BAD_OPTION,
    Reason.SOURCE_ROUTE_FAILED,
}  # fmt: skip


@dataclass(frozen=True)
class Played:
    """Packets that left the machine. order: their numbers in the order of leaving, over all cards; output: the output
    card by packet (-1: discarded); reason: why stage 3 discards a packet (0: it does not).
    """

    inputs: list[Path]
    outputs: list[Path]
    order: Integers
    output: Integers
    reason: Integers
    seconds: float
    throughput_bps: float


@dataclass(frozen=True)
class Verdict:
    """The result of the comparison: numbers of packets in, forwarded, and discarded by reason.

    beyond: by reason, packets that the golden router does not forward for reasons that the tiles do not check
    (multicast, own addresses, ...). differences: all other differences as text.
    """

    packets: int
    forwarded: int
    discarded: dict[str, int]
    beyond: dict[str, int]
    differences: list[str]


@dataclass(frozen=True)
class Input:
    """Packets of the cards' files by number: IP bytes, input card, and the table of 24-bit routes."""

    packets: Packets
    card: Integers
    routes: tuple[Integers, Integers]  # address of the prefix, card


def read_input(capture: str | Path, folder: Path, seed: int = 1) -> tuple[Input, list[Path]]:
    """Split a capture of Ethernet frames into one file per card, and return the packets and the files' paths.

    Raises InputError for another link type, or a capture without IPv4 packets.
    """
    ip_packets: list[bytes] = []
    scan = CaptureScan(capture)
    for part in merged([scan]):
        if np.any(part.link_type != 1):
            raise InputError(f"{capture}: link type must be Ethernet (1), got {int(part.link_type.max())}")
        for frame in Packets(part.buffer, part.offset, part.captured):
            if frame[12:14] == b"\x08\x00" and len(frame) >= ETHERNET + 20:
                total = max(int.from_bytes(frame[16:18], "big"), 20)  # without the padding of short frames
                ip_packets.append(frame[ETHERNET : ETHERNET + min(total, LONGEST)])
    if not ip_packets:
        raise InputError(f"{capture}: has no IPv4 packets in Ethernet frames")
    packets, rng = Packets.of(ip_packets), np.random.default_rng(seed)
    source, target = (_words(packets, at) for at in (12, 16))
    hosts, which = np.unique(source, return_inverse=True)
    prefixes = np.unique(target >> 8 << 8)
    card = rng.integers(0, CARDS, len(hosts))[which].astype(np.int64)
    routes = prefixes, rng.integers(0, CARDS, len(prefixes)).astype(np.int64)
    paths = []
    for k in range(CARDS):
        paths.append(folder / f"card{k}.in.pcap")
        _write(paths[-1], [ip_packets[n] for n in np.flatnonzero(card == k)], np.flatnonzero(card == k))
    return Input(packets, card, routes), paths


def _words(packets: Packets, at: int) -> Integers:
    """Return the 32-bit word at a byte offset of every packet."""
    rows = packets.buffer[packets.offset[:, None] + at + np.arange(4)].astype(np.int64)
    return np.asarray(rows @ (1 << np.array([24, 16, 8, 0])), dtype=np.int64)


def _write(path: Path, packets: list[bytes], t_ns: Integers) -> None:
    rows = np.zeros((len(packets), ETHERNET + LONGEST), np.uint8)
    for row, packet in zip(rows, packets, strict=True):
        row[12:14] = 8, 0
        row[ETHERNET : ETHERNET + len(packet)] = np.frombuffer(packet, np.uint8)
    size = np.array([ETHERNET + len(packet) for packet in packets], dtype=np.int64)
    write_packets(path, np.asarray(t_ns, np.int64), rows, size, size)


# ---- the functions of the tiles


def tiles(traffic: Input, table: Dir24_8) -> tuple[Integers, Integers, list[bytes]]:
    """Return by packet the reason of its discard (0: none), its output card (-1: none), its bytes after stage 3."""
    packets = traffic.packets
    reason = np.asarray(validate_ipv4_many(packets), dtype=np.int64)
    output = np.asarray(table.lookup_many(_words(packets, 16).astype(np.uint32)), dtype=np.int64)
    ttl_word = _words(packets, 8)
    old, new = ttl_word >> 16, (ttl_word >> 16) - 0x100
    reason = np.where((reason == 0) & (output < 0), Reason.NO_ROUTE, reason)
    reason = np.where((reason == 0) & (old >> 8 <= 1), Reason.TTL_EXPIRED, reason)
    sums = update_checksums_rfc1141(ttl_word & 0xFFFF, old, np.maximum(new, 0))
    changed = []
    for number, packet in enumerate(packets):
        head = int(np.maximum(new[number], 0)).to_bytes(2, "big") + int(sums[number]).to_bytes(2, "big")
        changed.append(packet[:8] + head + packet[12:])
    return reason, np.where(reason == 0, output, -1), changed


def play(machine: Design, capture: str | Path, folder: str | Path, seed: int = 1) -> tuple[Played, Input]:
    """Send a capture through the saturated machine, write the packets that leave, one file per card, and return them.

    Raises InputError for a capture without IPv4 packets in Ethernet frames, SimulationError for a run that stalls.
    """
    path = Path(folder)
    path.mkdir(parents=True, exist_ok=True)
    traffic, inputs = read_input(capture, path, seed)
    n, (prefix, card) = len(traffic.packets), traffic.routes
    table = Dir24_8.from_columns(prefix, np.full(len(prefix), 24), card)
    reason, output, changed = tiles(traffic, table)
    machine = machine.with_(prefix="short")
    p = machine.parameters
    misses = table_misses(table, _words(traffic.packets, 16), traffic.card, p.cache_lines)
    load = Workload(
        Path(capture).stem,
        {
            "packet_bytes": traffic.packets.length, PIPELINE: traffic.card, OUTPUT: np.where(output < 0, CARDS, output),
            MISSES: misses, NUMBER: np.arange(n, dtype=np.int64),
        },
        arrivals="timestamps", t_ns=np.zeros(n, dtype=np.int64), ordered=True,
    )  # fmt: skip
    left_s = departures(machine, load)
    departed = np.flatnonzero(left_s >= 0)
    order = departed[np.argsort(left_s[departed], kind="stable")]
    outputs = []
    for k in range(CARDS):
        numbers = order[output[order] == k]
        outputs.append(path / f"card{k}.out.pcap")
        _write(outputs[-1], [changed[number] for number in numbers], np.round(left_s[numbers] * 1e9).astype(np.int64))
    seconds = float(left_s.max())
    bits = 8.0 * float(traffic.packets.length[departed].sum())
    return Played(inputs, outputs, order, output, reason, seconds, bits / seconds if seconds > 0 else 0.0), traffic


def departures(router: Design, load: Workload) -> npt.NDArray[np.float64]:
    """Return the time in s at which each packet reached its output line card (-1: never); shape (packets,)."""
    machine = router.machine()
    trace = Trace("trace", len(load.packet_bytes))
    machine.resources |= {"trace": trace, "discard": Discard("discard")}
    model = build(machine, router.workload(load))
    state = State(model, 1)
    status = state.advance(int(FOREVER), int(FOREVER), int(FOREVER))
    if status not in (engine.DEADLOCK, engine.FINISHED):
        raise SimulationError("stall", f"{load.name}: {state.error_place()}; {state.who_waits()}")
    ticks = np.array([int(state.G[trace.begin + k]) for k in range(trace.packets)], dtype=np.float64)
    return np.where(ticks > 0, ticks * model.tick, -1.0)


# ---- comparison with the golden router


def check(played: Played, traffic: Input, folder: str | Path) -> Verdict:
    """Forward the same input files by the golden router, and compare the results with the machine's output files."""
    golden, drop_reasons = _golden(played, traffic, Path(folder))
    beyond: Counter[str] = Counter()
    differences = []
    for k, path in enumerate(played.outputs):
        packets_of_card = played.order[played.output[played.order] == k]
        sent = [packet for part in merged([CaptureScan(path)])
                for packet in Packets(part.buffer, part.offset + ETHERNET, part.captured - ETHERNET)]  # fmt: skip
        if len(sent) != len(packets_of_card):
            differences.append(f"card {k}: {len(sent)} packets in its file, {len(packets_of_card)} left the machine")
        for number, packet in zip(packets_of_card.tolist(), sent, strict=False):
            port, expected = golden.get(number, (-1, b""))
            if port < 0 and drop_reasons[number] in BEYOND:
                beyond[drop_reasons[number].name] += 1
            elif (port, _plain(expected)) != (k, _plain(packet)):
                expected_text = drop_reasons[number].name if port < 0 else f"by card {port}"
                bytes_text = ", with other bytes" if port == k else ""
                differences.append(f"packet {number} left by card {k}; golden: {expected_text}{bytes_text}")
        for source in range(CARDS):
            flow = packets_of_card[traffic.card[packets_of_card] == source]
            if np.any(np.diff(flow) < 0):
                differences.append(f"packets from card {source} to card {k} changed their order")
    departed = set(played.order.tolist())
    differences += [f"packet {number} did not leave; golden: by card {port}" for number, (port, _) in golden.items()
                    if number not in departed]  # fmt: skip
    reasons = Counter(BY_CODE[int(code)].name for code in played.reason[played.reason > 0])
    return Verdict(len(traffic.packets), len(departed), dict(reasons), dict(beyond), differences)


def _plain(packet: bytes) -> bytes:
    """Return a packet with a header checksum of 0xffff replaced by 0: both are valid (RFC 1624 section 3)."""
    return packet[:10] + (b"\0\0" if packet[10:12] == b"\xff\xff" else packet[10:12]) + packet[12:]


def _golden(played: Played, traffic: Input, folder: Path) -> tuple[dict[int, tuple[int, bytes]], dict[int, Reason]]:
    """Return the golden router's (port, bytes) by forwarded packet, and its reason by dropped packet."""
    lines = [f'[[port]]\nname = "card{k}"\naddress = "198.18.{k}.1/30"\nmac = "02:00:00:00:00:{k:02x}"\n'
             f'peer_mac = "02:00:00:00:01:{k:02x}"\nmtu = 65535\n' for k in range(CARDS)]  # fmt: skip
    text = [f"{'.'.join(str(int(address) >> s & 255) for s in (24, 16, 8, 0))}/24 card{card}"
            for address, card in zip(*traffic.routes, strict=True)]  # fmt: skip
    (folder / "routes.txt").write_text("\n".join(text) + "\n", encoding="utf-8")
    (folder / "router.toml").write_text("\n".join(lines) + '\n[routes]\nfile = "routes.txt"\n', encoding="utf-8")
    numbers = [np.flatnonzero(traffic.card == k) for k in range(CARDS)]
    inputs: dict[str, Any] = {f"card{k}": played.inputs[k] for k in range(CARDS)}
    forwarded: dict[int, tuple[int, bytes]] = {}
    drop_reasons: dict[int, Reason] = {}
    for step in Replay(load_router(folder / "router.toml"), inputs, any_station=True):
        output, part = step.made, step.part
        number = [int(numbers[card][row]) for card, row in zip(part.source, part.number, strict=True)]
        drop_reasons |= {number[row]: BY_CODE[int(output.reason[row])] for row in step.dropped.tolist()}
        for row in np.flatnonzero(~output.icmp).tolist():
            forwarded[number[int(output.packet[row])]] = int(output.port[row]), output.frames[row][ETHERNET:]
    return forwarded, drop_reasons
