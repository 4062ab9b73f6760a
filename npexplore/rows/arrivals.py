"""Arrival processes and random times as rows of the event engine; networks and receive sides share them.

Poisson: exponential times between arrivals. Periodic: constant times from a random phase on. Batch: several customers
at each instant of a Poisson process. On-off: the renewal process of Kuczura (1973), hyperexponential times.
"""

from __future__ import annotations

from collections.abc import Callable

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
from npexplore.rows.expressions import Variable


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


def let_arrive(
    asm: Assembler, process: Arrivals, arrive: Callable[[], None], source: str, phase: str, sizes: str
) -> None:
    """Emit a token's endless loop; `arrive` emits what one arrival does. The other three name random streams."""
    again, now, one = Label(), Label(), Label()
    size = process.size if isinstance(process, Batch) else 1
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
        if isinstance(process, Batch) and process.sizes == "geometric":
            asm.place(one)
            arrive()
            asm.jump_by_chance(one, 1 / size, sizes)
        elif size > 1:
            left = Variable("left of the batch")
            asm.let(left, size)
            asm.place(one)
            arrive()
            asm.assign(left, left - 1)
            asm.jump(one, left > 0)
        else:
            arrive()
    asm.jump(again)
