"""The machine that solvers work on: resources by name, pools of threads with their programs, the receive side."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from typing import TYPE_CHECKING, Any

from npexplore.display import html_table
from npexplore.errors import Faults, ModelError, NpexploreError, one_of, positive
from npexplore.machine.lone import check_polls
from npexplore.machine.pools import Pool, Start, visits
from npexplore.machine.program import AnyColumns, Body, Recorder, Visit, record, visit
from npexplore.machine.resources.base import Resource, Server, count_of, time_of
from npexplore.machine.resources.ingress import Ingress
from npexplore.machine.resources.queue import BoundedQueue
from npexplore.machine.ticks import common_tick, periods
from npexplore.rows.expressions import Variable, column

__all__ = ["Machine", "Pool", "Recorded", "Start"]

OF_DESIGNS = ("bounds", "queueing", "simulate", "estimate", "explain", "formula", "parameters", "with_")
RESERVED = {*dir(Recorder), *(field.name for field in fields(Recorder))}


@dataclass(frozen=True)
class Recorded:
    """The recorded program of a pool, and the columns of its packets."""

    pool: Pool
    columns: Mapping[str, Variable]
    body: Body

    @cached_property
    def visits(self) -> list[tuple[Visit, bool]]:
        """All visits, each with whether it is in a fork or a parallel part."""
        return list(visits(self.body))

    @cached_property
    def visited(self) -> set[str]:
        """The names of the visited resources."""
        return {step.resource.name for step, _ in self.visits}


def never_frees(name: str, ingress: Ingress) -> str:
    """Return the message for a machine whose programs never free a receive buffer of limited size."""
    return (
        f"{name}: no program frees the receive buffer {ingress.name!r} of {ingress.capacity} bytes: it fills up and "
        f"the machine stalls; add m.{ingress.name}.free(bytes=packet.packet_bytes) where a packet leaves it"
    )


def _name(program: Any) -> str:
    """Return the name of a pool's program."""
    return f"{program.__name__}()" if hasattr(program, "__name__") else "program of its file"


