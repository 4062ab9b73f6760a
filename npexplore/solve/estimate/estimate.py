"""Estimates: simulation until the 95 % interval has the wanted precision, at low cost.

    0. a machine that is one station of queueing theory has an exact answer (theory.py)
    1. saturated runs give the saturated rate S, and show whether runs have modes
    2. open load: latency = mean over runs of (simulated - Lindley's wait) + exact mean of Lindley's wait
    3. longer runs while the second half of the runs' windows differs from the first; if this does not end, no answer
    4. more runs until the interval is narrow enough, or the budget is used

Lindley's queue gets the same packets at the same ticks, with mean service time 1/S (control.py); it is not used where
it does not help, for example with losses. The load determines the length of runs (plan.py). A budget in seconds is a
number of the engine's events, not clock time: seed, precision and budget give the same answer on any computer.
"""

from collections.abc import Sequence
from dataclasses import replace
from time import perf_counter
from typing import Literal

import numpy as np
import numpy.typing as npt

from npexplore.errors import RefusedError, SimulationError, positive
from npexplore.machine.leaks import leaking_queues
from npexplore.solve.estimate.answer import answer, overloaded, precision_of
from npexplore.solve.estimate.orders import shown
from npexplore.solve.estimate.plan import (
    EVENTS_PER_S,
    FIRST_RUNS,
    MORE_RUNS,
    OVERLOAD,
    OVERRUN,
    PILOT_PACKETS,
    Ask,
    Plan,
    cost,
    fitted,
    in_blocks,
    packet_events,
    plan_of,
    saturated_plan,
)
from npexplore.solve.estimate.replications import Replication, Subject, replicate
from npexplore.solve.estimate.theory import theory
from npexplore.solve.modes import Modes, modes_of
from npexplore.solve.prediction import Prediction

PRECISION = 0.02
ALONE_PRECISION = 0.003  # for packets without contention, whose latency tables show as the machine's
BUDGET_S = 5.0
MAX_RUNS = 400
FEWEST_RUNS = 3  # if the length of runs does not depend on the budget
SATURATED_SHARES = 0.4, 0.7  # of the budget, for the saturated rate of an open load: usual, highest
FIRST_SHARE = 0.5  # of the remaining budget, for the first open runs
SHORT_RUNS, SHORT_PACKETS = 30, 500  # runs and their packets in the search for modes of machines with locks
MAX_FILL = 100_000  # packets of a warm-up that fills a receive buffer
LASTING = 0.6  # share of the deviation between short runs that longer runs must keep if there are modes
DRIFT = 0.03  # largest relative change between the halves of a window that does not count as drift
LENGTHENINGS = 4  # times that drifting runs are doubled in length
RUNS_APART = 100_004  # distance between the seeds of runs for successive seeds of the user


