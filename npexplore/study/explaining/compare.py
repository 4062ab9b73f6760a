"""Compares machines on the same packets, at their own clocks or with all clocks scaled to a common one.

    scaled rate = rate x common clock / own clock        scales all times of a machine, memory times included

Machines count throughput differently (packet bits, padded cells, wire bits). The table therefore also has `packet_bps`,
the bits of packets, and `line_rate_share`, the share of the machine's line rate. `note` says how a machine treats
packets that its own workload does not contain.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from npexplore.designs import DESIGNS, DesignLike, design
from npexplore.errors import InputError, NpexploreError, one_of, positive
from npexplore.machine.machine import Machine
from npexplore.machine.parameters import Parameters
from npexplore.machine.resources import Processor
from npexplore.machine.workload import Workload
from npexplore.machine.workload_sources import WorkloadLike, as_workload
from npexplore.solve.solver_answers import ESTIMATE, SOLVERS
from npexplore.study.explaining.explain import explain
from npexplore.study.explaining.words import NOT_ESTIMATED

if TYPE_CHECKING:
    import pandas as pd

CLOCKS = ("clock_mhz", "me_clock_mhz")
ANSWERS = (*SOLVERS, ESTIMATE)
RATES = (*(f"{solver}_bps" for solver in ANSWERS), "low_bps", "high_bps", "rate_pps", "packet_bps")
COLUMNS = (
    "machine", "clock_mhz", *(f"{solver}_bps" for solver in ANSWERS), "low_bps", "high_bps", "counted", "rate_pps",
    "packet_bps", "line_rate_share", "bottleneck", "latency_s", "note", "refused",
)  # fmt: skip


def compare(
    load: WorkloadLike,
    designs: Sequence[DesignLike] | None = None,
    *,
    clock_mhz: float | None = None,
    seed: int = 1,
    packets: int | None = None,
    progress: Callable[[str], None] | None = None,
) -> pd.DataFrame:
    """Return a table with one row for each machine: all forward the same packets, each with its default parameters.

    The columns are `COLUMNS`: `*_bps` of a solver is None if that solver refuses; `low_bps` and `high_bps` are the
    95 % interval of the simulation; rate, bottleneck and latency are those of the most accurate answer.

    Args:
        load: the packets.
        designs: designs or names of listed designs (None: all listed designs).
        clock_mhz: scale every machine to this clock (saturated arrivals only).
        seed: seed of the simulations.
        packets: simulate this many packets once instead of estimating: faster, with a wider interval.
        progress: called with each machine's name before the machine is solved.

    Raises:
        InputError: a workload or clock that no machine can use.
        UnknownNameError: a design that does not exist.

    Example:
        >>> import npexplore as npx
        >>> table = npx.compare(npx.workload(packet_bytes=64), ["ixp2400", "smartnic"])
        >>> table[["machine", "bottleneck"]].values.tolist()
        [['ixp2400', 'dram.bus'], ['smartnic', 'core']]
    """
    import pandas as pd

    load = as_workload(load)
    if clock_mhz is not None:
        positive("common clock", clock_mhz)
        if load.arrivals != "saturated":
            raise InputError(f"machines at a common clock need saturated arrivals, got {load.arrivals}")
    machines = list(DESIGNS if designs is None else designs)
    for name in machines:
        if isinstance(name, str) and not name.endswith((".toml", ".py")):
            one_of("design", name, DESIGNS)
    if not machines:
        raise InputError("compare needs at least one machine")
    rows = []
    for machine in machines:
        if progress:
            progress(_name(machine))
        row = one(machine, load, seed, packets)
        rows.append(row if clock_mhz is None else _scaled(row, clock_mhz))
    return pd.DataFrame(rows, columns=list(COLUMNS))


def one(of: DesignLike, load: Workload, seed: int = 1, packets: int | None = None) -> dict[str, Any]:
    """Return the row of one machine; a machine that refuses the workload has its reason in `refused`."""
    row: dict[str, Any] = dict.fromkeys(COLUMNS) | {"machine": _name(of)}
    try:
        machine = design(of)
        row["machine"] = machine.name
        note = machine.workload(load).note
        row["note"] = note if note != load.note else None
        row["clock_mhz"] = clock_of(machine.machine(load), machine.parameters)
        explanation = explain(machine, load, seed=seed, packets=packets, elasticities=False)
    except NpexploreError as error:
        return row | {"refused": str(error)}
    for solver in ANSWERS:
        if solver in explanation.predictions:
            row[f"{solver}_bps"] = explanation.predictions[solver].throughput_bps
    best = explanation.best
    row["low_bps"], row["high_bps"] = best.ci95.get("throughput_bps", (None, None))
    row |= {"counted": best.counted, "rate_pps": best.rate_pps, "bottleneck": best.bottleneck}
    row["line_rate_share"] = None if explanation.line is None else explanation.line.share
    row["packet_bps"] = best.rate_pps * 8 * explanation.workload.mean_packet_bytes
    refused = [reason for reason in explanation.refused.values() if reason != NOT_ESTIMATED]
    return row | {"latency_s": best.latency_s.mean, "refused": "; ".join(refused) or None}


def _name(of: DesignLike) -> str:
    return str(of) if isinstance(of, str | Path) else str(getattr(of, "name", getattr(of, "__name__", of)))


def clock_of(machine: Machine, parameters: Parameters) -> float | None:
    """Return a machine's clock in MHz: its threads' processor's, else its clock parameter (None: it has neither)."""
    for pool in machine.pools:
        home = machine.resources.get(str(pool.home))
        if isinstance(home, Processor):
            return round(1e-6 / home.cycle, 9)
    return next((float(parameters[name]) for name in CLOCKS if name in parameters), None)


def _scaled(row: dict[str, Any], clock_mhz: float) -> dict[str, Any]:
    own_clock_mhz = row["clock_mhz"]
    if own_clock_mhz is None:
        reason = "no clock that could be scaled"
        return dict.fromkeys(COLUMNS) | {"machine": row["machine"], "refused": row["refused"] or reason}
    ratio = clock_mhz / own_clock_mhz
    scaled_rates = {name: None if row[name] is None else row[name] * ratio for name in RATES}
    latency = None if row["latency_s"] is None else row["latency_s"] / ratio
    return row | scaled_rates | {"latency_s": latency, "clock_mhz": clock_mhz}
