"""What groups of packets met: loss and its bursts, latency and its variation, reordering; one row a group.

loss period (RFC 3357, 4.2)   consecutive lost packets of a group count as one
PDV (RFC 5481, 4.2)           D(i) - min D       of packets that were sent
IPDV (RFC 5481, 4.1)          D(i) - D(i-1)      of neighbours that were both sent
reordered (RFC 4737, 3.3)     s < NextExp: one that came later left before it; extent (4.2.1): how many
                              places behind the first such one
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
    """Return columns of `many` rows, one a group; packets stand in the order in which they came.

    group: number of each packet's group, shape (n,). latency_s, end_s: of packets that were sent, NaN of others, shape
    (n,). lost: whether each was dropped, shape (n,). Quantiles are nearest ranks; what a group has not is NaN.
    """
    count = np.bincount(group, minlength=many)
    order = np.argsort(group, kind="stable")
    group, latency, gone, end = group[order], latency_s[order], lost[order], end_s[order]
    sent = ~np.isnan(latency)
    n_sent, n_lost = np.bincount(group[sent], minlength=many), np.bincount(group[gone], minlength=many)
    neighbours = np.append(False, group[1:] == group[:-1])
    starts = gone & ~(neighbours & np.append(False, gone[:-1]))
    lengths = np.bincount((np.cumsum(starts) - 1)[gone])
    longest = np.zeros(many, dtype=np.int64)
    np.maximum.at(longest, group[starts], lengths)
    both = neighbours & sent & np.append(False, sent[:-1])
    change = np.abs(np.diff(latency, prepend=np.nan))[both]
    steps = np.bincount(group[both], minlength=many)
    quantiles = {f"latency_{name}_s": _rank(group[sent], latency[sent], many, q) for name, q in QUANTILES.items()}
    least, most = (_rank(group[sent], latency[sent], many, q) for q in (0.0, 1.0))
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
        "latency_max_s": most,
        "pdv_p99_s": quantiles["latency_p99_s"] - least,
        "ipdv_mean_s": _share(np.bincount(group[both], change, many), steps),
        "reordered": reordered,
        "longest_extent": extent,
    }


def _share(part: npt.NDArray[Any], whole: npt.NDArray[Any]) -> Floats:
    """Return part / whole, NaN where there is no whole."""
    share: Floats = np.divide(part, whole, out=np.full(len(part), np.nan), where=whole > 0)
    return share


def _rank(group: Integers, values: Floats, many: int, q: float) -> Floats:
    """Return the nearest-rank quantile q of each group's values (NaN: none); groups stand together."""
    count = np.bincount(group, minlength=many)
    place = np.cumsum(count) - count + np.maximum(np.ceil(q * count).astype(np.int64), 1) - 1
    ordered = np.append(values[np.lexsort((values, group))], np.nan)
    quantiles: Floats = np.where(count > 0, ordered[np.where(count > 0, place, len(values))], np.nan)
    return quantiles


def _reordered(group: Integers, end: Floats, many: int) -> tuple[Integers, Integers]:
    """Return how many packets of each group were reordered, and the longest extent; groups in the order they came."""
    sequence = np.lexsort((np.arange(len(group)), end, group))  # group by group, as they left: numbers of arrival
    highest = np.maximum.accumulate(sequence)  # within a group, since those of groups before are all smaller
    late = np.flatnonzero(sequence < highest)
    extent = late - np.searchsorted(highest, sequence[late], side="right")
    longest = np.zeros(many, dtype=np.int64)
    np.maximum.at(longest, group[late], extent)
    return np.bincount(group[late], minlength=many), longest
