"""Several pools of threads joined by queues: each is a closed network, all with the same packets per second X.

    X <= the highest rate that every pool carries while the others' work at X slows the shared servers by
         1 / (1 - X a), a their seconds per packet                      (shadow servers: Sevcik, IFIP 1977)

Departures of a saturated pool are treated like arrivals from outside. So the next pool is a finite queue whose places
are its threads, the room of its queue, and the threads of the pool before it, which may be blocked (finite_queue; exact
for two exponential servers). If a pool is saturated, all queues and pools before it fill up, back to a queue that drops
packets.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from npexplore.errors import RefusedError
from npexplore.machine.pools import Pool
from npexplore.solve.batch import Batch
from npexplore.solve.batch_decisions import agreed
from npexplore.solve.crossing import crossing
from npexplore.solve.levels import Levels
from npexplore.solve.pool_flows import (
    carried_behind,
    feeders,
    in_receive_buffer,
    room_before,
    scv_of_arrivals,
    threads_of,
    units_of_others,
)
from npexplore.solve.pools_sharing import Meets, check_meetings, curves_of, eased_by, full_curves, least_eased, meets_of
from npexplore.solve.queueing.finite_queue import finite_queues
from npexplore.solve.queueing.inputs import LEAST_DIVISOR
from npexplore.solve.queueing.residual import residual
from npexplore.solve.stations import Floats
from npexplore.solve.stays import Found, Stay
from npexplore.solve.validity import check_losses, check_pools

BOTTLENECK_SHARE = 0.999  # of a pool's highest rate: at a higher rate the pool is saturated
ROUNDS, STEP, CLOSE = 12, 0.3, 1e-4  # iteration of the pools' rates where queues drop: count, step, relative tolerance
AMPLE = 2000  # packets that may wait before a full queue
MIN_VARIABILITY = 1e-3  # with 0, packets would never wait
ALL_LEAVE = 0.99  # share of packets that leave the machine, above which a saturated pool is a contradiction


def dispersion(batch: Batch) -> float:
    """Return the index of dispersion of arrivals (1: Poisson, 0: periodic)."""
    process = batch.like.workload.process()
    return 1.0 if process is None else process.dispersion()


class _Passed(NamedTuple):
    """Results of each pool behind its feeders: arrays (P,) by pool.

    rates: packets of the workload per second, as if all of them came to the pool. carried: the same with saturated
    arrivals at the first pool. stays: mean time in front of its threads and in service. behind: (arrivals, variability
    of waits, that among its threads). lost: share of arriving packets that a full queue drops.
    """

    rates: dict[str, Floats]
    carried: dict[str, Floats]
    stays: dict[str, Floats]
    behind: dict[str, tuple[Floats, Floats, Floats]]
    lost: dict[str, Floats]


def _rate_together(
    levels: Mapping[str, Levels], ceilings: Mapping[str, Floats], meets: Meets, highest: Floats,
    alone: Mapping[str, Floats],
) -> tuple[Floats, dict[str, Floats]]:  # fmt: skip
    """Return the largest rate (P,), at most `highest`, that all pools carry while they slow each other.

    Also the throughput of each pool at that rate. alone: the throughput of each pool without the others.
    """
    highest = np.min([highest, *(curve[:, -1] for curve in alone.values())], axis=0)
    carried: dict[str, Floats] = {}

    def carried_beyond(rate: Floats) -> Floats:
        carried.update(full_curves(levels, ceilings, meets, dict.fromkeys(levels, rate)))
        return np.asarray(np.min([curve[:, -1] for curve in carried.values()], axis=0) - rate)

    # at rate 0 no pool is slowed
    return crossing(carried_beyond, np.zeros_like(highest), highest), carried


def _rate_of_leaving(batch: Batch, rates: Mapping[str, Floats], most: Floats) -> Floats:
    """Return the rate (P,) of packets that leave the machine, from the rates of the pools where they leave."""
    leaving_share = {name: demands.leaves for name, demands in batch.like.by_pool.items() if name in rates}
    total = sum(leaving_share.values())
    rate = sum((rates[name] * share for name, share in leaving_share.items()), 0.0 * most) / max(total, LEAST_DIVISOR)
    return np.asarray(np.minimum(rate if total > LEAST_DIVISOR else np.min([*rates.values()], axis=0), most))


def _check_full(name: str, full: npt.NDArray[np.bool_]) -> None:
    """Raise RefusedError where the threads of a pool are saturated (full, P) although every packet leaves."""
    if np.any(full):
        raise RefusedError(
            f"queueing: the approximate rate fills the threads of {name!r} although every packet leaves the "
            "machine: the latency is unknown"
        )


def in_turn(batch: Batch, ceilings: Mapping[str, Floats], places: int | None) -> Found:
    """Solve the pools, alone and together; places: packets in front of the first pool (None: saturated)."""
    machine = batch.like.machine
    working = [pool for pool in machine.pools if agreed(batch.parts[pool.name].latency > 0)]
    levels = {
        pool.name: Levels(batch.parts[pool.name], pool.count, pool.home, units_of_others(batch, pool))
        for pool in working
    }
    highest = np.min([*ceilings.values()], axis=0)
    meets = meets_of(levels, batch, ceilings)
    rates = dict.fromkeys(levels, highest * 0.0)
    curves = full_curves(levels, ceilings, meets, rates)
    shared = any(meets[name] or network.divided or network.reorders for name, network in levels.items())
    if shared:
        rate, curves = _rate_together(levels, ceilings, meets, np.minimum(highest, batch.offered), curves)
        rates = dict.fromkeys(levels, rate)
    curves = curves_of(levels, ceilings, meets, rates, curves)
    check_pools(batch, levels)
    in_buffer = in_receive_buffer(batch, levels)
    room = sum(pool.count + room_before(batch, pool.gets) for pool in in_buffer)
    if places is not None and len(in_buffer) == len(levels) and places < room:
        return _short_of_buffer(batch, levels, curves, ceilings, in_buffer, max(places, 1))
    eased = eased_by(levels, batch, ceilings, meets, rate, curves) if shared else {}
    passed = _pass(batch, levels, curves, ceilings, places, eased)
    behind_all = carried_behind(machine, levels, passed.carried)
    if shared and any(queue.when_full == "drop" for queue in machine.queues().values()):
        for _ in range(ROUNDS):  # pools before a dropping queue also work for packets that are lost there
            change = {name: np.minimum(passed.rates[name], behind_all[name]) - old for name, old in rates.items()}
            if all(np.all(np.abs(difference) <= CLOSE * rates[name]) for name, difference in change.items()):
                break
            rates = {name: old + STEP * change[name] for name, old in rates.items()}
            curves = curves_of(levels, ceilings, meets, rates)
            passed = _pass(batch, levels, curves, ceilings, places, eased)
            behind_all = carried_behind(machine, levels, passed.carried)
    check_losses(
        batch,
        {name: 1.0 - np.minimum(passed.rates[name], behind_all[name]) / passed.behind[name][0] for name in passed.lost},
    )
    rates = {name: np.minimum(pool_rate, behind_all[name]) for name, pool_rate in passed.rates.items()}
    rate = _rate_of_leaving(batch, rates, highest)
    highest_behind = carried_behind(machine, levels, {name: curve[:, -1] for name, curve in curves.items()})
    latency, pool_stays = np.zeros_like(highest), []
    held_up = _held_up(batch, levels, curves, passed, places) if places is not None else {}
    for pool in machine.pools:
        if pool.name not in levels:
            continue
        room = _room(batch, pool, places)
        stays, behind = passed.stays[pool.name], passed.behind.get(pool.name)
        full = np.isinf(stays) | (passed.rates[pool.name] * BOTTLENECK_SHARE > highest_behind[pool.name])
        if places is not None:
            _check_full(pool.name, full & (rate > ALL_LEAVE * batch.offered))
        seconds = np.where(full, np.inf, stays).clip(max=(pool.count + room) / rates[pool.name])
        if pool.name in held_up:
            seconds = np.where(full, seconds, held_up[pool.name])
        latency += seconds
        stay = Stay(threads_of(pool), levels[pool.name], seconds, room)
        if behind is not None and not full[0]:
            stay = stay._replace(arrivals=behind[0], curve=curves[pool.name], longer=behind[1], within=behind[2])
        pool_stays.append(stay)
    if places is not None:
        check_meetings(batch, levels, meets, rate / highest, latency)
    return Found(rate, latency, 1.0 - rate / batch.offered, [*levels.values()], stays=pool_stays)


def _room(batch: Batch, pool: Pool, places: int | None) -> int:
    """Return how many packets can wait in front of a pool's threads; places: of the receive buffer."""
    return max((places or 0) - pool.count, 0) if pool.gets is None else room_before(batch, pool.gets)


