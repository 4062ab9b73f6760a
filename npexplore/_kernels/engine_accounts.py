"""Accounts of the event engine: to which resource, and how, a packet's time is charged."""

import numpy as np

from npexplore._kernels.engine_layout import *
from npexplore.jit import kernel


@kernel(forceinline=True, _nrt=False)
def _sums(account):
    """Return the columns of accounts that are sums; unsigned, else the compiler moves vectors around for nothing."""
    return range(np.uint64(C_FIRST), np.uint64(account.shape[1]))


@kernel(forceinline=True, _nrt=False)
def _charge(account, n, place, kind, now):
    """Put the time since account n was brought up to date down to a place."""
    account[n, C_FIRST + 3 * place + kind] += now - account[n, C_SINCE]
    account[n, C_SINCE] = now


@kernel(forceinline=True, _nrt=False)
def _charge_line(state, accounts, token, r, blocked, now):
    """Put the time in the line of r down to it; blocked: the units x time there whose holders waited themselves."""
    S, T, account, where = state.S, state.T, accounts.account, accounts.where
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
def _charge_past(state, accounts, token, released, now):
    """Put down what a token did that slept until now, at the resource it gives back (-1: none)."""
    S, T, account, where = state.S, state.T, accounts.account, accounts.where
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
    account[n, C_PACKET] = account[like, C_PACKET] if like >= 0 else -1
    for k in _sums(account):
        account[n, k] = account[like, k] if like >= 0 else 0
    return n


@kernel(forceinline=True, _nrt=False)
def _close_account(account, clock, n):
    account[n, C_NEXT] = clock[K_FREE_ACCOUNT]
    clock[K_FREE_ACCOUNT] = n
    clock[K_SPARE_ACCOUNTS] += 1


@kernel(forceinline=True, _nrt=False)
def _end_fate(accounts, n, birth, now, drop, number):
    """Write down that the packet of account n ends: it was finished (drop < 0, of class `number`) or lost there."""
    fate, account = accounts.fate, accounts.account
    packet = account[n, C_PACKET]
    if packet >= 0:
        fate[packet, F_ENDS] += 1
        fate[packet, F_DROP] = drop
        fate[packet, F_ARRIVAL] = birth
        fate[packet, F_END] = now
        fate[packet, F_CLASS] = number
        for k in range(np.uint64(fate.shape[1] - F_FIRST)):
            fate[packet, np.uint64(F_FIRST) + k] = account[n, np.uint64(C_FIRST) + k]
        account[n, C_PACKET] = -1


@kernel(forceinline=True, _nrt=False)
def _charge_parts(account, n, child, now):
    """Put down to account n, whose token waited for its parts, what the last one did, if that is the time it took."""
    passed = np.int64(0 if child >= 0 else -1)
    if child >= 0:
        for k in _sums(account):
            passed += account[child, k]
    if passed != now - account[n, C_SINCE]:
        _charge(account, n, ELSEWHERE, WAITED, now)
        return
    for k in _sums(account):
        account[n, k] += account[child, k]
    account[n, C_SINCE] = now
