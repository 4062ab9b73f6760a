"""A log of a run, and its markings reconstructed from the log and the net alone."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from npexplore.errors import InputError
from npexplore.machine.petri import Arc, Formula, Net
from npexplore.records import by_content
from npexplore.solve.petri.run import BEGINS, ENDS, Run

WORDS = ("begins", "ends", "fires")


class Step(NamedTuple):
    """A step of a run: time, transition, how ("begins", "ends", or "fires" at once), and the marking after it."""

    time: float
    transition: str
    how: str
    carried: dict[str, int]
    marking: dict[str, int]


@by_content
@dataclass(frozen=True)
class Log:
    """The first firings of a run: rows as in `Run.log`, times in ticks."""

    net: Net
    ticks: float
    rows: NDArray[np.int64]

    def steps(self) -> Iterator[Step]:
        """Yield the steps by the net's firing rule; raises InputError where the log does not fit the net."""
        net = self.net
        tokens = net.initial.astype(np.int64)
        in_progress: dict[int, list[tuple[int, int]]] = {}
        for time, t, number, how, *values in self.rows.tolist():
            each, carried = net.transitions[t], dict(zip(net.fields, values, strict=True))
            if how != ENDS:
                changes = [[(_place(arc, tokens, carried), _many(arc, tokens, carried)) for arc in arcs]
                           for arcs in (each.take, each.give)]  # fmt: skip
                for place, count in changes[0]:
                    tokens[place] -= count
                in_progress[number] = changes[1]
                if (tokens < 0).any():
                    lacking = net.places[int(np.argmin(tokens))].name
                    raise InputError(f"log of net {net.name!r}: {each.name!r} takes a token that is not in {lacking!r}")
            if how != BEGINS:
                if number not in in_progress:
                    raise InputError(
                        f"log of net {net.name!r}: firing {number} of {each.name!r} ends without beginning"
                    )
                for place, count in in_progress.pop(number):
                    tokens[place] += count
            yield Step(time / self.ticks, each.name, WORDS[how], carried, net.marking(tokens))


def record(net: Net, firings: int = 1000, seed: int = 1) -> Log:
    """Return the log of a run's first firings.

    net: the net to run. firings: beginnings and ends of firings to record, together. seed: of its random numbers.
    """
    run = Run.of(net, seed, logged=firings)
    run.advance(firings=firings)
    return Log(net, run.program.ticks, run.firings.copy())


def _many(arc: Arc, tokens: NDArray[Any], carried: dict[str, int]) -> int:
    weight = arc.weight
    return int(weight(tokens[:, None], carried).ravel()[0]) if isinstance(weight, Formula) else weight


def _place(arc: Arc, tokens: NDArray[Any], carried: dict[str, int]) -> int:
    flat = 0
    if arc.target:
        for at, size in zip(arc.target.at, arc.target.sizes, strict=True):
            value = int(at(tokens[:, None], carried).ravel()[0]) if isinstance(at, Formula) else at
            flat = flat * size + value % size
    return arc.place + flat
