"""A switch that two groups of paths cross: messages alternate where both wait, and other routes take time to set.

    hold = W + c (another path) + stall (its group's other path, behind the switch) + c - (D - 2) (the same, before it)

W words, c cycles of a change, FIFOs of D words. Paths are drawn at random, all alike. A group are paths that meet
before the switch and behind it: only one of its messages stands at the switch, and whose path differs from its group's
last sets the routes there anew too; behind the switch that stalls it once the FIFO is full: stall = c + 2 - D.

closed   Markov chain at the ends of messages: group of the last, waiting of each group, cycles until the others are
         back. Of n waiting of a group of two paths, all are of the last path with chance 1 / 2n (a walk between two
         reflecting ends). Exact for two paths without FIFOs in their way
Poisson  messages left behind at the ends of messages (Kendall 1953), whose hold is drawn from that of the closed chain
         with as many waiting
"""

from collections.abc import Hashable, Iterator, Sequence
from typing import NamedTuple, TypeVar

import numpy as np

from npexplore.errors import RefusedError
from npexplore.solve.queueing.birth_death import long_run
from npexplore.solve.queueing.inputs import Floats

MAX_STATES = 60_000
WAITING = 10  # messages up to which the chain is solved; behind them holds go on as 1 / messages
MAX_WAITING = 600

Key = TypeVar("Key", bound=Hashable)
Counts = tuple[int, int]
Away = tuple[tuple[int, int], ...]  # cycles until a message is back, and its group (-1: it is drawn then)


class State(NamedTuple):
    """Group of the last message, waiting of each group, those that are away; set: the head has set routes before."""

    last: int
    waiting: Counts
    away: Away
    set: bool = False


class Step(NamedTuple):
    """A chance, the cycles that pass, the hold of a message that ends then (0: none does), the state then."""

    chance: float
    cycles: int
    hold: int
    state: State


