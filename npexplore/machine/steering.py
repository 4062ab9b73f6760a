"""Distribution of flows over receive queues by a card's hash, and the share of packets of the fullest queue.

    P(fullest <= m) = P(Y_1 <= m, ..., Y_Q <= m | sum Y = N),     Y_q Poisson of mean N p_q

N flows of equal shares fall into Q queues like balls into bins (multinomial counts are independent Poisson counts of a
given sum: Feller, An Introduction to Probability Theory I, IV.2 and VI.10). p_q is the fraction of entries of the
card's table that name queue q; entries are assigned round robin, so of 128 entries over six queues, two queues have 22
and four have 21. All packets of a flow go to one queue. For flows of unequal shares, the counts are sampled.
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
ENTRIES = 128  # default entries of a card's table
SPAN = 9.0  # standard deviations around the mean; the probability beyond is negligible
NUMBERS = 256  # largest number of flow counts of the fullest queue that are evaluated
SETS, TRIED = 64, 200_000  # sets of flows from which a typical set is chosen, and flows in all of them
DRAWS = 400  # samples for flows of unequal shares
TUPLE = 12  # bytes of a flow's addresses and ports
ROWS = 8192  # packets that replace a workload of one packet


@dataclass(frozen=True)
class Fullest:
    """Share of packets of the fullest queue over random flows: mean, 0.95 quantile, and mean of 1 / share (speedup).

    A machine without packet loss has on average `speedup` times the rate of one core.
    """

    mean: float
    q95: float
    speedup: float


def table_shares(queues: int, entries: int = ENTRIES) -> Floats:
    """Return the fraction of a card's table that names each queue, shape (queues,); raises ModelError for a 0."""
    if not 1 <= queues <= entries:
        raise ModelError(f"a table of {entries} entries must name 1 to {entries} queues, got {queues}")
    return np.bincount(np.arange(entries) % queues, minlength=queues) / entries


def flow_shares(flows: int, skew: float = 0.0) -> Floats:
    """Return the share of packets of each flow, shape (flows,), proportional to k^-skew (Zipf); raises ModelError."""
    if flows < 1:
        raise ModelError(f"flows must be at least 1, got {flows}")
    if not 0 <= skew < np.inf:
        raise ModelError(f"flow_skew must be at least 0 and finite, got {skew}")
    weights = np.arange(1, flows + 1, dtype=np.float64) ** -skew
    return np.asarray(weights / weights.sum())


@lru_cache(maxsize=256)
def fullest(flows: int, queues: int, skew: float = 0.0, entries: int = ENTRIES) -> Fullest:
    """Return the share of the fullest queue when this number of flows is hashed at random; raises ModelError.

    Equal flows: exact (in steps if more than 256 counts of the fullest queue are possible). Others: 400 seeded samples.
    """
    shares = flow_shares(flows, skew)
    table = table_shares(queues, entries)
    if skew == 0:
        counts, at_most = _numbers(flows, table)  # np.diff turns P(at most m) into P(exactly m)
        chance = np.diff(np.concatenate([[0.0], at_most]))
        at95 = counts[np.searchsorted(at_most, 0.95)]
        return Fullest(float(chance @ counts) / flows, float(at95) / flows, float(chance @ (flows / counts)))
    rng = np.random.default_rng(1)
    draws = np.array([
        np.bincount(rng.choice(queues, flows, p=table), shares, queues).max() for _ in range(DRAWS)
    ])  # fmt: skip
    return Fullest(float(draws.mean()), float(np.quantile(draws, 0.95)), float((1 / draws).mean()))


