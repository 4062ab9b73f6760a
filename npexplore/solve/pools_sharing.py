"""What pools that share servers do to each other: work of others at their rates slows who meets it there.

    rate <= the most that every pool carries while what others do at that rate slows the servers it shares with them

Shadow servers (Sevcik, IFIP 1977), of which a few threads are met as `slowed` tells (regularity.py).
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

NEGLIGIBLE = 1e-12  # seconds, visits or shares of them: rounding
FEW_THREADS = 2  # of a pool: the work of more is spread over the time
MEETING_SHARE = 0.1  # of a latency: that packets may wait longer for other pools' if they always meet

# (a pool, the part of a server's work that is its and may be met, residual time of it, its threads; infinite: forked)
Others = list[tuple[str, Floats, Floats, float]]
Meets = dict[str, dict[str, Others]]


def meets_of(levels: Mapping[str, Levels], batch: Batch, ceilings: Mapping[str, Floats]) -> Meets:
    """Return, by pool and server, who works there, itself included, where others do."""
    pools = {pool.name: pool for pool in batch.like.machine.pools}
    meets: Meets = {name: {} for name in levels}
    for name, one in levels.items():
        for server, seconds in one.batch.seconds.items():
            whole = np.maximum(batch.seconds[server], NEGLIGIBLE)
            waiting = seconds - one.batch.aside.get(server, 0.0)  # the packets' own, which waits for the rest
            part = waiting / whole
            if server not in ceilings or not agreed((1.0 - part > NEGLIGIBLE) & (part > NEGLIGIBLE)):
                continue
            others = meets[name][server] = []
            for other, own in batch.parts.items():
                if server not in own.seconds:
                    continue
                more, count = meetings(pools[name], pools[other], server, one.servers)
                each = own.seconds[server] / np.maximum(own.visits[server], NEGLIGIBLE)
                each = each * (1.0 + (own.scv_by_turns(server, own.scv[server]) - 1.0) / 2)
                forked = own.aside.get(server, 0.0 * whole)
                if other == name:
                    others.append((other, part * more, each, count))
                elif agreed(own.seconds[server] - forked > NEGLIGIBLE * whole):
                    others.append((other, (own.seconds[server] - forked) / whole * more, each, count))
                if server in own.aside:
                    others.append((other, forked / whole, each, np.inf))
    return meets


def _slow(
    name: str, one: Levels, ceilings: Mapping[str, Floats], meets: Mapping[str, Others], rates: Mapping[str, Floats]
) -> None:
    """Let the work of other pools at their rates slow one pool where both visit a server, and leave it some rate."""
    least = np.min([*rates.values()], axis=0)  # of a pool whose packets do nothing but fork
    one.left = {server: ceilings[server] for server in one.batch.seconds
                if server in ceilings and server not in one.batch.aside}  # fmt: skip
    for server, met in meets.items():
        more = [
            (rates.get(other, least) * part, each, count)
            for other, part, each, count in met if other != name or np.isinf(count)
        ]  # fmt: skip
        nothing = np.zeros(len(one.batch))
        own = sum((rates[name] * part for other, part, _, count in met if other == name and count < np.inf), nothing)
        own = own / ceilings[server]
        others = sum((rate for rate, _, _ in more), nothing)
        lasts = sum((rate * each for rate, each, _ in more), nothing)
        visitors = sum((np.where(rate > 0, count, 0.0) for rate, _, count in more), nothing)
        each = one.batch.seconds[server] / np.maximum(one.batch.visits[server], NEGLIGIBLE)
        shared = one.servers[server].discipline == "shared"
        longer = np.ones(len(one.batch)) if shared else lasts / np.maximum(others * each, NEGLIGIBLE)
        busy = others / ceilings[server]
        one.slowed[server] = slowed(busy, one.servers[server].units, longer, np.maximum(visitors, 1.0), own)
        # nobody waits where each has a unit
        one.slowed[server][visitors + one.customers <= one.servers[server].units] = 1.0
        spent = sum((part for other, part, _, count in met if other == name and count < np.inf), nothing)
        one.left[server] = (1.0 - np.minimum(busy, MAX_UTILIZATION)) * ceilings[server] / np.maximum(spent, NEGLIGIBLE)
        waits, busy = each * (one.slowed[server] - 1.0), np.minimum(busy, 1.0)
        # of exponential waits that a share `busy` has, in each visit
        waiting = one.batch.visits[server] * (1.0 - one.batch.aside.get(server, nothing) / one.batch.seconds[server])
        one.variances[server] = waiting * waits**2 * (2.0 / np.maximum(busy, NEGLIGIBLE) - 1.0)


def full_curves(
    levels: Mapping[str, Levels], ceilings: Mapping[str, Floats], meets: Meets, rates: Mapping[str, Floats]
) -> dict[str, Floats]:
    """Return the throughput (P, threads) of each pool whose threads keep out of each other's way, as in `curves_of`."""
    throughput = {}
    for name, one in levels.items():
        _slow(name, one, ceilings, meets[name], rates)
        one.divide(rates[name])
        most = np.min([np.full(len(one.batch), np.inf), *one.left.values()], axis=0)
        throughput[name] = np.minimum(one.solve()[1].throughput, most[:, None])
    return throughput


