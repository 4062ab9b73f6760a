"""Cycles and rates of generated hardware: the tables data/hardware/trials.csv and rates.csv, made anew.

Run as a program: `python tests/reference/hardware_cycles.py` makes the trials (Icarus Verilog, some minutes);
`python tests/reference/hardware_cycles.py --rates FOLDER` the twelve configurations of Fig. 10 (Verilator, a minute or
two each; FOLDER keeps what is built, and one that is there is not built again).
"""

import argparse
import csv
import dataclasses
from pathlib import Path

from npexplore.designs import design
from npexplore.designs.gorilla import cycles
from npexplore.designs.gorilla.rate import Rig
from npexplore.paths import share
from npexplore.study.papers.gorilla.in_hardware import RATES, TWELVE, Rate, rates_of

MAKE = "python tests/reference/hardware_cycles.py"
OFFERED = (0.0, 200.0)


def write(name, head, kind, rows):
    """Write a table of records."""
    with share(*name).open("w", newline="") as out:
        out.write(head)
        lines = csv.writer(out, lineterminator="\n")
        lines.writerow([field.name for field in dataclasses.fields(kind)])
        lines.writerows([{True: "on", False: "off"}.get(v, v) if isinstance(v, bool) else v
                         for v in dataclasses.astuple(row)] for row in rows)  # fmt: skip


def make_trials():
    """Run all trials."""
    p, found = design("gorilla").parameters, []
    for one in cycles.wanted():
        found.append(dataclasses.replace(one, cycles=cycles.tried(p, one)))
        print(found[-1], flush=True)
    head = f"# Cycles of a packet of one engine, saturated, lookups and tables of `delay` cycles. Own runs: `{MAKE}`\n"
    write(cycles.TABLE, head, cycles.Trial, found)


def make_rates(folder, only=()):
    """Run the twelve configurations, as fast as they take packets and at the offered rate of Fig. 10.

    only: names of those to run; the others stay as they are.
    """
    found = [one for one in rates_of(share(*RATES)) if only and one.name not in only]
    for name, knobs in TWELVE.items():
        if only and name not in only:
            continue
        p = design("gorilla").with_(**knobs, rate_mpps=0).parameters
        rig = Rig(p, folder / name.replace(", counting ", "-"))
        for offered in OFFERED:
            got = rig.rate(offered)
            low, high = (bound / 1e6 for bound in got.ci95["rate_pps"])
            waits = got.latency_s.mean * 1e6 * p.core_mhz
            row = (round(got.rate_pps / 1e6, 2), round(low, 2), round(high, 2), round(waits, 1))
            found.append(Rate(name, offered, *row))
            print(found[-1], flush=True)
    found.sort(key=lambda one: (list(TWELVE).index(one.name), one.offered))
    write(RATES, f"# Rates of generated processors, 20,000 packets each. Own runs: `{MAKE} --rates FOLDER`\n",
          Rate, found)  # fmt: skip


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rates", type=Path, metavar="FOLDER", help="make the rates instead, built in this folder")
    given = parser.parse_args()
    make_rates(given.rates) if given.rates else make_trials()
