"""Several pools of threads joined by queues: each a closed network of its own, all with the same packets a second.

    X <= the most that every pool carries while what others do at X slows the servers it shares with them by
         1 / (1 - X a), a their seconds per packet                      (shadow servers: Sevcik, IFIP 1977)

Packets leave a pool that never lacks them as they arrive from outside, so that the next one is a queue with as many
places as it has threads, its queue room and the pool before it threads that may be blocked (finite_queue; exact for two
exponential servers). A pool that carries no more is full, with all queues and pools before it, back to a queue that
drops what it has no room for.
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

BOTTLENECK_SHARE = 0.999  # of X: who carries no more sets it
ROUNDS, STEP, CLOSE = 12, 0.3, 1e-4  # of rates before and behind queues that drop
AMPLE = 2000  # packets that wait before a full queue
MIN_VARIABILITY = 1e-3  # of variability: without any, nobody would ever wait
ALL_LEAVE = 0.99  # share of packets: a full pool loses more


def dispersion(batch: Batch) -> float:
    """Return the index of dispersion of arrivals (1: Poisson, 0: periodic)."""
    process = batch.like.workload.process()
    return 1.0 if process is None else process.dispersion()


class _Passed(NamedTuple):
    """What each pool does behind those before it, arrays (P,) by pool.

    rates: packets of the workload, as if all of them came to the pool. carried: the same where packets always wait in
    front of the first pool. stays: mean time in front of its threads and at work. behind: (arrivals, variability, that
    among threads).
    lost: share of those that come and find a full queue that drops.
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
    """Return the rate (P,), up to the highest, at which pools slowed by each other's work still carry it.

    Also their throughput at that rate; alone: that of pools which meet nobody.
    """
    highest = np.min([highest, *(curve[:, -1] for curve in alone.values())], axis=0)
    carried: dict[str, Floats] = {}

    def carried_beyond(rate: Floats) -> Floats:
        carried.update(full_curves(levels, ceilings, meets, dict.fromkeys(levels, rate)))
        return np.asarray(np.min([curve[:, -1] for curve in carried.values()], axis=0) - rate)

    # nobody is slowed by work that does not come
    return crossing(carried_beyond, np.zeros_like(highest), highest), carried


def _rate_of_leaving(batch: Batch, rates: Mapping[str, Floats], most: Floats) -> Floats:
    """Return the rate (P,) of packets that leave the machine, by the rates of the pools where they do."""
    leave = {name: own.leaves for name, own in batch.like.by_pool.items() if name in rates}
    total = sum(leave.values())
    rate = sum((rates[name] * share for name, share in leave.items()), 0.0 * most) / max(total, LEAST_DIVISOR)
    return np.asarray(np.minimum(rate if total > LEAST_DIVISOR else np.min([*rates.values()], axis=0), most))


def _check_full(name: str, full: npt.NDArray[np.bool_]) -> None:
    """Raise RefusedError where the threads of a pool are full (P,) although every packet leaves."""
    if np.any(full):
        raise RefusedError(
            f"queueing: the approximate rate fills the threads of {name!r} although every packet leaves the "
            "machine: the latency is unknown"
        )


