"""Truths of advice: random machines with knobs, and long independent runs of what the first change of `explain` does.

    python tests/reference/advice_truths.py make FIRST END      adds the advice of machines FIRST to END - 1
    python tests/reference/advice_truths.py judge [FIRST END]   asks for advice anew; prints how much of it holds

The machines are those of random_machines.py, drawn anew with knobs: threads of each pool, engines and clock of each
processor, units and speed of each server. Every fifth has two servers of one constant time at the ends of its first
pool, which are its bottleneck together. A truth is the ratio of two long runs (estimate_truths.py), its half width, and
what binds after the change; nan where the changed machine comes to no steady state. Advice that changes has no truth
until it is made.
"""

import csv
import sys
from dataclasses import dataclass
from functools import lru_cache
from math import hypot, inf, isnan, log
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from reference.estimate_truths import truth
from reference.random_machines import CHECKED_PACKETS, MAX_DRAWS, MAX_THREADS, RandomMachine, _Draw, packets_of

from npexplore.designs import Design
from npexplore.errors import InputError, ModelError, RefusedError, SimulationError
from npexplore.machine.parameters import MachineFile, Parameter, Parameters
from npexplore.machine.resources import FifoServer, Processor
from npexplore.machine.under_load import under_load
from npexplore.rows.distributions import Deterministic
from npexplore.study.explaining.whatif import what_if_in_stages

FILE = Path(__file__).with_suffix(".csv")
COLUMNS = ("machine", "settings", "log_ratio", "half", "bottleneck")
NEGLIGIBLE, NARROW = 5e-4, 0.03  # log ratios: closer ones are equal; half widths that advice should have
PAIR, PAIR_EVERY, PAIR_SHARE = ("first", "last"), 5, 0.7  # servers that bind together; of the ceiling without them


class _KnobDraw(_Draw):
    """A draw whose numbers are knobs. values: of knobs, by name; defaults: what was drawn for each."""

    def __init__(self, seed, values, pair_s):
        super().__init__(seed)
        self.values, self.pair_s, self.paired, self.defaults = values, pair_s, False, {}
        if pair_s:
            self.add(*(FifoServer(name, Deterministic(mean=pair_s)) for name in PAIR))

    def knob(self, name, default):
        self.defaults[name] = default
        return self.values.get(name, default)

    def add(self, *resources):
        for one in resources:
            if type(one) is Processor:
                one.engines = self.knob(f"{one.name}_engines", one.engines)
                one.cycle /= self.knob(f"{one.name}_speed", 1.0)
            elif type(one) is FifoServer:
                speed = self.knob(f"{one.name}_speed", 1.0)
                one.units = self.knob(f"{one.name}_units", one.units)
                one.service /= speed
                if one.random is not None:
                    one.random = type(one.random)(mean=one.random.mean / speed)
        return super().add(*resources)

    def steps(self, home, depth, *more, **options):
        body = super().steps(home, depth, *more, **options)
        if depth or not self.pair_s or self.paired:
            return body
        self.paired = True
        first, last = (lambda m, name=name: getattr(m, name).serve() for name in PAIR)
        return [first, *body, last]

    def near_the_knee(self, built):
        values, self.values = self.values, {}
        if not values:
            super().near_the_knee(built)
            for pool in built.pools if self.pair_s else ():
                pool.count = min(4 * pool.count, MAX_THREADS)  # so that threads do not bind
        self.values = values

    def machine(self):
        built = super().machine()
        for pool in built.pools:
            pool.count = self.knob(f"{pool.name}_threads", pool.count)
        return built


def _design(name, seed, pair_s):
    """Return the design of one attempt and the draw that it is."""
    first = _KnobDraw(seed, {}, pair_s)
    first.machine()
    file = MachineFile(
        name=name, title=name,
        parameter={
            knob: Parameter(kind="knob", value=value, min=value / 64, max=64 * value, about=knob, source="drawn")
            for knob, value in first.defaults.items()
        },
    )  # fmt: skip

    def build(parameters):
        built = _KnobDraw(seed, {knob: parameters[knob] for knob in first.defaults}, pair_s).machine()
        built.name = name
        return built

    return Design(name, Parameters(file), build), first


@lru_cache
def knob_machine(number):
    """Return a machine by its number; of those drawn for it the first that simulation can run, saturated."""
    for attempt in range(MAX_DRAWS):
        seed, name = f"knobs{number}/{attempt}", f"knobs{number}"
        try:
            design, draw = _design(name, seed, 0.0)
            load = packets_of(draw.mix)
            if number % PAIR_EVERY == 0:
                ceilings = under_load(design.machine(load), load).ceilings()
                pair_s = 1e-9 * round(1e9 / (PAIR_SHARE * min(ceilings.values())))
                design, draw = _design(name, seed, pair_s)
            design.simulate(load, packets=CHECKED_PACKETS, breakdown=False)
        except (ModelError, InputError, RefusedError, SimulationError):
            continue
        return RandomMachine(number, design, draw.mix, draw.features)
    raise AssertionError(f"no machine for {number} in {MAX_DRAWS} draws")


