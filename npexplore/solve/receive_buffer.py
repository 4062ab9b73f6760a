"""The number of packets that a machine and its receive buffer hold, where packets keep a place until they are freed.

Of N busy threads, B have a packet that still occupies a place of the buffer; the packets of the others have left it.

    K = P + N - B,  P >= B          K = P N / B,  P < B: not even all threads find packets

P is the number of places. B sums, over the stations of the saturated closed network, the threads there times the share
of a packet's seconds there that come before its free. A capacity of k + f packets is a mixture: k + 1 packets for the
fraction f of the time.
"""

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from npexplore.solve.levels import Levels
from npexplore.solve.queueing.residual import Residual
from npexplore.solve.stations import Floats, LoadDependent

ROUNDING, TINY = 1e-9, 1e-30
Answer = tuple[Floats, Floats, Floats]  # throughput, mean time, loss ratio
Rows = npt.NDArray[np.int64]


def room(levels: Levels, stations: Sequence[LoadDependent], solved: Residual, places: int) -> Floats:
    """Return the largest number of packets (P,) in the machine and in the receive buffer."""
    threads, before = levels.customers, _before(levels, stations, solved)
    limit_by_places = places * threads / np.maximum(before, TINY)
    return np.asarray(np.maximum(np.where(places < before, limit_by_places, places + threads - before), 1.0))


def in_room(most: Floats, solve: Callable[[Rows, int], Answer]) -> Answer:
    """Return the answer of a queue that holds `most` packets (P,), a fractional number.

    solve: (numbers of points, whole number of packets) -> their answers.
    """
    whole = np.floor(most + ROUNDING).astype(np.int64)
    fraction = np.maximum(most - whole, 0.0)
    answer = np.empty((3, len(most)))
    for places in np.unique(whole):
        rows = np.flatnonzero(whole == places)
        rate, seconds, lost = solve(rows, int(places))
        if np.any(fraction[rows] > ROUNDING):
            with_one_more, share = solve(rows, int(places) + 1), fraction[rows]
            inside = (1 - share) * rate * seconds + share * with_one_more[0] * with_one_more[1]
            rate, lost = (1 - share) * rate + share * with_one_more[0], (1 - share) * lost + share * with_one_more[2]
            seconds = inside / rate
        answer[:, rows] = rate, seconds, lost
    return answer[0], answer[1], answer[2]


def _before(levels: Levels, stations: Sequence[LoadDependent], solved: Residual) -> Floats:
    """Return the mean number of threads (P,) whose packet still occupies the receive buffer."""
    batch, threads_elsewhere = levels.batch, np.full(len(levels.batch), float(levels.customers))
    early_s: dict[str, Floats] = {}
    total_s: dict[str, Floats] = {}
    for (chain, server), seconds in batch.spent.items():
        name = next((holder for holder in chain if holder not in levels.idle), server)
        early_s[name] = early_s.get(name, 0.0) + batch.early[chain, server]
        total_s[name] = total_s.get(name, 0.0) + seconds
    mean_share = np.sum([*early_s.values()], axis=0) / np.maximum(np.sum([*total_s.values()], axis=0), TINY)
    share = {name: np.minimum(early_s[name] / np.maximum(seconds, TINY), 1.0) for name, seconds in total_s.items()}
    early_threads = 0.0 * threads_elsewhere
    for k, station in enumerate(stations):
        threads_here = solved.queue_length[:, k]
        early_threads, threads_elsewhere = (
            early_threads + threads_here * share.get(station.name.partition("[")[0], mean_share),
            threads_elsewhere - threads_here,
        )
    return np.asarray(early_threads + np.maximum(threads_elsewhere, 0.0) * share.get("", mean_share))
