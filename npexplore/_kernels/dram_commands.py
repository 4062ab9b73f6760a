"""Commands of the scheduling DRAM controller: refresh, activate, precharge, read and write, by the part's timing rules."""

import numpy as np

from npexplore._kernels.dram_layout import *
from npexplore._kernels.dram_requests import (
    _dram_buffered,
    _dram_choose,
    _dram_choose_all,
    _dram_closed,
    _dram_done,
    _dram_from_bank,
    _dram_leave,
    _dram_occupy_row,
    _dram_order,
    _dram_sort,
    _dram_to_bank,
    _dram_unchain,
)
from npexplore.jit import kernel


@kernel(_nrt=False)
def _dram_move(D, o, now):
    """Move the oldest request of the buffer in turn whose bank's line has room; say whether one was moved."""
    if D[o + M_DRAIN] == 0 and (
        D[o + M_N_WRITES] >= D[o + M_HIGH]
        or (D[o + M_QUEUED] == 0 and (D[o + M_N_WRITES] > D[o + M_LOW] or D[o + M_N_READS] == 0))
    ):
        D[o + M_DRAIN] = D[o + M_N_WRITES]
    q = D[o + M_IN_READ + 2 * _dram_buffered(D, o, D[o + M_DRAIN] > 0)]
    while q >= 0:
        b = D[q + M_R_BANK]
        if D[b + M_B_COUNT] < D[o + M_BANK_QUEUE]:
            w = _dram_buffered(D, o, D[q + M_R_WRITE])
            _dram_unchain(D, q, o + M_IN_READ + 2 * w, o + M_IN_READ_TAIL + 2 * w)
            D[o + M_DRAIN] -= w
            _dram_leave(D, o, q, now)
            _dram_to_bank(D, o, q, now)
            return True
        q = D[q + M_R_NEXT]
    return False


@kernel(forceinline=True, _nrt=False)
def _dram_direction(D, o):
    """Turn to the writes at the high mark or where no read is; back at the low mark, if a read waits."""
    reads, writes = D[o + M_N_READS], D[o + M_N_WRITES]
    if D[o + M_WRITING] == 0:
        if writes >= D[o + M_HIGH] or (reads == 0 and writes > 0):
            D[o + M_WRITING] = 1
            _dram_choose_all(D, o)
    elif writes == 0 or (writes <= D[o + M_LOW] and reads > 0):
        D[o + M_WRITING] = 0
        _dram_choose_all(D, o)


@kernel(_nrt=False)
def _dram_refresh(D, o, now, orders):
    """Precharge the banks of a refresh that is due, or refresh them; return whether, and when it will be possible."""
    soonest = M_NEVER
    per_set = D[o + M_BANKS] // (D[o + M_UNITS] * D[o + M_REFRESH_SETS])
    each = D[o + M_BANKS] // D[o + M_UNITS]
    for k in range(D[o + M_UNITS]):
        u = o + D[o + M_UNITS_AT] + k * M_UNIT
        if D[u + M_U_PENDING] == 0:
            if now < D[u + M_U_DUE]:
                soonest = min(soonest, D[u + M_U_DUE])
                continue
            D[u + M_U_PENDING] = 1
            D[u + M_U_DUE] += D[o + M_REFI]
            _dram_choose_all(D, o)
        ready, shut, owned, opened = D[u + M_U_REFRESHED], np.int64(0), False, False
        if D[o + M_REFRESH_SETS] > 1:
            ready = max(ready, D[u + M_U_ACT])
        for n in range(per_set):
            b = o + D[o + M_BANKS_AT] + (k * each + D[u + M_U_SET] * per_set + n) * M_BANK_WIDTH
            if D[b + M_B_ROW] >= 0:
                opened = True
                owned = owned or D[b + M_B_OWNER] >= 0
                shut = max(shut, D[b + M_B_CLOSE])
            else:
                ready = max(ready, D[b + M_B_ACT])
        if owned:
            continue
        if opened:
            time = max(shut, D[u + M_U_CLOSE], D[o + M_ROW_END])
        else:
            time = max(ready, D[o + M_ROW_END])
        if time > now:
            soonest = min(soonest, time)
            continue
        _dram_occupy_row(D, o, now, D[o + M_CLOSE_TIME])
        _dram_order(orders, now, M_PREA if opened else M_REF, k * each + D[u + M_U_SET] * per_set, per_set)
        for n in range(per_set):
            b = o + D[o + M_BANKS_AT] + (k * each + D[u + M_U_SET] * per_set + n) * M_BANK_WIDTH
            if not opened:
                D[b + M_B_ACT] = now + D[o + M_RFC]
                D[b + M_B_WHY] = M_REFRESH
                D[b + M_B_BUSY] += D[o + M_RFC]
            elif D[b + M_B_ROW] >= 0:
                D[b + M_B_WHY] = M_REFRESH
                _dram_closed(D, o, b, now)
        if opened:
            D[u + M_U_CLOSE] = now + D[o + M_PPD]
        else:
            D[u + M_U_PENDING] = 0
            D[u + M_U_SET] = D[u + M_U_SET] + 1 if D[u + M_U_SET] + 1 < D[o + M_REFRESH_SETS] else 0
            D[u + M_U_REFRESHED] = now + D[o + M_RFC_REF]
            if D[o + M_REFRESH_SETS] > 1:
                D[u + M_U_ACT] = max(D[u + M_U_ACT], now + D[o + M_RREFD])
            D[o + M_REFRESHES] += 1
            _dram_choose_all(D, o)
        return True, now + D[o + M_EDGE]
    return False, soonest


