"""A lock whose hand-over takes longer the more threads sleep: the exact chain of sleepers at the ends of holds.

    hold = held + release + (wake + per waiter x n if n > 0 threads sleep at the release)

closed   all other threads sleep at each release: rate = 1 / (hold with n = N - 1), if a thread that released the lock
         returns before the next release
Poisson  m asleep at the end of a hold -> m - 1 + Poisson(held) at the release -> + Poisson(the rest of the hold); the
         number left behind by a departure has the distribution at a random time (M/G/1 whose service depends on the
         queue, after Kendall 1953). With a time per sleeper there is no steady state: a long queue grows without limit
"""

from typing import NamedTuple

import numpy as np

from npexplore.errors import RefusedError
from npexplore.solve.queueing.birth_death import long_run
from npexplore.solve.queueing.inputs import Floats

PLACES = 400  # sleepers
NEGLIGIBLE = 1e-9


class HandOver(NamedTuple):
    """Seconds to acquire a lock, of the work under it, to release it, to wake the next thread, and per sleeper."""

    acquire: float
    held: float
    release: float
    wake: float
    waiter: float

    def closed(self, threads: int) -> float:
        """Return the holds per second of a closed network of threads.

        Raises RefusedError if not all other threads sleep at a release.
        """
        hold = self.held + self._rest(threads - 1)
        if threads == 1:
            return 1 / (hold + self.acquire)
        if self.acquire > self.held:
            raise RefusedError("lock: acquiring takes longer than holding, so that the number of sleepers is not known")
        return 1 / hold

    def open(self, rate: float) -> float:
        """Return the mean seconds from a request to the end of its release; RefusedError: no steady state."""
        if self.waiter:
            raise RefusedError("lock: a hand-over that takes longer for each sleeper has no steady state with arrivals")
        if rate * (self.held + self._rest(1)) >= 1:
            raise RefusedError("lock: hand-over leaves no steady state at this rate")
        move = np.zeros((PLACES, PLACES))
        for asleep in range(PLACES):
            first = max(asleep - 1, 0)
            for number, chance in enumerate(_poisson(rate * self.held, PLACES - first), start=first):
                if chance > NEGLIGIBLE**2:
                    move[asleep, number:] += chance * _poisson(rate * self._rest(number), PLACES - number)
        move[:, -1] += np.maximum(1 - move.sum(axis=1), 0.0)
        left_behind = long_run(move - np.eye(PLACES))
        if left_behind[-PLACES // 10 :].sum() > NEGLIGIBLE:
            raise RefusedError(f"lock: more than {PLACES} packets sleep at this rate")
        return float(left_behind @ np.arange(PLACES)) / rate + self.acquire

    def _rest(self, asleep: int) -> float:
        return self.release + (self.wake if asleep else 0.0) + self.waiter * asleep


def _poisson(mean: float, number: int) -> Floats:
    terms = np.append(1.0, np.cumprod(mean / np.arange(1, max(number, 2))))
    return np.asarray(np.exp(-mean) * terms[:number])
