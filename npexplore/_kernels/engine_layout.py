"""The numbers and arrays of the event engine: operations, columns, statuses, and records of arrays; docs/engine.md."""

from collections import namedtuple

import numpy as np

# ---- program rows: op, A, ra, B, rb, C, rc, target, slot, x, y, z; operand a = A + R[ra], b = B + R[rb], c = C + R[rc]
ROW = 12
OP, A, RA, B, RB, C, RC, TARGET, SLOT, X, Y, Z = range(ROW)

END, TAKE, GIVE, PUT, TRY, ALL, WAIT, SERVE, SET, JUMP, DRAW, FORK, JOIN, DONE, LOAD, COUNT, PUSH, POP, PICK, SHARE, GRAB, ASK = (
    range(22)
)  # fmt: skip
OPERATIONS = (
    "END", "TAKE", "GIVE", "PUT", "TRY", "ALL", "WAIT", "SERVE", "SET", "JUMP", "DRAW", "FORK", "JOIN", "DONE", "LOAD",
    "COUNT", "PUSH", "POP", "PICK", "SHARE", "GRAB", "ASK",
)  # fmt: skip

# ---- durations and draws (x of WAIT, SERVE, DRAW)
FIXED, EXPONENTIAL, UNIFORM, ERLANG, HYPEREXPONENTIAL, BELOW, EMPIRICAL, UNTIL, WINDOW, POISSON = range(10)
RANDOM = EXPONENTIAL, UNIFORM, ERLANG, HYPEREXPONENTIAL, BELOW, EMPIRICAL, POISSON

# ---- functions of SET (x)
ADD, SUB, MUL, DIV, CEILDIV, MOD, MIN, MAX, LEFT, RIGHT, NOW, BIRTH, LINE, FREE, READ, WRITE, FETCH_ADD, SWAP, TABLE, PRIORITY, BORN, TO_NEXT = (
    range(22)
)  # fmt: skip

# ---- conditions of JUMP (x)
ALWAYS, LT, LE, EQ, NE, GE, GT = range(7)
JUMPS = 0o4652317  # an octal digit of each, the last is that of ALWAYS; its bits: jumps where a < b, a == b, a > b

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
T_ROW, T_NEXT, T_DURATION, T_NEED, T_RELEASE, T_BIRTH, T_PARENT, T_CHILDREN, T_PRIORITY, T_HELD, T_WAITS, T_KEY, T_SLOT, T_ALIVE, T_ACCOUNT, T_MARK, T_POLLS = (
    range(17)
)  # fmt: skip
T_WIDTH = 17
REGISTERS = 24
SLOTS = 8

# ---- what T_WAITS holds when not a resource
RUNNING, SLEEPING, JOINING, POOLED = -1, -2, -3, -4

# ---- clock columns
K_NOW, K_SEQUENCE, K_HEAP, K_READY_HEAD, K_READY, K_DONE, K_LIVE, K_FREE_TOKEN, K_LAST_DONE, K_INSTANT, K_TOKEN, K_ERROR_ROW, K_POOL_HEAD, K_POOL_TAIL, K_EVENTS, K_LOG, K_SHARED, K_PEAK, K_FREE_ACCOUNT, K_SPARE_ACCOUNTS, K_PACKETS, K_RESUMED, K_BEFORE = (
    range(23)
)  # fmt: skip
K_WIDTH = 23

# ---- status
TIME_UP, COUNT_UP, FINISHED, DEADLOCK, STALL, SATURATION, LEAK, ENDLESS, BAD_OPERAND, OVERFLOW, ACCOUNTS = range(11)

# ---- accounts of where a packet's time went: columns, then three for each place
C_SINCE, C_NEXT, C_PACKET, C_FIRST = range(4)
SERVED, WAITED, HELD_UP = range(3)
ELSEWHERE = 0  # the place of what belongs to no resource
FEW_ACCOUNTS = 64  # what most activations ask for at most

# ---- fates of packets: columns, then (if asked) what an account has
F_ENDS, F_DROP, F_ARRIVAL, F_START, F_END, F_THREAD, F_CLASS, F_FIRST = range(8)

# ---- done columns per class
D_COUNT, D_LATENCY, D_BYTES, D_PADDED = range(4)
BINS = 1920
JUMPS_LIMIT = 1_000_000
WAKES_LIMIT = 20_000_000

PRIORITY_SHIFT = np.int64(48)

# ---- records of arrays
# what does not change: rows, keys of their random numbers, all tables in one array and where each begins
Model = namedtuple("Model", ["P", "stream", "table", "table_at"])
# resources, tokens with registers and holds, globals, numbers drawn by each row, messages between tokens, a log
State = namedtuple("State", ["S", "T", "R", "H", "G", "draws", "ring", "ring_at", "log"])
# who runs next: the clock, the heap of those that sleep, the line of those that are ready
Agenda = namedtuple("Agenda", ["clock", "time", "key", "token", "ready_key", "ready_token"])
# what is counted of packets: latencies, totals by class, counters
Totals = namedtuple("Totals", ["hist", "done", "counters"])
# of packets whose time is accounted for (no account: nothing is): where it went; fate: a row for each packet of table
# clock[K_PACKETS], beside accounts (no rows: none is written)
Accounts = namedtuple("Accounts", ["account", "where", "tally", "ring_account", "fate"])
# blocks of the DRAM controllers one behind the other, where each begins, the log of their commands
Controllers = namedtuple("Controllers", ["D", "D_at", "orders"])
