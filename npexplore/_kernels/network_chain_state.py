"""States of a network's chain while an event is played: room for one, its lists, chance, packed into a row."""

import numpy as np

from npexplore._kernels.network_chain_layout import *
from npexplore._kernels.network_chain_layout import _bare, _i, _now, _rules, _w1
from npexplore.jit import kernel, types


@kernel(_now(_rules, _i))
def _blank(rules, width):
    """Return room for a state of so many numbers."""
    size = rules.size
    lists = size[Z_LISTS]
    return Now(
        np.zeros(size[Z_VARIABLES] + 1, np.int64),
        np.zeros(lists, np.int64),
        np.zeros((lists, width), np.int64),
        np.zeros(4 * width + 8, np.int64),
        np.zeros(DEEP, np.int64),
        np.zeros(DEEP, np.int64),
        np.zeros(3, np.int64),
        np.ones(1),
        np.zeros((3, size[Z_CLASSES])),
        np.zeros(size[Z_CLASSES]),
        np.zeros(2 + size[Z_MOST] * size[Z_BRANCHES] * size[Z_FORKS], np.int64),
    )


@_bare(_i(_now, _i))
def _choose(now, count):
    """Return which of `count` outcomes this playing takes."""
    d = now.meta[0]
    now.meta[0] += 1
    if d >= DEEP:
        now.meta[2] = 1
        return 0
    if d >= now.meta[1]:
        now.script[d] = 0
        now.options[d] = count
        now.meta[1] = d + 1
    return now.script[d]


@_bare(types.boolean(_now))
def _next_script(now):
    """Go to the next combination of outcomes; False where there is none."""
    d = now.meta[1] - 1
    while d >= 0 and now.script[d] + 1 >= now.options[d]:
        d -= 1
    if d >= 0:
        now.script[d] += 1
    now.meta[1] = d + 1
    return d >= 0


@_bare(types.void(_now, _i, _i, _i))
def _insert(now, k, at, code):
    length, lists = now.length, now.lists
    for i in range(length[k], at, -1):
        lists[k, i] = lists[k, i - 1]
    lists[k, at] = code
    length[k] += 1


@_bare(_i(_now, _i, _i))
def _remove(now, k, at):
    length, lists = now.length, now.lists
    code = lists[k, at]
    for i in range(at, length[k] - 1):
        lists[k, i] = lists[k, i + 1]
    length[k] -= 1
    return code


@_bare(_i(_i))
def _phase(code):
    return (code >> CLASS_BITS) & (PHASES - 1)


@_bare(_i(_i))
def _fork(code):
    """Return the number of the fork that a customer, or an entry at a door, came from; 0: none."""
    return (code & CUSTOMER) // FORK


@_bare(types.void(_rules, _now, _w1))
def _pack(rules, now, row):
    """Write a state in its one form: those alike in one order, forks numbered as they come."""
    K, F, L = rules.size[Z_STATIONS], rules.size[Z_FORKS], rules.size[Z_LISTS]
    station, variable, length, lists, low, renamed = (
        rules.station,
        now.variable,
        now.length,
        now.lists,
        FORK - 1,
        1 << 20,
    )
    for turn in range(2 if F else 1):
        for k in range(K):
            kind = station[k, T_KIND]
            n = length[k] if kind >= SHARED else min(length[k], station[k, T_SERVERS])
            if kind == PREEMPTIVE or kind == LAST_PREEMPTS:
                continue
            for i in range(1, n):
                code, j = lists[k, i], i
                while j > 0 and (
                    (lists[k, j - 1] & low) > (code & low)
                    or (turn == 1 and (lists[k, j - 1] & low) == (code & low) and lists[k, j - 1] > code)
                ):
                    lists[k, j] = lists[k, j - 1]
                    j -= 1
                lists[k, j] = code
        if F and turn == 0:
            known = 0
            for k in range(L):
                for i in range(length[k]):
                    fork = _fork(lists[k, i])
                    if fork == 0 or fork >= renamed:
                        continue
                    known += 1
                    new = renamed + known * F + fork % F
                    for k2 in range(k, L):
                        for i2 in range(length[k2]):
                            if _fork(lists[k2, i2]) == fork:
                                lists[k2, i2] += (new - fork) * FORK
            for k in range(L):
                for i in range(length[k]):
                    if _fork(lists[k, i]) >= renamed:
                        lists[k, i] -= renamed * FORK
    V, at = rules.size[Z_VARIABLES], rules.size[Z_VARIABLES] + L
    row[:] = 0
    for v in range(V):
        row[v] = variable[v]
    for k in range(L):
        row[V + k] = length[k]
        for i in range(length[k]):
            row[at] = lists[k, i] & 0x7FFFFFFF
            at += 1
            if k >= K:
                row[at] = lists[k, i] >> ENTRY
                at += 1


@_bare(types.void(_rules, _w1, _now))
def _unpack(rules, row, now):
    variable, length, lists = now.variable, now.length, now.lists
    K, V, L = rules.size[Z_STATIONS], rules.size[Z_VARIABLES], rules.size[Z_LISTS]
    at = V + L
    for v in range(V):
        variable[v] = row[v]
    for k in range(L):
        length[k] = row[V + k]
        for i in range(length[k]):
            lists[k, i] = row[at]
            at += 1
            if k >= K:
                lists[k, i] += np.int64(row[at]) << ENTRY
                at += 1


@_bare(types.void(_now, _now))
def _copy(origin, now):
    """Write a state over another, and begin to play."""
    variable, length, lists, count = now.variable, now.length, now.lists, now.count
    variable0, length0, lists0 = origin.variable, origin.length, origin.lists
    for v in range(len(variable)):
        variable[v] = variable0[v]
    for i in range(len(length)):
        length[i] = length0[i]
        for j in range(length[i]):
            lists[i, j] = lists0[i, j]
    for i in range(count.shape[0]):
        for r in range(count.shape[1]):
            count[i, r] = 0.0
    now.meta[0], now.meta[2], now.odds[0] = 0, 0, 1.0
