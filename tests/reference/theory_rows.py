"""Solvers against theory over random parameters of each resource, as the table of docs/kinds.md.

    python tests/reference/theory_rows.py docs/kinds.md

For each resource 30 points drawn by a seed, closed (1 to 32 threads) and open (5 to 95 % load) in turn, and the corner
cases. Throughput is compared closed and where packets are lost, mean latency else. Simulation's interval is at most 2 %
wide to each side. Where theory is a lower bound, simulation may not be below it, and queueing is compared with
simulation.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from npexplore.machine.resources import Policer
from npexplore.progress import Task
from npexplore.study.laboratory.exploration import SOLVERS
from npexplore.study.laboratory.points import Exploration, Point
from npexplore.study.laboratory.resource import SingleResource, resource

POINTS, SEED = 30, 43
BEGIN, END = "<!-- theory -->", "<!-- end of theory -->"
CLOSE = 0.05  # of queueing to theory
ROUNDING = 1e-3  # of runs without chance: their intervals have no width
LOADS = (0.05, 0.95)
Draw = Callable[[random.Random], dict[str, Any]]


def _ns(r: random.Random, low: int, high: int) -> float:
    return r.randint(low, high) * 1e-9


DRAWS: dict[str, Draw] = {
    "banks": lambda r: {
        "banks": r.randint(1, 8), "word_s": _ns(r, 1, 3) * 5, "precharge_s": r.choice([0, 1, 2, 4, 8]) * 10e-9,
        "latency_s": r.choice([0, 0, 50e-9]),
    },
    "bus": lambda r: {"word_bytes": r.choice([4, 8, 16]), "word_s": _ns(r, 1, 20), "packet_bytes": r.randint(20, 1500)},
    "hash": lambda r: {
        "clock_mhz": float(r.randint(50, 800)), "latency_clocks": r.randint(0, 60), "bytes": r.randint(1, 64),
        "requests": r.choice([16, 64, 256]),
    },
    "sram": lambda r: {
        "channels": r.randint(1, 4), "burst_words": r.choice([1, 2, 4]), "bytes": r.randint(1, 64),
        "efficiency": r.choice([0.5, 0.8, 1.0]), "latency_s": _ns(r, 0, 100),
    },
    "crossing": lambda r: {
        "paths": r.choice([2, 4]), "words": r.randint(4, 64), "clock_hz": float(r.randint(1, 10)) * 1e8,
        "path": r.choice(["random", "round_robin"]), "change_cycles": r.choice([0, 0, 2, 8]),
    },
    "dram_controller": lambda r: {
        "device": r.choice(["ddr4_2400", "ddr4_3200", "ddr5_4800", "lpddr5_6400"]), "channels": 1,
        "bytes": r.randint(1, 256), "bank": 0,
        "policy": {"page": "closed", "refresh": "none"},
    },
    "server": lambda r: {"service_s": _ns(r, 1, 500)},
    "accelerator": lambda r: {"interval_s": _ns(r, 1, 50), "latency_s": _ns(r, 50, 500)},
    "channel": lambda r: {"rate_hz": float(r.randint(1, 500)) * 1e6, "depth": r.choice([1, 1, 2, 4])},
    "policer": lambda r: {"rates_pps": [float(r.randint(1, 50)) * 1e5], "depth": r.randint(1, 16)},
    "pool": lambda r: {"count": r.randint(1, 12), "held": f"{r.randint(1, 500)} ns"},
    "lock": lambda r: {
        "acquire_cycles": r.randint(0, 50), "release_cycles": r.randint(0, 50), "held": f"{r.randint(50, 500)} ns",
        "wake_cycles": r.choice([0, 20, 100]),
    },
    "mesh": lambda r: {"source": r.randint(0, 15), "target": r.randint(0, 15), "words": r.randint(4, 64)},
    "line_card": lambda r: {"bytes_per_s": float(r.randint(1, 100)) * 1e8, "packet_bytes": r.randint(20, 1500)},
    "qdr_sram": lambda r: {
        "clock_mhz": float(r.randint(50, 500)), "channels": r.randint(1, 4), "bytes": r.randint(1, 64)
    },
    "ethernet_port": lambda r: {"gbps": r.choice([10, 25, 40, 100, 400]), "packet_bytes": r.randint(20, 1500)},
    "byte_engine": lambda r: {
        "bytes_per_s": float(r.randint(1, 100)) * 1e8, "latency_ns": float(r.randint(0, 200)),
        "packet_bytes": r.randint(20, 1500),
    },
    "pcie_link": lambda r: {
        "generation": r.randint(3, 5), "lanes": r.choice([1, 2, 4]), "packet_bytes": r.randint(1, 256),
        "header_credits": 128, "data_credits": 2048,
    },
}  # fmt: skip
CORNERS: dict[str, list[dict[str, Any]]] = {
    "banks": [{"banks": 1}, {"precharge_s": 0.0}, {"banks": 16, "precharge_s": 0.0}],
    "crossing": [{"paths": 2}, {"paths": 4}, {"paths": 2, "path": "round_robin", "change_cycles": 16}],
    "dram_controller": [{"bank": 0, "policy": {"page": "closed", "refresh": "none"}}],
    "lock": [{}, {"held": "100 ns", "wake_cycles": 50}],
    "policer": [{"depth": 1}, {"depth": 32}],
}


@dataclass
class Row:
    """What was counted for one resource; errors are relative to theory."""

    name: str
    result: str
    points: int = 0
    inside: int = 0
    simulated: int = 0
    answered: int = 0
    close: int = 0
    below: int = 0
    worst: float = 0.0
    misses: list[str] = field(default_factory=list)

    def add(self, exploration: Exploration) -> None:
        """Count the one point of an exploration, if theory has an answer there."""
        truths = exploration.of("theory")
        if not truths:
            return
        by_rate = truths[0].threads is not None or truths[0].loss is not None  # where packets are lost, none waits
        values = {point.solver: _known(point, by_rate) for point in exploration.points}
        known = {solver: value for solver, value in values.items() if value is not None}
        answers, truth = {point.solver: point for point in exploration.points}, known["theory"]
        where = f"{exploration.parameters} {answers['theory'].threads or answers['theory'].rate_pps}"
        self.points += 1
        if "simulation" in known:
            low, high = _ends(answers["simulation"], by_rate)
            self.simulated += 1
            below = (
                exploration.theory is not None
                and exploration.theory["open"] == "bound"
                and answers["theory"].threads is None
            )
            inside = (below or low - ROUNDING * truth <= truth) and truth <= high + ROUNDING * truth
            self.inside += inside
            if not inside:
                self.misses.append(f"simulation {low:.4g}..{high:.4g}, theory {truth:.4g}: {where}")
            if below:
                truth = known["simulation"]
        if "queueing" in known:
            error = known["queueing"] / truth - 1
            self.answered += 1
            self.close += abs(error) <= CLOSE
            self.worst = max(self.worst, abs(error))
            if abs(error) > CLOSE:
                self.misses.append(f"queueing {error:+.1%}: {where}")
        if "bounds" in known:
            bound = known["bounds"]
            self.below += bound < truth * (1 - ROUNDING) if by_rate else bound > truth * (1 + ROUNDING)


def _known(point: Point, by_rate: bool) -> float | None:
    return point.throughput_pps if by_rate else point.latency_s


def _ends(point: Point, by_rate: bool) -> tuple[float, float]:
    low, high = (point.low_pps, point.high_pps) if by_rate else (point.low_s, point.high_s)
    value = _known(point, by_rate)
    assert value is not None
    return (value if low is None else low), (value if high is None else high)


def explorations(name: str, points: int = POINTS, seed: int = SEED, solvers: Any = SOLVERS) -> Iterator[Exploration]:
    """Yield explorations of one point each: drawn ones, then the corner cases."""
    r = random.Random(f"{seed} {name}")
    for k in range(points):
        lone = resource(name, **DRAWS[name](r))
        yield from _explored(lone, k % 2 == 0 and not isinstance(lone.resource, Policer), r, k, solvers)
    for k, corner in enumerate(CORNERS.get(name, [{}])):
        lone = resource(name, **corner)
        for closed in (True, False)[isinstance(lone.resource, Policer) :]:
            yield from _explored(lone, closed, r, k, solvers, at=1 if closed else LOADS[1])


def _explored(
    lone: SingleResource, closed: bool, r: random.Random, k: int, solvers: Any, at: float | None = None
) -> Iterator[Exploration]:
    if closed:
        threads = int(at) if at is not None else r.choice([1, 2, 3, 4, 6, 8, 12, 16, 24, 32])
        yield lone.explore(threads=threads, solvers=solvers, seed=k + 1)
    else:
        load = at if at is not None else r.uniform(*LOADS)
        rate: float | str = load
        if isinstance(lone.resource, Policer):  # no ceiling, and loads above 1
            rate = f"{2 * load * lone.resource.rates[0]:.9g} pps"
        yield lone.explore(rate=[rate], solvers=solvers, seed=k + 1)


def table(rows: list[Row]) -> str:
    """Return rows as Markdown."""
    heads = (
        "resource", "known result", "points", "in simulation's interval", "queueing answered", "within 5 %", "worst",
        "bounds wrong",
    )  # fmt: skip
    lines = [f"| {' | '.join(heads)} |", "|---" * len(heads) + "|"]
    for row in rows:
        cells = (row.name, row.result, row.points, f"{row.inside} of {row.simulated}", row.answered, row.close,
                 f"{row.worst:.0%}", row.below)  # fmt: skip
        lines.append(f"| {' | '.join(map(str, cells))} |")
    return "\n".join(lines)


def judged(name: str, task: Task | None = None) -> Row:
    """Return the row of a resource."""
    row = Row(name, "")
    for exploration in explorations(name):
        row.result = row.result or (exploration.theory or {}).get("name", "")
        row.add(exploration)
        if task is not None:
            task.advance()
    return row


def write(page: Path) -> None:
    """Write the table between the marks of a page; what misses goes to standard error."""
    rows = []
    with Task("theory", unit="point") as task:
        for name in DRAWS:
            rows.append(judged(name, task))
            for miss in rows[-1].misses:
                print(f"{name}: {miss}", file=sys.stderr)
    before, _, rest = page.read_text(encoding="utf-8").partition(BEGIN)
    _, _, after = rest.partition(END)
    page.write_text(f"{before}{BEGIN}\n{table(rows)}\n{END}{after}", encoding="utf-8")


if __name__ == "__main__":
    write(Path(sys.argv[1]))
