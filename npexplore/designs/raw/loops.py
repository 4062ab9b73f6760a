"""Closed request loops of the RAW router's output line cards, by mean value analysis at two levels.

    lines:    n cards that read one bank have n W requests outstanding: mu(n) = throughput of that loop (residual-time
              MVA, constant service) through the bank and the busiest link; a worm's other links work beside it
    packets:  the cards are the customers, the banks the stations with rate mu(n) (processor sharing: exact MVA with
              load-dependent rates); think time: the next header, and the first line's way there and back
    writing:  a bank that writes for a share w of the time is 1 / (1 - w) as slow to reads (shadow server: Sevcik 1977);
              where lines are written one by one, each finds its turn among the W of a read that is there: reads have
              W / (W + 1) of the bank for the share w (1 + r W), r the chance that the bank is read

Two levels because a card reads one packet at a time, all its lines from one bank (flow-equivalent stations: Chandy,
Herzog, Woo 1975).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from npexplore.designs.raw.chip import MESSAGE_WORDS, Chip
from npexplore.designs.raw.memory import lines_to_read, reading
from npexplore.machine.machine import Machine
from npexplore.machine.under_load import under_load
from npexplore.solve.queueing import flow_equivalent, mva
from npexplore.solve.queueing.inputs import Floats

LEAST = 1 / 60  # of a bank that writing leaves


def line_rates(chip: Chip, cards: int, left: float = 1.0) -> Floats:
    """Return mu(n), the lines a second of one bank that n = 1..cards line cards read; mean over the buffers.

    left: share of the bank that writing leaves.
    """
    return Loops(chip, cards, 0.0).line_rates(left)


@dataclass(frozen=True)
class Loops:
    """Output cards that fetch packets of `lines` lines in the mean."""

    chip: Chip
    cards: int
    lines: float

    @property
    def banks(self) -> int:
        """Banks of all packet buffers."""
        return len(self.chip.layout.buffers) * self.chip.banks

    @property
    def line_by_line(self) -> bool:
        """Whether a bank is free for reads between two lines that are written."""
        return self.chip.version.write != "stream" and not self.chip.half_duplex

    @cached_property
    def machine(self) -> Machine:
        """The machine in which cards do nothing but read lines."""
        return reading(self.chip)

    @cached_property
    def _alone(self) -> tuple[Floats, Floats]:
        """Of each buffer, the seconds of a line at bank and busiest link (buffers, 2), and elsewhere (buffers,)."""
        at, away = [], []
        for buffer in range(len(self.chip.layout.buffers)):
            d = under_load(self.machine, lines_to_read(self.chip, buffers=[buffer], banks=[0]))
            times = {name: one.largest(d.servers[name].members) for name, one in d.demands.servers.items()}
            at.append([times["dram"], max(seconds for name, seconds in times.items() if name.startswith("mdn."))])
            away.append(float(d.demands.latency) - sum(at[-1]))
        return np.array(at), np.array(away)

    def line_rates(self, left: float) -> Floats:
        """Return mu(n), n = 1..cards, of a bank of which writing leaves a share; mean over the buffers."""
        at, away = self._alone
        outstanding = np.tile(np.arange(1, self.cards + 1) * self.chip.window, len(at))
        every = np.repeat(at / [left, 1.0], self.cards, axis=0)
        found = mva(every, outstanding, np.repeat(away, self.cards), scv=np.zeros(2)).throughput
        mean: Floats = found.reshape(len(at), self.cards).mean(axis=0)
        return mean

    @cached_property
    def away(self) -> float:
        """Seconds of a card between two payloads: stage 4 and its header, a line's way there and back."""
        chip = self.chip
        words = chip.header_words + MESSAGE_WORDS["address"]
        stage4 = max(chip.p.dequeue_cycles - words, 0) + words + 1 + 2 * chip.p.hop_cycles
        return float(stage4 * chip.cycle) + float(under_load(self.machine, lines_to_read(chip)).demands.latency)

    def rates(self, writing: float, read: float) -> Floats:
        """Return the packets a second of 1..cards cards that always have one to fetch, shape (cards,).

        writing: share of the time in which a bank writes. read: chance that a bank is being read.
        """
        left, window = 1.0 - writing, self.chip.window
        if self.line_by_line:
            left = 1.0 - min(1.0, writing * (1 + read * window)) / (window + 1)
        lines = self.line_rates(max(left, LEAST))
        demand = np.full(self.banks, self.lines / lines[0] / self.banks)
        capacity = np.tile(lines / lines[0], (self.banks, 1))
        found: Floats = flow_equivalent(demand, self.cards, capacity, self.away)[0]
        return found
