"""Random times and arrivals of networks as rows of the event engine: its own kinds, and rows that put others together.

Phases are drawn one after the other. Gamma, Pareto, lognormal and Weibull times are drawn by their quantiles, linear
between 600 of them, the last beyond a share of 1e-9. A trace is read from a table in its order.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from npexplore._kernels import engine
from npexplore.networks.arrivals import AnyArrivals, Markovian, Renewal
from npexplore.networks.times import AnyTime, Coxian, PhaseType, Trace, phases_of
from npexplore.networks.transforms import quantile
from npexplore.rows.arrivals import duration, let_arrive
from npexplore.rows.assembler import PROBABILITY_STEPS, Assembler, Label
from npexplore.rows.distributions import Exponential, Time
from npexplore.rows.expressions import Variable
from npexplore.rows.phases import Phases

TAIL = np.geomspace(0.05, 1e-9, 300)


class Drawn(NamedTuple):
    """Kind and operands a, b, c (constant and register) of a time that a row of the engine draws."""

    kind: int
    a: tuple[int, int]
    b: tuple[int, int]
    c: int


def drawn(asm: Assembler, time: AnyTime, source: str, scale: float = 1.0) -> Drawn:
    """Return the operands of a time in ticks, `scale` times as long; emits the rows that put it together before."""
    if isinstance(time, Time):
        kind, a, b, c = duration(asm, time, scale)
        return Drawn(kind, (a, 0), (b, 0), c)
    if isinstance(time, Trace):
        return _traced(asm, time, scale)
    if isinstance(time, Coxian | PhaseType):
        return _phased(asm, phases_of(time), source, scale)
    return _quantiles(asm, time, source, scale)


def nap(asm: Assembler, time: AnyTime, source: str) -> None:
    """Sleep for a random time; `source` names its random stream."""
    with asm.scope():
        kind, a, b, c = drawn(asm, time, source)
        asm.emit(engine.WAIT, a, b, (c, 0), x=kind, source=source)


def _fixed(asm: Assembler, variable: Variable) -> Drawn:
    return Drawn(engine.FIXED, asm.operand(variable), (0, 0), 0)


def _traced(asm: Assembler, time: Trace, scale: float) -> Drawn:
    ticks = np.round(np.array(time.values) * scale / asm.tick).astype(np.int64).reshape(-1, 1)
    at = Variable("next of the trace")
    asm.fetch_add(at, asm.new_global(), 1)
    (value,) = asm.load(asm.table(ticks), at % len(ticks), ["traced"])
    return _fixed(asm, value)


def _quantiles(asm: Assembler, time: AnyTime, source: str, scale: float) -> Drawn:
    shares = np.concatenate([np.linspace(0, 0.95, 301), 1 - TAIL[1:]])
    ends = np.round(quantile(time, shares) * scale / asm.tick).astype(np.int64)
    rows = np.stack([ends[:-1], ends[1:]], axis=1)
    rising = np.round(shares[1:] * 2.0**53).astype(np.int64)
    row = Variable("span of quantiles")
    table = asm.table(np.stack([np.arange(len(rows)), rising], axis=1))
    asm.emit(engine.DRAW, (table, 0), slot=asm.register(row), x=engine.EMPIRICAL, source=f"{source}.span")
    low, high = asm.load(asm.table(rows), row, ["low", "high"])
    return Drawn(engine.UNIFORM, asm.operand(low), asm.operand(high), 0)


def choose(asm: Assembler, chances: list[float], labels: list[Label], source: str) -> None:
    """Go to one of the labels by chance."""
    with asm.scope():
        chance, below = Variable("chance"), 0.0
        if len(labels) > 1:
            asm.draw(chance, PROBABILITY_STEPS, source)
        for label, share in list(zip(labels, chances, strict=True))[:-1]:
            below += share
            asm.jump(label, chance < round(below * PROBABILITY_STEPS))
        asm.jump(labels[-1])


def _phased(asm: Assembler, phase_type: Phases, source: str, scale: float) -> Drawn:
    total, over = Variable("time in phases"), Label()
    labels = [Label() for _ in phase_type.first]
    asm.let(total, 0)
    used = np.flatnonzero(phase_type.first > 0)
    choose(asm, [float(phase_type.first[i]) for i in used], [labels[i] for i in used], f"{source}.first")
    for i, row in enumerate(phase_type.rates):
        asm.place(labels[i])
        with asm.scope():
            stay = Variable("stay")
            mean = round(-1 / row[i] * scale / asm.tick)
            register = asm.register(stay)
            asm.emit(engine.DRAW, (mean, 0), slot=register, x=engine.EXPONENTIAL, source=f"{source}.phase{i}")
            asm.assign(total, total + stay)
        to = [j for j in np.flatnonzero(row > 0) if j != i]
        chances = [float(row[j] / -row[i]) for j in to]
        choose(asm, [*chances, 1 - sum(chances)], [*(labels[j] for j in to), over], f"{source}.next{i}")
    asm.place(over)
    return _fixed(asm, total)


def arrive(asm: Assembler, process: AnyArrivals, come: Callable[[], None], name: str) -> None:
    """Emit a token's endless loop of arrivals of a class; `come` emits what one arrival does."""
    if isinstance(process, Renewal):
        again = Label()
        asm.place(again)
        nap(asm, process.interval, f"arrival.{name}")
        come()
        asm.jump(again)
    elif isinstance(process, Markovian):
        _modulated(asm, process, come, name)
    else:
        let_arrive(asm, process, come, f"arrival.{name}", f"phase.{name}", f"sizes.{name}")


def _modulated(asm: Assembler, process: Markovian, come: Callable[[], None], name: str) -> None:
    labels = [Label() for _ in process.quiet]
    for i, (quiet, loud) in enumerate(zip(process.quiet, process.arrive, strict=True)):
        asm.place(labels[i])
        out = -quiet[i]
        nap(asm, Exponential(mean=1 / out), f"arrival.{name}.{i}")
        ways = [(rate, labels[j], None) for j, rate in enumerate(quiet) if j != i and rate > 0]
        loudly = [(rate, Label(), labels[j]) for j, rate in enumerate(loud) if rate > 0]
        every = [*ways, *loudly]
        total = sum(rate for rate, _, _ in every)
        choose(asm, [rate / total for rate, _, _ in every], [label for _, label, _ in every], f"phase.{name}.{i}")
        for _, label, after in loudly:
            asm.place(label)
            come()
            assert after is not None
            asm.jump(after)
