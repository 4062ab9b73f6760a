"""Machines in which chance decides nothing: equal packets, constant times, each server used once, members in turn.

Such a machine is a deterministic event graph: one packet's k-th event waits for events before it, and for those of the
packet that a server's or the threads' units let in before. Its rate is the least of units over seconds of its circuits
(Ramchandani 1974; Baccelli, Cohen, Olsder, Quadrat, "Synchronization and Linearity", 1992, theorem 2.59), so that it
runs at its roofline:

    closed   rate = min over servers and threads of units / seconds
    Poisson  latency = that of a packet alone + wait of M/D/c at the circuit where that is longest (Friedman 1965)
    periodic latency = that of a packet alone, below the rate
"""

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from npexplore.machine.machine import Machine
from npexplore.machine.program import Body, Fork, Give, Let, Take, Turn, Visit
from npexplore.machine.resources.base import OwnFaces
from npexplore.machine.tree import Choose, Count, Serve, Wait, Within, bodies
from npexplore.machine.visits import recorded
from npexplore.machine.workload import Workload
from npexplore.rows.distributions import Distribution
from npexplore.rows.expressions import Constant, Expression, Variable, column
from npexplore.rows.server import Server
from npexplore.solve.batch import Batch
from npexplore.solve.queueing.crommelin import mdc_waiting

Floats = npt.NDArray[np.float64]
HARMLESS = (Let, Within, Count, Give)
NEAR_FULL = 0.999  # share of the rate beyond which a wait is not told
LIGHTER = 0.5  # circuits of this share of the heaviest load add no longer wait


def is_event_graph(machine: Machine, workload: Workload) -> bool:
    """Say whether chance decides nothing in a machine with these packets but when they come."""
    if len(machine.pools) > 1 or len(workload.distinct()[1]) > 1:
        return False
    pool = machine.pools[0]
    columns = {name: column(name) for name in workload.columns}
    return _Walk(machine).body(machine.record(columns, pool), {})


def takes_turns(machine: Machine, workload: Workload) -> bool:
    """Say whether the program of a machine's first pool lets packets take turns."""
    columns = {name: column(name) for name in workload.columns}

    def inside(body: Body) -> bool:
        return any(isinstance(step, Turn) or any(map(inside, bodies(step))) for step in body)

    return inside(machine.record(columns, machine.pools[0]))


class _Walk:
    """The steps of a program, visits opened: what may not stand in an event graph ends it."""

    def __init__(self, machine: Machine) -> None:
        self.machine, self.used, self.in_turn = machine, set[str](), dict[Variable, int]()

    def body(self, body: Body, operands: Mapping[Variable, Expression | None]) -> bool:
        """Say whether all steps may stand in an event graph; operands: of the visit that they are of."""
        return all(self.step(step, operands) for step in body)

    def step(self, step: object, operands: Mapping[Variable, Expression | None]) -> bool:
        match step:
            case Visit(resource=resource) if resource is self.machine.ingress:
                return True
            case Visit(resource=OwnFaces()) | Serve(seconds=Distribution()) | Wait(seconds=Distribution()):
                return False
            case Visit(resource=resource, method=method, operands=values) if step.result is None:
                visit = recorded(resource, method, values)
                inside = {variable: _resolved(values[name], operands) for name, variable in visit.operands.items()}
                return self.body(visit.body, inside)
            case Serve(server=server, member=member):
                return self.use(server, _resolved(member, operands))
            case Take(holdings=holdings):
                return all(
                    isinstance(one.units, Constant) and one.units.value == 1
                    and self.use(one.server, _resolved(one.member, operands)) for one in holdings
                )  # fmt: skip
            case Fork(body=inner):
                return self.body(inner, operands)
            case Choose(variable=variable, members=members, policy="in_turn"):
                self.in_turn[variable] = members
                return True
            case Turn(variable=variable, below=below):
                self.in_turn[variable] = below
                return True
        return isinstance(step, (Wait, *HARMLESS))

    def use(self, server: Server | None, member: Expression | None) -> bool:
        """Say whether a server is used for the first time, in order of arrival, its members in turn."""
        if server is None:
            return False
        plain = server.discipline == "fifo" and not (
            server.away or server.wake_s or server.per_waiter_s or server.polled or server.unsolvable
        )
        in_turn = server.members == 1 or isinstance(member, Constant)
        if isinstance(member, Variable) and member in self.in_turn:
            in_turn = self.in_turn[member] == server.members
        if not plain or not in_turn or server.name in self.used:
            return False
        self.used.add(server.name)
        return True


def _resolved(value: Expression | None, operands: Mapping[Variable, Expression | None]) -> Expression | None:
    """Return what an operand of the visit stands for, outside it."""
    return operands.get(value, value) if isinstance(value, Variable) else value


def latency(batch: Batch, ceilings: Mapping[str, Floats]) -> Floats:
    """Return the mean seconds (P,) behind Poisson or periodic arrivals that the machine keeps up with."""
    seconds = np.array(batch.latency, dtype=float)
    if batch.like.workload.arrivals != "poisson":
        return seconds
    waited = ceilings.keys() - batch.aside.keys()  # packets do not wait for what they fork
    for point in range(len(batch)):
        loads = {name: float(batch.offered[point] / most[point]) for name, most in ceilings.items() if name in waited}
        heaviest, waits = max(loads.values(), default=0.0), [0.0]
        for name, load in loads.items():
            if load > LIGHTER * heaviest:
                units = _units(batch, name, point)
                waits.append(mdc_waiting(load * units, units) / float(batch.offered[point]))
        seconds[point] += max(waits)
    return seconds


def _units(batch: Batch, name: str, point: int) -> int:
    """Return how many packets a circuit lets in at once: of a server, the units of the members that packets visit."""
    server = batch.like.servers.get(name)
    if server is None:
        return batch.like.machine.threads
    visited = np.count_nonzero(batch.members[name][point]) if name in batch.members else server.members
    return server.units * max(int(visited), 1)
