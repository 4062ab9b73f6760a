"""Pools that share servers: the work of other pools, at their rates, slows the packets of a pool.

    rate <= the highest rate that every pool carries while the others' work at that rate slows the shared servers

Shadow servers (Sevcik, IFIP 1977), with the correction of `slowed` (regularity.py) for pools of few threads.
"""

from collections.abc import Mapping, Sequence

import numpy as np

from npexplore.errors import RefusedError
from npexplore.machine.pools import Pool
from npexplore.solve.batch import Batch
from npexplore.solve.batch_decisions import agreed
from npexplore.solve.levels import Levels
from npexplore.solve.pool_flows import feeders, meetings
from npexplore.solve.regularity import MAX_UTILIZATION, slowed
from npexplore.solve.stations import Floats

NEGLIGIBLE = 1e-12  # rounding error of seconds, visits and shares of them
THREADS_MET_ONE_BY_ONE = 2  # a pool with more threads spreads its work evenly over the time
MEETING_SHARE = 0.1  # of a latency: the wait that packets may add if they always meet other pools' packets

# (pool, its part of a server's work that others may meet, residual life of its visits, its threads; infinite: forked)
Others = list[tuple[str, Floats, Floats, float]]
Meets = dict[str, dict[str, Others]]


def meets_of(levels: Mapping[str, Levels], batch: Batch, ceilings: Mapping[str, Floats]) -> Meets:
    """Return, by pool and shared server, the pools that work there, the pool itself included."""
    pools = {pool.name: pool for pool in batch.like.machine.pools}
    meets: Meets = {name: {} for name in levels}
    for name, network in levels.items():
        for server, seconds in network.batch.seconds.items():
            total_s = np.maximum(batch.seconds[server], NEGLIGIBLE)
            waiting_s = seconds - network.batch.aside.get(server, 0.0)  # without forked work, for which no packet waits
            part = waiting_s / total_s
            if server not in ceilings or not agreed((1.0 - part > NEGLIGIBLE) & (part > NEGLIGIBLE)):
                continue
            others = meets[name][server] = []
            for other, demands in batch.parts.items():
                if server not in demands.seconds:
                    continue
                factor, count = meetings(pools[name], pools[other], server, network.servers)
                residual_s = demands.seconds[server] / np.maximum(demands.visits[server], NEGLIGIBLE)
                residual_s = residual_s * (1.0 + (demands.scv_by_turns(server, demands.scv[server]) - 1.0) / 2)
                forked_s = demands.aside.get(server, 0.0 * total_s)
                if other == name:
                    others.append((other, part * factor, residual_s, count))
                elif agreed(demands.seconds[server] - forked_s > NEGLIGIBLE * total_s):
                    others.append((other, (demands.seconds[server] - forked_s) / total_s * factor, residual_s, count))
                if server in demands.aside:
                    others.append((other, forked_s / total_s, residual_s, np.inf))
    return meets


def _slow(
    name: str, net: Levels, ceilings: Mapping[str, Floats], meets: Mapping[str, Others], rates: Mapping[str, Floats]
) -> None:
    """Set how much the work of other pools, at their rates, slows one pool, and the rate that it leaves the pool."""
    lowest_rate = np.min([*rates.values()], axis=0)  # rate of a pool whose packets only fork work
    net.left = {server: ceilings[server] for server in net.batch.seconds
                if server in ceilings and server not in net.batch.aside}  # fmt: skip
    for server, sharers in meets.items():
        loads_of_others = [
            (rates.get(pool, lowest_rate) * part, residual_s, count)
            for pool, part, residual_s, count in sharers if pool != name or np.isinf(count)
        ]  # fmt: skip
        zeros = np.zeros(len(net.batch))
        own_load = sum(
            (rates[name] * part for pool, part, _, count in sharers if pool == name and count < np.inf), zeros
        )
        own_load = own_load / ceilings[server]
        others_rate = sum((rate for rate, _, _ in loads_of_others), zeros)
        busy_s = sum((rate * residual_s for rate, residual_s, _ in loads_of_others), zeros)
        visitors = sum((np.where(rate > 0, count, 0.0) for rate, _, count in loads_of_others), zeros)
        visit_s = net.batch.seconds[server] / np.maximum(net.batch.visits[server], NEGLIGIBLE)
        is_shared = net.servers[server].discipline == "shared"
        variability = np.ones(len(net.batch)) if is_shared else busy_s / np.maximum(others_rate * visit_s, NEGLIGIBLE)
        busy = others_rate / ceilings[server]
        net.slowed[server] = slowed(busy, net.servers[server].units, variability, np.maximum(visitors, 1.0), own_load)
        # with a unit for each thread, no packet waits
        net.slowed[server][visitors + net.customers <= net.servers[server].units] = 1.0
        spent = sum((part for pool, part, _, count in sharers if pool == name and count < np.inf), zeros)
        net.left[server] = (1.0 - np.minimum(busy, MAX_UTILIZATION)) * ceilings[server] / np.maximum(spent, NEGLIGIBLE)
        waits, busy = visit_s * (net.slowed[server] - 1.0), np.minimum(busy, 1.0)
        # variance of exponential waits that occur in a share `busy` of the visits
        waiting = net.batch.visits[server] * (1.0 - net.batch.aside.get(server, zeros) / net.batch.seconds[server])
        net.variances[server] = waiting * waits**2 * (2.0 / np.maximum(busy, NEGLIGIBLE) - 1.0)


