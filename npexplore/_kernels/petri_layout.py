"""The numbers and arrays of the Petri net kernel: columns, statuses, operations of formulas, records of arrays."""

from collections import namedtuple

import numpy as np

from npexplore.jit import types

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
TIME_UP, COUNT_UP, DEAD, ENDLESS, NO_ROOM, BAD_TOKENS, BAD_FIELD, BAD_DELAY, BAD_RATE, BAD_DIVISION = range(10)
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
ONE = np.uint64(1)
ZERO, TWO, FOUR = np.uint64(0), np.uint64(2), np.uint64(4)
# the same as offsets without a sign: the compiler then asks for no way around the end
NEAR_ROUND = np.uint64(NEAR_MASK)
SINCE, MET, MET_END = np.uint64(P_SINCE), np.uint64(P_MET), np.uint64(P_MET_END)
END, LEVEL, WORD = np.uint64(N_END), np.uint64(N_LEVEL), np.uint64(N_WORD)
MASK, WAIT, FIRED = np.uint64(N_MASK), np.uint64(N_WAIT), np.uint64(S_FIRED)

# ---- records of arrays
# what a net says: transitions, plain ones, arcs, conditions, changes of places, levels of priority
Rules = namedtuple("Rules", [
    "T", "TF", "N", "A", "copies", "sets", "looks", "limits", "met", "readers", "guards", "D", "levels", "order",
])  # fmt: skip
# all formulas: rows, numbers, where each begins, the table that feeds them
Formulas = namedtuple("Formulas", ["code", "consts", "E", "table"])
# places, transitions with what may fire, tokens with data, firings under way, random numbers, the clock, what was counted
State = namedtuple("State", [
    "P", "area", "S", "rate", "weight", "bits", "dirty", "timers", "K", "F", "near", "HT", "POS", "rng", "Q", "V",
    "stack", "scratch", "histogram", "latency", "moved",
])  # fmt: skip

_i1, _i2, _u1 = types.int64[::1], types.int64[:, ::1], types.uint64[::1]
_f1, _f2 = types.float64[::1], types.float64[:, ::1]
RULES = types.NamedTuple((_i2, _f2, _i1, _i2, _i1, _i2, _i2, _i2, _i2, _i1, _i1, _i2, _i2, _i1), Rules)
FORMULAS = types.NamedTuple((_i2, _f1, _i1, _f2), Formulas)
STATE = types.NamedTuple(
    (_i2, _f1, _i2, _f1, _f1, _u1, _i1, _i1, _i2, _i2, _i1, _i2, _i1, _u1, _i1, _f1, _f1, _i2, _i2, _f1, _f2), State
)
