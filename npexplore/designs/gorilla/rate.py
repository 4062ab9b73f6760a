"""The packet rate of Gorilla's hardware: its Verilog forwards packets in Verilator, cycle by cycle.

    rate = packets / (cycle in which the last one leaves - cycle in which the packet before the first leaves) x clock

Only the middle of a run counts: the first fifth is warm-up, the last tenth empties the machine. The interval comes from
batch means.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np

from npexplore.designs.gorilla.hardware import BENCH
from npexplore.designs.gorilla.hardware_cases import rated
from npexplore.designs.gorilla.processor import PROCESSOR, ProcessorFiles, Ran
from npexplore.designs.gorilla.traffic import FRAME, MIXES, router_tables
from npexplore.engine.intervals import interval, ratio_interval
from npexplore.errors import InputError, RefusedError
from npexplore.machine.parameters import Parameters
from npexplore.solve.prediction import Latency, Prediction

SIMULATOR, BUILT = "verilator", Path("built", "Vbench")
FILES = (PROCESSOR, BENCH)
PACKETS = 20_000
WARM_UP, EMPTYING, BATCHES = 0.2, 0.1, 14  # shares of packets before and after the measured ones; number of batches
POOL = 240  # different frames, sent in turn
NEARLY_ALL = 0.99  # share of the offered rate from which arrivals are the bottleneck
PLAIN = {  # knobs without a hardware template: the value that the hardware implements
    "frames": "minimum", "exceptions": 0.0, "controls": 0.0, "cache_entries": 0, "counter_flush": 1,
    "first_level": "memory", "label_tables": "warm",
}  # fmt: skip


class Rig:
    """The hardware for some parameters, built by Verilator in a folder; it runs at any offered rate.

    A binary in the folder is reused if the Verilog is unchanged.

    Raises RefusedError without Verilator, and for parameters without hardware.
    """

    def __init__(self, p: Parameters, folder: Path) -> None:
        self.p, self.folder, self.spoken = p, folder, _spoken(p)
        counting = p.flow_counting == "on"
        both = p.source_lookup == "always" or (p.source_lookup == "with_counting" and counting)
        try:
            self.files = ProcessorFiles(p, router_tables(str(p.addresses), both), self.spoken)
        except InputError as error:
            raise RefusedError(f"rtl: {error}") from error
        previous_texts = [(folder / name).read_text(encoding="utf-8") for name in FILES if (folder / name).exists()]
        self.files.write(folder)
        binary = folder / BUILT
        if not binary.exists() or previous_texts != [(folder / name).read_text(encoding="utf-8") for name in FILES]:
            self.files.build(folder, SIMULATOR)
        self.command = [str(BUILT)]

    def rate(self, rate_mpps: float, packets: int = PACKETS) -> Prediction:
        """Return throughput and latency at an offered rate; 0: saturated arrivals."""
        if packets < 1000:
            raise InputError(f"rtl: packets must be at least 1000, got {packets}")
        clock_hz, offered = 1e6 * float(self.p.core_mhz), 1e6 * float(rate_mpps)
        options = {"rate": round(1e6 * offered / clock_hz)} if offered else {}
        frames = rated(self.files.box, self.spoken, POOL)
        departures, _ = self.files.run(self.folder, self.command, frames, packets, quiet=1, **options)
        if len(departures) != packets:
            raise RefusedError(f"rtl: {packets - len(departures)} of {packets} packets did not leave the hardware")
        return _measured(departures, clock_hz, offered, self.spoken)


def rate(p: Parameters, packets: int = PACKETS) -> Prediction:
    """Return throughput and latency of the hardware for some parameters, with intervals.

    packets: total number sent, at least 1,000; seven tenths are measured. Raises RefusedError without Verilator and for
    parameters without hardware, InputError for too few packets.
    """
    if packets < 1000:
        raise InputError(f"rtl: packets must be at least 1000, got {packets}")
    with tempfile.TemporaryDirectory() as name:
        return Rig(p, Path(name)).rate(float(p.rate_mpps), packets)


def _spoken(p: Parameters) -> list[str]:
    """Return the protocols of the hardware; raises RefusedError for parameters without hardware."""
    for name, value in PLAIN.items():
        if name in p and p[name] != value:
            raise RefusedError(f"rtl: the hardware has no template for another {name} than {value!r}, got {p[name]!r}")
    if p.rate_mpps and p.arrivals != "periodic":
        raise RefusedError(f"rtl: packets come periodically or as fast as they are taken, got arrivals {p.arrivals!r}")
    if shutil.which(SIMULATOR) is None:
        raise RefusedError("rtl: needs Verilator on the path (package verilator of Debian), got none")
    kinds = MIXES[str(p.proto)]
    spoken = ["ipv4"] if p.protocols == "ipv4" else [protocol for protocol in ("ipv4", "ipv6") if protocol in kinds]
    if any(kind not in spoken for kind in kinds):
        raise RefusedError(f"rtl: the hardware's rate is of IPv4 and IPv6; labels are not timed, got {p.proto!r}")
    return spoken


def _measured(ran: Sequence[Ran], clock_hz: float, offered: float, spoken: Sequence[str]) -> Prediction:
    """Return the prediction from the packets that left; offered: packets/s, 0 for saturated arrivals."""
    packets = len(ran)
    exits = np.sort(np.array([packet.left for packet in ran]))
    latency_cycles = np.array([packet.left - packet.entered for packet in ran])
    first, last = round(WARM_UP * packets), round((1 - EMPTYING) * packets)
    edges = np.linspace(first, last, BATCHES + 1).astype(int)
    counts = np.diff(edges).astype(float)
    seconds = np.diff(exits[edges - 1]) / clock_hz
    low, high = ratio_interval(counts, seconds)
    latencies_s = latency_cycles[first:last] / clock_hz
    batch_means_s = np.array([latency_cycles[start:end].mean() / clock_hz for start, end in pairwise(edges)])
    pps = float(counts.sum() / seconds.sum())
    bits = 8.0 * FRAME
    quantiles = [float(quantile) for quantile in np.quantile(latencies_s, [0.5, 0.95, 0.99])]
    return Prediction(
        solver="rtl",
        throughput_bps=bits * pps,
        rate_pps=pps,
        counted=f"{FRAME}-byte frames",
        bottleneck="arrivals" if offered and pps >= NEARLY_ALL * offered else "not told by hardware",
        utilization={},
        latency_s=Latency(float(latencies_s.mean()), *quantiles),
        offered_pps=offered or None,
        ci95={
            "throughput_bps": (bits * low, bits * high),
            "rate_pps": (low, high),
            "latency_s": interval(batch_means_s),
        },
        approximation=f"Verilog of {'+'.join(spoken)} in Verilator; accelerators of the bench; no bodies; batch means",
        about={"packets": last - first, "batches": BATCHES, "cycles": int(exits[last - 1] - exits[first - 1])},
    )
