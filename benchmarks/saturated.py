"""Saturated rates of queueing beside simulation on `server` and `pcie`, and what the bounds alone would say.

python benchmarks/saturated.py              # the 220 points of docs/queueing_machines.md, half a minute of one core
python benchmarks/saturated.py "pcie both"  # machines whose title has these words, point by point
"""

import sys
from collections.abc import Sequence

import numpy as np
from bursts import packets_of

import npexplore as npx
from npexplore.designs import Design

OPERATIONS = ("read", "write", "both", "write_then_read")
PACKETS = ("64", "257", "1500", "imix", "amp")
SIMULATED = 40_000  # packets a point


def machines() -> dict[str, Design]:
    """Return machines by title."""
    server, device = npx.design("server"), npx.design("pcie")
    walks = device.with_(host="bdw2630", iommu="small", window_bytes=1 << 20)
    found = {}
    for cores in (1, 2, 3, 6):
        found[f"server drop {cores}"] = server.with_(program="drop", ring=512, cores=cores)
        for program, egress in (("tx", "same_port"), ("redirect", "other_port")):
            found[f"server {program} {cores}"] = server.with_(program=program, ring=1024, egress=egress, cores=cores)
    for op in OPERATIONS:
        found |= {f"pcie {op} {workers}": device.with_(op=op, workers=workers) for workers in (4, 8, 16, 28, 44, 88)}
        found |= {f"pcie {op} {workers}, walks": walks.with_(op=op, workers=workers) for workers in (8, 88)}
    return found


def told(who: str, errors: Sequence[float]) -> str:
    """Return how far off somebody's answers are, in per cent of the simulated rates."""
    off = np.abs(errors)
    return (
        f"{who}: {100 * np.mean(off <= 10):.1f} % of {len(off)} within 10 %, nine of ten within "
        f"{np.quantile(off, 0.9):.1f} %, at most {off.max():.1f} %"
    )


def main(words: str) -> None:
    """Print a line a point if machines are chosen, and a summary."""
    rows = []
    for title, design in machines().items():
        for name in PACKETS if words in title else ():
            load = packets_of(name)
            seen = design.simulate(load, packets=SIMULATED, breakdown=False).rate_pps
            off = [100 * (one(load).rate_pps / seen - 1) for one in (design.bounds, design.queueing)]
            rows.append(off)
            if words:
                print(f"{title:28} {name:5} bounds {off[0]:+6.1f} %, queueing {off[1]:+6.1f} %", flush=True)
    for who, errors in zip(("bounds", "queueing"), zip(*rows, strict=True), strict=True):
        print(told(who, errors))


if __name__ == "__main__":
    main(" ".join(sys.argv[1:]))
