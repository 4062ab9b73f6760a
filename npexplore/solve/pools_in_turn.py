"""Several pools of threads joined by queues: each a closed network of its own, all with the same packets a second.

    X <= the most that every pool carries while what others do at X slows the servers it shares with them by
         1 / (1 - X a), a their seconds per packet                      (shadow servers: Sevcik, IFIP 1977)

Packets leave a pool that never lacks them as they arrive from outside, so that the next one is a queue with as many
places as it has threads, its queue room and the pool before it threads that may be blocked (finite_queue; exact for two
exponential servers). A pool that carries no more is full, with all queues and pools before it, back to a queue that
drops what it has no room for.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

import numpy as np

from npexplore.machine.machine import Machine
from npexplore.machine.pools import Pool
from npexplore.machine.resources import BoundedQueue
from npexplore.solve.batch import Batch
from npexplore.solve.crossing import crossing
from npexplore.solve.levels import Levels
from npexplore.solve.queueing.finite_queue import chances, finite_queues
from npexplore.solve.stations import Floats

NEAR = 0.999  # of X: who carries no more sets it
TINY, FULL = 1e-12, 0.999
LEAST = 1e-3  # of variability: without any, nobody would ever wait


def dispersion(batch: Batch) -> float:
    """Return the index of dispersion of arrivals (1: Poisson, 0: periodic)."""
    process = batch.like.workload.process()
    return 1.0 if process is None else process.dispersion()


class Found(NamedTuple):
    """Packets of the workload a second, mean time in the machine, share lost in front of it: arrays (P,).

    levels: of each pool. slower: by server that takes longer the more wait for it, the share of time that this costs.
    stays: by pool, where its packets are.
    """

    rate: Floats
    latency: Floats
    loss: Floats
    levels: Sequence[Levels]
    slower: Mapping[str, Floats] = MappingProxyType({})
    stays: Sequence[Stay] = ()


class Stay(NamedTuple):
    """Packets of one pool at the first point: its network, their seconds there and in front of it (P,).

    name: of its threads. arrivals: packets a second that come (None: there are always more than threads), curve: what
    1.. of them are worked at with, longer: how many times more wait than if all times were exponential (each (P,..)).
    """

    name: str
    levels: Levels
    seconds: Floats
    room: int = 0  # packets in front
    arrivals: Floats | None = None
    curve: Floats | None = None
    longer: Floats | None = None

    def chances(self) -> Floats:
        """Return the chances (n + 1,) of 0..n packets there and in front."""
        places = self.levels.customers + self.room
        if self.arrivals is None or self.curve is None or self.longer is None:
            return np.append(np.zeros(places), 1.0)
        found: Floats = chances(self.arrivals[:1], self.curve[:1], places, self.longer[:1])[0]
        return found


def in_turn(batch: Batch, ceilings: Mapping[str, Floats], places: int | None) -> Found:
    """Solve each pool alone and together; places: of packets in front of the first pool (None: never short of any)."""
    machine = batch.like.machine
    levels = {pool.name: Levels(batch.parts[pool.name], pool.count, pool.home) for pool in machine.pools}
    levels = {name: one for name, one in levels.items() if np.any(one.batch.latency > 0)}
    most = np.min([*ceilings.values()], axis=0)
    curves, shared = _curves(levels, batch, ceilings, most * 0.0)
    if shared:
        full = np.minimum(most, np.min([curve[:, -1] for curve in curves.values()], axis=0))

        def carried_beyond(rate: Floats) -> Floats:
            nonlocal curves
            curves, _ = _curves(levels, batch, ceilings, rate)
            return np.asarray(np.min([curve[:, -1] for curve in curves.values()], axis=0) - rate)

        # nobody is slowed by work that does not come
        crossing(carried_beyond, np.zeros_like(most), np.minimum(full, batch.offered))
    rate, passed = np.full_like(most, np.inf), []
    where: dict[str, tuple[Floats, Floats]] = {}
    waits: dict[str, Floats] = {}
    own_rates: dict[str, Floats] = {}  # of packets of the workload, as if all of them came to a pool
    carried: dict[str, Floats] = {}  # the same where packets always wait in front of the first pool
    before, queues = _feeders(batch, levels), machine.queues()
    order = [*batch.like.by_pool]  # each behind those that put into its queue (machine/flows.py)
    for pool in sorted(
        (pool for pool in machine.pools if pool.name in levels), key=lambda pool: order.index(pool.name)
    ):
        own, curve, feeders = levels[pool.name].batch, curves[pool.name], before[pool.name]
        if pool.gets is None and places is None:
            passes = curve[:, -1]
            stays = np.full_like(rate, np.inf)
        else:
            first = pool.gets is None
            scv = own.scv_at_slowest(ceilings, _threads(pool))
            spread = dispersion(batch) if first or not feeders else waits[feeders[0].name]
            longer = np.maximum((spread + scv) / 2, LEAST)
            room = places if first and places is not None else _room(machine, pool.gets)
            room += sum(one.count for one in feeders)
            comes = batch.offered if first else np.min([own_rates[one.name] for one in feeders] or [rate], axis=0)
            where[pool.name] = comes, longer
            passes, stays, _ = finite_queues(comes, curve, pool.count + room, longer)
        carried[pool.name] = curve[:, -1]
        if feeders:
            most_comes = np.min([carried[one.name] for one in feeders], axis=0)
            carried[pool.name] = finite_queues(most_comes, curve, pool.count + room, longer)[0]
            if (
                pool.gets in queues and queues[pool.gets].when_full != "drop"
            ):  # who finds it full waits, and is not lost
                passes = np.minimum(comes, carried[pool.name])
        rate, own_rates[pool.name] = np.minimum(rate, passes), passes
        waits[pool.name] = own.scv_at_slowest(ceilings, _threads(pool))
        passed.append((pool, own_rates[pool.name], stays))
    rate, latency, kept = np.minimum(rate, most), np.zeros_like(rate), []
    behind_all = _behind(machine, levels, carried)
    for pool, own_rate, stays in passed:
        room = _room(machine, pool.gets) if pool.gets is not None else places or 0
        full = np.isinf(stays) | (own_rate * NEAR > behind_all[pool.name])
        seconds = np.where(full, np.inf, stays).clip(max=(pool.count + room) / rate)
        latency += seconds
        stay, behind = Stay(_threads(pool), levels[pool.name], seconds, room), where.get(pool.name)
        if behind is not None and not full[0]:
            stay = stay._replace(arrivals=behind[0], curve=curves[pool.name], longer=behind[1])
        kept.append(stay)
    return Found(rate, latency, 1.0 - rate / batch.offered, [*levels.values()], stays=kept)


def _curves(
    levels: Mapping[str, Levels], batch: Batch, ceilings: Mapping[str, Floats], rate: Floats
) -> tuple[dict[str, Floats], bool]:
    """Return the throughput (P, threads) of each pool with 1.. threads while the others work at a rate.

    And whether they share anything.
    """
    found, shared = {}, False
    for name, one in levels.items():
        for server, seconds in one.batch.seconds.items():
            others = 1.0 - seconds / np.maximum(batch.seconds[server], TINY)
            if server in ceilings and np.any((others > TINY) & (seconds > 0)):
                one.slowed[server] = 1.0 / (1.0 - np.minimum(rate / ceilings[server] * others, FULL))
                shared = True
        one.divide(rate)
        shared |= bool(one.divided)
        found[name] = one.solve()[1].throughput
    return found, shared


def _handed(levels: Levels) -> set[str]:
    """Return the queues that a pool puts into."""
    return {*levels.batch.like.demands.handed}


def _feeders(batch: Batch, levels: Mapping[str, Levels]) -> dict[str, list[Pool]]:
    """Return by name of each pool at work those that put packets into its queue, also by way of pools without work."""
    pools = batch.like.machine.pools

    def into(queue: str) -> list[Pool]:
        found = []
        for pool in pools:
            if queue in batch.like.by_pool[pool.name].handed:
                found += [pool] if pool.name in levels else into(pool.gets or "")
        return found

    return {pool.name: into(pool.gets) if pool.gets is not None else [] for pool in pools if pool.name in levels}


def _behind(machine: Machine, levels: Mapping[str, Levels], rates: Mapping[str, Floats]) -> dict[str, Floats]:
    """Return by pool what those behind it carry, as far as queues stall: one that drops holds nobody up."""
    found: dict[str, Floats] = {}
    queues, pools = machine.queues(), {pool.gets: pool.name for pool in machine.pools if pool.name in levels}

    def least(name: str) -> Floats:
        if name not in found:
            found[name] = np.full_like(rates[name], np.inf)
            for queue in _handed(levels[name]):
                if queue in pools and queues[queue].when_full != "drop":
                    other = pools[queue]
                    found[name] = np.minimum(found[name], np.minimum(rates[other], least(other)))
        return found[name]

    return {name: least(name) for name in rates}


def _threads(pool: Pool) -> str:
    """Return the name of the ceiling of a pool's threads."""
    return f"threads.{pool.name}"


def _room(machine: Machine, queue: str | None) -> int:
    """Return how many packets fit in front of a pool."""
    resource = machine.resources.get(queue or "")
    return resource.capacity * resource.members if isinstance(resource, BoundedQueue) else 0
