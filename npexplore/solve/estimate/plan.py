"""How runs are made: packets before and in the window, and the controls that may help.

    settles   2 f / (1 - r)^2 packets, at most K^2 / 5 f + K       warm-up: twice that       window: six times that

with f the dispersion of arrivals and of services, r = load / S and K the room for packets: the relaxation time of a
reflected random walk (Asmussen, Applied Probability and Queues, 2003, X.7 and XIV.6).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from npexplore.engine.offered import STRATUM
from npexplore.errors import RefusedError
from npexplore.solve.estimate.control import Control, control_at, service_shapes
from npexplore.solve.estimate.modes import Modes
from npexplore.solve.estimate.replications import WORKERS, Replication, Subject, over

FIRST_RUNS = 8
WARM_UP, PACKETS = 250, 2000  # of a run, at least
HIGHEST_LOAD = 0.97  # of S: nearer to 1 a queue without much room takes too long to settle
OVERLOAD = 1.03  # of S: from here on a finite buffer stays full
SETTLED_PACKETS = 20_000  # in which a queue with little room settles even near a load of 1
MAX_OVERRUN = 3.0  # budgets that the first group of runs may take


@dataclass(frozen=True)
class Plan:
    """How runs are made: which, packets before and in the window, the load, and possible controls."""

    kind: Literal["saturated", "open", "recorded", "window"]
    warm_up: int = 0
    packets: int = 0
    load: float | None = None  # of the saturated rate (open only)
    controls: tuple[Control, ...] = ()


@dataclass(frozen=True)
class Ask:
    """What was asked for, and the time when the budget is over."""

    seed: int
    precision: float
    until: float
    runs: int | None


def saturated_length(subject: Subject, packets: int = PACKETS) -> tuple[int, int]:
    """Return the packets before the window of a saturated run, and in it: whole blocks, each like the mix."""
    before, measured = max(WARM_UP, 4 * subject.inside), max(packets, 16 * subject.inside * packets // PACKETS)
    return -(-before // STRATUM) * STRATUM, -(-measured // STRATUM) * STRATUM


def plan_of(subject: Subject, short: Sequence[Replication], modes: Modes | None, seed: int) -> Plan:
    """Return warm-up, length and control of open runs; raises RefusedError too near a load of 1, or between modes."""
    workload, process = subject.workload, subject.workload.process()
    assert process is not None
    demands = subject.demands()
    if demands is not None and demands.demands.freed == 0:
        name = subject.machine.ingress.name
        raise RefusedError(
            f"estimate: no program frees the receive buffer {name!r}: it fills, and all that follows is lost"
        )
    rate, _ = over((one.packets for one in short), (one.seconds for one in short))
    slowest = rate if modes is None else modes.rates_pps[0]
    fastest = rate if modes is None else modes.rates_pps[-1]
    load = process.rate / slowest
    if modes is not None and load > HIGHEST_LOAD and process.rate < OVERLOAD * fastest:
        raise RefusedError(
            f"estimate: {process.rate / 1e6:.4g} Mpps lies among the rates of modes ({modes}): latency and loss depend "
            "on the order in which threads first met"
        )
    spread = process.dispersion()
    shapes = service_shapes(demands, workload)
    room, factor = subject.waiting_room + subject.inside, max(spread + float(shapes[0].var()), 1.0)
    near = abs(1.0 - load)
    by_room = room**2 / (5 * factor) + room
    settles = min(2 * factor / near**2 if near else np.inf, by_room)
    if HIGHEST_LOAD < load < OVERLOAD and by_room > SETTLED_PACKETS:
        raise RefusedError(
            f"estimate: {process.rate / 1e6:.4g} Mpps is {load:.3f} of the saturated rate, too near 1 for an interval: "
            f"with room for {room} packets a queue settles slowly"
        )
    fills = 1.5 * room * load / (load - 1) if load > OVERLOAD else 0.0
    bursts = spread if spread > 1 else 0.0
    warm_up = int(max(WARM_UP, 2 * settles + fills + subject.inside, 4 * bursts))
    packets = int(max(PACKETS, 6 * settles, 4 * subject.inside, 24 * bursts))
    controls = [control_at(workload, shape, slowest, seed) for shape in shapes] if load < HIGHEST_LOAD else []
    return Plan("open", warm_up, packets, load, tuple(one for one in controls if one is not None))


def check_cost(plan: Plan, short: Sequence[Replication], budget_s: float) -> None:
    """Raise RefusedError where the first group of runs takes far longer than the budget."""
    packet_s = sum(one.processor_s for one in short) / sum(one.packets for one in short)
    needed = FIRST_RUNS * (plan.warm_up + plan.packets) * packet_s / WORKERS
    if needed > MAX_OVERRUN * budget_s:
        raise RefusedError(
            f"estimate: {FIRST_RUNS} runs of {plan.warm_up + plan.packets:,} packets would take about {needed:.0f} s, "
            f"the budget is {budget_s:g} s: at {plan.load:.3f} of the saturated rate queues settle slowly"
        )
