"""Arrival processes and random times as rows of the event engine; used by networks and by receive sides.

Poisson: exponential times between arrivals. Periodic: constant times with a random phase. Batch: several customers at
each instant of a Poisson process. On-off: the renewal process of Kuczura (1973), with hyperexponential times.

Under overload (`Losses`), all arrivals before the machine's next event are lost and counted at once. For a Poisson
process (also with batches of a fixed size) their number is drawn from a Poisson distribution, and the next arrival
comes an exponential time after that event; for periodic arrivals both are computed. Batches of geometric sizes and
on-off arrivals are simulated one by one.
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

# mean times between arrivals until the next event: up to the first limit arrivals are simulated one by one, beyond the
# second they are counted in several steps
FEWEST_GAPS, MOST_GAPS = 8, 1 << 20


def duration(asm: Assembler, time: Time, scale: float = 1.0) -> tuple[int, int, int, int]:
    """Return kind and operands a, b, c of a random time in ticks, multiplied by `scale`."""

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
    """Sleep for a random time; source: the name of its random stream."""
    kind, a, b, c = duration(asm, time)
    asm.emit(engine.WAIT, (a, 0), (b, 0), (c, 0), x=kind, source=source)


@dataclass
class Losses:
    """Emitters for lost arrivals; an arrival that is lost jumps to the label `lost`.

    one: counts one lost arrival. unless: jumps to a label unless all arrivals before the machine's next event will also
    be lost. many: counts a number of lost arrivals.
    """

    one: Callable[[], None]
    unless: Callable[[Label], None]
    many: Callable[[Expression], None]
    lost: Label = field(default_factory=Label)


def let_arrive(
    asm: Assembler, process: Arrivals, arrive: Callable[[], None], source: str, phase: str, sizes: str,
    losses: Losses | None = None,
) -> None:  # fmt: skip
    """Emit the endless loop of a source of arrivals.

    arrive: emits the effect of one arrival. source, phase, sizes: names of random streams. losses: emits the effect of
    lost arrivals (None: arrivals cannot be lost).
    """
    next_instant, instant, next_customer = Label(), Label(), Label()
    size = process.size if isinstance(process, Batch) else 1
    customer_done = Label() if size > 1 else next_instant
    geometric = isinstance(process, Batch) and process.sizes == "geometric"
    mean = size / process.rate
    time: Time = Exponential(mean=mean)
    if isinstance(process, Periodic):
        sleep(asm, Uniform(low=0.0, high=mean), phase)
        asm.jump(instant)
        time = Deterministic(mean=mean)
    elif isinstance(process, OnOff):
        time = process.interval()
    asm.place(next_instant)
    sleep(asm, time, source)
    asm.place(instant)
    with asm.scope():
        remaining = Variable("left of the batch")
        if size > 1 and not geometric:
            asm.let(remaining, size)
        asm.place(next_customer)
        arrive()
        if losses is not None:
            asm.jump(customer_done)
            asm.place(losses.lost)
            losses.one()
            if isinstance(time, Deterministic | Exponential) and not geometric:
                if size > 1:
                    asm.jump(customer_done, remaining > 1)
                _lose_many(asm, time, size, losses, source, customer_done)
                asm.jump(instant)
        if size > 1:
            asm.place(customer_done)
        if geometric:
            asm.jump_by_chance(next_customer, 1 / size, sizes)
        elif size > 1:
            asm.assign(remaining, remaining - 1)
            asm.jump(next_customer, remaining > 0)
    asm.jump(next_instant)


def _lose_many(
    asm: Assembler, time: Deterministic | Exponential, size: int, losses: Losses, source: str, few: Label
) -> None:
    """Count the arrivals before the next event, sleep until the first one after it; jump to `few` if they are few."""
    kind, gap, _, _ = duration(asm, time)
    number, remaining = Variable("lost arrivals"), Variable("from the next event to the next arrival")
    ticks = asm.value(engine.TO_NEXT, min(MOST_GAPS * gap, 1 << 62))
    asm.jump(few, ticks <= FEWEST_GAPS * gap)
    losses.unless(few)
    if kind == engine.FIXED:
        asm.let(number, (ticks - 1) // gap)
        asm.let(remaining, (number + 1) * gap - ticks)
    else:
        a, slot = asm.operand(ticks), asm.register(number)
        asm.emit(engine.DRAW, a, (gap, 0), slot=slot, x=engine.POISSON, source=f"lost {source}")
        asm.emit(engine.DRAW, (gap, 0), slot=asm.register(remaining), x=kind, source=f"rest of {source}")
    losses.many(number * size)
    asm.wait(ticks + remaining)
