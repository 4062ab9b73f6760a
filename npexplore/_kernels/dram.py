"""The scheduling DRAM controller: at each clock edge it issues what its policy and the part's timing rules allow.

First ready, first come first served (Rixner et al., ISCA 2000) with write buffers, refresh and page policies;
docs/engine_dram.md has the rules and the layout of a controller's block D, which begins at o.
"""

import numpy as np

from npexplore._kernels.dram_commands import (
    _dram_activate,
    _dram_column,
    _dram_direction,
    _dram_move,
    _dram_own,
    _dram_precharge,
    _dram_refresh,
)
from npexplore._kernels.dram_layout import *
from npexplore._kernels.dram_requests import _dram_ask, _dram_occupy_row, _dram_passes, _dram_room
from npexplore.jit import kernel


@kernel(forceinline=True, _nrt=False)
def _dram_unit(D, o, u):
    """Return when a unit and its command buses allow an activate, a precharge, a read and a write."""
    row_bus, column_bus = D[o + M_ROW_END], D[o + M_COLUMN_END]
    activates = max(D[u + M_U_ACT], D[u + M_U_FAW + D[u + M_U_FAW_AT]] + D[o + M_FAW], row_bus)
    closes, reads = max(D[u + M_U_CLOSE], row_bus), max(D[u + M_U_READ], column_bus)
    return activates, closes, reads, max(D[u + M_U_WRITE], column_bus)


