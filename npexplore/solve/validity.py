"""Refusals of the queueing model: each names the arrivals or the resource for which it has no valid method, and why.

Refusals that concern the holds of a program are in nesting.py and levels.py.
"""

from collections.abc import Mapping, Sequence

import numpy as np

from npexplore.errors import RefusedError
from npexplore.machine.machine import Machine
from npexplore.machine.resources.policer import Policer
from npexplore.machine.resources.processor import Processor
from npexplore.machine.sections import Demands
from npexplore.machine.under_load import UnderLoad
from npexplore.machine.workload import Workload
from npexplore.rows.distributions import Batch as Batches
from npexplore.rows.distributions import OnOff
from npexplore.solve.batch import Batch
from npexplore.solve.levels import Levels
from npexplore.solve.pool_flows import room_before
from npexplore.solve.queueing.finite_queue import finite_queues
from npexplore.solve.stations import Floats
from npexplore.solve.stays import Stay

SLACK, SHORTEST_S = 1e-9, 1e-15  # rounding error, relative and in seconds
UNSEEN_LOAD = 0.2  # utilization by work that is not in the demands (open-row misses): may be a bottleneck above it
UNSEEN_SHARE = 0.1  # of a thread's cycle or a latency: time that is not in the demands
LOST_SHARE = 0.05  # of packets in front of a pool: a larger loss changes which packets leave the machine
BUNCHED_THREADS, BUNCHED_ORDER, BUNCHED_LOAD = 6, 1.15, 0.2  # threads of an engine; longer waits by this; utilization
THREADS_BEHIND_OWN_WORK = 1  # up to this number, saturated threads may wait for work that their own packet left behind
FEW_OF_FORKS = 2  # up to this number, threads meet their own forked work, and rates are up to a third too low
APPROXIMATE_RATE = 0.98  # of the lowest ceiling: a lower rate is approximate and may be off by RATE_ERROR
RATE_ERROR = 0.05  # relative; four rates in five are within it
FARTHEST_RATE = 1.4  # no machine is faster than this times an approximate rate
LATENCY_CHANGE, LATENCY_CHANGE_OF_POOLS = 0.3, 0.2  # largest change by such an error: one pool, several pools
LIGHT_LOAD, LIGHT_TOLERANCE = 1e-6, 0.1  # of the lowest ceiling, so that packets do not meet; error of their latency
FORKS_TOLERANCE = 0.1  # largest share of a latency that waits for forked work may add
ALONE_TOLERANCE = 0.05  # of the latency of a packet alone: its longest wait for its own work


def check_arrivals(machine: Machine, workload: Workload) -> None:
    """Raise RefusedError for arrivals that no formula here covers, independent of the demands."""
    process, reason = workload.process(), None
    if workload.arrivals == "timestamps":
        reason = "recorded arrival times are not a random process"
    elif isinstance(process, Batches) and process.size > 1:
        reason = f"no formula covers several servers behind batches of {process.size} packets"
    elif isinstance(process, OnOff):
        reason = "no formula covers several servers behind on-off spans of packets"
    if reason is not None:
        raise RefusedError(f"queueing: {machine.name}: {reason}; use `estimate`")


