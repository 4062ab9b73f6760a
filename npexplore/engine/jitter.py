"""Jitter: replaces constant times of visits by uniform ones of the same mean, so that threads do not stay in lockstep.

    time t becomes uniform over t (1 - w) .. t (1 + w),   w = sqrt(3) x jitter   (standard deviation: jitter x t)

Times that depend on packets or variables, random times, arrivals and thread starts are not changed.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from npexplore._kernels import engine

Integers = npt.NDArray[np.int64]


def jittered(
    rows: Integers, sources: Sequence[str | None], visits: Sequence[str], jitter: float
) -> tuple[Integers, list[str | None]]:
    """Return rows of the engine (n, ROW) with uniform times in place of constant ones, and their random sources.

    visits: per row, the name of its visit, such as `me.compute`.
    """
    result, names = rows.copy(), list(sources)
    width = 3**0.5 * jitter
    for operation, low, low_register, high, high_register in (
        (engine.SERVE, engine.B, engine.RB, engine.C, engine.RC),
        (engine.WAIT, engine.A, engine.RA, engine.B, engine.RB),
    ):
        constant = (rows[:, engine.OP] == operation) & (rows[:, engine.X] == engine.FIXED)
        constant &= (rows[:, low_register] == 0) & (rows[:, low] > 0)
        for k in np.flatnonzero(constant).tolist():
            if "." in visits[k]:  # a visit of a resource
                ticks = int(rows[k, low])
                spread = round(width * ticks)
                result[k, [engine.X, low, high, high_register]] = engine.UNIFORM, ticks - spread, ticks + spread, 0
                names[k] = f"jitter {visits[k]}"
    return result, names
