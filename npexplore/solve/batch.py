"""Many points of one structure at once, or one: their demands as arrays with an axis of points.

Points have one structure if the same servers, of the same sizes and roles, are visited under the same holds by as many
threads, and packets arrive in the same way; then only numbers differ. Bounds and queueing answer whole batches.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt

from npexplore.errors import InputError, RefusedError
from npexplore.machine.progress import Chain
from npexplore.machine.under_load import UnderLoad, ceilings
from npexplore.records import by_content
from npexplore.solve.batch_structure import made_once, offered, structure
from npexplore.solve.queueing.feedback import by_position, share_of_order

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
LEAST_DIVISOR = 1e-30  # weights and latencies that are divided by: none is 0
ROUNDING = 1e-9
MAX_LOAD = 0.999  # utilization: nobody waits longer
FULLEST = 14  # power of how busy a resource is, by which its spread counts
MAX_BATCH_POINTS = 2048  # points at once: more would leave the cache


@by_content
@dataclass(frozen=True)
class Batch:
    """Demands of P points of one structure, of which `like` is one: names, sizes, roles and holds hold for all.

    Per packet of the workload, arrays (P,) unless it is said otherwise. By server: seconds, visits, squared coefficient
    of variation of a visit's time (`scv`), seconds `largest` at the most loaded member (also of what is kept from one
    pool to another) and at each of its `members`
    (P, members), those of work `aside`; by server and "threads": the `spread` of a packet's time, squared coefficients
    of variation. variance: of the whole time of one of a pool's packets. spent: by (servers held, server or "" for
    none), early: those of it before the receive buffer is left, overlap: by servers held (machine/sections.py).
    visited: by place, as spent, visits and the sum of their squared times (P, 2). order: by server, seconds of a
    packet's visits one after the other (P, MAX_POSITIONS). residence: by pool. parts: what each of several pools asks
    for. offered: packets a second, or infinite.
    """

    like: UnderLoad
    seconds: Mapping[str, Floats]
    visits: Mapping[str, Floats]
    scv: Mapping[str, Floats]
    largest: Mapping[str, Floats]
    members: Mapping[str, Floats]
    spent: Mapping[tuple[Chain, str], Floats]
    visited: Mapping[tuple[Chain, str], Floats]
    order: Mapping[str, Floats]
    early: Mapping[tuple[Chain, str], Floats]
    overlap: Mapping[Chain, Floats]
    aside: Mapping[str, Floats]
    residence: Mapping[str, Floats]
    counts: Mapping[str, Floats]
    latency: Floats
    variance: Floats
    spread: Mapping[str, Floats]
    finished: Floats
    counted_bits: Floats
    offered: Floats
    parts: Mapping[str, Batch] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.latency)

    @staticmethod
    def of(points: Sequence[UnderLoad]) -> Batch:
        """Return the demands of points as arrays; raises InputError if there is none, or they differ in structure."""
        if not points:
            raise InputError("a batch needs at least one point")
        if len(points) > 1 and len({structure(point) for point in points}) > 1:
            raise InputError("the points of a batch must be of one structure")
        return _stacked(points)

    def _each(self, change: Callable[[Floats], Floats]) -> Batch:
        """Return the batch with every array changed alike."""

        def changed(value: Any) -> Any:
            if isinstance(value, Mapping):
                return {name: changed(one) for name, one in value.items()}
            if isinstance(value, Batch):
                return value._each(change)
            return change(value) if isinstance(value, np.ndarray) else value

        return replace(self, **{one.name: changed(getattr(self, one.name)) for one in fields(self)})

    def taken(self, rows: Integers) -> Batch:
        """Return the points with these numbers (Q,), each as often as it is named."""
        return self._each(lambda values: values[rows] if len(values) else values)

    def scaled(self, factors: Mapping[str, npt.ArrayLike], offered: npt.ArrayLike | None = None) -> Batch:
        """Return the points with all visits to some servers taking `factors` times as long (P,), all else the same.

        One point becomes as many as there are factors. offered: their packets a second. Raises RefusedError where
        demands do not follow from those of the servers (side by side work, holds of a program, several pools).
        """
        demands = self.like.demands
        held = any(not section.in_visits for section in demands.sections.values())
        if demands.side_by_side or held or len(self.residence) != 1:
            raise RefusedError("only a program of one pool, without side by side work or sections, can be scaled")
        rows = {name: np.atleast_1d(np.asarray(row, dtype=np.float64)) for name, row in factors.items()}
        for name in rows:
            if name not in self.seconds:
                raise InputError(f"{self.like.machine.name} has no demand at a server {name!r}")
        loads = self.offered if offered is None else np.atleast_1d(np.asarray(offered, dtype=np.float64))
        shape = np.broadcast_shapes(self.latency.shape, loads.shape, *(row.shape for row in rows.values()))

        extra = {place: seconds * (rows[place[1]] - 1.0) for place, seconds in self.spent.items() if place[1] in rows}
        for (chain, _), seconds in extra.items():  # who is held meanwhile is held for longer
            for name in chain:
                rows[name] = rows.get(name, np.ones(1)) + seconds / self.seconds[name]
        longer = sum(extra.values(), np.zeros(shape))

        def wide(values: npt.ArrayLike) -> Floats:
            return np.broadcast_to(values, (*shape, *np.shape(values)[1:]))

        def longer_at(table: Mapping[str, Floats]) -> dict[str, Floats]:
            factors = {name: rows[name].reshape(-1, *[1] * (table[name].ndim - 1)) for name in rows}
            return {name: wide(values * factors[name] if name in rows else values) for name, values in table.items()}

        return replace(
            self._each(wide),
            seconds=longer_at(self.seconds),
            largest=longer_at(self.largest),
            members=longer_at(self.members),
            spent={place: wide(values + extra.get(place, 0.0)) for place, values in self.spent.items()},
            visited={
                place: wide(both * np.stack([np.ones_like(rows[place[1]]), rows[place[1]] ** 2], axis=1))
                if place[1] in rows
                else wide(both)
                for place, both in self.visited.items()
            },
            early={place: wide(v * rows.get(place[1], 1.0)) for place, v in self.early.items()},
            residence={name: wide(values) + longer for name, values in self.residence.items()},
            latency=wide(self.latency) + longer,
            offered=wide(loads),
        )

    def ceilings(self) -> dict[str, Floats]:
        """Return the packets a second (P,) that each server alone, and the threads of each pool, would allow."""
        return ceilings(self.like.machine, self.like.servers, self.largest, self.residence)

    def scv_at_fullest(
        self, ceilings: Mapping[str, Floats], rate: Floats, count: int, threads: str = "threads",
        more: Mapping[str, Floats] = MappingProxyType({}),
    ) -> Floats:  # fmt: skip
        """Return the squared coefficient of variation (P,) of a packet's time at what is busy at a saturated rate (P,).

        The mean over servers and threads, by a high power of how busy they are: what is half as busy counts for
        nothing, also where it is there many times (the ports of a switch). Of one thread (count) all wait for that.
        threads: name of their ceiling. more: what comes to that by work of others, by server and of threads.
        """
        names = [threads] if count == 1 else [name for name in ceilings if name in self.seconds or name == threads]
        weights = [np.minimum(rate / ceilings[name], 1.0) ** FULLEST for name in names]
        rows = [self.spread["threads" if name == threads else name] + more.get(name, 0.0) for name in names]
        return _mean(rows, weights)

    def scv_in_turns(
        self, ceilings: Mapping[str, Floats], rate: Floats, more: Mapping[str, Floats] = MappingProxyType({})
    ) -> Floats:
        """Return `scv_at_fullest` of servers, as it tells among packets that come there by turns (`scv_by_turns`)."""
        names = [name for name in ceilings if name in self.seconds]
        if not names:
            return np.ones(len(self))
        load = np.minimum(rate, self.offered) if len(self.offered) else rate
        weights = [self._wait(name, np.minimum(load / ceilings[name], MAX_LOAD)) for name in names]
        rows = [
            self.scv_by_turns(name, self.spread[name] + more.get(name, 0.0), load / ceilings[name]) for name in names
        ]
        return _mean(rows, weights)

    def _wait(self, name: str, load: Floats) -> Floats:
        """Return about how long packets wait (P,) at a server for exponential times (Sakasegawa 1977), more than 0."""
        units = max(self.like.servers[name].units, 1)
        power = np.sqrt(2.0 * (units + 1.0)) - 1.0
        return np.asarray(self.seconds[name] * load**power / (1.0 - load) / units + LEAST_DIVISOR)

    def scv_by_turns(self, name: str, scv: Floats, load: Floats | None = None) -> Floats:
        """Return the scv (P,) of single visits behind which packets wait as long as behind those who come by turns.

        scv: of a packet's work S there. Who comes K times without a pause goes behind all others each time, as in round
        robin. All visits wait alike, and the work that waits is the same in any order of service (Kleinrock 1965), so
        that the waits of a packet's visits are E[S^2] / s^2 / (E[K^2] + E[K]) times those of exponential times, s of a
        visit; E[K^2] follows from scv and that of a visit. Who stays away for long comes as at random, and waits by
        the scv of a visit. Between: by the share of the time that a packet is there (Adve and Nelson, Operations
        Research 42, 1994); to members drawn at random it comes again now and then.
        """
        server = self.like.servers[name]
        if server.discipline == "shared":
            return np.ones(len(self))
        visits = np.maximum(self.visits[name] / self.share, 1.0)
        square = 1.0 + scv
        again = square / (np.maximum(square - self.scv[name] / visits, 1.0) + 1.0 / visits)
        if load is not None:
            again = again * self.share_of_order(name, load)
        there = np.minimum(
            (self.seconds[name] - self.aside.get(name, 0.0)) / np.maximum(self.latency, LEAST_DIVISOR), 1.0
        )
        if server.members > 1 and name not in {pool.home for pool in self.like.machine.pools}:
            there = there / server.members
        far = self.scv[name]
        once = np.minimum(scv, far + np.maximum(scv - self.spread[name], 0.0))  # also of packets that come or do not
        return np.asarray(np.where(visits > 1.0 + ROUNDING, far + there * (2.0 * again - 1.0 - far), once))

    def share_of_order(self, name: str, load: Floats) -> Floats:
        """Return how many times longer packets wait (P,) at a server, at a utilization, as long visits come first."""
        visits = np.maximum(self.visits[name] / self.share, 1.0)
        return share_of_order(self.order[name], visits, load) if name in self.order else np.ones(len(self))

    @property
    def share(self) -> float:
        """Packets that come to the pool, of those of the workload."""
        return self.like.demands.share or 1.0

    def busiest(self, rate_pps: Floats) -> dict[str, Floats]:
        """Return the utilization law's share (P,) of the most loaded member of each server."""
        return {
            name: rate_pps * largest / max(self.like.servers[name].units, 1) for name, largest in self.largest.items()
        }

    def utilization(self, rate_pps: Floats) -> dict[str, Floats]:
        """Return the utilization law's shares (P,) at packet rates, mean over members."""
        servers = self.like.servers
        shares = {
            name: rate_pps * seconds / (servers[name].members * max(servers[name].units, 1))
            for name, seconds in self.seconds.items()
        }
        return self.busiest(rate_pps) | shares  # what is kept from one pool to another is spread evenly


