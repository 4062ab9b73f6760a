"""The plan of runs: packets before and in the window, within a budget of the engine's events, and possible controls.

    relaxation time   2 f / (1 - r)^2 packets, at most K^2 / 5 f + K     warm-up: twice that     window: six times that

f is the dispersion of arrivals plus that of services, r = load / S, and K the room for packets: the relaxation time of
a reflected random walk, which is at its border f / |1 - r| times in a row (Asmussen, Applied Probability and Queues,
2003, X.7 and XIV.6).

    budget: EVENTS_PER_S events for each second of budget, so that answers do not depend on the computer's speed
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from npexplore.engine.offered import STRATUM
from npexplore.errors import RefusedError
from npexplore.solve.estimate.control import Control, control_at, service_shapes
from npexplore.solve.estimate.replications import Replication, Subject, over
from npexplore.solve.modes import Modes

EVENTS_PER_S = 10_000_000  # events of the engine per second of budget
RUN_EVENTS = 10_000  # cost of preparing and evaluating a run, in events
FIRST_RUNS, FEWER_RUNS, MORE_RUNS = 8, 4, 4  # first runs; first runs with a small budget; runs added at a time
OVERRUN = 1.0  # share of the budget by which the smallest number of runs may exceed it
WARM_UP, PACKETS = 250, 2000  # of a run, if the budget suffices
FEWEST_PACKETS = 256  # of a run's window
LONGEST_SETTLING = 2000  # cap on the packets in which a queue between pools settles
PILOT_PACKETS = 64  # of the run that measures the events per packet, in addition to those that a machine holds
LIGHT_LOAD = 0.005  # of S: at a lower load, packets hardly meet
HIGHEST_LOAD = 0.97  # of S: nearer to 1, large queues take too long to settle
OVERLOAD = 1.03  # of S: at a higher load, a finite buffer stays full
SETTLED_PACKETS = 20_000  # a queue that settles within these packets is accepted even near a load of 1


@dataclass(frozen=True)
class Plan:
    """The plan of runs: their kind, packets before and in the window, the load, and possible controls.

    least: smallest numbers of packets before and in the window, for small budgets.
    """

    kind: Literal["saturated", "open", "recorded", "window"]
    warm_up: int = 0
    packets: int = 0
    least: tuple[int, int] = (0, 0)
    load: float | None = None  # of the saturated rate (open only)
    runs: int = FIRST_RUNS  # first runs
    clump: float = 1.0  # packets that are lost together when a buffer is full
    controls: tuple[Control, ...] = ()

    @property
    def alone(self) -> bool:
        """Whether packets hardly meet, so that latency is that of a packet alone."""
        return self.load is not None and self.load < LIGHT_LOAD


@dataclass(frozen=True)
class Ask:
    """The request. events: budget of all runs, in engine events. over: events by which the first runs may exceed it."""

    seed: int
    precision: float
    events: float
    runs: int | None = None
    over: float = 0.0

    @property
    def most(self) -> float:
        """The events that the fewest runs may take."""
        return self.events + self.over

    def less(self, runs: Sequence[Replication]) -> Ask:
        """Return the request with the budget that is left after some runs."""
        return replace(self, events=self.events - cost(runs))


def cost(runs: Sequence[Replication]) -> float:
    """Return the cost of runs in events."""
    return float(sum(run.events + RUN_EVENTS for run in runs))


def packet_events(runs: Sequence[Replication]) -> float:
    """Return the events per packet of whole runs, warm-up included."""
    return sum(run.events for run in runs) / max(sum(run.finished for run in runs), 1)


def fitted(plan: Plan, per_packet: float, events: float, left: float) -> Plan:
    """Return a plan whose first runs take about `events`, by a shorter window, then a shorter warm-up.

    per_packet: events per packet. left: limit of the first runs' events; raises RefusedError above it.
    """
    for runs in (FIRST_RUNS, FEWER_RUNS):
        room = int((events / runs - RUN_EVENTS) / per_packet)
        packets = max(min(plan.packets, room - plan.warm_up), plan.least[1])
        warm_up = max(min(plan.warm_up, room - packets), plan.least[0])
        needed = runs * ((warm_up + packets) * per_packet + RUN_EVENTS)
        if needed <= left:
            return replace(plan, warm_up=warm_up, packets=packets, runs=runs)
    at = "" if plan.load is None else f": at {plan.load:.3f} of the saturated rate queues settle slowly"
    raise RefusedError(
        f"estimate: {FEWER_RUNS} runs of {warm_up + packets:,} packets take {needed / EVENTS_PER_S:.2g} s of "
        f"budget ({EVENTS_PER_S / 1e6:g} million events a second), {max(left, 0.0) / EVENTS_PER_S:.2g} s are "
        f"left of twice what was asked for{at}"
    )


def saturated_plan(subject: Subject) -> Plan:
    """Return the plan of saturated runs.

    A queue between two pools of about the same rate settles like a reflected random walk within its room.
    """
    inside = subject.inside
    least = max(WARM_UP // 2, inside), FEWEST_PACKETS
    settles = min(subject.longest_queue**2 // 5 + subject.longest_queue, LONGEST_SETTLING)
    packets = max(PACKETS, 16 * inside, 6 * settles)
    block = STRATUM if len(subject.workload.packet_bytes) > 1 else 1
    warm_up, packets = (-(-n // block) * block for n in (max(WARM_UP, 4 * inside, 2 * settles), packets))
    return Plan("saturated", warm_up, packets, least)


def in_blocks(subject: Subject, plan: Plan) -> Plan:
    """Return a plan whose warm-up and window are whole blocks of the packet mix, if they have at least one block."""
    if len(subject.workload.packet_bytes) == 1:
        return plan
    warm_up, packets = (n // STRATUM * STRATUM or n for n in (plan.warm_up, plan.packets))
    return replace(plan, warm_up=warm_up, packets=packets)


def plan_of(subject: Subject, short: Sequence[Replication], modes: Modes | None, seed: int) -> Plan:
    """Return the plan of open runs; raises RefusedError for a load too near 1, or between the rates of modes."""
    workload, process = subject.workload, subject.workload.process()
    assert process is not None
    demands = subject.demands()
    if demands is not None and demands.demands.freed == 0:
        name = subject.machine.ingress.name
        raise RefusedError(
            f"estimate: no program frees the receive buffer {name!r}: it fills, and all later packets are lost"
        )
    rate, _ = over((run.packets for run in short), (run.seconds for run in short))
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
    distance = abs(1.0 - load)
    relaxation_by_room = room**2 / (5 * factor) + room
    relaxation = min(2 * factor / distance**2 if distance else np.inf, relaxation_by_room)
    if HIGHEST_LOAD < load < OVERLOAD and relaxation_by_room > SETTLED_PACKETS:
        raise RefusedError(
            f"estimate: {process.rate / 1e6:.4g} Mpps is {load:.3f} of the saturated rate, too near 1 for an interval: "
            f"with room for {room} packets a queue settles slowly"
        )
    fill_packets = 1.5 * room * load / (load - 1) if load > OVERLOAD else 0.0
    bursts = spread if spread > 1 else 0.0
    warm_up = int(max(WARM_UP, 2 * relaxation + fill_packets + subject.inside, 4 * bursts))
    fewest_packets = int(max(FEWEST_PACKETS, 6 * relaxation, 24 * bursts))
    packets = max(PACKETS, fewest_packets, 4 * subject.inside)
    clump = factor / max(distance, 1 - HIGHEST_LOAD)
    controls = [control_at(workload, shape, slowest, seed) for shape in shapes] if load < HIGHEST_LOAD else []
    usable = tuple(control for control in controls if control is not None)
    return Plan("open", warm_up, packets, (warm_up, fewest_packets), load, clump=clump, controls=usable)
