"""Demands of one or many design points of one structure, as arrays with an axis of points.

Points have one structure if they have the same number of threads, visit the same servers (of the same sizes and roles)
under the same holds, and get packets in the same way; only numbers differ. Bounds and queueing solve whole batches.
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
LEAST_DIVISOR = 1e-30  # lower limit of divisors, against division by 0
ROUNDING = 1e-9
MAX_LOAD = 0.999  # cap on the utilization in formulas of waits
FULLEST = 14  # the scv at a resource is weighted with its utilization to this power
MAX_BATCH_POINTS = 2048  # more points at once would not fit into the processor's cache


@by_content
@dataclass(frozen=True)
class Batch:
    """Demands of P points of one structure; `like` is one of them and has the names, sizes, roles and holds of all.

    All values are per packet of the workload, arrays (P,) if no other shape is given.

    By server: seconds; visits; `scv`, squared coefficient of variation of a visit's time; `largest`, seconds at the
    most loaded member (units kept from one pool to another included); `members`, seconds at each (P, members); `aside`,
    seconds of forked work. By server and for "threads": `spread`, scv of a packet's time. variance: of the whole time
    of a pool's packet. spent: seconds by (servers held, server or "" for none); early: those of them before the packet
    leaves the receive buffer; overlap: by servers held (machine/sections.py). visited: by place, as spent, visits and
    the sum of their squared times (P, 2). order: by server, seconds of a packet's consecutive visits (P,
    MAX_POSITIONS). residence: by pool. parts: by pool, its demands, if there are several. offered: packets per second,
    or infinite.
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
        """Return the batch with one change applied to every array."""

        def changed(value: Any) -> Any:
            if isinstance(value, Mapping):
                return {name: changed(item) for name, item in value.items()}
            if isinstance(value, Batch):
                return value._each(change)
            return change(value) if isinstance(value, np.ndarray) else value

        return replace(self, **{item.name: changed(getattr(self, item.name)) for item in fields(self)})

    def taken(self, rows: Integers) -> Batch:
        """Return the points with these numbers (Q,), which may repeat."""
        return self._each(lambda values: values[rows] if len(values) else values)

    def scaled(self, factors: Mapping[str, npt.ArrayLike], offered: npt.ArrayLike | None = None) -> Batch:
        """Return the points with all visits to some servers `factors` times as long (P,), all else unchanged.

        A batch of one point becomes as many points as there are factors. offered: their packets per second. Raises
        RefusedError where other demands do not follow from those of the servers (parallel or forked work, holds of a
        program, several pools).
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
        for (chain, _), seconds in extra.items():  # servers held during these visits are held longer
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
                place: wide(sums * np.stack([np.ones_like(rows[place[1]]), rows[place[1]] ** 2], axis=1))
                if place[1] in rows
                else wide(sums)
                for place, sums in self.visited.items()
            },
            early={place: wide(v * rows.get(place[1], 1.0)) for place, v in self.early.items()},
            residence={name: wide(values) + longer for name, values in self.residence.items()},
            latency=wide(self.latency) + longer,
            offered=wide(loads),
        )

    def ceilings(self) -> dict[str, Floats]:
        """Return the packets per second (P,) that each server, and the threads of each pool, allow alone."""
        return ceilings(self.like.machine, self.like.servers, self.largest, self.residence)

    def scv_at_fullest(
        self, ceilings: Mapping[str, Floats], rate: Floats, count: int, threads: str = "threads",
        more: Mapping[str, Floats] = MappingProxyType({}),
    ) -> Floats:  # fmt: skip
        """Return the squared coefficient of variation (P,) of a packet's time at the bottlenecks, at a rate (P,).

        The mean over servers and threads, weighted by a high power of their utilization: a resource with half the
        utilization does not count, even if there are many (the ports of a switch). With one thread (count) all packets
        wait for the thread. threads: name of the threads' ceiling. more: scv that work of other pools adds, by server
        and for threads.
        """
        names = [threads] if count == 1 else [name for name in ceilings if name in self.seconds or name == threads]
        weights = [np.minimum(rate / ceilings[name], 1.0) ** FULLEST for name in names]
        scvs = [self.spread["threads" if name == threads else name] + more.get(name, 0.0) for name in names]
        return _mean(scvs, weights)

    def scv_in_turns(
        self, ceilings: Mapping[str, Floats], rate: Floats, more: Mapping[str, Floats] = MappingProxyType({})
    ) -> Floats:
        """Return `scv_at_fullest` over servers, each with the scv of packets that return by turns (`scv_by_turns`)."""
        names = [name for name in ceilings if name in self.seconds]
        if not names:
            return np.ones(len(self))
        load = np.minimum(rate, self.offered) if len(self.offered) else rate
        weights = [self._wait(name, np.minimum(load / ceilings[name], MAX_LOAD)) for name in names]
        scvs = [
            self.scv_by_turns(name, self.spread[name] + more.get(name, 0.0), load / ceilings[name]) for name in names
        ]
        return _mean(scvs, weights)

    def _wait(self, name: str, load: Floats) -> Floats:
        """Return the approximate wait (P,), above 0, at a server with exponential times (Sakasegawa 1977)."""
        units = max(self.like.servers[name].units, 1)
        power = np.sqrt(2.0 * (units + 1.0)) - 1.0
        return np.asarray(self.seconds[name] * load**power / (1.0 - load) / units + LEAST_DIVISOR)

    def scv_by_turns(self, name: str, scv: Floats, load: Floats | None = None) -> Floats:
        """Return the scv (P,) of single visits with the same waits as those of packets that return by turns.

        scv: of a packet's work S there. A packet that comes K times without a pause goes behind all others each time,
        as in round robin. All visits wait equally, and the waiting work is the same in any order of service (Kleinrock
        1965), so the waits of a packet's visits are E[S^2] / s^2 / (E[K^2] + E[K]) times those of exponential times s
        of a visit; E[K^2] follows from scv and that of a visit. A packet that stays away for long returns as at random
        and waits by the scv of a visit. In between, the share of its time that a packet spends there interpolates (Adve
        and Nelson, Operations Research 42, 1994), divided by the number of members drawn at random.
        """
        server = self.like.servers[name]
        if server.discipline == "shared":
            return np.ones(len(self))
        visits = np.maximum(self.visits[name] / self.share, 1.0)
        second_moment = 1.0 + scv
        returning = second_moment / (np.maximum(second_moment - self.scv[name] / visits, 1.0) + 1.0 / visits)
        if load is not None:
            returning = returning * self.share_of_order(name, load)
        part = np.minimum(
            (self.seconds[name] - self.aside.get(name, 0.0)) / np.maximum(self.latency, LEAST_DIVISOR), 1.0
        )
        if server.members > 1 and name not in {pool.home for pool in self.like.machine.pools}:
            part = part / server.members
        random = self.scv[name]
        once = np.minimum(scv, random + np.maximum(scv - self.spread[name], 0.0))  # also where only some packets come
        return np.asarray(np.where(visits > 1.0 + ROUNDING, random + part * (2.0 * returning - 1.0 - random), once))

    def share_of_order(self, name: str, load: Floats) -> Floats:
        """Return how many times longer packets wait (P,) as long visits come first; load: utilization of the server."""
        visits = np.maximum(self.visits[name] / self.share, 1.0)
        return share_of_order(self.order[name], visits, load) if name in self.order else np.ones(len(self))

    @property
    def share(self) -> float:
        """Share of the workload's packets that come to the pool."""
        return self.like.demands.share or 1.0

    def busiest(self, rate_pps: Floats) -> dict[str, Floats]:
        """Return the utilization (P,) of the most loaded member of each server."""
        return {
            name: rate_pps * largest / max(self.like.servers[name].units, 1) for name, largest in self.largest.items()
        }

    def utilization(self, rate_pps: Floats) -> dict[str, Floats]:
        """Return the utilization (P,) of each server at packet rates (P,), mean over members."""
        servers = self.like.servers
        shares = {
            name: rate_pps * seconds / (servers[name].members * max(servers[name].units, 1))
            for name, seconds in self.seconds.items()
        }
        return self.busiest(rate_pps) | shares  # units kept from one pool to another are spread evenly


