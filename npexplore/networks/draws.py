"""Random times and arrivals of networks as rows of the event engine.

Phase-type times are drawn phase by phase. Gamma, Pareto, lognormal and Weibull times are drawn from 600 quantiles with
linear interpolation; the last quantile leaves a tail of 1e-9. A trace is read from a table in its order.
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
    """Kind and operands a, b, c (constant and register) of a random time, for a row that draws it."""

    kind: int
    a: tuple[int, int]
    b: tuple[int, int]
    c: int


def drawn(asm: Assembler, time: AnyTime, source: str, scale: float = 1.0) -> Drawn:
    """Return the operands of a time in ticks, multiplied by `scale`; emits the rows that compute them."""
    if isinstance(time, Time):
        kind, a, b, c = duration(asm, time, scale)
        return Drawn(kind, (a, 0), (b, 0), c)
    if isinstance(time, Trace):
        return _traced(asm, time, scale)
    if isinstance(time, Coxian | PhaseType):
        return _phased(asm, phases_of(time), source, scale)
    return _quantiles(asm, time, source, scale)


def nap(asm: Assembler, time: AnyTime, source: str) -> None:
    """Sleep for a random time; source: the name of its random stream."""
    with asm.scope():
        kind, a, b, c = drawn(asm, time, source)
        asm.emit(engine.WAIT, a, b, (c, 0), x=kind, source=source)


def _fixed(asm: Assembler, variable: Variable) -> Drawn:
    return Drawn(engine.FIXED, asm.operand(variable), (0, 0), 0)


def _traced(asm: Assembler, time: Trace, scale: float) -> Drawn:
    ticks = np.round(np.array(time.values) * scale / asm.tick).astype(np.int64).reshape(-1, 1)
    index = Variable("next of the trace")
    asm.fetch_add(index, asm.new_global(), 1)
    (value,) = asm.load(asm.table(ticks), index % len(ticks), ["traced"])
    return _fixed(asm, value)


def _quantiles(asm: Assembler, time: AnyTime, source: str, scale: float) -> Drawn:
    shares = np.concatenate([np.linspace(0, 0.95, 301), 1 - TAIL[1:]])
    ticks = np.round(quantile(time, shares) * scale / asm.tick).astype(np.int64)
    rows = np.stack([ticks[:-1], ticks[1:]], axis=1)
    cumulative = np.round(shares[1:] * 2.0**53).astype(np.int64)
    row = Variable("span of quantiles")
    table = asm.table(np.stack([np.arange(len(rows)), cumulative], axis=1))
    asm.emit(engine.DRAW, (table, 0), slot=asm.register(row), x=engine.EMPIRICAL, source=f"{source}.span")
    low, high = asm.load(asm.table(rows), row, ["low", "high"])
    return Drawn(engine.UNIFORM, asm.operand(low), asm.operand(high), 0)


def choose(asm: Assembler, chances: list[float], labels: list[Label], source: str) -> None:
    """Go to one of the labels, chosen at random with these probabilities."""
    with asm.scope():
        chance, below = Variable("chance"), 0.0
        if len(labels) > 1:
            asm.draw(chance, PROBABILITY_STEPS, source)
        for label, share in list(zip(labels, chances, strict=True))[:-1]:
            below += share
            asm.jump(label, chance < round(below * PROBABILITY_STEPS))
        asm.jump(labels[-1])


def _phased(asm: Assembler, phase_type: Phases, source: str, scale: float) -> Drawn:
    total, end = Variable("time in phases"), Label()
    labels = [Label() for _ in phase_type.first]
    asm.let(total, 0)
    used = np.flatnonzero(phase_type.first > 0)
    choose(asm, [float(phase_type.first[i]) for i in used], [labels[i] for i in used], f"{source}.first")
    for i, row in enumerate(phase_type.rates):
        asm.place(labels[i])
        with asm.scope():
            phase_time = Variable("stay")
            mean = round(-1 / row[i] * scale / asm.tick)
            register = asm.register(phase_time)
            asm.emit(engine.DRAW, (mean, 0), slot=register, x=engine.EXPONENTIAL, source=f"{source}.phase{i}")
            asm.assign(total, total + phase_time)
        next_phases = [j for j in np.flatnonzero(row > 0) if j != i]
        chances = [float(row[j] / -row[i]) for j in next_phases]
        choose(asm, [*chances, 1 - sum(chances)], [*(labels[j] for j in next_phases), end], f"{source}.next{i}")
    asm.place(end)
    return _fixed(asm, total)


def arrive(asm: Assembler, process: AnyArrivals, come: Callable[[], None], name: str) -> None:
    """Emit the endless loop of a source of arrivals of a class; come: emits the effect of one arrival."""
    if isinstance(process, Renewal):
        next_arrival = Label()
        asm.place(next_arrival)
        nap(asm, process.interval, f"arrival.{name}")
        come()
        asm.jump(next_arrival)
    elif isinstance(process, Markovian):
        _modulated(asm, process, come, name)
    else:
        let_arrive(asm, process, come, f"arrival.{name}", f"phase.{name}", f"sizes.{name}")


def _modulated(asm: Assembler, process: Markovian, emit_arrival: Callable[[], None], name: str) -> None:
    labels = [Label() for _ in process.quiet]
    for i, (quiet, arrival_rates) in enumerate(zip(process.quiet, process.arrive, strict=True)):
        asm.place(labels[i])
        exit_rate = -quiet[i]
        nap(asm, Exponential(mean=1 / exit_rate), f"arrival.{name}.{i}")
        quiet_moves = [(rate, labels[j], None) for j, rate in enumerate(quiet) if j != i and rate > 0]
        arrivals = [(rate, Label(), labels[j]) for j, rate in enumerate(arrival_rates) if rate > 0]
        moves = [*quiet_moves, *arrivals]
        total = sum(rate for rate, _, _ in moves)
        choose(asm, [rate / total for rate, _, _ in moves], [label for _, label, _ in moves], f"phase.{name}.{i}")
        for _, label, next_phase in arrivals:
            asm.place(label)
            emit_arrival()
            assert next_phase is not None
            asm.jump(next_phase)
