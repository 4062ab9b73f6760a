"""The rate of Gorilla's hardware: forwarded packets through its Verilog, cycle by cycle, in Verilator.

    rate = packets / (cycle in which the last of them leaves - cycle before the first one), times the core's clock

of the middle of a run: a fifth is warm-up, the last tenth empties the machine. Batches give the interval.
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
WARM_UP, EMPTYING, BATCHES = 0.2, 0.1, 14  # shares of the packets before and behind those that are measured
POOL = 240  # different frames, sent in turn
NEARLY_ALL = 0.99  # of what is offered
PLAIN = {  # what the hardware has, of knobs that it has no template for
    "frames": "minimum", "exceptions": 0.0, "controls": 0.0, "cache_entries": 0, "counter_flush": 1,
    "first_level": "memory", "label_tables": "warm",
}  # fmt: skip


class Rig:
    """The parameters' hardware, built by Verilator in a folder, to be run at any offered rate.

    What the folder has of the same text is not built again.

    Raises RefusedError without Verilator, and for a machine that has no hardware here.
    """

    def __init__(self, p: Parameters, folder: Path) -> None:
        self.p, self.folder, self.spoken = p, folder, _spoken(p)
        counting = p.flow_counting == "on"
        both = p.source_lookup == "always" or (p.source_lookup == "with_counting" and counting)
        try:
            self.files = ProcessorFiles(p, router_tables(str(p.addresses), both), self.spoken)
        except InputError as error:
            raise RefusedError(f"rtl: {error}") from error
        before = [(folder / name).read_text(encoding="utf-8") for name in FILES if (folder / name).exists()]
        self.files.write(folder)
        built = folder / BUILT
        if not built.exists() or before != [(folder / name).read_text(encoding="utf-8") for name in FILES]:
            self.files.build(folder, SIMULATOR)
        self.command = [str(BUILT)]

    def rate(self, rate_mpps: float, packets: int = PACKETS) -> Prediction:
        """Return throughput and latency at an offered rate, 0 for as fast as packets are taken."""
        if packets < 1000:
            raise InputError(f"rtl: packets must be at least 1000, got {packets}")
        clock_hz, offered = 1e6 * float(self.p.core_mhz), 1e6 * float(rate_mpps)
        options = {"rate": round(1e6 * offered / clock_hz)} if offered else {}
        frames = rated(self.files.box, self.spoken, POOL)
        ran, _ = self.files.run(self.folder, self.command, frames, packets, quiet=1, **options)
        if len(ran) != packets:
            raise RefusedError(f"rtl: {packets - len(ran)} of {packets} packets did not leave the hardware")
        return _measured(ran, clock_hz, offered, self.spoken)


def rate(p: Parameters, packets: int = PACKETS) -> Prediction:
    """Return throughput and latency of the parameters' hardware, with intervals.

    packets: sent in all, of which seven tenths are measured; at least 1,000. Raises RefusedError without Verilator, and
    for a machine that has no hardware here; InputError for too few packets.
    """
    if packets < 1000:
        raise InputError(f"rtl: packets must be at least 1000, got {packets}")
    with tempfile.TemporaryDirectory() as name:
        return Rig(p, Path(name)).rate(float(p.rate_mpps), packets)


def _spoken(p: Parameters) -> list[str]:
    """Return the protocols of the hardware; raises RefusedError for what has none here."""
    for name, value in PLAIN.items():
        if name in p and p[name] != value:
            raise RefusedError(f"rtl: the hardware has no template for another {name} than {value!r}, got {p[name]!r}")
    if p.rate_mpps and p.arrivals != "periodic":
        raise RefusedError(f"rtl: packets come periodically or as fast as they are taken, got arrivals {p.arrivals!r}")
    if shutil.which(SIMULATOR) is None:
        raise RefusedError("rtl: needs Verilator on the path (package verilator of Debian), got none")
    kinds = MIXES[str(p.proto)]
    spoken = ["ipv4"] if p.protocols == "ipv4" else [one for one in ("ipv4", "ipv6") if one in kinds]
    if any(kind not in spoken for kind in kinds):
        raise RefusedError(f"rtl: the hardware's rate is of IPv4 and IPv6; labels are not timed, got {p.proto!r}")
    return spoken


def _measured(ran: Sequence[Ran], clock_hz: float, offered: float, spoken: Sequence[str]) -> Prediction:
    """Return what packets that left say; offered: packets a second, 0 for as fast as they are taken."""
    packets = len(ran)
    left = np.sort(np.array([one.left for one in ran]))
    waits = np.array([one.left - one.entered for one in ran])
    first, last = round(WARM_UP * packets), round((1 - EMPTYING) * packets)
    edges = np.linspace(first, last, BATCHES + 1).astype(int)
    counts = np.diff(edges).astype(float)
    seconds = np.diff(left[edges - 1]) / clock_hz
    low, high = ratio_interval(counts, seconds)
    measured = waits[first:last] / clock_hz
    means = np.array([waits[a:b].mean() / clock_hz for a, b in pairwise(edges)])
    pps = float(counts.sum() / seconds.sum())
    bits = 8.0 * FRAME
    quantiles = [float(one) for one in np.quantile(measured, [0.5, 0.95, 0.99])]
    return Prediction(
        solver="rtl",
        throughput_bps=bits * pps,
        rate_pps=pps,
        counted=f"{FRAME}-byte frames",
        bottleneck="arrivals" if offered and pps >= NEARLY_ALL * offered else "not told by hardware",
        utilization={},
        latency_s=Latency(float(measured.mean()), *quantiles),
        offered_pps=offered or None,
        ci95={"throughput_bps": (bits * low, bits * high), "rate_pps": (low, high), "latency_s": interval(means)},
        approximation=f"Verilog of {'+'.join(spoken)} in Verilator; accelerators of the bench; no bodies; batch means",
        about={"packets": last - first, "batches": BATCHES, "cycles": int(left[last - 1] - left[first - 1])},
    )
