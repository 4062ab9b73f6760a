"""How many packets a machine and its receive buffer hold: a packet has its place there until the program frees it.

Of N threads at work B are before that, and each of them stands for a place; the others have left the buffer.

    K = P + N - B,  P >= B          K = P N / B,  P < B: not even all threads find packets

P are the places of the buffer. B is what the closed network has at each station (all threads busy: that is when the
buffer gets full), by the share of a packet's seconds there that lie before the free. With a part of a place more or
less, that part of the time there is one more.
"""

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from npexplore.solve.levels import Levels
from npexplore.solve.queueing.residual import Residual
from npexplore.solve.stations import Floats, LoadDependent

ROUNDING, TINY = 1e-9, 1e-30
Answer = tuple[Floats, Floats, Floats]  # throughput, mean time, share lost
Rows = npt.NDArray[np.int64]


def room(levels: Levels, stations: Sequence[LoadDependent], solved: Residual, places: int) -> Floats:
    """Return how many packets (P,) there are at most, those at work and those that wait in front."""
    threads, before = levels.customers, _before(levels, stations, solved)
    few = places * threads / np.maximum(before, TINY)
    return np.asarray(np.maximum(np.where(places < before, few, places + threads - before), 1.0))


def in_room(most: Floats, solve: Callable[[Rows, int], Answer]) -> Answer:
    """Return what a queue answers that holds `most` packets (P,).

    solve: (numbers of points, whole places) -> their answers.
    """
    whole = np.floor(most + ROUNDING).astype(np.int64)
    part = np.maximum(most - whole, 0.0)
    answer = np.empty((3, len(most)))
    for places in np.unique(whole):
        rows = np.flatnonzero(whole == places)
        rate, seconds, lost = solve(rows, int(places))
        if np.any(part[rows] > ROUNDING):
            more, share = solve(rows, int(places) + 1), part[rows]
            inside = (1 - share) * rate * seconds + share * more[0] * more[1]
            rate, lost = (1 - share) * rate + share * more[0], (1 - share) * lost + share * more[2]
            seconds = inside / rate
        answer[:, rows] = rate, seconds, lost
    return answer[0], answer[1], answer[2]


def _before(levels: Levels, stations: Sequence[LoadDependent], solved: Residual) -> Floats:
    """Return how many of all threads (P,) have a packet that is still in the receive buffer."""
    batch, left = levels.batch, np.full(len(levels.batch), float(levels.customers))
    early: dict[str, Floats] = {}
    whole: dict[str, Floats] = {}
    for (chain, server), seconds in batch.spent.items():
        name = next((one for one in chain if one not in levels.idle), server)
        early[name] = early.get(name, 0.0) + batch.early[chain, server]
        whole[name] = whole.get(name, 0.0) + seconds
    usual = np.sum([*early.values()], axis=0) / np.maximum(np.sum([*whole.values()], axis=0), TINY)
    share = {name: np.minimum(early[name] / np.maximum(seconds, TINY), 1.0) for name, seconds in whole.items()}
    early_threads = 0.0 * left
    for k, station in enumerate(stations):
        there = solved.queue_length[:, k]
        early_threads, left = early_threads + there * share.get(station.name.partition("[")[0], usual), left - there
    return np.asarray(early_threads + np.maximum(left, 0.0) * share.get("", usual))
