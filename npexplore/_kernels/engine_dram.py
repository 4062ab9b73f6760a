"""What the event engine does with a DRAM controller: tokens ask it, it decides at clock edges, and wakes them."""

import numpy as np

from npexplore._kernels.dram import _dram_idle_until, _dram_step, _dram_works
from npexplore._kernels.dram_layout import *
from npexplore._kernels.dram_requests import _dram_ask
from npexplore._kernels.engine_heap import _push, _remove
from npexplore._kernels.engine_layout import *
from npexplore._kernels.engine_tokens import _ready, _sleep
from npexplore.jit import kernel


@kernel(_nrt=False)
def _deliver(D, o, T, agenda):
    """Let go on who was accepted, or whose data have passed by then."""
    at = o + D[o + M_DONE_AT]
    for k in range(D[o + M_DONE]):
        token, when = D[at + k * M_DONE_WIDTH], D[at + k * M_DONE_WIDTH + 1]
        what, write = D[at + k * M_DONE_WIDTH + 2], D[at + k * M_DONE_WIDTH + 3]
        if what == M_ACCEPTED:
            _ready(T, agenda, token)
        elif write == 0 or D[o + M_WRITES] == 0:
            last = D[o + M_WRITE_LAST] if write == 1 else D[o + M_READ_LAST]
            _sleep(T, agenda, token, when + last)
    D[o + M_DONE] = 0


@kernel(forceinline=True, _nrt=False)
def _wake(D, o, agenda, controller, time):
    """Let a controller decide at a time, behind all else that happens then."""
    sequence = agenda.clock[K_SEQUENCE]
    agenda.clock[K_SEQUENCE] = sequence + 1
    _push(agenda, time, (np.int64(15) << PRIORITY_SHIFT) | sequence, -1 - controller)
    D[o + M_AWAKE] = time


@kernel(forceinline=True, _nrt=False)
def _decide(controllers, controller, T, agenda, now):
    """Let a controller issue what it can at a clock edge, and choose when it decides next."""
    D, orders = controllers.D, controllers.orders
    o = controllers.D_at[controller]
    agenda.clock[K_EVENTS] += 1
    D[o + M_NEXT] = _dram_step(D, o, now, orders)
    D[o + M_AWAKE] = -1
    _deliver(D, o, T, agenda)
    if D[o + M_NEXT] < M_NEVER and _dram_works(D, o):
        _wake(D, o, agenda, controller, D[o + M_NEXT])


@kernel(forceinline=True, _nrt=False)
def _ask(controllers, controller, bank, memory_row, write, bursts, token, row, T, agenda, now):
    """Bring the request of a token at a row to a controller; return BAD_OPERAND, SATURATION, or -1 where all is well."""
    D, D_at = controllers.D, controllers.D_at
    if (
        controller < 0
        or controller >= D_at.shape[0]
        or bank < 0
        or bank >= D[D_at[controller] + M_BANKS]
        or memory_row < 0
        or bursts < 1
    ):
        return BAD_OPERAND
    o = D_at[controller]
    edge = -(-now // D[o + M_CLOCK]) * D[o + M_CLOCK]
    if not _dram_works(D, o):
        _dram_idle_until(D, o, edge, controllers.orders)
    T[token, T_ROW] = row + 1
    T[token, T_WAITS] = SLEEPING
    if not _dram_ask(D, o, token, bank, memory_row, write, bursts, now):
        return SATURATION
    _deliver(D, o, T, agenda)
    if D[o + M_AWAKE] > edge:
        _remove(agenda, -1 - controller)
        D[o + M_AWAKE] = -1
    if D[o + M_AWAKE] < 0:
        _wake(D, o, agenda, controller, edge)
    return -1
