"""Judge queueing by the truths of random machines (estimate_truths.csv), family by family.

    python tests/reference/queueing_truths.py [FIRST END]      prints a table, and the points that are furthest off

Rates are compared saturated, mean latencies behind Poisson arrivals at 0.8 of the saturated rate. A family is a feature
of the generator (random_machines.py), or the kind and number of pools.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from reference.estimate_truths import points
from reference.random_machines import random_machine

from npexplore.errors import RefusedError

SATURATED, OPEN = ("saturated", None), ("poisson", 0.8)
SIDE_BY_SIDE = {"lock", "fork", "parallel"}  # a machine of one pool without these is plain
RATE, LATENCY = 0.10, 0.15  # relative errors that are near enough


def compared(first=0, end=1 << 30):
    """Yield (machine, its families, arrivals and load, relative error or the sentence that refuses)."""
    machines = {}
    for machine, arrivals, load, offered, true in points():
        key = arrivals, load
        if (
            not first <= machine < end
            or key not in (SATURATED, OPEN)
            or ("rate" if load is None else "mean") not in true
        ):
            continue
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
        yield machine, families, key, value / true["rate" if load is None else "mean"][0] - 1


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


if __name__ == "__main__":
    judge(*map(int, sys.argv[1:]))
