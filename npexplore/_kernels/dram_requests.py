"""Requests inside the scheduling DRAM controller: entries, lines of banks, the next candidates of a bank."""

import numpy as np

from npexplore._kernels.dram_layout import *
from npexplore._kernels.engine_layout import *
from npexplore.jit import kernel


@kernel(forceinline=True, _nrt=False)
def _dram_order(orders, time, command, bank, row):
    """Write down a command, if there is room."""
    n = orders[0, 0]
    if n + 1 < orders.shape[0]:
        orders[n + 1, 0] = time
        orders[n + 1, 1] = command
        orders[n + 1, 2] = bank
        orders[n + 1, 3] = row
        orders[0, 0] = n + 1


@kernel(forceinline=True, _nrt=False)
def _dram_done(D, o, q, time, outcome):
    """Write down that a request is finished or accepted at a time, for the caller to take."""
    at = o + D[o + M_DONE_AT] + D[o + M_DONE] * M_DONE_WIDTH
    D[at] = D[q + M_R_TAG]
    D[at + 1] = time
    D[at + 2] = outcome
    D[at + 3] = D[q + M_R_WRITE]
    D[o + M_DONE] += 1


@kernel(forceinline=True, _nrt=False)
def _dram_append(D, q, head, tail):
    """Put a request at the end of a line whose ends stand at `head` and `tail`."""
    D[q + M_R_NEXT] = -1
    last = D[tail]
    D[q + M_R_BEFORE] = last
    if last < 0:
        D[head] = q
    else:
        D[last + M_R_NEXT] = q
    D[tail] = q


@kernel(forceinline=True, _nrt=False)
def _dram_unchain(D, q, head, tail):
    before, after = D[q + M_R_BEFORE], D[q + M_R_NEXT]
    if before < 0:
        D[head] = after
    else:
        D[before + M_R_NEXT] = after
    if after < 0:
        D[tail] = before
    else:
        D[after + M_R_BEFORE] = before


@kernel(forceinline=True, _nrt=False)
def _dram_place(D, q, ready):
    """Return a key in line by when a request could go; of the same time, by its number (overflows at 2^54 ticks)."""
    return max(D[q + M_R_TIME], ready) * 256 + (D[q + M_R_SEQUENCE] & 255)


@kernel(_nrt=False)
def _dram_in_order(D, b, oldest):
    """Leave commands to the oldest request of a bank alone, in line from when request and bank were ready for them."""
    for w in range(2):
        q = D[b + M_B_GO + w]
        if q >= 0:
            D[b + M_B_KEY + w] = _dram_place(D, q, max(D[b + M_B_READ + w], D[b + M_B_LAST]))
            if D[q + M_R_SEQUENCE] > oldest:
                D[b + M_B_GO + w] = -1
    q = D[b + M_B_GO + 2]
    if q >= 0:
        D[b + M_B_KEY + 2] = _dram_place(D, q, D[b + M_B_CLOSE] if D[b + M_B_SHUT] == 1 else D[b + M_B_ACT])


@kernel(_nrt=False)
def _dram_passes(D, o, key):
    """Say whether a column command with this key would pass one that has been in line for longer."""
    for k in range(D[o + M_UNITS]):
        u = o + D[o + M_UNITS_AT] + k * M_UNIT
        for n in range(D[u + M_U_ACTIVE]):
            b = D[D[u + M_U_ACTIVE_AT] + n]
            for w in range(2):
                if D[b + M_B_GO + w] >= 0 and D[b + M_B_KEY + w] < key:
                    return True
    return False


@kernel(forceinline=True, _nrt=False)
def _dram_choose(D, o, b):
    """Choose the next candidates of a bank; its unit knows from when on they may go."""
    _dram_candidates(D, o, b)
    may, g = D[b + M_B_UNIT] + M_U_MAY, D[b + M_B_GROUP]
    for w in range(2):
        if D[b + M_B_GO + w] >= 0:
            D[may + w] = min(D[may + w], max(D[b + M_B_READ + w], D[g + M_G_READ + w]))
    if D[b + M_B_GO + 2] >= 0:
        if D[b + M_B_SHUT] == 1:
            D[may + 3] = min(D[may + 3], D[b + M_B_CLOSE])
        else:
            D[may + 2] = min(D[may + 2], max(D[b + M_B_ACT], D[g + M_G_ACT]))


