"""The event engine: runs programs (rows of integers) of tokens over resources, in integer ticks.

Everything a model says is in arrays, so one compilation serves every model. docs/engine.md gives the exact meaning of
each operation, the order of simultaneous events and the layout of the arrays; tests/law holds a reference written apart.
The next token to run is the one with the smallest (time, priority, sequence number).
"""

import numpy as np

from npexplore._kernels.engine_accounts import (
    _charge,
    _charge_parts,
    _charge_past,
    _close_account,
    _end_fate,
    _open_account,
    _sums,
)
from npexplore._kernels.engine_dram import _ask, _decide
from npexplore._kernels.engine_heap import _take_out
from npexplore._kernels.engine_layout import *
from npexplore._kernels.engine_lines import (
    _enqueue,
    _members_fit,
    _named_before,
    _release,
    _share_enter,
    _share_leave,
    _share_rate,
    _take_members,
)
from npexplore._kernels.engine_random import _bin, _draw, _poisson
from npexplore._kernels.engine_tokens import _blame, _hold, _mark_blocked, _ready, _record, _sleep, _touch
from npexplore.jit import kernel


@kernel(forceinline=True, _nrt=False)
def _set(x, a, b, token, now, until, state, agenda):
    """Return (value, ok) of a SET function."""
    S, T, G = state.S, state.T, state.G
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
    if x == TO_NEXT:
        if agenda.clock[K_READY] > 0:
            return np.int64(0), True
        following = min(agenda.time[0], until) if agenda.clock[K_HEAP] > 0 else until
        return min(max(a, 0), following - now), True
    return np.int64(0), False


