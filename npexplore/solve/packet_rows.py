"""Rows of every packet's fate as columns, for all packets or some of them: names are those that all rows need."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from npexplore._kernels import engine
from npexplore.engine.accounts import DROP
from npexplore.engine.fates import NOWHERE, Fates, Totals

Integers = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
OUTCOMES = SENT, DROPPED, INSIDE = "sent", "dropped", "inside"
TIMES = ((engine.SERVED, "service"), (engine.WAITED, "waiting"), (engine.HELD_UP, "held"))


@dataclass(frozen=True)
class PacketRows:
    """The rows of a run in ticks (`fates`), and why packets are lost, by place (`reasons`)."""

    fates: Fates
    reasons: Mapping[str, str]

    @cached_property
    def totals(self) -> Totals:
        """Sums over all rows."""
        return self.fates.totals()

    @property
    def counts(self) -> dict[str, int]:
        """Packets by outcome: sent, dropped, inside."""
        sent, dropped = self.totals.sent, int(self.totals.drops.sum())
        return {SENT: sent, DROPPED: dropped, INSIDE: len(self.fates.rows) - sent - dropped}

    @property
    def drops(self) -> dict[str, int]:
        """Packets dropped, by place."""
        lost = np.flatnonzero(self.totals.drops).tolist()
        return {place: int(self.totals.drops[k]) for place, k in zip(self._places, lost, strict=True)}

    def columns(self, part: slice) -> dict[str, Any]:
        """Return times in seconds, outcome, place and reason of drops, and thread of some rows."""
        import pandas as pd

        fates, model, names, places = self.fates.part(part), self.fates.model, [*self.drops], self._places
        rows, tick, lost = fates.rows, model.tick, np.flatnonzero(self.totals.drops)
        end = np.where(fates.finished, rows[:, engine.F_END], NOWHERE)
        at = np.where(fates.lost, np.searchsorted(lost, rows[:, engine.F_DROP]), NOWHERE)
        reasons = list(dict.fromkeys(map(self.reasons.__getitem__, places)))
        known = [reasons.index(self.reasons[place]) for place in places]
        reason = np.array([*known, NOWHERE], dtype=np.int64)[at]
        outcome = np.select([fates.finished, fates.lost], [0, 1], 2).astype(np.int64)
        threads = [f"{token.name} {k}" for k, token in enumerate(model.tokens)]
        return {
            "arrival_s": _seconds(rows[:, engine.F_ARRIVAL], tick),
            "start_s": _seconds(rows[:, engine.F_START], tick),
            "departure_s": _seconds(end, tick),
            "latency_s": np.where(fates.finished, (end - rows[:, engine.F_ARRIVAL]) * tick, np.nan),
            "outcome": pd.Categorical.from_codes(outcome, categories=list(OUTCOMES)),
            "dropped_at": pd.Categorical.from_codes(at, categories=names),
            "reason": pd.Categorical.from_codes(reason, categories=reasons),
            "thread": pd.Categorical.from_codes(rows[:, engine.F_THREAD], categories=threads),
        }

    def by_resource(self, part: slice) -> dict[str, Floats]:
        """Return the columns of waiting and service of some rows, of the resources where any packet spent time."""
        places, fates = self.fates.model.places, self.fates.part(part)
        if places is None or not len(self.totals.visited):
            return {}
        ended, tick = fates.finished | fates.lost, self.fates.model.tick
        return {
            f"{name or 'elsewhere'}.{word}_s": np.where(ended, fates.rows[:, engine.F_FIRST + column] * tick, np.nan)
            for k, name in enumerate(places.names)
            for kind, word in TIMES
            if self.totals.visited[column := 3 * k + kind]
        }

    @property
    def _places(self) -> list[str]:
        """The places that lost packets, in the order of their counters."""
        return [self.fates.model.counters[k].removeprefix(DROP) for k in np.flatnonzero(self.totals.drops)]


def _seconds(ticks: Integers, tick: float) -> Floats:
    return np.where(ticks == NOWHERE, np.nan, ticks * tick)