def _held_up(
    batch: Batch, levels: Mapping[str, Levels], curves: Mapping[str, Floats], passed: _Passed, places: int
) -> dict[str, Floats]:
    """Return by pool the time (P,) in pools joined by stalling queues, with the waits in front of full queues.

    A packet that finds no room waits before the queue and blocks the packets behind it. Below the capacity of the row
    of pools, waits are about as long as if every queue had room for all packets.
    """
    machine, before = batch.like.machine, feeders(batch, levels)
    stays: dict[str, Floats] = {}
    drops = {name for name, queue in machine.queues().items() if queue.when_full == "drop"}
    rows: list[list[Pool]] = []
    for pool in machine.pools:
        if pool.name in passed.behind:
            feeding = {feeder.name for feeder in before[pool.name]} if pool.gets not in drops else set()
            fed_rows = [row for row in rows if feeding & {member.name for member in row}]
            if fed_rows:
                fed_rows[0].append(pool)
            else:
                rows.append([pool])
    for row in rows:
        capacity = np.min([passed.carried[member.name] for member in row], axis=0)
        for pool_here in row if len(row) > 1 else ():
            (arrivals, factor, within), curve = passed.behind[pool_here.name], curves[pool_here.name]
            is_head = pool_here is row[0] and (pool_here.gets is None or pool_here.gets in drops)  # loses the excess
            space = AMPLE if not is_head else _room(batch, pool_here, places)
            seconds = finite_queues(arrivals, curve, pool_here.count + space, factor, 1.0 / curve[:, 0], within)[1]
            stays[pool_here.name] = np.where(
                arrivals < BOTTLENECK_SHARE * capacity, seconds, passed.stays[pool_here.name]
            )
    return stays


