"""Flows over receive queues: where a card's hash puts them, and what share of the packets the fullest queue gets.

    P(fullest <= m) = P(Y_1 <= m, ..., Y_Q <= m | sum Y = N),     Y_q Poisson of mean N p_q

N flows of equal shares fall into Q queues like balls into bins (multinomial numbers are independent Poisson ones of a
given sum: Feller, An Introduction to Probability Theory I, IV.2 and VI.10). p_q is the part of the card's table that
names queue q: entries go round, so 128 over six queues give two of them 22 and the others 21. Packets of a flow stay
together: one flow keeps one core busy, many flows come near to even. Flows of unequal shares are drawn.
"""

from dataclasses import dataclass, replace
from functools import lru_cache
from math import lgamma

import numpy as np
import numpy.typing as npt

from npexplore.errors import ModelError
from npexplore.golden.toeplitz import toeplitz
from npexplore.machine.workload import Integers, Workload

Floats = npt.NDArray[np.float64]
QUEUE = "queue"  # the column of a packet that holds its queue
ENTRIES = 128  # of a card's table, unless told otherwise
SPAN = 9.0  # standard deviations around the mean beyond which next to nothing falls
NUMBERS = 256  # of flows in the fullest queue that are gone through
SETS, TRIED = 64, 200_000  # sets of flows among which a typical one is sought, and flows in all of them
DRAWS = 400  # of unequal flows
TUPLE = 12  # bytes of a flow's addresses and ports
ROWS = 8192  # packets that stand for a workload of one


@dataclass(frozen=True)
class Fullest:
    """Share of packets of the fullest queue over random flows: mean, quantile of 0.95, and mean of one over it.

    A machine that must not lose a packet takes `speedup` x what one core takes, in the mean over flows.
    """

    mean: float
    q95: float
    speedup: float


def table_shares(queues: int, entries: int = ENTRIES) -> Floats:
    """Return the part of a card's table that names each queue, shape (queues,); raises ModelError if one has none."""
    if not 1 <= queues <= entries:
        raise ModelError(f"a table of {entries} entries must name 1 to {entries} queues, got {queues}")
    return np.bincount(np.arange(entries) % queues, minlength=queues) / entries


def flow_shares(flows: int, skew: float = 0.0) -> Floats:
    """Return the shares of packets of each flow, shape (flows,): of the kth k^-skew (Zipf); raises ModelError."""
    if flows < 1:
        raise ModelError(f"flows must be at least 1, got {flows}")
    if not 0 <= skew < np.inf:
        raise ModelError(f"flow_skew must be at least 0 and finite, got {skew}")
    weights = np.arange(1, flows + 1, dtype=np.float64) ** -skew
    return np.asarray(weights / weights.sum())


@lru_cache(maxsize=256)
def fullest(flows: int, queues: int, skew: float = 0.0, entries: int = ENTRIES) -> Fullest:
    """Return the share of the fullest queue when so many flows are hashed at random; raises ModelError.

    Equal flows: exact (in steps where the fullest may have more than 256 numbers of them). Others: 400 seeded draws.
    """
    shares = flow_shares(flows, skew)
    named = table_shares(queues, entries)
    if skew == 0:
        most, below = _numbers(flows, named)  # np.diff of what is at most m: exactly m
        chance = np.diff(np.concatenate([[0.0], below]))
        at95 = most[np.searchsorted(below, 0.95)]
        return Fullest(float(chance @ most) / flows, float(at95) / flows, float(chance @ (flows / most)))
    rng = np.random.default_rng(1)
    draws = np.array([
        np.bincount(rng.choice(queues, flows, p=named), shares, queues).max() for _ in range(DRAWS)
    ])  # fmt: skip
    return Fullest(float(draws.mean()), float(np.quantile(draws, 0.95)), float((1 / draws).mean()))