@kernel(_nrt=False)
def _dram_step(D, o, now, orders):
    """Issue what can be issued at an edge; return the next time at which something may be possible."""
    edge, clock = D[o + M_EDGE], D[o + M_CLOCK]
    aligned = (now + clock - 1) // clock * clock  # activates and column commands begin with a clock
    soonest = M_NEVER
    if D[o + M_SECOND] > 0 and now >= D[o + M_SECOND]:  # the second half of an activate cannot wait any longer
        D[o + M_SECOND] = 0
        _dram_occupy_row(D, o, now, clock)
        return now + edge
    moved = D[o + M_BANK_QUEUE] > 0 and _dram_move(D, o, now)
    refreshing = False
    if D[o + M_REFRESH_SETS] > 0:
        refreshing, soonest = _dram_refresh(D, o, now, orders)
        if refreshing and D[o + M_DUAL] == 0:
            return now + edge
    if D[o + M_WRITES] > 0 and D[o + M_BANK_QUEUE] == 0:
        _dram_direction(D, o)
    many = D[o + M_UNITS] > 1
    u = o + D[o + M_UNITS_AT]
    activates, closes, reads, writes = _dram_unit(D, o, u)
    column, column_key, row, row_key = np.int64(-1), M_NEVER, np.int64(-1), M_NEVER
    refresh = soonest
    n_act, n_close, n_read, n_write = 0, 0, 0, 0  # banks whose own rules allow a command now; else when they will
    s_act, s_close, s_read, s_write = M_NEVER, M_NEVER, M_NEVER, M_NEVER
    active = o + D[o + M_ACTIVE_AT]
    for n in range(D[o + M_ACTIVE]):
        b = D[active + n]
        g = D[b + M_B_GROUP]
        if many:
            u = D[b + M_B_UNIT]
            activates, closes, reads, writes = _dram_unit(D, o, u)
        if D[b + M_B_GO + 2] >= 0:
            if D[b + M_B_SHUT] == 1:
                time = D[b + M_B_CLOSE]
                if time <= now:
                    n_close += 1
                else:
                    s_close = min(s_close, time)
                time = max(time, closes)
            else:
                time = max(D[b + M_B_ACT], D[g + M_G_ACT])
                if time <= now:
                    n_act += 1
                else:
                    s_act = min(s_act, time)
                time = max(time, activates)
                if clock != edge:
                    time = max((time + clock - 1) // clock * clock, aligned)
            if time > now:
                soonest = min(soonest, time)
            elif D[b + M_B_KEY + 2] < row_key and (D[o + M_SECOND] == 0 or D[b + M_B_SHUT] == 1):
                row, row_key = b, D[b + M_B_KEY + 2]
        if D[b + M_B_GO] >= 0:
            time = max(D[b + M_B_READ], D[g + M_G_READ])
            if time <= now:
                n_read += 1
            else:
                s_read = min(s_read, time)
            time = max(time, reads)
            if clock != edge:
                time = max((time + clock - 1) // clock * clock, aligned)
            if time > now:
                soonest = min(soonest, time)
            elif D[b + M_B_KEY] < column_key:
                column, column_key = D[b + M_B_GO], D[b + M_B_KEY]
        if D[b + M_B_GO + 1] >= 0:
            time = max(D[b + M_B_WRITE], D[g + M_G_WRITE])
            if time <= now:
                n_write += 1
            else:
                s_write = min(s_write, time)
            time = max(time, writes)
            if clock != edge:
                time = max((time + clock - 1) // clock * clock, aligned)
            if time > now:
                soonest = min(soonest, time)
            elif D[b + M_B_KEY + 1] < column_key:
                column, column_key = D[b + M_B_GO + 1], D[b + M_B_KEY + 1]
    if column >= 0 and D[o + M_IN_ORDER] == 1 and _dram_passes(D, o, column_key):
        column = np.int64(-1)
    if refreshing:
        row = np.int64(-1)
    elif column >= 0 and row >= 0 and D[o + M_DUAL] == 0:  # one command bus: the older goes, or the preferred kind
        first = D[o + M_FIRST]
        if first == M_COLUMN or (first == M_OLDEST and column_key < row_key):
            row = np.int64(-1)
        else:
            column = np.int64(-1)
    if column >= 0 and row >= 0 and row == D[column + M_R_BANK]:
        row = np.int64(-1)
    crowded = D[o + M_WAITING] > 0 or (D[o + M_N_WRITES] > 0 and (column >= 0 or D[o + M_EARLY] == 1))
    used = np.int64(-1)
    if row >= 0:
        if D[row + M_B_SHUT] == 1:
            n_close -= 1
            D[D[row + M_B_GO + 2] + M_R_OUTCOME] = M_CONFLICT
            _dram_precharge(D, o, row, now, orders)
        else:
            n_act -= 1
            _dram_activate(D, o, D[row + M_B_GO + 2], now, orders)
    if column >= 0:
        used = D[column + M_R_BANK]
        if D[column + M_R_WRITE] == 1:
            n_write -= 1
        else:
            n_read -= 1
        _dram_column(D, o, column, now, orders)
    if column >= 0 or row >= 0 or moved or refreshing:
        crowded = crowded or D[o + M_BANK_QUEUE] > 0 or D[u + M_U_PENDING] == 1 or D[o + M_SECOND] > 0
        if many or crowded or refreshing or clock != edge:
            return now + edge
        # who else may come next, had from its own rules and from those that the commands have moved on
        activates, closes, reads, writes = _dram_unit(D, o, u)
        soonest = min(refresh, _dram_own(D, row, activates, closes, reads, writes))
        soonest = min(soonest, _dram_own(D, used, activates, closes, reads, writes))
        if n_act > 0 or s_act < M_NEVER:
            soonest = min(soonest, activates if n_act > 0 else max(activates, s_act))
        if n_close > 0 or s_close < M_NEVER:
            soonest = min(soonest, closes if n_close > 0 else max(closes, s_close))
        if n_read > 0 or s_read < M_NEVER:
            soonest = min(soonest, reads if n_read > 0 else max(reads, s_read))
        if n_write > 0 or s_write < M_NEVER:
            soonest = min(soonest, writes if n_write > 0 else max(writes, s_write))
        return max(now + edge, (soonest + edge - 1) // edge * edge)
    if D[o + M_SECOND] > 0:
        D[o + M_SECOND] = 0
        _dram_occupy_row(D, o, now, clock)
        return now + edge
    return (soonest + edge - 1) // edge * edge


@kernel(forceinline=True, _nrt=False)
def _dram_works(D, o):
    """Say whether any request is inside."""
    return D[o + M_QUEUED] > 0 or D[o + M_IN_READ] >= 0 or D[o + M_IN_WRITE] >= 0


@kernel(_nrt=False)
def _dram_idle_until(D, o, now, orders):
    """Do what edges without a request would have done: turn back to reads, and the refreshes that fell due.

    After a last write the next step is one edge later; whoever asks at that very edge finds the direction as it was.
    Of the refreshes the last ones go step by step.
    """
    if D[o + M_NEXT] < now:
        D[o + M_WRITING] = 0
    if D[o + M_REFRESH_SETS] == 0:
        return
    for k in range(D[o + M_UNITS]):
        u = o + D[o + M_UNITS_AT] + k * M_UNIT
        missed = (now - D[u + M_U_DUE]) // D[o + M_REFI] - 2 * D[o + M_REFRESH_SETS]
        if missed > 0:
            D[u + M_U_DUE] += missed * D[o + M_REFI]
            D[u + M_U_SET] = (D[u + M_U_SET] + missed) % D[o + M_REFRESH_SETS]
            D[o + M_REFRESHES] += missed
    edge = D[o + M_EDGE]
    time = D[o + M_NEXT]
    while time < now:
        done, soonest = _dram_refresh(D, o, time, orders)
        time = time + edge if done else (soonest + edge - 1) // edge * edge
    D[o + M_NEXT] = time


@kernel(_nrt=False)
def dram_stream(D, o, time, bank, row, write, bursts, accepted, finished, outcome, orders):
    """Let accesses in as soon as their time has come and there is room, in order; return how many were served.

    time, accepted (entry given) and finished (last data) are in ticks; a write that is buffered finishes with its data.
    """
    n = time.shape[0]
    clock = D[o + M_CLOCK]
    now, i, left = np.int64(0), 0, n
    while left > 0:
        if not _dram_works(D, o) and i < n and time[i] > now:
            now = (time[i] + clock - 1) // clock * clock
            _dram_idle_until(D, o, now, orders)
        while i < n and time[i] <= now and _dram_room(D, o, write[i]):
            if not _dram_ask(D, o, i, bank[i], row[i], write[i], bursts[i], now):
                return n - left
            accepted[i] = now
            i += 1
        D[o + M_DONE] = 0
        after = _dram_step(D, o, now, orders)
        D[o + M_NEXT] = after
        at = o + D[o + M_DONE_AT]
        for k in range(D[o + M_DONE]):
            tag, when, what = D[at + k * M_DONE_WIDTH], D[at + k * M_DONE_WIDTH + 1], D[at + k * M_DONE_WIDTH + 2]
            if what != M_ACCEPTED:
                finished[tag] = when + (D[o + M_WRITE_LAST] if write[tag] else D[o + M_READ_LAST])
                outcome[tag] = what
                left -= 1
        D[o + M_DONE] = 0
        if i < n and _dram_room(D, o, write[i]):
            after = min(after, (max(time[i], now + D[o + M_EDGE]) + clock - 1) // clock * clock)
        if after >= M_NEVER:
            return n - left
        now = after
    D[o + M_TIME] = now
    return n - left
