"""Threads on banks chosen at random, behind one unit: the exact Markov chain of bank interference with constant times.

A visit takes its bank, waits for the unit, is served for `service`, and is away for `away`; its bank is busy for
`recovery` after the service. Times are whole ticks: a state has the banks in front of the unit in order, each with
those that wait for it, the banks that recover with what remains, and what remains of each thread's time away. Banks
are alike, so they have no names. The chain of D. P. Bhandarkar (IEEE Trans. Computers C-24, 1975) is the case without
a unit and without recovery.
"""

from math import gcd
from typing import NamedTuple

import numpy as np

from npexplore.errors import RefusedError

MAX_STATES = 400_000
PICOSECOND = 1e-12
STEPS, SETTLED = 40_000, 1e-9  # of the iteration to the steady state


class State(NamedTuple):
    """Ticks that remain of the service (0: the unit is idle), and the rest as the module says."""

    service: int
    line: tuple[int, ...]  # waiting for each bank in front of the unit, which serves the first
    recovering: tuple[tuple[int, int], ...]  # ticks that remain, waiting for the bank
    away: tuple[int, ...]


def bank_rate(
    threads: int, banks: int, service_s: float, recovery_s: float, away_s: float, max_states: int = MAX_STATES
) -> float:
    """Return visits a second in the long run of times in seconds, each a whole number of picoseconds (or rounded)."""
    times = [round(one / PICOSECOND) for one in (service_s, recovery_s, away_s)]
    tick = gcd(*times)
    service, recovery, away = (one // tick for one in times)
    return bank_throughput(threads, banks, service, recovery, away, max_states) / (tick * PICOSECOND)


def bank_throughput(
    threads: int, banks: int, service: int, recovery: int, away: int, max_states: int = MAX_STATES
) -> float:
    """Return visits a tick in the long run; raises RefusedError where there are more than max_states states."""
    from scipy.sparse import csr_matrix  # slow to import, and few machines need it

    start = State(0, (), (), (0,) * threads)
    number, waiting = {start: 0}, [start]
    rows: list[int] = []
    columns: list[int] = []
    chances: list[float] = []
    spent: list[int] = []
    done: list[int] = []
    while waiting:
        state = waiting.pop()
        here, (ticks, finished, following) = number[state], _next(state, banks, service, recovery, away)
        while len(spent) <= here:
            spent.append(0)
            done.append(0)
        spent[here], done[here] = ticks, finished
        for chance, after in following:
            if after not in number:
                if len(number) >= max_states:
                    raise RefusedError(f"bank chain: {threads} threads on {banks} banks have over {max_states} states")
                number[after] = len(number)
                waiting.append(after)
            rows.append(here)
            columns.append(number[after])
            chances.append(chance)
    size = len(number)
    onward = csr_matrix((chances, (columns, rows)), shape=(size, size))
    time, visits = np.array(spent, dtype=float), np.array(done, dtype=float)
    share, rate = np.full(size, 1.0 / size), -1.0
    for step in range(STEPS):
        share = (share + onward @ share) / 2  # half a step, as some chains go round in a circle
        if step % 50 == 0:
            before, rate = rate, float(share @ visits) / float(share @ time)
            if abs(rate - before) < SETTLED * rate:
                break
    return rate


def _next(
    state: State, banks: int, service: int, recovery: int, away: int
) -> tuple[int, int, list[tuple[float, State]]]:
    """Return the ticks until the next thread has come back, the visits finished by then, and the states behind it."""
    ticks = visits = 0
    while True:
        passed, finished, state, came = _event(state, service, recovery, away)
        ticks, visits = ticks + passed, visits + finished
        if came:
            return ticks, visits, _returned(state, banks, service)


def _event(state: State, service: int, recovery: int, away: int) -> tuple[int, int, State, bool]:
    """Return the ticks to the next event, visits that it finishes, the state then, and whether a thread is back.

    At one tick the service ends first, then threads come back, and those that a bank has recovered for go in line
    behind them, as in simulation.
    """
    ends = [state.service] if state.line else []
    ends += [left for left, _ in state.recovering[:1]] + list(state.away[:1])
    ticks = min(ends)
    left = State(
        state.service - ticks if state.line else 0, state.line, tuple((r - ticks, w) for r, w in state.recovering),
        tuple(r - ticks for r in state.away),
    )  # fmt: skip
    if left.line and left.service == 0:
        line = left.line[1:]
        recovering = tuple(sorted([*left.recovering, (recovery, left.line[0])]))
        gone = tuple(sorted([*left.away, away]))
        return ticks, 1, State(service if line else 0, line, recovering, gone), False
    if left.away and left.away[0] == 0:
        return ticks, 0, left._replace(away=left.away[1:]), True
    waits = left.recovering[0][1]
    line = (*left.line, waits - 1) if waits else left.line
    begun = service if waits and not left.line else left.service
    return ticks, 0, State(begun, line, left.recovering[1:], left.away), False


def _returned(state: State, banks: int, service: int) -> list[tuple[float, State]]:
    """Return where a thread that comes back goes: to any bank, all alike."""
    chances: dict[State, float] = {}
    idle = banks - len(state.line) - len(state.recovering)
    if idle:
        begun = state.service if state.line else service
        chances[State(begun, (*state.line, 0), state.recovering, state.away)] = idle / banks
    for k in range(len(state.line)):
        after = state._replace(line=(*state.line[:k], state.line[k] + 1, *state.line[k + 1 :]))
        chances[after] = chances.get(after, 0.0) + 1 / banks
    for k, (left, waits) in enumerate(state.recovering):
        after = state._replace(
            recovering=tuple(sorted([*state.recovering[:k], (left, waits + 1), *state.recovering[k + 1 :]]))
        )
        chances[after] = chances.get(after, 0.0) + 1 / banks
    return [(chance, after) for after, chance in chances.items()]
