"""Batches of packets on their way through a machine that is empty but for them, one alone or two together.

    waits of light load:   B + D l + ..,   B = E(waits of a batch alone) / E(X)
                           D = int_0^inf E(what two batches at 0 and t wait more than each alone) dt / E(X)^2

l packets a second, X packets of a batch; batches come as a Poisson process, so that these are the first two terms of
the mean wait in powers of l (Reiman and Simon, Mathematics of Operations Research 14, 1989). A batch is followed as it
goes: first come first served at every server in the order in which packets get there, with the holds and threads that
it runs out of. So a batch whose packets differ comes apart, and one that passes the same wires twice meets itself.
Kinds of packets, chances and lengths of batches are drawn, evenly over all that there are.
"""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from npexplore.machine.itinerary import GIVEN, PASSED, SERVED, TAKEN, Itinerary, Stop
from npexplore.rows.distributions import OnOff
from npexplore.solve.queueing.recorded import Line, waits
from npexplore.solve.stations import Floats

Integers = npt.NDArray[np.int64]
PACKETS = 1024  # that are followed for each term, about
LEAST, MOST = 16, 128  # batches
SEED = 1


class LightLoad(NamedTuple):
    """B and D in the machine, and at a server that stands alone and serves the same packets."""

    wait: float
    slope: float
    alone_wait: float
    alone_slope: float


class Burst(NamedTuple):
    """What packets of a burst do, their kinds, and when they come (n,)."""

    stops: list[list[Stop]]
    kinds: Integers
    come: Floats

    def then(self, other: Burst, later: float) -> Burst:
        """Return both together, the other one so much later."""
        kinds, come = np.concatenate([self.kinds, other.kinds]), np.concatenate([self.come, other.come + later])
        return Burst([*self.stops, *other.stops], kinds, come)