def curves_of(
    levels: Mapping[str, Levels], ceilings: Mapping[str, Floats], meets: Meets, rates: Mapping[str, Floats],
    full: Mapping[str, Floats] | None = None,
) -> dict[str, Floats]:  # fmt: skip
    """Return the throughput (P, threads) of each pool with 1.. threads while the others work at their rates.

    full: `full_curves` at these rates, solved last (None: they are solved here).
    """
    throughput = dict(full or full_curves(levels, ceilings, meets, rates))
    for name, one in levels.items():
        if one.batch.like.workload.arrivals != "saturated":
            # all threads at work keep out of each other's way, few do not
            one.exponential, one.open_load, most = True, True, throughput[name][:, -1:]
            throughput[name] = np.minimum(one.solve()[1].throughput, most)
            throughput[name][:, -1:], one.exponential, one.open_load = most, False, False
    return throughput


def eased_by(
    levels: Mapping[str, Levels], batch: Batch, ceilings: Mapping[str, Floats], meets: Meets, rate: Floats,
    curves: Mapping[str, Floats],
) -> dict[tuple[str, str], Floats]:  # fmt: skip
    """Return by pair of pools, joined by a queue and at one server, how many times faster one is without the other."""
    faster = {}
    rates = dict.fromkeys(levels, rate)
    drops = {name for name, queue in batch.like.machine.queues().items() if queue.when_full == "drop"}
    gets = {pool.name: pool.gets for pool in batch.like.machine.pools}
    for name, source in feeders(batch, levels).items():
        if gets[name] in drops:
            continue  # it stops nobody
        for own, other in [pair for one in source for pair in ((name, one.name), (one.name, name))]:
            if any(other == met for others in meets[own].values() for met, *_ in others):
                alone = full_curves({own: levels[own]}, ceilings, meets, rates | {other: 0.0 * rate})[own][:, -1]
                faster[own, other] = np.maximum(alone / curves[own][:, -1], 1.0)
                _slow(own, levels[own], ceilings, meets[own], rates)
    return faster


def check_meetings(
    batch: Batch, levels: Mapping[str, Levels], meets: Meets, load: Floats, latency: Floats
) -> None:  # fmt: skip
    """Raise RefusedError where packets would wait much longer at a server if they always met other work there.

    Who always meets another pool's work waits for all of it, or as long as his own lasts; threads that hand packets on
    go to their next at the same moment, so that the order of the steps decides, which demands do not tell. One thread
    may always meet, or never, what its packets fork. The next packet is there
    at once for the share `load` (P,) of the time that the machine's fullest resource is busy.
    """
    longer: dict[str, Floats] = {}
    for name, one in levels.items():
        for server in meets[name] if one.customers <= FEW_THREADS else ():
            if one.servers[server].units == 1:
                own = one.batch.seconds[server]
                at_most = load * np.minimum(
                    own, sum(part.seconds.get(server, 0.0) for part in batch.parts.values()) - own
                )
                by_chance = own * (one.slowed[server] - 1.0)
                share = np.maximum(at_most - by_chance, 0.0) / one.servers[server].members / latency
                if one.customers == 1 and server in one.batch.aside:  # of a packet alone: the latency hangs on it
                    forked = (own - one.batch.aside[server]) * (one.slowed[server] - 1.0)
                    share = np.maximum(share, forked / np.maximum(batch.latency, NEGLIGIBLE))
                longer[server] = longer.get(server, 0.0) + share
    if longer and np.any(sum(longer.values()) > MEETING_SHARE):
        server = max(longer, key=lambda name: float(np.max(longer[name])))
        raise RefusedError(
            f"queueing: packets meet other pools' work, or what they fork, at {server!r}: whether by chance or always "
            f"hangs on the order of the steps, and changes the latency by up to "
            f"{float(np.max(sum(longer.values()))):.0%}"
        )


def least_eased(eased: Mapping[tuple[str, str], Floats], pools: Sequence[Pool], others: Sequence[Pool]) -> Floats:
    """Return how many times faster (P,) some pools are without others, the least of all pairs."""
    return np.min([eased.get((one.name, other.name), np.ones(1)) for one in pools for other in others], axis=0)  # type: ignore[no-any-return]
