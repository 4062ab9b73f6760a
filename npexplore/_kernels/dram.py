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
    _dram_precharge,
    _dram_refresh,
)
from npexplore._kernels.dram_layout import *
from npexplore._kernels.dram_requests import _dram_ask, _dram_occupy_row, _dram_passes, _dram_room
from npexplore.jit import kernel


@kernel(forceinline=True, _nrt=False)
def _dram_unit(D, o, u):
    """Return when a unit and its command buses allow a read, a write, an activate and a precharge."""
    row_bus, column_bus = D[o + M_ROW_END], D[o + M_COLUMN_END]
    activates = max(D[u + M_U_ACT], D[u + M_U_FAW + D[u + M_U_FAW_AT]] + D[o + M_FAW], row_bus)
    closes, reads = max(D[u + M_U_CLOSE], row_bus), max(D[u + M_U_READ], column_bus)
    return reads, max(D[u + M_U_WRITE], column_bus), activates, closes


@kernel(forceinline=True, _nrt=False)
def _dram_may(D, o, u):
    """Return when a unit may have a read, a write or an activate, and when a precharge; its banks may be later."""
    reads, writes, activates, closes = _dram_unit(D, o, u)
    reads, writes = max(D[u + M_U_MAY], reads), max(D[u + M_U_MAY + 1], writes)
    return min(reads, writes, max(D[u + M_U_MAY + 2], activates)), max(D[u + M_U_MAY + 3], closes)


@kernel(forceinline=True, _nrt=False)
def _dram_note(D, may, now, gate, ready, later):
    """Note from when on banks allow a kind of command, and another than the next; return when one may go after now.

    gate: from when on the unit allows it. ready: how many banks do so now; later: when the first of the others does.
    """
    D[may] = later if ready == 0 else now
    D[may + M_U_LATER - M_U_MAY] = later if ready <= 1 else now
    return max(gate, later if gate <= now else D[may])


@kernel(forceinline=True, _nrt=False)
def _dram_scan(D, o, u, now, whole):
    """Return the oldest column and row command of a unit that may go now (-1: none), their keys, and when others may."""
    column, column_key, row, row_key = np.int64(-1), M_NEVER, np.int64(-1), M_NEVER
    reads, writes, activates, closes = _dram_unit(D, o, u)
    if not whole:
        reads, writes, activates = max(reads, now + 1), max(writes, now + 1), max(activates, now + 1)
    if D[o + M_SECOND] > 0:
        activates = M_NEVER
    n_read, n_write, n_act, n_close = 0, 0, 0, 0  # banks whose own rules allow a command now; else when they will
    s_read, s_write, s_act, s_close = M_NEVER, M_NEVER, M_NEVER, M_NEVER
    for n in range(D[u + M_U_ACTIVE]):
        b = D[D[u + M_U_ACTIVE_AT] + n]
        g = D[b + M_B_GROUP]
        if D[b + M_B_GO + 2] >= 0:
            shut = D[b + M_B_SHUT] == 1
            time = D[b + M_B_CLOSE] if shut else max(D[b + M_B_ACT], D[g + M_G_ACT])
            if time <= now:
                n_close, n_act = n_close + shut, n_act + (not shut)
                if (closes if shut else activates) <= now and D[b + M_B_KEY + 2] < row_key:
                    row, row_key = b, D[b + M_B_KEY + 2]
            elif shut:
                s_close = min(s_close, time)
            else:
                s_act = min(s_act, time)
        if D[b + M_B_GO] >= 0:
            time = max(D[b + M_B_READ], D[g + M_G_READ])
            if time > now:
                s_read = min(s_read, time)
            else:
                n_read += 1
                if reads <= now and D[b + M_B_KEY] < column_key:
                    column, column_key = D[b + M_B_GO], D[b + M_B_KEY]
        if D[b + M_B_GO + 1] >= 0:
            time = max(D[b + M_B_WRITE], D[g + M_G_WRITE])
            if time > now:
                s_write = min(s_write, time)
            else:
                n_write += 1
                if writes <= now and D[b + M_B_KEY + 1] < column_key:
                    column, column_key = D[b + M_B_GO + 1], D[b + M_B_KEY + 1]
    may = u + M_U_MAY
    clocked = min(_dram_note(D, may, now, reads, n_read, s_read), _dram_note(D, may + 1, now, writes, n_write, s_write))
    clocked = min(clocked, _dram_note(D, may + 2, now, activates, n_act, s_act))
    return column, column_key, row, row_key, _dram_note(D, may + 3, now, closes, n_close, s_close), clocked


