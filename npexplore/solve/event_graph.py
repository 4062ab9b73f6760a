"""Deterministic machines: equal packets, constant times, each server used once, and members taken in turn.

Such a machine is a deterministic event graph: an event of a packet waits for the packet's earlier events, and for
events of the earlier packets that occupied the same units of a server or the same thread. Its rate is the smallest
ratio of units to seconds over its circuits (Ramchandani 1974; Baccelli, Cohen, Olsder, Quadrat, "Synchronization and
Linearity", 1992, theorem 2.59), so that it runs at its roofline:

    closed   rate = min over servers and threads of units / seconds
    Poisson  latency = that of a packet alone + the longest wait of M/D/c over the circuits (Friedman 1965)
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
NEAR_FULL = 0.999  # of the highest rate: no wait is predicted above it
LIGHTER = 0.5  # circuits up to this share of the heaviest load cannot have the longest wait


def is_event_graph(machine: Machine, workload: Workload) -> bool:
    """Say whether a machine with these packets is deterministic, apart from the arrival times."""
    if len(machine.pools) > 1 or len(workload.distinct()[1]) > 1:
        return False
    pool = machine.pools[0]
    columns = {name: column(name) for name in workload.columns}
    return _Walk(machine).body(machine.record(columns, pool), {})


def takes_turns(machine: Machine, workload: Workload) -> bool:
    """Say whether the program of a machine's first pool contains a `turn`."""
    columns = {name: column(name) for name in workload.columns}

    def inside(body: Body) -> bool:
        return any(isinstance(step, Turn) or any(map(inside, bodies(step))) for step in body)

    return inside(machine.record(columns, machine.pools[0]))


class _Walk:
    """Walks through the steps of a program and its visits until one is not allowed in an event graph."""

    def __init__(self, machine: Machine) -> None:
        self.machine, self.used, self.in_turn = machine, set[str](), dict[Variable, int]()

    def body(self, body: Body, operands: Mapping[Variable, Expression | None]) -> bool:
        """Say whether all steps are allowed in an event graph; operands: of the visit that contains them."""
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
                    isinstance(holding.units, Constant) and holding.units.value == 1
                    and self.use(holding.server, _resolved(holding.member, operands)) for holding in holdings
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
        """Say whether a server is used only once, serves in order of arrival, and has its members taken in turn."""
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
    """Return the expression outside a visit that an operand of the visit stands for."""
    return operands.get(value, value) if isinstance(value, Variable) else value


def latency(batch: Batch, ceilings: Mapping[str, Floats]) -> Floats:
    """Return the mean latency in seconds (P,) with Poisson or periodic arrivals below the machine's rate."""
    seconds = np.array(batch.latency, dtype=float)
    if batch.like.workload.arrivals != "poisson":
        return seconds
    waited = ceilings.keys() - batch.aside.keys()  # packets do not wait for forked work
    for point in range(len(batch)):
        loads = {name: float(batch.offered[point] / rate[point]) for name, rate in ceilings.items() if name in waited}
        heaviest, waits = max(loads.values(), default=0.0), [0.0]
        for name, load in loads.items():
            if load > LIGHTER * heaviest:
                units = _units(batch, name, point)
                waits.append(mdc_waiting(load * units, units) / float(batch.offered[point]))
        seconds[point] += max(waits)
    return seconds


def _units(batch: Batch, name: str, point: int) -> int:
    """Return how many packets a circuit admits at once: the threads, or the units of all members that packets visit."""
    server = batch.like.servers.get(name)
    if server is None:
        return batch.like.machine.threads
    visited = np.count_nonzero(batch.members[name][point]) if name in batch.members else server.members
    return server.units * max(int(visited), 1)