def check_alone(d: UnderLoad) -> None:
    """Raise RefusedError where a packet alone may take longer than the sum of its steps: it waits for its own work."""
    pools = list(d.by_pool.values()) if d.by_pool else [d.demands]
    if any(isinstance(d.machine.resources[name], Policer) for demands in pools for name in demands.handed):
        raise RefusedError(f"queueing: {d.machine.name}: no packet waits at a policer that drops; use `simulate`")
    for name in (name for demands in pools for name, demand in demands.servers.items() if demand.in_turn > 0):
        if d.workload.arrivals != "saturated":
            raise RefusedError(
                f"queueing: packets take members of {name!r} in turn, for service times that vary much: they wait less "
                "than at members drawn at random and more than in one shared queue; use `estimate`"
            )
    waits = {text: seconds for demands in pools for text, seconds in demands.own_waits.items()}
    for number, demands in enumerate(pools):  # packets may meet their own forked work in a later pool
        for name, seconds in demands.aside.items():
            later = sum(other.servers[name].seconds for other in pools[number + 1 :] if name in other.servers)
            if later and d.servers[name].units * d.servers[name].members == 1:
                waits[f"work that a packet forks meets a later pool's at {name!r}"] = min(seconds, later)
    threads = dict(zip(d.by_pool, (pool.count for pool in d.machine.pools), strict=False)) or {"": d.machine.threads}
    for demands, count in zip(pools, threads.values(), strict=True):
        for name, section in demands.sections.items():
            units = d.servers[name].units * d.servers[name].members
            own_wait_s = _left_behind(demands, name) / units if section.outlives else 0.0
            if d.workload.arrivals == "saturated" and (
                count > THREADS_BEHIND_OWN_WORK
                or (d.servers[name].role != "queue" and _has_units(d, demands, name, own_wait_s))
            ):
                continue  # saturated threads wait there anyway, or find another unit free
            if section.outlives and d.servers[name].role != "hidden":
                waits[f"a packet comes to {name!r} again while work that it left there goes on"] = own_wait_s
    own_wait_s, latency = sum(waits.values()), d.demands.latency
    forks = any(demands.aside for demands in pools)
    if latency <= 0 and (own_wait_s > 0 or forks or d.workload.arrivals != "saturated"):
        raise RefusedError(f"queueing: {d.machine.name}: a packet alone takes no time of its own; use `estimate`")
    if own_wait_s > ALONE_TOLERANCE * latency:
        text = max(waits, key=lambda text: waits[text])
        raise RefusedError(
            f"queueing: {d.machine.name}: {text}, so that a packet alone takes up to {own_wait_s / latency:.0%} longer "
            "than its steps add up to; use `estimate`"
        )


def stays_busy(batch: Batch) -> bool:
    """Return whether packets anywhere leave a server busy when they go on, or fork work."""
    return any(
        demands.side_by_side
        or any(demands.overlap.values())
        or any(section.outlives for section in demands.sections.values())
        for demands in [batch.like.demands, *batch.like.by_pool.values()]
    )


def check_light(batch: Batch, latency: Floats) -> None:
    """Raise RefusedError where packets without contention would have a latency (P,) above the sum of their steps.

    Then the model counts work that goes on behind a packet as the packet's own, and later packets' waits are unknown.
    """
    away = max((server.away for name, server in batch.like.servers.items() if name in batch.visits), default=0.0)
    ratio = float(np.max(latency * (1.0 - away) / np.maximum(batch.latency, SHORTEST_S)))
    if ratio > 1.0 + LIGHT_TOLERANCE:
        raise RefusedError(
            f"queueing: {batch.like.machine.name}: work that packets leave behind takes {ratio - 1:.0%} of the latency "
            "of a packet alone; how long arriving packets wait for it is not known"
        )


def check_own_forks(batch: Batch, rate: Floats, ceilings: Mapping[str, Floats]) -> None:
    """Raise RefusedError where at most FEW_OF_FORKS threads wait, at a rate (P,), for work that their packets fork."""
    threads = batch.like.machine.threads
    waits = threads / rate > (1.0 + UNSEEN_SHARE) * batch.latency / batch.share
    below = rate < APPROXIMATE_RATE * np.min([*ceilings.values()], axis=0)
    if batch.aside and threads <= FEW_OF_FORKS and np.any(waits & below):
        subject = "its one thread meets what its" if threads == 1 else f"its {threads} threads meet what their"
        raise RefusedError(
            f"queueing: {batch.like.machine.name}: {subject} packets fork, at {sorted(batch.aside)[0]!r}, in an "
            "order that is not random"
        )


def check_forks(batch: Batch, latency: Floats, unslowed: Floats) -> None:
    """Raise RefusedError where forked work makes a latency (P,) much longer than without it (unslowed, P)."""
    ratio = float(np.max(latency / unslowed))
    if ratio > 1.0 + FORKS_TOLERANCE:
        raise RefusedError(
            f"queueing: {batch.like.machine.name}: arriving packets may wait for the forked work of others at "
            f"{sorted(batch.aside)[0]!r}, up to {ratio - 1:.0%} of their latency; how long is not known"
        )


