"""Scheduling disciplines as rows of the event engine, with the same choice of the next class as golden/schedule.

A discipline is a function of the queues of a port. It declares the words that it stores and returns three emitters of
rows: for a packet that joins a queue, for the choice of a class, and for a packet that leaves. Rows take no time; the
program that chooses adds the time of a choice.
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

MOST_STEP = 1 << 30  # largest increase of a service tag per byte: tags stay below 2**63 in a busy period of 8 GB
LAST_TAG = 1 << 62


@dataclass(frozen=True)
class Word:
    """`count` stored numbers per port: `word[k]` reads number k, `word[k] = value` writes it."""

    asm: Assembler
    first: int
    count: int
    port: Operand
    whole: bool = False  # compute a value before writing it: needs fewer registers at once

    def place(self, k: Operand) -> Expression:
        """Return the number of the global with number k of the present port."""
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
    """The queues of one of `ports` ports, each of up to `capacity` packets, for the rows of a discipline."""

    asm: Assembler
    name: str
    weights: tuple[int, ...]
    capacity: int
    ports: int = 1
    port: Operand = 0

    @property
    def classes(self) -> int:
        """The number of classes; each has a queue."""
        return len(self.weights)

    def words(self, name: str, initial: Sequence[int]) -> Word:
        """Return numbers that each port stores, with these initial values."""
        first = self.asm.shared_global(f"{self.name}.{name}", self.ports * len(initial))
        self.asm.globals[first : first + self.ports * len(initial)] = [*initial] * self.ports
        return Word(self.asm, first, len(initial), self.port)

    def each(self, name: str, initial: int = 0) -> Word:
        """Return a number for each class."""
        return self.words(name, [initial] * self.classes)

    def entries(self, name: str) -> Word:
        """Return a number for each packet that may wait, by its place in the queue (`joining`, `first`)."""
        return self.words(name, [0] * (self.classes * self.capacity))

    @property
    def weight(self) -> Word:
        """The weight of each class."""
        return self.words("weight", self.weights)

    @property
    def length(self) -> Word:
        """Waiting packets of each class."""
        return self.each("length")

    @property
    def backlog(self) -> Word:
        """Waiting packets of all classes: one number per port."""
        return self.words("backlog", [0])

    def first(self, k: Operand) -> Variable:
        """Return the place of the first packet of class k."""
        place = self.each("start")[k]
        self.asm.assign(place, place + expression(k) * self.capacity)
        return place

    def joining(self, k: Operand) -> Variable:
        """Return the place behind the last packet of class k."""
        place = self.each("start")[k]
        with self.asm.scope():  # in steps, to use one register only
            self.asm.assign(place, place + self.length[k])
            self.asm.assign(place, place % self.capacity)
        self.asm.assign(place, place + expression(k) * self.capacity)
        return place

    def head_bytes(self, k: Operand) -> Variable:
        """Return the length in bytes of the first packet of class k."""
        return self.entries("bytes")[self.first(k)]

    # ---- operations of the owner of the queues

    def enqueue(self, discipline: Discipline, k: Operand, size: Operand) -> None:
        """Append a packet of class k to its queue."""
        with self.asm.scope():
            discipline.joins(k, size)
        with self.asm.scope():
            self.entries("bytes")[self.joining(k)] = size
        with self.asm.scope():
            self.length[k] = self.length[k] + 1
            self.backlog[0] = self.backlog[0] + 1

    def dequeue(self, discipline: Discipline, k: Variable) -> None:
        """Choose a class, store it in k, and remove its first packet; at least one packet must wait."""
        with self.asm.scope():
            discipline.choose(k)
        self.asm.limit(k, self.classes)
        with self.asm.scope():
            place = self.first(k)
            size = self.entries("bytes")[place]
            with self.asm.scope():
                self.length[k] = self.length[k] - 1
                self.backlog[0] = self.backlog[0] - 1
                start = self.each("start")
                start[k] = (start[k] + 1) % self.capacity
            discipline.left(k, size, place)


@dataclass(frozen=True)
class Discipline:
    """Emitters of rows.

    joins(class, bytes): before a packet joins its queue. choose(class): sets the variable to the class that sends next.
    left(class, bytes, place): after a packet has left its queue; place: where it was (`entries`).
    """

    choose: Callable[[Variable], None]
    joins: Callable[[Operand, Operand], None] = lambda k, size: None
    left: Callable[[Operand, Operand, Operand], None] = lambda k, size, at: None


@contextmanager
def when(asm: Assembler, condition: Condition) -> Iterator[None]:
    """Rows emitted in the block run only if the condition holds."""
    after = Label()
    asm.jump(after, opposite(condition))
    with asm.scope():
        yield
    asm.place(after)


@contextmanager
def again(asm: Assembler) -> Iterator[Label]:
    """Rows emitted in the block repeat until they jump to the yielded label, which is behind them."""
    begin, end = Label(), Label()
    asm.place(begin)
    with asm.scope():
        yield end
    asm.jump(begin)
    asm.place(end)


# ---- the disciplines


def strict_priority(q: Queues) -> Discipline:
    """Choose the highest class with a packet."""

    def choose(k: Variable) -> None:
        q.asm.assign(k, 0)
        with again(q.asm) as loop:
            q.asm.jump(loop, q.length[k] > 0)
            q.asm.assign(k, k + 1)

    return Discipline(choose)


def drr(q: Queues) -> Discipline:
    """Deficit round robin over a circular list of the classes with packets; a class gets its quantum at its turn."""
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
    """Choose the first class by priority whose deficit covers its first packet; without one, begin a new round."""
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
    """Weighted round robin: each class in turn may send as many packets as its weight."""
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
    """The stored numbers that a rank function (golden/schedule/ranked.py) reads and writes."""

    first: Word
    last: Word
    weight: Word
    step: Word
    larger: Callable[[Operand, Operand], Expression] = maximum

    @property
    def virtual(self) -> Variable:
        return self.first[0]


def ranked(scheduler: type[Ranked]) -> Callable[[Queues], Discipline]:
    """Return the discipline of a rank function: the smallest rank goes first; ranks restart when no packet waits."""

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
                for each_class in range(n):
                    last[each_class] = 0
            with asm.scope():
                rank = scheduler.rank(words, k, expression(size))
                ranks[q.joining(k)] = asm.value_of(expression(rank))

        def choose(k: Variable) -> None:
            smallest, each_class = Variable("least rank"), Variable("class")
            asm.let(smallest, LAST_TAG)
            asm.let(each_class, 0)
            with again(asm) as end:
                with when(asm, q.length[each_class] > 0):
                    rank = ranks[q.first(each_class)]
                    with when(asm, rank < smallest):
                        asm.assign(smallest, rank)
                        asm.assign(k, each_class)
                asm.assign(each_class, each_class + 1)
                asm.jump(end, each_class >= n)

        def left(k: Operand, size: Operand, at: Operand) -> None:
            virtual[0] = ranks[at]

        return Discipline(choose, joins, left)

    return discipline


@cache
def disciplines() -> Mapping[str, Callable[[Queues], Discipline]]:
    """Return the disciplines by name; the first call imports the golden router, which defines the rank functions."""
    from npexplore.golden.schedule import SCHEDULERS
    from npexplore.golden.schedule.ranked import Ranked

    ranks = {name: ranked(scheduler) for name, scheduler in SCHEDULERS.items() if issubclass(scheduler, Ranked)}
    return {"strict_priority": strict_priority, "drr": drr, "priority_drr": priority_drr, "wrr": wrr, **ranks}


NO_ROWS = {"wfq": "its virtual time is a fraction of any size, which no whole number of the engine holds"}


def discipline_of(name: str, discipline: str) -> Callable[[Queues], Discipline]:
    """Return a discipline by its name in golden/schedule; raises ModelError with the reason for one without rows."""
    if discipline in NO_ROWS:
        raise ModelError(f"{name}: discipline {discipline!r} has no rows: {NO_ROWS[discipline]}")
    return disciplines()[one_of(f"{name}: discipline", discipline, disciplines())]
