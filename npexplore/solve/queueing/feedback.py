"""Packets that come to a server several times without a pause, and each time go behind all who wait (fixed feedback).

    T_j = w_j + s_j        w_j = lambda (sum over i < j of T_(j-i) s_i  +  sum over i >= j of T_(i-j+1) s_i)

Poisson arrivals, first come first served, visits i = 1..k of constant times s_i. A packet that begins its visit j has
before it those that came while it was at its earlier visits, and those that it found when it came, as far as they come
again (Adve and Nelson, Operations Research 42, 1994). On its first visit it meets half of what is being served. All
orders of visits do the same work, but packets wait longest where the longest visits come first: many are then there
with little left.
"""

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
MAX_POSITIONS = 16  # visits of a packet that are told apart: of more, several are one
MAX_LOAD = 0.95  # beyond, the share is as at this load
LEAST_DIVISOR = 1e-30  # weights and seconds that are divided by: none is 0


def by_position(visits: list[tuple[float, float]], of_packets: float) -> Floats:
    """Return the seconds (MAX_POSITIONS,) of a packet's first, second, ... visit, 0 where there is none.

    visits: number and seconds of visits in the order in which a packet makes them. of_packets: the share that does.
    """
    number, seconds = np.array(visits, dtype=np.float64).reshape(-1, 2).T / of_packets
    begun = np.concatenate([[0.0], np.cumsum(number)])
    begun *= min(1.0, MAX_POSITIONS / max(begun[-1], LEAST_DIVISOR))
    spent = np.concatenate([[0.0], np.cumsum(seconds)])
    return np.diff(np.interp(np.arange(MAX_POSITIONS + 1.0), begun, spent))


def share_of_order(seconds: Floats, visits: Floats, load: Floats) -> Floats:
    """Return how many times longer packets wait (P,) than if all visits of a packet took the same time.

    seconds (P, MAX_POSITIONS): of visits in their order. visits, load (P,): of a packet, and utilization.
    """
    share, told_apart = np.ones(len(visits)), np.minimum(visits, MAX_POSITIONS)
    positions = np.ceil(told_apart).astype(np.int64)
    for most in np.unique(positions[positions > 1]).tolist():
        rows = positions == most
        there: Floats = np.clip(told_apart[rows, None] - np.arange(most), 0.0, 1.0)
        own = seconds[rows, :most]
        alike: Floats = there * (own.sum(axis=1) / np.maximum(there.sum(axis=1), LEAST_DIVISOR))[:, None]
        waits, of_alike = _waits(own, there, load[rows]), _waits(alike, there, load[rows])
        share[rows] = np.where(of_alike > LEAST_DIVISOR, waits / np.maximum(of_alike, LEAST_DIVISOR), 1.0)
    return share


def _waits(seconds: Floats, there: Floats, load: Floats) -> Floats:
    """Return the waits (P,) of all visits of a packet, in its seconds; there: share of packets that make each."""
    of_all = seconds / np.maximum(seconds.sum(axis=1), LEAST_DIVISOR)[:, None] * np.minimum(load, MAX_LOAD)[:, None]
    positions = seconds.shape[1]
    first, then = np.indices((positions, positions))
    met = np.zeros((len(seconds), positions, positions))  # by the visit that waits, and T of which visit
    for i in range(positions):
        met[:, i + 1 :, :] += np.where(first[i + 1 :] - i - 1 == then[i + 1 :], of_all[:, i, None, None], 0.0)
        met[:, : i + 1, :] += np.where(i - first[: i + 1] == then[: i + 1], of_all[:, i, None, None], 0.0)
    each = seconds / np.maximum(there, LEAST_DIVISOR)
    known = each.copy()
    known[:, 0] -= (of_all * each).sum(axis=1) / 2
    times = np.linalg.solve(np.eye(positions) - met, known[:, :, None])[:, :, 0]
    return np.asarray((there * (times - each)).sum(axis=1) / np.maximum(seconds.sum(axis=1), LEAST_DIVISOR))