def full_curves(
    levels: Mapping[str, Levels], ceilings: Mapping[str, Floats], meets: Meets, rates: Mapping[str, Floats]
) -> dict[str, Floats]:
    """Return the throughput (P, threads) of each pool as `curves_of`, with the waits of a closed network."""
    throughput = {}
    for name, network in levels.items():
        _slow(name, network, ceilings, meets[name], rates)
        network.divide(rates[name])
        highest = np.min([np.full(len(network.batch), np.inf), *network.left.values()], axis=0)
        throughput[name] = np.minimum(network.solve()[1].throughput, highest[:, None])
    return throughput


def curves_of(
    levels: Mapping[str, Levels], ceilings: Mapping[str, Floats], meets: Meets, rates: Mapping[str, Floats],
    full: Mapping[str, Floats] | None = None,
) -> dict[str, Floats]:  # fmt: skip
    """Return the throughput (P, threads) of each pool with 1.. threads while the others work at their rates.

    full: `full_curves` at these rates, solved last (None: they are solved here).
    """
    throughput = dict(full or full_curves(levels, ceilings, meets, rates))
    for name, network in levels.items():
        if network.batch.like.workload.arrivals != "saturated":
            # if all threads are busy, waits are those of a closed network; with fewer, those behind random arrivals
            network.exponential, network.open_load, highest = True, True, throughput[name][:, -1:]
            throughput[name] = np.minimum(network.solve()[1].throughput, highest)
            throughput[name][:, -1:], network.exponential, network.open_load = highest, False, False
    return throughput


def eased_by(
    levels: Mapping[str, Levels], batch: Batch, ceilings: Mapping[str, Floats], meets: Meets, rate: Floats,
    curves: Mapping[str, Floats],
) -> dict[tuple[str, str], Floats]:  # fmt: skip
    """Return, by pair of pools joined by a queue and at one server, how many times faster one is without the other."""
    faster = {}
    rates = dict.fromkeys(levels, rate)
    drops = {name for name, queue in batch.like.machine.queues().items() if queue.when_full == "drop"}
    gets = {pool.name: pool.gets for pool in batch.like.machine.pools}
    for name, source in feeders(batch, levels).items():
        if gets[name] in drops:
            continue  # a dropping queue does not stop its feeders
        for pool, other in [pair for feeder in source for pair in ((name, feeder.name), (feeder.name, name))]:
            if any(other == pool_there for others in meets[pool].values() for pool_there, *_ in others):
                alone = full_curves({pool: levels[pool]}, ceilings, meets, rates | {other: 0.0 * rate})[pool][:, -1]
                faster[pool, other] = np.maximum(alone / curves[pool][:, -1], 1.0)
                _slow(pool, levels[pool], ceilings, meets[pool], rates)
    return faster


def check_meetings(
    batch: Batch, levels: Mapping[str, Levels], meets: Meets, load: Floats, latency: Floats
) -> None:  # fmt: skip
    """Raise RefusedError where packets would wait much longer at a server if they always met other work there.

    A packet that always meets another pool's work waits for all of it, or as long as its own lasts. A thread that hands
    a packet on starts its next packet at the same moment, so that the order of the steps decides whether they meet;
    demands do not contain it. One thread may always, or never, meet the work that its packets fork. load (P,):
    utilization of the machine's busiest resource, the share of packets that find the next one waiting.
    """
    longer: dict[str, Floats] = {}
    for name, network in levels.items():
        for server in meets[name] if network.customers <= THREADS_MET_ONE_BY_ONE else ():
            if network.servers[server].units == 1:
                own_s = network.batch.seconds[server]
                longest_wait_s = load * np.minimum(
                    own_s, sum(part.seconds.get(server, 0.0) for part in batch.parts.values()) - own_s
                )
                random_wait_s = own_s * (network.slowed[server] - 1.0)
                share = np.maximum(longest_wait_s - random_wait_s, 0.0) / network.servers[server].members / latency
                if network.customers == 1 and server in network.batch.aside:  # matters even without contention
                    forked_wait_s = (own_s - network.batch.aside[server]) * (network.slowed[server] - 1.0)
                    share = np.maximum(share, forked_wait_s / np.maximum(batch.latency, NEGLIGIBLE))
                longer[server] = longer.get(server, 0.0) + share
    if longer and np.any(sum(longer.values()) > MEETING_SHARE):
        server = max(longer, key=lambda name: float(np.max(longer[name])))
        raise RefusedError(
            f"queueing: packets meet work of other pools or of their own forks at {server!r}; the order of the steps "
            f"decides whether they meet by chance or always, and changes the latency by up to "
            f"{float(np.max(sum(longer.values()))):.0%}"
        )


def least_eased(eased: Mapping[tuple[str, str], Floats], pools: Sequence[Pool], others: Sequence[Pool]) -> Floats:
    """Return how many times faster (P,) some pools are without others: the least of all pairs."""
    return np.min([eased.get((pool.name, other.name), np.ones(1)) for pool in pools for other in others], axis=0)  # type: ignore[no-any-return]