def estimate(
    subject: Subject, *, seed: int = 1, precision: float = PRECISION, budget_s: float = BUDGET_S,
    runs: int | None = None,
) -> Prediction:  # fmt: skip
    """Return the answer for a machine and its packets.

    precision: wanted relative half width of throughput (saturated) or of mean latency (open load). budget_s: budget of
    all runs together, EVENTS_PER_S events per second; the smallest number of runs may take twice the budget. runs: make
    exactly this number of runs instead, of the same length. Raises RefusedError where an interval would not be valid,
    SimulationError where the machine cannot run.
    """
    positive("precision", precision)
    positive("budget", budget_s)
    began = perf_counter()
    if runs is None and (exact := theory(subject)) is not None:
        return replace(exact, seconds=perf_counter() - began)
    events = budget_s * EVENTS_PER_S
    ask = Ask(seed, precision, events, runs, OVERRUN * events)
    if subject.windowed or subject.recorded:
        kind: Literal["window", "recorded"] = "window" if subject.windowed else "recorded"
        plan = Plan(kind, packets=len(subject.workload.packet_bytes))
        done = _until(subject, plan, [], ask)
        return answer(subject, done, plan, modes_of(done) if subject.windowed and subject.locks else None, ask, began)
    try:
        saturated, modes, plan, remaining = _saturated(subject, ask)
    except SimulationError as error:
        if error.kind != "saturation" or subject.workload.arrivals == "saturated":
            raise
        raise RefusedError(
            "estimate: the length of runs behind arrivals comes from runs at full load, and there the machine falls "
            f"behind without end ({error}); use `simulate`, or threads that wait for the work that is forked"
        ) from None
    _check_finished(saturated)
    if subject.workload.arrivals == "saturated":
        done = saturated
        if modes is not None:
            modes = shown(subject, modes, saturated, plan, remaining.less(saturated).events)
            detailed = subject.saturated_run(modes.commonest[0], plan.warm_up, plan.packets, breakdown=True)
            return replace(answer(subject, done, plan, modes, ask, began), breakdown=detailed.prediction.breakdown)
        plan, done, remaining = _settled(subject, plan, saturated, remaining)
        return answer(subject, _until(subject, plan, done, remaining), plan, None, ask, began)
    remaining = remaining.less(saturated)
    plan = plan_of(subject, saturated, modes, seed)
    if plan.warm_up > MAX_FILL and plan.load is not None and plan.load > OVERLOAD and subject.alike and modes is None:
        return overloaded(subject, saturated, plan, ask, began)
    plan = fitted(plan, packet_events(saturated), FIRST_SHARE * remaining.events, remaining.most)
    if plan.alone:
        remaining = replace(remaining, precision=min(precision, ALONE_PRECISION))
    leaking = leaking_queues(subject.machine, subject.workload)
    plan, done, remaining = _settled(subject, plan, [], remaining, leaking)
    done = _until(subject, plan, done, remaining)
    _check_leaks(subject, done, leaking)
    return answer(subject, done, plan, None, ask, began)


def _seeds(seed: int, first: int, count: int) -> list[int]:
    return [seed * RUNS_APART + k for k in range(first, first + count)]


