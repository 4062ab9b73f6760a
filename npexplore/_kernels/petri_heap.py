"""Firings under way of a Petri net, the next one first: a heap that knows where each of them stands."""

from npexplore._kernels.petri_layout import *
from npexplore.jit import kernel


@kernel(forceinline=True, _nrt=False)
def _before(HT, i, j):
    return HT[i, 0] < HT[j, 0] or (
        HT[i, 0] == HT[j, 0] and (HT[i, 1] < HT[j, 1] or (HT[i, 1] == HT[j, 1] and HT[i, 2] < HT[j, 2]))
    )


@kernel(forceinline=True, _nrt=False)
def _swap(HT, POS, i, j):
    """Let two entries of the heap change places; whoever comes to j is told later, by whoever moves it on."""
    for k in range(3):
        HT[i, k], HT[j, k] = HT[j, k], HT[i, k]
    POS[HT[i, 2]] = i


@kernel(_nrt=False)
def _rise(HT, POS, i):
    """Move an entry of the heap (time, tie, slot) up to its place."""
    while i > 0:
        up = (i - 1) >> 1
        if not _before(HT, i, up):
            break
        _swap(HT, POS, i, up)
        i = up
    POS[HT[i, 2]] = i


@kernel(forceinline=True, _nrt=False)
def _add(HT, POS, n, time, tie, slot):
    """Put an entry into a heap of n; return how many it has now."""
    HT[n, 0], HT[n, 1], HT[n, 2] = time, tie, slot
    _rise(HT, POS, n)
    return n + 1


@kernel(_nrt=False)
def _remove(HT, POS, n, i):
    """Take an entry out of a heap of n; return how many it has now."""
    POS[HT[i, 2]] = -1
    last = n - 1
    if i == last:
        return last
    for k in range(3):
        HT[i, k] = HT[last, k]
    POS[HT[i, 2]] = i
    at = i
    while True:
        child = 2 * at + 1
        if child >= last:
            break
        if child + 1 < last and _before(HT, child + 1, child):
            child += 1
        if not _before(HT, child, at):
            break
        _swap(HT, POS, at, child)
        at = child
    POS[HT[at, 2]] = at
    if at == i:
        _rise(HT, POS, i)
    return last
