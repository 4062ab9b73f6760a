"""The functional DiffServ router as plain events with exact times: the reference.

A packet arrives, is received (or lost in a full MAC buffer), policed, marked, and joins the queue of its class at its
port or is dropped. A link that becomes free takes the packet its scheduler chooses. Arrivals at the very time of such a
choice come first, so that they can be chosen. Packets that are received at the same time keep the order of arrival.
"""

from __future__ import annotations

import heapq
from collections import deque
from fractions import Fraction
from math import ceil, floor
from typing import Any

import numpy as np

from npexplore.golden.diffserv.arrivals import Arrivals
from npexplore.golden.diffserv.outcome import Fate, Outcome
from npexplore.golden.diffserv.queues import DRAWS, DropPolicy
from npexplore.golden.diffserv.setup import DiffServ, OutputPort, Receiver
from npexplore.golden.police import Colour
from npexplore.golden.schedule import QueuedPacket

ARRIVAL, CHOICE = 0, 1
LOST = -1


class Line:
    """An output port at work."""

    def __init__(self, port: OutputPort) -> None:
        self.port = port
        self.scheduler, self.shaper = port.new_scheduler(), port.new_shaper()
        self.policies = [DropPolicy(queue.limits) for queue in port.queues]
        self.held = [0] * len(port.queues)
        self.free = Fraction(0)
        self.waits_for_choice = False

    def refuses(self, number: int, length_bytes: int, time_ns: int, colour: Colour, draw: int) -> Fate:
        """Return why a packet may not join its class; SENT if it may."""
        packets = len(self.scheduler.queues[number])
        if self.policies[number].early(packets, time_ns, colour, draw):
            return Fate.EARLY
        full = self.policies[number].full(packets, self.held[number], length_bytes)
        return Fate.QUEUE_FULL if full else Fate.SENT

    def join(self, number: int, packet: QueuedPacket) -> None:
        """Put a packet into the queue of its class."""
        self.held[number] += packet.length_bytes
        self.scheduler.enqueue(number, packet)

    def send(self, now: Fraction, on_link: list[int]) -> tuple[int, int]:
        """Send what the scheduler chooses; return the packet's number and when its last bit has left.

        on_link: bytes of each packet on the link; the queue has those that it counts.
        """
        number, packet = self.scheduler.dequeue(floor(now)) or (0, QueuedPacket(0, 0))
        self.held[number] -= packet.length_bytes
        if not self.scheduler.queues[number]:
            self.policies[number].emptied(floor(now))
        if self.shaper is not None:
            self.shaper.take(packet.length_bytes)
        rate = self.port.rate.fraction
        gone = now + (self.port.preamble_bytes + on_link[packet.number]) / rate
        self.free = gone + self.port.gap_bytes / rate
        return packet.number, ceil(gone)


def simulate_plainly(router: DiffServ, arrivals: Arrivals, seed: int = 0) -> Outcome:
    """Return the fate of each packet, computed event by event in plain Python, with any scheduler.

    Args:
        router: treatments, queues, schedulers and links.
        arrivals: the packets, in order of time.
        seed: seed of random early drops.

    Raises:
        InputError: packets that do not fit the router's ports or treatments.
    """
    arrivals.check(router)
    draws = early_draws(router, len(arrivals), seed).tolist()
    ready = receive_plainly(router, arrivals)
    lines, on_link = [Line(port) for port in router.ports], arrivals.length_bytes.tolist()
    states = [policer.state() for policer in router.policers]
    outcome = Outcome.empty(router, arrivals, np.array(ready, np.int64))
    events: list[tuple[Fraction, int, int, Any]] = [
        (Fraction(time), ARRIVAL, number, None) for number, time in enumerate(ready) if time != LOST
    ]
    heapq.heapify(events)
    while events:
        now, kind, number, line = heapq.heappop(events)
        if kind == CHOICE:
            start = line.shaper.ready(floor(now)) if line.shaper is not None else now
            if start > now:
                heapq.heappush(events, (Fraction(start), CHOICE, number, line))
                continue
            sent, gone = line.send(now, on_link)
            outcome.departure_ns[sent] = gone
            line.waits_for_choice = bool(line.scheduler.backlog)
            if line.waits_for_choice:
                heapq.heappush(events, (line.free, CHOICE, number, line))
            continue
        port, length, rule = (int(x[number]) for x in (arrivals.port, arrivals.queued, arrivals.rule))
        line, time, colour = lines[port], int(now), Colour(int(arrivals.colour[number]))
        fate = Fate.SENT
        if rule >= 0:
            treatment = router.treatments[rule]
            colour = max(colour, treatment.colour)
            if treatment.policer is not None:
                k = treatment.policer
                states[k], colour = router.policers[k].police(states[k], time, int(arrivals.policed[number]), colour)
            outcome.dscp[number] = treatment.code_point(colour)
            fate = Fate.POLICED if treatment.drops(colour) else fate
        outcome.colour[number] = colour
        kind_of_class = router.class_number(rule)
        if fate is Fate.SENT:
            fate = line.refuses(kind_of_class, length, time, colour, draws[number])
        outcome.fate[number] = fate
        if fate is Fate.SENT:
            line.join(kind_of_class, QueuedPacket(number, length, time))
            if not line.waits_for_choice:
                line.waits_for_choice = True
                heapq.heappush(events, (max(now, line.free), CHOICE, port, line))
    return outcome


def receive_plainly(router: DiffServ, arrivals: Arrivals) -> list[int]:
    """Return when receivers are done with packets, LOST for those that found the MAC buffer full."""
    if router.receivers is None:
        return [int(time) for time in arrivals.time_ns]
    inputs = [_Input(receiver) for receiver in router.receivers]
    rows = zip(arrivals.time_ns.tolist(), arrivals.source.tolist(), arrivals.service_ns.tolist(), strict=True)
    return [inputs[source].receive(time, service) for time, source, service in rows]


class _Input:
    """Receivers of a port and its MAC buffer."""

    def __init__(self, receiver: Receiver) -> None:
        self.receiver = receiver
        self.free = [0] * receiver.servers
        self.waiting: deque[int] = deque()  # when each packet in the buffer will be taken

    def receive(self, time: int, service: int) -> int:
        while self.waiting and self.waiting[0] <= time:
            self.waiting.popleft()
        room = self.receiver.buffer_packets
        start = max(time, min(self.free))
        if start > time:
            if room is not None and len(self.waiting) >= room:
                return LOST
            self.waiting.append(start)
        done = start + (self.receiver.service_ns if service < 0 else service)
        self.free[self.free.index(min(self.free))] = done
        return done


def early_draws(router: DiffServ, packets: int, seed: int) -> np.ndarray[Any, np.dtype[np.int64]]:
    """Return a random whole number below 2^24 a packet; zeros where no queue drops early."""
    if not any(queue.limits.early for port in router.ports for queue in port.queues):
        return np.zeros(packets, np.int64)
    return np.random.default_rng(seed).integers(0, DRAWS, packets)
