"""A switch crossed by two groups of paths: messages alternate if both groups wait, and route changes take time.

    hold = W + c (other path) + stall (other path of the group, behind the switch) + c - (D - 2) (the same, before it)

W words, c cycles of a route change, FIFOs of D words. Paths are drawn with equal probability. The paths of a group also
share switches before and behind the main switch, so that one message of a group at a time is at the main switch. A
message whose path differs from its group's last one changes the routes of the shared switches too; behind the main
switch this stalls it once the FIFO is full: stall = c + 2 - D.

closed   Markov chain at the ends of messages: group of the last message, waiting messages of each group, cycles until
         the others return. All n waiting messages of a group of two paths, and so the next, have the last path with
         probability 1 / 2n (a walk between two reflecting ends). Exact for two paths without FIFOs in their way
Poisson  messages left behind at the ends of messages (Kendall 1953); their holds have the distribution of the closed
         chain with the same number waiting
"""

from collections.abc import Hashable, Iterator, Sequence
from typing import NamedTuple, TypeVar

import numpy as np

from npexplore.errors import RefusedError
from npexplore.solve.queueing.birth_death import long_run
from npexplore.solve.queueing.inputs import Floats

MAX_STATES = 60_000
WAITING = 10  # largest number of messages for which the chain is solved; above it, holds are extrapolated in 1 / number
MAX_WAITING = 600

Key = TypeVar("Key", bound=Hashable)
Counts = tuple[int, int]
Away = tuple[tuple[int, int], ...]  # cycles until a message returns, and its group (-1: drawn on return)


class State(NamedTuple):
    """Group of the last message, waiting messages of each group, messages away; set: the head's routes are set."""

    last: int
    waiting: Counts
    away: Away
    set: bool = False


class Step(NamedTuple):
    """A transition: probability, cycles, hold of the message that ends with it (0: none), and the next state."""

    chance: float
    cycles: int
    hold: int
    state: State


