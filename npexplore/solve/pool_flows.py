"""The flow of packets between the pools of a machine: feeders, queue room and the variability of arrivals."""

from collections.abc import Mapping, Sequence

import numpy as np

from npexplore.machine.machine import Machine
from npexplore.machine.pools import Pool
from npexplore.machine.resources import BoundedQueue
from npexplore.rows.server import Server
from npexplore.solve.batch import Batch
from npexplore.solve.levels import Levels
from npexplore.solve.queueing.inputs import LEAST_DIVISOR
from npexplore.solve.stations import Floats


def in_receive_buffer(batch: Batch, levels: Mapping[str, Levels]) -> list[Pool]:
    """Return the pools whose packets occupy the receive buffer: all up to the last one that frees it."""
    frees = [batch.like.by_pool[name].freed > 0 for name in batch.like.by_pool]
    names = [*batch.like.by_pool][: len(frees) - frees[::-1].index(True)] if any(frees) else []
    return [pool for pool in batch.like.machine.pools if pool.name in names and pool.name in levels]


def units_of_others(batch: Batch, pool: Pool) -> dict[str, float]:
    """Return by server the largest number of units that packets of other pools have at once."""
    units_by_server: dict[str, float] = {}
    for other in batch.like.machine.pools:
        demands = batch.like.by_pool[other.name]
        for server, demand in demands.servers.items() if other is not pool else ():
            section = demands.sections.get(server)
            units = 1.0 if section is None else float("inf") if section.outlives else section.needed
            if demand.seconds > 0:
                units_by_server[server] = units_by_server.get(server, 0.0) + other.count * units
    return units_by_server


def meetings(pool: Pool, other: Pool, server: str, servers: Mapping[str, Server]) -> tuple[float, float]:
    """Return how much more of another pool's work a thread meets than if the work were spread over all members.

    Thread i of either pool runs on member i mod n of its home, so that small pools share the first members. The second
    value is the number of the other pool's threads that one thread may meet.
    """
    members = servers[server].members
    if pool.home != server or other.home != server or members == 1:
        return 1.0, float(other.count)
    mine, theirs = (np.bincount(np.arange(each.count) % members, minlength=members) for each in (pool, other))
    met = float(mine @ theirs) / pool.count
    return met / other.count * members, met


def scv_of_arrivals(batch: Batch, pool: Pool, feeders: Sequence[Pool], departs: Mapping[str, Floats]) -> Floats:
    """Return the squared coefficient of variation (P,) of the times between arrivals at a pool.

    A share p of another pool's departures has c^2 = p c_d^2 + 1 - p; several feeders count by their shares (Whitt
    1983).
    """
    shares = {name: demands.share for name, demands in batch.like.by_pool.items()}
    total = sum(shares[feeder.name] for feeder in feeders)
    part = min(shares[pool.name] / total, 1.0) if total else 1.0
    mean = sum(departs[feeder.name] * shares[feeder.name] for feeder in feeders) / max(total, LEAST_DIVISOR)
    return np.asarray(part * mean + 1.0 - part)


def feeders(batch: Batch, levels: Mapping[str, Levels]) -> dict[str, list[Pool]]:
    """Return by pool name the pools that put packets into its queue, also through pools that take no time."""
    pools = batch.like.machine.pools

    def into(queue: str) -> list[Pool]:
        feeding = []
        for pool in pools:
            if queue in batch.like.by_pool[pool.name].handed:
                feeding += [pool] if pool.name in levels else into(pool.gets or "")
        return feeding

    return {pool.name: into(pool.gets) if pool.gets is not None else [] for pool in pools if pool.name in levels}


def carried_behind(machine: Machine, levels: Mapping[str, Levels], rates: Mapping[str, Floats]) -> dict[str, Floats]:
    """Return by pool the lowest rate (P,) of the pools behind it, up to a dropping queue, which blocks no feeder."""
    carried: dict[str, Floats] = {}
    queues, pools = machine.queues(), {pool.gets: pool.name for pool in machine.pools if pool.name in levels}

    def lowest(name: str) -> Floats:
        if name not in carried:
            carried[name] = np.full_like(rates[name], np.inf)
            for queue in levels[name].batch.like.demands.handed:
                if queue in pools and queues[queue].when_full != "drop":
                    next_pool = pools[queue]
                    carried[name] = np.minimum(carried[name], np.minimum(rates[next_pool], lowest(next_pool)))
        return carried[name]

    return {name: lowest(name) for name in rates}


def threads_of(pool: Pool) -> str:
    """Return the name of the ceiling of a pool's threads."""
    return f"threads.{pool.name}"


def room_before(batch: Batch, queue: str | None) -> int:
    """Return how many packets fit into the queue of a pool, counting the members and classes that packets use."""
    resource, used = batch.like.machine.resources.get(queue or ""), set[object]()
    if not isinstance(resource, BoundedQueue):
        return 0
    for demands in batch.like.by_pool.values():
        for shares, operands in demands.handed.get(resource.name, []):
            values = [operands[name] for name in ("queue", "member") if name in operands]
            if any(value is None or np.isnan(value).any() for value in values):  # at random, in turn, the shortest
                return resource.capacity * resource.members
            columns = np.broadcast_arrays(shares, *(value for value in values if value is not None))
            used |= {tuple(row[1:]) for row in zip(*columns, strict=True) if row[0] > 0}
    return resource.capacity * min(max(len(used), 1), resource.members)
