"""Fixed feedback: packets visit a server several times without a pause and join the end of its queue each time.

    T_j = w_j + s_j        w_j = lambda (sum over i < j of T_(j-i) s_i  +  sum over i >= j of T_(i-j+1) s_i)

Poisson arrivals, first come first served, visits i = 1..k of constant times s_i. At its visit j a packet waits for the
packets that arrived during its earlier visits, and for those found on arrival that still return (Adve and Nelson,
Operations Research 42, 1994). On its first visit it waits for half of the service in progress. The order of visits does
not change the work, but packets wait longest if the longest visits come first: then many packets have little work left.
"""

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
MAX_POSITIONS = 16  # of visits; more visits of a packet are merged
MAX_LOAD = 0.95  # cap on the utilization in the formula
LEAST_DIVISOR = 1e-30  # lower limit of divisors, against division by 0


def by_position(visits: list[tuple[float, float]], of_packets: float) -> Floats:
    """Return the seconds (MAX_POSITIONS,) of a packet's first, second, ... visit (0: no visit).

    visits: number and seconds of visits in program order. of_packets: share of the packets that make them.
    """
    number, seconds = np.array(visits, dtype=np.float64).reshape(-1, 2).T / of_packets
    cumulative_visits = np.concatenate([[0.0], np.cumsum(number)])
    cumulative_visits *= min(1.0, MAX_POSITIONS / max(cumulative_visits[-1], LEAST_DIVISOR))
    cumulative_s = np.concatenate([[0.0], np.cumsum(seconds)])
    return np.diff(np.interp(np.arange(MAX_POSITIONS + 1.0), cumulative_visits, cumulative_s))


def share_of_order(seconds: Floats, visits: Floats, load: Floats) -> Floats:
    """Return how many times longer packets wait (P,) than if all visits of a packet took the same time.

    seconds (P, MAX_POSITIONS): of visits in order. visits (P,): number of visits per packet. load (P,): utilization.
    """
    ratio, distinct = np.ones(len(visits)), np.minimum(visits, MAX_POSITIONS)
    positions = np.ceil(distinct).astype(np.int64)
    for count in np.unique(positions[positions > 1]).tolist():
        rows = positions == count
        shares: Floats = np.clip(distinct[rows, None] - np.arange(count), 0.0, 1.0)
        unequal = seconds[rows, :count]
        equal: Floats = shares * (unequal.sum(axis=1) / np.maximum(shares.sum(axis=1), LEAST_DIVISOR))[:, None]
        waits, equal_waits = _waits(unequal, shares, load[rows]), _waits(equal, shares, load[rows])
        ratio[rows] = np.where(equal_waits > LEAST_DIVISOR, waits / np.maximum(equal_waits, LEAST_DIVISOR), 1.0)
    return ratio


def _waits(seconds: Floats, there: Floats, load: Floats) -> Floats:
    """Return the sum of a packet's waits (P,) relative to its seconds; there: share of packets that make each visit."""
    loads = seconds / np.maximum(seconds.sum(axis=1), LEAST_DIVISOR)[:, None] * np.minimum(load, MAX_LOAD)[:, None]
    positions = seconds.shape[1]
    row, column = np.indices((positions, positions))
    table = np.zeros((len(seconds), positions, positions))  # coefficients: waiting visit, index of T
    for i in range(positions):
        table[:, i + 1 :, :] += np.where(row[i + 1 :] - i - 1 == column[i + 1 :], loads[:, i, None, None], 0.0)
        table[:, : i + 1, :] += np.where(i - row[: i + 1] == column[: i + 1], loads[:, i, None, None], 0.0)
    visit_s = seconds / np.maximum(there, LEAST_DIVISOR)
    constant = visit_s.copy()
    constant[:, 0] -= (loads * visit_s).sum(axis=1) / 2
    times = np.linalg.solve(np.eye(positions) - table, constant[:, :, None])[:, :, 0]
    return np.asarray((there * (times - visit_s)).sum(axis=1) / np.maximum(seconds.sum(axis=1), LEAST_DIVISOR))
