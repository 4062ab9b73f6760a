"""Packets that arrive by themselves at servers in a line: what each adds to the time that is waited.

    V = l E(sum of S^2) / (2 (1 - r))          what is left to do at a server, of all its visits (Pollaczek, Khinchine)
    slowest:   v V                             v visits of a packet at it
    others:    q g V + (v - q) (1 - r + r g) V     q of them at the place where most of the time is spent

g is what the visits at that place wait behind a server that has served the same packets for as long, in parts of what
they would at random instants (queueing/behind_alike.py: 0 for constant times): long packets are long at each server of
a line, and come apart from each other. The other visits come at instants of their own, such as those of short
descriptors on the wires of packets: they find what is left to do in the mean over time (Brumelle, Operations Research
19, 1971), r g V + (1 - r) V. A fuller server later in a line takes over from the one that was the slowest so far. All
else (several units, held, visited again and again) waits with the variation of the machine's slowest; where that is
fuller than the line, packets of constant times do not wait twice.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from npexplore.machine.under_load import KINDS
from npexplore.solve.batch import Batch
from npexplore.solve.queueing.behind_alike import behind_alike
from npexplore.solve.stations import Floats, LoadDependent

FEW = 3.0  # visits of a packet: more are a loop
FULL = 0.9999
TINY = 1e-30


def wait_in_line(
    batch: Batch, stations: Sequence[LoadDependent], ceilings: Mapping[str, Floats], usual: Floats
) -> Floats:
    """Return how many times as long packets (P,) wait in a machine as if all times were exponential.

    stations: the outermost ones. usual: that of servers that stand in no line, for Poisson arrivals (P,).
    """
    servers, demands = batch.like.servers, batch.like.demands.servers
    rate = np.minimum(batch.offered, FULL * np.min([*ceilings.values()], axis=0))
    single = {name for name in ceilings if name in servers and servers[name].units * servers[name].members == 1}
    line = [one.name for one in stations if one.name in single and _in_line(batch, one)]
    line.sort(key=lambda name: main.place if (main := demands[name].main) else 0)
    exponential = {one.name: _exponential(one, rate) for one in stations}
    apart = np.sum([usual * each for name, each in exponential.items() if name not in line], axis=0)
    beside = [name for name in exponential if name in ceilings and name not in line]
    waited, first = _line(batch, line, rate)
    fuller = [np.where(first.load < rate / ceilings[name], usual * exponential[name], 0.0) for name in beside]
    waited += apart - np.minimum(np.max([0.0 * usual, *fuller], axis=0), first.regular)
    whole = np.sum([*exponential.values()], axis=0)
    return np.where(whole > TINY, waited / np.maximum(whole, TINY), usual)


def share_behind(batch: Batch, name: str, rate: Floats) -> Floats | None:
    """Return the share (P,) of the wait behind packets at random that is left at a server among others in a line.

    rate: packets a second (P,) that pass. The slowest keeps all of it, others what their main visits wait behind a
    server that took as long for the same packets, and what visits at instants of their own find; None in no line.
    """
    server, visits, main = batch.like.servers[name], batch.visits[name], batch.mains[name]
    if server.units * server.members > 1 or np.any(visits > FEW) or np.any(main[:, 0] <= 0):
        return None
    ceilings = {one: most for one, most in batch.ceilings().items() if one in batch.seconds}
    slowest = np.argmin(list(ceilings.values()), axis=0) == list(ceilings).index(name)
    busy, here = np.minimum(rate * batch.seconds[name], FULL), np.minimum(main[:, 0], visits)
    alike = np.minimum(behind_alike(busy, main[:, 1 : 1 + KINDS], main[:, 1 + KINDS :]), 1.0)
    others = (here * alike + (visits - here) * (1 - busy + busy * alike)) / visits
    return np.where(slowest, 1.0, others)


def _in_line(batch: Batch, station: LoadDependent) -> bool:
    name = station.name
    fifo = batch.like.servers[name].discipline != "shared" and station.home is None and station.capacity.shape[1] == 1
    alike = np.allclose(station.seconds, batch.seconds[name])
    return fifo and alike and bool(np.all(batch.visits[name] <= FEW) and np.all(batch.mains[name][:, 0] > 0))


class Fullest(NamedTuple):
    """The fullest server of a line: its load, and the wait there of constant times (P,)."""

    load: Floats
    regular: Floats


def _line(batch: Batch, names: Sequence[str], rate: Floats) -> tuple[Floats, Fullest]:
    """Return the seconds (P,) that a packet waits at the servers of a line, in all its visits, and the fullest."""
    total, fullest = np.zeros((2, len(batch)))
    alone, behind, regular = np.zeros((3, len(batch)))  # at the fullest so far: waits as such, behind one, if constant
    for name in names:
        visits, seconds, main = batch.visits[name], batch.seconds[name], batch.mains[name]
        busy, here = rate * seconds, np.minimum(main[:, 0], visits)
        left = rate * (1 + batch.scv[name]) * seconds**2 / visits / (2 * (1 - busy))
        alike = left * behind_alike(busy, main[:, 1 : 1 + KINDS], main[:, 1 + KINDS :])
        fuller = busy > fullest
        own = np.maximum(np.where(fuller, left - alone + behind, alike), 0.0)
        even = left * (1 - np.minimum(batch.spread[name], 1.0))
        now = (busy, fullest), (left, alone), (alike, behind), (even, regular)
        fullest, alone, behind, regular = (np.where(fuller, a, b) for a, b in now)
        total += here * own + (visits - here) * ((1 - busy) * left + busy * own)
    return total, Fullest(fullest, regular)


def _exponential(station: LoadDependent, rate: Floats) -> Floats:
    """Return the seconds (P,) that a packet would wait at a station if all times were exponential."""
    if station.home is not None:
        capacity = np.arange(1.0, station.home.servers + 1)[None, :]
    else:
        capacity = station.capacity
    if capacity.shape[1] == 1:
        load = rate * station.seconds * station.waits / capacity[:, 0]
        load = np.minimum(load, FULL)
        return np.asarray(station.seconds * load / (1 - load))
    each = rate[:, None] * station.seconds[:, None] / capacity
    last = np.minimum(each[:, -1], FULL)
    inside = np.concatenate([np.ones((len(rate), 1)), np.cumprod(each[:, :-1], axis=1)], axis=1)  # 0 .. one less
    number = np.arange(inside.shape[1])
    beyond = inside[:, -1] * last / (1 - last)  # all of them and more
    whole = inside.sum(axis=1) + beyond
    more = inside[:, -1] * last * ((number[-1] + 1) / (1 - last) + last / (1 - last) ** 2)
    there = ((inside * number).sum(axis=1) + more) / whole
    return np.asarray(np.maximum(there / rate - station.seconds, 0.0))