@kernel(forceinline=True, _nrt=False)
def _dram_activate(D, o, q, now, orders):
    b = D[q + M_R_BANK]
    g, u = D[b + M_B_GROUP], D[b + M_B_UNIT]
    oldest = u + M_U_FAW + D[u + M_U_FAW_AT]
    waits = (
        (D[b + M_B_ACT], D[b + M_B_WHY]),
        (D[g + M_G_ACT], M_ROWS_APART),
        (D[u + M_U_ACT], M_ROWS_APART),
        (D[oldest] + D[o + M_FAW], M_WINDOW),
    )
    cause, most = M_COMMAND if D[o + M_ROW_END] >= now else M_ORDER, now - D[o + M_CCD_S]
    for time, what in waits:
        if time > most:
            most, cause = time, what
    D[b + M_B_CAUSE] = M_OPENING if D[q + M_R_TIME] > now - D[o + M_EDGE] else cause
    D[b + M_B_ROW] = D[q + M_R_ROW]
    D[b + M_B_OPENED] = now
    D[b + M_B_USES] = 0
    D[b + M_B_OWNER] = q
    D[b + M_B_READ] = now + D[o + M_RCD_READ]
    D[b + M_B_WRITE] = now + D[o + M_RCD_WRITE]
    D[b + M_B_CLOSE] = now + D[o + M_RAS]
    D[b + M_B_ACT] = now + D[o + M_RC]
    D[b + M_B_WHY] = M_BANK
    D[g + M_G_ACT] = now + D[o + M_RRD_L]
    D[u + M_U_ACT] = max(D[u + M_U_ACT], now + D[o + M_RRD_S])
    D[oldest] = now
    D[u + M_U_FAW_AT] = (D[u + M_U_FAW_AT] + 1) & 3
    _dram_occupy_row(D, o, now, D[o + M_ROW_TIME])
    D[o + M_ACTIVATES] += 1
    D[u + M_U_ROWS] += D[o + M_RRD_S]
    D[u + M_U_WINDOW] += D[o + M_FAW]
    if D[q + M_R_OUTCOME] == M_HIT:
        D[q + M_R_OUTCOME] = M_MISS
    _dram_sort(D, b)
    _dram_choose(D, o, b)
    if D[o + M_SPLIT] > 0:
        D[o + M_SECOND] = now + D[o + M_SPLIT]
    _dram_order(orders, now, M_ACT, (b - o - D[o + M_BANKS_AT]) // M_BANK_WIDTH, D[q + M_R_ROW])
    if D[o + M_EARLY]:
        _dram_leave(D, o, q, now)


@kernel(forceinline=True, _nrt=False)
def _dram_precharge(D, o, b, now, orders):
    D[D[b + M_B_UNIT] + M_U_CLOSE] = now + D[o + M_PPD]
    _dram_occupy_row(D, o, now, D[o + M_CLOSE_TIME])
    _dram_order(orders, now, M_PRE, (b - o - D[o + M_BANKS_AT]) // M_BANK_WIDTH, D[b + M_B_ROW])
    _dram_closed(D, o, b, now)
    _dram_choose(D, o, b)


@kernel(forceinline=True, _nrt=False)
def _dram_column(D, o, q, now, orders):
    """Issue a column command; with its last burst the request is done."""
    b, w = D[q + M_R_BANK], D[q + M_R_WRITE]
    g, u = D[b + M_B_GROUP], D[b + M_B_UNIT]
    burst = D[o + M_CCD_S + 2 * w]
    gap = now - D[u + M_U_DATA]
    if gap > 0:  # the data bus had nothing to do: what did this command wait for last?
        waits = (
            (D[b + M_B_READ + w], D[b + M_B_CAUSE] if D[b + M_B_OWNER] == q else M_OPENING),
            (D[g + M_G_READ + w], D[g + M_G_READ_CAUSE] if w == 0 else M_GROUP),
            (D[u + M_U_READ + w], D[u + M_U_READ_CAUSE + w]),
        )
        cause, most = M_COMMAND if D[o + M_COLUMN_END] >= now else M_ORDER, now - D[o + M_CCD_S]
        for time, what in waits:
            if time > most:
                most, cause = time, what
        if D[q + M_R_TIME] > D[u + M_U_DATA]:  # part of it nobody was there
            nobody = min(D[q + M_R_TIME] - D[u + M_U_DATA], gap)
            D[o + M_CAUSES + M_NOBODY] += nobody
            gap -= nobody
        D[o + M_CAUSES + cause] += gap
    D[o + M_CAUSES + M_BUS] += burst
    D[u + M_U_DATA] = now + burst
    D[u + M_U_BUSY] += burst
    same, turned = D[o + M_CCD_L + 2 * w], now + D[o + M_READ_WRITE + w]
    D[b + M_B_CLOSE] = max(D[b + M_B_CLOSE], now + D[o + M_READ_CLOSE + w])
    D[g + M_G_READ + w] = max(D[g + M_G_READ + w], now + same)
    D[g + M_G_BUSY] += same
    if w == 0:
        D[g + M_G_READ_CAUSE] = M_GROUP
    elif now + D[o + M_WRITE_READ_L] > D[g + M_G_READ]:
        D[g + M_G_READ] = now + D[o + M_WRITE_READ_L]
        D[g + M_G_READ_CAUSE] = M_TURN
    D[u + M_U_READ + w] = max(D[u + M_U_READ + w], now + burst)
    D[u + M_U_READ_CAUSE + w] = M_BUS
    if turned > D[u + M_U_WRITE - w]:  # of the other direction
        D[u + M_U_WRITE - w] = turned
        D[u + M_U_WRITE_CAUSE - w] = M_TURN
    D[o + M_COLUMN_END] = now + D[o + M_COLUMN_TIME]
    if D[o + M_DUAL] == 0:
        D[o + M_ROW_END] = now + D[o + M_COLUMN_TIME]
    D[o + M_BUSY_COMMAND] += D[o + M_COLUMN_TIME]
    D[b + M_B_USES] += 1
    D[b + M_B_LAST] = now
    D[b + M_B_OWNER] = -1
    _dram_order(orders, now, M_WRITE if w else M_READ, (b - o - D[o + M_BANKS_AT]) // M_BANK_WIDTH, D[b + M_B_ROW])
    D[q + M_R_LEFT] -= 1
    if D[q + M_R_LEFT] > 0:
        D[b + M_B_OWNER] = q
        _dram_choose(D, o, b)
        return
    outcome = D[q + M_R_OUTCOME]
    D[o + M_HITS] += outcome == M_HIT
    D[o + M_MISSES] += outcome == M_MISS
    D[o + M_CONFLICTS] += outcome == M_CONFLICT
    D[o + M_SERVED_READS + w] += 1
    _dram_done(D, o, q, now, outcome)
    _dram_from_bank(D, o, q)
    _dram_leave(D, o, q, now)
    D[q + M_R_NEXT] = D[o + M_FREE]
    D[o + M_FREE] = q
    page = D[o + M_PAGE]
    if page == M_CLOSED or (page == M_ADAPTIVE and D[b + M_B_HIT] < 0 and D[b + M_B_HIT + 1] < 0):
        _dram_closed(D, o, b, D[b + M_B_CLOSE])
    _dram_choose(D, o, b)
