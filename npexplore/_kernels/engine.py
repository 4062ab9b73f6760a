"""The event engine: runs programs (rows of integers) of tokens over resources, in integer ticks.

Everything a model says is in arrays, so one compilation serves every model. docs/engine.md gives the exact meaning of
each operation, the order of simultaneous events and the layout of the arrays; tests/law holds a reference written apart.
The next token to run is the one with the smallest (time, priority, sequence number).
"""

import math

import numpy as np

from npexplore.jit import kernel

# ---- program rows: op, A, ra, B, rb, C, rc, target, slot, x, y, z; operand a = A + R[ra], b = B + R[rb], c = C + R[rc]
ROW = 12
OP, A, RA, B, RB, C, RC, TARGET, SLOT, X, Y, Z = range(ROW)

END, TAKE, GIVE, PUT, TRY, ALL, WAIT, SERVE, SET, JUMP, DRAW, FORK, JOIN, DONE, LOAD, COUNT, PUSH, POP, PICK, SHARE, GRAB, ASK = (
    range(22)
)  # fmt: skip
OPERATIONS = (
    "END", "TAKE", "GIVE", "PUT", "TRY", "ALL", "WAIT", "SERVE", "SET", "JUMP", "DRAW", "FORK", "JOIN", "DONE", "LOAD",
    "COUNT", "PUSH", "POP", "PICK", "SHARE", "GRAB", "ASK",
)  # fmt: skip

# ---- durations and draws (x of WAIT, SERVE, DRAW)
FIXED, EXPONENTIAL, UNIFORM, ERLANG, HYPEREXPONENTIAL, BELOW, EMPIRICAL, UNTIL, WINDOW = range(9)
RANDOM = EXPONENTIAL, UNIFORM, ERLANG, HYPEREXPONENTIAL, BELOW, EMPIRICAL

# ---- functions of SET (x)
ADD, SUB, MUL, DIV, CEILDIV, MOD, MIN, MAX, LEFT, RIGHT, NOW, BIRTH, LINE, FREE, READ, WRITE, FETCH_ADD, SWAP, TABLE, PRIORITY, BORN = (
    range(21)
)  # fmt: skip

# ---- conditions of JUMP (x)
ALWAYS, LT, LE, EQ, NE, GE, GT = range(7)

# ---- modes of FORK (x)
DETACHED, JOINED, NEW_PACKET = range(3)

# ---- choices of PICK (x)
ROTATE, SHORTEST, FIRST_FREE, NEXT_FLAGGED = range(4)

# ---- disciplines of a line
FIFO, KEYED, CYCLIC, SHARED = range(4)
SPEED = 20  # bits after the point of a speed and of the work left at a SHARED resource

# ---- resource columns
S_FREE, S_CAP, S_DISCIPLINE, S_LINE, S_HEAD, S_TAIL, S_SINCE, S_INT_FREE, S_INT_LINE, S_INT_BLOCKED, S_BLOCKED, S_MAX_LINE, S_GRANTS, S_REFUSED, S_POOL, S_TURN = (
    range(16)
)  # fmt: skip
S_WIDTH = 16

# ---- token columns
T_ROW, T_NEXT, T_DURATION, T_NEED, T_RELEASE, T_BIRTH, T_PARENT, T_CHILDREN, T_PRIORITY, T_HELD, T_WAITS, T_KEY, T_SLOT, T_ALIVE, T_ACCOUNT, T_MARK, T_POLLS = (
    range(17)
)  # fmt: skip
T_WIDTH = 17
REGISTERS = 24
SLOTS = 8

# ---- what T_WAITS holds when not a resource
RUNNING, SLEEPING, JOINING, POOLED = -1, -2, -3, -4

# ---- clock columns
K_NOW, K_SEQUENCE, K_HEAP, K_READY_HEAD, K_READY, K_DONE, K_LIVE, K_FREE_TOKEN, K_LAST_DONE, K_INSTANT, K_TOKEN, K_ERROR_ROW, K_POOL_HEAD, K_POOL_TAIL, K_EVENTS, K_LOG, K_SHARED, K_PEAK, K_FREE_ACCOUNT, K_SPARE_ACCOUNTS = (
    range(20)
)  # fmt: skip
K_WIDTH = 20

# ---- status
TIME_UP, COUNT_UP, FINISHED, DEADLOCK, STALL, SATURATION, LEAK, ENDLESS, BAD_OPERAND, OVERFLOW, ACCOUNTS = range(11)

# ---- accounts of where a packet's time went: columns, then three for each place
C_SINCE, C_NEXT, C_FIRST = range(3)
SERVED, WAITED, HELD_UP = range(3)
ELSEWHERE = 0  # the place of what belongs to no resource
FEW_ACCOUNTS = 64  # what one activation may ask for

# ---- done columns per class
D_COUNT, D_LATENCY, D_BYTES, D_PADDED = range(4)
BINS = 1920
JUMPS_LIMIT = 1_000_000
WAKES_LIMIT = 20_000_000

# ---- a block begins with its size and places, the part's rules in ticks, the policy, and the state
(
    M_EDGE, M_CLOCK, M_UNITS, M_GROUPS, M_BANKS, M_ROOM, M_UNITS_AT, M_GROUPS_AT, M_BANKS_AT, M_ACTIVE_AT, M_REQUESTS_AT, M_DONE_AT,
    M_ROW_TIME, M_COLUMN_TIME, M_CLOSE_TIME, M_DUAL, M_SPLIT,
    M_RCD_READ, M_RCD_WRITE, M_RP, M_RAS, M_RC, M_READ_CLOSE, M_WRITE_CLOSE, M_RRD_S, M_RRD_L, M_FAW, M_PPD,
    M_CCD_S, M_CCD_L, M_CCD_S_WRITE, M_CCD_L_WRITE, M_READ_WRITE, M_WRITE_READ_S, M_WRITE_READ_L,
    M_REFRESH_SETS, M_REFI, M_RFC, M_RREFD, M_RFC_REF, M_STALL,
    M_PAGE, M_IDLE, M_CAP, M_READS, M_WRITES, M_HIGH, M_LOW, M_BANK_QUEUE, M_EARLY, M_READ_LAST, M_WRITE_LAST,
) = range(52)  # fmt: skip
(
    M_FREE, M_SEQUENCE, M_N_READS, M_N_WRITES, M_QUEUED, M_WRITING, M_DRAIN, M_OUT_READ, M_OUT_READ_TAIL, M_OUT_WRITE, M_OUT_WRITE_TAIL, M_IN_READ,
    M_IN_READ_TAIL, M_IN_WRITE, M_IN_WRITE_TAIL, M_ROW_END, M_COLUMN_END, M_SECOND, M_ACTIVE, M_DONE, M_AWAKE, M_TIME, M_NEXT, M_WAITING,
    M_SERVED_READS, M_SERVED_WRITES, M_HITS, M_MISSES, M_CONFLICTS, M_REFRESHES, M_ACTIVATES, M_BUSY_SLOTS, M_BUSY_BUFFER, M_BUSY_COMMAND,
) = range(52, 86)  # fmt: skip
M_CAUSES = 86  # ticks between data, by what they waited for
M_HEADER = 97

# ---- what a gap between data waited for
(M_BUS, M_GROUP, M_TURN, M_OPENING, M_BANK, M_ROWS_APART, M_WINDOW, M_REFRESH, M_COMMAND, M_ORDER, M_NOBODY) = (
    np.int64(k) for k in range(11)
)

# ---- a unit: one channel, or one of the pseudo-channels that share command buses
(M_U_READ, M_U_WRITE, M_U_ACT, M_U_CLOSE, M_U_FAW, M_U_FAW_AT, M_U_DUE, M_U_SET, M_U_PENDING, M_U_REFRESHED, M_U_READ_CAUSE, M_U_WRITE_CAUSE, M_U_DATA, M_U_BUSY, M_U_ROWS, M_U_WINDOW) = (
    0, 1, 2, 3, 4, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18
)  # fmt: skip
M_UNIT = 19

# ---- a bank group
M_G_READ, M_G_WRITE, M_G_ACT, M_G_READ_CAUSE, M_G_BUSY = range(5)
M_GROUP_WIDTH = 5

# ---- a bank; of pairs the first is for reads, the second for writes
(M_B_UNIT, M_B_GROUP, M_B_SET, M_B_ROW, M_B_ACT, M_B_READ, M_B_WRITE, M_B_CLOSE, M_B_OPENED, M_B_USES, M_B_OWNER, M_B_HEAD, M_B_TAIL, M_B_HIT, M_B_OTHER, M_B_COUNT, M_B_PLACE, M_B_LAST, M_B_CAUSE, M_B_WHY, M_B_BUSY, M_B_GO, M_B_KEY, M_B_SHUT) = (
    0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 13, 15, 17, 19, 20, 21, 22, 23, 24, 25, 28, 31
)  # fmt: skip
M_BANK_WIDTH = 32

