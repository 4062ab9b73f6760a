"""Compares how the listed machines would forward a capture: packets/s by all three solvers, and the bottleneck."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from npexplore.designs import DESIGNS, design
from npexplore.errors import InputError
from npexplore.machine.workload import Workload
from npexplore.solve.simulate import PACKETS
from npexplore.study.explaining.compare import compare

if TYPE_CHECKING:
    import pandas as pd

PARTS = ("ixp2400_dram", "pcie")  # a packet buffer and a bus: they move packets but do not forward them
SOLVERS = ("bounds", "queueing", "simulated")


def machines_without_clock() -> list[str]:
    """Return the listed machines whose clock is an assumption: no source states it, so their rates are assumed too."""
    return [
        name for name in DESIGNS if name not in PARTS and any(
            "clock" in knob and parameter.kind == "assumption" and parameter.unit in ("MHz", "GHz")
            for knob, parameter in design(name).parameters.file.parameter.items()
        )
    ]  # fmt: skip


def machines_for_captures() -> list[str]:
    """Return the listed machines that forward packets and have a clock with a source."""
    left_out = {*PARTS, *machines_without_clock()}
    return [name for name in DESIGNS if name not in left_out]


def compare_on_capture(load: Workload, *, seed: int = 1, progress: Callable[[str], None] | None = None) -> pd.DataFrame:
    """Return a row for each of `machines_for_captures`, with its default parameters (columns as in `compare`).

    Each machine is simulated once: estimates of all machines would take longer than the rest of a capture's page.

    load: the packets. seed: seed of the simulations. progress: called with each machine's name before it is solved.
    Raises InputError if no listed machine takes a capture.
    """
    names = machines_for_captures()
    if not names:
        raise InputError("no listed machine takes a capture")
    return compare(load, names, seed=seed, packets=PACKETS, progress=progress)


def packet_rates(table: pd.DataFrame) -> pd.DataFrame:
    """Return a row for each answer of a comparison: columns machine, solver, mpps (million packets/s).

    Packet rates are comparable where bit rates are not: machines count bits of packets, frames or padded cells.
    """
    bits = table[[f"{solver}_bps" for solver in SOLVERS]].astype(float).set_axis(list(SOLVERS), axis=1)
    best = bits["simulated"].fillna(bits["queueing"]).fillna(bits["bounds"])
    mpps = bits.div(best / (1e-6 * table["rate_pps"].astype(float)), axis=0).assign(machine=table["machine"])
    return mpps.melt("machine", list(SOLVERS), "solver", "mpps").dropna(ignore_index=True)
