"""Where the bits of registers stand in a context, and what each step puts there; `allocation` finds it out.

at[name][k]               the place of a register's bit k; NOWHERE of one that nobody needs, which is read as 0
writes[step][place]       the register's bit that a step puts there; other places stay as they are
enters[place]             the same where a packet comes into the context; other places are 0 then
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

NOWHERE = -1
Bit = tuple[str, int]  # a register, or an input of a graph, and a bit of it, the lowest 0
T = TypeVar("T")


@dataclass(frozen=True)
class Places:
    """A context of so many bits (at least one), and what stands where; see the module."""

    at: Mapping[str, tuple[int, ...]]
    bits: int
    writes: Mapping[str, Mapping[int, Bit]]
    enters: Mapping[int, Bit]

    def read(self, name: str, vector: str) -> str:
        """Return a register out of a context as Verilog has it."""
        parts = [
            f"{len(run)}'d0" if run[0] == NOWHERE else f"{vector}[{run[-1]}:{run[0]}]"
            for run in reversed(runs_of(self.at[name], _beside))
        ]
        return parts[0] if len(parts) == 1 else f"{{{', '.join(parts)}}}"

    def put(self, bits: Mapping[int, Bit]) -> list[tuple[int, int, Bit | None]]:
        """Return what is put into a whole context: lowest place, how many, and the first bit, None of what is not."""
        runs = runs_of([(place, bits.get(place)) for place in range(self.bits)], _goes_on)
        return [(run[0][0], len(run), run[0][1]) for run in runs]


def _beside(a: int, b: int) -> bool:
    return b == NOWHERE if a == NOWHERE else b == a + 1


def _goes_on(a: tuple[int, Bit | None], b: tuple[int, Bit | None]) -> bool:
    if a[1] is None or b[1] is None:
        return a[1] is b[1]
    return b[1] == (a[1][0], a[1][1] + 1)


def runs_of(items: Sequence[T], goes_on: Callable[[T, T], bool]) -> list[list[T]]:
    """Return items in runs, in which each goes on from the one before."""
    runs: list[list[T]] = []
    for item in items:
        if runs and goes_on(runs[-1][-1], item):
            runs[-1].append(item)
        else:
            runs.append([item])
    return runs