class Groups(NamedTuple):
    """Paths in each of two groups; words, cycles of a change, and from the switch back to it; words of a FIFO."""

    paths: Counts
    words: int
    change: int
    back: int
    depth: int

    @property
    def shares(self) -> tuple[float, float]:
        """Return the chance of each group."""
        return self.paths[0] / sum(self.paths), self.paths[1] / sum(self.paths)

    @property
    def stall(self) -> int:
        """Return the cycles that a change behind the switch holds it up."""
        return max(0, self.change + 2 - self.depth) if self.words > self.depth else 0

    def differs(self, group: int, waiting: int) -> float:
        """Return the chance that the next path of a group is not its last one."""
        return 0.0 if self.paths[group] == 1 else 1 - 1 / (2 * max(waiting, 1))

    # ---- closed

    def throughput(self, threads: int) -> float:
        """Return messages a cycle of so many threads; raises RefusedError for more than MAX_STATES states."""
        share, steps = self._stationary(threads)
        ends = sum(share[k] * step.chance for k, step in steps if step.hold)
        return float(ends / sum(share[k] * step.chance * step.cycles for k, step in steps))

    def holds(self, waiting: int) -> dict[int, float]:
        """Return the chances of a hold's cycles where so many are left behind, and messages come back at once."""
        share, steps = self._replace(back=0)._stationary(waiting + 1)
        holds: dict[int, float] = {}
        for k, step in steps:
            if step.hold:
                holds[step.hold] = holds.get(step.hold, 0.0) + float(share[k] * step.chance)
        total = sum(holds.values())
        return {hold: chance / total for hold, chance in holds.items()}

    def _stationary(self, threads: int) -> tuple[Floats, list[tuple[int, Step]]]:
        from scipy.sparse import csr_matrix, eye
        from scipy.sparse.linalg import spsolve

        start = State(0, (0, 0), ((0, -1),) * threads)
        number, open_states, steps = {start: 0}, [start], list[tuple[int, Step]]()
        while open_states:
            state = open_states.pop()
            for step in self._steps(state):
                if step.state not in number:
                    if len(number) >= MAX_STATES:
                        raise RefusedError(f"queueing: {threads} messages at a crossing have over {MAX_STATES} states")
                    number[step.state] = len(number)
                    open_states.append(step.state)
                steps.append((number[state], step))
        size = len(number)
        places = ([number[step.state] for _, step in steps], [k for k, _ in steps])
        balance = (csr_matrix(([step.chance for _, step in steps], places), shape=(size, size)) - eye(size)).tolil()
        balance[0] = 1.0
        right = np.zeros(size)
        right[0] = 1.0
        return np.asarray(spsolve(balance.tocsc(), right)), steps

    def _steps(self, state: State) -> Iterator[Step]:
        last, waiting, away, is_set = state
        if not sum(waiting):
            yield from self._first_back(last, away)
            return
        other, near = 1 - last, self.words
        group = other if waiting[other] else last
        new = self.differs(group, waiting[group])
        if new < 1:
            yield from self._served(1 - new, state, group, near + self.change * (group != last), self.back)
        longer, back = near + self.change + self.stall, self.back + self.change - self.stall
        before = 0 if is_set or group == other else self.stall  # as long as behind the switch
        if not new:
            return
        if not (before and away and away[0][0] < before):
            yield from self._served(new, state, group, before + longer, back)
            return
        sooner = away[0][0]  # somebody is back before the routes are set: if it is of the other group, it goes first
        for chance, counts, rest in self._returned(waiting, away, sooner + 1, (), last):
            rest = tuple((cycles + 1, mine) for cycles, mine in rest)
            between = State(last, counts, rest)
            if counts[other]:
                yield Step(new * chance, sooner, 0, between)
            else:
                for step in self._served(new * chance, between, group, before - sooner + longer, back):
                    yield step._replace(cycles=step.cycles + sooner)

    def _served(self, chance: float, state: State, group: int, hold: int, back: int) -> Iterator[Step]:
        counts = (state.waiting[0] - (group == 0), state.waiting[1] - (group == 1))
        for more, there, rest in self._returned(counts, state.away, hold, ((back, -1),), group):
            yield Step(chance * more, hold, hold, State(group, there, rest))

    def _first_back(self, last: int, away: Away) -> Iterator[Step]:
        (cycles, known), rest = away[0], tuple((later - away[0][0], group) for later, group in away[1:])
        for group in (0, 1) if known < 0 else (known,):
            chance = self.shares[group] if known < 0 else 1.0
            ahead = [later for later, other in rest if other == group]
            new = 1 - 1 / self.paths[group] if known < 0 else 0.0
            if known < 0 and ahead and self.change:  # behind one of its group that sets its routes
                yield Step(chance, cycles, 0, State(last, (0, 0), _with(rest, (max(ahead), group))))
                continue
            if new and self.change:
                yield Step(chance * new, cycles, 0, State(last, (0, 0), _with(rest, (self.change, group))))
                chance *= 1 - new
            yield Step(chance, cycles, 0, State(last, (int(group == 0), int(group == 1)), rest, True))

    def _returned(
        self, waiting: Counts, away: Away, cycles: int, more: Away, served: int
    ) -> list[tuple[float, Counts, Away]]:
        """Return the chances of who waits, and who is away, so many cycles later."""
        still = tuple(sorted([*((left - cycles, group) for left, group in away if left >= cycles), *more]))
        states = {(waiting, still): 1.0}
        for left, known in (one for one in away if one[0] < cycles):
            after: dict[tuple[Counts, Away], float] = {}
            setting = self.change - (cycles - left)  # cycles that its routes before the switch still take then
            for (counts, rest), chance in states.items():
                for group in (0, 1) if known < 0 else (known,):
                    part = chance * (self.shares[group] if known < 0 else 1.0)
                    ahead = [later for later, other in rest if other == group]
                    there = (counts[0] + (group == 0), counts[1] + (group == 1))
                    if known < 0 and ahead:
                        _add(after, (counts, _with(rest, (max(ahead), group))), part)
                        continue
                    free = known < 0 and not counts[group] and setting > 0
                    apart = free and (group != served or self.words <= self.depth)
                    new = 1 - 1 / self.paths[group] if apart else 0.0
                    if new:
                        _add(after, (counts, _with(rest, (setting, group))), part * new)
                    _add(after, (there, rest), part * (1 - new))
            states = after
        return [(chance, counts, rest) for (counts, rest), chance in states.items()]

    # ---- open

    def limit(self) -> float:
        """Return the messages a cycle that it can serve for long."""
        holds, _, endless = self._by_waiting()
        return float(1 / (endless @ holds))

    def time_in_system(self, rate: float, length: float) -> float:
        """Return the mean cycles of messages that come at random at a rate a cycle; length: beside a hold."""
        holds, near, endless = self._by_waiting()
        first, more = self._after_idle()
        many = np.arange(1, MAX_WAITING)[:, None]
        chances = np.where(many <= WAITING, near[np.minimum(many[:, 0], WAITING) - 1],
                           np.maximum(endless + (near[-1] - endless) * WAITING / many, 0.0))  # fmt: skip
        behind = chances @ np.array([_poisson(rate * hold) for hold in holds])
        move = np.zeros((MAX_WAITING, MAX_WAITING))
        move[0] = sum(chance * _poisson(rate * hold) for hold, chance in first.items())
        for k in range(1, MAX_WAITING):
            move[k, k - 1 :] = behind[k - 1, : MAX_WAITING - k + 1]
        move[:, -1] += 1 - move.sum(axis=1)
        return float(long_run(move - np.eye(MAX_WAITING)) @ np.arange(MAX_WAITING)) / rate + length + more

    def _by_waiting(self) -> tuple[Floats, Floats, Floats]:
        """Return holds (H,), their chances with 1.. left behind (WAITING, H), and with any number (H,)."""
        tables = [self.holds(waiting) for waiting in range(1, WAITING + 1)]
        holds = sorted({hold for table in tables for hold in table})
        chances = np.array([[table.get(hold, 0.0) for hold in holds] for table in tables])
        endless = np.maximum(2 * chances[-1] - chances[WAITING // 2 - 1], 0.0)
        return np.array(holds, dtype=float), chances, endless / endless.sum()

    def _after_idle(self) -> tuple[dict[float, float], float]:
        """Return the chances of holds of who finds nobody, with the routes before the switch; mean cycles behind it."""
        holds: dict[float, float] = {}
        more, each = 0.0, 1 / sum(self.paths)
        for paths in (number for number in self.paths for _ in range(number)):
            new = 1 - 1 / paths  # of the group, which is so only where the switch has another route too
            _add(holds, float(self.words), each * each)
            _add(holds, float(self.words + self.change), each * (1 - each - new))
            _add(holds, float(self.words + 2 * self.change + self.stall), each * new)
            more += each * new * (self.change - self.stall)
        return holds, more


def _with(away: Sequence[tuple[int, int]], one: tuple[int, int]) -> Away:
    return tuple(sorted([*away, one]))


def _add(table: dict[Key, float], key: Key, chance: float) -> None:
    table[key] = table.get(key, 0.0) + chance


def _poisson(mean: float) -> Floats:
    from scipy.special import gammaln

    k = np.arange(MAX_WAITING, dtype=float)
    return np.asarray(np.exp(k * np.log(mean) - mean - gammaln(k + 1)))