@kernel(forceinline=True, _nrt=False)
def _dram_look(D, o, now, whole, soonest, every):
    """Return the oldest column and row command that may go now (-1: none), their keys, and when others may, or before.

    every: looks at units too of which nothing may go now; the time is then exact.
    """
    column, column_key, row, row_key, clocked = np.int64(-1), M_NEVER, np.int64(-1), M_NEVER, M_NEVER
    for k in range(D[o + M_UNITS]):
        u = o + D[o + M_UNITS_AT] + k * M_UNIT
        begins, other = _dram_may(D, o, u)
        if every or other <= now or (begins <= now and whole):
            q, q_key, b, b_key, other, begins = _dram_scan(D, o, u, now, whole)
            if q_key < column_key:
                column, column_key = q, q_key
            if b_key < row_key:
                row, row_key = b, b_key
        soonest, clocked = min(soonest, other), min(clocked, begins)
    if D[o + M_CLOCK] != D[o + M_EDGE]:
        clocked = (max(clocked, now) + D[o + M_CLOCK] - 1) // D[o + M_CLOCK] * D[o + M_CLOCK]
    return column, column_key, row, row_key, min(soonest, clocked)


@kernel(_nrt=False)
def _dram_step(D, o, now, orders):
    """Issue what can be issued at an edge; return the next time at which something may be possible."""
    edge, clock = D[o + M_EDGE], D[o + M_CLOCK]
    whole = clock == edge or now % clock == 0  # activates and column commands begin with a clock
    refresh = M_NEVER
    if D[o + M_SECOND] > 0 and now >= D[o + M_SECOND]:  # the second half of an activate cannot wait any longer
        D[o + M_SECOND] = 0
        _dram_occupy_row(D, o, now, clock)
        return now + edge
    moved = D[o + M_BANK_QUEUE] > 0 and _dram_move(D, o, now)
    refreshing = False
    if D[o + M_REFRESH_SETS] > 0:
        refreshing, refresh = _dram_refresh(D, o, now, orders)
        if refreshing and D[o + M_DUAL] == 0:
            return now + edge
    if D[o + M_WRITES] > 0 and D[o + M_BANK_QUEUE] == 0:
        _dram_direction(D, o)
    column, column_key, row, row_key, soonest = _dram_look(D, o, now, whole, refresh, False)
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
    crowded = D[o + M_UNITS] > 1 or clock != edge or refreshing or D[o + M_WAITING] > 0
    crowded = crowded or (D[o + M_N_WRITES] > 0 and (column >= 0 or D[o + M_EARLY] == 1))
    _dram_issue(D, o, column, row, now, orders)
    if column >= 0 or row >= 0 or moved or refreshing:
        u = o + D[o + M_UNITS_AT]
        if crowded or D[o + M_BANK_QUEUE] > 0 or D[u + M_U_PENDING] == 1 or D[o + M_SECOND] > 0:
            return now + edge
        begins, closes = _dram_may(D, o, u)
        soonest = min(refresh, begins, closes)
        return max(now + edge, (soonest + edge - 1) // edge * edge)
    if D[o + M_SECOND] > 0:
        D[o + M_SECOND] = 0
        _dram_occupy_row(D, o, now, clock)
        return now + edge
    if clock != edge and soonest % clock != 0:  # only a step between clocks sees who came since: it must have a reason
        soonest = _dram_look(D, o, now, whole, refresh, True)[4]
    return (soonest + edge - 1) // edge * edge


@kernel(forceinline=True, _nrt=False)
def _dram_issue(D, o, column, row, now, orders):
    """Issue a column and a row command, or one of them (-1: none); another one of their kind is the next that may go."""
    if column >= 0:
        kind = D[D[column + M_R_BANK] + M_B_UNIT] + D[column + M_R_WRITE]
        D[kind + M_U_MAY] = D[kind + M_U_LATER]
    if row >= 0:
        kind = D[row + M_B_UNIT] + 2 + D[row + M_B_SHUT]
        D[kind + M_U_MAY] = D[kind + M_U_LATER]
        if D[row + M_B_SHUT] == 1:
            D[D[row + M_B_GO + 2] + M_R_OUTCOME] = M_CONFLICT
            _dram_precharge(D, o, row, now, orders)
        else:
            _dram_activate(D, o, D[row + M_B_GO + 2], now, orders)
    if column >= 0:
        _dram_column(D, o, column, now, orders)


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
