"""Closed networks with large populations or FIFO stations outside product form: named approximations.

Schweitzer (Bard) and Linearizer: `npexplore/_kernels/queueing_approximate.py`. Several servers: Seidmann, Schweitzer
and Shalev-Oren (Operations Research 35, 1987), a server c times as fast and a delay of D (c - 1) / c.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from npexplore._kernels.queueing_approximate import fixed_point
from npexplore.errors import InputError, RefusedError, one_of
from npexplore.solve.queueing.inputs import Floats, as_floats, delay_flags, nonnegative, pick, whole
from npexplore.solve.queueing.multiclass import ClosedModel, MultiMva

METHODS = ("Schweitzer", "Linearizer")
_TOLERANCE, _MOST_ROUNDS = 1e-13, 100_000


def approximate_mva(
    demands: ArrayLike,
    population: ArrayLike,
    think_time: ArrayLike = 0.0,
    method: str = "Linearizer",
    *,
    servers: ArrayLike = 1,
    rates: ArrayLike | None = None,
    fifo: ArrayLike | None = None,
    visits: ArrayLike = 1.0,
    scv: ArrayLike = 1.0,
    delay: ArrayLike | None = None,
    names: Sequence[str] | None = None,
) -> MultiMva:
    """Solve P closed networks of several classes approximately; the cost does not grow with the population.

    Args:
        demands: (P, K, R) or (K, R): seconds that a customer asks of each station per cycle.
        population: (R,) or (P, R): customers of each class.
        think_time: (R,) or (P, R): seconds away from all stations.
        method: "Linearizer" or "Schweitzer".
        servers: of each station, (K,) or one number.
        rates: load-dependent rates as in `mva`; refused here.
        fifo: (K,) flags of the stations where customers wait for each other's service times (demand / visits), and for
            the rest of the service that they meet, with variation `scv`.
        visits: (P, K, R), (K, R) or one number: visits per cycle; matters at the stations of `fifo`.
        scv: the same shapes: squared coefficient of variation of service; matters at the stations of `fifo`.
        delay: (K,) flags of stations without queueing.
        names: of the stations, for errors.

    `approximation` of the result lists all that was approximated. Raises InputError, UnknownNameError; RefusedError for
    load-dependent `rates`, for `fifo` stations of several servers, and where no fixed point is found.
    """
    one_of("approximate method", method, METHODS)
    model = ClosedModel.read(demands, population, think_time, rates, delay, names)
    P, K, R = model.demands.shape
    if model.varying.any():
        raise RefusedError(f"{method}: load-dependent rates; give servers, or use multiclass_mva")
    count = np.broadcast_to(whole(servers=servers)[0], K).astype(float)
    flags = delay_flags(fifo, K) & ~model.delays
    if (flags & (count > 1)).any():
        raise RefusedError(f"{method}: FIFO correction at stations with several servers")
    ways, variation = _by_class("visits", visits, P, K, R, names), _by_class("scv", scv, P, K, R, names)
    queueing = ~model.delays
    short = model.demands / count[:, None]
    pooled = (model.demands - short) * queueing[:, None]
    throughput, queue = np.zeros((P, R)), np.zeros((P, int(queueing.sum()), R))
    lost = fixed_point(
        pick(short, queueing),
        pick(ways, queueing),
        pick(variation, queueing),
        flags[queueing],
        np.ascontiguousarray(model.away + pooled.sum(axis=1)),
        model.population.astype(float),
        method == "Linearizer",
        _TOLERANCE,
        _MOST_ROUNDS,
        throughput,
        queue,
    )
    if lost >= 0:
        raise RefusedError(f"{method}: no fixed point after {_MOST_ROUNDS} rounds at point {lost}")
    whole_queue = np.zeros(model.demands.shape)
    whole_queue[:, queueing] = queue
    whole_queue += throughput[:, None] * pooled
    used = [method]
    used += ["Seidmann"] * bool((count[queueing] > 1).any())
    used += ["FIFO residual time"] * bool(flags.any())
    return model.result(throughput, whole_queue, ", ".join(used), capacity=count)


def _by_class(
    subject: str, values: ArrayLike, points: int, stations: int, classes: int, names: Sequence[str] | None
) -> Floats:
    """Return numbers of every station and class as (1, K, R) or (P, K, R)."""
    table = as_floats(subject, values)
    table = table[None] if table.ndim == 2 else table
    if table.size == 1:
        table = np.full((1, stations, classes), table.ravel()[0])
    if table.shape not in ((1, stations, classes), (points, stations, classes)):
        raise InputError(f"{subject} must be one number, (K, R) or (P, K, R), got shape {np.shape(values)}")
    return nonnegative(subject, table, names, ("point", "station", "class"))