# ---- a request
M_R_TAG, M_R_BANK, M_R_ROW, M_R_WRITE, M_R_LEFT, M_R_SEQUENCE, M_R_NEXT, M_R_BEFORE, M_R_OUTCOME, M_R_TIME, M_R_HELD = (
    range(11)
)
M_REQUEST = 11

# ---- a completion: tag, time of the last column command, outcome (0 hit, 1 miss, 2 conflict; M_ACCEPTED), write
M_DONE_WIDTH = 4
M_HIT, M_MISS, M_CONFLICT, M_ACCEPTED = range(4)

M_OPEN, M_CLOSED, M_ADAPTIVE = range(3)
M_ACT, M_READ, M_WRITE, M_PRE, M_PREA, M_REF = range(6)
M_NEVER = np.int64(1) << 62
M_HALF = np.int64(1) << 61

PRIORITY_SHIFT = np.int64(48)
GOLDEN = np.uint64(0x9E3779B97F4A7C15)
MIX1 = np.uint64(0xBF58476D1CE4E5B9)
MIX2 = np.uint64(0x94D049BB133111EB)
U30, U27, U31, U11 = np.uint64(30), np.uint64(27), np.uint64(31), np.uint64(11)


@kernel(forceinline=True, _nrt=False)
def _push(heap_time, heap_key, heap_token, n, time, key, token):
    i = n
    while i > 0:
        parent = (i - 1) >> 1
        pt = heap_time[parent]
        if pt < time or (pt == time and heap_key[parent] < key):
            break
        heap_time[i] = pt
        heap_key[i] = heap_key[parent]
        heap_token[i] = heap_token[parent]
        i = parent
    heap_time[i] = time
    heap_key[i] = key
    heap_token[i] = token


@kernel(forceinline=True, _nrt=False)
def _sink(heap_time, heap_key, heap_token, n, i, time, key, token):
    """Put an entry at place i of a heap of n entries or below it."""
    child = 2 * i + 1
    while child < n:
        other = child + 1
        if other < n and (
            heap_time[other] < heap_time[child]
            or (heap_time[other] == heap_time[child] and heap_key[other] < heap_key[child])
        ):
            child = other
        ct = heap_time[child]
        if time < ct or (time == ct and key < heap_key[child]):
            break
        heap_time[i] = ct
        heap_key[i] = heap_key[child]
        heap_token[i] = heap_token[child]
        i = child
        child = 2 * i + 1
    heap_time[i] = time
    heap_key[i] = key
    heap_token[i] = token


@kernel(forceinline=True, _nrt=False)
def _pop(heap_time, heap_key, heap_token, n):
    """Remove the root of a heap of n entries (the caller has read it).

    The hole goes down along the smaller children, and the last entry up from there: that one is mostly a late one, so
    that a comparison with it on every level would cost more than it spares.
    """
    last = n - 1
    hole, child = 0, 1
    while child < last:
        other = child + 1
        if other < last:
            t, u = heap_time[child], heap_time[other]
            child += (u < t) | ((u == t) & (heap_key[other] < heap_key[child]))  # no branch: nobody could foresee it
        heap_time[hole] = heap_time[child]
        heap_key[hole] = heap_key[child]
        heap_token[hole] = heap_token[child]
        hole = child
        child = 2 * hole + 1
    _push(heap_time, heap_key, heap_token, hole, heap_time[last], heap_key[last], heap_token[last])


@kernel(forceinline=True, _nrt=False)
def _remove(heap_time, heap_key, heap_token, n, token):
    """Take a token's entry out of a heap of n entries."""
    i = 0
    while heap_token[i] != token:
        i += 1
    last = n - 1
    if i == last:
        return
    time, key, moved = heap_time[last], heap_key[last], heap_token[last]
    while i > 0:  # the last entry takes the place: up, if it is earlier than its new parent, else down
        parent = (i - 1) >> 1
        if heap_time[parent] < time or (heap_time[parent] == time and heap_key[parent] < key):
            break
        heap_time[i] = heap_time[parent]
        heap_key[i] = heap_key[parent]
        heap_token[i] = heap_token[parent]
        i = parent
    _sink(heap_time, heap_key, heap_token, last, i, time, key, moved)


@kernel(forceinline=True, _nrt=False)
def _uniform(draws, stream, row):
    """Return the next number in [0, 1) of the row's stream: SplitMix64 of (key + n golden)."""
    n = draws[row]
    draws[row] = n + 1
    z = stream[row] + np.uint64(n) * GOLDEN
    z = (z ^ (z >> U30)) * MIX1
    z = (z ^ (z >> U27)) * MIX2
    z = z ^ (z >> U31)
    return np.float64(z >> U11) * (1.0 / 9007199254740992.0)


@kernel(forceinline=True, _nrt=False)
def _draw(kind, a, b, c, now, draws, stream, row, table, table_at):
    """Return a duration or number of the given kind; -1 where the operands allow none."""
    if kind == FIXED:
        return a
    if kind == EXPONENTIAL:
        return np.int64(round(-a * math.log(1.0 - _uniform(draws, stream, row))))
    if kind == UNIFORM:
        if b < a:
            return np.int64(-1)
        return a + np.int64(_uniform(draws, stream, row) * (b - a + 1))
    if kind == ERLANG:
        if b < 1:
            return np.int64(-1)
        total = 0.0
        for _ in range(b):
            total -= math.log(1.0 - _uniform(draws, stream, row))
        return np.int64(round(a * total / b))
    if kind == HYPEREXPONENTIAL:  # mean a with probability c / 2**30, else mean b
        mean = a if _uniform(draws, stream, row) * 1073741824.0 < c else b
        return np.int64(round(-mean * math.log(1.0 - _uniform(draws, stream, row))))
    if kind == BELOW:
        if a <= 0:
            return np.int64(-1)
        return np.int64(_uniform(draws, stream, row) * a)
    if kind == EMPIRICAL:  # rows of table a: value, cumulative weight out of 2**53
        if a < 0 or a >= table_at.shape[0] or table_at[a, 1] < 1 or table_at[a, 2] < 2:
            return np.int64(-1)
        u = np.int64(_uniform(draws, stream, row) * 9007199254740992.0)
        start, rows, width = table_at[a, 0], table_at[a, 1], table_at[a, 2]
        low, high = 0, rows - 1
        while low < high:
            middle = (low + high) >> 1
            if table[start + middle * width + 1] > u:
                high = middle
            else:
                low = middle + 1
        return table[start + low * width]
    if kind == UNTIL:
        return max(a - now, 0)
    if kind == WINDOW:  # inside [phase + k period, phase + k period + length): sleep to its end
        if a <= 0:
            return np.int64(0)
        inside = (now - c) % a
        return b - inside if inside < b else np.int64(0)
    return np.int64(-1)


@kernel(forceinline=True, _nrt=False)
def _touch(S, r, now):
    """Bring the time integrals of resource r up to now."""
    dt = now - S[r, S_SINCE]
    if dt > 0:
        S[r, S_INT_FREE] += dt * S[r, S_FREE]
        S[r, S_INT_LINE] += dt * (S[r, S_LINE] + S[r, S_POOL])
        S[r, S_INT_BLOCKED] += dt * S[r, S_BLOCKED]
        S[r, S_SINCE] = now


@kernel(forceinline=True, _nrt=False)
def _mark_blocked(S, T, H, token, now, sign):
    """Count (sign 1) or uncount (sign -1) what the token holds as blocked while it waits."""
    held = T[token, T_HELD]
    slot = 0
    while held:
        if held & 1:
            r = H[token, slot]
            _touch(S, r, now)
            S[r, S_BLOCKED] += sign * H[token, SLOTS + slot]
        held >>= 1
        slot += 1


@kernel(forceinline=True, _nrt=False)
def _record(log, clock, now, r, change, token):
    n = clock[K_LOG]
    if n < log.shape[0]:
        log[n, 0] = now
        log[n, 1] = r
        log[n, 2] = change
        log[n, 3] = token
        clock[K_LOG] = n + 1


@kernel(forceinline=True, _nrt=False)
def _ready(T, clock, heap_time, heap_key, heap_token, ready_key, ready_token, token):
    """Make a token runnable at this instant, behind everything scheduled before it with its priority."""
    sequence = clock[K_SEQUENCE]
    clock[K_SEQUENCE] = sequence + 1
    key = (T[token, T_PRIORITY] << PRIORITY_SHIFT) | sequence
    T[token, T_WAITS] = RUNNING
    size = ready_key.shape[0]
    n = clock[K_READY]
    at = clock[K_READY_HEAD] + n
    if at >= size:  # a division would cost as much as the rest
        at -= size
    if n > 0 and ready_key[at - 1 if at > 0 else size - 1] > key:
        _push(heap_time, heap_key, heap_token, clock[K_HEAP], clock[K_NOW], key, token)
        clock[K_HEAP] += 1
        return
    ready_key[at] = key
    ready_token[at] = token
    clock[K_READY] = n + 1


