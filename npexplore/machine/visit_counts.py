"""Counts the visits of a program to each server, by the servers held meanwhile and in the order of the program.

A queueing formula needs more than the total time. A packet that finds a server busy waits for the residual life of the
visit in service, E[S^2] / 2 E[S]. For a packet that visits a server repeatedly, the order of long and short visits
matters.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

MAX_TURNS_IN_ORDER = 16  # iterations of a loop whose visits are listed one by one
Place = tuple[tuple[str, ...], str]  # servers held, and the server that is visited


@dataclass
class VisitCounts:
    """visited: by place, visits and the sum of their squared times, s². order: by server, (visits, seconds) by step."""

    visited: dict[Place, Any] = field(default_factory=dict)
    order: dict[str, list[tuple[float, float]]] = field(default_factory=dict)

    def count(self, place: Place, visits: float, squares: float) -> None:
        """Count visits at a place."""
        self.visited[place] = self.visited.get(place, 0.0) + np.array([visits, squares])

    def add(
        self, server: str, visits: float, seconds: float, squares: float, around: tuple[str, ...],
        spent: Mapping[Place, float],
    ) -> None:  # fmt: skip
        """Count the visits of one step to a server.

        around: servers held at the step. spent: seconds of the step by place, inside those. Visits at several places
        are divided among them by time. Time while a server is held and no other is visited counts as a visit to it.
        """
        self.order.setdefault(server, []).append((visits, seconds))
        seconds_by_chain = {
            chain if visited else chain[:-1]: time
            for (chain, visited), time in spent.items()
            if server == (visited or (chain[-1] if chain else "")) and time > 0
        }
        total = sum(seconds_by_chain.values())
        for chain, time in seconds_by_chain.items():
            share = time / total
            self.count((around + chain, server), share * visits, share * squares)

    def lengths(self) -> dict[str, int]:
        """Return how many steps have visited each server so far."""
        return {name: len(steps) for name, steps in self.order.items()}

    def repeat(self, begun: Mapping[str, int], turns: int) -> None:
        """Unroll a loop in `order`: replace its steps, each with the sum over all turns, by one entry per turn.

        begun: the lengths (`lengths`) before the loop. At most MAX_TURNS_IN_ORDER turns are listed.
        """
        turns = min(turns, MAX_TURNS_IN_ORDER)
        for name, steps in self.order.items():
            body = steps[begun.get(name, 0) :]
            if len(body) > 1:
                steps[begun.get(name, 0) :] = [(visits / turns, seconds / turns) for visits, seconds in body] * turns