def light_batches(way: Itinerary, size: int, geometric: bool, seconds: Floats) -> LightLoad:
    """Return what packets wait under light load that come in batches of a size (geometric: in the mean).

    seconds: of each kind of packet (n,) at the server that stands alone.
    """
    rng = np.random.default_rng(SEED)
    count = int(np.clip(PACKETS // size, LEAST, MOST))
    sizes = rng.permutation(_sizes(size, geometric, count))
    bursts = _bursts(way, [np.zeros(int(one)) for one in sizes], rng)
    waited = [_waits(burst, seconds) for burst in bursts]
    packets, longest = float(np.mean(sizes)), max(last for _, last in waited)
    more = np.zeros(2)
    for number, other in enumerate(rng.permutation(count).tolist()):
        both, _ = _waits(bursts[number].then(bursts[other], (number + 0.5) / count * longest), seconds)
        more += both - waited[number][0] - waited[other][0]
    (line, alone), (rise, other) = np.mean([wait for wait, _ in waited], axis=0) / packets, more / count / packets**2
    return LightLoad(float(line), float(rise) * longest, float(alone), float(other) * longest)


def light_spans(way: Itinerary, process: OnOff, seconds: Floats) -> LightLoad:
    """Return what packets of an on-off span wait for each other and for the span before (D: 0, at the load that is)."""
    rng = np.random.default_rng(SEED)
    rate = process.rate * (process.on + process.off) / process.on
    count = int(np.clip(2 * PACKETS / (rate * process.on), LEAST, 4 * MOST))
    evenly = (np.arange(count) + 0.5) / count
    on, off = (-rng.permutation(np.log(evenly)) * mean for mean in (process.on, process.off))
    sizes = rng.poisson(rate * on)
    if not sizes.any():
        return LightLoad(0.0, 0.0, 0.0, 0.0)
    spans = _bursts(way, [np.sort(rng.uniform(0, on[k], sizes[k])) for k in range(count)], rng)
    waits = [
        _waits(span.then(spans[k - 1], on[k] + off[k]), seconds)[0] - _waits(spans[k - 1], seconds)[0]
        for k, span in enumerate(spans)
    ]
    line, alone = np.sum(waits, axis=0) / sizes.sum()
    return LightLoad(float(line), 0.0, float(alone), 0.0)


def _sizes(size: int, geometric: bool, count: int) -> Floats:
    """Return lengths of batches, evenly over their distribution."""
    if not geometric or size == 1:
        return np.full(count, float(size))
    at = (np.arange(count) + 0.5) / count
    found: Floats = np.maximum(np.ceil(np.log1p(-at) / np.log1p(-1 / size)), 1.0)
    return found


def _bursts(way: Itinerary, come: Sequence[Floats], rng: np.random.Generator) -> list[Burst]:
    """Return bursts that come at these instants, with packets as often of each kind as there are of it."""
    packets = sum(len(at) for at in come)
    evenly = (np.arange(packets) + rng.random()) / packets
    kinds = rng.permutation(np.searchsorted(np.cumsum(way.shares), evenly).clip(max=len(way.shares) - 1))
    if way.turns is not None:
        begin = [np.arange(len(at)) + rng.integers(len(way.turns)) for at in come]
        kinds = way.turns[np.concatenate(begin) % len(way.turns)]
    chances = np.stack([rng.permutation(evenly) for _ in range(way.draws)], axis=1) if way.draws else evenly[:, None]
    rows = [way.stops(int(kind), chance) for kind, chance in zip(kinds, chances, strict=True)]
    ends = np.cumsum([len(at) for at in come])
    return [
        Burst(rows[end - len(at) : end], kinds[end - len(at) : end], at) for end, at in zip(ends, come, strict=True)
    ]


def _waits(burst: Burst, seconds: Floats) -> tuple[Floats, float]:
    """Return what all packets wait in an empty machine, and at a server alone (2,), and when the last one leaves."""
    leave = _followed(burst.stops, burst.come.tolist())
    way = sum(stop.amount for each in burst.stops for stop in each if stop.what in (SERVED, PASSED))
    alone = waits(burst.come, Line(1, seconds[burst.kinds])).sum() if len(leave) else 0.0
    return np.array([sum(leave) - burst.come.sum() - way, alone]), max(leave, default=0.0)


def _followed(stops: Sequence[list[Stop]], come: Sequence[float]) -> list[float]:
    """Return when packets leave, first come first served wherever they meet."""
    free: dict[tuple[str, int], list[float]] = {}  # when servers are, in order
    units: dict[tuple[str, int], float] = {}  # left to take
    lines: dict[tuple[str, int], deque[tuple[int, int]]] = {}
    coming = [(at, number, number, 0) for number, at in enumerate(come)]
    heapq.heapify(coming)
    count, leave = len(coming), [0.0] * len(stops)
    while coming:
        now, _, packet, at = heapq.heappop(coming)
        own = stops[packet]
        while at < len(own):
            stop = own[at]
            if stop.what == PASSED or stop.what == SERVED:
                begin = now
                if stop.what == SERVED:
                    servers = free.setdefault(stop.server, [0.0] * stop.units)
                    begin = max(now, servers[0])
                    heapq.heapreplace(servers, begin + stop.amount)
                heapq.heappush(coming, (begin + stop.amount, count, packet, at + 1))
                count += 1
                break
            left, line = units.setdefault(stop.server, float(stop.units)), lines.setdefault(stop.server, deque())
            if stop.what == TAKEN and (line or left < stop.amount):
                line.append((packet, at))
                break
            units[stop.server] = left - stop.amount if stop.what == TAKEN else left + stop.amount
            at += 1
            while stop.what == GIVEN and line and units[stop.server] >= stops[line[0][0]][line[0][1]].amount:
                other, place = line.popleft()
                units[stop.server] -= stops[other][place].amount
                heapq.heappush(coming, (now, count, other, place + 1))
                count += 1
        else:
            leave[packet] = now
    return leave
