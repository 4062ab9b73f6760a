"""Plain servers: one visit at a time in order of arrival (FIFO), or a pure delay that anybody may be in.

FIFO: demand = mean service time. A server that starts the next visit before it has answered is an Accelerator.

Alone: M/G/1 (Pollaczek-Khinchine); several units of a constant time, M/D/c (Crommelin).
"""

from npexplore.errors import ModelError
from npexplore.machine.resources.base import Example, Resource, Server, check_member, count_of, time_of
from npexplore.machine.visits import Operands, VisitRecorder
from npexplore.rows.distributions import Distribution, Time


class FifoServer(Resource, kind="server"):
    """`members` alike servers, each with a line and `units` places, occupied `service_s` a visit.

    service_s: seconds, or a distribution (rows/distributions.py), drawn anew on each arrival.

    Example:
        >>> from npexplore.machine import Exponential, FifoServer
        >>> FifoServer("hash", service_s=Exponential(mean=50e-9), units=2)     # m.hash.serve()
        FifoServer('hash', service_s=Exponential(mean=5e-08), units=2)
    """

    EXAMPLE = Example({"service_s": 1e-7}, "serve", more={"units": 2, "members": 3})
    VISITS = {"serve": ("member",)}
    OPTIONAL = {"member": 0}

    def __init__(self, name: str, service_s: float | Time, units: int = 1, members: int = 1) -> None:
        super().__init__(name)
        self.random = drawn(f"{name}: service time", service_s)
        self.service = time_of(f"{name}: service time", mean_of(service_s))
        self.units = count_of(f"{name}: units", units)
        self.members = count_of(f"{name}: members", members)

    def servers(self) -> list[Server]:
        """Return one server with its members."""
        return [Server(self.name, self.members, self.units)]

    def act(self, m: VisitRecorder, visit: str, v: Operands) -> None:
        """Record the service time at the member."""
        check_member(self, visit, v, self.members)
        m.serve(self.name, self.service if self.random is None else self.random, v.member)


class Delay(Resource, kind="delay"):
    """Time that passes at no server: `seconds` of a visit, or time_s: seconds or a distribution of all visits.

    Example:
        >>> from npexplore.machine import Delay
        >>> Delay("think", 200e-9)                                             # m.think.wait()
        Delay('think', 2e-07)
    """

    EXAMPLE = Example({}, "wait", {"seconds": 1e-7})
    VISITS = {"wait": ("seconds",)}
    OPTIONAL = {"seconds": 0}

    def __init__(self, name: str, time_s: float | Time | None = None) -> None:
        super().__init__(name)
        self.random = None if time_s is None else drawn(f"{name}: time", time_s)
        fixed = time_s is not None and self.random is None
        self.time = time_of(f"{name}: time", mean_of(time_s)) if fixed and time_s is not None else self.random

    def servers(self) -> list[Server]:
        """Return none."""
        return []

    def act(self, m: VisitRecorder, visit: str, v: Operands) -> None:
        """Record the delay, which occupies no server."""
        if ("seconds" in v) != (self.time is None):
            rule = "needs the operand 'seconds'" if self.time is None else "has a time of its own and takes no seconds"
            raise ModelError(f"{self.name}.wait {rule}")
        m.wait(v.seconds if self.time is None else self.time)


def drawn(subject: str, time: float | Time) -> Time | None:
    """Return a checked distribution, or None for a number; raises InputError."""
    if not isinstance(time, Distribution):
        return None
    time.check(subject)
    return time


def mean_of(time: float | Time) -> float:
    """Return the mean of a time in seconds."""
    return time.moments()[0] if isinstance(time, Distribution) else time
