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

END, TAKE, GIVE, PUT, TRY, ALL, WAIT, SERVE, SET, JUMP, DRAW, FORK, JOIN, DONE, LOAD, COUNT, PUSH, POP, PICK, SHARE, GRAB = (
    range(21)
)  # fmt: skip
OPERATIONS = (
    "END", "TAKE", "GIVE", "PUT", "TRY", "ALL", "WAIT", "SERVE", "SET", "JUMP", "DRAW", "FORK", "JOIN", "DONE", "LOAD",
    "COUNT", "PUSH", "POP", "PICK", "SHARE", "GRAB",
)  # fmt: skip

# ---- durations and draws (x of WAIT, SERVE, DRAW)
FIXED, EXPONENTIAL, UNIFORM, ERLANG, HYPEREXPONENTIAL, BELOW, EMPIRICAL, UNTIL, WINDOW = range(9)

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
T_ROW, T_NEXT, T_DURATION, T_NEED, T_RELEASE, T_BIRTH, T_PARENT, T_CHILDREN, T_PRIORITY, T_HELD, T_WAITS, T_KEY, T_SLOT, T_ALIVE = (
    range(14)
)  # fmt: skip
T_WIDTH = 14
REGISTERS = 24
SLOTS = 8

# ---- what T_WAITS holds when not a resource
RUNNING, SLEEPING, JOINING, POOLED = -1, -2, -3, -4

# ---- clock columns
K_NOW, K_SEQUENCE, K_HEAP, K_READY_HEAD, K_READY, K_DONE, K_LIVE, K_FREE_TOKEN, K_LAST_DONE, K_INSTANT, K_TOKEN, K_ERROR_ROW, K_POOL_HEAD, K_POOL_TAIL, K_EVENTS, K_LOG, K_SHARED, K_PEAK = (
    range(18)
)  # fmt: skip
K_WIDTH = 20

# ---- status
TIME_UP, COUNT_UP, FINISHED, DEADLOCK, STALL, SATURATION, LEAK, ENDLESS, BAD_OPERAND, OVERFLOW = range(10)

# ---- done columns per class
D_COUNT, D_LATENCY, D_BYTES, D_PADDED = range(4)
BINS = 1920
JUMPS_LIMIT = 1_000_000
WAKES_LIMIT = 20_000_000

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
def _enqueue(S, T, H, r, token, now):
    """Put a token into the line of r; the caller has set need, key, slot and duration."""
    _touch(S, r, now)
    T[token, T_WAITS] = r
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
def _grant(S, T, H, clock, heap_time, heap_key, heap_token, ready_key, ready_token, log, r, now):
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
def _scan_pool(P, R, S, T, H, clock, heap_time, heap_key, heap_token, ready_key, ready_token, log, now):
    """Let every waiting all-or-none request that fits go, oldest first."""
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
                r = P[k, A] + R[token, P[k, RA]]
                _touch(S, r, now)
                S[r, S_POOL] -= 1
            _mark_blocked(S, T, H, token, now, -1)
            _take_members(P, R, S, T, H, clock, log, token, row, count, now)
            _ready(T, clock, heap_time, heap_key, heap_token, ready_key, ready_token, token)
        else:
            before = token
        token = after


@kernel(forceinline=True, _nrt=False)
def _release(P, R, S, T, H, clock, heap_time, heap_key, heap_token, ready_key, ready_token, log, r, units, now, token):
    _touch(S, r, now)
    S[r, S_FREE] += units
    _record(log, clock, now, r, -units, token)
    if S[r, S_LINE] > 0:
        _grant(S, T, H, clock, heap_time, heap_key, heap_token, ready_key, ready_token, log, r, now)
    if S[r, S_POOL] > 0:
        _scan_pool(P, R, S, T, H, clock, heap_time, heap_key, heap_token, ready_key, ready_token, log, now)


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


@kernel(_nrt=False)
def advance(
    P, stream, draws, S, T, R, H, G, clock, heap_time, heap_key, heap_token, ready_key, ready_token,
    table, table_at, ring, ring_at, hist, done, counters, log, until, until_done, stall,
):  # fmt: skip
    """Run until the clock would pass `until` or `until_done` packets are done; return the status."""
    n_resources = S.shape[0]
    n_rows = P.shape[0]
    now = clock[K_NOW]
    while True:
        if clock[K_DONE] >= until_done:
            return COUNT_UP
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
            r = T[token, T_RELEASE]
            if r >= 0:
                T[token, T_RELEASE] = -1
                if S[r, S_DISCIPLINE] == SHARED:
                    _share_leave(S, T, clock, heap_time, heap_key, heap_token, r, token, now, table, table_at)
                else:
                    _release(P, R, S, T, H, clock, heap_time, heap_key, heap_token, ready_key, ready_token, log, r, 1, now, token)  # fmt: skip
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
                    row += 1
                elif op == TRY:
                    S[a, S_REFUSED] += 1
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
                _release(P, R, S, T, H, clock, heap_time, heap_key, heap_token, ready_key, ready_token, log, H[token, slot], H[token, SLOTS + slot], now, token)  # fmt: skip
            elif op == PUT:
                if a < 0 or a >= n_resources or b < 0:
                    return _blame(clock, token, row, BAD_OPERAND)
                row += 1
                _release(P, R, S, T, H, clock, heap_time, heap_key, heap_token, ready_key, ready_token, log, a, b, now, token)  # fmt: skip
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
                hist[a, _bin(latency)] += 1
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
                T[token, T_ALIVE] = 0
                T[token, T_NEXT] = clock[K_FREE_TOKEN]
                clock[K_FREE_TOKEN] = token
                clock[K_LIVE] -= 1
                if parent >= 0:
                    T[parent, T_CHILDREN] -= 1
                    if T[parent, T_CHILDREN] == 0 and T[parent, T_WAITS] == JOINING:
                        _mark_blocked(S, T, H, parent, now, -1)
                        _ready(T, clock, heap_time, heap_key, heap_token, ready_key, ready_token, parent)
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
                    for k in range(width):
                        ring[at + 1 + k] = R[token, P[row, SLOT] + k]
                    ring_at[a, 4] += 1
                else:
                    at = ring_at[a, 0] + ring_at[a, 3] * (width + 1)
                    T[token, T_BIRTH] = ring[at]
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
                _share_enter(S, T, clock, heap_time, heap_key, heap_token, a, token, work, now, table, table_at)
                break
            else:
                return _blame(clock, token, row, BAD_OPERAND)
