"""Measures of groups of packets, one row per group: loss and its bursts, latency and its variation, reordering.

loss period (RFC 3357, 4.2)   consecutive lost packets of a group count as one
PDV (RFC 5481, 4.2)           D(i) - min D       of packets that were sent
IPDV (RFC 5481, 4.1)          D(i) - D(i-1)      of neighbours that were both sent
reordered (RFC 4737, 3.3)     s < NextExp: a packet that arrived later departed before it; extent (4.2.1): number
                              of places behind the first such packet
"""

from typing import Any

import numpy as np
import numpy.typing as npt

Integers = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
QUANTILES = {"p50": 0.5, "p99": 0.99}


def measures(
    group: Integers, many: int, latency_s: Floats, lost: npt.NDArray[np.bool_], end_s: Floats
) -> dict[str, Any]:
    """Return columns of `many` rows, one per group, of packets in the order of their arrivals.

    group: number of each packet's group, shape (n,). latency_s, end_s: of packets that were sent, NaN of others, shape
    (n,). lost: whether each was dropped, shape (n,). Quantiles are nearest ranks; undefined values are NaN.
    """
    count = np.bincount(group, minlength=many)
    order = np.argsort(group, kind="stable")
    group, latency, dropped, end = group[order], latency_s[order], lost[order], end_s[order]
    sent = ~np.isnan(latency)
    n_sent, n_lost = np.bincount(group[sent], minlength=many), np.bincount(group[dropped], minlength=many)
    neighbours = np.append(False, group[1:] == group[:-1])
    starts = dropped & ~(neighbours & np.append(False, dropped[:-1]))
    lengths = np.bincount((np.cumsum(starts) - 1)[dropped])
    longest = np.zeros(many, dtype=np.int64)
    np.maximum.at(longest, group[starts], lengths)
    both_sent = neighbours & sent & np.append(False, sent[:-1])
    change = np.abs(np.diff(latency, prepend=np.nan))[both_sent]
    steps = np.bincount(group[both_sent], minlength=many)
    quantiles = {f"latency_{name}_s": _rank(group[sent], latency[sent], many, q) for name, q in QUANTILES.items()}
    shortest, longest_latency = (_rank(group[sent], latency[sent], many, q) for q in (0.0, 1.0))
    reordered, extent = _reordered(group[sent], end[sent], many)
    return {
        "packets": count,
        "sent": n_sent,
        "lost": n_lost,
        "loss": _share(n_lost, count),
        "loss_periods": np.bincount(group[starts], minlength=many),
        "longest_loss_period": longest,
        "latency_mean_s": _share(np.bincount(group[sent], latency[sent], many), n_sent),
        **quantiles,
        "latency_max_s": longest_latency,
        "pdv_p99_s": quantiles["latency_p99_s"] - shortest,
        "ipdv_mean_s": _share(np.bincount(group[both_sent], change, many), steps),
        "reordered": reordered,
        "longest_extent": extent,
    }


def _share(part: npt.NDArray[Any], whole: npt.NDArray[Any]) -> Floats:
    """Return part / whole, NaN where whole is 0."""
    share: Floats = np.divide(part, whole, out=np.full(len(part), np.nan), where=whole > 0)
    return share


def _rank(group: Integers, values: Floats, many: int, q: float) -> Floats:
    """Return the nearest-rank quantile q of each group's values (NaN: no values); values are sorted by group."""
    count = np.bincount(group, minlength=many)
    place = np.cumsum(count) - count + np.maximum(np.ceil(q * count).astype(np.int64), 1) - 1
    ordered = np.append(values[np.lexsort((values, group))], np.nan)
    quantiles: Floats = np.where(count > 0, ordered[np.where(count > 0, place, len(values))], np.nan)
    return quantiles


def _reordered(group: Integers, end: Floats, many: int) -> tuple[Integers, Integers]:
    """Return, for each group, the number of reordered packets and the longest extent; packets in order of arrival."""
    sequence = np.lexsort((np.arange(len(group)), end, group))  # arrival numbers, by group, in order of departure
    highest = np.maximum.accumulate(sequence)  # within the group: earlier groups have smaller numbers
    late = np.flatnonzero(sequence < highest)
    extent = late - np.searchsorted(highest, sequence[late], side="right")
    longest = np.zeros(many, dtype=np.int64)
    np.maximum.at(longest, group[late], extent)
    return np.bincount(group[late], minlength=many), longest
