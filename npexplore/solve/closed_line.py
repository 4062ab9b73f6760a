"""What threads carry round a machine whose servers stand in a line, always busy or behind arrivals.

    X = B - (B - X_g) min(1, c) min(1, G / (N - G)),      B = min( min_k units_k / D_k ,  N / R ),      G = B R

B are the asymptotic bounds. N customers that go round a closed network of constant services follow each other at the
pace of its slowest station after a while, and nobody waits anywhere else: they attain B (the cycle time of a timed
event graph is its largest cycle mean; Baccelli, Cohen, Olsder and Quadrat, Synchronization and Linearity, 1992, 2.5).
X_g is mean value analysis by residual times with services of any length, where packets wait at servers other than the
slowest g times as long as behind packets at random (in_line.py, at the load that X_g makes). c is the largest standard
deviation of what packets need of a server, in parts of the mean at the slowest: to the maximum of times that are nearly
even, spread adds in proportion to itself, not to its square (Clark, Operations Research 9, 1961); of two kinds of
packets that come by turns it counts half, between a fixed order (nothing) and chance. Of N threads G are on
their way where B is carried (Little), all others in line at the slowest, which starves the less the more they are;
that this counts by G / (N - G) is no law. Whoever visits a server twice is met out of step there, which costs time
where threads are what allows the least: then X is X_g.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np

from npexplore.machine.under_load import KINDS
from npexplore.solve.batch import Batch
from npexplore.solve.stations import Floats

ROUNDS, NEAR = 12, 1e-6
START = 0.9  # of the least ceiling
ONCE, TINY = 1e-6, 1e-9
TURN = 2  # kinds of packets that come by turns


def with_mains(batch: Batch) -> Batch:
    """Return a point with the visits at main places, which a batch has behind arrivals alone."""
    return replace(batch, mains={name: batch.like.main(name)[None, :] for name in batch.seconds})


def carried(batch: Batch, ceilings: Mapping[str, Floats], random: Callable[[Floats], Floats]) -> Floats:
    """Return the packets a second (P,) that threads carry.

    random: X_g of a machine whose servers are looked at as a line at this rate, both (P,).
    """
    most = np.min([*ceilings.values()], axis=0)
    rate = START * most
    for _ in range(ROUNDS):
        before, rate = rate, random(rate)
        if np.all(np.abs(rate - before) <= NEAR * rate):
            break
        rate = (rate + before) / 2
    if _meets_itself(batch, ceilings, most):
        return np.asarray(np.minimum(rate, most))
    threads = ceilings.get("threads", most)
    going = most / np.maximum(threads - most, TINY * most)  # threads that go round, of those that stand in line
    share = min(1.0, variation(batch)) * np.minimum(going, 1.0)
    return np.asarray(most - (most - np.minimum(rate, most)) * share)


def variation(batch: Batch) -> float:
    """Return by how much of what the slowest server needs for a packet in the mean packets differ at any server.

    That is a standard deviation, from packet to packet or by chance, of time over units; a server that some packets do
    not visit counts as one that is visited by chance.
    """
    d, deviations, slowest = batch.like, [0.0], 0.0
    for name, one in d.demands.servers.items():
        row, each = d.main(name), one.seconds / max(d.servers[name].units, 1)
        comes, shares, times = min(row[0], 1.0), row[1 : 1 + KINDS], row[1 + KINDS :]
        slowest = max(slowest, each)
        if comes > 0 and one.seconds > 0:
            squares = float(shares @ times**2 / (shares @ times) ** 2) / comes + one.variance / one.seconds**2
            deviations.append(each * max(squares - 1.0, 0.0) ** 0.5)
    load = batch.like.workload
    by_turns = load.ordered and len(load.packet_bytes) == TURN
    return max(deviations) / slowest / (TURN if by_turns else 1) if slowest else 0.0


def _meets_itself(batch: Batch, ceilings: Mapping[str, Floats], most: Floats) -> bool:
    """Say whether threads are what allows the least, and a single server is visited at several places."""
    servers = batch.like.servers
    single = [name for name in batch.seconds if name in ceilings and servers[name].units == 1]
    again = any(np.any(batch.visits[name] > 1.0 + ONCE) for name in single)
    return again and bool(np.all(ceilings.get("threads", np.inf) <= most))
