"""Which result holds for which resource."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from npexplore.study.laboratory.lone import LoneResource


@dataclass(frozen=True)
class Theory:
    """A result with its source: packets a second of a number of threads, mean seconds at packets a second offered.

    Both raise RefusedError where nothing exact is known.
    """

    name: str
    source: str
    closed: Callable[[int], float]
    open: Callable[[float], float]


def theory_of(lone: LoneResource) -> Theory | None:
    """Return the exact or best known result for a resource alone; None if there is none."""
    return None