class Groups(NamedTuple):
    """Paths in each of two groups; words of a message; cycles of a change, and to return to the switch; FIFO words."""

    paths: Counts
    words: int
    change: int
    back: int
    depth: int

    @property
    def shares(self) -> tuple[float, float]:
        """The probability of each group."""
        return self.paths[0] / sum(self.paths), self.paths[1] / sum(self.paths)

    @property
    def stall(self) -> int:
        """The cycles for which a route change behind the switch stalls a message."""
        return max(0, self.change + 2 - self.depth) if self.words > self.depth else 0

    def differs(self, group: int, waiting: int) -> float:
        """Return the probability that the next path of a group differs from its last one."""
        return 0.0 if self.paths[group] == 1 else 1 - 1 / (2 * max(waiting, 1))

    # ---- closed

    def throughput(self, threads: int) -> float:
        """Return the messages per cycle of a closed network of threads; raises RefusedError above MAX_STATES states."""
        share, steps = self._stationary(threads)
        ends = sum(share[k] * step.chance for k, step in steps if step.hold)
        return float(ends / sum(share[k] * step.chance * step.cycles for k, step in steps))

    def holds(self, waiting: int) -> dict[int, float]:
        """Return the distribution of a hold's cycles with `waiting` messages left behind and no time between visits."""
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
        other, words = 1 - last, self.words
        group = other if waiting[other] else last
        differs = self.differs(group, waiting[group])
        if differs < 1:
            yield from self._served(1 - differs, state, group, words + self.change * (group != last), self.back)
        hold_after, back = words + self.change + self.stall, self.back + self.change - self.stall
        stall_before = 0 if is_set or group == other else self.stall  # the same stall as behind the switch
        if not differs:
            return
        if not (stall_before and away and away[0][0] < stall_before):
            yield from self._served(differs, state, group, stall_before + hold_after, back)
            return
        sooner = away[0][0]  # a message returns before the routes are set; one of the other group goes first
        for chance, counts, rest in self._returned(waiting, away, sooner + 1, (), last):
            rest = tuple((cycles + 1, group_away) for cycles, group_away in rest)
            interim = State(last, counts, rest)
            if counts[other]:
                yield Step(differs * chance, sooner, 0, interim)
            else:
                for step in self._served(differs * chance, interim, group, stall_before - sooner + hold_after, back):
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
            differs = 1 - 1 / self.paths[group] if known < 0 else 0.0
            if known < 0 and ahead and self.change:  # waits behind a message of its group that sets routes
                yield Step(chance, cycles, 0, State(last, (0, 0), _with(rest, (max(ahead), group))))
                continue
            if differs and self.change:
                yield Step(chance * differs, cycles, 0, State(last, (0, 0), _with(rest, (self.change, group))))
                chance *= 1 - differs
            yield Step(chance, cycles, 0, State(last, (int(group == 0), int(group == 1)), rest, True))

    def _returned(
        self, waiting: Counts, away: Away, cycles: int, more: Away, served: int
    ) -> list[tuple[float, Counts, Away]]:
        """Return (probability, waiting messages, messages away) after some cycles.

        more: messages that leave now. served: group of the message in service.
        """
        still = tuple(sorted([*((left - cycles, group) for left, group in away if left >= cycles), *more]))
        states = {(waiting, still): 1.0}
        for left, known in (message for message in away if message[0] < cycles):
            after: dict[tuple[Counts, Away], float] = {}
            setting = self.change - (cycles - left)  # remaining cycles of its route changes before the switch
            for (counts, rest), chance in states.items():
                for group in (0, 1) if known < 0 else (known,):
                    group_chance = chance * (self.shares[group] if known < 0 else 1.0)
                    ahead = [later for later, other in rest if other == group]
                    with_message = (counts[0] + (group == 0), counts[1] + (group == 1))
                    if known < 0 and ahead:
                        _add(after, (counts, _with(rest, (max(ahead), group))), group_chance)
                        continue
                    free = known < 0 and not counts[group] and setting > 0
                    must_set = free and (group != served or self.words <= self.depth)
                    differs = 1 - 1 / self.paths[group] if must_set else 0.0
                    if differs:
                        _add(after, (counts, _with(rest, (setting, group))), group_chance * differs)
                    _add(after, (with_message, rest), group_chance * (1 - differs))
            states = after
        return [(chance, counts, rest) for (counts, rest), chance in states.items()]

    # ---- open

    def limit(self) -> float:
        """Return the saturated rate in messages per cycle."""
        holds, _, endless = self._by_waiting()
        return float(1 / (endless @ holds))

    def time_in_system(self, rate: float, length: float) -> float:
        """Return the mean cycles of messages with Poisson arrivals at a rate per cycle; length: beside the hold."""
        holds, by_number, endless = self._by_waiting()
        first_holds, more = self._after_idle()
        numbers = np.arange(1, MAX_WAITING)[:, None]
        chances = np.where(numbers <= WAITING, by_number[np.minimum(numbers[:, 0], WAITING) - 1],
                           np.maximum(endless + (by_number[-1] - endless) * WAITING / numbers, 0.0))  # fmt: skip
        arrivals = chances @ np.array([_poisson(rate * hold) for hold in holds])
        move = np.zeros((MAX_WAITING, MAX_WAITING))
        move[0] = sum(chance * _poisson(rate * hold) for hold, chance in first_holds.items())
        for k in range(1, MAX_WAITING):
            move[k, k - 1 :] = arrivals[k - 1, : MAX_WAITING - k + 1]
        move[:, -1] += 1 - move.sum(axis=1)
        return float(long_run(move - np.eye(MAX_WAITING)) @ np.arange(MAX_WAITING)) / rate + length + more

    def _by_waiting(self) -> tuple[Floats, Floats, Floats]:
        """Return holds (H,), their probabilities with 1..WAITING left behind (WAITING, H), and in saturation (H,)."""
        tables = [self.holds(waiting) for waiting in range(1, WAITING + 1)]
        holds = sorted({hold for table in tables for hold in table})
        chances = np.array([[table.get(hold, 0.0) for hold in holds] for table in tables])
        endless = np.maximum(2 * chances[-1] - chances[WAITING // 2 - 1], 0.0)
        return np.array(holds, dtype=float), chances, endless / endless.sum()

    def _after_idle(self) -> tuple[dict[float, float], float]:
        """Return the hold distribution of a message that finds the switch idle, and its mean extra cycles behind it.

        These holds include route changes before the switch.
        """
        holds: dict[float, float] = {}
        extra, path_chance = 0.0, 1 / sum(self.paths)
        for paths in (number for number in self.paths for _ in range(number)):
            differs = 1 - 1 / paths  # the group's other path, for which the main switch changes its route too
            _add(holds, float(self.words), path_chance * path_chance)
            _add(holds, float(self.words + self.change), path_chance * (1 - path_chance - differs))
            _add(holds, float(self.words + 2 * self.change + self.stall), path_chance * differs)
            extra += path_chance * differs * (self.change - self.stall)
        return holds, extra


def _with(away: Sequence[tuple[int, int]], one: tuple[int, int]) -> Away:
    return tuple(sorted([*away, one]))


def _add(table: dict[Key, float], key: Key, chance: float) -> None:
    table[key] = table.get(key, 0.0) + chance


def _poisson(mean: float) -> Floats:
    from scipy.special import gammaln

    k = np.arange(MAX_WAITING, dtype=float)
    return np.asarray(np.exp(k * np.log(mean) - mean - gammaln(k + 1)))
