"""Bursts of packets before a machine whose servers stand in a line: light load as it is, heavy load by the slowest.

    W = B + D l + g (V - b - d l)

B and D say what few packets l a second wait for those of their own batch, and of others (light_load.py); V is the wait
at the slowest server if it stood alone, b and d are the same first terms there. What is left of V are powers of the
load from the second on: under heavy load all wait at the slowest (between both: Burman and Smith, Operations Research
31, 1983). On-off spans are as dense at any load: of these, B and b are the waits for those of their own span and of the
one before, and D is 0. Packets that come by turns are as long as a round of them is, in the mean, to the slowest.

Packets wait at the slowest of the servers that they come to themselves: g (..) is a mean over these. Where packets that
differ let threads carry a little less than the slowest server would, it is as slow as they carry.

g is 1 but where packets come to the slowest server again. Who waits there has done a part of the work, so that they are
more for the same work left: first come first served, as many wait for each visit (Reiman, Advances in Applied
Probability 20, 1988).

    g = 1 + (h - 1) (1 - U / V) (1 - e^(-N / m)),     h = visits x S / sum over visits of the work left at each

U waits at the slowest server that is passed before, where nobody has done anything yet; of m who wait, N threads let no
more in.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np

from npexplore.machine.itinerary import SERVED, Itinerary, itinerary
from npexplore.rows.distributions import Batch as ByBatch
from npexplore.rows.distributions import OnOff, Poisson
from npexplore.solve.batch import Batch
from npexplore.solve.light_load import LightLoad, light_batches, light_spans
from npexplore.solve.queueing.bursty_queue import batch_queues, on_off_wait
from npexplore.solve.stations import Floats

ONE, FULL = np.ones(1), 0.98
LONG = 256  # packets of a span and a gap: longer ones fill and empty the machine as a fluid
FEW = 1e-2  # of the packets: too few to be looked at
LOST = 1e-3  # of the packets: behind spans, a line without an end is no likeness where more find no room


class Again(NamedTuple):
    """Of a server: h, and the seconds that the slowest single server before it needs."""

    more: float
    before: float


def burst_in_line(batch: Batch, ceilings: Mapping[str, Floats], rate: float, places: int, lost: float) -> float | None:
    """Return the mean time of a packet of one point behind bursts, or single packets that come by turns.

    rate: what threads carry; lost: share of the packets that find no room. None where a packet's way is not known, for
    other arrivals, and for spans that are long or find no room.
    """
    way, process = itinerary(batch.like.machine, batch.like.workload), batch.like.workload.process()
    if way is None:
        return None
    if isinstance(process, OnOff):
        return _spans(batch, ceilings, rate, process, way) if lost <= LOST else None
    if isinstance(process, Poisson) and way.turns is not None:
        process = ByBatch(rate=process.rate, size=1)
    if isinstance(process, ByBatch) and (process.size > 1 or way.turns is not None):
        return _batches(batch, ceilings, rate, places, process, way)
    return None


def _batches(
    batch: Batch, ceilings: Mapping[str, Floats], rate: float, places: int, process: ByBatch, way: Itinerary
) -> float:
    load, geometric = float(batch.offered[0]), process.sizes == "geometric"

    def alone(seconds: float, scv: float) -> float:
        found = batch_queues(load * ONE, ONE[None, :] / seconds, places, process.size, geometric, scv * ONE)
        return max(float(found[1][0]) - seconds, 0.0)

    servers = _servers(batch, ceilings, rate, way.turns is not None)
    waits = {name: alone(seconds, scv) for name, seconds, scv in servers}

    def light(name: str) -> LightLoad:
        times = _own(way, name, ceilings, {one: seconds for one, seconds, _ in servers}[name])
        return light_batches(way, process.size, geometric, times)

    return _time(batch, way, light, waits, lambda before: alone(before, 0.0))


def _spans(batch: Batch, ceilings: Mapping[str, Floats], rate: float, process: OnOff, way: Itinerary) -> float | None:
    load = float(batch.offered[0])
    if load * (process.on + process.off) > LONG:
        return None
    servers = _servers(batch, ceilings, rate, way.turns is not None)
    if max(load * seconds for _, seconds, _ in servers) >= FULL:
        return None
    own = {name: _own(way, name, ceilings, seconds) for name, seconds, _ in servers}
    waits = {name: on_off_wait(process, way.shares, times) for name, times in own.items()}
    return _time(
        batch, way, lambda name: light_spans(way, process, own[name]), waits,
        lambda before: on_off_wait(process, ONE, before * ONE),
    )  # fmt: skip


def _time(
    batch: Batch, way: Itinerary, light: Callable[[str], LightLoad], waits: Mapping[str, float],
    alone: Callable[[float], float],
) -> float:  # fmt: skip
    """Return the mean time of a packet.

    light, waits: of each server what packets wait under light load, and whenever it stands alone; alone: at another
    one, by its seconds.
    """
    load, rest = float(batch.offered[0]), 0.0
    for name, share in _shares(way, waits).items():
        again, wait, found = _again(way, name), waits[name], light(name)
        before = alone(again.before) if again.before and again.more > 1 else 0.0
        longer = _longer(again, wait, before, load, way.threads)
        rest += share * longer * (wait - found.alone_wait - found.alone_slope * load)
    return float(batch.latency[0]) + max(found.wait + found.slope * load + rest, 0.0)


def _own(way: Itinerary, name: str, ceilings: Mapping[str, Floats], seconds: float) -> Floats:
    """Return the seconds of each kind of packet at a server, over its units; all alike at threads and at members.

    seconds: in the mean, more than the server needs where threads keep it waiting.
    """
    found = np.zeros(len(way.shares))
    for place in way.places:
        if place.what == SERVED and place.name == name:
            found += place.amount * place.there * _chance(place.draw) / place.units
    mean = float(way.shares @ found)
    apart = way.turns is None and np.isclose(mean * float(ceilings[name][0]), 1.0)
    return found * seconds / mean if apart else np.full_like(found, seconds)


def _shares(way: Itinerary, waits: Mapping[str, float]) -> dict[str, float]:
    """Return by server the share of packets to which it is the slowest of those that they come to."""
    left, found = way.shares.copy(), dict[str, float]()
    for name in sorted(waits, key=lambda name: -waits[name]):
        own = [place for place in way.places if place.what == SERVED and place.name == name]
        there = [place.there * (place.amount > 0) * _chance(place.draw) for place in own]
        come = left * (np.max(there, axis=0) if there else 1.0)
        if come.sum() > FEW:
            found[name] = float(come.sum())
            left = left - come
    return found


def _servers(
    batch: Batch, ceilings: Mapping[str, Floats], rate: float, by_turns: bool
) -> list[tuple[str, float, float]]:
    """Return names, seconds of a packet over units, and c^2, of servers and threads: the slowest as threads carry."""
    found = {name: 1 / float(most[0]) for name, most in ceilings.items()}
    slowest = max(found, key=lambda name: found[name])
    found[slowest] = max(found[slowest], 1 / rate)
    return [(name, one, 0.0 if by_turns else float(batch.spread[name][0])) for name, one in found.items()]


def _again(way: Itinerary, name: str) -> Again:
    """Return what comes of a server's being visited again: by the visits of all kinds, and chances, of packets."""
    own = [place for place in way.places if place.what == SERVED and place.name == name]
    if not own or any(place.units > 1 for place in own):
        return Again(1.0, 0.0)
    each = np.stack([place.amount * place.there for place in own])
    visits, left = (each > 0).sum(axis=0), np.cumsum(each[::-1], axis=0)[::-1] * (each > 0)
    work = float(way.shares @ (visits * each.sum(axis=0)))
    earlier: dict[str, float] = {}
    for place in way.places[: next(k for k, place in enumerate(way.places) if place is own[0])]:
        if place.what == SERVED:
            mean = float(way.shares @ (place.amount * place.there)) * _chance(place.draw)
            earlier[place.name] = earlier.get(place.name, 0.0) + mean / place.units
    return Again(work / float(way.shares @ left.sum(axis=0)), max(earlier.values(), default=0.0))


def _chance(draw: tuple[int, float, bool] | None) -> float:
    return 1.0 if draw is None else draw[1] if draw[2] else 1 - draw[1]


def _longer(again: Again, wait: float, before: float, load: float, threads: int) -> float:
    """Return g."""
    if wait <= 0 or again.more <= 1:
        return 1.0
    here = (again.more - 1) * max(1 - before / wait, 0.0)
    return 1 + here * -float(np.expm1(-threads / (load * wait * (1 + here))))