@kernel(_nrt=False)
def advance(model, state, agenda, totals, accounts, controllers, until, until_done, stall):
    """Run until the clock would pass `until` or `until_done` packets are done; return the status.

    controllers: None where the machine has none; that is compiled apart, without the controller.
    """
    P, table, table_at, clock = model.P, model.table, model.table_at, agenda.clock
    S, T, R, H, G, ring, ring_at = state.S, state.T, state.R, state.H, state.G, state.ring, state.ring_at
    hist, done, counters = totals
    account, where, tally, ring_account, fate = accounts
    accounting = account.shape[0] > 0
    n_resources = S.shape[0]
    n_rows = P.shape[0]
    now = clock[K_NOW]
    if (P.shape[1], S.shape[1], T.shape[1], R.shape[1], H.shape[1]) != (ROW, S_WIDTH, T_WIDTH, REGISTERS, 2 * SLOTS):
        return BAD_OPERAND  # never so: the compiler then knows the widths, and addresses need no multiplication
    while True:
        if clock[K_RESUMED] > 0:  # in the middle of its activation
            token = clock[K_RESUMED] - 1
            clock[K_RESUMED] = 0
        else:
            if clock[K_DONE] >= until_done:
                return COUNT_UP
            if accounting and clock[K_SPARE_ACCOUNTS] < FEW_ACCOUNTS:
                return ACCOUNTS
            # ---- the next token: ready line against heap, both sorted
            from_ready = False
            if clock[K_READY] > 0:
                head = np.uint64(clock[K_READY_HEAD])
                from_ready = clock[K_HEAP] == 0 or agenda.time[0] > now or agenda.key[0] > agenda.ready_key[head]
            if from_ready:
                token = agenda.ready_token[head]
                clock[K_READY_HEAD] += 1
                if clock[K_READY_HEAD] == agenda.ready_key.shape[0]:
                    clock[K_READY_HEAD] = 0
                clock[K_READY] -= 1
                clock[K_INSTANT] += 1
                if T[token, T_ACCOUNT] >= 0 and account[T[token, T_ACCOUNT], C_SINCE] < now:  # woken by a controller
                    _charge_past(state, accounts, token, np.int64(-1), now)
                if clock[K_INSTANT] > WAKES_LIMIT:
                    return _blame(clock, token, T[token, T_ROW], ENDLESS)
            else:
                if clock[K_HEAP] == 0:
                    return FINISHED if clock[K_LIVE] == 0 else DEADLOCK
                time = agenda.time[0]
                if time > until:
                    clock[K_NOW] = until
                    return TIME_UP
                token = agenda.token[0]
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
                _take_out(agenda, np.uint64(0))
                if controllers is not None:
                    if token < 0:
                        _decide(controllers, -1 - token, T, agenda, now)
                        continue
                r = T[token, T_RELEASE]
                if T[token, T_ACCOUNT] >= 0:
                    _charge_past(state, accounts, token, r, now)
                if r >= 0:
                    T[token, T_RELEASE] = -1
                    if S[r, S_DISCIPLINE] == SHARED:
                        _share_leave(S, T, agenda, r, token, now, model)
                    else:
                        _release(model, state, agenda, accounts, r, 1, now, token)
            if token < 0:
                return BAD_OPERAND
            clock[K_EVENTS] += 1
            T[token, T_WAITS] = RUNNING
        row = T[token, T_ROW]
        jumps = 0
        # ---- run it until it sleeps, waits or ends
        while True:
            if row < 0 or row >= n_rows:
                return _blame(clock, token, row, BAD_OPERAND)
            op = P[row, OP]
            a = P[row, A] + R[token, np.uint64(P[row, RA])]  # unsigned: not compared with 0, as Python's indices are
            b = P[row, B] + R[token, np.uint64(P[row, RB])]
            if op == SERVE:
                c = P[row, C] + R[token, np.uint64(P[row, RC])]
                duration = _draw(P[row, X], b, c, P[row, Y], now, row, model, state)
                if a < 0 or a >= n_resources or duration < 0:
                    return _blame(clock, token, row, BAD_OPERAND)
                row += 1
                T[token, T_ROW] = row
                if S[a, S_LINE] == 0 and S[a, S_FREE] > 0:
                    _touch(S, a, now)
                    S[a, S_FREE] -= 1
                    S[a, S_GRANTS] += 1
                    S[a, S_TURN] = P[row - 1, Z]
                    _record(state, agenda, now, a, 1, token)
                    T[token, T_RELEASE] = a
                    _sleep(T, agenda, token, now + duration)
                else:
                    T[token, T_DURATION] = duration
                    T[token, T_NEED] = 1
                    T[token, T_KEY] = P[row - 1, Z]
                    _enqueue(state, a, token, now)
                break
            elif op == WAIT:
                c = P[row, C] + R[token, np.uint64(P[row, RC])]
                duration = _draw(P[row, X], a, b, c, now, row, model, state)
                if duration < 0:
                    return _blame(clock, token, row, BAD_OPERAND)
                row += 1
                if duration > 0:
                    T[token, T_ROW] = row
                    _sleep(T, agenda, token, now + duration)
                    break
            elif op == TAKE or op == TRY:
                slot = P[row, SLOT]
                if a < 0 or a >= n_resources or b < 0 or (slot >= 0 and (T[token, T_HELD] >> slot) & 1):
                    return _blame(clock, token, row, BAD_OPERAND)
                if S[a, S_LINE] == 0 and S[a, S_FREE] >= b:
                    _touch(S, a, now)
                    S[a, S_FREE] -= b
                    S[a, S_GRANTS] += 1
                    S[a, S_TURN] = P[row, C] + R[token, np.uint64(P[row, RC])]
                    _record(state, agenda, now, a, b, token)
                    if slot >= 0:
                        _hold(state, token, slot, a, b)
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
                    T[token, T_KEY] = P[row, C] + R[token, np.uint64(P[row, RC])]
                    T[token, T_SLOT] = slot
                    _enqueue(state, a, token, now)
                    break
            elif op == GIVE:
                slot = P[row, SLOT]
                if not (T[token, T_HELD] >> slot) & 1:
                    return _blame(clock, token, row, BAD_OPERAND)
                T[token, T_HELD] &= ~(np.int64(1) << slot)
                row += 1
                _release(model, state, agenda, accounts, H[token, slot], H[token, SLOTS + slot], now, token)
            elif op == PUT:
                if a < 0 or a >= n_resources or b < 0:
                    return _blame(clock, token, row, BAD_OPERAND)
                row += 1
                _release(model, state, agenda, accounts, a, b, now, token)
            elif op == SET:
                if P[row, X] == TABLE:  # column b of row c of table a
                    c = P[row, C] + R[token, np.uint64(P[row, RC])]
                    ok = 0 <= a < table_at.shape[0] and 0 <= c < table_at[a, 1] and 0 <= b < table_at[a, 2]
                    value = table[table_at[a, 0] + c * table_at[a, 2] + b] if ok else np.int64(0)
                else:
                    value, ok = _set(P[row, X], a, b, token, now, until, state, agenda)
                if not ok or (P[row, X] == BORN and not 0 <= b <= n_resources):
                    return _blame(clock, token, row, BAD_OPERAND)
                if P[row, SLOT] > 0:
                    R[token, np.uint64(P[row, SLOT])] = value
                if P[row, X] == BORN and b > 0:
                    clock[K_BEFORE] += T[token, T_BIRTH] - value
                if P[row, X] == BORN and T[token, T_ACCOUNT] >= 0:
                    n = T[token, T_ACCOUNT]
                    for k in _sums(account):
                        account[n, k] = 0
                    account[n, C_SINCE] = T[token, T_BIRTH]
                    if b > 0:
                        _charge(account, n, where[b - 1], SERVED, now)
                    else:
                        _charge(account, n, ELSEWHERE, WAITED, now)
                row += 1
            elif op == JUMP:
                if JUMPS >> (3 * P[row, X] + np.int64(a >= b) + np.int64(a > b)) & 1:
                    if P[row, TARGET] <= row:
                        jumps += 1
                        if jumps > JUMPS_LIMIT:
                            return _blame(clock, token, row, ENDLESS)
                    row = P[row, TARGET]
                else:
                    row += 1
            elif op == DRAW:
                c = P[row, C] + R[token, np.uint64(P[row, RC])]
                if P[row, X] == POISSON:
                    value = _poisson(a, b, row, model, state)
                else:
                    value = _draw(P[row, X], a, b, c, now, row, model, state)
                if value < 0:
                    return _blame(clock, token, row, BAD_OPERAND)
                if P[row, SLOT] > 0:
                    R[token, np.uint64(P[row, SLOT])] = value
                row += 1
            elif op == FORK:
                if accounting and clock[K_SPARE_ACCOUNTS] == 0 and T[token, T_ACCOUNT] >= 0:
                    T[token, T_ROW] = row
                    clock[K_RESUMED] = token + 1
                    return ACCOUNTS
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
                    _hold(state, child, 0, H[token, slot], H[token, SLOTS + slot])
                _ready(T, agenda, child)
                row += 1
            elif op == LOAD:  # registers SLOT.. = row b of table a
                if a < 0 or a >= table_at.shape[0] or b < 0 or b >= table_at[a, 1]:
                    return _blame(clock, token, row, BAD_OPERAND)
                start, width = table_at[a, 0] + b * table_at[a, 2], table_at[a, 2]
                if width > 0 and (P[row, SLOT] < 1 or P[row, SLOT] + width > REGISTERS):
                    return _blame(clock, token, row, BAD_OPERAND)
                for k in range(width):
                    R[token, P[row, SLOT] + k] = table[start + k]
                if accounting and a == clock[K_PACKETS] and T[token, T_ACCOUNT] >= 0:
                    account[T[token, T_ACCOUNT], C_PACKET] = b
                    fate[b, F_ARRIVAL] = now
                row += 1
            elif op == DONE:
                if a < 0 or a >= done.shape[0]:
                    return _blame(clock, token, row, BAD_OPERAND)
                c = P[row, C] + R[token, np.uint64(P[row, RC])]
                latency = now - T[token, T_BIRTH]
                place = _bin(latency)
                hist[a, place] += 1
                n = T[token, T_ACCOUNT]
                if n >= 0:
                    if fate.shape[0] > 0:
                        _end_fate(accounts, n, T[token, T_BIRTH], now, np.int64(-1), a)
                    for k in _sums(account):
                        if account[n, k] != 0:
                            tally[a, place, k - np.uint64(C_FIRST)] += account[n, k]
                            account[n, k] = 0
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
                if fate.shape[0] > 0 and where[n_resources + row] > 0 and T[token, T_ACCOUNT] >= 0:
                    _end_fate(accounts, T[token, T_ACCOUNT], T[token, T_BIRTH], now, a, np.int64(-1))
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
                        _mark_blocked(state, parent, now, -1)
                        if T[parent, T_ACCOUNT] >= 0:
                            _charge_parts(account, T[parent, T_ACCOUNT], own, now)
                        _ready(T, agenda, parent)
                if own >= 0:
                    _close_account(account, clock, own)
                break
            elif op == JOIN:
                row += 1
                if T[token, T_CHILDREN] > 0:
                    T[token, T_ROW] = row
                    T[token, T_WAITS] = JOINING
                    _mark_blocked(state, token, now, 1)
                    break
            elif op == ALL:
                count = P[row, X]
                for k in range(row + 1, row + 1 + count):
                    r = P[k, A] + R[token, np.uint64(P[k, RA])]
                    slot = P[k, SLOT]
                    bad = r < 0 or r >= n_resources or P[k, B] + R[token, np.uint64(P[k, RB])] < 0
                    bad = bad or (slot >= 0 and (T[token, T_HELD] >> slot) & 1)
                    if bad or _named_before(P, R, token, row, k, r, slot):
                        return _blame(clock, token, k, BAD_OPERAND)
                T[token, T_ROW] = row + 1 + count
                if _members_fit(model, state, token, row, count, True):
                    _take_members(model, state, agenda, token, row, count, now)
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
                    _mark_blocked(state, token, now, 1)
                    for k in range(row + 1, row + 1 + count):
                        r = P[k, A] + R[token, np.uint64(P[k, RA])]
                        _touch(S, r, now)
                        S[r, S_POOL] += 1
                        S[r, S_MAX_LINE] = max(S[r, S_MAX_LINE], S[r, S_LINE] + S[r, S_POOL])
                    break
            elif op == GRAB:  # as many of each of the next x rows' resources as all of them have
                count = P[row, X]
                units = max(b, 0)
                for k in range(row + 1, row + 1 + count):
                    r = P[k, A] + R[token, np.uint64(P[k, RA])]
                    if r < 0 or r >= n_resources or _named_before(P, R, token, row, k, r, np.int64(-1)):
                        return _blame(clock, token, k, BAD_OPERAND)
                    units = min(units, S[r, S_FREE] if S[r, S_LINE] == 0 else np.int64(0))
                for k in range(row + 1, row + 1 + count):
                    r = P[k, A] + R[token, np.uint64(P[k, RA])]
                    _touch(S, r, now)
                    S[r, S_FREE] -= units
                    S[r, S_GRANTS] += 1
                    _record(state, agenda, now, r, units, token)
                if P[row, SLOT] > 0:
                    R[token, P[row, SLOT]] = units
                row += 1 + count
            elif op == PUSH or op == POP:  # ring a: columns start, capacity, width, head, count
                if accounting and clock[K_SPARE_ACCOUNTS] == 0 and T[token, T_ACCOUNT] >= 0:
                    T[token, T_ROW] = row
                    clock[K_RESUMED] = token + 1
                    return ACCOUNTS
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
                            packet = account[ring_account[at], C_PACKET] if fate.shape[0] > 0 else np.int64(-1)
                            if packet >= 0 and fate[packet, F_START] < 0:
                                fate[packet, F_START] = now
                                fate[packet, F_THREAD] = token
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
                c = P[row, C] + R[token, np.uint64(P[row, RC])]
                work = _draw(P[row, X], b, c, P[row, Y], now, row, model, state)
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
                    T[token, T_MARK] = -((-work << SPEED) // _share_rate(S, a, 1, model))
                _share_enter(S, T, agenda, a, token, work, now, model)
                break
            elif op == ASK:  # DRAM controller a: bank b, row c; as many bursts as register SLOT says
                c = P[row, C] + R[token, np.uint64(P[row, RC])]
                bursts = R[token, P[row, SLOT]] if P[row, SLOT] > 0 else np.int64(1)
                problem = BAD_OPERAND
                if controllers is not None:
                    problem = _ask(controllers, a, b, c, P[row, X], bursts, token, row, T, agenda, now)
                if problem >= 0:
                    return _blame(clock, token, row, problem)
                break
            else:
                return _blame(clock, token, row, BAD_OPERAND)
