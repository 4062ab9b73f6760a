"""Results for servers with one queue and a delay: exact cyclic rates, Pollaczek-Khinchine, Crommelin's M/D/c.

    closed, constant times:  x(k) = max(x(k - N) + s + r, x(k - c) + s)   so   rate = min(N / (s + r), c / s)
    M/G/1 (Pollaczek 1930):  wait = rate E[s^2] / (2 (1 - rate E[s]))
    M/D/c (Crommelin 1932):  number(t + s) = max(number(t) - c, 0) + Poisson(rate s)

s: service time, r: the rest of a visit, before or after service; N threads, c servers used in turn. In M/D/c, packets
in order of arrival use the servers in turn, so that each server alone is an E_c/D/1 queue.
"""

from __future__ import annotations

from dataclasses import dataclass

from npexplore.errors import RefusedError
from npexplore.solve.queueing.crommelin import mdc_waiting

CONSTANT = 1e-9  # largest relative variance of a constant time


@dataclass(frozen=True)
class Line:
    """Servers with one queue, or with a queue each if `random`; room: packets inside at once (None: no limit).

    service, square: mean and mean square of the service time (s, s^2). rest: other time of a visit in s.
    """

    service: float
    square: float
    rest: float = 0.0
    servers: int = 1
    random: bool = False
    room: int | None = None

    @staticmethod
    def constant(
        service: float, rest: float = 0.0, servers: int = 1, random: bool = False, room: int | None = None
    ) -> Line:
        """Return a line with a constant service time."""
        return Line(service, service**2, rest, servers, random, room)

    @property
    def varies(self) -> bool:
        """Whether the service time varies."""
        return self.square - self.service**2 > CONSTANT * self.service**2

    def closed(self, threads: int) -> float:
        """Return the packets/s of `threads` threads; raises RefusedError if no closed formula is known."""
        inside = threads if self.room is None else min(threads, self.room)
        unloaded_s = self.service + self.rest
        if inside == 1:
            return 1 / max(unloaded_s, self.service)
        if self.random and self.servers > 1:
            raise RefusedError("theory: members chosen at random have no closed formula")
        if self.varies and (self.rest > 0 or self.servers > 1):
            raise RefusedError("theory: a service that varies beside a time elsewhere has no closed formula")
        return min(inside / unloaded_s if unloaded_s > 0 else float("inf"), self.servers / self.service)

    def open(self, rate: float) -> float:
        """Return the mean time of a visit in s with Poisson arrivals; raises RefusedError if no result is exact."""
        if self.room == 1 and not self.varies:
            return Line.constant(self.service + self.rest).open(rate)
        if self.room is not None and self.room * self.service < self.service + self.rest:
            raise RefusedError(f"theory: {self.room} packets in the unit at once limit it before its first stage does")
        load = rate * self.service / self.servers
        if load >= 1:
            raise RefusedError(f"theory: the load is {load:.3g}, no steady state")
        if self.servers == 1 or self.random:
            wait = rate / self.servers * self.square / (2 * (1 - load))
        elif self.varies:
            raise RefusedError("theory: several servers in turn need a constant service")
        else:
            wait = self.service * mdc_waiting(rate * self.service, self.servers) / (rate * self.service)
        return self.service + self.rest + wait
