"""The RAW router as two lines at every port: in, a pipeline behind its line card; out, stage 4 and a card that fetches.

    busy      rho = x s / lines, s of a packet at the slowest of the line: the wire, or the hold in which the payload is
              written; a card's s is that of k = 1 + (cards - 1) rho cards at work (loops.py)
    writing   meets a read at its bank with chance r = x s_out / banks; each line then waits for those outstanding
    waiting   (c_a^2 + c_s^2) / 2 times that of exponential times, at both: chance mixes the outputs (finite_queue)
    full      X is the largest x with rho_in <= 1, rho_out <= 1 - starved, x <= roofline

starved: heads of line block. Who all wait for one full queue are let go by each packet that leaves it, and bring a
geometric number (mean 1, variance 2) to each other queue before they meet the full one again: a random walk between 0
and K places without drift, of variance 2 + c^2 by arrivals and c^2 by service. It stands at 0 for (1 + c^2) / K of the
time (reflected Brownian motion: Harrison 1985), for all cards but the full one.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from npexplore.designs.raw.chip import Chip
from npexplore.designs.raw.loops import Loops
from npexplore.designs.raw.memory import lines_of
from npexplore.errors import RefusedError
from npexplore.machine.under_load import UnderLoad
from npexplore.rows.expressions import Variable, evaluate
from npexplore.solve.bounds import bounds
from npexplore.solve.prediction import Latency, Prediction, Utilization
from npexplore.solve.queueing.finite_queue import finite_queue
from npexplore.solve.queueing.inputs import Floats
from npexplore.solve.residence import of_waits

LINES = "lines in and out of every port (Pollaczek-Khinchine)"
LOOPS = (
    "request loops of cards: banks as flow-equivalent stations (exact MVA), lines of a loop by residual-time MVA, one "
    "link for a route, writing as an even share of each bank"
)
STARVED = "blocked heads of line as a reflected random walk"
TURNS = "no waiting for turns of a switch, which under light load is most of the latency"
OF_PIPELINE = ("feed", "stage1", "stage2", "stage3")
ROUNDS = 32  # of bisection
SAME = 1e-9
ENDLESS = 10_000  # places of a queue whose overflow waits in the pipelines before it


@dataclass(frozen=True)
class Line:
    """One of `count` alike lines: seconds of a packet at its slowest part, their scv, and how busy that is."""

    name: str
    count: int
    seconds: float
    scv: float
    busy: float

    def waits(self, rate: float, dispersion: float, places: int) -> float:
        """Return the mean seconds that a packet waits; all lines together get `rate` packets a second.

        dispersion: of the packets of one line, variance / mean of their number in a long time.
        """
        if not self.seconds:
            return 0.0
        longer = (dispersion + self.scv) / 2
        curve = np.array([1.0 / self.seconds])
        return finite_queue(rate / self.count, curve, max(places // self.count, 1), longer)[1] - self.seconds


@dataclass(frozen=True)
class Queues:
    """A chip's lines under the packets of a workload."""

    chip: Chip
    found: UnderLoad

    @cached_property
    def lines(self) -> tuple[Floats, Floats]:
        """Lines of memory that each distinct packet fills, and the packets' shares."""
        columns, shares = self.found.workload.distinct()
        size = Variable("packet_bytes")
        lines = np.asarray(evaluate(lines_of(self.chip, size), {size: columns["packet_bytes"]}), dtype=np.float64)
        return lines * (self.chip.version.payload == "memory"), shares

    @cached_property
    def loops(self) -> Loops:
        """The cards that fetch."""
        lines, shares = self.lines
        return Loops(self.chip, len(self.chip.ports), float(lines @ shares))

    @cached_property
    def scv_of_lines(self) -> float:
        """Squared coefficient of variation of the lines of a packet."""
        lines, shares = self.lines
        mean = self.loops.lines
        return float(lines**2 @ shares) / mean**2 - 1.0 if mean else 0.0

    @cached_property
    def writing_s(self) -> float:
        """Seconds of a bank at which reads stand, too, that writing a packet takes."""
        chip, lines = self.chip, self.loops.lines
        if chip.writer != "dram" or not lines:
            return 0.0
        return float(self.found.demands.servers["dram"].seconds - lines * chip.p.line_cycles * chip.cycle)

    def card(self, rate: float) -> Line:
        """Return the line of an output card where all together carry `rate` packets a second."""
        cards = len(self.chip.ports)
        alone = sum((seconds for name, seconds in self.found.residence.items() if name != "packet"), 0.0)
        if not self.loops.lines:
            return Line("stage4", cards, alone, 0.0, rate * alone / cards)
        writing = rate * self.writing_s / self.loops.banks
        busy, k = 1.0, np.arange(1.0, cards + 1)
        away = self.loops.away
        for _ in range(2):
            each = k / self.loops.rates(writing, min(1.0, busy * cards / self.loops.banks))
            low, high = 0.0, 1.0
            for _ in range(ROUNDS):
                busy = (low + high) / 2
                seconds = float(np.interp(1 + (cards - 1) * busy, k, each))
                low, high = (busy, high) if rate * seconds / cards > busy else (low, busy)
        return Line("dram", cards, seconds, self.scv_of_lines * (1 - away / seconds) ** 2, rate * seconds / cards)

    def meets_s(self, card: Line, rate: float) -> tuple[float, float]:
        """Return the seconds that a packet's writing waits where it finds the bank read, and the chance of that."""
        loops = self.loops
        if self.chip.version.write == "stream" or not self.writing_s:
            return 0.0, 0.0
        line = self.chip.p.line_cycles * self.chip.cycle
        return loops.lines * min(loops.chip.window, loops.lines) * line, min(1.0, rate * card.seconds / loops.banks)

    def pipeline(self, card: Line, rate: float) -> Line:
        """Return the line of a pipeline where all together carry `rate` packets a second: its slowest part."""
        meets, chance = self.meets_s(card, rate)
        short = self.chip.version.short_header and self.chip.p.store == "before_lookup"
        longer = OF_PIPELINE[1:] if short else OF_PIPELINE[:1]
        candidates = []
        for name in ("wire.in", *OF_PIPELINE):
            demand = self.found.by_pool["packet"].servers.get(name)
            if demand is None or not demand.seconds:
                continue
            count = self.found.servers[name].members
            mean, extra = demand.largest(count) * count, meets * (name in longer)
            squares = mean**2 * (1 + self.found.spread(name)) + chance * extra**2 * (1 + self.scv_of_lines)
            seconds = mean + chance * extra
            squares += 2 * chance * mean * extra
            candidates.append(Line(name, count, seconds, max(squares / seconds**2 - 1, 0.0), rate * seconds / count))
        return max(candidates, key=lambda line: line.busy)

    def starved(self, card: Line) -> float:
        """Return the share of the time in which a card has nothing to do although pipelines wait for other cards."""
        if "queue0" not in self.found.machine.resources or self.drops:
            return 0.0
        return min((1.0 + card.scv) / self.places * (1 - 1 / card.count), 1.0)

    def behind_s(self, card: Line, rate: float, full: bool) -> float:
        """Return the seconds between a pipeline and the card's buffer; full: cards allow no more than this rate."""
        if not full:
            return card.seconds + card.waits(rate, 1.0, ENDLESS)
        held = card.count if self.drops else (card.count + 1) / 2  # queues full; else one is, the others walk
        return self.places * held / rate

    def dispersion(self, arrivals: float, count: int) -> float:
        """Return that of the packets of one of `count` lines: chosen by chance, or in turn (a card's pipelines)."""
        in_turn = len(self.chip.pipelines) > len(self.chip.ports)
        return arrivals / count if in_turn else 1.0 + (arrivals - 1.0) / count

    @property
    def drops(self) -> bool:
        """Whether a full queue loses packets."""
        return str(self.chip.p.queue_full) == "discard"

    @property
    def places(self) -> int:
        """Packets in front of a card and at it."""
        return int(self.chip.p.queue_packets) + 1

    def carries(self, rate: float) -> bool:
        """Say whether pipelines and cards keep up."""
        card = self.card(rate)
        return card.busy <= 1.0 - self.starved(card) and self.pipeline(card, rate).busy <= 1.0

    def most(self, roof: float) -> float:
        """Return the most packets a second, at most those of the roofline."""
        low, high = 0.0, roof
        if self.carries(roof):
            return roof
        for _ in range(ROUNDS):
            middle = (low + high) / 2
            low, high = (middle, high) if self.carries(middle) else (low, middle)
        return low


