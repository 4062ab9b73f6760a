"""Keys that decide which points form a batch, and which points share one computation of demands."""

from collections.abc import Hashable

import numpy as np

from npexplore.machine.under_load import UnderLoad
from npexplore.machine.workload import offered_rate


def made_once(point: UnderLoad) -> Hashable:
    """Return a key that is equal for points that share one computation of demands."""
    return id(point.machine), id(point.demands), id(point.residence), point.finished, point.counted_bits


def offered(point: UnderLoad) -> float:
    """Return the packets per second that arrive (infinite: saturated)."""
    load = point.workload
    if load.arrivals == "timestamps" and load.t_ns is not None:
        return offered_rate(load)
    return float("inf") if load.rate_pps is None else load.rate_pps


def structure(point: UnderLoad) -> Hashable:
    """Return a key that is equal for points that may form a batch."""
    demands, machine = point.demands, point.machine
    sections = [
        (
            name,
            s.in_visits,
            s.scattered,
            s.outlives,
            s.least,
            s.most,
            tuple(sorted(s.takes.items())),
            s.at_a_time,
            s.in_all,
            frozenset(s.crossed),
        )
        for name, s in demands.sections.items()
    ]
    ingress = machine.ingress
    return (
        machine.name, machine.counted, _arrivals(point), demands.side_by_side,
        tuple((pool.name, pool.count, point.residence[pool.name] > 0) for pool in machine.pools),
        (ingress.name, ingress.capacity, ingress.cell_bytes, _mean_cells(point)),
        tuple(point.servers.values()),
        tuple(sections), tuple(sorted(demands.untied)),
        tuple((k, d.seconds > 0, d.spread + d.chosen > 0, d.chosen > 0, d.in_turn > 0,
               tuple(m for m, s in d.members.items() if s > 0))
              for k, d in demands.servers.items()),
        tuple((place, seconds > 0) for place, seconds in demands.spent.items()),
        tuple(demands.overlap), tuple(demands.aside),
        tuple(demands.counts), tuple(point.between_pools),
    )  # fmt: skip


def _arrivals(point: UnderLoad) -> Hashable:
    """Return how packets arrive, without their rate; a point with recorded arrival times equals no other point."""
    load = point.workload
    return load.arrivals, load.bursts, id(point) if load.arrivals == "timestamps" else None


def _mean_cells(point: UnderLoad) -> float:
    """Return the mean number of cells of a packet, which determines how many packets the receive buffer holds."""
    if point.workload.arrivals == "saturated":
        return 0.0
    return float(np.mean(-(-point.workload.packet_bytes // point.machine.ingress.cell_bytes)))
