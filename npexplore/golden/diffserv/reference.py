"""The functional DiffServ router as an event simulation with exact times in plain Python: the reference.

A packet arrives, is received (or lost in a full MAC buffer), policed and marked, and joins the queue of its class at
its port or is dropped. When a link becomes free, its scheduler chooses the next packet. Arrivals at the time of this
choice are processed first, so they can be chosen. Packets received at the same time keep the order of arrival.
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
    """The state of an output port: scheduler, shaper, drop policies, link."""

    def __init__(self, port: OutputPort) -> None:
        self.port = port
        self.scheduler, self.shaper = port.new_scheduler(), port.new_shaper()
        self.policies = [DropPolicy(queue.limits) for queue in port.queues]
        self.held = [0] * len(port.queues)
        self.free = Fraction(0)
        self.waits_for_choice = False

    def refuses(self, number: int, length_bytes: int, time_ns: int, colour: Colour, draw: int) -> Fate:
        """Return why a packet may not join the queue of its class; SENT if it may."""
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
        """Send the packet that the scheduler chooses; return its number and the departure time of its last bit in ns.

        on_link: bytes of each packet on the link; lengths in the queue are the sizes for queues and schedulers.
        """
        number, packet = self.scheduler.dequeue(floor(now)) or (0, QueuedPacket(0, 0))
        self.held[number] -= packet.length_bytes
        if not self.scheduler.queues[number]:
            self.policies[number].emptied(floor(now))
        if self.shaper is not None:
            self.shaper.take(packet.length_bytes)
        rate = self.port.rate.fraction
        departure = now + (self.port.preamble_bytes + on_link[packet.number]) / rate
        self.free = departure + self.port.gap_bytes / rate
        return packet.number, ceil(departure)


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
            sent, departure = line.send(now, on_link)
            outcome.departure_ns[sent] = departure
            line.waits_for_choice = bool(line.scheduler.backlog)
            if line.waits_for_choice:
                heapq.heappush(events, (line.free, CHOICE, number, line))
            continue
        port, length, rule = (int(values[number]) for values in (arrivals.port, arrivals.queued, arrivals.rule))
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
    """Return the end of each packet's reception in ns, LOST for packets that found the MAC buffer full."""
    if router.receivers is None:
        return [int(time) for time in arrivals.time_ns]
    inputs = [_Input(receiver) for receiver in router.receivers]
    rows = zip(arrivals.time_ns.tolist(), arrivals.source.tolist(), arrivals.service_ns.tolist(), strict=True)
    return [inputs[source].receive(time, service) for time, source, service in rows]


class _Input:
    """The receivers of an input port and its MAC buffer."""

    def __init__(self, receiver: Receiver) -> None:
        self.receiver = receiver
        self.free = [0] * receiver.servers
        self.waiting: deque[int] = deque()  # start of service of each packet in the buffer

    def receive(self, time: int, service: int) -> int:
        """Return the end of a packet's reception in ns, LOST if the MAC buffer is full."""
        while self.waiting and self.waiting[0] <= time:
            self.waiting.popleft()
        capacity = self.receiver.buffer_packets
        start = max(time, min(self.free))
        if start > time:
            if capacity is not None and len(self.waiting) >= capacity:
                return LOST
            self.waiting.append(start)
        completion = start + (self.receiver.service_ns if service < 0 else service)
        self.free[self.free.index(min(self.free))] = completion
        return completion


def early_draws(router: DiffServ, packets: int, seed: int) -> np.ndarray[Any, np.dtype[np.int64]]:
    """Return a random integer below 2^24 for each packet; zeros if no queue has early drop."""
    if not any(queue.limits.early for port in router.ports for queue in port.queues):
        return np.zeros(packets, np.int64)
    return np.random.default_rng(seed).integers(0, DRAWS, packets)
