"""Scheduling disciplines as rows of the event engine: which class sends next, choice for choice as golden/schedule.

A discipline is a function of the queues of a port. It names the words that it remembers and returns three emitters of
rows: what a packet does that joins, how a class is chosen, what a packet does that leaves. Rows take no time; who
chooses pays for it in the program.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING

from npexplore.errors import ModelError, one_of
from npexplore.rows.assembler import Assembler
from npexplore.rows.base import Label
from npexplore.rows.expressions import Condition, Expression, Operand, Variable, expression, maximum, opposite

if TYPE_CHECKING:
    from npexplore.golden.schedule.ranked import Ranked

MOST_STEP = 1 << 30  # of a service tag for a byte: tags of a busy time stay below 2**63 up to 8 GB
LAST_TAG = 1 << 62


@dataclass(frozen=True)
class Word:
    """`count` numbers a port that are remembered: `word[k]` reads, `word[k] = value` writes."""

    asm: Assembler
    first: int
    count: int
    port: Operand
    whole: bool = False  # an expression is computed before it is written: registers are scarce in long programs

    def place(self, k: Operand) -> Expression:
        """Return the global of number k at the present port."""
        return expression(self.port) * self.count + k + self.first

    def __getitem__(self, k: Operand) -> Variable:
        return self.asm.read(self.place(k))

    def __setitem__(self, k: Operand, value: Operand) -> None:
        if not self.whole:
            self.asm.write(self.place(k), value)
            return
        with self.asm.scope():
            self.asm.write(self.place(k), self.asm.value_of(value))


@dataclass(frozen=True)
class Queues:
    """The queues of one of `ports`, each of up to `capacity` packets, as the rows of a discipline see them."""

    asm: Assembler
    name: str
    weights: tuple[int, ...]
    capacity: int
    ports: int = 1
    port: Operand = 0

    @property
    def classes(self) -> int:
        """How many classes have a queue."""
        return len(self.weights)

    def words(self, name: str, initial: Sequence[int]) -> Word:
        """Return numbers that each port remembers, with what they are at first."""
        first = self.asm.shared_global(f"{self.name}.{name}", self.ports * len(initial))
        self.asm.globals[first : first + self.ports * len(initial)] = [*initial] * self.ports
        return Word(self.asm, first, len(initial), self.port)

    def each(self, name: str, initial: int = 0) -> Word:
        """Return a number for each class."""
        return self.words(name, [initial] * self.classes)

    def entries(self, name: str) -> Word:
        """Return a number for each packet that may wait, by its place (`joining`, `first`)."""
        return self.words(name, [0] * (self.classes * self.capacity))

    @property
    def weight(self) -> Word:
        """The weight of each class."""
        return self.words("weight", self.weights)

    @property
    def length(self) -> Word:
        """How many packets of each class wait."""
        return self.each("length")

    @property
    def backlog(self) -> Word:
        """How many packets wait at a port, of all classes: one number per port."""
        return self.words("backlog", [0])

    def first(self, k: Operand) -> Variable:
        """Return the place of the first packet of a class."""
        at = self.each("start")[k]
        self.asm.assign(at, at + expression(k) * self.capacity)
        return at

    def joining(self, k: Operand) -> Variable:
        """Return the place behind the last packet of a class."""
        at = self.each("start")[k]
        with self.asm.scope():  # registers are few: one for the place, and no long sums
            self.asm.assign(at, at + self.length[k])
            self.asm.assign(at, at % self.capacity)
        self.asm.assign(at, at + expression(k) * self.capacity)
        return at

    def head_bytes(self, k: Operand) -> Variable:
        """Return the length of the first packet of a class."""
        return self.entries("bytes")[self.first(k)]

    # ---- what the owner of the queues does

    def enqueue(self, discipline: Discipline, k: Operand, size: Operand) -> None:
        """Note a packet of a class behind the others."""
        with self.asm.scope():
            discipline.joins(k, size)
        with self.asm.scope():
            self.entries("bytes")[self.joining(k)] = size
        with self.asm.scope():
            self.length[k] = self.length[k] + 1
            self.backlog[0] = self.backlog[0] + 1

    def dequeue(self, discipline: Discipline, k: Variable) -> None:
        """Choose a class, keep it in k, and forget its first packet; one must wait."""
        with self.asm.scope():
            discipline.choose(k)
        self.asm.limit(k, self.classes)
        with self.asm.scope():
            at = self.first(k)
            size = self.entries("bytes")[at]
            with self.asm.scope():
                self.length[k] = self.length[k] - 1
                self.backlog[0] = self.backlog[0] - 1
                start = self.each("start")
                start[k] = (start[k] + 1) % self.capacity
            discipline.left(k, size, at)


@dataclass(frozen=True)
class Discipline:
    """Emitters of rows. joins(class, bytes): before a packet stands in its queue; choose(class): sets the variable.

    left(class, bytes, place): when the packet no longer stands in its queue; place: where it stood (`entries`).
    """

    choose: Callable[[Variable], None]
    joins: Callable[[Operand, Operand], None] = lambda k, size: None
    left: Callable[[Operand, Operand, Operand], None] = lambda k, size, at: None


@contextmanager
def when(asm: Assembler, condition: Condition) -> Iterator[None]:
    """Rows inside run only where the condition holds."""
    after = Label()
    asm.jump(after, opposite(condition))
    with asm.scope():
        yield
    asm.place(after)


@contextmanager
def again(asm: Assembler) -> Iterator[Label]:
    """Rows inside run again and again, until they jump to the label behind them."""
    begin, end = Label(), Label()
    asm.place(begin)
    with asm.scope():
        yield end
    asm.jump(begin)
    asm.place(end)


# ---- the disciplines


def strict_priority(q: Queues) -> Discipline:
    """The highest class that has a packet."""

    def choose(k: Variable) -> None:
        q.asm.assign(k, 0)
        with again(q.asm) as loop:
            q.asm.jump(loop, q.length[k] > 0)
            q.asm.assign(k, k + 1)

    return Discipline(choose)


def drr(q: Queues) -> Discipline:
    """Classes with packets stand in a list that goes round; the quantum comes when the turn begins."""
    asm, n, deficit, active = q.asm, q.classes, q.each("deficit"), q.each("active")
    first, busy, begins = q.words("first", [0]), q.words("busy", [0]), q.words("turn begins", [1])

    def joins(k: Operand, size: Operand) -> None:
        with when(asm, q.length[k] == 0):
            active[(first[0] + busy[0]) % n] = k
            busy[0] = busy[0] + 1

    def choose(k: Variable) -> None:
        with again(asm) as loop:
            asm.assign(k, active[first[0]])
            with when(asm, begins[0] > 0):
                deficit[k] = deficit[k] + q.weight[k]
            begins[0] = 0
            with asm.scope():
                asm.jump(loop, q.head_bytes(k) <= deficit[k])
            active[(first[0] + busy[0]) % n] = k
            first[0] = (first[0] + 1) % n
            begins[0] = 1

    def left(k: Operand, size: Operand, at: Operand) -> None:
        deficit[k] = deficit[k] - size
        with when(asm, q.length[k] == 0):
            deficit[k] = 0
            first[0] = (first[0] + 1) % n
            busy[0] = busy[0] - 1
            begins[0] = 1

    return Discipline(choose, joins, left)


def priority_drr(q: Queues) -> Discipline:
    """The first class in order of priority with a packet and the quanta for it; a new round where none has them."""
    asm, n, deficit = q.asm, q.classes, q.words("deficit", q.weights)

    def choose(k: Variable) -> None:
        with again(asm) as loop:
            asm.assign(k, 0)
            with again(asm) as nobody:
                with when(asm, q.length[k] > 0):
                    asm.jump(loop, q.head_bytes(k) <= deficit[k])
                asm.assign(k, k + 1)
                asm.jump(nobody, k >= n)
            asm.assign(k, 0)
            with again(asm) as renewed:
                with when(asm, q.length[k] == 0):
                    deficit[k] = 0
                deficit[k] = deficit[k] + q.weight[k]
                asm.assign(k, k + 1)
                asm.jump(renewed, k >= n)

    def left(k: Operand, size: Operand, at: Operand) -> None:
        deficit[k] = deficit[k] - size

    return Discipline(choose, left=left)


def wrr(q: Queues) -> Discipline:
    """Each class in turn up to its weight in packets."""
    asm, n = q.asm, q.classes
    current, left_over = q.words("current", [0]), q.words("left over", q.weights[:1])

    def choose(k: Variable) -> None:
        asm.assign(k, current[0])
        with again(asm) as loop:
            with when(asm, q.length[k] > 0):
                asm.jump(loop, left_over[0] > 0)
            asm.assign(k, (k + 1) % n)
            left_over[0] = q.weight[k]
        current[0] = k

    def left(k: Operand, size: Operand, at: Operand) -> None:
        left_over[0] = left_over[0] - 1

    return Discipline(choose, left=left)


@dataclass(frozen=True)
class _RankWords:
    """The words of a rank (golden/schedule/ranked.py) as rows read and write them."""

    first: Word
    last: Word
    weight: Word
    step: Word
    larger: Callable[[Operand, Operand], Expression] = maximum

    @property
    def virtual(self) -> Variable:
        return self.first[0]


def ranked(scheduler: type[Ranked]) -> Callable[[Queues], Discipline]:
    """Return the discipline of a rank: the smallest goes first; all begins anew when nothing waits."""

    def discipline(q: Queues) -> Discipline:
        asm, n, common = q.asm, q.classes, math.lcm(*q.weights)
        if common // min(q.weights) > MOST_STEP:
            raise ModelError(
                f"{q.name}: weights need a smaller common multiple for ranks to be exact, got {[*q.weights]}"
            )
        steps = q.words("step", [common // weight for weight in q.weights])
        ranks, last, virtual = q.entries("rank"), q.each("last"), q.words("virtual", [0])
        words = _RankWords(virtual, replace(last, whole=True), q.weight, steps)

        def joins(k: Operand, size: Operand) -> None:
            with when(asm, q.backlog[0] == 0):
                virtual[0] = 0
                for other in range(n):
                    last[other] = 0
            with asm.scope():
                rank = scheduler.rank(words, k, expression(size))
                ranks[q.joining(k)] = asm.value_of(expression(rank))

        def choose(k: Variable) -> None:
            least, other = Variable("least rank"), Variable("class")
            asm.let(least, LAST_TAG)
            asm.let(other, 0)
            with again(asm) as done:
                with when(asm, q.length[other] > 0):
                    rank = ranks[q.first(other)]
                    with when(asm, rank < least):
                        asm.assign(least, rank)
                        asm.assign(k, other)
                asm.assign(other, other + 1)
                asm.jump(done, other >= n)

        def left(k: Operand, size: Operand, at: Operand) -> None:
            virtual[0] = ranks[at]

        return Discipline(choose, joins, left)

    return discipline


@cache
def disciplines() -> Mapping[str, Callable[[Queues], Discipline]]:
    """Return the disciplines by name; the golden router, whose ranks are among them, is loaded only here."""
    from npexplore.golden.schedule import SCHEDULERS
    from npexplore.golden.schedule.ranked import Ranked

    ranks = {name: ranked(one) for name, one in SCHEDULERS.items() if issubclass(one, Ranked)}
    return {"strict_priority": strict_priority, "drr": drr, "priority_drr": priority_drr, "wrr": wrr, **ranks}


NO_ROWS = {"wfq": "its virtual time is a fraction of any size, which no whole number of the engine holds"}


def discipline_of(name: str, discipline: str) -> Callable[[Queues], Discipline]:
    """Return a discipline by its name in golden/schedule; raises an error for one that has no rows, and why."""
    if discipline in NO_ROWS:
        raise ModelError(f"{name}: discipline {discipline!r} has no rows: {NO_ROWS[discipline]}")
    return disciplines()[one_of(f"{name}: discipline", discipline, disciplines())]