@kernel(forceinline=True, _nrt=False)
def _sleep(T, clock, heap_time, heap_key, heap_token, token, until):
    sequence = clock[K_SEQUENCE]
    clock[K_SEQUENCE] = sequence + 1
    T[token, T_WAITS] = SLEEPING
    n = clock[K_HEAP]
    _push(heap_time, heap_key, heap_token, n, until, (T[token, T_PRIORITY] << PRIORITY_SHIFT) | sequence, token)
    clock[K_HEAP] = n + 1


@kernel(forceinline=True, _nrt=False)
def _hold(T, H, token, slot, r, units):
    H[token, slot] = r
    H[token, SLOTS + slot] = units
    T[token, T_HELD] |= np.int64(1) << slot


@kernel(forceinline=True, _nrt=False)
def _blame(clock, token, row, status):
    """Write down which token at which row ends the run; return the status."""
    clock[K_TOKEN] = token
    clock[K_ERROR_ROW] = row
    return status


@kernel(forceinline=True, _nrt=False)
def _link(S, T, r, before, token):
    """Put a token into the line of r behind `before` (-1: at its head)."""
    after = S[r, S_HEAD] if before < 0 else T[before, T_NEXT]
    T[token, T_NEXT] = after
    if before < 0:
        S[r, S_HEAD] = token
    else:
        T[before, T_NEXT] = token
    if after < 0:
        S[r, S_TAIL] = token


@kernel(forceinline=True, _nrt=False)
def _unlink(S, T, r, before, token):
    """Take the token behind `before` (-1: the head) out of the line of r."""
    after = T[token, T_NEXT]
    if before < 0:
        S[r, S_HEAD] = after
    else:
        T[before, T_NEXT] = after
    if after < 0:
        S[r, S_TAIL] = before


@kernel(forceinline=True, _nrt=False)
def _charge(account, n, place, kind, now):
    """Put the time since account n was brought up to date down to a place."""
    account[n, C_FIRST + 3 * place + kind] += now - account[n, C_SINCE]
    account[n, C_SINCE] = now