class Machine:
    """Resources, one or more pools of threads, and the definition of throughput.

    Args:
        name: the machine's name.
        pools: one pool of threads, or several joined by bounded queues. A packet is finished when the program of a pool
            ends without putting it into another pool's queue.
        ingress: the receive side, where packets arrive (None: a buffer "receive" without a limit).
        resources: the resources, or a mapping of them by name.
        counted: "packet bytes", or a name for padded bytes: each packet counts as whole cells.
        cell_bytes: bytes of a cell, for padded bytes.
        tick: time step of simulations, seconds (None: derived from the clocks, machine/ticks.py).
        facts: the parameters that the machine was built from.
        window_s: simulations measure this many seconds (None: a number of packets).
        boot_s: seconds before the window begins.

    Raises:
        ModelError: names that clash or do not exist, or pools that get no packets.

    Example:
        >>> import npexplore as npx
        >>> from npexplore.machine import FifoServer, Machine, Pool
        >>> def forward(m, packet):
        ...     m.hash.serve()
        >>> machine = Machine("mine", Pool("thread", 4, forward), resources=[FifoServer("hash", service_s=50e-9)])
        >>> print(npx.design(machine).bounds(npx.workload(packet_bytes=64)))
        bounds: 10.24 Gb/s (packet bytes), 20 Mpps, bottleneck hash
    """

    def __init__(
        self, name: str, pools: Pool | Sequence[Pool], ingress: Ingress | None = None,
        resources: Mapping[str, Resource] | Iterable[Resource] = (), counted: str = "packet bytes", cell_bytes: int = 1,
        tick: float | None = None, facts: Any = None, window_s: float | None = None, boot_s: float = 0.0,
    ) -> None:  # fmt: skip
        self.name = name
        self.pools: tuple[Pool, ...] = (pools,) if isinstance(pools, Pool) else tuple(pools)
        self.ingress = Ingress("receive") if ingress is None else ingress
        self.resources: dict[str, Resource] = _by_name(name, resources)
        self.counted = counted
        self.cell_bytes = count_of(f"{name}: cell_bytes", cell_bytes)
        self.facts = facts
        self.jitter = 0.0  # standard deviation of constant times of visits, as a share of them (engine/jitter.py)
        self.window_s = None if window_s is None else positive(f"{name}: window", window_s)
        self.boot_s = time_of(f"{name}: boot time", boot_s)
        self._check_resources()
        self._check_pools()
        self.tick = common_tick(periods(self.resources.values(), needed=True)) if tick is None else tick

    def _check_resources(self) -> None:
        if self.ingress.name in self.resources:
            raise ModelError(f"{self.name}: {self.ingress.name!r} is the receive side; give the resource another name")
        self.resources[self.ingress.name] = self.ingress
        for name, resource in self.resources.items():
            if name in RESERVED:
                raise ModelError(f"{self.name}: no resource can be called {name!r}: programs use that word")
            if name != resource.name:
                raise ModelError(f"{self.name}: resource {resource.name!r} is listed as {name!r}")

    def _check_pools(self) -> None:
        queues, servers = self.queues(), self.servers()
        if not self.pools:
            raise ModelError(f"{self.name}: a machine needs at least one pool of threads, got none")
        for pool in self.pools:
            subject = "threads" if len(self.pools) == 1 else f"threads of pool {pool.name!r}"
            count_of(f"{self.name}: {subject}", pool.count)
            pool.check(self.name)
            if [other.name for other in self.pools].count(pool.name) > 1:
                raise ModelError(f"{self.name}: two pools are called {pool.name!r}")
            if pool.home is not None:
                one_of(f"{self.name}: home of the {subject}", pool.home, servers)
            if pool.gets is not None:
                one_of(f"{self.name}: queue that pool {pool.name!r} gets from", pool.gets, queues)
            if pool.idle == "poll" and "compute" not in getattr(self.resources.get(str(pool.home)), "VISITS", {}):
                raise ModelError(f"{self.name}: pool {pool.name!r} polls: its home {pool.home!r} must be a processor")
        if all(pool.gets is not None for pool in self.pools):
            raise ModelError(f"{self.name}: no pool gets packets from the receive side {self.ingress.name!r}")
        for name in queues:
            if all(pool.gets != name for pool in self.pools):
                raise ModelError(f"{self.name}: no pool gets from queue {name!r}")
        for resource in self.resources.values():
            resource.check_threads(self.threads)

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            hint = f"; npexplore.design(machine).{name} is there" if name in OF_DESIGNS else ""
            raise AttributeError(f"machine {self.__dict__.get('name', '')!r} has no attribute {name!r}{hint}")

    def __repr__(self) -> str:
        return f"Machine({self.name}: {self.threads} threads, {', '.join(self.resources)})"

    def _repr_html_(self) -> str:
        pools = [(f"pool {pool.name}", f"{pool.count} threads, {_name(pool.program)}") for pool in self.pools]
        return html_table((), [*pools, *((name, repr(part)) for name, part in self.resources.items())], self.name)

    @property
    def threads(self) -> int:
        """The number of threads, of all pools."""
        return sum(pool.count for pool in self.pools)

    @property
    def padded(self) -> bool:
        """Whether throughput counts padded cells."""
        return self.counted != "packet bytes"

    def servers(self) -> dict[str, Server]:
        """Return all servers by name."""
        return {server.name: server for resource in self.resources.values() for server in resource.servers()}

    def queues(self) -> dict[str, BoundedQueue]:
        """Return the queues between pools by name."""
        return {name: resource for name, resource in self.resources.items() if isinstance(resource, BoundedQueue)}

    def record(self, columns: Mapping[str, Variable], pool: Pool | None = None) -> Body:
        """Record the program of a pool (None: the first) once."""
        chosen = pool or self.pools[0]
        try:
            body = record(chosen.program, self.resources, columns, self.facts, chosen.priority)
        except NpexploreError:
            raise
        except (Exception, SystemExit) as error:  # a user's program may raise anything
            problem = f"{type(error).__name__}: {error}"
            raise ModelError(f"{self.name}: program of pool {chosen.name!r}: {problem}") from error
        if chosen.gets is not None or self.ingress.limited:
            return body
        if any(step.resource is self.ingress for step, _ in visits(body)):
            return body
        return [
            visit(self.ingress, "free", bytes=columns["packet_bytes"]),
            *body,
        ]  # an unlimited buffer is freed at once

    def record_pools(self, names: Iterable[str]) -> list[Recorded]:
        """Record every pool's program over a workload's columns and the columns that queues carry.

        Raises ModelError for a packet that a fork or parallel part hands on, a queue that no pool puts into, and a
        limited receive buffer that no program frees.
        """
        faults, workload, visited_names = Faults(), list(names), set[str]()
        programs, checked_visits = list[Recorded](), set[tuple[str, ...]]()
        for pool in self.pools:
            carried = self.queues()[pool.gets].carries if pool.gets is not None else ()
            columns = {name: column(name) for name in dict.fromkeys([*workload, *carried])}
            with faults.one():
                programs.append(Recorded(pool, columns, self.record(columns, pool)))
        faults.tell()
        for program in programs:
            for step, aside in program.visits:
                visit_form = (step.resource.name, step.method, *step.operands)
                if visit_form not in checked_visits:
                    checked_visits.add(visit_form)
                    check_polls(step.resource, step.method, step.operands)
                if aside and step.resource.ends(step.method) != "never":
                    raise ModelError(
                        f"{self.name}: {step.resource.name}.{step.method} must not stand in a fork or a parallel part: "
                        "the thread's packet would go on twice"
                    )
            visited_names |= program.visited
        if self.ingress.limited and self.ingress.name not in visited_names:
            raise ModelError(never_frees(self.name, self.ingress))
        for pool in self.pools:
            if pool.gets is not None and pool.gets not in visited_names:
                raise ModelError(f"{self.name}: pool {pool.name!r} gets from {pool.gets!r}, but no pool puts into it")
        return programs

    def check_freed(self) -> None:
        """Raise ModelError if no program frees a limited receive buffer, for packets with any columns."""
        if not self.ingress.limited:
            return
        for pool in self.pools:
            carried = self.queues()[pool.gets].carries if pool.gets is not None else ()
            try:
                body = self.record(AnyColumns((name, column(name)) for name in ("packet_bytes", *carried)), pool)
            except NpexploreError:  # reported when the machine is solved
                return
            if any(step.resource is self.ingress for step, _ in visits(body)):
                return
        raise ModelError(never_frees(self.name, self.ingress))

    def counted_bytes(self, packet_bytes: Any) -> Any:
        """Return the bytes that count as throughput for packets of these lengths (array in, array out)."""
        if not self.padded:
            return packet_bytes
        return -(-packet_bytes // self.cell_bytes) * self.cell_bytes


def _by_name(machine: str, resources: Mapping[str, Resource] | Iterable[Resource] | None) -> dict[str, Resource]:
    if isinstance(resources, Mapping):
        return dict(resources)
    named: dict[str, Resource] = {}
    for resource in resources or ():
        if resource.name in named:
            raise ModelError(f"{machine}: two resources have the name {resource.name!r}")
        named[resource.name] = resource
    return named
