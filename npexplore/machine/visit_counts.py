"""Visits of a program counted by what is held meanwhile, and one after the other.

A queue needs more of visits than their sum: who finds a server taken waits for what is left of a visit of those he
meets, E[S^2] / 2 E[S] of their visits; and who comes again waits by which of his visits are the long ones.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

MAX_TURNS_IN_ORDER = 16  # of a loop whose visits are told apart by their order
Place = tuple[tuple[str, ...], str]  # servers held, and the server that is visited


@dataclass
class VisitCounts:
    """visited: by place, visits and the sum of their squared times. order: by server, (visits, seconds) in turn."""

    visited: dict[Place, Any] = field(default_factory=dict)
    order: dict[str, list[tuple[float, float]]] = field(default_factory=dict)

    def count(self, place: Place, visits: float, squares: float) -> None:
        """Count visits at a place."""
        self.visited[place] = self.visited.get(place, 0.0) + np.array([visits, squares])

    def add(
        self, server: str, visits: float, seconds: float, squares: float, around: tuple[str, ...],
        spent: Mapping[Place, float],
    ) -> None:  # fmt: skip
        """Count the visits of one step to a server; spent: seconds of the step by place, inside what is held around it.

        At several places they are divided by the time at each. Time while a server is held and no other is visited is a
        visit to it.
        """
        self.order.setdefault(server, []).append((visits, seconds))
        here = {
            chain if visited else chain[:-1]: time
            for (chain, visited), time in spent.items()
            if server == (visited or (chain[-1] if chain else "")) and time > 0
        }
        whole = sum(here.values())
        for chain, time in here.items():
            share = time / whole
            self.count((around + chain, server), share * visits, share * squares)

    def lengths(self) -> dict[str, int]:
        """Return how many steps visited each server so far."""
        return {name: len(steps) for name, steps in self.order.items()}

    def repeat(self, begun: Mapping[str, int], turns: int) -> None:
        """Let the steps since `begun`, each counted for all turns of a loop, come turn by turn."""
        turns = min(turns, MAX_TURNS_IN_ORDER)
        for name, steps in self.order.items():
            body = steps[begun.get(name, 0) :]
            if len(body) > 1:
                steps[begun.get(name, 0) :] = [(visits / turns, seconds / turns) for visits, seconds in body] * turns
