"""How near queueing comes to simulation on listed machines: the table of docs/queueing_machines.md.

python benchmarks/queueing_accuracy.py                 # two minutes of one core
python benchmarks/queueing_accuracy.py server pcie     # these machines
"""

import sys
from collections.abc import Sequence

import numpy as np

from npexplore.study.checking.solvers import Distance, distances

MACHINES = ("ixp2400", "ixp2400_dram", "ixp1200", "raw", "soclib", "gorilla", "pcie", "server", "smartnic")


def percent(sizes: Sequence[float]) -> str:
    """Return median, nine of ten and largest of relative distances."""
    if not sizes:
        return "-"
    return "; ".join(f"{100 * value:.1f}" for value in np.quantile(np.abs(sizes), [0.5, 0.9, 1.0]))


def row(points: Sequence[Distance]) -> str:
    """Return the line of one machine at one load."""
    first, answered = points[0], [one for one in points if one.refused is None]
    load = "saturated" if first.load is None else f"{first.load:g}"
    rates = [one.distance for one in answered if one.distance is not None]
    latencies = [one.latency for one in answered if one.latency is not None]
    refused = len(points) - len(answered)
    return f"| {first.design} | {load} | {len(points)} | {refused} | {percent(rates)} | {percent(latencies)} |"


def main(names: Sequence[str]) -> None:
    """Print the table."""
    print("| machine | load | points | refused | rate | latency |\n|---|---|---|---|---|---|")
    for name in names:
        found = distances([name], executor="processes")
        for load in dict.fromkeys(one.load for one in found):
            print(row([one for one in found if one.load == load]), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:] or MACHINES)
