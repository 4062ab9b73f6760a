"""Runs Petri nets in integer ticks: one compilation for every net, which is in arrays as the names below say.

duration: a firing takes its tokens when it begins and gives others when it ends; all that ends at an instant ends
before anything begins. race: each timed transition has one clock, which runs while it is enabled and is drawn anew
when it was not, when it fired, or (exponential) when its rate changed; what takes no time comes first. Of what may fire
the highest priority does, one of it by weight at random. Streams of random numbers: one a transition, one for choices.
"""

import math

import numpy as np

from npexplore.jit import kernel, types

# ---- transitions: program
(
    T_LEVEL, T_WORD, T_BIT, T_FLAGS, T_DELTA, T_DELTA_END, T_TAKE, T_TAKE_END, T_GIVE, T_GIVE_END, T_LOOK, T_LOOK_END, T_GUARD, T_GUARD_END,
    T_SET, T_SET_END, T_LIMIT, T_LIMIT_END, T_KIND, T_STAGES, T_DELAY, T_RATE, T_WEIGHT, T_SERVERS, T_HISTOGRAM,
) = range(25)  # fmt: skip
T_WIDTH = 25
TIMED, FAST, CHECKED, DATA, FEEDS, ENDS = 1, 2, 4, 8, 16, 32  # flags
FIXED, EXPONENTIAL, UNIFORM, ERLANG, HYPEREXPONENTIAL, FORMULA, NONE = range(7)  # delays; their ticks are in TF
# ---- transitions: state
S_UNMET, S_ABLE, S_DIRTY, S_TIMER, S_FIRED = range(5)
S_WIDTH, S_SHIFT = 8, np.uint64(3)
# ---- arcs, conditions on one place (transition, tokens, 1: at least, 0: fewer), arcs looked at by formula, limits
A_PLACE, A_WEIGHT, A_FORMULA, A_TARGET, A_DATA, A_COPY, A_COPY_END = range(7)
L_PLACE, L_WEIGHT, L_FORMULA, L_TARGET, L_FEWER = range(5)
C_PLACE, C_CAPACITY, C_GIVE, C_GIVE_FORMULA, C_TAKE, C_TAKE_FORMULA = range(6)
# ---- places
P_TOKENS, P_SINCE, P_MET, P_MET_END, P_READ, P_READ_END, P_COMING, P_LIMITED, P_HEAD, P_TAIL = range(10)
P_WIDTH, P_SHIFT = 16, np.uint64(4)
# ---- plain transitions: what of D a firing changes as it begins and as it ends, their bit, FIXED's ticks or -1
N_BEGIN, N_BEGIN_END, N_END, N_END_END, N_LEVEL, N_WORD, N_MASK, N_WAIT = range(8)
N_WIDTH, N_SHIFT = 8, np.uint64(3)
# ---- the next of a plain net's firings under way, in a circle; the later ones are in the heap
NEAR_WIDTH, NEAR_MOST, NEAR_MASK = 4, 32, 127
# ---- levels of priority: words of bits, whether all weights are alike, how many are enabled
V_FIRST, V_END, V_ALIKE, V_COUNT = range(4)
# ---- tokens with data, and firings under way: next or transition, birth, then what they carry
K_NEXT, K_BIRTH, K_DATA = range(3)
F_TRANSITION, F_BIRTH, F_NUMBER, F_DATA = range(4)
# ---- clock
(
    Q_NOW, Q_SEQUENCE, Q_HEAP, Q_DIRTY, Q_TIMERS, Q_FIRED, Q_INSTANT, Q_TOKEN, Q_TOKENS_LEFT, Q_RECORD, Q_RECORDS_LEFT, Q_ROW, Q_LOG, Q_RACE,
    Q_FIELDS, Q_GIVES, Q_WHO, Q_TICKS, Q_PLAIN, Q_NEAR, Q_NEAR_FIRST,
) = range(21)  # fmt: skip
Q_WIDTH = 21
# ---- status
TIME_UP, COUNT_UP, DEAD, ENDLESS, FULL, BAD_TOKENS, BAD_FIELD, BAD_DELAY, BAD_RATE, BAD_DIVISION = range(10)
INSTANT_LIMIT = 1_000_000
MOST_TOKENS = 1_000_000_000  # that pass an arc at once
BINS = 1920
# ---- log: time, transition, firing number, 0 begins and 1 ends, then what its tokens carry
LOG_DATA = 4
# ---- operations of formulas
OPERATIONS = (
    "CONST", "TOKENS", "TOKENS_AT", "FIELD", "FEED", "CHANCE", "DRAW", "ADD", "SUB", "MUL", "DIV", "FLOORDIV", "MOD", "NEG", "LT", "LE", "GT", "GE",
    "EQ", "NE", "AND", "OR", "NOT", "MIN", "MAX", "FLOOR", "CEIL", "UNLESS", "GO_ON",
)  # fmt: skip
(
    CONST, TOKENS, TOKENS_AT, FIELD, FEED, CHANCE, DRAW, ADD, SUB, MUL, DIV, FLOORDIV, MOD, NEG, LT, LE, GT, GE,
    EQ, NE, AND, OR, NOT, MIN, MAX, FLOOR, CEIL, UNLESS, GO_ON,
) = range(29)  # fmt: skip
STACK = 64  # numbers that a formula keeps at most; behind them: whether one divided by zero
GOLDEN = np.uint64(0x9E3779B97F4A7C15)
MIX1 = np.uint64(0xBF58476D1CE4E5B9)
MIX2 = np.uint64(0x94D049BB133111EB)
ONE = np.uint64(1)
ZERO, TWO, FOUR = np.uint64(0), np.uint64(2), np.uint64(4)
# the same as offsets without a sign: the compiler then asks for no way around the end
NEAR_ROUND = np.uint64(NEAR_MASK)
SINCE, MET, MET_END = np.uint64(P_SINCE), np.uint64(P_MET), np.uint64(P_MET_END)
END, LEVEL, WORD = np.uint64(N_END), np.uint64(N_LEVEL), np.uint64(N_WORD)
MASK, WAIT, FIRED = np.uint64(N_MASK), np.uint64(N_WAIT), np.uint64(S_FIRED)


