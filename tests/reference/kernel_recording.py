"""What the Linux kernel did with named, random, configured and neighbours' cases: a line of JSON a frame.

Run as a program, it records anew: `python tests/reference/kernel_recording.py [SUITE...]` (needs the right to make
namespaces).
"""

import gzip
import json
import platform
from pathlib import Path

from npexplore.golden.router.configuration import resolve_router
from npexplore.testing.linux_kernel import LinuxKernel

WAIT_S = 3.3  # until neighbours that do not answer are given up
FOLDER = Path(__file__).parents[1] / "oracle" / "recorded"


def suites():
    """Return the suites by name: (router, cases)."""
    from reference.neighbour_cases import neighbour_cases
    from reference.router_cases import named_cases
    from reference.router_cases6 import kernel_cases6
    from reference.router_random import random_cases, random_router

    router = random_router()
    return {
        "named": named_cases(),
        "random": (router, random_cases(router)),
        "ipv6": kernel_cases6(),
        "neighbours": neighbour_cases(),
    }


def ask(router, cases):
    """Return what the kernel of this machine does with each case; at no octets time passes: lists of (port, frame)."""
    with LinuxKernel(router) as kernel:
        return [kernel.forward(port, frame) if frame else kernel.wait(WAIT_S) for _, port, frame in cases]


def configured():
    """Return what the kernel of this machine does with each case of setting_cases.py, a kernel for each."""
    from reference.setting_cases import setting_cases

    cases = setting_cases()
    out = [ask(resolve_router(record), [(name, port, frame)])[0] for name, record, port, frame in cases]
    return [(name, port, frame) for name, _, port, frame in cases], out


def lines_of(suite):
    """Return the lines of a recording; the first tells the kernel's version and how many cases follow."""
    lines = gzip.decompress((FOLDER / f"{suite}.jsonl.gz").read_bytes()).decode().splitlines()
    return [json.loads(line) for line in lines]


def read(suite):
    """Return the recorded cases of a suite: (name, port, frame, outputs)."""
    rows = lines_of(suite)[1:]
    return [
        (row["name"], row["port"], bytes.fromhex(row["frame"]), [(p, bytes.fromhex(f)) for p, f in row["out"]])
        for row in rows
    ]


def record(names):
    """Ask the kernel and write the recordings of suites; all, if none is named."""
    FOLDER.mkdir(exist_ok=True)
    for name, (router, cases) in {**suites(), "configured": (None, None)}.items():
        if names and name not in names:
            continue
        cases, answers = configured() if router is None else (cases, ask(router, cases))
        lines = [json.dumps({"kernel": platform.release().split("-")[0], "cases": len(cases)})]
        for (case, port, frame), out in zip(cases, answers, strict=True):
            row = {"name": case, "port": port, "frame": frame.hex(), "out": [[p, f.hex()] for p, f in out]}
            lines.append(json.dumps(row))
        data = gzip.compress("\n".join(lines).encode() + b"\n", mtime=0)
        (FOLDER / f"{name}.jsonl.gz").write_bytes(data)
        print(name, len(cases), "cases,", len(data), "bytes")


if __name__ == "__main__":
    import sys

    sys.path.insert(0, str(Path(__file__).parents[1]))
    record(sys.argv[1:])