def grouped(
    points: Sequence[UnderLoad], apart: Callable[[UnderLoad], Hashable | None] | None = None
) -> list[tuple[list[int], Batch]]:
    """Return the points as batches of at most MAX_BATCH_POINTS, each with the numbers of its points.

    apart: what the points of a batch must have in common beside their structure; for None a point stays alone.
    """
    alike: dict[Hashable, list[int]] = {}
    group: dict[Hashable, Hashable] = {}
    for number, point in enumerate(points):
        load = point.workload
        same = made_once(point), load.arrivals, load.bursts, load.packets_key  # but for the rate: of one structure
        if same not in group:
            shared = True if apart is None else apart(point)
            group[same] = None if shared is None else (structure(point), shared)
        alike.setdefault(number if group[same] is None else group[same], []).append(number)
    most = MAX_BATCH_POINTS
    parts = [numbers[k : k + most] for numbers in alike.values() for k in range(0, len(numbers), most)]
    return [(numbers, _stacked([points[k] for k in numbers])) for numbers in parts]


def _stacked(points: Sequence[UnderLoad]) -> Batch:
    """Return the demands of points of one structure as arrays; those that were taken once are gone through once."""
    place: dict[Hashable, int] = {}
    rows = np.array([place.setdefault(made_once(point), len(place)) for point in points])
    first = list(np.unique(rows, return_index=True)[1])
    columns = _columns([points[k] for k in first])
    columns = columns if len(first) == len(points) else columns.taken(rows)
    return replace(columns, offered=np.array([offered(point) for point in points]))