def grouped(
    points: Sequence[UnderLoad], apart: Callable[[UnderLoad], Hashable | None] | None = None
) -> list[tuple[list[int], Batch]]:
    """Return the points as batches of at most MAX_BATCH_POINTS, each with the numbers of its points.

    apart: property that the points of a batch must share besides their structure; None: a batch for the point alone.
    """
    groups: dict[Hashable, list[int]] = {}
    group_of_key: dict[Hashable, Hashable] = {}
    for number, point in enumerate(points):
        load = point.workload
        key = made_once(point), load.arrivals, load.bursts, load.packets_key  # equal keys: one structure
        if key not in group_of_key:
            common = True if apart is None else apart(point)
            group_of_key[key] = None if common is None else (structure(point), common)
        groups.setdefault(number if group_of_key[key] is None else group_of_key[key], []).append(number)
    most = MAX_BATCH_POINTS
    parts = [numbers[k : k + most] for numbers in groups.values() for k in range(0, len(numbers), most)]
    return [(numbers, _stacked([points[k] for k in numbers])) for numbers in parts]


def _stacked(points: Sequence[UnderLoad]) -> Batch:
    """Return the demands of points of one structure as arrays; points with the same demands are converted once."""
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
        largest={k: column([seconds[k] for seconds in largest]) for k in largest[0]},
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
    """Return the weighted mean (P,), added row by row, so that rounding does not depend on the number of points."""
    total = sum((weight * row for weight, row in zip(weights, rows, strict=True)), np.zeros_like(weights[0]))
    return np.asarray(total / sum(weights, np.zeros_like(weights[0])))