def advice(number):
    """Return what `explain` advises first: new values by knob, gain, low, high and what binds then; None: nothing."""
    drawn = knob_machine(number)
    (tried,) = what_if_in_stages(drawn.design, drawn.workload(), early=False, knees=False, workers=2)
    if tried.joint is not None:
        one = tried.joint
        values = {setting.knob: setting.value for setting in one.settings}
    elif tried.gains:
        one = tried.gains[0]
        values = {one.knob: one.value}
    else:
        return None
    return values, one.gain, one.low, one.high, one.bottleneck


def text_of(values):
    """Return settings as a text."""
    return " ".join(f"{name}={value!r}" for name, value in sorted(values.items()))


def known():
    """Return the stored truths: (machine, settings) -> (log ratio, half width, bottleneck)."""
    if not FILE.exists():
        return {}
    with FILE.open(newline="") as file:
        return {
            (int(row["machine"]), row["settings"]): (float(row["log_ratio"]), float(row["half"]), row["bottleneck"])
            for row in csv.DictReader(file)
        }  # fmt: skip


def measured(number, values):
    """Return the truth of a change: the log ratio of two long runs, its half width, what binds after it."""
    drawn = knob_machine(number)
    runs = []
    for design in (drawn.design, drawn.design.with_(**values)):
        answer = truth(RandomMachine(number, design, drawn.mix), "saturated", None)
        low, high = answer.ci95["rate_pps"]
        runs.append((answer.rate_pps, (high - low) / 2 / answer.rate_pps, answer.bottleneck))
    (now, before, _), (then, after, bottleneck) = runs
    return log(then / now), hypot(before, after), bottleneck


def make(first, end):
    """Add the truths of the advice to machines first .. end - 1 that have none; modes have none."""
    stored, new = known(), not FILE.exists()
    with FILE.open("a", newline="") as file:
        out = csv.writer(file, lineterminator="\n")
        if new:
            out.writerow(COLUMNS)
        for number in range(first, end):
            advised = advice(number)
            if advised is None or (number, text_of(advised[0])) in stored:
                continue
            try:
                ratio, half, bottleneck = measured(number, advised[0])
            except RefusedError as error:
                print(number, error, file=sys.stderr)
                continue
            except SimulationError as error:  # forked work piles up in long runs: advice that does not hold
                print(number, error, file=sys.stderr)
                ratio, half, bottleneck = float("nan"), 0.0, ""
            out.writerow((number, text_of(advised[0]), f"{ratio:.6g}", f"{half:.3g}", bottleneck))
            file.flush()


@dataclass
class Judged:
    """One machine's advice beside its truth: distance and half widths of the log ratio, whether what binds is right."""

    machine: int
    distance: float
    half: float
    true_half: float
    binds: bool
    joint: bool

    def holds(self, widen=1.0):
        """Return whether the truth lies inside the interval. widen: a fault, by which intervals are multiplied."""
        return self.distance <= max(hypot(widen * self.half, self.true_half), NEGLIGIBLE)


def judged(numbers):
    """Return the advice of machines beside its truths, and the machines whose advice has none."""
    stored, rows, without = known(), [], []
    for number in numbers:
        advised = advice(number)
        if advised is None:
            continue
        values, gain, low, high, bottleneck = advised
        if (number, text_of(values)) not in stored:
            without.append(number)
            continue
        ratio, true_half, binds = stored[number, text_of(values)]
        half = 0.0 if low is None else (log(1 + high) - log(1 + low)) / 2
        distance = inf if isnan(ratio) else abs(log(1 + gain) - ratio)
        rows.append(Judged(number, distance, half, true_half, binds == bottleneck, len(values) > 1))
    return rows, without


def main(task, first=0, end=200):
    """Make truths or judge advice of machines first .. end - 1."""
    if task == "make":
        make(int(first), int(end))
        return
    rows, without = judged(range(int(first), int(end)))
    print(f"{len(rows)} with advice and a truth, {sum(row.joint for row in rows)} jointly; without a truth: {without}")
    for name, good in (
        ("inside", [row.holds() for row in rows]), ("what binds next", [row.binds for row in rows]),
        ("interval at most 3 %", [row.half <= NARROW for row in rows]),
    ):  # fmt: skip
        print(f"{name}: {sum(good) / len(rows):.1%}")
    print("not:", *(row for row in rows if not (row.holds() and row.binds)), sep="\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
