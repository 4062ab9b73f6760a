"""Petri nets whose delays and weights are numbers, and what all nets share: who may fire, tokens that change."""

import numpy as np

from npexplore._kernels.petri_heap import _add, _remove
from npexplore._kernels.petri_layout import *
from npexplore._kernels.petri_values import _ones, _ticks, _uniform
from npexplore.jit import kernel


@kernel(forceinline=True, _nrt=False)
def _note(S, column, d, stack, Q, top):
    """Put a transition on a stack once."""
    if S[d, column] == 0:
        S[d, column] = 1
        stack[Q[top]] = d
        Q[top] += 1


@kernel(forceinline=True, _nrt=False)
def _choice(rules, state, choices):
    """Return what fires of all that may, -1 if nothing may: of the highest priority one by weight at random."""
    levels, order, bits, weight, rng = rules.levels, rules.order, state.bits, state.weight, state.rng
    for v in range(len(levels)):
        count = levels[v, V_COUNT]
        if count == 0:
            continue
        word = levels[v, V_FIRST]
        if count == 1:
            while bits[word] == ZERO:
                word += 1
            rest = bits[word]
        elif levels[v, V_ALIKE]:
            k = min(np.int64(_uniform(rng, choices) * count), count - 1)
            ones = _ones(bits[word])
            while k >= ones:
                k -= ones
                word += 1
                ones = _ones(bits[word])
            rest = bits[word]
            for _ in range(k):
                rest &= rest - ONE
        else:
            total = 0.0
            for w in range(levels[v, V_FIRST], levels[v, V_END]):
                rest = bits[w]
                while rest != ZERO:
                    total += weight[order[64 * w + _ones((rest - ONE) & ~rest)]]
                    rest &= rest - ONE
            x = _uniform(rng, choices) * total
            rest = ZERO
            for w in range(levels[v, V_FIRST], levels[v, V_END]):
                some = bits[w]
                while some != ZERO:
                    rest, word = some, w
                    x -= weight[order[64 * w + _ones((some - ONE) & ~some)]]
                    if x < 0:
                        break
                    some &= some - ONE
                if x < 0:
                    break
        return order[64 * word + _ones((rest - ONE) & ~rest)]
    return -1


@kernel(forceinline=True, _nrt=False)
def _change(part, now, P, area, S, N, D, met, bits, levels):
    """Change the tokens of places, and what that enables and disables where no formula decides; rows lie flat.

    part: where N says which changes.
    """
    for k in range(np.uint64(N[part]), np.uint64(N[part + ONE])):
        p = np.uint64(D[k << ONE])
        row = p << P_SHIFT
        a = P[row]
        b = a + D[k << ONE | ONE]
        area[p] += a * (now - P[row + SINCE])
        P[row + SINCE] = now
        P[row] = b
        for c in range(np.uint64(P[row + MET]), np.uint64(P[row + MET_END])):
            least = met[c << TWO | ONE]
            enough = b >= least
            if (a >= least) != enough:
                d = np.uint64(met[c << TWO])
                at = d << S_SHIFT
                before = S[at]
                after = before - 1 if enough == (met[c << TWO | TWO] == 1) else before + 1
                S[at] = after
                if after == 0 or before == 0:
                    n = d << N_SHIFT
                    bits[np.uint64(N[n + WORD])] ^= np.uint64(N[n + MASK])
                    levels[np.uint64(N[n + LEVEL])] += 1 if after == 0 else -1


@kernel(_nrt=False)
def _plain(rules, state, log, until, firings):
    """Run a net of durations whose tokens carry nothing and in which no formula or capacity decides; see `advance`."""
    T, TF, N = rules.T, rules.TF, rules.N
    area, bits, near, HT, POS = state.area, state.bits, state.near, state.HT, state.POS
    rng, Q = state.rng, state.Q
    choices = len(rng) - 1
    flat, fires, arcs = state.P.reshape(-1), state.S.reshape(-1), rules.D.reshape(-1)
    conditions, counts = rules.met.reshape(-1), rules.levels.reshape(-1)
    now, fired, number, instant = Q[Q_NOW], Q[Q_FIRED], Q[Q_SEQUENCE], Q[Q_INSTANT]
    first, many, far, logged = np.uint64(Q[Q_NEAR_FIRST]), Q[Q_NEAR], Q[Q_HEAP], Q[Q_LOG]
    status = -1
    while status < 0:
        if many > 0 and near[first] == now:
            number_of, t = near[first + ONE], np.uint64(near[first + TWO])
            first = (first + FOUR) & NEAR_ROUND
            many -= 1
            if many == 0:
                while far > 0 and many < NEAR_MOST // 2:
                    at = (first + (np.uint64(many) << TWO)) & NEAR_ROUND
                    near[at], near[at + ONE], near[at + TWO] = HT[0, 0], HT[0, 1], HT[0, 2]
                    far = _remove(HT, POS, far, 0)
                    many += 1
            how, this = 1, number_of
        else:
            if far == len(HT):
                status = NO_ROOM
                break
            chosen = _choice(rules, state, choices)
            if chosen < 0:
                if many == 0:
                    status = DEAD
                    break
                if near[first] > until:
                    now = until
                    status = TIME_UP
                    break
                if near[first] != now:
                    now = near[first]
                    instant = 0
                continue
            t = np.uint64(chosen)
            row = t << N_SHIFT
            wait = N[row + WAIT]
            if wait < 0:
                wait = _ticks(T, TF, chosen, TF[chosen, 0], rng)
            _change(row, now, flat, area, fires, N, arcs, conditions, bits, counts)
            how, this = 0, number
            number += 1
            instant += 1
            if wait == 0:
                how = 2
            else:
                time = now + wait
                last = (first + (np.uint64(many) << TWO) - FOUR) & NEAR_ROUND
                if many == NEAR_MOST and time < near[last]:
                    far = _add(HT, POS, far, near[last], near[last + ONE], near[last + TWO])
                    many -= 1
                if time >= near[last] and (far > 0 or many == NEAR_MOST):
                    far = _add(HT, POS, far, time, this, chosen)
                else:  # behind those that end with it or before
                    at = (first + (np.uint64(many) << TWO)) & NEAR_ROUND
                    for _ in range(many):
                        last = (at - FOUR) & NEAR_ROUND
                        if near[last] <= time:
                            break
                        near[at], near[at + ONE], near[at + TWO] = near[last], near[last + ONE], near[last + TWO]
                        at = last
                    near[at], near[at + ONE], near[at + TWO] = time, this, chosen
                    many += 1
            if instant > INSTANT_LIMIT:
                Q[Q_WHO] = chosen
                status = ENDLESS
        if logged < len(log):
            log[logged, 0], log[logged, 1], log[logged, 2], log[logged, 3] = now, np.int64(t), this, how
            logged += 1
        if how > 0:
            _change((t << N_SHIFT) + END, now, flat, area, fires, N, arcs, conditions, bits, counts)
            fires[(t << S_SHIFT) + FIRED] += 1
            fired += 1
            if fired >= firings:
                status = COUNT_UP
    Q[Q_NOW], Q[Q_FIRED], Q[Q_SEQUENCE], Q[Q_INSTANT] = now, fired, number, instant
    Q[Q_NEAR_FIRST], Q[Q_NEAR], Q[Q_HEAP], Q[Q_LOG] = np.int64(first), many, far, logged
    return status