@kernel(_nrt=False)
def _dram_candidates(D, o, b):
    """Say which requests of a bank may have the next column command of each direction, and the next row command.

    Who opened the row uses it first. A row is closed for an older request once no still older one hits it, and no younger
    one or `M_CAP` have; a bank that is to be refreshed takes no new ones.
    """
    D[b + M_B_GO] = D[b + M_B_GO + 1] = D[b + M_B_GO + 2] = -1
    owner = D[b + M_B_OWNER]
    if owner >= 0:
        w = D[owner + M_R_WRITE]
        D[b + M_B_GO + w] = owner
        D[b + M_B_KEY + w] = D[owner + M_R_SEQUENCE] - M_HALF  # before all others
        if D[o + M_IN_ORDER] == 1:
            D[b + M_B_KEY + w] = _dram_place(D, owner, D[b + M_B_READ + w])
        return
    u = D[b + M_B_UNIT]
    if D[u + M_U_PENDING] == 1 and (D[o + M_REFRESH_SETS] == 1 or D[b + M_B_SET] == D[u + M_U_SET]):
        return
    if D[o + M_STALL] == 1:
        for k in range(D[o + M_UNITS]):
            if D[o + D[o + M_UNITS_AT] + k * M_UNIT + M_U_PENDING] == 1:
                return
    other, hit = np.int64(-1), M_NEVER
    both = D[o + M_WRITES] == 0 or D[o + M_BANK_QUEUE] > 0
    for w in range(2):
        if both or w == D[o + M_WRITING]:
            q = D[b + M_B_HIT + w]
            if q >= 0:
                hit = min(hit, D[q + M_R_SEQUENCE])
                D[b + M_B_GO + w] = q
                D[b + M_B_KEY + w] = D[q + M_R_SEQUENCE]
            q = D[b + M_B_OTHER + w]
            if q >= 0 and (other < 0 or D[q + M_R_SEQUENCE] < D[other + M_R_SEQUENCE]):
                other = q
    if other < 0:
        if D[o + M_IN_ORDER] == 1:
            _dram_in_order(D, b, hit)
        return
    D[b + M_B_SHUT] = D[b + M_B_ROW] >= 0
    if D[b + M_B_ROW] < 0 or (D[other + M_R_SEQUENCE] < hit and (hit == M_NEVER or D[b + M_B_USES] >= D[o + M_CAP])):
        D[b + M_B_GO + 2] = other
        D[b + M_B_KEY + 2] = D[other + M_R_SEQUENCE]
    if D[o + M_IN_ORDER] == 1:
        _dram_in_order(D, b, min(hit, D[other + M_R_SEQUENCE]))


@kernel(_nrt=False)
def _dram_choose_all(D, o):
    for k in range(D[o + M_UNITS]):
        u = o + D[o + M_UNITS_AT] + k * M_UNIT
        for n in range(D[u + M_U_ACTIVE]):
            _dram_choose(D, o, D[D[u + M_U_ACTIVE_AT] + n])


@kernel(forceinline=True, _nrt=False)
def _dram_to_bank(D, o, q, now):
    """Put a request into the line of its bank; a row that nobody asked for long enough has been closed meanwhile."""
    b, w = D[q + M_R_BANK], D[q + M_R_WRITE]
    if D[o + M_IDLE] > 0 and D[b + M_B_COUNT] == 0 and D[b + M_B_ROW] >= 0:
        shut = max(D[b + M_B_LAST] + D[o + M_IDLE], D[b + M_B_CLOSE])
        if shut <= now:
            _dram_closed(D, o, b, shut)
    _dram_append(D, q, b + M_B_HEAD + w, b + M_B_TAIL + w)
    if D[b + M_B_COUNT] == 0:
        u = D[b + M_B_UNIT]
        D[b + M_B_PLACE] = D[u + M_U_ACTIVE_AT] + D[u + M_U_ACTIVE]
        D[D[b + M_B_PLACE]] = b
        D[u + M_U_ACTIVE] += 1
    D[b + M_B_COUNT] += 1
    D[o + M_QUEUED] += 1
    if D[b + M_B_ROW] == D[q + M_R_ROW]:
        if D[b + M_B_HIT + w] < 0:
            D[b + M_B_HIT + w] = q
            _dram_choose(D, o, b)
    elif D[b + M_B_OTHER + w] < 0:
        D[b + M_B_OTHER + w] = q
        _dram_choose(D, o, b)


@kernel(forceinline=True, _nrt=False)
def _dram_sort(D, b):
    """Find the oldest hit and the oldest other request of a bank, for both directions."""
    row = D[b + M_B_ROW]
    for w in range(2):
        hit, other = np.int64(-1), np.int64(-1)
        q = D[b + M_B_HEAD + w]
        while q >= 0 and (hit < 0 or other < 0):
            if D[q + M_R_ROW] == row:
                if hit < 0:
                    hit = q
            elif other < 0:
                other = q
            q = D[q + M_R_NEXT]
        D[b + M_B_HIT + w] = hit
        D[b + M_B_OTHER + w] = other


