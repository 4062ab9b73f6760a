"""`Places`: the places of register bits in a context, and what each step writes there; `allocation` computes them.

at[name][k]               the place of a register's bit k; NOWHERE for a bit that is never needed, which is read as 0
writes[step][place]       the register's bit that a step writes to a place; other places keep their values
enters[place]             the same for a packet that enters the context; other places become 0
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

NOWHERE = -1
Bit = tuple[str, int]  # a register, or an input of a graph, and the number of its bit, the lowest 0
T = TypeVar("T")


@dataclass(frozen=True)
class Places:
    """A context of `bits` bits (at least one), and the contents of its places, as the module describes."""

    at: Mapping[str, tuple[int, ...]]
    bits: int
    writes: Mapping[str, Mapping[int, Bit]]
    enters: Mapping[int, Bit]

    def read(self, name: str, vector: str) -> str:
        """Return the Verilog expression of a register in the context `vector`."""
        parts = [
            f"{len(run)}'d0" if run[0] == NOWHERE else f"{vector}[{run[-1]}:{run[0]}]"
            for run in reversed(runs_of(self.at[name], _beside))
        ]
        return parts[0] if len(parts) == 1 else f"{{{', '.join(parts)}}}"

    def put(self, bits: Mapping[int, Bit]) -> list[tuple[int, int, Bit | None]]:
        """Return runs that cover the context: (lowest place, number of places, first bit or None if unchanged)."""
        runs = runs_of([(place, bits.get(place)) for place in range(self.bits)], _goes_on)
        return [(run[0][0], len(run), run[0][1]) for run in runs]


def _beside(a: int, b: int) -> bool:
    return b == NOWHERE if a == NOWHERE else b == a + 1


def _goes_on(a: tuple[int, Bit | None], b: tuple[int, Bit | None]) -> bool:
    if a[1] is None or b[1] is None:
        return a[1] is b[1]
    return b[1] == (a[1][0], a[1][1] + 1)


def runs_of(items: Sequence[T], goes_on: Callable[[T, T], bool]) -> list[list[T]]:
    """Split items into runs in which each item continues the previous one."""
    runs: list[list[T]] = []
    for item in items:
        if runs and goes_on(runs[-1][-1], item):
            runs[-1].append(item)
        else:
            runs.append([item])
    return runs
