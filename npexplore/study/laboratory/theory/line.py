"""Results for servers in one line with a time after them: exact cyclic rates, Pollaczek-Khinchine, Crommelin's M/D/c.

    closed, constant times:  x(k) = max(x(k - N) + s + r, x(k - c) + s)   so   rate = min(N / (s + r), c / s)
    M/G/1 (Pollaczek 1930):  wait = rate E[s^2] / (2 (1 - rate E[s]))
    M/D/c (Crommelin 1932):  number(t + s) = max(number(t) - c, 0) + Poisson(rate s)

s: service, r: the rest of a visit, after it or before; N threads, c servers used in turn. A packet of M/D/c in order of
arrival is served by the servers in turn, so that each of them alone is E_c/D/1.
"""

from __future__ import annotations

from dataclasses import dataclass

from npexplore.errors import RefusedError
from npexplore.solve.queueing.crommelin import mdc_waiting

CONSTANT = 1e-9  # relative variance of a constant


@dataclass(frozen=True)
class Line:
    """Servers with one line, or each its own where `random` chooses; the rest of a visit; places for packets inside.

    service, square: mean and mean square of a visit's seconds at a server. rest: seconds of the visit besides.
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
        """Return a line whose service is always the same."""
        return Line(service, service**2, rest, servers, random, room)

    @property
    def varies(self) -> bool:
        """Whether service differs from packet to packet."""
        return self.square - self.service**2 > CONSTANT * self.service**2

    def closed(self, threads: int) -> float:
        """Return packets a second of so many threads; raises RefusedError where chance or order matter."""
        inside = threads if self.room is None else min(threads, self.room)
        alone = self.service + self.rest
        if inside == 1:
            return 1 / max(alone, self.service)
        if self.random and self.servers > 1:
            raise RefusedError("theory: members chosen at random have no closed formula")
        if self.varies and (self.rest > 0 or self.servers > 1):
            raise RefusedError("theory: a service that varies beside a time elsewhere has no closed formula")
        return min(inside / alone if alone > 0 else float("inf"), self.servers / self.service)

    def open(self, rate: float) -> float:
        """Return the mean seconds of a visit behind Poisson arrivals; raises RefusedError where no result is exact."""
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