@kernel(forceinline=True, _nrt=False)
def _dram_closed(D, o, b, time):
    """Close a bank's row at a time: nobody hits, the oldest of each direction is the next."""
    D[b + M_B_ACT] = max(D[b + M_B_ACT], time + D[o + M_RP])
    D[b + M_B_BUSY] += D[b + M_B_ACT] - D[b + M_B_OPENED]
    D[b + M_B_ROW] = -1
    for w in range(2):
        D[b + M_B_HIT + w] = -1
        D[b + M_B_OTHER + w] = D[b + M_B_HEAD + w]


@kernel(forceinline=True, _nrt=False)
def _dram_from_bank(D, o, q):
    """Take a request, a hit, out of the line of its bank."""
    b, w = D[q + M_R_BANK], D[q + M_R_WRITE]
    if D[b + M_B_HIT + w] == q:
        row, after = D[b + M_B_ROW], D[q + M_R_NEXT]
        while after >= 0 and D[after + M_R_ROW] != row:
            after = D[after + M_R_NEXT]
        D[b + M_B_HIT + w] = after
    _dram_unchain(D, q, b + M_B_HEAD + w, b + M_B_TAIL + w)
    D[b + M_B_COUNT] -= 1
    D[o + M_QUEUED] -= 1
    if D[b + M_B_COUNT] == 0:
        u = D[b + M_B_UNIT]
        D[u + M_U_ACTIVE] -= 1
        moved = D[D[u + M_U_ACTIVE_AT] + D[u + M_U_ACTIVE]]
        D[D[b + M_B_PLACE]] = moved
        D[moved + M_B_PLACE] = D[b + M_B_PLACE]


@kernel(forceinline=True, _nrt=False)
def _dram_buffered(D, o, write):
    """Return 1 for a write that has a buffer of its own, 0 for what stands in the queue."""
    return np.int64(write and D[o + M_WRITES] > 0)


@kernel(forceinline=True, _nrt=False)
def _dram_enter(D, o, q, now):
    """Give a request its entry of the queue or the write buffer; a buffered write is accepted with that."""
    w = _dram_buffered(D, o, D[q + M_R_WRITE])
    D[q + M_R_TIME] = now
    D[q + M_R_HELD] = 1
    D[q + M_R_SEQUENCE] = D[o + M_SEQUENCE]
    D[o + M_SEQUENCE] += 1
    D[o + M_N_READS + w] += 1
    if w:
        _dram_done(D, o, q, now, M_ACCEPTED)
    if D[o + M_BANK_QUEUE] == 0:
        _dram_to_bank(D, o, q, now)
    else:
        _dram_append(D, q, o + M_IN_READ + 2 * w, o + M_IN_READ_TAIL + 2 * w)


@kernel(forceinline=True, _nrt=False)
def _dram_leave(D, o, q, now):
    """Give a request's entry back, and let in who waits for it."""
    if D[q + M_R_HELD] == 0:
        return
    D[q + M_R_HELD] = 0
    w = _dram_buffered(D, o, D[q + M_R_WRITE])
    D[o + M_N_READS + w] -= 1
    D[o + M_BUSY_SLOTS + w] += now - D[q + M_R_TIME]
    first = D[o + M_OUT_READ + 2 * w]
    if first >= 0:
        _dram_unchain(D, first, o + M_OUT_READ + 2 * w, o + M_OUT_READ_TAIL + 2 * w)
        D[o + M_WAITING] -= 1
        _dram_enter(D, o, first, now)


@kernel(forceinline=True, _nrt=False)
def _dram_room(D, o, write):
    """Say whether a request would get its entry at once."""
    w = _dram_buffered(D, o, write)
    return D[o + M_N_READS + w] < D[o + M_READS + w] and D[o + M_OUT_READ + 2 * w] < 0


@kernel(forceinline=True, _nrt=False)
def _dram_ask(D, o, tag, bank, row, write, bursts, now):
    """Bring a request; False where the block has no room for another. The caller then steps at the next clock edge."""
    q = D[o + M_FREE]
    if q < 0:
        return False
    D[o + M_FREE] = D[q + M_R_NEXT]
    D[q + M_R_TAG] = tag
    D[q + M_R_BANK] = o + D[o + M_BANKS_AT] + bank * M_BANK_WIDTH
    D[q + M_R_ROW] = row
    D[q + M_R_WRITE] = write
    D[q + M_R_LEFT] = bursts
    D[q + M_R_OUTCOME] = M_HIT
    D[q + M_R_HELD] = 0
    if _dram_room(D, o, write):
        _dram_enter(D, o, q, now)
    else:
        D[o + M_WAITING] += 1
        w = _dram_buffered(D, o, write)
        _dram_append(D, q, o + M_OUT_READ + 2 * w, o + M_OUT_READ_TAIL + 2 * w)
    return True


@kernel(forceinline=True, _nrt=False)
def _dram_occupy_row(D, o, now, time):
    D[o + M_ROW_END] = now + time
    if D[o + M_DUAL] == 0:
        D[o + M_COLUMN_END] = now + time
    D[o + M_BUSY_COMMAND] += time
