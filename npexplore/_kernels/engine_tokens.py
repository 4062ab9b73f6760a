"""What the event engine does to one token: time integrals, wake, sleep, hold, a place in a line."""

import numpy as np

from npexplore._kernels.engine_heap import ONE, _push
from npexplore._kernels.engine_layout import *
from npexplore.jit import kernel


@kernel(forceinline=True, _nrt=False)
def _touch(S, r, now):
    """Bring the time integrals of resource r up to now."""
    r = np.uint64(r)
    dt = now - S[r, S_SINCE]
    if dt > 0:
        S[r, S_INT_FREE] += dt * S[r, S_FREE]
        S[r, S_INT_LINE] += dt * (S[r, S_LINE] + S[r, S_POOL])
        S[r, S_INT_BLOCKED] += dt * S[r, S_BLOCKED]
        S[r, S_SINCE] = now


@kernel(forceinline=True, _nrt=False)
def _mark_blocked(state, token, now, sign):
    """Count (sign 1) or uncount (sign -1) what the token holds as blocked while it waits."""
    S, H = state.S, state.H
    held = state.T[token, T_HELD]
    slot = 0
    while held:
        if held & 1:
            r = np.uint64(H[token, slot])
            _touch(S, r, now)
            S[r, S_BLOCKED] += sign * H[token, SLOTS + slot]
        held >>= 1
        slot += 1


@kernel(forceinline=True, _nrt=False)
def _record(state, agenda, now, r, change, token):
    log, clock = state.log, agenda.clock
    if log.shape[0] == 0:
        return
    n = clock[K_LOG]
    if n < log.shape[0]:
        log[n, 0] = now
        log[n, 1] = r
        log[n, 2] = change
        log[n, 3] = token
        clock[K_LOG] = n + 1


@kernel(forceinline=True, _nrt=False)
def _ready(T, agenda, token):
    """Make a token runnable at this instant, behind everything scheduled before it with its priority."""
    clock, ready_key, token = agenda.clock, agenda.ready_key, np.uint64(token)
    sequence = clock[K_SEQUENCE]
    clock[K_SEQUENCE] = sequence + 1
    key = (T[token, T_PRIORITY] << PRIORITY_SHIFT) | sequence
    T[token, T_WAITS] = RUNNING
    size = ready_key.shape[0]
    n = clock[K_READY]
    at = np.uint64(clock[K_READY_HEAD] + n)
    if at >= size:  # a division would cost as much as the rest
        at -= np.uint64(size)
    if n > 0 and ready_key[at - ONE if at > 0 else np.uint64(size - 1)] > key:
        _push(agenda, clock[K_NOW], key, token)
        return
    ready_key[at] = key
    agenda.ready_token[at] = token
    clock[K_READY] = n + 1


@kernel(forceinline=True, _nrt=False)
def _sleep(T, agenda, token, until):
    sequence = agenda.clock[K_SEQUENCE]
    agenda.clock[K_SEQUENCE] = sequence + 1
    T[token, T_WAITS] = SLEEPING
    _push(agenda, until, (T[token, T_PRIORITY] << PRIORITY_SHIFT) | sequence, token)


@kernel(forceinline=True, _nrt=False)
def _hold(state, token, slot, r, units):
    state.H[token, slot] = r
    state.H[token, SLOTS + slot] = units
    state.T[token, T_HELD] |= np.int64(1) << slot


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