@kernel(forceinline=True, _nrt=False)
def _charge_line(S, T, account, where, token, r, blocked, now):
    """Put the time in the line of r down to it; blocked: the units x time there whose holders waited themselves."""
    n = T[token, T_ACCOUNT]
    if T[token, T_POLLS] > 0:
        _charge(account, n, where[T[token, T_POLLS] - 1], WAITED, now)
        return
    place = C_FIRST + 3 * where[r]
    waited = now - account[n, C_SINCE]
    held_up = min(waited, blocked // max(S[r, S_CAP], 1))
    account[n, place + WAITED] += waited - held_up
    account[n, place + HELD_UP] += held_up
    account[n, C_SINCE] = now


@kernel(forceinline=True, _nrt=False)
def _charge_past(S, T, account, where, token, released, now):
    """Put down what a token did that slept until now, at the resource it gives back (-1: none)."""
    n = T[token, T_ACCOUNT]
    if T[token, T_POLLS] > 0:
        _charge(account, n, where[T[token, T_POLLS] - 1], WAITED, now)
    elif released < 0:
        _charge(account, n, where[S.shape[0] + T[token, T_ROW] - 1], SERVED, now)
    elif S[released, S_DISCIPLINE] == SHARED:  # what it would have taken alone, and what it took longer
        place, passed = C_FIRST + 3 * where[released], now - account[n, C_SINCE]
        alone = min(passed, T[token, T_MARK])
        account[n, place + SERVED] += alone
        account[n, place + WAITED] += passed - alone
        account[n, C_SINCE] = now
    else:
        _charge(account, n, where[released], SERVED, now)


@kernel(forceinline=True, _nrt=False)
def _open_account(account, clock, like, now):
    """Return a new account: an empty one, or (like >= 0) a copy; the caller has seen to it that there is one."""
    n = clock[K_FREE_ACCOUNT]
    clock[K_FREE_ACCOUNT] = account[n, C_NEXT]
    clock[K_SPARE_ACCOUNTS] -= 1
    account[n, C_SINCE] = now
    for k in range(C_FIRST, account.shape[1]):
        account[n, k] = account[like, k] if like >= 0 else 0
    return n


@kernel(forceinline=True, _nrt=False)
def _close_account(account, clock, n):
    account[n, C_NEXT] = clock[K_FREE_ACCOUNT]
    clock[K_FREE_ACCOUNT] = n
    clock[K_SPARE_ACCOUNTS] += 1


@kernel(forceinline=True, _nrt=False)
def _charge_parts(account, n, child, now):
    """Put down to account n, whose token waited for its parts, what the last one did, if that is the time it took."""
    passed = np.int64(0 if child >= 0 else -1)
    if child >= 0:
        for k in range(C_FIRST, account.shape[1]):
            passed += account[child, k]
    if passed != now - account[n, C_SINCE]:
        _charge(account, n, ELSEWHERE, WAITED, now)
        return
    for k in range(C_FIRST, account.shape[1]):
        account[n, k] += account[child, k]
    account[n, C_SINCE] = now


@kernel(forceinline=True, _nrt=False)
def _enqueue(S, T, H, r, token, now):
    """Put a token into the line of r; the caller has set need, key, slot and duration."""
    _touch(S, r, now)
    T[token, T_WAITS] = r
    T[token, T_MARK] = S[r, S_INT_BLOCKED]
    before = S[r, S_TAIL]
    if S[r, S_DISCIPLINE] != FIFO and before >= 0 and T[before, T_KEY] > T[token, T_KEY]:
        before = np.int64(-1)  # sorted by key, first come first within a key
        at = S[r, S_HEAD]
        while T[at, T_KEY] <= T[token, T_KEY]:
            before = at
            at = T[at, T_NEXT]
    _link(S, T, r, before, token)
    S[r, S_LINE] += 1
    S[r, S_MAX_LINE] = max(S[r, S_MAX_LINE], S[r, S_LINE] + S[r, S_POOL])
    _mark_blocked(S, T, H, token, now, 1)


@kernel(forceinline=True, _nrt=False)
def _grant(S, T, H, clock, heap_time, heap_key, heap_token, ready_key, ready_token, log, account, where, r, now):
    """Serve the line of r as long as its next token's need fits; integrals of r are up to date."""
    while S[r, S_LINE] > 0:
        before = np.int64(-1)
        token = S[r, S_HEAD]
        if S[r, S_DISCIPLINE] == CYCLIC:  # the first key after the last served, else the smallest
            at, previous = token, np.int64(-1)
            while at >= 0 and T[at, T_KEY] <= S[r, S_TURN]:
                previous = at
                at = T[at, T_NEXT]
            if at >= 0:
                token, before = at, previous
        need = T[token, T_NEED]
        if need > S[r, S_FREE]:
            return
        _unlink(S, T, r, before, token)
        S[r, S_LINE] -= 1
        S[r, S_FREE] -= need
        S[r, S_GRANTS] += 1
        S[r, S_TURN] = T[token, T_KEY]
        _record(log, clock, now, r, need, token)
        _mark_blocked(S, T, H, token, now, -1)
        if T[token, T_ACCOUNT] >= 0:
            _charge_line(S, T, account, where, token, r, S[r, S_INT_BLOCKED] - T[token, T_MARK], now)
        if T[token, T_DURATION] >= 0:
            T[token, T_RELEASE] = r
            _sleep(T, clock, heap_time, heap_key, heap_token, token, now + T[token, T_DURATION])
        else:
            if T[token, T_SLOT] >= 0:
                _hold(T, H, token, T[token, T_SLOT], r, need)
            _ready(T, clock, heap_time, heap_key, heap_token, ready_key, ready_token, token)


@kernel(forceinline=True, _nrt=False)
def _share_rate(S, r, n, table, table_at):
    """Return the work that each of n tokens at a SHARED resource (or the one served) gets a tick, in 2**-SPEED."""
    z = S[r, S_TURN]
    if z == 0:
        return (min(n, S[r, S_CAP]) << SPEED) // n
    speeds = abs(z) - 1
    level = min(n, table_at[speeds, 1]) - 1
    speed = table[table_at[speeds, 0] + level * table_at[speeds, 2]]
    return speed // n if z > 0 else speed


@kernel(forceinline=True, _nrt=False)
def _share_work(S, T, r, now, table, table_at):
    """Take the work done since the last change from those served at a SHARED resource; return how many are there."""
    n = S[r, S_CAP] - S[r, S_FREE] + S[r, S_LINE]
    done = (now - S[r, S_SINCE]) * _share_rate(S, r, max(n, 1), table, table_at)
    at = S[r, S_HEAD]
    while at >= 0:
        T[at, T_KEY] -= done
        at = T[at, T_NEXT] if S[r, S_TURN] >= 0 else np.int64(-1)
    _touch(S, r, now)
    return n


@kernel(forceinline=True, _nrt=False)
def _share_count(S, r, n):
    """Write down that n tokens are at a SHARED resource."""
    S[r, S_FREE] = max(S[r, S_CAP] - n, 0)
    S[r, S_LINE] = max(n - S[r, S_CAP], 0)
    S[r, S_MAX_LINE] = max(S[r, S_MAX_LINE], S[r, S_LINE])


@kernel(forceinline=True, _nrt=False)
def _share_alarm(S, T, clock, heap_time, heap_key, heap_token, r, now, n, table, table_at):
    """Let the first of the line (with the least work left, or the only one served) sleep until it is done."""
    head = S[r, S_HEAD]
    rate = _share_rate(S, r, n, table, table_at)
    left = max(T[head, T_KEY], 0)
    T[head, T_RELEASE] = r
    _sleep(T, clock, heap_time, heap_key, heap_token, head, now - ((-left) // rate))
    T[head, T_WAITS] = r


@kernel(forceinline=True, _nrt=False)
def _share_enter(S, T, clock, heap_time, heap_key, heap_token, r, token, work, now, table, table_at):
    n = _share_work(S, T, r, now, table, table_at)
    if n > 0:
        _remove(heap_time, heap_key, heap_token, clock[K_HEAP], S[r, S_HEAD])
        clock[K_HEAP] -= 1
        T[S[r, S_HEAD], T_RELEASE] = -1
    work = work << SPEED
    T[token, T_KEY] = work
    T[token, T_WAITS] = r
    by = T_KEY if S[r, S_TURN] >= 0 else T_PRIORITY  # sorted by the work left, or by priority
    before = np.int64(-1)
    at = S[r, S_HEAD]
    while at >= 0 and T[at, by] <= T[token, by]:
        before = at
        at = T[at, T_NEXT]
    _link(S, T, r, before, token)
    S[r, S_GRANTS] += 1
    _share_count(S, r, n + 1)
    _share_alarm(S, T, clock, heap_time, heap_key, heap_token, r, now, n + 1, table, table_at)


@kernel(forceinline=True, _nrt=False)
def _share_leave(S, T, clock, heap_time, heap_key, heap_token, r, token, now, table, table_at):
    n = _share_work(S, T, r, now, table, table_at) - 1
    _unlink(S, T, r, -1, token)
    _share_count(S, r, n)
    if n > 0:
        _share_alarm(S, T, clock, heap_time, heap_key, heap_token, r, now, n, table, table_at)


@kernel(forceinline=True, _nrt=False)
def _members_fit(P, R, S, token, row, count):
    for k in range(row + 1, row + 1 + count):
        r = P[k, A] + R[token, P[k, RA]]
        if S[r, S_FREE] < P[k, B] + R[token, P[k, RB]]:
            return False
    return True


@kernel(forceinline=True, _nrt=False)
def _take_members(P, R, S, T, H, clock, log, token, row, count, now):
    for k in range(row + 1, row + 1 + count):
        r = P[k, A] + R[token, P[k, RA]]
        need = P[k, B] + R[token, P[k, RB]]
        _touch(S, r, now)
        S[r, S_FREE] -= need
        S[r, S_GRANTS] += 1
        _record(log, clock, now, r, need, token)
        if P[k, SLOT] >= 0:
            _hold(T, H, token, P[k, SLOT], r, need)


@kernel(forceinline=True, _nrt=False)
def _scan_pool(
    P, R, S, T, H, clock, heap_time, heap_key, heap_token, ready_key, ready_token, log, account, where, r, now
):
    """Let every waiting all-or-none request that fits go, oldest first; r was released."""
    before = np.int64(-1)
    token = clock[K_POOL_HEAD]
    while token >= 0:
        after = T[token, T_NEXT]
        row = T[token, T_ROW] - 1 - T[token, T_NEED]
        count = T[token, T_NEED]
        if _members_fit(P, R, S, token, row, count):
            if before < 0:
                clock[K_POOL_HEAD] = after
            else:
                T[before, T_NEXT] = after
            if after < 0:
                clock[K_POOL_TAIL] = before
            for k in range(row + 1, row + 1 + count):
                member = P[k, A] + R[token, P[k, RA]]
                _touch(S, member, now)
                S[member, S_POOL] -= 1
            _mark_blocked(S, T, H, token, now, -1)
            if T[token, T_ACCOUNT] >= 0:
                _charge_line(S, T, account, where, token, r, np.int64(0), now)
            _take_members(P, R, S, T, H, clock, log, token, row, count, now)
            _ready(T, clock, heap_time, heap_key, heap_token, ready_key, ready_token, token)
        else:
            before = token
        token = after


@kernel(forceinline=True, _nrt=False)
def _release(
    P,
    R,
    S,
    T,
    H,
    clock,
    heap_time,
    heap_key,
    heap_token,
    ready_key,
    ready_token,
    log,
    account,
    where,
    r,
    units,
    now,
    token,
):
    _touch(S, r, now)
    S[r, S_FREE] += units
    _record(log, clock, now, r, -units, token)
    if S[r, S_LINE] > 0:
        _grant(S, T, H, clock, heap_time, heap_key, heap_token, ready_key, ready_token, log, account, where, r, now)
    if S[r, S_POOL] > 0:
        _scan_pool(
            P, R, S, T, H, clock, heap_time, heap_key, heap_token, ready_key, ready_token, log, account, where, r, now
        )


@kernel(forceinline=True, _nrt=False)
def _bin(value):
    """Return the histogram bin of a latency in ticks: exact below 32, then 32 bins an octave."""
    if value < 32:
        return max(value, 0)
    exponent = math.frexp(np.float64(value))[1] - 6  # value >> exponent is in [32, 64)
    top = value >> exponent
    if top >= 64:  # rounding of the conversion to float
        exponent += 1
        top >>= 1
    return min(32 * exponent + top, BINS - 1)


@kernel(forceinline=True, _nrt=False)
def _set(x, a, b, token, now, S, T, G, table, table_at):
    """Return (value, ok) of a SET function."""
    if x == ADD:
        return a + b, True
    if x == SUB:
        return a - b, True
    if x == MUL:
        return a * b, True
    if x == MIN:
        return min(a, b), True
    if x == MAX:
        return max(a, b), True
    if x == DIV or x == MOD or x == CEILDIV:
        if b == 0:
            return np.int64(0), False
        if x == DIV:
            return a // b, True
        if x == MOD:
            return a % b, True
        return -((-a) // b), True
    if x == LEFT or x == RIGHT:
        if b < 0 or b > 63:
            return np.int64(0), False
        return (a << b if x == LEFT else a >> b), True
    if x == NOW:
        return now, True
    if x == BIRTH:
        return T[token, T_BIRTH], True
    if x == LINE or x == FREE:
        if a < 0 or a >= S.shape[0]:
            return np.int64(0), False
        return (S[a, S_LINE] + S[a, S_POOL] if x == LINE else S[a, S_FREE]), True
    if x == READ or x == WRITE or x == FETCH_ADD or x == SWAP:
        if a < 0 or a >= G.shape[0]:
            return np.int64(0), False
        old = G[a]
        if x == WRITE or x == SWAP:
            G[a] = b
        elif x == FETCH_ADD:
            G[a] = old + b
        return (b if x == WRITE else old), True
    if x == PRIORITY:
        old = T[token, T_PRIORITY]
        T[token, T_PRIORITY] = min(max(a, 0), 15)
        return old, True
    if x == BORN:
        old = T[token, T_BIRTH]
        T[token, T_BIRTH] = min(max(a, 0), now)
        return old, True
    return np.int64(0), False


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
def _dram_choose(D, o, b):
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
        return
    D[b + M_B_SHUT] = D[b + M_B_ROW] >= 0
    if D[b + M_B_ROW] < 0 or (D[other + M_R_SEQUENCE] < hit and (hit == M_NEVER or D[b + M_B_USES] >= D[o + M_CAP])):
        D[b + M_B_GO + 2] = other
        D[b + M_B_KEY + 2] = D[other + M_R_SEQUENCE]


@kernel(_nrt=False)
def _dram_choose_all(D, o):
    for n in range(D[o + M_ACTIVE]):
        _dram_choose(D, o, D[o + D[o + M_ACTIVE_AT] + n])


@kernel(forceinline=True, _nrt=False)
def _dram_to_bank(D, o, q, now):
    """Put a request into the line of its bank; a row that nobody asked for long enough has been closed meanwhile."""
    b, w = D[q + M_R_BANK], D[q + M_R_WRITE]
    if D[o + M_IDLE] > 0 and D[b + M_B_COUNT] == 0 and D[b + M_B_ROW] >= 0:
        shut = max(D[b + M_B_LAST] + D[o + M_IDLE], D[b + M_B_CLOSE])
        if shut <= now:
            D[b + M_B_BUSY] += shut + D[o + M_RP] - D[b + M_B_OPENED]
            D[b + M_B_ACT] = max(D[b + M_B_ACT], shut + D[o + M_RP])
            _dram_closed(D, b)
    _dram_append(D, q, b + M_B_HEAD + w, b + M_B_TAIL + w)
    if D[b + M_B_COUNT] == 0:
        n = D[o + M_ACTIVE]
        D[o + D[o + M_ACTIVE_AT] + n] = b
        D[b + M_B_PLACE] = n
        D[o + M_ACTIVE] = n + 1
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
def _dram_closed(D, b):
    """The bank has no row open: nobody hits, the oldest of each direction is the next."""
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
        n = D[o + M_ACTIVE] - 1
        D[o + M_ACTIVE] = n
        moved = D[o + D[o + M_ACTIVE_AT] + n]
        D[o + D[o + M_ACTIVE_AT] + D[b + M_B_PLACE]] = moved
        D[moved + M_B_PLACE] = D[b + M_B_PLACE]


@kernel(forceinline=True, _nrt=False)
def _dram_enter(D, o, q, now):
    """Give a request its entry of the queue or the write buffer; a buffered write is accepted with that."""
    write = D[q + M_R_WRITE] == 1 and D[o + M_WRITES] > 0
    D[q + M_R_TIME] = now
    D[q + M_R_HELD] = 1
    D[q + M_R_SEQUENCE] = D[o + M_SEQUENCE]
    D[o + M_SEQUENCE] += 1
    if write:
        D[o + M_N_WRITES] += 1
        _dram_done(D, o, q, now, M_ACCEPTED)
    else:
        D[o + M_N_READS] += 1
    if D[o + M_BANK_QUEUE] == 0:
        _dram_to_bank(D, o, q, now)
    elif write:
        _dram_append(D, q, o + M_IN_WRITE, o + M_IN_WRITE_TAIL)
    else:
        _dram_append(D, q, o + M_IN_READ, o + M_IN_READ_TAIL)


@kernel(forceinline=True, _nrt=False)
def _dram_leave(D, o, q, now):
    """Give a request's entry back, and let in who waits for it."""
    if D[q + M_R_HELD] == 0:
        return
    D[q + M_R_HELD] = 0
    if D[q + M_R_WRITE] == 1 and D[o + M_WRITES] > 0:
        D[o + M_N_WRITES] -= 1
        D[o + M_BUSY_BUFFER] += now - D[q + M_R_TIME]
        first = D[o + M_OUT_WRITE]
        if first >= 0:
            _dram_unchain(D, first, o + M_OUT_WRITE, o + M_OUT_WRITE_TAIL)
            D[o + M_WAITING] -= 1
            _dram_enter(D, o, first, now)
    else:
        D[o + M_N_READS] -= 1
        D[o + M_BUSY_SLOTS] += now - D[q + M_R_TIME]
        first = D[o + M_OUT_READ]
        if first >= 0:
            _dram_unchain(D, first, o + M_OUT_READ, o + M_OUT_READ_TAIL)
            D[o + M_WAITING] -= 1
            _dram_enter(D, o, first, now)


@kernel(forceinline=True, _nrt=False)
def _dram_room(D, o, write):
    """Say whether a request would get its entry at once."""
    if write and D[o + M_WRITES] > 0:
        return D[o + M_N_WRITES] < D[o + M_WRITES] and D[o + M_OUT_WRITE] < 0
    return D[o + M_N_READS] < D[o + M_READS] and D[o + M_OUT_READ] < 0


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
        if write and D[o + M_WRITES] > 0:
            _dram_append(D, q, o + M_OUT_WRITE, o + M_OUT_WRITE_TAIL)
        else:
            _dram_append(D, q, o + M_OUT_READ, o + M_OUT_READ_TAIL)
    return True


@kernel(forceinline=True, _nrt=False)
def _dram_occupy_row(D, o, now, time):
    D[o + M_ROW_END] = now + time
    if D[o + M_DUAL] == 0:
        D[o + M_COLUMN_END] = now + time
    D[o + M_BUSY_COMMAND] += time


@kernel(_nrt=False)
def _dram_move(D, o, now):
    """Move the oldest request of the buffer in turn whose bank's line has room; say whether one was moved."""
    if D[o + M_DRAIN] == 0 and (
        D[o + M_N_WRITES] >= D[o + M_HIGH]
        or (D[o + M_QUEUED] == 0 and (D[o + M_N_WRITES] > D[o + M_LOW] or D[o + M_N_READS] == 0))
    ):
        D[o + M_DRAIN] = D[o + M_N_WRITES]
    buffers = D[o + M_WRITES] > 0
    q = D[o + M_IN_WRITE] if buffers and D[o + M_DRAIN] > 0 else D[o + M_IN_READ]
    while q >= 0:
        b = D[q + M_R_BANK]
        if D[b + M_B_COUNT] < D[o + M_BANK_QUEUE]:
            if D[q + M_R_WRITE] == 1 and buffers:
                _dram_unchain(D, q, o + M_IN_WRITE, o + M_IN_WRITE_TAIL)
                D[o + M_DRAIN] -= 1
            else:
                _dram_unchain(D, q, o + M_IN_READ, o + M_IN_READ_TAIL)
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
                D[b + M_B_BUSY] += now + D[o + M_RP] - D[b + M_B_OPENED]
                D[b + M_B_ACT] = max(D[b + M_B_ACT], now + D[o + M_RP])
                D[b + M_B_WHY] = M_REFRESH
                _dram_closed(D, b)
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
    u = D[b + M_B_UNIT]
    D[b + M_B_BUSY] += now + D[o + M_RP] - D[b + M_B_OPENED]
    D[b + M_B_ACT] = max(D[b + M_B_ACT], now + D[o + M_RP])
    D[u + M_U_CLOSE] = now + D[o + M_PPD]
    _dram_occupy_row(D, o, now, D[o + M_CLOSE_TIME])
    _dram_order(orders, now, M_PRE, (b - o - D[o + M_BANKS_AT]) // M_BANK_WIDTH, D[b + M_B_ROW])
    _dram_closed(D, b)
    _dram_choose(D, o, b)


@kernel(forceinline=True, _nrt=False)
def _dram_column(D, o, q, now, orders):
    """Issue a column command; with its last burst the request is done."""
    b, w = D[q + M_R_BANK], D[q + M_R_WRITE]
    g, u = D[b + M_B_GROUP], D[b + M_B_UNIT]
    burst = D[o + M_CCD_S_WRITE] if w else D[o + M_CCD_S]
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
    if w == 0:
        D[b + M_B_CLOSE] = max(D[b + M_B_CLOSE], now + D[o + M_READ_CLOSE])
        D[g + M_G_READ] = max(D[g + M_G_READ], now + D[o + M_CCD_L])
        D[g + M_G_READ_CAUSE] = M_GROUP
        D[g + M_G_BUSY] += D[o + M_CCD_L]
        D[u + M_U_READ] = max(D[u + M_U_READ], now + D[o + M_CCD_S])
        D[u + M_U_READ_CAUSE] = M_BUS
        if now + D[o + M_READ_WRITE] > D[u + M_U_WRITE]:
            D[u + M_U_WRITE] = now + D[o + M_READ_WRITE]
            D[u + M_U_WRITE_CAUSE] = M_TURN
    else:
        D[b + M_B_CLOSE] = max(D[b + M_B_CLOSE], now + D[o + M_WRITE_CLOSE])
        D[g + M_G_WRITE] = max(D[g + M_G_WRITE], now + D[o + M_CCD_L_WRITE])
        D[g + M_G_BUSY] += D[o + M_CCD_L_WRITE]
        if now + D[o + M_WRITE_READ_L] > D[g + M_G_READ]:
            D[g + M_G_READ] = now + D[o + M_WRITE_READ_L]
            D[g + M_G_READ_CAUSE] = M_TURN
        D[u + M_U_WRITE] = max(D[u + M_U_WRITE], now + D[o + M_CCD_S_WRITE])
        D[u + M_U_WRITE_CAUSE] = M_BUS
        if now + D[o + M_WRITE_READ_S] > D[u + M_U_READ]:
            D[u + M_U_READ] = now + D[o + M_WRITE_READ_S]
            D[u + M_U_READ_CAUSE] = M_TURN
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
        D[b + M_B_BUSY] += D[b + M_B_CLOSE] + D[o + M_RP] - D[b + M_B_OPENED]
        D[b + M_B_ACT] = max(D[b + M_B_ACT], D[b + M_B_CLOSE] + D[o + M_RP])
        _dram_closed(D, b)
    _dram_choose(D, o, b)


@kernel(forceinline=True, _nrt=False)
def _dram_own(D, b, activates, closes, reads, writes):
    """Return when the requests of a bank (-1: none) may have their next command, by rules of bank, group and unit."""
    soonest = M_NEVER
    if b < 0:
        return soonest
    g = D[b + M_B_GROUP]
    if D[b + M_B_GO] >= 0:
        soonest = max(D[b + M_B_READ], D[g + M_G_READ], reads)
    if D[b + M_B_GO + 1] >= 0:
        soonest = min(soonest, max(D[b + M_B_WRITE], D[g + M_G_WRITE], writes))
    if D[b + M_B_GO + 2] >= 0:
        time = max(D[b + M_B_CLOSE], closes) if D[b + M_B_SHUT] == 1 else max(D[b + M_B_ACT], D[g + M_G_ACT], activates)
        soonest = min(soonest, time)
    return soonest


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
    row_bus, column_bus = D[o + M_ROW_END], D[o + M_COLUMN_END]
    many = D[o + M_UNITS] > 1
    u = o + D[o + M_UNITS_AT]
    activates = max(D[u + M_U_ACT], D[u + M_U_FAW + D[u + M_U_FAW_AT]] + D[o + M_FAW], row_bus)
    closes, reads, writes = (
        max(D[u + M_U_CLOSE], row_bus),
        max(D[u + M_U_READ], column_bus),
        max(D[u + M_U_WRITE], column_bus),
    )
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
            activates = max(D[u + M_U_ACT], D[u + M_U_FAW + D[u + M_U_FAW_AT]] + D[o + M_FAW], row_bus)
            closes, reads = max(D[u + M_U_CLOSE], row_bus), max(D[u + M_U_READ], column_bus)
            writes = max(D[u + M_U_WRITE], column_bus)
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
    if refreshing or (column >= 0 and row >= 0 and D[o + M_DUAL] == 0 and column_key < row_key):
        row = np.int64(-1)
    elif row >= 0 and D[o + M_DUAL] == 0:  # one command bus: the older goes
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
        row_bus, column_bus = D[o + M_ROW_END], D[o + M_COLUMN_END]
        activates = max(D[u + M_U_ACT], D[u + M_U_FAW + D[u + M_U_FAW_AT]] + D[o + M_FAW], row_bus)
        closes, reads = max(D[u + M_U_CLOSE], row_bus), max(D[u + M_U_READ], column_bus)
        writes = max(D[u + M_U_WRITE], column_bus)
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


@kernel(_nrt=False)
def _deliver(D, o, T, clock, heap_time, heap_key, heap_token, ready_key, ready_token):
    """Let go on who was accepted, or whose data have passed by then."""
    at = o + D[o + M_DONE_AT]
    for k in range(D[o + M_DONE]):
        token, when = D[at + k * M_DONE_WIDTH], D[at + k * M_DONE_WIDTH + 1]
        what, write = D[at + k * M_DONE_WIDTH + 2], D[at + k * M_DONE_WIDTH + 3]
        if what == M_ACCEPTED:
            _ready(T, clock, heap_time, heap_key, heap_token, ready_key, ready_token, token)
        elif write == 0 or D[o + M_WRITES] == 0:
            last = D[o + M_WRITE_LAST] if write == 1 else D[o + M_READ_LAST]
            _sleep(T, clock, heap_time, heap_key, heap_token, token, when + last)
    D[o + M_DONE] = 0


@kernel(forceinline=True, _nrt=False)
def _wake(D, o, clock, heap_time, heap_key, heap_token, controller, time):
    """Let a controller decide at a time, behind all else that happens then."""
    sequence = clock[K_SEQUENCE]
    clock[K_SEQUENCE] = sequence + 1
    _push(
        heap_time,
        heap_key,
        heap_token,
        clock[K_HEAP],
        time,
        (np.int64(15) << PRIORITY_SHIFT) | sequence,
        -1 - controller,
    )
    clock[K_HEAP] += 1
    D[o + M_AWAKE] = time


@kernel(_nrt=False)
def advance(
    P, stream, draws, S, T, R, H, G, clock, heap_time, heap_key, heap_token, ready_key, ready_token,
    table, table_at, ring, ring_at, hist, done, counters, log, account, where, tally, ring_account, D, D_at, orders,
    until, until_done, stall,
):  # fmt: skip
    """Run until the clock would pass `until` or `until_done` packets are done; return the status.

    account, where, tally, ring_account: of packets whose time is accounted for (no account: nothing is).
    """
    accounting = account.shape[0] > 0
    n_resources = S.shape[0]
    n_rows = P.shape[0]
    now = clock[K_NOW]
    while True:
        if clock[K_DONE] >= until_done:
            return COUNT_UP
        if accounting and clock[K_SPARE_ACCOUNTS] < FEW_ACCOUNTS:
            return ACCOUNTS
        # ---- the next token: ready line against heap, both sorted
        from_ready = False
        if clock[K_READY] > 0:
            head = clock[K_READY_HEAD]
            from_ready = clock[K_HEAP] == 0 or heap_time[0] > now or heap_key[0] > ready_key[head]
        if from_ready:
            token = ready_token[head]
            clock[K_READY_HEAD] = head + 1 if head + 1 < ready_key.shape[0] else 0
            clock[K_READY] -= 1
            clock[K_INSTANT] += 1
            if T[token, T_ACCOUNT] >= 0 and account[T[token, T_ACCOUNT], C_SINCE] < now:  # woken by a controller
                _charge_past(S, T, account, where, token, np.int64(-1), now)
            if clock[K_INSTANT] > WAKES_LIMIT:
                return _blame(clock, token, T[token, T_ROW], ENDLESS)
        else:
            if clock[K_HEAP] == 0:
                return FINISHED if clock[K_LIVE] == 0 else DEADLOCK
            time = heap_time[0]
            if time > until:
                clock[K_NOW] = until
                return TIME_UP
            token = heap_token[0]
            if time > now:
                now = time
                clock[K_NOW] = time
                clock[K_INSTANT] = 1
                if now - clock[K_LAST_DONE] > stall:
                    return STALL
            else:
                clock[K_INSTANT] += 1
                if clock[K_INSTANT] > WAKES_LIMIT:
                    return _blame(clock, token, T[token, T_ROW], ENDLESS)
            _pop(heap_time, heap_key, heap_token, clock[K_HEAP])
            clock[K_HEAP] -= 1
            if token < 0:  # a DRAM controller
                o = D_at[-1 - token]
                clock[K_EVENTS] += 1
                D[o + M_NEXT] = _dram_step(D, o, now, orders)
                D[o + M_AWAKE] = -1
                _deliver(D, o, T, clock, heap_time, heap_key, heap_token, ready_key, ready_token)
                if D[o + M_NEXT] < M_NEVER and _dram_works(D, o):
                    _wake(D, o, clock, heap_time, heap_key, heap_token, -1 - token, D[o + M_NEXT])
                continue
            r = T[token, T_RELEASE]
            if T[token, T_ACCOUNT] >= 0:
                _charge_past(S, T, account, where, token, r, now)
            if r >= 0:
                T[token, T_RELEASE] = -1
                if S[r, S_DISCIPLINE] == SHARED:
                    _share_leave(S, T, clock, heap_time, heap_key, heap_token, r, token, now, table, table_at)
                else:
                    _release(P, R, S, T, H, clock, heap_time, heap_key, heap_token, ready_key, ready_token, log, account, where, r, 1, now, token)  # fmt: skip
        clock[K_EVENTS] += 1
        T[token, T_WAITS] = RUNNING
        row = T[token, T_ROW]
        jumps = 0
        # ---- run it until it sleeps, waits or ends
        while True:
            if row < 0 or row >= n_rows:
                return _blame(clock, token, row, BAD_OPERAND)
            op = P[row, OP]
            a = P[row, A] + R[token, P[row, RA]]
            b = P[row, B] + R[token, P[row, RB]]
            if op == SERVE:
                c = P[row, C] + R[token, P[row, RC]]
                duration = _draw(P[row, X], b, c, P[row, Y], now, draws, stream, row, table, table_at)
                if a < 0 or a >= n_resources or duration < 0:
                    return _blame(clock, token, row, BAD_OPERAND)
                row += 1
                T[token, T_ROW] = row
                if S[a, S_LINE] == 0 and S[a, S_FREE] > 0:
                    _touch(S, a, now)
                    S[a, S_FREE] -= 1
                    S[a, S_GRANTS] += 1
                    S[a, S_TURN] = P[row - 1, Z]
                    _record(log, clock, now, a, 1, token)
                    T[token, T_RELEASE] = a
                    _sleep(T, clock, heap_time, heap_key, heap_token, token, now + duration)
                else:
                    T[token, T_DURATION] = duration
                    T[token, T_NEED] = 1
                    T[token, T_KEY] = P[row - 1, Z]
                    _enqueue(S, T, H, a, token, now)
                break
            elif op == WAIT:
                c = P[row, C] + R[token, P[row, RC]]
                duration = _draw(P[row, X], a, b, c, now, draws, stream, row, table, table_at)
                if duration < 0:
                    return _blame(clock, token, row, BAD_OPERAND)
                row += 1
                if duration > 0:
                    T[token, T_ROW] = row
                    _sleep(T, clock, heap_time, heap_key, heap_token, token, now + duration)
                    break
            elif op == TAKE or op == TRY:
                slot = P[row, SLOT]
                if a < 0 or a >= n_resources or b < 0 or (slot >= 0 and (T[token, T_HELD] >> slot) & 1):
                    return _blame(clock, token, row, BAD_OPERAND)
                if S[a, S_LINE] == 0 and S[a, S_FREE] >= b:
                    _touch(S, a, now)
                    S[a, S_FREE] -= b
                    S[a, S_GRANTS] += 1
                    S[a, S_TURN] = P[row, C] + R[token, P[row, RC]]
                    _record(log, clock, now, a, b, token)
                    if slot >= 0:
                        _hold(T, H, token, slot, a, b)
                    if accounting and op == TRY and where[n_resources + row] > 0:
                        T[token, T_POLLS] = 0
                    row += 1
                elif op == TRY:
                    S[a, S_REFUSED] += 1
                    if accounting and where[n_resources + row] > 0:
                        T[token, T_POLLS] = a + 1
                    if P[row, TARGET] <= row:
                        jumps += 1
                        if jumps > JUMPS_LIMIT:
                            return _blame(clock, token, row, ENDLESS)
                    row = P[row, TARGET]
                else:
                    T[token, T_ROW] = row + 1
                    T[token, T_DURATION] = -1
                    T[token, T_NEED] = b
                    T[token, T_KEY] = P[row, C] + R[token, P[row, RC]]
                    T[token, T_SLOT] = slot
                    _enqueue(S, T, H, a, token, now)
                    break
            elif op == GIVE:
                slot = P[row, SLOT]
                if not (T[token, T_HELD] >> slot) & 1:
                    return _blame(clock, token, row, BAD_OPERAND)
                T[token, T_HELD] &= ~(np.int64(1) << slot)
                row += 1
                _release(P, R, S, T, H, clock, heap_time, heap_key, heap_token, ready_key, ready_token, log, account, where, H[token, slot], H[token, SLOTS + slot], now, token)  # fmt: skip
            elif op == PUT:
                if a < 0 or a >= n_resources or b < 0:
                    return _blame(clock, token, row, BAD_OPERAND)
                row += 1
                _release(P, R, S, T, H, clock, heap_time, heap_key, heap_token, ready_key, ready_token, log, account, where, a, b, now, token)  # fmt: skip
            elif op == SET:
                if P[row, X] == TABLE:  # column b of row c of table a
                    c = P[row, C] + R[token, P[row, RC]]
                    ok = 0 <= a < table_at.shape[0] and 0 <= c < table_at[a, 1] and 0 <= b < table_at[a, 2]
                    value = table[table_at[a, 0] + c * table_at[a, 2] + b] if ok else np.int64(0)
                else:
                    value, ok = _set(P[row, X], a, b, token, now, S, T, G, table, table_at)
                if not ok:
                    return _blame(clock, token, row, BAD_OPERAND)
                if P[row, SLOT] > 0:
                    R[token, P[row, SLOT]] = value
                if P[row, X] == BORN and T[token, T_ACCOUNT] >= 0:
                    n = T[token, T_ACCOUNT]
                    for k in range(C_FIRST, account.shape[1]):
                        account[n, k] = 0
                    account[n, C_SINCE] = T[token, T_BIRTH]
                    _charge(account, n, ELSEWHERE, WAITED, now)
                row += 1
            elif op == JUMP:
                x = P[row, X]
                if (
                    x == ALWAYS
                    or (x == LT and a < b)
                    or (x == LE and a <= b)
                    or (x == EQ and a == b)
                    or (x == NE and a != b)
                    or (x == GE and a >= b)
                    or (x == GT and a > b)
                ):
                    if P[row, TARGET] <= row:
                        jumps += 1
                        if jumps > JUMPS_LIMIT:
                            return _blame(clock, token, row, ENDLESS)
                    row = P[row, TARGET]
                else:
                    row += 1
            elif op == DRAW:
                c = P[row, C] + R[token, P[row, RC]]
                value = _draw(P[row, X], a, b, c, now, draws, stream, row, table, table_at)
                if value < 0:
                    return _blame(clock, token, row, BAD_OPERAND)
                if P[row, SLOT] > 0:
                    R[token, P[row, SLOT]] = value
                row += 1
            elif op == FORK:
                child = clock[K_FREE_TOKEN]
                if child < 0:
                    return _blame(clock, token, row, SATURATION)
                slot = P[row, SLOT]
                if slot >= 0 and not (T[token, T_HELD] >> slot) & 1:
                    return _blame(clock, token, row, BAD_OPERAND)
                clock[K_FREE_TOKEN] = T[child, T_NEXT]
                clock[K_LIVE] += 1
                if clock[K_LIVE] > clock[K_PEAK]:
                    clock[K_PEAK] = clock[K_LIVE]
                for k in range(REGISTERS):
                    R[child, k] = R[token, k]
                T[child, T_ROW] = P[row, TARGET]
                T[child, T_RELEASE] = -1
                T[child, T_CHILDREN] = 0
                T[child, T_HELD] = 0
                T[child, T_ALIVE] = 1
                T[child, T_PARENT] = -1
                T[child, T_BIRTH] = T[token, T_BIRTH]
                T[child, T_PRIORITY] = T[token, T_PRIORITY]
                if P[row, X] == JOINED:
                    T[child, T_PARENT] = token
                    T[token, T_CHILDREN] += 1
                elif P[row, X] == NEW_PACKET:
                    T[child, T_BIRTH] = now
                T[child, T_ACCOUNT] = -1
                T[child, T_POLLS] = 0
                if T[token, T_ACCOUNT] >= 0 and where[n_resources + row] > 0:
                    like = T[token, T_ACCOUNT] if P[row, X] == DETACHED else np.int64(-1)
                    T[child, T_ACCOUNT] = _open_account(account, clock, like, now)
                if slot >= 0:  # hand over what the slot holds; in the child it stands in slot 0
                    T[token, T_HELD] &= ~(np.int64(1) << slot)
                    _hold(T, H, child, 0, H[token, slot], H[token, SLOTS + slot])
                _ready(T, clock, heap_time, heap_key, heap_token, ready_key, ready_token, child)
                row += 1
            elif op == LOAD:  # registers SLOT.. = row b of table a
                if a < 0 or a >= table_at.shape[0] or b < 0 or b >= table_at[a, 1]:
                    return _blame(clock, token, row, BAD_OPERAND)
                start, width = table_at[a, 0] + b * table_at[a, 2], table_at[a, 2]
                if width > 0 and (P[row, SLOT] < 1 or P[row, SLOT] + width > REGISTERS):
                    return _blame(clock, token, row, BAD_OPERAND)
                for k in range(width):
                    R[token, P[row, SLOT] + k] = table[start + k]
                row += 1
            elif op == DONE:
                if a < 0 or a >= done.shape[0]:
                    return _blame(clock, token, row, BAD_OPERAND)
                c = P[row, C] + R[token, P[row, RC]]
                latency = now - T[token, T_BIRTH]
                place = _bin(latency)
                hist[a, place] += 1
                if T[token, T_ACCOUNT] >= 0:
                    for k in range(account.shape[1] - C_FIRST):
                        tally[a, place, k] += account[T[token, T_ACCOUNT], C_FIRST + k]
                        account[T[token, T_ACCOUNT], C_FIRST + k] = 0
                done[a, D_COUNT] += 1
                done[a, D_LATENCY] += latency
                done[a, D_BYTES] += b
                done[a, D_PADDED] += c
                clock[K_DONE] += 1
                clock[K_LAST_DONE] = now
                T[token, T_BIRTH] = now
                row += 1
            elif op == COUNT:
                if a < 0 or a >= counters.shape[0]:
                    return _blame(clock, token, row, BAD_OPERAND)
                counters[a] += b
                row += 1
            elif op == END:
                if T[token, T_HELD] or T[token, T_CHILDREN]:
                    return _blame(clock, token, row, LEAK)
                parent = T[token, T_PARENT]
                own = T[token, T_ACCOUNT]
                T[token, T_ALIVE] = 0
                T[token, T_NEXT] = clock[K_FREE_TOKEN]
                clock[K_FREE_TOKEN] = token
                clock[K_LIVE] -= 1
                if parent >= 0:
                    T[parent, T_CHILDREN] -= 1
                    if T[parent, T_CHILDREN] == 0 and T[parent, T_WAITS] == JOINING:
                        _mark_blocked(S, T, H, parent, now, -1)
                        if T[parent, T_ACCOUNT] >= 0:
                            _charge_parts(account, T[parent, T_ACCOUNT], own, now)
                        _ready(T, clock, heap_time, heap_key, heap_token, ready_key, ready_token, parent)
                if own >= 0:
                    _close_account(account, clock, own)
                break
            elif op == JOIN:
                row += 1
                if T[token, T_CHILDREN] > 0:
                    T[token, T_ROW] = row
                    T[token, T_WAITS] = JOINING
                    _mark_blocked(S, T, H, token, now, 1)
                    break
            elif op == ALL:
                count = P[row, X]
                for k in range(row + 1, row + 1 + count):
                    r = P[k, A] + R[token, P[k, RA]]
                    slot = P[k, SLOT]
                    bad = r < 0 or r >= n_resources or P[k, B] + R[token, P[k, RB]] < 0
                    bad = bad or (slot >= 0 and (T[token, T_HELD] >> slot) & 1)
                    for other in range(row + 1, k):  # each resource and each slot once
                        bad = bad or P[other, A] + R[token, P[other, RA]] == r or (P[other, SLOT] == slot and slot >= 0)
                    if bad:
                        return _blame(clock, token, k, BAD_OPERAND)
                fits = _members_fit(P, R, S, token, row, count)
                if fits:
                    for k in range(row + 1, row + 1 + count):
                        if S[P[k, A] + R[token, P[k, RA]], S_LINE] > 0:
                            fits = False
                T[token, T_ROW] = row + 1 + count
                if fits:
                    _take_members(P, R, S, T, H, clock, log, token, row, count, now)
                    row += 1 + count
                else:
                    T[token, T_WAITS] = POOLED
                    T[token, T_NEED] = count
                    T[token, T_NEXT] = -1
                    if clock[K_POOL_HEAD] < 0:
                        clock[K_POOL_HEAD] = token
                    else:
                        T[clock[K_POOL_TAIL], T_NEXT] = token
                    clock[K_POOL_TAIL] = token
                    _mark_blocked(S, T, H, token, now, 1)
                    for k in range(row + 1, row + 1 + count):
                        r = P[k, A] + R[token, P[k, RA]]
                        _touch(S, r, now)
                        S[r, S_POOL] += 1
                        S[r, S_MAX_LINE] = max(S[r, S_MAX_LINE], S[r, S_LINE] + S[r, S_POOL])
                    break
            elif op == GRAB:  # as many of each of the next x rows' resources as all of them have
                count = P[row, X]
                units = max(b, 0)
                for k in range(row + 1, row + 1 + count):
                    r = P[k, A] + R[token, P[k, RA]]
                    bad = r < 0 or r >= n_resources
                    for other in range(row + 1, k):  # each resource once
                        bad = bad or P[other, A] + R[token, P[other, RA]] == r
                    if bad:
                        return _blame(clock, token, k, BAD_OPERAND)
                    units = min(units, S[r, S_FREE] if S[r, S_LINE] == 0 else np.int64(0))
                for k in range(row + 1, row + 1 + count):
                    r = P[k, A] + R[token, P[k, RA]]
                    _touch(S, r, now)
                    S[r, S_FREE] -= units
                    S[r, S_GRANTS] += 1
                    _record(log, clock, now, r, units, token)
                if P[row, SLOT] > 0:
                    R[token, P[row, SLOT]] = units
                row += 1 + count
            elif op == PUSH or op == POP:  # ring a: columns start, capacity, width, head, count
                if a < 0 or a >= ring_at.shape[0]:
                    return _blame(clock, token, row, BAD_OPERAND)
                capacity, width = ring_at[a, 1], ring_at[a, 2]
                if (op == PUSH and ring_at[a, 4] >= capacity) or (op == POP and ring_at[a, 4] == 0):
                    return _blame(clock, token, row, OVERFLOW)
                if width > 0 and (P[row, SLOT] < 1 or P[row, SLOT] + width > REGISTERS):
                    return _blame(clock, token, row, BAD_OPERAND)
                if op == PUSH:
                    at = ring_at[a, 0] + ((ring_at[a, 3] + ring_at[a, 4]) % capacity) * (width + 1)
                    ring[at] = T[token, T_BIRTH]
                    if accounting:
                        n = T[token, T_ACCOUNT]
                        ring_account[at] = _open_account(account, clock, n, now) if n >= 0 else np.int64(-1)
                    for k in range(width):
                        ring[at + 1 + k] = R[token, P[row, SLOT] + k]
                    ring_at[a, 4] += 1
                else:
                    at = ring_at[a, 0] + ring_at[a, 3] * (width + 1)
                    T[token, T_BIRTH] = ring[at]
                    if accounting:
                        if T[token, T_ACCOUNT] >= 0:
                            _close_account(account, clock, T[token, T_ACCOUNT])
                        T[token, T_ACCOUNT] = ring_account[at]
                        T[token, T_POLLS] = 0
                        if ring_account[at] >= 0:
                            _charge(account, ring_account[at], where[n_resources + row], WAITED, now)
                    for k in range(width):
                        R[token, P[row, SLOT] + k] = ring[at + 1 + k]
                    ring_at[a, 3] = (ring_at[a, 3] + 1) % capacity
                    ring_at[a, 4] -= 1
                row += 1
            elif op == PICK:  # one of resources a .. a+b-1; C is the global that remembers the turn
                x = P[row, X]
                turn = P[row, C]
                limit = G.shape[0] if x == NEXT_FLAGGED else n_resources
                if b <= 0 or a < 0 or a + b > limit or turn < 0 or turn >= G.shape[0]:
                    return _blame(clock, token, row, BAD_OPERAND)
                first = (G[turn] + 1) % b
                chosen = first
                if x == SHORTEST:
                    best = np.int64(9223372036854775807)
                    for k in range(b):
                        r = a + (first + k) % b
                        load = S[r, S_LINE] + S[r, S_POOL] - S[r, S_FREE]
                        if load < best:
                            best = load
                            chosen = (first + k) % b
                elif x == FIRST_FREE:
                    for k in range(b):
                        if S[a + k, S_FREE] > 0 and S[a + k, S_LINE] == 0:
                            chosen = np.int64(k)
                            break
                elif x == NEXT_FLAGGED:  # flags stand in globals a .. a+b-1
                    for k in range(b):
                        if G[a + (first + k) % b] != 0:
                            chosen = (first + k) % b
                            break
                G[turn] = chosen
                if P[row, SLOT] > 0:
                    R[token, P[row, SLOT]] = chosen
                row += 1
            elif op == SHARE:
                c = P[row, C] + R[token, P[row, RC]]
                work = _draw(P[row, X], b, c, P[row, Y], now, draws, stream, row, table, table_at)
                speeds = abs(P[row, Z]) - 1
                if (
                    a < 0
                    or a >= n_resources
                    or work < 0
                    or S[a, S_DISCIPLINE] != SHARED
                    or speeds >= table_at.shape[0]
                    or (speeds >= 0 and table_at[speeds, 1] < 1)
                ):
                    return _blame(clock, token, row, BAD_OPERAND)
                row += 1
                T[token, T_ROW] = row
                S[a, S_TURN] = P[row - 1, Z]
                if accounting:
                    T[token, T_MARK] = -((-work << SPEED) // _share_rate(S, a, 1, table, table_at))
                _share_enter(S, T, clock, heap_time, heap_key, heap_token, a, token, work, now, table, table_at)
                break
            elif op == ASK:  # DRAM controller a: bank b, row c; as many bursts as register SLOT says
                c = P[row, C] + R[token, P[row, RC]]
                bursts = R[token, P[row, SLOT]] if P[row, SLOT] > 0 else np.int64(1)
                if a < 0 or a >= D_at.shape[0] or b < 0 or b >= D[D_at[a] + M_BANKS] or c < 0 or bursts < 1:
                    return _blame(clock, token, row, BAD_OPERAND)
                o = D_at[a]
                edge = -(-now // D[o + M_CLOCK]) * D[o + M_CLOCK]
                if not _dram_works(D, o):
                    _dram_idle_until(D, o, edge, orders)
                row += 1
                T[token, T_ROW] = row
                T[token, T_WAITS] = SLEEPING
                if not _dram_ask(D, o, token, b, c, P[row - 1, X], bursts, now):
                    return _blame(clock, token, row - 1, SATURATION)
                _deliver(D, o, T, clock, heap_time, heap_key, heap_token, ready_key, ready_token)
                if D[o + M_AWAKE] > edge:
                    _remove(heap_time, heap_key, heap_token, clock[K_HEAP], -1 - a)
                    clock[K_HEAP] -= 1
                    D[o + M_AWAKE] = -1
                if D[o + M_AWAKE] < 0:
                    _wake(D, o, clock, heap_time, heap_key, heap_token, a, edge)
                break
            else:
                return _blame(clock, token, row, BAD_OPERAND)
