"""Demands of all pools of a machine per packet of the workload, and the time that a packet spends in each pool.

A pool gets the packets that earlier pools put into its queue, with the same columns and those that the queue carries.
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
Arrived = tuple[Values, dict[str, Values | None]]  # shares of packets, and their columns (None: random)


@dataclass
class Flows:
    """Demands of all pools together, per packet of the workload.

    residence: by pool, seconds of its threads per packet. by_pool: demands of each pool. between_pools: by server,
    unit-seconds per packet, without contention, of units that one pool takes and another gives. finished: (shares of
    packets, packet_bytes) that each pool finishes, shape (n,) each. clock: per distinct packet of the workload, its
    latency without contention over all its pools x its share (shape n).
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
    """Return the demands of the pools for distinct packets (columns of shape n) with these weights (sum 1).

    pools: the programs, if they are recorded over these columns already. apart: whether to keep the times of each
    distinct packet, for machines of one pool.
    Raises RefusedError if two pools take packets from one source, or if packets go round between pools.
    """
    result, between = Flows(clock=np.zeros(len(weights))), _Between(np.asarray(weights, dtype=np.float64))
    numbered = {**columns, NUMBER: np.arange(len(weights), dtype=np.float64)}
    arrived: dict[str | None, Arrived] = {None: (np.asarray(weights, dtype=np.float64), dict(numbered))}
    for recorded in _in_order(machine.record_pools(columns) if pools is None else pools):
        pool = recorded.pool
        nothing = np.zeros(0), dict.fromkeys((*recorded.columns, NUMBER), np.zeros(0))
        shares, known = arrived.get(pool.gets, nothing)
        inputs = {variable: known[name] for name, variable in recorded.columns.items()}
        demand = demands(recorded.body, inputs, shares, apart=apart and len(machine.pools) == 1)
        result.residence[pool.name], result.by_pool[pool.name] = demand.latency, demand
        numbered_as = known[NUMBER]
        assert numbered_as is not None
        number = numbered_as.astype(np.int64)
        between.add(demand, number, shares, result.clock)
        np.add.at(result.clock, number, demand.clock)
        finishing = shares - sum((put for puts in demand.handed.values() for put, _ in puts), np.zeros_like(shares))
        sizes = known["packet_bytes"]
        if sizes is None:
            raise RefusedError(f"lengths of packets of pool {pool.name} depend on chance: use simulation")
        result.finished.append((np.maximum(finishing, 0.0), sizes))
        for name, puts in demand.handed.items():
            arrived[name] = _join(arrived.get(name), puts, {column: known[column] for column in numbered})
        result.demands = demand if len(machine.pools) == 1 else _sum(result.demands, demand)
    result.between_pools = between.unit_seconds()
    return result


class _Between:
    """Units that one pool takes and another gives, in a chain of pools that every packet passes.

    unit-seconds per packet = sum over gives of units x time - sum over takes, times counted from the packet's first
    step. The times of a pool count from its own start; `add` adds that start for units that the pool does not balance.
    """

    def __init__(self, weights: Values) -> None:
        self.weights = weights
        self.seconds: dict[str, float] = {}
        self.left: dict[str, Values] = {}  # by server, per distinct packet: units not given back yet x its share
        self.all_pass = True

    def add(self, own: Demands, number: npt.NDArray[np.int64], shares: Values, clock: Values) -> None:
        """Add a pool.

        own: its demands. number, shares: of its packets, the distinct packet and the share. clock: seconds of each
        distinct packet in earlier pools x its share.
        """
        self.all_pass &= bool(np.allclose(np.bincount(number, shares, len(self.weights)), self.weights, rtol=SMALL))
        started = clock[number] / self.weights[number]
        for name, (seconds, units) in own.loose.items():
            self.seconds[name] = self.seconds.get(name, 0.0) + seconds - float(units @ started)
            held = np.bincount(number, units, len(self.weights))
            self.left[name] = self.left.get(name, np.zeros_like(self.weights)) + held

    def unit_seconds(self) -> dict[str, float]:
        """Return, by server, the unit-seconds per packet if takes and gives of all pools balance."""
        return {
            name: seconds
            for name, seconds in self.seconds.items()
            if self.all_pass and seconds > 0 and not (np.abs(self.left[name]) > SMALL).any()
        }


def _in_order(pools: list[Recorded]) -> list[Recorded]:
    """Return the pools sorted so that each follows those that fill its queue; raises RefusedError for a cycle."""
    order: list[Recorded] = []
    for pool in pools:
        sharing = [candidate.pool.name for candidate in pools if candidate.pool.gets == pool.pool.gets]
        if len(sharing) > 1:
            raise RefusedError(
                f"pools {' and '.join(sharing)} take packets from one place: only simulation can say how many each"
            )
    while len(order) < len(pools):
        remaining = [pool for pool in pools if pool not in order]
        filled = set().union(*(pool.visited for pool in remaining))
        ready = [pool for pool in remaining if pool.pool.gets is None or pool.pool.gets not in filled]
        if not ready:
            names = " and ".join(pool.pool.name for pool in remaining)
            raise RefusedError(f"packets go round between pools {names}: only simulation can say how often")
        order += ready
    return order


def _join(before: Arrived | None, puts: list[Arrived], known: Mapping[str, Values | None]) -> Arrived:
    """Return the packets of a queue: those before, and for each put the pool's packets with the carried columns."""
    shares, columns = before if before is not None else (np.zeros(0), {})
    for share, carried in puts:
        live = share > 0
        packet_columns = {**known, **carried}
        columns = {name: _behind(columns.get(name, np.zeros(0)), value, live) for name, value in packet_columns.items()}
        shares = np.concatenate([shares, share[live]])
    return shares, columns


def _behind(before: Values | None, more: Values | None, live: npt.NDArray[np.bool_]) -> Values | None:
    if before is None or more is None:
        return None  # random
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
