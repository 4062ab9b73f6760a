"""Queues behind arrivals as they were recorded: no random process, but every wait that these instants make.

    w(k) = max(0, w(k-c) + S(k-c) - (t(k) - t(k-c)))       c servers that are taken in turn (Lindley 1952)

Exact for one server with any services, and for several with constant ones. Where there is less room than customers
come to need, those who find none are lost.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from npexplore.solve.queueing.inputs import Floats

Flags = npt.NDArray[np.bool_]


class Line(NamedTuple):
    """A place where customers wait: how many work at once, and the seconds (n,) of each customer there."""

    servers: int
    services: Floats


def waits(at: Floats, line: Line) -> Floats:
    """Return what customers wait (n,) at a place with room for all; at: instants (n,) in order."""
    found = np.zeros(len(at))
    for first in range(min(line.servers, len(at))):
        own = slice(first, None, line.servers)
        ahead = np.concatenate([[0.0], np.cumsum(line.services[own][:-1] - np.diff(at[own]))])
        found[own] = ahead - np.minimum.accumulate(ahead)
    return found


def longest(at: Floats, lines: Sequence[Line]) -> Floats:
    """Return what customers wait (n,) in a row of such places: with constant services, as at the slowest alone."""
    found = np.zeros(len(at))
    for line in lines:
        np.maximum(found, waits(at, line), out=found)
    return found


def inside(at: Floats, leave: Floats) -> int:
    """Return how many customers are there at most; leave: when each goes (n,)."""
    return int(np.max(np.arange(1, len(at) + 1) - np.searchsorted(np.sort(leave), at, side="right")))


def kept(at: Floats, lines: Sequence[Line], alone: Floats, room: int) -> tuple[Flags, Floats]:
    """Return who finds room (n,), and what they wait (n,; of others 0), where at most `room` customers fit.

    alone: the seconds (n,) of a customer who does not wait.
    """
    free = [deque([0.0] * line.servers) for line in lines]
    services = [line.services.tolist() for line in lines]
    stays: deque[float] = deque()
    come, waited = np.zeros(len(at), dtype=np.bool_), np.zeros(len(at))
    last = 0.0
    for k, (now, own) in enumerate(zip(at.tolist(), alone.tolist(), strict=True)):
        while stays and stays[0] <= now:
            stays.popleft()
        if len(stays) >= room:
            continue
        wait = max(0.0, *(line[0] - now for line in free))
        for line, each in zip(free, services, strict=True):
            line.append(max(line.popleft(), now) + each[k])
        come[k], waited[k] = True, wait
        last = max(last, now + wait + own)  # who came before leaves before
        stays.append(last)
    return come, waited
