"""The latency breakdown of a solved queueing network: how long packets wait at each station.

    waiting_k = (Q_k - X D_k) / X          Q_k mean number at k, X throughput, D_k seconds without contention
    a group   of j packets, min(j, limit) are inside and the others wait for a place; the share of the packets inside
              that wait themselves is the share of the others that count as held up

Q_k and the chances of j at a group come from the network's recursion (queueing/residual.py), averaged over the number
of packets. All waits are then scaled by one factor so that the parts add up to the latency, which the recursion does
not give exactly (forked work, variability behind a receive buffer). In saturation, the time that a thread waits for
the wire that brings its packet is left out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import takewhile
from typing import TYPE_CHECKING

import numpy as np

from npexplore.machine.progress import Chain
from npexplore.machine.under_load import UnderLoad
from npexplore.rows.server import Server, place_of
from npexplore.solve.breakdown import Breakdown, Part

if TYPE_CHECKING:
    from npexplore.solve.levels import Levels
    from npexplore.solve.queueing.inputs import Floats
    from npexplore.solve.stays import Stay

Waits = dict[str, tuple[float, float]]  # by resource: packets (or seconds) waiting in line, and held up


def alone(point: UnderLoad) -> Breakdown:
    """Return the breakdown of a packet's latency without contention."""
    return _broken(point.demands.latency_parts, {}, point.servers, point.demands.latency)


def under_contention(point: UnderLoad, stays: Sequence[Stay], latency_s: float, bottleneck: str) -> Breakdown:
    """Return the breakdown of a packet's latency in solved networks of one point.

    bottleneck: the resource to which waits count that no station accounts for.
    """
    waits_s = _seconds(stays, bottleneck)
    before_s = sum(sum(waits_s.pop(name, (0.0, 0.0))) for name in brought_by(point))
    return _broken(point.demands.latency_parts, waits_s, point.servers, latency_s - before_s)


def brought_by(machine: UnderLoad) -> list[str]:
    """Return the servers that bring packets to saturated threads, if a program starts with them."""
    if machine.workload.arrivals != "saturated":
        return []
    bringing_servers = [
        *takewhile(
            lambda name: machine.servers[name].brings if name in machine.servers else False,
            machine.demands.latency_parts,
        )
    ]
    return bringing_servers if sum(machine.demands.servers[name].visits for name in bringing_servers) <= 1.0 else []


def before_packets(machine: UnderLoad, stays: Sequence[Stay], bottleneck: str) -> float:
    """Return the seconds of a saturated thread's cycle in which it has no packet; arguments as `under_contention`."""
    seconds = _seconds(stays, bottleneck)
    return sum(sum(seconds.get(name, (0.0, 0.0))) for name in brought_by(machine))


def _seconds(stays: Sequence[Stay], bottleneck: str) -> Waits:
    """Return the seconds that packets wait at each server: in line, and held up."""
    seconds: Waits = {}
    for stay in stays:
        extra = max(float(stay.seconds[0] - stay.levels.batch.latency[0]), 0.0)
        waits = _waits_of(stay)
        total = sum(sum(wait) for wait in waits.values())
        if total <= 0:
            waits, total = {bottleneck: (1.0, 0.0)}, 1.0
        for name, (waiting, held) in waits.items():
            before = seconds.get(name, (0.0, 0.0))
            seconds[name] = before[0] + waiting * extra / total, before[1] + held * extra / total
    return seconds


def _broken(parts: Mapping[str, float], waits: Waits, servers: Mapping[str, Server], latency_s: float) -> Breakdown:
    """Return parts that add up to a latency; all waits are scaled by one factor."""
    alone_s, total_waits = sum(parts.values()), sum(sum(wait) for wait in waits.values())
    service_factor = 1.0 if latency_s >= alone_s and (total_waits > 0 or not alone_s) else latency_s / alone_s
    waits_s = latency_s - alone_s * service_factor
    wait_factor = waits_s / total_waits if total_waits > 0 else 0.0
    rows: dict[str, list[float]] = {}

    def row(name: str) -> list[float]:
        server = servers.get(name)
        return rows.setdefault(name if server is None else place_of(server), [0.0, 0.0, 0.0])

    for name, seconds in parts.items():
        row(name)[0] += float(seconds) * service_factor
    for name, wait in waits.items():
        for column, amount in enumerate(wait, start=1):
            row(name)[column] += max(float(amount * wait_factor), 0.0)
    return Breakdown.of((Part(name, *times) for name, times in rows.items()), latency_s)


def _waits_of(stay: Stay) -> Waits:
    """Return the mean numbers of packets that wait in a pool's network, and in front of it for a thread."""
    threads = stay.levels.customers
    chances = stay.chances()
    inside = np.append(chances[:threads], chances[threads:].sum())
    waits = waits_inside(stay.levels, (), inside)
    without_thread = float(chances[threads:] @ np.arange(len(chances) - threads))
    if without_thread > 0:
        waits[stay.name] = without_thread, 0.0
    return waits


def waits_inside(levels: Levels, chain: Chain, chances: Floats) -> Waits:
    """Return the mean numbers of packets that wait under these holds, with chances (n + 1,) of 0..n packets there."""
    if len(chances) < 2 or not chances[1:].any():
        return {}
    stations, occupancy = levels.occupancy(chain, chances)
    rate = occupancy.throughput
    number_at: dict[str, float] = {}
    waits: Waits = {}
    for k, station in enumerate(stations):
        name = station.name.partition("[")[0]
        number = float(occupancy.queue_length[k])
        if not levels.holds_others((*chain, name)):
            number_at[name] = number_at.get(name, 0.0) + number
            continue
        if k in occupancy.chances:
            chances_at_group = occupancy.chances[k]
        else:
            busy = min(rate * float(station.seconds[0]), 1.0)
            chances_at_group = np.array([1.0 - busy, busy])
        counts = levels.admitted(name, len(chances_at_group) - 1)
        admitted, floors = np.zeros(int(np.ceil(counts.max())) + 1), np.floor(counts).astype(np.int64)
        np.add.at(admitted, floors, chances_at_group * (1.0 - (counts - floors)))
        np.add.at(admitted, np.minimum(floors + 1, len(admitted) - 1), chances_at_group * (counts - floors))
        inner = waits_inside(levels, (*chain, name), admitted)
        for inner_name, (waiting, held) in inner.items():
            before = waits.get(inner_name, (0.0, 0.0))
            waits[inner_name] = before[0] + waiting, before[1] + held
        inside = float(admitted @ np.arange(len(admitted)))
        outside = max(number - inside, 0.0)
        held_up = min(sum(sum(wait) for wait in inner.values()) / inside, 1.0) if inside > 0 else 0.0
        waits[name] = outside * (1.0 - held_up), outside * held_up
    alone_s = levels.inside(chain)
    for name, number in number_at.items():
        waits[name] = max(number - rate * float(alone_s.get(name, np.zeros(1))[0]), 0.0), 0.0
    return waits