def queues(chip: Chip, found: UnderLoad) -> Prediction:
    """Return the queueing answer; raises RefusedError for arrivals by time stamps."""
    machine, load = found.machine, found.workload
    if load.arrivals == "timestamps":
        raise RefusedError("queueing: time stamps are not a random process; use poisson, batch, on_off or periodic")
    roof = bounds(machine, load, found)
    solved, process = Queues(chip, found), load.process()
    most = solved.most(min(found.ceilings().values()))
    room = machine.pools[0].count
    rate = most if load.rate_pps is None else min(most, load.rate_pps)
    card = solved.card(rate)
    line, starved = solved.pipeline(card, rate), solved.starved(card)
    limited = card.busy >= (1 - starved) * (1 - SAME)
    full = process is None or rate >= most * (1 - SAME)
    behind = solved.behind_s(card, rate, full and limited)
    if process is not None:
        room += int(machine.ingress.capacity / load.mean_packet_bytes)
    ahead = room * line.seconds / line.count if solved.drops else room / rate
    if process is not None and not full:
        meets, chance = solved.meets_s(card, rate)
        waits = line.waits(rate, solved.dispersion(process.dispersion(), line.count), room)
        ahead = min(found.residence["packet"] + meets * chance + waits, ahead)
    named = roof.bottleneck
    if roof.rate_pps > rate * (1 + SAME) * found.finished:
        named = card.name if limited else line.name
    share = rate * found.finished / roof.rate_pps
    about = {"lines": solved.loops.lines, "most_pps": most, "starved": starved}
    if load.rate_pps is not None:
        about["loss"] = 1.0 - rate / load.rate_pps
    own = found.residence["packet"]
    waited = {line.name: (max(ahead - own, 0.0), 0.0), card.name: (max(behind - card.seconds, 0.0), 0.0)}
    return Prediction(
        solver="queueing",
        throughput_bps=rate * found.finished * found.counted_bits,
        rate_pps=rate * found.finished,
        counted=machine.counted,
        bottleneck=named,
        utilization={n: Utilization(u.busy * share) for n, u in roof.utilization.items()},
        latency_s=Latency(ahead + behind),
        breakdown=of_waits(found, waited, ahead + behind),
        offered_pps=load.rate_pps,
        approximation="; ".join(
            [
                LINES,
                *[LOOPS] * bool(solved.loops.lines),
                *[STARVED] * bool(starved),
                *[TURNS] * bool(chip.layout.file.switch),
            ]
        ),
        about=about,
    )
