"""Truths of random machines for the gates of `estimate`: long independent runs, stored in estimate_truths.csv.

    python tests/reference/estimate_truths.py make FIRST END      adds machines FIRST to END - 1 (some 5 s each)
    python tests/reference/estimate_truths.py judge [FIRST END]   estimates every point; prints coverage and time

Each point: a machine of random_machines.py, arrivals and a rate; runs whose windows are 8 times and warm-ups 4 times as
long as those of an estimate, from other seeds. To make the file anew, delete all of it but its first line.
"""

import csv
import sys
from dataclasses import replace
from pathlib import Path
from time import process_time

sys.path.insert(0, str(Path(__file__).parents[1]))

from reference.random_machines import random_machine

from npexplore.errors import NpexploreError, RefusedError
from npexplore.solve.estimate.answer import answer
from npexplore.solve.estimate.estimate import _saturated, _until
from npexplore.solve.estimate.plan import Ask, plan_of
from npexplore.solve.estimate.replications import Subject

FILE = Path(__file__).with_suffix(".csv")
SEED = 77  # of the truths; estimates are judged with others
RUNS, LONGER, WARMER = 8, 8, 4
BUDGET = 5e7  # events for the saturated rate
POISSON = (0.5, 0.8, 0.95)
OTHERS = (("batch:8", 0.6), ("periodic", 0.8), ("batch:4:geometric", 0.4), ("poisson", 0.001))  # one a machine, in turn
NAMES = ("mean", "p50", "p95", "p99")
COLUMNS = (
    "machine", "arrivals", "load", "offered_pps", "rate_pps", "rate_half", "loss", "loss_half",
    *(f"{name}{end}_ns" for name in NAMES for end in ("", "_half")),
)  # fmt: skip


def numbers(prediction):
    """Return what is compared: name -> (value, low end, high end) of every number with an interval."""
    keys = {"rate": "rate_pps", "loss": "loss", "mean": "latency_s", **{p: f"latency_s.{p}" for p in NAMES[1:]}}
    values = {"rate": prediction.rate_pps, "loss": prediction.loss, **prediction.latency_s._asdict()}
    return {
        name: tuple((1e9 if name in NAMES else 1.0) * x for x in (values[name], *prediction.ci95[key]))
        for name, key in keys.items() if key in prediction.ci95
    }  # fmt: skip


def truth(drawn, arrivals, rate):
    """Return the long runs' answer; raises RefusedError where estimates refuse too."""
    load = drawn.workload(arrivals, rate)
    subject = Subject(drawn.design.machine(load), load)
    ask = Ask(SEED, 0.0, BUDGET, RUNS)
    short, modes, saturated, _ = _saturated(subject, ask)
    if modes is not None:
        raise RefusedError(f"modes: {modes}")
    plan = saturated if rate is None else plan_of(subject, short, None, SEED)
    plan = replace(plan, warm_up=WARMER * plan.warm_up, packets=LONGER * plan.packets)
    return answer(subject, _until(subject, plan, [], ask), plan, None, ask, 0.0)


def make(first, end):
    """Add the truths of machines first .. end - 1 that have none."""
    known = {machine for machine, *_ in points()}
    with FILE.open("a", newline="") as file:
        out = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        for seed in sorted(set(range(first, end)) - known):
            out.writerows(rows_of(seed))
            file.flush()


def rows_of(seed):
    """Return the rows of one machine."""
    drawn, full, rows = random_machine(seed), 0.0, []
    for arrivals, load in (("saturated", None), *(("poisson", x) for x in POISSON), OTHERS[seed % len(OTHERS)]):
        rate = None if load is None else float(f"{load * full:.4g}")
        try:
            found = numbers(truth(drawn, arrivals, rate))
        except NpexploreError as error:
            print(seed, arrivals, load, error, file=sys.stderr)
            if load is None:
                return rows
            continue
        full = full or found["rate"][0]
        row = {"machine": seed, "arrivals": arrivals, "load": load or "", "offered_pps": rate or ""}
        names = {"rate": "rate_pps", "loss": "loss", **{name: f"{name}_ns" for name in NAMES}}
        halves = {"rate": "rate_half", "loss": "loss_half", **{name: f"{name}_half_ns" for name in NAMES}}
        for name, (value, low, high) in found.items():
            row |= {names[name]: f"{value:.7g}", halves[name]: f"{(high - low) / 2:.3g}"}
        rows.append(row)
    return rows


def points():
    """Return the stored truths: (machine, arrivals, load, offered rate or None, {name: (value, half width)})."""
    found = []
    for row in csv.DictReader(FILE.read_text().splitlines()):
        values = {
            name: (float(row[value]), float(row[half]))
            for name, value, half in (
                ("rate", "rate_pps", "rate_half"), ("loss", "loss", "loss_half"),
                *((name, f"{name}_ns", f"{name}_half_ns") for name in NAMES),
            ) if row[value]
        }  # fmt: skip
        load, rate = (float(row[name]) if row[name] else None for name in ("load", "offered_pps"))
        found.append((int(row["machine"]), row["arrivals"], load, rate, values))
    return found


def inside(found, true):
    """Return, by name, whether the truth lies in the interval, the truth's own error beside it."""
    shares = {}
    for name, (value, low, high) in found.items():
        if name in true:
            truth, error = true[name]
            half = value - low if truth < value else high - value
            shares[name] = abs(value - truth) <= (half**2 + error**2) ** 0.5 + 1e-9 * value
    return shares


def judge(first=0, end=1 << 30, seed=1):
    """Print coverage, precision and time of estimates with the default precision and budget."""
    covered, misses, precise, times, refused = {}, [], [], [], 0
    for machine, arrivals, load, rate, true in points():
        if not first <= machine < end:
            continue
        drawn = random_machine(machine)
        began = process_time()
        try:
            found = drawn.design.estimate(drawn.workload(arrivals, rate), seed=seed)
        except RefusedError as error:
            refused += 1
            print(machine, arrivals, load, error)
            continue
        times.append(process_time() - began)
        precise.append(float(found.about["precision"]))
        if "modes" in found.about:
            continue
        group = "saturated" if load is None else f"{arrivals} {load}"
        for name, is_in in inside(numbers(found), true).items():
            covered.setdefault((group, name), []).append(is_in)
            if not is_in:
                misses.append((machine, arrivals, load, name, numbers(found)[name], true[name]))
    for miss in misses:
        print("outside:", *miss)
    for (group, name), hits in sorted(covered.items()):
        print(f"{group:24} {name:6} {100 * sum(hits) / len(hits):6.1f} % of {len(hits)}")
    for name in ("rate", "loss", *NAMES):
        hits = [hit for (_, one), group in covered.items() for hit in group if one == name]
        print(f"{'all':24} {name:6} {100 * sum(hits) / len(hits):6.1f} % of {len(hits)}")
    n = len(precise)
    print(
        f"refused {refused}; of {n}: 2 % in {sum(p <= 0.02 for p in precise)}, 10 % in {sum(p <= 0.1 for p in precise)}"
    )
    print(f"processor time: median {sorted(times)[n // 2]:.2f} s, in all {sum(times):.0f} s")


if __name__ == "__main__":
    command, *more = sys.argv[1:]
    {"make": make, "judge": judge}[command](*map(int, more))
