"""Packets through pools: what all pools together demand per packet of the workload, each pool's share of the time.

A pool sees the packets that the pools before it put into its queue, with the same columns and what the queue carries.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from npexplore.errors import RefusedError
from npexplore.machine.amounts import for_each
from npexplore.machine.demands import demands
from npexplore.machine.machine import Machine, Recorded
from npexplore.machine.progress import SMALL
from npexplore.machine.sections import Demand, Demands
from npexplore.rows.expressions import Values

NUMBER = "number of the distinct packet"  # a column that all pools hand on
Arrived = tuple[Values, dict[str, Values | None]]  # shares of packets, and their columns (None: left to chance)


@dataclass
class Flows:
    """Demands of all pools per packet of the workload; by pool the seconds that its threads spend on a packet,
    and its own demands.

    between_pools: unit-seconds per packet of what one pool takes and another gives, without contention, by server.
    finished: (shares of packets, packet_bytes) that each pool finishes, shape (n,) each. clock: of each distinct packet
    of the workload its seconds without contention, over all pools that it passes, x its share (shape n).
    """

    demands: Demands = field(default_factory=Demands)
    residence: dict[str, float] = field(default_factory=dict)
    by_pool: dict[str, Demands] = field(default_factory=dict)
    between_pools: dict[str, float] = field(default_factory=dict)
    finished: list[tuple[Values, Values]] = field(default_factory=list)
    clock: Values = field(default_factory=lambda: np.zeros(0))


def flows(
    machine: Machine, columns: Mapping[str, Values], weights: Values, pools: list[Recorded] | None = None,
    apart: bool = False,
) -> Flows:  # fmt: skip
    """Return what the pools do to the distinct packets (columns of shape n) with their shares (sum 1).

    pools: the programs, if they are recorded over these columns already. apart: whether the times of each distinct
    packet are kept, for machines of one pool.
    Raises RefusedError where shares depend on who comes first (two pools at one source) or packets go round.
    """
    result, between = Flows(clock=np.zeros(len(weights))), _Between(np.asarray(weights, dtype=np.float64))
    numbered = {**columns, NUMBER: np.arange(len(weights), dtype=np.float64)}
    arrived: dict[str | None, Arrived] = {None: (np.asarray(weights, dtype=np.float64), dict(numbered))}
    for recorded in _in_order(machine.record_pools(columns) if pools is None else pools):
        pool = recorded.pool
        nothing = np.zeros(0), dict.fromkeys((*recorded.columns, NUMBER), np.zeros(0))
        shares, known = arrived.get(pool.gets, nothing)
        inputs = {variable: known[name] for name, variable in recorded.columns.items()}
        own = demands(recorded.body, inputs, shares, apart=apart and len(machine.pools) == 1)
        result.residence[pool.name], result.by_pool[pool.name] = own.latency, own
        numbered_as = known[NUMBER]
        assert numbered_as is not None
        number = numbered_as.astype(np.int64)
        between.add(own, number, shares, result.clock)
        np.add.at(result.clock, number, own.clock)
        left = shares - sum((put for puts in own.handed.values() for put, _ in puts), np.zeros_like(shares))
        sizes = known["packet_bytes"]
        if sizes is None:
            raise RefusedError(f"lengths of packets of pool {pool.name} depend on chance: use simulation")
        result.finished.append((np.maximum(left, 0.0), sizes))
        for name, puts in own.handed.items():
            arrived[name] = _join(arrived.get(name), puts, {column: known[column] for column in numbered})
        result.demands = own if len(machine.pools) == 1 else _sum(result.demands, own)
    result.between_pools = between.unit_seconds()
    return result


class _Between:
    """What one pool takes and another gives, along a line of pools that every packet passes.

    Per packet, sum over gives of units x time less that over takes, times from the packet's first step on: those that
    pools tell, and for the units that they keep or give too many of, the time when they began.
    """

    def __init__(self, weights: Values) -> None:
        self.weights = weights
        self.seconds: dict[str, float] = {}
        self.left: dict[str, Values] = {}  # of each distinct packet: units taken and not given yet x its share
        self.all_pass = True

    def add(self, own: Demands, number: npt.NDArray[np.int64], shares: Values, clock: Values) -> None:
        """Add a pool; number, shares: of its packets; clock: of each distinct one, what pools before it took."""
        self.all_pass &= bool(np.allclose(np.bincount(number, shares, len(self.weights)), self.weights, rtol=SMALL))
        begun = clock[number] / self.weights[number]
        for name, (seconds, units) in own.loose.items():
            self.seconds[name] = self.seconds.get(name, 0.0) + seconds - float(units @ begun)
            left = np.bincount(number, units, len(self.weights))
            self.left[name] = self.left.get(name, np.zeros_like(self.weights)) + left

    def unit_seconds(self) -> dict[str, float]:
        """Return the unit-seconds of what is given as it is taken, by server."""
        return {
            name: seconds
            for name, seconds in self.seconds.items()
            if self.all_pass and seconds > 0 and not (np.abs(self.left[name]) > SMALL).any()
        }


def _in_order(pools: list[Recorded]) -> list[Recorded]:
    """Return the pools so that each stands behind those that put into its queue; raises RefusedError if none can."""
    order: list[Recorded] = []
    for pool in pools:
        same = [other.pool.name for other in pools if other.pool.gets == pool.pool.gets]
        if len(same) > 1:
            raise RefusedError(
                f"pools {' and '.join(same)} take packets from one place: only simulation can say how many each"
            )
    while len(order) < len(pools):
        rest = [pool for pool in pools if pool not in order]
        filled = set().union(*(pool.visited for pool in rest))
        ready = [pool for pool in rest if pool.pool.gets is None or pool.pool.gets not in filled]
        if not ready:
            names = " and ".join(pool.pool.name for pool in rest)
            raise RefusedError(f"packets go round between pools {names}: only simulation can say how often")
        order += ready
    return order


def _join(before: Arrived | None, puts: list[Arrived], known: Mapping[str, Values | None]) -> Arrived:
    """Return all packets that were put: those before and, for each put, the putters' packets with what it carries."""
    shares, columns = before if before is not None else (np.zeros(0), {})
    for share, carried in puts:
        live = share > 0
        sent = {**known, **carried}
        columns = {name: _behind(columns.get(name, np.zeros(0)), value, live) for name, value in sent.items()}
        shares = np.concatenate([shares, share[live]])
    return shares, columns


def _behind(before: Values | None, more: Values | None, live: npt.NDArray[np.bool_]) -> Values | None:
    if before is None or more is None:
        return None  # left to chance
    return np.concatenate([before, for_each(more, live)[live]])


def _sum(total: Demands, part: Demands) -> Demands:
    for name, demand in part.servers.items():
        total.servers.setdefault(name, Demand()).merge(demand)
    for name in ("counts", "spent", "visited", "overlap", "aside", "latency_parts"):
        table = getattr(total, name)
        for key, amount in getattr(part, name).items():
            table[key] = table.get(key, 0.0) + amount
    total.freed += part.freed
    total.latency += part.latency
    total.chance += part.chance
    total.side_by_side |= part.side_by_side
    return total
