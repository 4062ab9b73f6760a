"""How each listed machine would forward a capture: packets a second by all three solvers, and the bottleneck."""

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

PARTS = ("ixp2400_dram", "pcie")  # a packet buffer and a bus: they move packets and forward none
SOLVERS = ("bounds", "queueing", "simulated")


def machines_without_clock() -> list[str]:
    """Return the listed machines whose clock no source states: their rates would be those of an assumption."""
    return [
        name for name in DESIGNS if name not in PARTS and any(
            "clock" in knob and one.kind == "assumption" and one.unit in ("MHz", "GHz")
            for knob, one in design(name).parameters.file.parameter.items()
        )
    ]  # fmt: skip


def machines_for_captures() -> list[str]:
    """Return the listed machines that forward packets and whose clock a source states."""
    left_out = {*PARTS, *machines_without_clock()}
    return [name for name in DESIGNS if name not in left_out]


def compare_on_capture(load: Workload, *, seed: int = 1, progress: Callable[[str], None] | None = None) -> pd.DataFrame:
    """Return a row for each of `machines_for_captures`, with its default parameters (columns as in `compare`).

    Each machine is simulated once: estimates of them all would take longer than all the rest of a capture's page.

    load: the packets. seed: of the simulations. progress: called with names of machines.
    Raises InputError if there is none; `progress` is told each machine's name before its turn.
    """
    names = machines_for_captures()
    if not names:
        raise InputError("no listed machine takes a capture")
    return compare(load, names, seed=seed, packets=PACKETS, progress=progress)


def packet_rates(table: pd.DataFrame) -> pd.DataFrame:
    """Return millions of packets a second: the columns machine, solver, mpps, a row for each answer of a comparison.

    Machines count bits of different things (packets, frames, padded cells); packets are the same for all.
    """
    bits = table[[f"{solver}_bps" for solver in SOLVERS]].astype(float).set_axis(list(SOLVERS), axis=1)
    best = bits["simulated"].fillna(bits["queueing"]).fillna(bits["bounds"])
    mpps = bits.div(best / (1e-6 * table["rate_pps"].astype(float)), axis=0).assign(machine=table["machine"])
    return mpps.melt("machine", list(SOLVERS), "solver", "mpps").dropna(ignore_index=True)