def _pass(
    batch: Batch, levels: Mapping[str, Levels], curves: Mapping[str, Floats], ceilings: Mapping[str, Floats],
    places: int | None, eased: Mapping[tuple[str, str], Floats],
) -> _Passed:  # fmt: skip
    """Solve the pools in flow order, each behind the pools that feed its queue (machine/flows.py); eased: `eased_by`.

    If one pool is faster while another stands still, the queue between them is empty, or full, for a shorter time; at
    best this loses no throughput.
    """
    machine, passed = batch.like.machine, _Passed({}, {}, {}, {}, {})
    departure_scv: dict[str, Floats] = {}  # scv of the times between departures
    before, queues, order = feeders(batch, levels), machine.queues(), [*batch.like.by_pool]
    infinite = np.full(len(batch), np.inf)
    for pool in sorted((pool for pool in machine.pools if pool.name in levels), key=lambda p: order.index(p.name)):
        curve, feeding, first = curves[pool.name], before[pool.name], pool.gets is None
        scv = _scv(levels[pool.name], ceilings, curve, pool)
        drops = pool.gets in queues and queues[pool.gets].when_full == "drop"
        arrival_scv, arrivals, room = np.ones(len(batch)), infinite, max((places or 0) - pool.count, 0)
        if first and places is not None:
            arrival_scv, arrivals = np.full(len(batch), dispersion(batch)), batch.offered
        elif feeding:
            arrival_scv = scv_of_arrivals(batch, pool, feeding, departure_scv)
            arrivals = np.min([passed.rates[feeder.name] for feeder in feeding], axis=0)
            room = room_before(batch, pool.gets) + (0 if drops else sum(feeder.count for feeder in feeding))
        capacity = curve[:, -1]
        if np.isinf(arrivals).all():
            rates, stays, busy = capacity, infinite, np.ones(len(batch))
        else:
            factor, busy = np.maximum((arrival_scv + scv) / 2, MIN_VARIABILITY), np.minimum(arrivals / capacity, 1.0)
            network = levels[pool.name]
            turns_scv = network.batch.scv_in_turns(network.left, capacity, network.more_variance)
            within = np.maximum((arrival_scv + turns_scv) / 2, MIN_VARIABILITY)
            passed.behind[pool.name] = arrivals, factor, within
            rates, stays, _ = finite_queues(arrivals, curve, pool.count + room, factor, 1.0 / curve[:, 0], within)
            if feeding:
                highest_arrivals = np.min([passed.carried[feeder.name] for feeder in feeding], axis=0)
                capacity = finite_queues(highest_arrivals, curve, pool.count + room, factor)[0]
                if drops:
                    passed.lost[pool.name] = 1.0 - rates / arrivals
                else:  # packets that find it full wait
                    gain = (1.0 - capacity / curve[:, -1]) * (1.0 - 1.0 / least_eased(eased, feeding, [pool]))
                    gain += (1.0 - capacity / highest_arrivals) * (1.0 - 1.0 / least_eased(eased, [pool], feeding))
                    capacity = np.minimum(capacity / (1.0 - gain), np.minimum(curve[:, -1], highest_arrivals))
                    rates = np.minimum(arrivals, capacity)
        passed.rates[pool.name], passed.carried[pool.name], passed.stays[pool.name] = rates, capacity, stays
        # Whitt 1983, formula 39
        departure_scv[pool.name] = 1.0 + (1.0 - busy**2) * (arrival_scv - 1.0) + busy**2 / pool.count**0.5 * (scv - 1.0)
    return passed


