"""Compares peak rates computed as data sheets compute them with bounds and simulations of the parts (models/parts).

QDR SRAM   useful bytes = 2 ports x 2 words per clock x words / (bursts x burst); a burst always moves all its words
hash unit  keys = min(offered, clock / (steps x clocks per step)); waiting time with Poisson arrivals
           U T / (2 (1 - U)) (Pollaczek)
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import pandas as pd

from npexplore.machine.described.parts import Part, part
from npexplore.machine.machine import Machine, Pool
from npexplore.machine.program import Packet, Recorder
from npexplore.machine.resources.ingress import Ingress
from npexplore.machine.workload_sources import workload
from npexplore.solve.bounds import bounds
from npexplore.solve.simulate import simulate

THREADS = 64  # more than needed to hide any latency here
BUFFER = 1 << 22  # bytes; large enough that no packet is dropped


def qdr_peaks(
    clock_mhz: float = 250.0, words: Iterable[int] = range(1, 17), packets: int = 4000, word_bytes: int = 4
) -> pd.DataFrame:
    """Return useful Gb/s of a QDR SRAM with both ports busy, by words per request: bursts of two and of four.

    Columns: setting, words, sheet_gbps, bounds_gbps, simulated_gbps.
    clock_mhz: clock of the memory. words: words per request. packets: measured packets of each simulation. word_bytes:
    bytes per word.
    """

    def access(m: Recorder, packet: Packet) -> None:
        with m.fork():
            m.qdr.write(bytes=packet.packet_bytes)
        m.qdr.read(bytes=packet.packet_bytes)
        m.receive.free(bytes=packet.packet_bytes)

    rows = []
    for burst in (2, 4):
        memory = _machine(part("qdr_sram", "qdr", clock_mhz=clock_mhz, burst=burst, word_bytes=word_bytes), access)
        for request_words in words:
            bits, load = 2 * 8 * word_bytes * request_words, workload(packet_bytes=word_bytes * request_words)
            moved = -(-request_words // burst) * burst
            peak = 2 * 2 * clock_mhz * 1e6 * 8 * word_bytes
            limit, answer = bounds(memory, load), simulate(memory, load, packets=packets)
            rates = (peak * request_words / moved, limit.rate_pps * bits, answer.rate_pps * bits)
            rows.append((f"bursts of {burst}", request_words, *(rate / 1e9 for rate in rates)))
    return pd.DataFrame(rows, columns=["setting", "words", "sheet_gbps", "bounds_gbps", "simulated_gbps"])


def hash_rates(
    clock_mhz: float = 200.0, latency_clocks: float = 20.0, shares: Iterable[float] = (0.2, 0.4, 0.6, 0.8, 0.9, 1.3),
    key_bytes: Iterable[int] = (8, 16), packets: int = 20_000,
) -> pd.DataFrame:  # fmt: skip
    """Return a hash unit's rate in million keys/s over the offered rate (Poisson), for several key lengths.

    shares: offered rates as shares of the peak. Columns: setting, offered_mpps, sheet_mpps, bounds_mpps,
    simulated_mpps, load, sheet_ns, simulated_ns (mean time of a key; the sheet has no value above the peak).
    clock_mhz: clock of the unit. latency_clocks: latency of one key. key_bytes: lengths of keys. packets: measured
    packets of each simulation.
    """
    rows = []
    for size in key_bytes:

        def hashed(m: Recorder, packet: Packet, size: int = size) -> None:
            m.hash.hash(bytes=size)
            m.receive.free(bytes=packet.packet_bytes)

        unit = part("hash_unit", "hash", clock_mhz=clock_mhz, latency_clocks=latency_clocks, requests=THREADS)
        machine, service = _machine(unit, hashed), -(-size // 8) / (clock_mhz * 1e6)
        for share in shares:
            load = workload(packet_bytes=64, arrivals="poisson", rate=share / service)
            limit, answer = bounds(machine, load), simulate(machine, load, packets=packets)
            wait = share * service / (2 * (1 - share)) if share < 1 else float("nan")
            expected_s = wait + service + latency_clocks / (clock_mhz * 1e6)
            rates = (share / service, min(share, 1.0) / service, limit.rate_pps, answer.rate_pps)
            mean = answer.latency_s.mean or float("nan")
            rows.append((f"{size}-byte keys", *(rate / 1e6 for rate in rates), share, expected_s * 1e9, mean * 1e9))
    columns = ["offered_mpps", "sheet_mpps", "bounds_mpps", "simulated_mpps", "load", "sheet_ns", "simulated_ns"]
    return pd.DataFrame(rows, columns=["setting", *columns])


def _machine(resource: Part, program: Callable[[Recorder, Packet], None]) -> Machine:
    pool = Pool("thread", THREADS, program)
    return Machine("sheet", pool, Ingress("receive", BUFFER, 64), {resource.name: resource})
