"""The mean length of a lost trace, fitted to the printed utilization of a unit that serves each packet once.

    U = S X / (m b)     S: time of a packet in the unit, X: bits a second, m: cells a packet, b: bits of a cell

Throughput is the simulation's own, so that only calibration rows are read: m <- m U(m) / U printed, until they agree.
"""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean

import msgspec

from npexplore.designs import Design
from npexplore.errors import InputError
from npexplore.ledger import Facts, facts
from npexplore.machine.mixes import load_mix, solve_mix
from npexplore.study.checking.fitted_rows import ROLE
from npexplore.study.checking.quantities.base import knobs_of

AGREES = 3e-4  # of the utilization: less than the last printed digit
STEPS = 8
FIT_SEEDS = (11, 12, 13)


def fitted_mean(
    at: Design, key: str, *, known: Facts | None = None, seeds: Sequence[int] = FIT_SEEDS, packets: int = 30_000
) -> float:
    """Return the mean cells per packet at which the model has the utilization that a calibration row prints.

    Raises InputError if the row is not for calibration, or the search does not converge.
    """
    row = (known or facts())[key]
    if row.role != ROLE or row.point is None:
        raise InputError(f"row {key} has role {row.role!r}: only {ROLE} rows with a number may be fitted to")
    file, made = load_mix(str(row.conditions["mix"])).file, at.with_(**knobs_of(row))
    if file.target is None:
        raise InputError(f"mix {file.name!r} has no mean to fit")
    mean, printed = file.target.mean_cells, row.si(row.point)
    for _ in range(STEPS):
        target = msgspec.structs.replace(file.target, mean_cells=mean)
        load = solve_mix(msgspec.structs.replace(file, target=target)).workload()
        runs = [made.simulate(load, seed, packets=packets) for seed in seeds]
        busy = fmean(run.utilization[str(row.conditions["resource"])].busy for run in runs)
        if abs(busy / printed - 1) < AGREES:
            return mean
        mean *= busy / printed
    raise InputError(f"row {key}: no mean length gives {row.value} {row.unit}: {mean:.3f} cells after {STEPS} steps")