def _numbers(flows: int, named: Floats) -> tuple[Floats, Floats]:
    """Return flow counts of the fullest queue, ascending, and the probability of at most each; the last is 1.

    Probabilities of sums by a Fourier transform. At most NUMBERS counts are evaluated, each for a step of counts.
    """
    means, queues = np.unique(flows * named, return_counts=True)
    high = min(flows, int(means[-1] + SPAN * np.sqrt(means[-1]) + SPAN))
    counts = np.unique(np.linspace(-(-flows // len(named)), high, NUMBERS).astype(np.int64))
    size = 1 << int(4 * SPAN * (np.sqrt(flows) + 1)).bit_length()  # probable sums are within half of it of the mean
    start = np.maximum(0, means - SPAN * (np.sqrt(means) + 1)).astype(np.int64)
    count = start[:, None] + np.arange(min(high + 1, size // 2))
    pmf = np.array([_poisson(row, mean) for row, mean in zip(count, means.tolist(), strict=True)])
    index = (flows - int(start @ queues)) % size
    at_most = np.array([
        np.fft.irfft(np.prod(np.fft.rfft(np.where(count <= m, pmf, 0.0), size) ** queues[:, None], axis=0), size)[index]
        for m in counts
    ])  # fmt: skip
    at_most = np.clip(at_most / _poisson(np.array([flows]), flows), 0.0, 1.0)
    at_most[-1] = 1.0
    return (counts + np.append(counts[0] - 1, counts[:-1]) + 1) / 2, np.maximum.accumulate(at_most)


def _poisson(count: Integers, mean: float) -> Floats:
    """Return Poisson probabilities of successive counts."""
    logs = np.log(np.maximum(count, 1)).cumsum() - np.log(max(count[0], 1)) + lgamma(count[0] + 1)
    return np.asarray(np.exp(count * np.log(mean) - mean - logs))


@lru_cache(maxsize=64)
def hashed(flows: int, queues: int, skew: float, flow_set: int, entries: int = ENTRIES) -> tuple[float, ...]:
    """Return the share of packets of each queue for one set of flows, with the Toeplitz hash of network cards.

    Flow sets are numbered from 1. 0: of up to 64 sets, the set whose fullest queue is nearest to the mean over flows.
    """
    if flow_set:
        return _of_set(flows, queues, skew, flow_set, entries)
    expected = fullest(flows, queues, skew, entries).mean
    sets = [_of_set(flows, queues, skew, k, entries) for k in range(1, 1 + int(np.clip(TRIED // flows, 1, SETS)))]
    return min(sets, key=lambda queue_shares: abs(max(queue_shares) - expected))


@lru_cache(maxsize=1024)
def _of_set(flows: int, queues: int, skew: float, flow_set: int, entries: int) -> tuple[float, ...]:
    shares, rng = flow_shares(flows, skew), np.random.default_rng(flow_set)
    table_shares(queues, entries)
    by_queue = np.zeros(queues)
    for first in range(0, flows, TRIED):
        part_shares = shares[first : first + TRIED]
        entry = toeplitz(rng.integers(0, 256, (len(part_shares), TUPLE), dtype=np.uint8)) % np.uint32(entries)
        by_queue += np.bincount(entry % np.uint32(queues), part_shares, queues)
    return tuple(by_queue.tolist())


def taken(one: float, offered: float, shares: tuple[float, ...]) -> float:
    """Return the total rate that the queues accept of an offered rate, each at most `one`; the rest is lost."""
    return float(sum(min(one, offered * share) for share in shares))


def steered(load: Workload, shares: tuple[float, ...], note: str) -> Workload:
    """Return packets with the column `queue`, assigned by the queues' shares and independent of length.

    A workload of one packet becomes 8,192. The count of each queue is its share, rounded; the assignment is random.
    """
    single = len(load.packet_bytes) == 1
    load = load.repeated(ROWS)
    n = len(load.packet_bytes)
    queues = np.searchsorted(np.cumsum(shares), (np.arange(n) + 0.5) / n * sum(shares)).astype(np.int64)
    queue = np.random.default_rng(1).permutation(np.minimum(queues, len(shares) - 1))
    return replace(
        load, columns={**load.columns, QUEUE: queue}, ordered=load.ordered and not single,
        note=f"{load.note}; {note}" if load.note else note,
    )  # fmt: skip
