"""Named approximations for closed networks with large populations or FIFO stations outside product form.

Schweitzer (Bard) and Linearizer: `npexplore/_kernels/queueing_approximate.py`. A station of c servers is a server c
times as fast and a delay of D (c - 1) / c: Seidmann, Schweitzer and Shalev-Oren (Operations Research 35, 1987).
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
        demands: (P, K, R) or (K, R): service time of a customer at each station per cycle, in seconds.
        population: (R,) or (P, R): customers of each class.
        think_time: (R,) or (P, R): seconds away from all stations.
        method: "Linearizer" or "Schweitzer".
        servers: of each station, (K,) or one number.
        rates: load-dependent rates as in `mva`; refused here.
        fifo: (K,) flags of the stations where customers wait for each other's service times (demand / visits), and for
            the residual life of the service in progress, with variation `scv`.
        visits: (P, K, R), (K, R) or one number: visits per cycle; matters at the stations of `fifo`.
        scv: the same shapes: squared coefficient of variation of service; matters at the stations of `fifo`.
        delay: (K,) flags of stations without queueing.
        names: of the stations, for errors.

    `approximation` of the result lists all approximations. Raises InputError, UnknownNameError; RefusedError for
    load-dependent `rates`, for `fifo` stations of several servers, and if the iteration does not converge.
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
    visit_table, variation = _by_class("visits", visits, P, K, R, names), _by_class("scv", scv, P, K, R, names)
    queueing = ~model.delays
    fast_demands = model.demands / count[:, None]
    delay_demands = (model.demands - fast_demands) * queueing[:, None]
    throughput, queue = np.zeros((P, R)), np.zeros((P, int(queueing.sum()), R))
    failed_point = fixed_point(
        pick(fast_demands, queueing),
        pick(visit_table, queueing),
        pick(variation, queueing),
        flags[queueing],
        np.ascontiguousarray(model.away + delay_demands.sum(axis=1)),
        model.population.astype(float),
        method == "Linearizer",
        _TOLERANCE,
        _MOST_ROUNDS,
        throughput,
        queue,
    )
    if failed_point >= 0:
        raise RefusedError(f"{method}: no fixed point after {_MOST_ROUNDS} rounds at point {failed_point}")
    whole_queue = np.zeros(model.demands.shape)
    whole_queue[:, queueing] = queue
    whole_queue += throughput[:, None] * delay_demands
    applied = [method]
    applied += ["Seidmann"] * bool((count[queueing] > 1).any())
    applied += ["FIFO residual time"] * bool(flags.any())
    return model.result(throughput, whole_queue, ", ".join(applied), capacity=count)


def _by_class(
    subject: str, values: ArrayLike, points: int, stations: int, classes: int, names: Sequence[str] | None
) -> Floats:
    """Return values per station and class as (1, K, R) or (P, K, R)."""
    table = as_floats(subject, values)
    table = table[None] if table.ndim == 2 else table
    if table.size == 1:
        table = np.full((1, stations, classes), table.ravel()[0])
    if table.shape not in ((1, stations, classes), (points, stations, classes)):
        raise InputError(f"{subject} must be one number, (K, R) or (P, K, R), got shape {np.shape(values)}")
    return nonnegative(subject, table, names, ("point", "station", "class"))
