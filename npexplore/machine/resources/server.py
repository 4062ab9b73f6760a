"""Plain servers: one visit at a time in order of arrival (FIFO), or a pure delay that anybody may be in.

FIFO: demand = mean service time. A server that takes the next visit before it has answered is an Accelerator.
"""

from collections.abc import Mapping

import numpy as np

from npexplore._kernels import engine
from npexplore.errors import ModelError
from npexplore.machine.arrivals import duration, sleep
from npexplore.machine.assembler import Assembler
from npexplore.machine.distributions import Distribution, Time
from npexplore.machine.expressions import Expression, Values
from npexplore.machine.resources.base import Hold, Resource, Server, Uses, check_member, count_of, known, time_of


class FifoServer(Resource):
    """`members` alike servers, each with a line and `units` places, occupied `service_s` a visit.

    service_s: seconds, or a distribution (machine/distributions.py), drawn anew on each arrival.
    """

    VISITS = {"serve": ("member",)}
    OPTIONAL = frozenset({"member"})

    def __init__(self, name: str, service_s: float | Time, units: int = 1, members: int = 1) -> None:
        super().__init__(name)
        self.random = drawn(f"{name}: service time", service_s)
        self.service = time_of(f"{name}: service time", mean_of(service_s))
        self.units = count_of(f"{name}: units", units)
        self.members = count_of(f"{name}: members", members)

    def servers(self) -> list[Server]:
        """One server a member."""
        return [Server(self.name, self.members, self.units)]

    def uses(self, method: str, values: Mapping[str, Values | None]) -> Uses:
        """The service time at the member."""
        check_member(self, method, values, self.members)
        seconds = np.asarray(self.service)
        return Uses(seconds, [Hold(self.name, seconds, member=values.get("member"))])

    def emit(self, method: str, operands: Mapping[str, Expression], asm: Assembler) -> None:
        """SERVE at the member."""
        check_member(self, method, operands, self.members)
        member = operands.get("member", 0)
        if self.random is None:
            asm.serve(self.name, asm.ticks(self.service), member=member)
            return
        kind, a, b, c = duration(asm, self.random)
        with asm.scope():
            place = asm.at(self.name, member)
            asm.emit(engine.SERVE, place, (a, 0), (b, 0), x=kind, y=c, source=f"{self.name}.service")


class Delay(Resource):
    """Time that passes at no server: `seconds` of a visit, or a distribution that all visits draw from."""

    VISITS = {"wait": ("seconds",)}
    OPTIONAL = frozenset({"seconds"})

    def __init__(self, name: str, time_s: Time | None = None) -> None:
        super().__init__(name)
        self.random = None if time_s is None else drawn(f"{name}: time", time_s)

    def _check(self, given: Mapping[str, object]) -> None:
        if ("seconds" in given) != (self.random is None):
            rule = "needs the operand 'seconds'" if self.random is None else "draws its time and takes no seconds"
            raise ModelError(f"{self.name}.wait {rule}")

    def servers(self) -> list[Server]:
        """None."""
        return []

    def uses(self, method: str, values: Mapping[str, Values | None]) -> Uses:
        """Only delay."""
        self._check(values)
        if self.random is not None:
            mean = np.asarray(self.random.moments()[0])
            return Uses(mean, delay=mean)
        seconds = known(self, method, "seconds", values)
        return Uses(seconds, delay=seconds)

    def emit(self, method: str, operands: Mapping[str, Expression], asm: Assembler) -> None:
        """Sleep."""
        self._check(operands)
        if self.random is not None:
            sleep(asm, self.random, f"{self.name}.wait")
            return
        asm.wait(asm.ticks(operands["seconds"]))


def drawn(subject: str, time: float | Time) -> Time | None:
    """Return a distribution after its checks, None for a number; raises InputError."""
    if not isinstance(time, Distribution):
        return None
    time.check(subject)
    return time


def mean_of(time: float | Time) -> float:
    """Return the mean of a time."""
    return time.moments()[0] if isinstance(time, Distribution) else time
