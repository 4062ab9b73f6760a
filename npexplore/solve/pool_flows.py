"""Who puts packets into whose queue among the pools of a machine, with what room, and how irregularly they come."""

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
    """Return the pools whose packets stand in the receive buffer: those up to the last that frees it."""
    frees = [batch.like.by_pool[name].freed > 0 for name in batch.like.by_pool]
    names = [*batch.like.by_pool][: len(frees) - frees[::-1].index(True)] if any(frees) else []
    return [pool for pool in batch.like.machine.pools if pool.name in names and pool.name in levels]


def units_of_others(batch: Batch, pool: Pool) -> dict[str, float]:
    """Return by server the units that packets of other pools have at once, at most."""
    units_by_server: dict[str, float] = {}
    for other in batch.like.machine.pools:
        own = batch.like.by_pool[other.name]
        for server, demand in own.servers.items() if other is not pool else ():
            section = own.sections.get(server)
            units = 1.0 if section is None else float("inf") if section.outlives else section.needed
            if demand.seconds > 0:
                units_by_server[server] = units_by_server.get(server, 0.0) + other.count * units
    return units_by_server


def meetings(pool: Pool, other: Pool, server: str, servers: Mapping[str, Server]) -> tuple[float, float]:
    """Return how many times more of another pool's work is met at a server than if it were spread over all members.

    Thread i of either pool lives on member i of its home, so that few threads share the first members. The second
    number is of the other pool's threads that one thread may meet.
    """
    members = servers[server].members
    if pool.home != server or other.home != server or members == 1:
        return 1.0, float(other.count)
    mine, theirs = (np.bincount(np.arange(one.count) % members, minlength=members) for one in (pool, other))
    met = float(mine @ theirs) / pool.count
    return met / other.count * members, met


def scv_of_arrivals(batch: Batch, pool: Pool, feeders: Sequence[Pool], departs: Mapping[str, Floats]) -> Floats:
    """Return the squared coefficient of variation (P,) of the times between packets that come to a pool.

    Of a share p of what leaves another, c^2 = p c_d^2 + 1 - p; of several, the mean by their shares (Whitt 1983).
    """
    shares = {name: own.share for name, own in batch.like.by_pool.items()}
    total = sum(shares[one.name] for one in feeders)
    part = min(shares[pool.name] / total, 1.0) if total else 1.0
    mean = sum(departs[one.name] * shares[one.name] for one in feeders) / max(total, LEAST_DIVISOR)
    return np.asarray(part * mean + 1.0 - part)


def feeders(batch: Batch, levels: Mapping[str, Levels]) -> dict[str, list[Pool]]:
    """Return by name of each pool at work those that put packets into its queue, also by way of pools without work."""
    pools = batch.like.machine.pools

    def into(queue: str) -> list[Pool]:
        feeding = []
        for pool in pools:
            if queue in batch.like.by_pool[pool.name].handed:
                feeding += [pool] if pool.name in levels else into(pool.gets or "")
        return feeding

    return {pool.name: into(pool.gets) if pool.gets is not None else [] for pool in pools if pool.name in levels}


def carried_behind(machine: Machine, levels: Mapping[str, Levels], rates: Mapping[str, Floats]) -> dict[str, Floats]:
    """Return by pool what those behind it carry, as far as queues stall: one that drops holds nobody up."""
    carried: dict[str, Floats] = {}
    queues, pools = machine.queues(), {pool.gets: pool.name for pool in machine.pools if pool.name in levels}

    def least(name: str) -> Floats:
        if name not in carried:
            carried[name] = np.full_like(rates[name], np.inf)
            for queue in levels[name].batch.like.demands.handed:
                if queue in pools and queues[queue].when_full != "drop":
                    other = pools[queue]
                    carried[name] = np.minimum(carried[name], np.minimum(rates[other], least(other)))
        return carried[name]

    return {name: least(name) for name in rates}


def threads_of(pool: Pool) -> str:
    """Return the name of the ceiling of a pool's threads."""
    return f"threads.{pool.name}"


def room_before(batch: Batch, queue: str | None) -> int:
    """Return how many packets fit in front of a pool: into the queues of the members and classes that are used."""
    resource, used = batch.like.machine.resources.get(queue or ""), set[object]()
    if not isinstance(resource, BoundedQueue):
        return 0
    for own in batch.like.by_pool.values():
        for shares, operands in own.handed.get(resource.name, []):
            values = [operands[name] for name in ("queue", "member") if name in operands]
            if any(value is None or np.isnan(value).any() for value in values):  # by chance, in turn, the shortest
                return resource.capacity * resource.members
            each = np.broadcast_arrays(shares, *(value for value in values if value is not None))
            used |= {tuple(one[1:]) for one in zip(*each, strict=True) if one[0] > 0}
    return resource.capacity * min(max(len(used), 1), resource.members)