def _numbers(flows: int, named: Floats) -> tuple[Floats, Floats]:
    """Return numbers of flows in the fullest queue, ascending, and the chance of at most each, the last 1.

    Chances of sums by a Fourier transform; of many numbers only some are gone through, which stand for their steps.
    """
    means, queues = np.unique(flows * named, return_counts=True)
    high = min(flows, int(means[-1] + SPAN * np.sqrt(means[-1]) + SPAN))
    most = np.unique(np.linspace(-(-flows // len(named)), high, NUMBERS).astype(np.int64))
    size = 1 << int(4 * SPAN * (np.sqrt(flows) + 1)).bit_length()  # all that happens is nearer to the mean than half
    start = np.maximum(0, means - SPAN * (np.sqrt(means) + 1)).astype(np.int64)
    count = start[:, None] + np.arange(min(high + 1, size // 2))
    pmf = np.array([_poisson(row, mean) for row, mean in zip(count, means.tolist(), strict=True)])
    at = (flows - int(start @ queues)) % size
    below = np.array([
        np.fft.irfft(np.prod(np.fft.rfft(np.where(count <= m, pmf, 0.0), size) ** queues[:, None], axis=0), size)[at]
        for m in most
    ])  # fmt: skip
    below = np.clip(below / _poisson(np.array([flows]), flows), 0.0, 1.0)
    below[-1] = 1.0
    return (most + np.append(most[0] - 1, most[:-1]) + 1) / 2, np.maximum.accumulate(below)


def _poisson(count: Integers, mean: float) -> Floats:
    """Return Poisson chances of successive counts."""
    logs = np.log(np.maximum(count, 1)).cumsum() - np.log(max(count[0], 1)) + lgamma(count[0] + 1)
    return np.asarray(np.exp(count * np.log(mean) - mean - logs))


@lru_cache(maxsize=64)
def hashed(flows: int, queues: int, skew: float, flow_set: int, entries: int = ENTRIES) -> tuple[float, ...]:
    """Return the share of packets of each queue for one set of flows, hashed as cards do.

    Flow sets are numbered from 1; 0: of up to 64 sets the one whose fullest queue is nearest to the mean of all flows.
    """
    if flow_set:
        return _of_set(flows, queues, skew, flow_set, entries)
    likely = fullest(flows, queues, skew, entries).mean
    sets = [_of_set(flows, queues, skew, k, entries) for k in range(1, 1 + int(np.clip(TRIED // flows, 1, SETS)))]
    return min(sets, key=lambda one: abs(max(one) - likely))


@lru_cache(maxsize=1024)
def _of_set(flows: int, queues: int, skew: float, flow_set: int, entries: int) -> tuple[float, ...]:
    shares, rng = flow_shares(flows, skew), np.random.default_rng(flow_set)
    table_shares(queues, entries)
    by_queue = np.zeros(queues)
    for first in range(0, flows, TRIED):
        some = shares[first : first + TRIED]
        entry = toeplitz(rng.integers(0, 256, (len(some), TUPLE), dtype=np.uint8)) % np.uint32(entries)
        by_queue += np.bincount(entry % np.uint32(queues), some, queues)
    return tuple(by_queue.tolist())


def taken(one: float, offered: float, shares: tuple[float, ...]) -> float:
    """Return what queues take together of what is offered, each at most `one` (all in one unit); the rest is lost."""
    return float(sum(min(one, offered * share) for share in shares))


def steered(load: Workload, shares: tuple[float, ...], note: str) -> Workload:
    """Return packets with the column `queue`: each takes one by the queues' shares, whatever its length.

    One packet stands for 8,192. Numbers of packets are the shares', rounded; which packet goes where is drawn.
    """
    alike = len(load.packet_bytes) == 1
    load = load.repeated(ROWS)
    n = len(load.packet_bytes)
    at = np.searchsorted(np.cumsum(shares), (np.arange(n) + 0.5) / n * sum(shares)).astype(np.int64)
    queue = np.random.default_rng(1).permutation(np.minimum(at, len(shares) - 1))
    return replace(
        load, columns={**load.columns, QUEUE: queue}, ordered=load.ordered and not alike,
        note=f"{load.note}; {note}" if load.note else note,
    )  # fmt: skip