@kernel(forceinline=True, _nrt=False)
def _uniform(rng, stream):
    """Return a number in [0, 1) (SplitMix64; Steele, Lea & Flood, OOPSLA 2014)."""
    x = rng[stream] + GOLDEN
    rng[stream] = x
    z = (x ^ (x >> np.uint64(30))) * MIX1
    z = (z ^ (z >> np.uint64(27))) * MIX2
    z = z ^ (z >> np.uint64(31))
    return np.float64(np.int64(z >> np.uint64(11))) * 1.1102230246251565e-16


@kernel(forceinline=True, _nrt=False)
def _ones(word):
    """Return how many bits of a word are set."""
    x = word - ((word >> np.uint64(1)) & np.uint64(0x5555555555555555))
    x = (x & np.uint64(0x3333333333333333)) + ((x >> np.uint64(2)) & np.uint64(0x3333333333333333))
    x = (x + (x >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return np.int64((x * np.uint64(0x0101010101010101)) >> np.uint64(56))


@kernel(forceinline=True, _nrt=False)
def _before(HT, i, j):
    return HT[i, 0] < HT[j, 0] or (
        HT[i, 0] == HT[j, 0] and (HT[i, 1] < HT[j, 1] or (HT[i, 1] == HT[j, 1] and HT[i, 2] < HT[j, 2]))
    )


@kernel(forceinline=True, _nrt=False)
def _swap(HT, POS, i, j):
    """Let two entries of the heap change places; whoever comes to j is told later, by whoever moves it on."""
    for k in range(3):
        HT[i, k], HT[j, k] = HT[j, k], HT[i, k]
    POS[HT[i, 2]] = i


@kernel(_nrt=False)
def _rise(HT, POS, i):
    """Move an entry of the heap (time, tie, slot) up to its place."""
    while i > 0:
        up = (i - 1) >> 1
        if not _before(HT, i, up):
            break
        _swap(HT, POS, i, up)
        i = up
    POS[HT[i, 2]] = i


@kernel(_nrt=False)
def _remove(HT, POS, n, i):
    """Take an entry out of a heap of n."""
    POS[HT[i, 2]] = -1
    last = n - 1
    if i == last:
        return
    for k in range(3):
        HT[i, k] = HT[last, k]
    POS[HT[i, 2]] = i
    at = i
    while True:
        child = 2 * at + 1
        if child >= last:
            break
        if child + 1 < last and _before(HT, child + 1, child):
            child += 1
        if not _before(HT, child, at):
            break
        _swap(HT, POS, at, child)
        at = child
    POS[HT[at, 2]] = at
    if at == i:
        _rise(HT, POS, i)


@kernel(_nrt=False)
def _longer(code, consts, E, formula, P, V, table, row, rng, stream, stack):
    """Return the value of a formula in postfix form.

    AND and OR stand behind their first operand, with how many rows the second has: it is passed over where the first
    decides. UNLESS passes over as many rows where its operand is 0, GO_ON always.
    """
    n = 0
    k, end = E[formula], E[formula + 1]
    while k < end:
        op, x = code[k, 0], code[k, 1]
        k += 1
        if op == CONST:
            stack[n] = consts[x]
            n += 1
        elif op == TOKENS:
            stack[n] = P[x, P_TOKENS]
            n += 1
        elif op == FIELD:
            stack[n] = V[x]
            n += 1
        elif op == FEED:
            stack[n] = table[row, x]
            n += 1
        elif op == TOKENS_AT:
            stack[n - 1] = P[x + np.int64(stack[n - 1]), P_TOKENS]
        elif op == CHANCE:
            stack[n - 1] = 1.0 if _uniform(rng, stream) < stack[n - 1] else 0.0
        elif op == DRAW:
            stack[n - 1] = math.floor(_uniform(rng, stream) * stack[n - 1])
        elif op == NEG:
            stack[n - 1] = -stack[n - 1]
        elif op == NOT:
            stack[n - 1] = 1.0 if stack[n - 1] == 0.0 else 0.0
        elif op == FLOOR:
            stack[n - 1] = math.floor(stack[n - 1])
        elif op == CEIL:
            stack[n - 1] = math.ceil(stack[n - 1])
        elif op == AND or op == OR:
            decided = stack[n - 1] != 0.0
            if decided == (op == OR):
                stack[n - 1] = 1.0 if decided else 0.0
                k += x
            else:
                n -= 1
        elif op == UNLESS:
            n -= 1
            if stack[n] == 0.0:
                k += x
        elif op == GO_ON:
            k += x
        else:
            n -= 1
            a, b = stack[n - 1], stack[n]
            if op == ADD:
                c = a + b
            elif op == SUB:
                c = a - b
            elif op == MUL:
                c = a * b
            elif op == DIV:
                if b == 0.0:
                    stack[STACK] = 1.0
                c = a / b
            elif op == FLOORDIV:
                if b == 0.0:
                    stack[STACK] = 1.0
                c = math.floor(a / b)
            elif op == MOD:
                if b == 0.0:
                    stack[STACK] = 1.0
                c = a - b * math.floor(a / b)
            elif op == LT:
                c = 1.0 if a < b else 0.0
            elif op == LE:
                c = 1.0 if a <= b else 0.0
            elif op == GT:
                c = 1.0 if a > b else 0.0
            elif op == GE:
                c = 1.0 if a >= b else 0.0
            elif op == EQ:
                c = 1.0 if a == b else 0.0
            elif op == NE:
                c = 1.0 if a != b else 0.0
            elif op == MIN:
                c = min(a, b)
            else:
                c = max(a, b)
            stack[n - 1] = c
    return stack[0]


@kernel(forceinline=True, _nrt=False)
def _value(code, consts, E, formula, P, V, table, row, rng, stream, stack):
    """Return the value of a formula; what is one number or field is not worth a call."""
    k = E[formula]
    if E[formula + 1] == k + 1:
        if code[k, 0] == CONST:
            return consts[code[k, 1]]
        if code[k, 0] == FIELD:
            return V[code[k, 1]]
    return _longer(code, consts, E, formula, P, V, table, row, rng, stream, stack)


@kernel(_nrt=False)
def _carried(T, A, copies, t, P, K, V):
    """Read what the tokens carry that a transition would take: of a field's first token."""
    for a in range(T[t, T_TAKE], T[t, T_TAKE_END]):
        if A[a, A_DATA]:
            token = P[A[a, A_PLACE], P_HEAD]
            for c in range(A[a, A_COPY], A[a, A_COPY_END]):
                V[copies[c]] = K[token, K_DATA + copies[c]]


@kernel(_nrt=False)
def _degree(T, A, t, P, code, consts, E, V, table, rng, stack):
    """Return how many clocks of a transition run at once."""
    degree = T[t, T_SERVERS]
    for a in range(T[t, T_TAKE], T[t, T_TAKE_END]):
        w = A[a, A_WEIGHT]
        if A[a, A_FORMULA] >= 0:
            w = np.int64(_value(code, consts, E, A[a, A_FORMULA], P, V, table, 0, rng, t, stack))
        p = A[a, A_PLACE]
        if A[a, A_TARGET] >= 0:
            p += np.int64(_value(code, consts, E, A[a, A_TARGET], P, V, table, 0, rng, t, stack))
        degree = min(degree, P[p, P_TOKENS] // max(w, 1))
    return degree


@kernel(_nrt=False)
def _ticks(T, TF, t, mean, rng):
    """Return a drawn delay."""
    kind = T[t, T_KIND]
    if kind == FIXED:
        return np.int64(mean)
    if kind == EXPONENTIAL:
        x = -math.log1p(-_uniform(rng, t)) * mean
    elif kind == UNIFORM:
        x = mean + _uniform(rng, t) * (TF[t, 1] - mean)
    elif kind == ERLANG:
        x = 0.0
        for _ in range(T[t, T_STAGES]):
            x -= math.log1p(-_uniform(rng, t))
        x *= mean
    else:
        first = _uniform(rng, t) < TF[t, 2]
        x = -math.log1p(-_uniform(rng, t)) * (mean if first else TF[t, 1])
    return np.int64(min(x, 9e15) + 0.5)


@kernel(forceinline=True, _nrt=False)
def _note(S, column, d, stack, Q, top):
    """Put a transition on a stack once."""
    if S[d, column] == 0:
        S[d, column] = 1
        stack[Q[top]] = d
        Q[top] += 1


@kernel(_nrt=False)
def _bin(value):
    """Return the histogram bin of a time: exact below 64 ticks, then 32 bins an octave."""
    if value < 64:
        return value
    exponent = 0
    while (value >> exponent) >= 64:
        exponent += 1
    return 32 * exponent + (value >> exponent)


@kernel(forceinline=True, _nrt=False)
def _choice(levels, bits, order, weight, rng, choices):
    """Return what fires of all that may, -1 if nothing may: of the highest priority one by weight at random."""
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
def _plain(T, TF, N, D, met, P, area, S, levels, order, weight, bits, near, HT, POS, rng, Q, log, until, firings):
    """Run a net of durations whose tokens carry nothing and in which no formula or capacity decides; see `advance`."""
    choices = len(rng) - 1
    flat, state, arcs = P.reshape(-1), S.reshape(-1), D.reshape(-1)
    conditions, counts = met.reshape(-1), levels.reshape(-1)
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
                    _remove(HT, POS, far, 0)
                    far -= 1
                    many += 1
            how, this = 1, number_of
        else:
            if far == len(HT):
                status = FULL
                break
            chosen = _choice(levels, bits, order, weight, rng, choices)
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
            _change(row, now, flat, area, state, N, arcs, conditions, bits, counts)
            how, this = 0, number
            number += 1
            instant += 1
            if wait == 0:
                how = 2
            else:
                time = now + wait
                last = (first + (np.uint64(many) << TWO) - FOUR) & NEAR_ROUND
                if many == NEAR_MOST and time < near[last]:
                    HT[far, 0], HT[far, 1], HT[far, 2] = near[last], near[last + ONE], near[last + TWO]
                    far += 1
                    _rise(HT, POS, far - 1)
                    many -= 1
                if time >= near[last] and (far > 0 or many == NEAR_MOST):
                    HT[far, 0], HT[far, 1], HT[far, 2] = time, this, chosen
                    far += 1
                    _rise(HT, POS, far - 1)
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
            _change((t << N_SHIFT) + END, now, flat, area, state, N, arcs, conditions, bits, counts)
            state[(t << S_SHIFT) + FIRED] += 1
            fired += 1
            if fired >= firings:
                status = COUNT_UP
    Q[Q_NOW], Q[Q_FIRED], Q[Q_SEQUENCE], Q[Q_INSTANT] = now, fired, number, instant
    Q[Q_NEAR_FIRST], Q[Q_NEAR], Q[Q_HEAP], Q[Q_LOG] = np.int64(first), many, far, logged
    return status


_i1 = types.int64[::1]
_i2 = types.int64[:, ::1]
_f1 = types.float64[::1]
_f2 = types.float64[:, ::1]
_u1 = types.uint64[::1]
SIGNATURE = types.int64(
    _i2, _f2, _i1, _i2, _i1, _i2, _i2, _i2, _i2, _i1, _i1, _i2, _i2, _i1, _i2, _f1, _i1, _f2,
    _i2, _f1, _i2, _f1, _f1, _u1, _i1, _i1, _i2, _i2, _i1, _i2, _i1, _u1, _i1, _f1, _f1, _i2, _i2, _f1, _f2, _i2, types.int64, types.int64,
)  # fmt: skip


@kernel(SIGNATURE, _nrt=False)
def advance(
    T, TF, N, A, copies, sets, looks, limits, met, readers, guards, D, levels, order, code, consts, E, table,
    P, area, S, rate, weight, bits, dirty, timers, K, F, near, HT, POS, rng, Q, V, stack, scratch, histogram, latency, moved, log, until, firings,
):  # fmt: skip
    """Run until a time or until so many firings have ended; return a status. Of FULL nothing was changed."""
    if Q[Q_PLAIN]:
        return _plain(
            T, TF, N, D, met, P, area, S, levels, order, weight, bits, near, HT, POS, rng, Q, log, until, firings
        )
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
                        p, w = looks[k, L_PLACE], np.float64(looks[k, L_WEIGHT])
                        if looks[k, L_FORMULA] >= 0:
                            w = _value(code, consts, E, looks[k, L_FORMULA], P, V, table, 0, rng, d, stack)
                            if not (0 <= w <= MOST_TOKENS and w == math.floor(w)):
                                Q[Q_WHO] = d
                                return BAD_TOKENS
                        if looks[k, L_TARGET] >= 0:
                            p += np.int64(_value(code, consts, E, looks[k, L_TARGET], P, V, table, 0, rng, d, stack))
                        if (P[p, P_TOKENS] >= w) == (looks[k, L_FEWER] == 1):
                            able = False
                            break
                if able:
                    for k in range(T[d, T_GUARD], T[d, T_GUARD_END]):
                        if _value(code, consts, E, guards[k], P, V, table, 0, rng, d, stack) == 0.0:
                            able = False
                            break
                if able:
                    for k in range(T[d, T_LIMIT], T[d, T_LIMIT_END]):
                        change = np.float64(limits[k, C_GIVE] - limits[k, C_TAKE])
                        if limits[k, C_GIVE_FORMULA] >= 0:
                            change += _value(code, consts, E, limits[k, C_GIVE_FORMULA], P, V, table, 0, rng, d, stack)
                        if limits[k, C_TAKE_FORMULA] >= 0:
                            change -= _value(code, consts, E, limits[k, C_TAKE_FORMULA], P, V, table, 0, rng, d, stack)
                        p = limits[k, C_PLACE]
                        if change > 0 and P[p, P_TOKENS] + P[p, P_COMING] + change > limits[k, C_CAPACITY]:
                            able = False
                            break
                if able and T[d, T_WEIGHT] >= 0:
                    weight[d] = _value(code, consts, E, T[d, T_WEIGHT], P, V, table, 0, rng, d, stack)
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
            t = _choice(levels, bits, order, weight, rng, choices)
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
                            r = _value(code, consts, E, T[d, T_RATE], P, V, table, 0, rng, d, stack)
                            if not (r >= 0 and r < math.inf):
                                Q[Q_WHO] = d
                                return BAD_RATE
                            speed = Q[Q_TICKS] / r if r > 0 else math.inf
                        if T[d, T_SERVERS] != 1:
                            speed /= _degree(T, A, d, P, code, consts, E, V, table, rng, stack)
                        if stack[STACK] != 0.0:
                            Q[Q_WHO] = d
                            return BAD_DIVISION
                        able = speed < math.inf
                    if POS[d] >= 0 and (not able or speed != rate[d]):
                        _remove(HT, POS, Q[Q_HEAP], POS[d])
                        Q[Q_HEAP] -= 1
                    if able and POS[d] < 0:
                        rate[d] = speed
                        wait = _ticks(T, TF, d, speed, rng)
                        n = Q[Q_HEAP]
                        HT[n, 0] = now + wait
                        HT[n, 1] = 0
                        if T[d, T_KIND] != EXPONENTIAL:
                            HT[n, 1] = np.int64(_uniform(rng, d) * 9007199254740992.0)
                        HT[n, 2] = d
                        Q[Q_HEAP] = n + 1
                        _rise(HT, POS, n)
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
            _remove(HT, POS, Q[Q_HEAP], 0)
            Q[Q_HEAP] -= 1
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
                    row = Q[Q_ROW] % len(table)
                    Q[Q_ROW] += 1
                for k in range(n_fields):
                    V[k] = 0.0
                if flags & DATA:
                    _carried(T, A, copies, t, P, K, V)
                for k in range(T[t, T_SET], T[t, T_SET_END]):
                    x = _value(code, consts, E, sets[k, 1], P, V, table, row, rng, t, stack)
                    if x != math.floor(x) or not abs(x) < 9e15 or (sets[k, 3] >= 0 and not (0 <= x <= sets[k, 3])):
                        Q[Q_WHO] = t
                        return BAD_FIELD
                    V[sets[k, 0]] = x
                made = 0.0
                for k in range(n_take + T[t, T_GIVE_END] - T[t, T_GIVE]):
                    a = T[t, T_TAKE] + k if k < n_take else T[t, T_GIVE] + k - n_take
                    w = np.float64(A[a, A_WEIGHT])
                    if A[a, A_FORMULA] >= 0:
                        w = _value(code, consts, E, A[a, A_FORMULA], P, V, table, row, rng, t, stack)
                        if not (0 <= w <= MOST_TOKENS and w == math.floor(w)):
                            Q[Q_WHO] = t
                            return BAD_TOKENS
                    p = A[a, A_PLACE]
                    if A[a, A_TARGET] >= 0:
                        p += np.int64(_value(code, consts, E, A[a, A_TARGET], P, V, table, row, rng, t, stack))
                    scratch[k, 0] = p
                    scratch[k, 1] = np.int64(w)
                    if A[a, A_DATA] and k >= n_take:
                        made += w
                wait = 0
                if flags & TIMED and not race:
                    if T[t, T_KIND] == FORMULA:
                        x = _value(code, consts, E, T[t, T_DELAY], P, V, table, row, rng, t, stack) * Q[Q_TICKS]
                        if not (x >= 0 and x < 9e15):
                            Q[Q_WHO] = t
                            return BAD_DELAY
                        wait = np.int64(x + 0.5)
                    else:
                        wait = _ticks(T, TF, t, TF[t, 0], rng)
                if stack[STACK] != 0.0:
                    Q[Q_WHO] = t
                    return BAD_DIVISION
                if made > Q[Q_TOKENS_LEFT] or (wait > 0 and Q[Q_RECORDS_LEFT] == 0):
                    rng[choices] = saved
                    rng[t] = own
                    if flags & FEEDS:
                        Q[Q_ROW] -= 1
                    return FULL
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
                    n = Q[Q_HEAP]
                    HT[n, 0] = now + wait
                    HT[n, 1] = number
                    HT[n, 2] = record
                    Q[Q_HEAP] = n + 1
                    _rise(HT, POS, n)
            else:
                for k in range(n_fields):
                    V[k] = F[ending, F_DATA + k]
                for k in range(T[t, T_GIVE_END] - T[t, T_GIVE]):
                    p, w = F[ending, F_DATA + n_fields + 2 * k], F[ending, F_DATA + n_fields + 2 * k + 1]
                    scratch[n_take + k, 0] = p
                    scratch[n_take + k, 1] = w
                    P[p, P_COMING] -= w * P[p, P_LIMITED]
                made = 0.0
                for k in range(T[t, T_GIVE_END] - T[t, T_GIVE]):
                    if A[T[t, T_GIVE] + k, A_DATA]:
                        made += scratch[n_take + k, 1]
                if made > Q[Q_TOKENS_LEFT]:  # nothing was changed but the heap
                    for k in range(T[t, T_GIVE_END] - T[t, T_GIVE]):
                        P[scratch[n_take + k, 0], P_COMING] += (
                            scratch[n_take + k, 1] * P[scratch[n_take + k, 0], P_LIMITED]
                        )
                    n = Q[Q_HEAP]
                    HT[n, 0] = now
                    HT[n, 1] = number
                    HT[n, 2] = ending
                    Q[Q_HEAP] = n + 1
                    _rise(HT, POS, n)
                    return FULL
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
            _remove(HT, POS, Q[Q_HEAP], 0)
            Q[Q_HEAP] -= 1
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
            area[p] += a * (now - P[p, P_SINCE])
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
                _note(S, S_DIRTY, readers[c], dirty, Q, Q_DIRTY)
        if over:
            S[t, S_FIRED] += 1
            Q[Q_FIRED] += 1
            if not flags & FAST:
                for k in range(n_fields):
                    moved[t, k] += V[k]
            if flags & ENDS:
                histogram[T[t, T_HISTOGRAM], _bin(now - birth)] += 1
                latency[T[t, T_HISTOGRAM]] += now - birth
            if Q[Q_FIRED] >= firings:
                return COUNT_UP
        if Q[Q_INSTANT] > INSTANT_LIMIT:
            Q[Q_WHO] = t
            return ENDLESS
