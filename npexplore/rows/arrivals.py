"""Arrival processes and random times as rows of the event engine; networks and receive sides share them.

Poisson: exponential times between arrivals. Periodic: constant times from a random phase on. Batch: several customers
at each instant of a Poisson process. On-off: the renewal process of Kuczura (1973), hyperexponential times.

Under overload (`Losses`) all arrivals before the machine's next event are lost and counted at once: the number of a
Poisson process (also of batches of one size) is a Poisson number, and the next arrival comes an exponential time after
that event; periodic ones are computed. Batches of geometric sizes and on-off arrivals come one by one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from npexplore._kernels import engine
from npexplore.rows.assembler import Assembler
from npexplore.rows.base import Label
from npexplore.rows.distributions import (
    Arrivals,
    Batch,
    Deterministic,
    Empirical,
    Erlang,
    Exponential,
    Hyperexponential,
    OnOff,
    Periodic,
    Time,
    Uniform,
)
from npexplore.rows.expressions import Expression, Variable

FEWEST_GAPS, MOST_GAPS = 8, 1 << 20  # between arrivals, to the next event: fewer come one by one, more in several steps


def duration(asm: Assembler, time: Time, scale: float = 1.0) -> tuple[int, int, int, int]:
    """Return kind and operands a, b, c of a random time in ticks, `scale` times as long."""

    def ticks(seconds: float) -> int:
        return round(seconds * scale / asm.tick)

    match time:
        case Deterministic():
            return engine.FIXED, ticks(time.mean), 0, 0
        case Exponential():
            return engine.EXPONENTIAL, ticks(time.mean), 0, 0
        case Erlang():
            return engine.ERLANG, ticks(time.mean), time.stages, 0
        case Hyperexponential():
            first, second = time.means
            return engine.HYPEREXPONENTIAL, ticks(first), ticks(second), round(time.probability * 2**30)
        case Uniform():
            return engine.UNIFORM, ticks(time.low), ticks(time.high), 0
        case Empirical():
            weights = np.cumsum(time.weights) / np.sum(time.weights)
            columns = [ticks(value) for value in time.values], np.round(weights * 2**53)
            return engine.EMPIRICAL, asm.table(np.stack(columns, axis=1).astype(np.int64)), 0, 0


def sleep(asm: Assembler, time: Time, source: str) -> None:
    """Sleep for a random time; `source` names its random stream."""
    kind, a, b, c = duration(asm, time)
    asm.emit(engine.WAIT, (a, 0), (b, 0), (c, 0), x=kind, source=source)


@dataclass
class Losses:
    """Emit what lost arrivals do; an arrival that is lost goes to the label `lost`.

    one: a single one. unless: goes to a label unless all arrivals before the machine's next event will be lost, too.
    many: so many of these.
    """

    one: Callable[[], None]
    unless: Callable[[Label], None]
    many: Callable[[Expression], None]
    lost: Label = field(default_factory=Label)


def let_arrive(
    asm: Assembler, process: Arrivals, arrive: Callable[[], None], source: str, phase: str, sizes: str,
    losses: Losses | None = None,
) -> None:  # fmt: skip
    """Emit a token's endless loop; `arrive` emits what one arrival does; source, phase, sizes name random streams."""
    again, now, one = Label(), Label(), Label()
    size = process.size if isinstance(process, Batch) else 1
    behind = Label() if size > 1 else again
    geometric = isinstance(process, Batch) and process.sizes == "geometric"
    mean = size / process.rate
    time: Time = Exponential(mean=mean)
    if isinstance(process, Periodic):
        sleep(asm, Uniform(low=0.0, high=mean), phase)
        asm.jump(now)
        time = Deterministic(mean=mean)
    elif isinstance(process, OnOff):
        time = process.interval()
    asm.place(again)
    sleep(asm, time, source)
    asm.place(now)
    with asm.scope():
        left = Variable("left of the batch")
        if size > 1 and not geometric:
            asm.let(left, size)
        asm.place(one)
        arrive()
        if losses is not None:
            asm.jump(behind)
            asm.place(losses.lost)
            losses.one()
            if isinstance(time, Deterministic | Exponential) and not geometric:
                if size > 1:
                    asm.jump(behind, left > 1)
                _lose_many(asm, time, size, losses, source, behind)
                asm.jump(now)
        if size > 1:
            asm.place(behind)
        if geometric:
            asm.jump_by_chance(one, 1 / size, sizes)
        elif size > 1:
            asm.assign(left, left - 1)
            asm.jump(one, left > 0)
    asm.jump(again)


def _lose_many(
    asm: Assembler, time: Deterministic | Exponential, size: int, losses: Losses, source: str, few: Label
) -> None:
    """Count the arrivals before the next event, sleep until the first one behind it; go to `few` if they are few."""
    kind, gap, _, _ = duration(asm, time)
    number, rest = Variable("lost arrivals"), Variable("from the next event to the next arrival")
    ticks = asm.value(engine.TO_NEXT, min(MOST_GAPS * gap, 1 << 62))
    asm.jump(few, ticks <= FEWEST_GAPS * gap)
    losses.unless(few)
    if kind == engine.FIXED:
        asm.let(number, (ticks - 1) // gap)
        asm.let(rest, (number + 1) * gap - ticks)
    else:
        a, slot = asm.operand(ticks), asm.register(number)
        asm.emit(engine.DRAW, a, (gap, 0), slot=slot, x=engine.POISSON, source=f"lost {source}")
        asm.emit(engine.DRAW, (gap, 0), slot=asm.register(rest), x=kind, source=f"rest of {source}")
    losses.many(number * size)
    asm.wait(ticks + rest)
