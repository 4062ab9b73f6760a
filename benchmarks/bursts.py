"""Mean latencies of queueing beside simulation behind all kinds of arrivals: the rows of reports/bursts.md.

python benchmarks/bursts.py                 # ten minutes of one core
python benchmarks/bursts.py smartnic        # machines whose title has this word
"""

from __future__ import annotations

import sys

import numpy as np

import npexplore as npx
from npexplore.designs import Design
from npexplore.machine.workload import Workload

LOADS = (0.3, 0.6, 0.9)  # of the bounds
PROCESSES = (
    "poisson", "batch:4", "batch:8", "batch:32", "batch:8:geometric", "on_off:500ns:500ns", "on_off:2us:2us",
    "on_off:5us:15us",
)  # fmt: skip
STAMPS = ("one at a time", "eights", "2 us on and off", "heavy gaps", "cascade")
LEVELS = 14  # of the cascade: 16,384 spans


def machines() -> dict[str, tuple[Design, tuple[str, ...]]]:
    """Return machines by title, with the packets that they get: bytes, or a mix."""
    server, back = npx.design("server"), {"program": "tx", "ring": 1024, "egress": "same_port"}
    turned = {"program": "redirect", "ring": 1024, "egress": "other_port"}
    routes = server.with_(stack="linux", program="route", cores=6, egress="other_port")
    return {
        "server, drop, 6 cores": (server.with_(program="drop", ring=512, cores=6), ("64", "imix")),
        "server, send back, 6 cores": (server.with_(**back, cores=6), ("64", "257", "imix")),
        "server, send back, 1 core": (server.with_(**back), ("imix",)),
        "server, redirect, 6 cores": (server.with_(**turned, cores=6), ("imix",)),
        "server, redirect, 1 core": (server.with_(**turned), ("64",)),
        "server, Linux route, 6 cores": (routes, ("64",)),
        "smartnic": (npx.design("smartnic"), ("64", "imix")),
        "pcie, writes": (npx.design("pcie").with_(op="write"), ("257",)),
    }


def packets_of(name: str) -> Workload:
    """Return packets of a length or of a mix."""
    return npx.workload(packet_bytes=int(name)) if name.isdigit() else npx.workload(mix=name)


def times(kind: str, count: int, rng: np.random.Generator) -> np.ndarray:
    """Return arrival times (n,) that are 1 apart in the mean, of 2 us for `2 us on and off` if that is 1 ns."""
    if kind == "eights":
        return np.repeat(np.cumsum(rng.exponential(8.0, count // 8)), 8)
    if kind == "heavy gaps":
        gaps = rng.pareto(1.8, count)
        return np.cumsum(gaps / gaps.mean())
    if kind == "cascade":  # each span's packets are divided among its halves, 35 to 65 % each
        share = np.ones(1)
        for _ in range(LEVELS):
            left = rng.uniform(0.35, 0.65, len(share))
            share = np.stack([share * left, share * (1 - left)], axis=1).ravel()
        each, width = rng.poisson(share * count), count / len(share)
        return np.sort(np.repeat(np.arange(len(share)) * width, each) + rng.uniform(0, width, each.sum()))
    return np.cumsum(rng.exponential(1.0, count))


def spans(rate: float, count: int, rng: np.random.Generator) -> np.ndarray:
    """Return arrival times (n,) in seconds: twice the rate for 2 us, then none for 2 us, in the mean."""
    parts, now, there = [], 0.0, 0
    while there < count:
        on = rng.exponential(2e-6)
        parts.append(now + np.sort(rng.uniform(0, on, rng.poisson(2 * rate * on))))
        now, there = now + on + rng.exponential(2e-6), there + len(parts[-1])
    return np.concatenate(parts)[:count]


def stamped(kind: str, packets: Workload, rate: float, count: int) -> Workload:
    """Return packets in a random order at instants of their own."""
    rng = np.random.default_rng(5)
    at = spans(rate, count, rng) if kind == "2 us on and off" else times(kind, count, rng) / rate
    sizes = rng.choice(packets.packet_bytes, len(at))
    return Workload(kind, {"packet_bytes": sizes}, "timestamps", t_ns=np.round((at - at[0]) * 1e9).astype(np.int64))


def processes(design: Design, packets: Workload, arrivals: str, most: float) -> list[float]:
    """Return how far queueing is off at each load, in percent; it is asked at the rate that came through."""
    few, many = (600_000, 2_000_000) if arrivals.startswith("on_off") else (200_000, 1_200_000)
    found = []
    for share in LOADS:
        load = packets.with_arrivals(arrivals, share * most)
        seen = design.simulate(load, packets=many if share == max(LOADS) else few, breakdown=False)
        queued = design.queueing(load.with_arrivals(arrivals, seen.rate_pps))
        found.append(100 * (queued.latency_s.mean / seen.latency_s.mean - 1))
    return found


def recordings(design: Design, packets: Workload, kind: str, most: float) -> list[float]:
    """Return how far queueing is off at each load, in percent."""
    found = []
    for share in LOADS:
        load = stamped(kind, packets, share * most, 200_000 if share < max(LOADS) else 400_000)
        seen, queued = design.simulate(load, breakdown=False), design.queueing(load)
        found.append(100 * (queued.latency_s.mean / seen.latency_s.mean - 1))
    return found


def main(word: str = "") -> None:
    """Print the rows, and what they come to."""
    off: dict[str, list[float]] = {"process": [], "recording": []}
    for title, (design, lengths) in machines().items():
        for name in lengths if word in title else ():
            packets = packets_of(name)
            most = design.bounds(packets).rate_pps
            for what, ask, kinds in (("process", processes, PROCESSES), ("recording", recordings, STAMPS)):
                for kind in kinds:
                    found = ask(design, packets, kind, most)
                    off[what] += found
                    told = f"`{kind}`" if what == "process" else f"recorded: {kind}"
                    shown = f"{name} B" if name.isdigit() else name.upper()
                    print(f"| {title} | {shown} | {told} | {', '.join(f'{one:+.0f}' for one in found)} |", flush=True)
    for what, values in ((what, values) for what, values in off.items() if values):
        size = np.abs(values)
        about = f"median {np.median(size):.1f}, within 10 % {np.sum(size <= 10)}, at most {size.max():.1f}"
        print(f"{what}: {len(size)}, {about}")


if __name__ == "__main__":
    main(*sys.argv[1:2])