def _scv(levels: Levels, ceilings: Mapping[str, Floats], curve: Floats, pool: Pool) -> Floats:
    """Return the squared coefficient of variation (P,) of times in a pool, with waits for other pools' work."""
    batch, more = levels.batch, levels.more_variance
    more[threads_of(pool)] = sum(levels.variances.values(), 0.0 * curve[:, 0]) * curve[:, 0] ** 2
    most = levels.left | {threads_of(pool): ceilings[threads_of(pool)]}
    return batch.scv_at_fullest(most, curve[:, -1], pool.count, threads_of(pool), more)


def _short_of_buffer(
    batch: Batch, levels: Mapping[str, Levels], curves: Mapping[str, Floats], ceilings: Mapping[str, Floats],
    held: Sequence[Pool], places: int,
) -> Found:  # fmt: skip
    """Solve pools with room for more packets than the receive buffer: one flow-equivalent server of `places` packets.

    Its rates are those of a closed cycle of the pools, each a load-dependent station (Chandy, Herzog and Woo 1975).
    """
    names, points = [pool.name for pool in held], np.arange(len(batch))
    first = np.stack([curves[name][:, 0] for name in names], axis=1)
    index = np.arange(max(pool.count for pool in held))
    rates = np.stack([curves[pool.name][:, np.minimum(index, pool.count - 1)] for pool in held], axis=1)
    cycle = residual(1.0 / first, places, np.zeros(len(batch)), rates / first[:, :, None], np.ones_like(first))
    slowest = np.argmin([curves[name][:, -1] for name in names], axis=0)
    scv = np.stack([levels[pool.name].batch.scv_at_fullest(ceilings, curves[pool.name][:, -1], pool.count,
                                                           threads_of(pool)) for pool in held])  # fmt: skip
    variability = np.maximum((dispersion(batch) + scv[slowest, points]) / 2, MIN_VARIABILITY)
    rate, seconds, loss = finite_queues(
        batch.offered, cycle.throughput, places, variability, 1.0 / cycle.throughput[:, 0]
    )
    parts = cycle.queue_length / cycle.queue_length.sum(axis=1, keepdims=True)
    stays = [Stay(threads_of(pool), levels[pool.name], seconds * parts[:, k]) for k, pool in enumerate(held)]
    return Found(rate, seconds, loss, [*levels.values()], stays=stays)
