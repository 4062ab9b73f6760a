"""Judge queueing by the simulated rates and latencies of random machines, family by family.

    python tests/reference/queueing_truths.py judge [FIRST END]    prints families, the points that are furthest off,
                                                                   the table of docs/queueing_machines.md (5 minutes)
    python tests/reference/queueing_truths.py make FIRST END       adds machines FIRST to END - 1 (a second each)

Rates are compared saturated, mean latencies behind Poisson arrivals at 0.8 of the saturated rate. A family is a feature
of the generator (random_machines.py), or the kind and number of pools. Machines 0 to 349 are those of
estimate_truths.csv; queueing_truths.csv adds others, whose estimates are within 1 % (rate) and 2 % (mean latency).
"""

import csv
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from reference.estimate_truths import points
from reference.random_machines import random_machine

from npexplore.errors import NpexploreError, RefusedError

SATURATED, OPEN = ("saturated", None), ("poisson", 0.8)
SIDE_BY_SIDE = {"lock", "fork", "parallel"}  # a machine of one pool without these is plain
RATE, LATENCY = 0.10, 0.15  # relative errors that are near enough
PAGE = {  # rows of docs/queueing_machines.md: names of families
    "all": "all",
    "one pool": "one pool",
    "plain": "one pool without locks, forks and parallel parts",
    "pools": "several pools",
}
FILE = Path(__file__).with_suffix(".csv")
SEED, PRECISION = 77, {None: 0.01, 0.8: 0.02}  # of the estimates that are stored, by load
COLUMNS = "machine", "rate_pps", "rate_half", "offered_pps", "mean_ns", "mean_half_ns"


def stored():
    """Yield (machine, arrivals, load, offered rate or None, simulated packets/s or mean latency in ns)."""
    for machine, arrivals, load, offered, true in points():
        name = "rate" if load is None else "mean"
        if (arrivals, load) in (SATURATED, OPEN) and name in true:
            yield machine, arrivals, load, offered, true[name][0]
    for row in csv.DictReader(FILE.read_text().splitlines()):
        yield int(row["machine"]), *SATURATED, None, float(row["rate_pps"])
        if row["mean_ns"]:
            yield int(row["machine"]), *OPEN, float(row["offered_pps"]), float(row["mean_ns"])


def estimated(drawn, arrivals, load, rate):
    """Return the estimate of one point, or None where estimates refuse, settle in modes, or stay too wide."""
    try:
        answer = drawn.design.estimate(drawn.workload(arrivals, rate), seed=SEED, precision=PRECISION[load])
    except NpexploreError as error:
        print(drawn.seed, arrivals, load, error, file=sys.stderr)
        return None
    key = "rate_pps" if load is None else "latency_s"
    near = (
        "modes" not in answer.about and key in answer.ci95 and float(answer.about["precision"]) <= 1.5 * PRECISION[load]
    )
    return answer if near else None


def half(interval, unit=1.0):
    return f"{(interval[1] - interval[0]) / 2 * unit:.3g}"


def make(first, end):
    """Add machines first .. end - 1 that are not stored."""
    known = {int(row["machine"]) for row in csv.DictReader(FILE.read_text().splitlines())}
    with FILE.open("a", newline="") as file:
        out = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        for seed in sorted(set(range(first, end)) - known):
            drawn = random_machine(seed)
            full = estimated(drawn, *SATURATED, None)
            if full is None:
                continue
            row = {"machine": seed, "rate_pps": f"{full.rate_pps:.6g}", "rate_half": half(full.ci95["rate_pps"])}
            offered = float(f"{0.8 * full.rate_pps:.4g}")
            loaded = estimated(drawn, *OPEN, offered)
            if loaded is not None:
                row |= {"offered_pps": offered, "mean_ns": f"{loaded.latency_s.mean * 1e9:.6g}"}
                row |= {"mean_half_ns": half(loaded.ci95["latency_s"], 1e9)}
            out.writerow(row)
            file.flush()


def compared(first=0, end=1 << 30):
    """Yield (machine, its families, arrivals and load, relative error or the sentence that refuses)."""
    machines = {}
    for machine, arrivals, load, offered, true in stored():
        if not first <= machine < end:
            continue
        key = arrivals, load
        drawn = machines.setdefault(machine, random_machine(machine))
        pools = len(drawn.design.machine().pools)
        plain = {"plain"} if pools == 1 and not drawn.features & SIDE_BY_SIDE else set()
        families = drawn.features | {"all", "one pool" if pools == 1 else "pools"} | plain
        try:
            answer = drawn.design.queueing(drawn.workload(arrivals, offered))
        except RefusedError as error:
            yield machine, families, key, str(error)
            continue
        value = answer.rate_pps if load is None else answer.latency_s.mean * 1e9
        yield machine, families, key, value / true - 1


def page_table(rows):
    """Return the table of docs/queueing_machines.md, of rows as `compared` yields them."""
    lines = [
        "| | answered saturated, with open arrivals | rates within 10 % | farthest | latencies at 0.8 within 15 % |",
        "|---|---|---|---|---|",
    ]
    for family, title in PAGE.items():
        answered, near = [], []
        for key, tolerance in ((SATURATED, RATE), (OPEN, LATENCY)):
            family_errors = [error for _, names, which, error in rows if which == key and family in names]
            errors = [abs(error) for error in family_errors if not isinstance(error, str)]
            answered.append(100 * len(errors) / len(family_errors))
            near.append((sum(error <= tolerance for error in errors) / len(errors), max(errors)))
        (rates, farthest), (latencies, _) = near
        shares = f"{answered[0]:.0f}, {answered[1]:.0f} %"
        cells = title, shares, f"{100 * rates:.0f} %", f"{100 * farthest:.0f} %", f"{100 * latencies:.0f} %"
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def judge(first=0, end=1 << 30):
    """Print the share answered and near enough, and the largest error, by family."""
    rows = list(compared(first, end))
    families = sorted({family for _, names, _, _ in rows for family in names})
    for family in sorted(families, key=lambda name: (name not in ("all", "one pool", "plain", "pools"), name)):
        cells = []
        for key, near in ((SATURATED, RATE), (OPEN, LATENCY)):
            found = [error for _, names, which, error in rows if which == key and family in names]
            errors = [error for error in found if not isinstance(error, str)]
            if errors:
                low, high = (sum(sign * error > near for error in errors) / len(errors) for sign in (-1, 1))
                cells.append(
                    f"{len(errors):4} of {len(found):4}, near {1 - low - high:4.0%}, low {low:4.0%}, high {high:4.0%}, "
                    f"largest {max(errors, key=abs):+6.2f}"
                )
        print(f"{family:18} | " + " | ".join(cells))
    for key in (SATURATED, OPEN):
        off = [(error, machine) for machine, _, which, error in rows if which == key and not isinstance(error, str)]
        print(*key, [f"{machine}: {error:+.2f}" for error, machine in sorted(off, key=lambda one: -abs(one[0]))[:25]])
    print(page_table(rows))


if __name__ == "__main__":
    command, *more = sys.argv[1:]
    {"make": make, "judge": judge}[command](*map(int, more))