def _columns(points: Sequence[UnderLoad]) -> Batch:
    like = points[0]
    demands, servers = [point.demands for point in points], like.servers

    def column(values: list[float]) -> Floats:
        return np.array(values, dtype=np.float64)

    def members(name: str) -> Floats:
        count, out = servers[name].members, np.empty((len(points), servers[name].members))
        for row, d in zip(out, (d.servers[name] for d in demands), strict=True):
            row[:] = (d.spread + d.chosen) / count
            for member, seconds in d.members.items():
                row[member] += seconds
        return out

    names, largest = list(like.demands.servers), [point.largest() for point in points]
    return Batch(
        like,
        seconds={k: column([d.servers[k].seconds for d in demands]) for k in names},
        visits={k: column([d.servers[k].visits for d in demands]) for k in names},
        scv={k: column([d.servers[k].scv for d in demands]) for k in names},
        largest={k: column([one[k] for one in largest]) for k in largest[0]},
        members={k: members(k) for k in names},
        spent={k: column([d.spent[k] for d in demands]) for k in like.demands.spent},
        visited={k: np.array([d.visited[k] for d in demands]) for k in like.demands.visited},
        order={
            k: np.array([by_position(d.order.get(k, []), d.share or 1.0) for d in demands]) for k in like.demands.order
        },
        early={k: column([d.early.get(k, 0.0) for d in demands]) for k in like.demands.spent},
        overlap={k: column([d.overlap[k] for d in demands]) for k in like.demands.overlap},
        aside={k: column([d.aside[k] for d in demands]) for k in like.demands.aside},
        residence={k: column([point.residence[k] for point in points]) for k in like.residence},
        counts={k: column([d.counts[k] for d in demands]) for k in like.demands.counts},
        latency=column([d.latency for d in demands]),
        variance=column([d.variance for d in demands]),
        spread={k: column([point.spread(k) for point in points]) for k in (*names, "threads")},
        finished=column([point.finished for point in points]),
        counted_bits=column([point.counted_bits for point in points]),
        offered=np.empty(0),
        parts={
            pool.name: _columns([_of_pool(point, pool.name) for point in points])
            for pool in like.machine.pools if len(like.by_pool) > 1
        },
    )  # fmt: skip


def _of_pool(point: UnderLoad, pool: str) -> UnderLoad:
    own = point.by_pool[pool]
    return replace(point, demands=own, scv=own.scv, by_pool={}, between_pools={})


def _mean(rows: Sequence[Floats], weights: Sequence[Floats]) -> Floats:
    """Return the weighted mean (P,), added row by row: sums along an axis differ for one point and for many."""
    total = sum((weight * row for weight, row in zip(weights, rows, strict=True)), np.zeros_like(weights[0]))
    return np.asarray(total / sum(weights, np.zeros_like(weights[0])))