def in_turn(batch: Batch, ceilings: Mapping[str, Floats], places: int | None) -> Found:
    """Solve each pool alone and together; places: of packets in front of the first pool (None: never short of any)."""
    machine = batch.like.machine
    working = [pool for pool in machine.pools if agreed(batch.parts[pool.name].latency > 0)]
    levels = {
        pool.name: Levels(batch.parts[pool.name], pool.count, pool.home, units_of_others(batch, pool))
        for pool in working
    }
    most = np.min([*ceilings.values()], axis=0)
    meets = meets_of(levels, batch, ceilings)
    rates = dict.fromkeys(levels, most * 0.0)
    curves = full_curves(levels, ceilings, meets, rates)
    shared = any(meets[name] or one.divided or one.reorders for name, one in levels.items())
    if shared:
        rate, curves = _rate_together(levels, ceilings, meets, np.minimum(most, batch.offered), curves)
        rates = dict.fromkeys(levels, rate)
    curves = curves_of(levels, ceilings, meets, rates, curves)
    check_pools(batch, levels)
    held = in_receive_buffer(batch, levels)
    room = sum(one.count + room_before(batch, one.gets) for one in held)
    if places is not None and len(held) == len(levels) and places < room:
        return _short_of_buffer(batch, levels, curves, ceilings, held, max(places, 1))
    eased = eased_by(levels, batch, ceilings, meets, rate, curves) if shared else {}
    passed = _pass(batch, levels, curves, ceilings, places, eased)
    behind_all = carried_behind(machine, levels, passed.carried)
    if shared and any(queue.when_full == "drop" for queue in machine.queues().values()):
        for _ in range(ROUNDS):  # pools before a queue that drops do work for packets that are lost there
            change = {name: np.minimum(passed.rates[name], behind_all[name]) - one for name, one in rates.items()}
            if all(np.all(np.abs(more) <= CLOSE * rates[name]) for name, more in change.items()):
                break
            rates = {name: one + STEP * change[name] for name, one in rates.items()}
            curves = curves_of(levels, ceilings, meets, rates)
            passed = _pass(batch, levels, curves, ceilings, places, eased)
            behind_all = carried_behind(machine, levels, passed.carried)
    check_losses(
        batch,
        {name: 1.0 - np.minimum(passed.rates[name], behind_all[name]) / passed.behind[name][0] for name in passed.lost},
    )
    rates = {name: np.minimum(one, behind_all[name]) for name, one in passed.rates.items()}
    rate = _rate_of_leaving(batch, rates, most)
    most_behind = carried_behind(machine, levels, {name: curve[:, -1] for name, curve in curves.items()})
    latency, pool_stays = np.zeros_like(most), []
    held_up = _held_up(batch, levels, curves, passed, places) if places is not None else {}
    for pool in machine.pools:
        if pool.name not in levels:
            continue
        room = _room(batch, pool, places)
        stays, behind = passed.stays[pool.name], passed.behind.get(pool.name)
        full = np.isinf(stays) | (passed.rates[pool.name] * BOTTLENECK_SHARE > most_behind[pool.name])
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
        check_meetings(batch, levels, meets, rate / most, latency)
    return Found(rate, latency, 1.0 - rate / batch.offered, [*levels.values()], stays=pool_stays)


def _room(batch: Batch, pool: Pool, places: int | None) -> int:
    """Return how many packets wait in front of a pool's threads; places: of the receive buffer."""
    return max((places or 0) - pool.count, 0) if pool.gets is None else room_before(batch, pool.gets)


def _held_up(
    batch: Batch, levels: Mapping[str, Levels], curves: Mapping[str, Floats], passed: _Passed, places: int
) -> dict[str, Floats]:
    """Return the time (P,) in pools joined by queues that stall, with the waits in front of queues that are full.

    Who finds no room waits before the queue, and holds up those behind him: below the rate that the row of pools
    carries, all wait about as long as if each queue had room for all.
    """
    machine, before = batch.like.machine, feeders(batch, levels)
    held_up: dict[str, Floats] = {}
    drops = {name for name, queue in machine.queues().items() if queue.when_full == "drop"}
    rows: list[list[Pool]] = []
    for pool in machine.pools:
        if pool.name in passed.behind:
            feeding = {one.name for one in before[pool.name]} if pool.gets not in drops else set()
            fed = [row for row in rows if feeding & {one.name for one in row}]
            if fed:
                fed[0].append(pool)
            else:
                rows.append([pool])
    for row in rows:
        carried = np.min([passed.carried[one.name] for one in row], axis=0)
        for one in row if len(row) > 1 else ():
            (comes, longer, within), curve = passed.behind[one.name], curves[one.name]
            head = one is row[0] and (one.gets is None or one.gets in drops)  # what finds it full is lost
            space = AMPLE if not head else _room(batch, one, places)
            seconds = finite_queues(comes, curve, one.count + space, longer, 1.0 / curve[:, 0], within)[1]
            held_up[one.name] = np.where(comes < BOTTLENECK_SHARE * carried, seconds, passed.stays[one.name])
    return held_up


