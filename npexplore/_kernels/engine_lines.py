"""Lines of the event engine: tokens that wait for a resource, are granted, share a server or take several at once."""

import numpy as np

from npexplore._kernels.engine_accounts import _charge_line
from npexplore._kernels.engine_heap import _remove
from npexplore._kernels.engine_layout import *
from npexplore._kernels.engine_tokens import _hold, _link, _mark_blocked, _ready, _record, _sleep, _touch, _unlink
from npexplore.jit import kernel


@kernel(forceinline=True, _nrt=False)
def _enqueue(state, r, token, now):
    """Put a token into the line of r; the caller has set need, key, slot and duration."""
    S, T = state.S, state.T
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
    _mark_blocked(state, token, now, 1)


@kernel(forceinline=True, _nrt=False)
def _grant(state, agenda, accounts, r, now):
    """Serve the line of r as long as its next token's need fits; integrals of r are up to date."""
    S, T = state.S, state.T
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
        _record(state, agenda, now, r, need, token)
        _mark_blocked(state, token, now, -1)
        if T[token, T_ACCOUNT] >= 0:
            _charge_line(state, accounts, token, r, S[r, S_INT_BLOCKED] - T[token, T_MARK], now)
        if T[token, T_DURATION] >= 0:
            T[token, T_RELEASE] = r
            _sleep(T, agenda, token, now + T[token, T_DURATION])
        else:
            if T[token, T_SLOT] >= 0:
                _hold(state, token, T[token, T_SLOT], r, need)
            _ready(T, agenda, token)


@kernel(forceinline=True, _nrt=False)
def _share_rate(S, r, n, model):
    """Return the work that each of n tokens at a SHARED resource (or the one served) gets a tick, in 2**-SPEED."""
    z = S[r, S_TURN]
    if z == 0:
        return (min(n, S[r, S_CAP]) << SPEED) // n
    speeds = abs(z) - 1
    level = min(n, model.table_at[speeds, 1]) - 1
    speed = model.table[model.table_at[speeds, 0] + level * model.table_at[speeds, 2]]
    return speed // n if z > 0 else speed


@kernel(forceinline=True, _nrt=False)
def _share_work(S, T, r, now, model):
    """Take the work done since the last change from those served at a SHARED resource; return how many are there."""
    n = S[r, S_CAP] - S[r, S_FREE] + S[r, S_LINE]
    done = (now - S[r, S_SINCE]) * _share_rate(S, r, max(n, 1), model)
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
def _share_alarm(S, T, agenda, r, now, n, model):
    """Let the first of the line (with the least work left, or the only one served) sleep until it is done."""
    head = S[r, S_HEAD]
    rate = _share_rate(S, r, n, model)
    left = max(T[head, T_KEY], 0)
    T[head, T_RELEASE] = r
    _sleep(T, agenda, head, now - ((-left) // rate))
    T[head, T_WAITS] = r


@kernel(forceinline=True, _nrt=False)
def _share_enter(S, T, agenda, r, token, work, now, model):
    n = _share_work(S, T, r, now, model)
    if n > 0:
        _remove(agenda, S[r, S_HEAD])
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
    _share_alarm(S, T, agenda, r, now, n + 1, model)


@kernel(forceinline=True, _nrt=False)
def _share_leave(S, T, agenda, r, token, now, model):
    n = _share_work(S, T, r, now, model) - 1
    _unlink(S, T, r, -1, token)
    _share_count(S, r, n)
    if n > 0:
        _share_alarm(S, T, agenda, r, now, n, model)


@kernel(forceinline=True, _nrt=False)
def _named_before(P, R, token, row, k, r, slot):
    """Say whether a member before that in row k names resource r or the slot."""
    for other in range(row + 1, k):
        if P[other, A] + R[token, np.uint64(P[other, RA])] == r or (slot >= 0 and P[other, SLOT] == slot):
            return True
    return False


@kernel(forceinline=True, _nrt=False)
def _members_fit(model, state, token, row, count, behind):
    """Say whether an all-or-none request fits (behind: and no member has a line); note the first member that does not."""
    P, R, S, T = model.P, state.R, state.S, state.T
    for k in range(row + 1, row + 1 + count):
        r = P[k, A] + R[token, np.uint64(P[k, RA])]
        need = P[k, B] + R[token, np.uint64(P[k, RB])]
        if S[r, S_FREE] < need or (behind and S[r, S_LINE] > 0):
            T[token, T_MARK] = r
            T[token, T_KEY] = need
            return False
    return True


@kernel(forceinline=True, _nrt=False)
def _take_members(model, state, agenda, token, row, count, now):
    P, R, S = model.P, state.R, state.S
    for k in range(row + 1, row + 1 + count):
        r = P[k, A] + R[token, np.uint64(P[k, RA])]
        need = P[k, B] + R[token, np.uint64(P[k, RB])]
        _touch(S, r, now)
        S[r, S_FREE] -= need
        S[r, S_GRANTS] += 1
        _record(state, agenda, now, r, need, token)
        if P[k, SLOT] >= 0:
            _hold(state, token, P[k, SLOT], r, need)


@kernel(forceinline=True, _nrt=False)
def _scan_pool(model, state, agenda, accounts, r, now):
    """Let every waiting all-or-none request that fits go, oldest first; r was released."""
    P, R, S, T, clock = model.P, state.R, state.S, state.T, agenda.clock
    before = np.int64(-1)
    token = clock[K_POOL_HEAD]
    while token >= 0:
        after = T[token, T_NEXT]
        row = T[token, T_ROW] - 1 - T[token, T_NEED]
        count = T[token, T_NEED]
        # does it still lack what it lacked when it was looked at last?
        lacks = S[np.uint64(T[token, T_MARK]), S_FREE] < T[token, T_KEY]
        if not lacks and _members_fit(model, state, token, row, count, False):
            if before < 0:
                clock[K_POOL_HEAD] = after
            else:
                T[before, T_NEXT] = after
            if after < 0:
                clock[K_POOL_TAIL] = before
            for k in range(row + 1, row + 1 + count):
                member = P[k, A] + R[token, np.uint64(P[k, RA])]
                _touch(S, member, now)
                S[member, S_POOL] -= 1
            _mark_blocked(state, token, now, -1)
            if T[token, T_ACCOUNT] >= 0:
                _charge_line(state, accounts, token, r, np.int64(0), now)
            _take_members(model, state, agenda, token, row, count, now)
            _ready(T, agenda, token)
        else:
            before = token
        token = after


@kernel(forceinline=True, _nrt=False)
def _release(model, state, agenda, accounts, r, units, now, token):
    S, r = state.S, np.uint64(r)
    _touch(S, r, now)
    S[r, S_FREE] += units
    _record(state, agenda, now, r, -units, token)
    if S[r, S_LINE] > 0:
        _grant(state, agenda, accounts, r, now)
    if S[r, S_POOL] > 0:
        _scan_pool(model, state, agenda, accounts, r, now)