def check_unseen(batch: Batch, rate: Floats, latency: Floats) -> None:
    """Raise RefusedError where time that is not in the demands may limit a rate (P,) or dominate a latency (P,)."""
    point, servers = batch.like, batch.like.servers
    for name, server in servers.items():
        if server.unseen_busy_s and name in batch.visits:
            busy = rate * batch.visits[name] * server.unseen_busy_s / (server.members * server.units)
            if np.any(busy > UNSEEN_LOAD):
                raise RefusedError(
                    f"queueing: {name!r} may be busy for up to {float(busy.max()):.0%} of the time with closing and "
                    "opening rows; how often depends on the order of the accesses; use `estimate`"
                )
    for pool in point.machine.pools:
        part = batch.parts[pool.name] if batch.parts else batch
        # with an additional delay, a closed network keeps at least cycle / (cycle + delay) of its rate
        cycle = pool.count / rate if point.workload.arrivals == "saturated" else latency
        for name, server in servers.items():
            if server.unseen_s and name in part.visits:
                unseen = part.visits[name] * server.unseen_s
                share = float(np.max(unseen / (cycle + unseen)))
                if share > UNSEEN_SHARE:
                    raise RefusedError(
                        f"queueing: visits of {name!r} may make packets up to {share / (1 - share):.0%} slower than "
                        "their demands say, because of rows to close and open, or clock edges; use `estimate`"
                    )


def _has_units(d: UnderLoad, demands: Demands, name: str, wait_s: float) -> bool:
    """Return whether one saturated thread finds units of a limit free, or spends all of its time holding them."""
    units = d.servers[name].units * d.servers[name].members
    return demands.sections[name].in_all <= units or d.demands.latency + wait_s <= demands.servers[name].seconds / units


def _left_behind(demands: Demands, name: str) -> float:
    """Return the seconds for which a packet's visits, without the last, keep a server busy after the packet left."""
    demand, resource = demands.servers[name], name.partition(".")[0]
    present_s = sum(seconds for place, seconds in demands.latency_parts.items() if place.partition(".")[0] == resource)
    share_before_last = max(demand.visits - 1.0, 0.0) / max(demand.visits, 1.0)
    return max(demand.seconds - present_s, 0.0) * share_before_last


def check_pools(batch: Batch, levels: Mapping[str, Levels]) -> None:
    """Raise RefusedError where pools share held units or strict turns, or a dropping queue's losses are unknown."""
    machine, pools = batch.like.machine, batch.like.by_pool
    for home, resource in machine.resources.items():
        names = [pool.name for pool in machine.pools if pool.home == home and pool.name in levels]
        if isinstance(resource, Processor) and resource.turns is not None and len(names) > 1:
            raise RefusedError(
                f"queueing: {home!r} serves the threads of {' and '.join(names)} in a strict order: how long packets "
                "of one pool keep those of another waiting depends on that order"
            )
    for name, network in levels.items():
        for server in sorted({server for chain, _ in network.batch.spent for server in chain} - network.idle):
            if server not in network.sections or network.sections[server].in_visits:
                continue
            for other in levels:
                if other != name and np.any(batch.parts[other].seconds.get(server, 0.0) > 0):
                    raise RefusedError(
                        f"queueing: {server!r} is held over other work, by packets of more than one pool"
                    )
    for queue, resource in machine.queues().items():
        pools_before = _before(batch, queue) if resource.when_full == "drop" else set()
        room = room_before(batch, queue) + sum(pool.count for pool in machine.pools if pool.gets == queue)
        senders = sum(pool.count for pool in machine.pools if queue in pools[pool.name].handed)
        if pools_before and senders > room:
            raise RefusedError(
                f"queueing: {queue!r} drops packets when it is full; it and the pools behind it hold {room} packets, "
                f"and {senders} threads may put at once: the losses depend on whether the threads are in step"
            )
        homes = {pool.home for pool in machine.pools if pool.name in pools_before} - {None}
        gets = {pool.name for pool in machine.pools if pool.gets == queue}
        behind = {pool.home for pool in machine.pools if gets & {pool.name, *_before(batch, pool.gets)}}
        if batch.like.workload.arrivals == "saturated" and homes & behind:
            raise RefusedError(
                f"queueing: work for packets that {queue!r} drops occupies {sorted(map(str, homes & behind))[0]!r}, "
                "which the pools behind this queue need too"
            )


