"""How runs are made: packets before and in the window, within a budget of the engine's events; possible controls.

    settles   2 f / (1 - r)^2 packets, at most K^2 / 5 f + K       warm-up: twice that       window: six times that

with f the dispersion of arrivals and of services, r = load / S and K the room for packets: the relaxation time of a
reflected random walk, which is at its border f / |1 - r| times in a row (Asmussen, Applied Probability and Queues,
2003, X.7 and XIV.6).

    budget: EVENTS_PER_S events for each second asked for, whatever the computer: answers do not depend on its speed
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

EVENTS_PER_S = 10_000_000  # of the engine: what one second of budget stands for
RUN_EVENTS = 10_000  # that the making and the reading of a run count for
FIRST_RUNS, FEWER_RUNS, MORE_RUNS = 8, 4, 4  # fewer: where the budget has no room for the first
OVERRUN = 1.0  # of the budget: what the fewest runs may take beyond it, for without them there is no answer
WARM_UP, PACKETS = 250, 2000  # of a run, where the budget has room for them
FEWEST_PACKETS = 256  # of a run's window
LONGEST_SETTLING = 2000  # packets that a queue between pools is given to settle, at most
PILOT_PACKETS = 64  # of the run that tells how many events a packet takes, beside those that a machine holds
LIGHT_LOAD = 0.005  # of S: below, hardly a packet meets another
HIGHEST_LOAD = 0.97  # of S: nearer to 1 a queue without much room takes too long to settle
OVERLOAD = 1.03  # of S: from here on a finite buffer stays full
SETTLED_PACKETS = 20_000  # in which a queue with little room settles even near a load of 1


@dataclass(frozen=True)
class Plan:
    """How runs are made: which, packets before and in the window, the load, and possible controls.

    least: the fewest packets before and in the window that a small budget may bring them down to.
    """

    kind: Literal["saturated", "open", "recorded", "window"]
    warm_up: int = 0
    packets: int = 0
    least: tuple[int, int] = (0, 0)
    load: float | None = None  # of the saturated rate (open only)
    runs: int = FIRST_RUNS  # to begin with
    clump: float = 1.0  # packets that are lost together when a buffer is full
    controls: tuple[Control, ...] = ()

    @property
    def alone(self) -> bool:
        """Whether hardly a packet meets another: its latency is that of a packet alone."""
        return self.load is not None and self.load < LIGHT_LOAD


@dataclass(frozen=True)
class Ask:
    """What was asked for. events: that all runs together may take, of the engine. over: the fewest runs beyond them."""

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
        """Return what is left after some runs."""
        return replace(self, events=self.events - cost(runs))


def cost(runs: Sequence[Replication]) -> float:
    """Return the events that runs count for."""
    return float(sum(one.events + RUN_EVENTS for one in runs))


def packet_events(runs: Sequence[Replication]) -> float:
    """Return the events of a packet, those before the window counted too."""
    return sum(one.events for one in runs) / max(sum(one.finished for one in runs), 1)


def fitted(plan: Plan, per_packet: float, events: float, left: float) -> Plan:
    """Return a plan whose first runs take about `events`: a shorter window, then a shorter warm-up.

    per_packet: events of a packet. left: events beyond which the first runs are refused (RefusedError).
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
    """Return the packets before the window of a saturated run, and in it.

    A queue between two pools that are about as fast settles as a reflected random walk within its room.
    """
    inside = subject.inside
    least = max(WARM_UP // 2, inside), FEWEST_PACKETS
    settles = min(subject.longest_queue**2 // 5 + subject.longest_queue, LONGEST_SETTLING)
    packets = max(PACKETS, 16 * inside, 6 * settles)
    block = STRATUM if len(subject.workload.packet_bytes) > 1 else 1
    warm_up, packets = (-(-n // block) * block for n in (max(WARM_UP, 4 * inside, 2 * settles), packets))
    return Plan("saturated", warm_up, packets, least)


def in_blocks(subject: Subject, plan: Plan) -> Plan:
    """Return a plan whose windows are whole blocks, each like the mix, if they have room for one."""
    if len(subject.workload.packet_bytes) == 1:
        return plan
    warm_up, packets = (n // STRATUM * STRATUM or n for n in (plan.warm_up, plan.packets))
    return replace(plan, warm_up=warm_up, packets=packets)


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
    fewest = int(max(FEWEST_PACKETS, 6 * settles, 24 * bursts))
    packets = max(PACKETS, fewest, 4 * subject.inside)
    clump = factor / max(near, 1 - HIGHEST_LOAD)
    controls = [control_at(workload, shape, slowest, seed) for shape in shapes] if load < HIGHEST_LOAD else []
    known = tuple(one for one in controls if one is not None)
    return Plan("open", warm_up, packets, (warm_up, fewest), load, clump=clump, controls=known)
