"""The exact Markov chain of bank interference with constant times: threads choose banks at random, behind one unit.

A visit takes its bank, waits for the unit (a shared server), is served for `service`, and the thread then thinks for
`away`; the bank stays busy for `recovery` after the service. Times are whole ticks. A state holds the banks that queue
for the unit, in order, each with its number of waiting threads; the recovering banks with their remaining ticks; and
the remaining think time of each thread. Identical banks are not distinguished. The chain of D. P. Bhandarkar (IEEE
Trans. Computers C-24, 1975) is the case without a unit and without recovery.
"""

from math import gcd
from typing import NamedTuple

import numpy as np

from npexplore.errors import RefusedError

MAX_STATES = 400_000
PICOSECOND = 1e-12
STEPS, SETTLED = 40_000, 1e-9  # iteration to the steady state: most steps, relative tolerance of the rate


class State(NamedTuple):
    """A state of the chain. service: remaining ticks of the service (0: the unit is idle)."""

    service: int
    line: tuple[int, ...]  # threads that wait for each bank in the unit's queue; the first bank is in service
    recovering: tuple[tuple[int, int], ...]  # remaining ticks, and threads that wait for the bank
    away: tuple[int, ...]  # remaining think time of each thread, in ticks


def bank_rate(
    threads: int, banks: int, service_s: float, recovery_s: float, away_s: float, max_states: int = MAX_STATES
) -> float:
    """Return the steady-state visits per second; times in seconds are rounded to whole picoseconds."""
    times = [round(seconds / PICOSECOND) for seconds in (service_s, recovery_s, away_s)]
    tick = gcd(*times)
    service, recovery, away = (picoseconds // tick for picoseconds in times)
    return bank_throughput(threads, banks, service, recovery, away, max_states) / (tick * PICOSECOND)


def bank_throughput(
    threads: int, banks: int, service: int, recovery: int, away: int, max_states: int = MAX_STATES
) -> float:
    """Return the steady-state visits per tick; raises RefusedError for more than max_states states."""
    from scipy.sparse import csr_matrix  # slow to import, and few machines need it

    start = State(0, (), (), (0,) * threads)
    number, unexplored = {start: 0}, [start]
    rows: list[int] = []
    columns: list[int] = []
    chances: list[float] = []
    ticks_of: list[int] = []
    visits_of: list[int] = []
    while unexplored:
        state = unexplored.pop()
        current, (ticks, finished, successors) = number[state], _next(state, banks, service, recovery, away)
        while len(ticks_of) <= current:
            ticks_of.append(0)
            visits_of.append(0)
        ticks_of[current], visits_of[current] = ticks, finished
        for chance, successor in successors:
            if successor not in number:
                if len(number) >= max_states:
                    raise RefusedError(f"bank chain: {threads} threads on {banks} banks have over {max_states} states")
                number[successor] = len(number)
                unexplored.append(successor)
            rows.append(current)
            columns.append(number[successor])
            chances.append(chance)
    size = len(number)
    transitions = csr_matrix((chances, (columns, rows)), shape=(size, size))
    time, visits = np.array(ticks_of, dtype=float), np.array(visits_of, dtype=float)
    share, rate = np.full(size, 1.0 / size), -1.0
    for step in range(STEPS):
        share = (share + transitions @ share) / 2  # half a step, since some chains are periodic
        if step % 50 == 0:
            before, rate = rate, float(share @ visits) / float(share @ time)
            if abs(rate - before) < SETTLED * rate:
                break
    return rate


def _next(
    state: State, banks: int, service: int, recovery: int, away: int
) -> tuple[int, int, list[tuple[float, State]]]:
    """Return the ticks until the next thread returns, the visits finished by then, and the states after its choice."""
    ticks = visits = 0
    while True:
        passed, finished, state, returned = _event(state, service, recovery, away)
        ticks, visits = ticks + passed, visits + finished
        if returned:
            return ticks, visits, _returned(state, banks, service)


def _event(state: State, service: int, recovery: int, away: int) -> tuple[int, int, State, bool]:
    """Return the ticks to the next event, the visits it finishes, the state after it, and whether a thread returns.

    At one tick the service ends first, then threads return, then recovered banks join the unit's queue, as in
    simulation.
    """
    ends = [state.service] if state.line else []
    ends += [remaining for remaining, _ in state.recovering[:1]] + list(state.away[:1])
    ticks = min(ends)
    after = State(
        state.service - ticks if state.line else 0, state.line, tuple((r - ticks, w) for r, w in state.recovering),
        tuple(r - ticks for r in state.away),
    )  # fmt: skip
    if after.line and after.service == 0:
        line = after.line[1:]
        recovering = tuple(sorted([*after.recovering, (recovery, after.line[0])]))
        thinking = tuple(sorted([*after.away, away]))
        return ticks, 1, State(service if line else 0, line, recovering, thinking), False
    if after.away and after.away[0] == 0:
        return ticks, 0, after._replace(away=after.away[1:]), True
    waits = after.recovering[0][1]
    line = (*after.line, waits - 1) if waits else after.line
    service_ticks = service if waits and not after.line else after.service
    return ticks, 0, State(service_ticks, line, after.recovering[1:], after.away), False


def _returned(state: State, banks: int, service: int) -> list[tuple[float, State]]:
    """Return the states after a returning thread has chosen a bank, each bank with the same probability."""
    chances: dict[State, float] = {}
    idle = banks - len(state.line) - len(state.recovering)
    if idle:
        service_ticks = state.service if state.line else service
        chances[State(service_ticks, (*state.line, 0), state.recovering, state.away)] = idle / banks
    for k in range(len(state.line)):
        after = state._replace(line=(*state.line[:k], state.line[k] + 1, *state.line[k + 1 :]))
        chances[after] = chances.get(after, 0.0) + 1 / banks
    for k, (ticks, waits) in enumerate(state.recovering):
        after = state._replace(
            recovering=tuple(sorted([*state.recovering[:k], (ticks, waits + 1), *state.recovering[k + 1 :]]))
        )
        chances[after] = chances.get(after, 0.0) + 1 / banks
    return [(chance, after) for after, chance in chances.items()]
