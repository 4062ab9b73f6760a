"""What numbers a Petri net asks for: random ones, formulas, delays, how often a transition may fire at once."""

import math

import numpy as np

from npexplore._kernels.engine_random import GOLDEN, _unit
from npexplore._kernels.petri_layout import *
from npexplore.jit import kernel


@kernel(forceinline=True, _nrt=False)
def _uniform(rng, stream):
    """Return the next number in [0, 1) of a stream."""
    rng[stream] += GOLDEN
    return _unit(rng[stream])


@kernel(forceinline=True, _nrt=False)
def _ones(word):
    """Return how many bits of a word are set."""
    x = word - ((word >> np.uint64(1)) & np.uint64(0x5555555555555555))
    x = (x & np.uint64(0x3333333333333333)) + ((x >> np.uint64(2)) & np.uint64(0x3333333333333333))
    x = (x + (x >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return np.int64((x * np.uint64(0x0101010101010101)) >> np.uint64(56))


@kernel(_nrt=False)
def _longer(formulas, formula, P, V, row, rng, stream, stack):
    """Return the value of a formula in postfix form.

    AND and OR stand behind their first operand, with how many rows the second has: it is passed over where the first
    decides. UNLESS passes over as many rows where its operand is 0, GO_ON always.
    """
    code, consts, E = formulas.code, formulas.consts, formulas.E
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
            stack[n] = formulas.table[row, x]
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
def _value(formulas, formula, state, row, stream):
    """Return the value of a formula; what is one number or field is not worth a call."""
    k = formulas.E[formula]
    if formulas.E[formula + 1] == k + 1:
        if formulas.code[k, 0] == CONST:
            return formulas.consts[formulas.code[k, 1]]
        if formulas.code[k, 0] == FIELD:
            return state.V[formulas.code[k, 1]]
    return _longer(formulas, formula, state.P, state.V, row, state.rng, stream, state.stack)


@kernel(_nrt=False)
def _carried(T, A, copies, t, P, K, V):
    """Read what the tokens carry that a transition would take: of a field's first token."""
    for a in range(T[t, T_TAKE], T[t, T_TAKE_END]):
        if A[a, A_DATA]:
            token = P[A[a, A_PLACE], P_HEAD]
            for c in range(A[a, A_COPY], A[a, A_COPY_END]):
                V[copies[c]] = K[token, K_DATA + copies[c]]


@kernel(forceinline=True, _nrt=False)
def _degree(rules, formulas, state, t):
    """Return how many clocks of a transition run at once."""
    T, A, P = rules.T, rules.A, state.P
    degree = T[t, T_SERVERS]
    for a in range(T[t, T_TAKE], T[t, T_TAKE_END]):
        w = A[a, A_WEIGHT]
        if A[a, A_FORMULA] >= 0:
            w = np.int64(_value(formulas, A[a, A_FORMULA], state, 0, t))
        p = A[a, A_PLACE]
        if A[a, A_TARGET] >= 0:
            p += np.int64(_value(formulas, A[a, A_TARGET], state, 0, t))
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
