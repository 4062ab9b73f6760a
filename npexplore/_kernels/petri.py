"""Runs Petri nets in integer ticks: one compilation for every net, which is in arrays as the names below say.

duration: a firing takes its tokens when it begins and gives others when it ends; all that ends at an instant ends
before anything begins. race: each timed transition has one clock, which runs while it is enabled and is drawn anew
when it was not, when it fired, or (exponential) when its rate changed; what takes no time comes first. Of what may fire
the highest priority does, one of it by weight at random. Streams of random numbers: one a transition, one for choices.
"""

import math

import numpy as np

from npexplore._kernels.engine_random import _bin
from npexplore._kernels.petri_heap import _add, _remove
from npexplore._kernels.petri_layout import *
from npexplore._kernels.petri_plain import _choice, _note, _plain
from npexplore._kernels.petri_values import _carried, _degree, _ticks, _uniform, _value
from npexplore.jit import kernel, types


@kernel(types.int64(RULES, FORMULAS, STATE, types.int64[:, ::1], types.int64, types.int64), _nrt=False)
def advance(rules, formulas, state, log, until, firings):
    """Run until a time or until so many firings have ended; return a status. Of NO_ROOM nothing was changed."""
    T, TF, A, copies, D, met, levels = rules.T, rules.TF, rules.A, rules.copies, rules.D, rules.met, rules.levels
    P, S, weight, K, F, HT, POS = state.P, state.S, state.weight, state.K, state.F, state.HT, state.POS
    bits, dirty, timers, rng, Q, V = state.bits, state.dirty, state.timers, state.rng, state.Q, state.V
    stack, scratch = state.stack, state.scratch
    if Q[Q_PLAIN]:
        return _plain(rules, state, log, until, firings)
    race = Q[Q_RACE] != 0
    n_fields = Q[Q_FIELDS]
    choices = len(rng) - 1
    first_scratch = len(D) - 2 * len(scratch)
    now = Q[Q_NOW]
    while True:
        t = -1
        ending = -1  # a firing under way that ends
        if not race and Q[Q_HEAP] > 0 and HT[0, 0] == now:
            ending = HT[0, 2]
        else:
            while Q[Q_DIRTY] > 0:  # transitions whose enabling formulas decide
                Q[Q_DIRTY] -= 1
                d = dirty[Q[Q_DIRTY]]
                S[d, S_DIRTY] = 0
                able = S[d, S_UNMET] == 0
                if able and T[d, T_FLAGS] & DATA:
                    _carried(T, A, copies, d, P, K, V)
                if able:
                    for k in range(T[d, T_LOOK], T[d, T_LOOK_END]):
                        p, w = rules.looks[k, L_PLACE], np.float64(rules.looks[k, L_WEIGHT])
                        if rules.looks[k, L_FORMULA] >= 0:
                            w = _value(formulas, rules.looks[k, L_FORMULA], state, 0, d)
                            if not (0 <= w <= MOST_TOKENS and w == math.floor(w)):
                                Q[Q_WHO] = d
                                return BAD_TOKENS
                        if rules.looks[k, L_TARGET] >= 0:
                            p += np.int64(_value(formulas, rules.looks[k, L_TARGET], state, 0, d))
                        if (P[p, P_TOKENS] >= w) == (rules.looks[k, L_FEWER] == 1):
                            able = False
                            break
                if able:
                    for k in range(T[d, T_GUARD], T[d, T_GUARD_END]):
                        if _value(formulas, rules.guards[k], state, 0, d) == 0.0:
                            able = False
                            break
                if able:
                    for k in range(T[d, T_LIMIT], T[d, T_LIMIT_END]):
                        change = np.float64(rules.limits[k, C_GIVE] - rules.limits[k, C_TAKE])
                        if rules.limits[k, C_GIVE_FORMULA] >= 0:
                            change += _value(formulas, rules.limits[k, C_GIVE_FORMULA], state, 0, d)
                        if rules.limits[k, C_TAKE_FORMULA] >= 0:
                            change -= _value(formulas, rules.limits[k, C_TAKE_FORMULA], state, 0, d)
                        p = rules.limits[k, C_PLACE]
                        if change > 0 and P[p, P_TOKENS] + P[p, P_COMING] + change > rules.limits[k, C_CAPACITY]:
                            able = False
                            break
                if able and T[d, T_WEIGHT] >= 0:
                    weight[d] = _value(formulas, T[d, T_WEIGHT], state, 0, d)
                    if not (weight[d] >= 0 and weight[d] < math.inf):
                        Q[Q_WHO] = d
                        return BAD_RATE
                    able = weight[d] > 0
                if stack[STACK] != 0.0:
                    Q[Q_WHO] = d
                    return BAD_DIVISION
                if race and T[d, T_FLAGS] & TIMED:
                    S[d, S_ABLE] = 1 if able else 0
                    _note(S, S_TIMER, d, timers, Q, Q_TIMERS)
                elif able != (S[d, S_ABLE] == 1):
                    S[d, S_ABLE] = 1 if able else 0
                    bits[T[d, T_WORD]] ^= ONE << np.uint64(T[d, T_BIT])
                    levels[T[d, T_LEVEL], V_COUNT] += 1 if able else -1
            saved = rng[choices]
            t = _choice(rules, state, choices)
            if t < 0:
                while Q[Q_TIMERS] > 0:  # clocks of a race
                    Q[Q_TIMERS] -= 1
                    d = timers[Q[Q_TIMERS]]
                    S[d, S_TIMER] = 0
                    able = S[d, S_ABLE] == 1 if T[d, T_FLAGS] & CHECKED else S[d, S_UNMET] == 0
                    speed = TF[d, 0]
                    if able and T[d, T_KIND] == EXPONENTIAL and (T[d, T_RATE] >= 0 or T[d, T_SERVERS] != 1):
                        if T[d, T_FLAGS] & DATA:
                            _carried(T, A, copies, d, P, K, V)
                        if T[d, T_RATE] >= 0:
                            r = _value(formulas, T[d, T_RATE], state, 0, d)
                            if not (r >= 0 and r < math.inf):
                                Q[Q_WHO] = d
                                return BAD_RATE
                            speed = Q[Q_TICKS] / r if r > 0 else math.inf
                        if T[d, T_SERVERS] != 1:
                            speed /= _degree(rules, formulas, state, d)
                        if stack[STACK] != 0.0:
                            Q[Q_WHO] = d
                            return BAD_DIVISION
                        able = speed < math.inf
                    if POS[d] >= 0 and (not able or speed != state.rate[d]):
                        Q[Q_HEAP] = _remove(HT, POS, Q[Q_HEAP], POS[d])
                    if able and POS[d] < 0:
                        state.rate[d] = speed
                        wait = _ticks(T, TF, d, speed, rng)
                        tie = np.int64(0)
                        if T[d, T_KIND] != EXPONENTIAL:
                            tie = np.int64(_uniform(rng, d) * 9007199254740992.0)
                        Q[Q_HEAP] = _add(HT, POS, Q[Q_HEAP], now + wait, tie, d)
                if Q[Q_HEAP] == 0:
                    Q[Q_NOW] = now
                    return DEAD
                if HT[0, 0] > until:
                    Q[Q_NOW] = until
                    return TIME_UP
                if HT[0, 0] != now:
                    now = HT[0, 0]
                    Q[Q_NOW] = now
                    Q[Q_INSTANT] = 0
                if not race:
                    continue
                t = HT[0, 2]
        # ---- what changes: D[first:last] is (place, tokens more)
        over = True  # it ends now
        number = Q[Q_SEQUENCE]
        if ending >= 0:
            t = F[ending, F_TRANSITION]
            number = F[ending, F_NUMBER]
            birth = F[ending, F_BIRTH]
            Q[Q_HEAP] = _remove(HT, POS, Q[Q_HEAP], 0)
        else:
            birth = now
        flags = T[t, T_FLAGS]
        first = T[t, T_DELTA]
        last = T[t, T_DELTA_END]
        if not flags & FAST:
            first = first_scratch
            last = first
            n_take = T[t, T_TAKE_END] - T[t, T_TAKE]
            if ending < 0:  # everything is said by the tokens before
                own = rng[t]
                row = 0
                if flags & FEEDS:
                    row = Q[Q_ROW] % len(formulas.table)
                    Q[Q_ROW] += 1
                for k in range(n_fields):
                    V[k] = 0.0
                if flags & DATA:
                    _carried(T, A, copies, t, P, K, V)
                for k in range(T[t, T_SET], T[t, T_SET_END]):
                    x = _value(formulas, rules.sets[k, 1], state, row, t)
                    if (
                        x != math.floor(x)
                        or not abs(x) < 9e15
                        or (rules.sets[k, 3] >= 0 and not (0 <= x <= rules.sets[k, 3]))
                    ):
                        Q[Q_WHO] = t
                        return BAD_FIELD
                    V[rules.sets[k, 0]] = x
                tokens_given = 0.0
                for k in range(n_take + T[t, T_GIVE_END] - T[t, T_GIVE]):
                    a = T[t, T_TAKE] + k if k < n_take else T[t, T_GIVE] + k - n_take
                    w = np.float64(A[a, A_WEIGHT])
                    if A[a, A_FORMULA] >= 0:
                        w = _value(formulas, A[a, A_FORMULA], state, row, t)
                        if not (0 <= w <= MOST_TOKENS and w == math.floor(w)):
                            Q[Q_WHO] = t
                            return BAD_TOKENS
                    p = A[a, A_PLACE]
                    if A[a, A_TARGET] >= 0:
                        p += np.int64(_value(formulas, A[a, A_TARGET], state, row, t))
                    scratch[k, 0] = p
                    scratch[k, 1] = np.int64(w)
                    if A[a, A_DATA] and k >= n_take:
                        tokens_given += w
                wait = 0
                if flags & TIMED and not race:
                    if T[t, T_KIND] == FORMULA:
                        x = _value(formulas, T[t, T_DELAY], state, row, t) * Q[Q_TICKS]
                        if not (x >= 0 and x < 9e15):
                            Q[Q_WHO] = t
                            return BAD_DELAY
                        wait = np.int64(x + 0.5)
                    else:
                        wait = _ticks(T, TF, t, TF[t, 0], rng)
                if stack[STACK] != 0.0:
                    Q[Q_WHO] = t
                    return BAD_DIVISION
                if tokens_given > Q[Q_TOKENS_LEFT] or (wait > 0 and Q[Q_RECORDS_LEFT] == 0):
                    rng[choices] = saved
                    rng[t] = own
                    if flags & FEEDS:
                        Q[Q_ROW] -= 1
                    return NO_ROOM
                got = False
                for k in range(n_take):
                    if A[T[t, T_TAKE] + k, A_DATA]:
                        p = scratch[k, 0]
                        for _ in range(scratch[k, 1]):
                            token = P[p, P_HEAD]
                            if not got:
                                birth = K[token, K_BIRTH]
                                got = True
                            P[p, P_HEAD] = K[token, K_NEXT]
                            K[token, K_NEXT] = Q[Q_TOKEN]
                            Q[Q_TOKEN] = token
                            Q[Q_TOKENS_LEFT] += 1
                    D[last, 0] = scratch[k, 0]
                    D[last, 1] = -scratch[k, 1]
                    last += 1
                if wait > 0:
                    over = False
                    record = Q[Q_RECORD]
                    Q[Q_RECORD] = F[record, F_TRANSITION]
                    Q[Q_RECORDS_LEFT] -= 1
                    F[record, F_TRANSITION] = t
                    F[record, F_BIRTH] = birth
                    F[record, F_NUMBER] = number
                    for k in range(n_fields):
                        F[record, F_DATA + k] = np.int64(V[k])
                    for k in range(T[t, T_GIVE_END] - T[t, T_GIVE]):
                        p = scratch[n_take + k, 0]
                        F[record, F_DATA + n_fields + 2 * k] = p
                        F[record, F_DATA + n_fields + 2 * k + 1] = scratch[n_take + k, 1]
                        if P[p, P_LIMITED]:
                            P[p, P_COMING] += scratch[n_take + k, 1]
                            D[last, 0] = p
                            D[last, 1] = 0
                            last += 1
                    Q[Q_HEAP] = _add(HT, POS, Q[Q_HEAP], now + wait, number, record)
            else:
                for k in range(n_fields):
                    V[k] = F[ending, F_DATA + k]
                for k in range(T[t, T_GIVE_END] - T[t, T_GIVE]):
                    p, w = F[ending, F_DATA + n_fields + 2 * k], F[ending, F_DATA + n_fields + 2 * k + 1]
                    scratch[n_take + k, 0] = p
                    scratch[n_take + k, 1] = w
                    P[p, P_COMING] -= w * P[p, P_LIMITED]
                tokens_given = 0.0
                for k in range(T[t, T_GIVE_END] - T[t, T_GIVE]):
                    if A[T[t, T_GIVE] + k, A_DATA]:
                        tokens_given += scratch[n_take + k, 1]
                if tokens_given > Q[Q_TOKENS_LEFT]:  # nothing was changed but the heap
                    for k in range(T[t, T_GIVE_END] - T[t, T_GIVE]):
                        P[scratch[n_take + k, 0], P_COMING] += (
                            scratch[n_take + k, 1] * P[scratch[n_take + k, 0], P_LIMITED]
                        )
                    Q[Q_HEAP] = _add(HT, POS, Q[Q_HEAP], now, number, ending)
                    return NO_ROOM
                F[ending, F_TRANSITION] = Q[Q_RECORD]
                Q[Q_RECORD] = ending
                Q[Q_RECORDS_LEFT] += 1
            if over:
                for k in range(T[t, T_GIVE_END] - T[t, T_GIVE]):
                    p = scratch[n_take + k, 0]
                    if A[T[t, T_GIVE] + k, A_DATA]:
                        for _ in range(scratch[n_take + k, 1]):
                            token = Q[Q_TOKEN]
                            Q[Q_TOKEN] = K[token, K_NEXT]
                            Q[Q_TOKENS_LEFT] -= 1
                            K[token, K_NEXT] = -1
                            K[token, K_BIRTH] = birth
                            for j in range(n_fields):
                                K[token, K_DATA + j] = np.int64(V[j])
                            if P[p, P_HEAD] < 0:
                                P[p, P_HEAD] = token
                            else:
                                K[P[p, P_TAIL], K_NEXT] = token
                            P[p, P_TAIL] = token
                    D[last, 0] = p
                    D[last, 1] = scratch[n_take + k, 1]
                    last += 1
        if race and flags & TIMED:
            Q[Q_HEAP] = _remove(HT, POS, Q[Q_HEAP], 0)
            _note(S, S_TIMER, t, timers, Q, Q_TIMERS)  # it needs another clock, whatever changes
        if ending < 0:
            Q[Q_SEQUENCE] += 1
            Q[Q_INSTANT] += 1
        if Q[Q_LOG] < len(log):
            n = Q[Q_LOG]
            log[n, 0], log[n, 1], log[n, 2], log[n, 3] = now, t, number, 0
            if over:
                log[n, 3] = 1 if ending >= 0 else 2
            for k in range(n_fields):
                log[n, LOG_DATA + k] = 0 if flags & FAST else np.int64(V[k])
            Q[Q_LOG] = n + 1
        # ---- tokens, and what that enables and disables
        for k in range(first, last):
            p, change = D[k, 0], D[k, 1]
            a = P[p, P_TOKENS]
            b = a + change
            state.area[p] += a * (now - P[p, P_SINCE])
            P[p, P_SINCE] = now
            P[p, P_TOKENS] = b
            for c in range(P[p, P_MET], P[p, P_MET_END]):
                enough = b >= met[c, 1]
                if (a >= met[c, 1]) != enough:
                    d = met[c, 0]
                    if enough == (met[c, 2] == 1):
                        S[d, S_UNMET] -= 1
                        turned = S[d, S_UNMET] == 0
                    else:
                        S[d, S_UNMET] += 1
                        turned = S[d, S_UNMET] == 1
                    if turned:
                        if T[d, T_FLAGS] & CHECKED:
                            _note(S, S_DIRTY, d, dirty, Q, Q_DIRTY)
                        elif race and T[d, T_FLAGS] & TIMED:
                            _note(S, S_TIMER, d, timers, Q, Q_TIMERS)
                        else:
                            bits[T[d, T_WORD]] ^= ONE << np.uint64(T[d, T_BIT])
                            levels[T[d, T_LEVEL], V_COUNT] += 1 if S[d, S_UNMET] == 0 else -1
            for c in range(P[p, P_READ], P[p, P_READ_END]):
                _note(S, S_DIRTY, rules.readers[c], dirty, Q, Q_DIRTY)
        if over:
            S[t, S_FIRED] += 1
            Q[Q_FIRED] += 1
            if not flags & FAST:
                for k in range(n_fields):
                    state.moved[t, k] += V[k]
            if flags & ENDS:
                state.histogram[T[t, T_HISTOGRAM], _bin(now - birth)] += 1
                state.latency[T[t, T_HISTOGRAM]] += now - birth
            if Q[Q_FIRED] >= firings:
                return COUNT_UP
        if Q[Q_INSTANT] > INSTANT_LIMIT:
            Q[Q_WHO] = t
            return ENDLESS