def check_losses(batch: Batch, lost: Mapping[str, Floats]) -> None:
    """Raise RefusedError where a pool's queue loses packets (loss ratio, P) and other packets leave before it."""
    for pool in batch.like.machine.pools:
        pools_before = _before(batch, pool.gets) if np.any(lost.get(pool.name, 0.0) > LOST_SHARE) else set()
        if any(batch.like.by_pool[name].leaves > SLACK for name in pools_before):
            raise RefusedError(
                f"queueing: {pool.gets!r} drops packets when it is full, and some packets leave before it: which "
                "packets leave depends on the losses"
            )


def _before(batch: Batch, queue: str | None) -> set[str]:
    """Return the pools that packets pass before a queue; empty if no pool gets from it."""
    if queue is None or all(pool.gets != queue for pool in batch.like.machine.pools):
        return set()
    feeders = [pool for pool in batch.like.machine.pools if queue in batch.like.by_pool[pool.name].handed]
    return {pool.name for pool in feeders}.union(*(_before(batch, pool.gets) for pool in feeders))


def check_bunching(batch: Batch, ceilings: Mapping[str, Floats]) -> None:
    """Raise RefusedError where arriving packets may go to the engines in bunches.

    Idle threads wait in one line. If long visits come first, the packets of an engine end one after the other, and
    their threads then take the next arrivals one after the other.
    """
    for pool in batch.like.machine.pools:
        part, name = batch.parts.get(pool.name, batch), pool.home
        if name is None or name not in part.seconds:
            continue
        members = batch.like.servers[name].members
        load = np.minimum(batch.offered / ceilings[name], 1.0) if name in ceilings else np.zeros(len(batch))
        time_share = part.seconds[name] / np.maximum(np.maximum(part.latency, part.seconds[name]), SHORTEST_S)
        wait_factor = 1.0 + time_share * (part.share_of_order(name, load) - 1.0)
        if (
            members > 1
            and pool.count >= BUNCHED_THREADS * members
            and np.any((wait_factor > BUNCHED_ORDER) & (load > BUNCHED_LOAD))
        ):
            raise RefusedError(
                f"queueing: packets return to {name!r}, long visits first, and each of its {members} members has "
                f"{pool.count // members} threads: the threads of one member take packets in bunches"
            )


def check_steep(batch: Batch, stays: Sequence[Stay], ceilings: Mapping[str, Floats]) -> None:
    """Raise RefusedError where an error of RATE_ERROR in the rate changes the latency much, or decides about losses."""
    latency_below, latency_at, latency_above = np.zeros((3, len(batch)))
    carried = np.full(len(batch), np.inf)
    for stay in stays:
        if stay.arrivals is None or stay.curve is None or stay.longer is None:
            return  # saturated: all places are occupied
        carried = np.minimum(carried, stay.curve[:, -1])
        for total, share in ((latency_below, 1.0 - RATE_ERROR), (latency_at, 1.0), (latency_above, 1.0 + RATE_ERROR)):
            places = stay.levels.customers + max(stay.room, 0)
            total += finite_queues(
                stay.arrivals * share, stay.curve, places, stay.longer, 1.0 / stay.curve[:, 0], stay.within
            )[1]
    tolerance = LATENCY_CHANGE if len(stays) == 1 else LATENCY_CHANGE_OF_POOLS
    ratio = np.maximum(latency_above / latency_at, latency_at / latency_below)
    bound = APPROXIMATE_RATE * np.min([*ceilings.values()], axis=0)
    if np.any((batch.offered >= carried) & (batch.offered < np.minimum(bound, FARTHEST_RATE * carried))):
        raise RefusedError(
            f"queueing: {batch.like.machine.name}: arrivals are above the approximate saturated rate, but below what "
            "each resource allows: whether packets are lost is not known"
        )
    steep = (ratio > 1.0 + tolerance) & (carried < bound)
    if np.any(steep):
        raise RefusedError(
            f"queueing: {batch.like.machine.name}: arrivals are close to the approximate saturated rate: an error of "
            f"{RATE_ERROR:.0%} in that rate changes the latency by {float(np.max(ratio[steep])) - 1.0:.0%}"
        )