def _saturated(subject: Subject, ask: Ask) -> tuple[list[Replication], Modes | None, Plan, Ask]:
    """Return saturated runs, their modes (None: no modes), their plan, and the budget that remains without them.

    Apparent modes count only if runs up to four times as long show them too and differ about as much; otherwise the
    runs only change slowly.
    """
    subject.saturated_model()

    def runs(plan: Plan, count: int) -> list[Replication]:
        return replicate(lambda k: subject.saturated_run(k, plan.warm_up, plan.packets), _seeds(ask.seed, 0, count))

    pilot = runs(Plan("saturated", 0, subject.inside + PILOT_PACKETS), 1)
    each, left = packet_events(pilot), ask.less(pilot)
    first, most = (1.0, 1.0) if subject.workload.arrivals == "saturated" else SATURATED_SHARES
    plan = in_blocks(subject, fitted(saturated_plan(subject), each, first * left.events, most * left.most))
    tries = [(plan, plan.runs)]
    if subject.locks:
        tries = [(replace(plan, warm_up=max(plan.warm_up // 4, 1), packets=SHORT_PACKETS), SHORT_RUNS), *tries]
    done: list[Replication] = []
    for attempt, count in tries:
        left = left.less(done)
        done = runs(attempt, count)
        modes = modes_of(done)
        if modes is not None:
            left = left.less(done)
            longer = fitted(
                replace(plan, warm_up=4 * plan.warm_up, packets=4 * plan.packets), each, left.events / 2, left.events
            )
            long_runs = runs(longer, longer.runs)
            if spread(long_runs) > LASTING * spread(done) and modes_of(long_runs) is not None:
                return done, modes, plan, left.less(long_runs)
            return long_runs, None, longer, left
    return done, None, plan, left


def spread(runs: Sequence[Replication]) -> float:
    """Return the standard deviation of the rates of runs, relative to their mean."""
    rates = np.array([run.rate_pps for run in runs])
    return float(np.std(rates, ddof=1) / rates.mean())


def _until(subject: Subject, plan: Plan, done: list[Replication], ask: Ask) -> list[Replication]:
    """Add runs to `done`, a few at a time, until the interval is narrow enough or the budget is used; return all."""

    def one_run(number: int) -> Replication:
        if plan.kind == "saturated":
            return subject.saturated_run(number, plan.warm_up, plan.packets)
        if plan.kind == "window":
            return subject.windowed_run(number)
        return subject.open_run(number, plan.warm_up, plan.packets, plan.controls)

    subject.model(plan.kind, plan.warm_up + plan.packets)  # built here, where reads of parameters are recorded
    wanted = max(plan.runs, len(done)) if ask.runs is None else ask.runs
    if not done and ask.runs is None and plan.kind in ("window", "recorded"):
        done = replicate(one_run, _seeds(ask.seed, 0, 1))
        wanted = min(max(int(ask.events / cost(done)), FEWEST_RUNS), FIRST_RUNS)
    while True:
        done = [*done[:wanted], *replicate(one_run, _seeds(ask.seed, len(done), wanted - len(done)))]
        _check_finished(done)
        if ask.runs is not None or len(done) >= MAX_RUNS or precision_of(done, plan) <= ask.precision:
            return done
        wanted = len(done) + MORE_RUNS
        if cost(done) * wanted / len(done) > ask.events:
            return done


def _settled(
    subject: Subject, plan: Plan, done: list[Replication], ask: Ask, leaking: Sequence[str] = ()
) -> tuple[Plan, list[Replication], Ask]:
    """Return a plan whose runs do not drift, its first runs, and the budget without earlier runs.

    Raises RefusedError if runs still drift after the last lengthening, or if the budget is too small for it.
    """
    for _ in range(1 + LENGTHENINGS):
        done = _until(subject, plan, done, replace(ask, runs=max(plan.runs, len(done))))
        _check_leaks(subject, done, leaking)
        name = drifts(done)
        if name is None:
            return plan, done, ask
        ask, longer = ask.less(done), replace(plan, warm_up=2 * plan.warm_up + plan.packets, packets=2 * plan.packets)
        needed = plan.runs * (longer.warm_up + longer.packets) * packet_events(done)
        if needed > ask.events:
            break
        plan, done = longer, []
    raise RefusedError(
        f"estimate: {name} still changes after {plan.warm_up:,} packets of each run: the machine has no steady "
        "state, or one that takes longer to reach than the budget has room for"
    )


def _check_finished(runs: Sequence[Replication]) -> None:
    if not any(run.packets for run in runs):
        raise RefusedError(
            "estimate: no packet is finished during the measurement; see what `simulate` says about the start"
        )


def _check_leaks(subject: Subject, runs: Sequence[Replication], leaking: Sequence[str]) -> None:
    for queue in leaking:
        lost = sum(run.prediction.drops[queue] for run in runs)
        if lost:
            buffer = subject.machine.ingress.name
            raise RefusedError(
                f"estimate: queue {queue!r} dropped {lost:,} packets, whose places in the receive buffer {buffer!r} no "
                f"program frees: it fills with them, and no steady state is reached; free them before {queue}.put"
            )


def drifts(runs: Sequence[Replication]) -> str | None:
    """Return the quantity that differs between the first and the second half of the runs' windows (None: none).

    A paired t test over the runs at 99.9 %, and a difference of more than 3 % of the mean (for a loss, of 0.01).
    """
    for name, rows, smallest_mean in (
        ("latency", [run.latencies for run in runs], 0.0), ("rate", [run.rates for run in runs], 0.0),
        ("loss", [run.losses for run in runs], 0.01 / DRIFT),
    ):  # fmt: skip
        pairs = [(_mean(row[: len(row) // 2]), _mean(row[len(row) // 2 :])) for row in rows]
        halves = np.array([pair for pair in pairs if None not in pair], dtype=float)
        if len(halves) < len(runs) / 2 or len(halves) < 2:
            continue
        change, mean = halves[:, 1] - halves[:, 0], float(halves.mean())
        error = float(np.std(change, ddof=1)) / len(halves) ** 0.5
        if abs(change.mean()) <= DRIFT * max(mean, smallest_mean):
            continue
        from scipy.special import stdtrit  # slow to import

        if abs(change.mean()) > float(stdtrit(len(halves) - 1, 0.9995)) * error:
            return name
    return None


def _mean(values: npt.NDArray[np.float64]) -> float | None:
    """Return the mean of the finite numbers (None: there are none)."""
    finite = values[np.isfinite(values)]
    return float(finite.mean()) if len(finite) else None