def _pass(
    batch: Batch, levels: Mapping[str, Levels], curves: Mapping[str, Floats], ceilings: Mapping[str, Floats],
    places: int | None, eased: Mapping[tuple[str, str], Floats],
) -> _Passed:  # fmt: skip
    """Go through the pools, each behind those that put into its queue (machine/flows.py); eased: `eased_by`.

    Who is eased by the other has the queue empty, or full, for as many times shorter: at most nothing is lost by that.
    """
    machine, passed = batch.like.machine, _Passed({}, {}, {}, {}, {})
    departs: dict[str, Floats] = {}  # squared coefficients of variation of the times between packets that leave
    before, queues, order = feeders(batch, levels), machine.queues(), [*batch.like.by_pool]
    nothing = np.full(len(batch), np.inf)
    for pool in sorted((pool for pool in machine.pools if pool.name in levels), key=lambda one: order.index(one.name)):
        curve, source, first = curves[pool.name], before[pool.name], pool.gets is None
        scv = _scv(levels[pool.name], ceilings, curve, pool)
        drops = pool.gets in queues and queues[pool.gets].when_full == "drop"
        spread, comes, room = np.ones(len(batch)), nothing, max((places or 0) - pool.count, 0)
        if first and places is not None:
            spread, comes = np.full(len(batch), dispersion(batch)), batch.offered
        elif source:
            spread = scv_of_arrivals(batch, pool, source, departs)
            comes = np.min([passed.rates[one.name] for one in source], axis=0)
            room = room_before(batch, pool.gets) + (0 if drops else sum(one.count for one in source))
        carried = curve[:, -1]
        if np.isinf(comes).all():
            rates, stays, busy = carried, nothing, np.ones(len(batch))
        else:
            longer, busy = np.maximum((spread + scv) / 2, MIN_VARIABILITY), np.minimum(comes / carried, 1.0)
            one = levels[pool.name]
            turns = one.batch.scv_in_turns(one.left, carried, one.more_variance)
            within = np.maximum((spread + turns) / 2, MIN_VARIABILITY)
            passed.behind[pool.name] = comes, longer, within
            rates, stays, _ = finite_queues(comes, curve, pool.count + room, longer, 1.0 / curve[:, 0], within)
            if source:
                most_comes = np.min([passed.carried[one.name] for one in source], axis=0)
                carried = finite_queues(most_comes, curve, pool.count + room, longer)[0]
                if drops:
                    passed.lost[pool.name] = 1.0 - rates / comes
                else:  # who finds it full waits, and is not lost
                    shorter = (1.0 - carried / curve[:, -1]) * (1.0 - 1.0 / least_eased(eased, source, [pool]))
                    shorter += (1.0 - carried / most_comes) * (1.0 - 1.0 / least_eased(eased, [pool], source))
                    carried = np.minimum(carried / (1.0 - shorter), np.minimum(curve[:, -1], most_comes))
                    rates = np.minimum(comes, carried)
        passed.rates[pool.name], passed.carried[pool.name], passed.stays[pool.name] = rates, carried, stays
        # Whitt 1983, formula 39
        departs[pool.name] = 1.0 + (1.0 - busy**2) * (spread - 1.0) + busy**2 / pool.count**0.5 * (scv - 1.0)
    return passed


def _scv(levels: Levels, ceilings: Mapping[str, Floats], curve: Floats, pool: Pool) -> Floats:
    """Return the squared coefficient of variation (P,) of times in a pool, waits for other pools' work in them."""
    batch, more = levels.batch, levels.more_variance
    more[threads_of(pool)] = sum(levels.variances.values(), 0.0 * curve[:, 0]) * curve[:, 0] ** 2
    most = levels.left | {threads_of(pool): ceilings[threads_of(pool)]}
    return batch.scv_at_fullest(most, curve[:, -1], pool.count, threads_of(pool), more)


def _short_of_buffer(
    batch: Batch, levels: Mapping[str, Levels], curves: Mapping[str, Floats], ceilings: Mapping[str, Floats],
    held: Sequence[Pool], places: int,
) -> Found:  # fmt: skip
    """Solve pools that have room for more packets than the receive buffer: one flow-equivalent server of so many.

    Its rates are those of a closed cycle of the pools, each a load-dependent station (Chandy, Herzog and Woo 1975).
    """
    names, points = [pool.name for pool in held], np.arange(len(batch))
    first = np.stack([curves[name][:, 0] for name in names], axis=1)
    at = np.arange(max(pool.count for pool in held))
    rates = np.stack([curves[pool.name][:, np.minimum(at, pool.count - 1)] for pool in held], axis=1)
    cycle = residual(1.0 / first, places, np.zeros(len(batch)), rates / first[:, :, None], np.ones_like(first))
    slowest = np.argmin([curves[name][:, -1] for name in names], axis=0)
    scv = np.stack([levels[pool.name].batch.scv_at_fullest(ceilings, curves[pool.name][:, -1], pool.count,
                                                           threads_of(pool)) for pool in held])  # fmt: skip
    longer = np.maximum((dispersion(batch) + scv[slowest, points]) / 2, MIN_VARIABILITY)
    rate, seconds, loss = finite_queues(batch.offered, cycle.throughput, places, longer, 1.0 / cycle.throughput[:, 0])
    parts = cycle.queue_length / cycle.queue_length.sum(axis=1, keepdims=True)
    stays = [Stay(threads_of(pool), levels[pool.name], seconds * parts[:, k]) for k, pool in enumerate(held)]
    return Found(rate, seconds, loss, [*levels.values()], stays=stays)
