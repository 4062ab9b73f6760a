"""Runs a check on mutated bytes for some seconds: guided by coverage with atheris, at random without it or in CI.

    python TARGET.py SECONDS FOLDER    the folder holds the corpus, and is given new finds

Targets import what they try inside `instrumented(...)`. Run with NUMBA_DISABLE_JIT=1, so that kernels are plain Python:
their branches count as coverage, and an index out of range is an IndexError instead of a wild read.
"""

import os
import random
import subprocess
import sys
import time
from contextlib import nullcontext
from pathlib import Path

ROOT = Path(__file__).parents[2]
RUNS = "4000"  # in CI
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

try:
    import atheris
except ImportError:
    atheris = None


def instrumented(*packages):
    """Return a context in which imports of these packages are instrumented, if that can be."""
    return atheris.instrument_imports(include=list(packages)) if atheris else nullcontext()


def mutate_at_random(check, seconds, folder, largest):
    """Check the corpus, then mutations and splices of it; print a failing input and raise."""
    rng = random.Random(os.environ.get("NPEXPLORE_FUZZ_SEED", "1"))
    corpus = [path.read_bytes() for path in sorted(folder.iterdir())]
    for data in corpus:
        check(data)
    runs, until = 0, time.monotonic() + seconds
    while time.monotonic() < until and runs < int(os.environ.get("NPEXPLORE_FUZZ_RUNS", sys.maxsize)):
        data = bytearray(rng.choice(corpus))
        for _ in range(rng.randint(1, 6)):
            at = rng.randrange(len(data) + 1)
            other = rng.choice(corpus)
            noise = rng.randbytes(rng.randint(0, 4))
            piece = rng.choice([noise, other[at : at + 40], b"\xff" * 4, b"\0" * 4, b"\x80\0"])
            data[at : at + rng.choice([0, len(piece), len(piece), 4])] = piece
        data = bytes(data[: rng.choice([len(data), rng.randrange(len(data) + 1)])][:largest])
        try:
            check(data)
        except BaseException:
            print(f"failing input: {data!r}", file=sys.stderr)
            raise
        runs += 1
    print(f"{runs} runs without coverage")


def main(check, largest):
    """Run a target as a program."""
    seconds, folder = int(sys.argv[1]), Path(sys.argv[2])
    if atheris is None or "NPEXPLORE_FUZZ_RUNS" in os.environ:
        mutate_at_random(check, seconds, folder, largest)
        return
    options = [f"-max_total_time={seconds}", f"-max_len={largest}", "-rss_limit_mb=2048", "-timeout=20"]
    atheris.Setup([sys.argv[0], str(folder), *options, f"-artifact_prefix={folder}/../crash-"], check)
    atheris.Fuzz()


def corpus_of(name):
    """Return the folder of earlier finds: .fuzz/NAME beside the checkout, or in the one NPEXPLORE_FUZZ_CORPUS names."""
    return Path(os.environ.get("NPEXPLORE_FUZZ_CORPUS", ROOT / ".fuzz")) / name


def bounded_run(target, corpus):
    """Run a target for NPEXPLORE_FUZZ_SECONDS, default 30; fail with what it says.

    In CI, where a run must be repeatable, mutations are drawn from a fixed seed and their number ends it: what guides
    atheris differs from run to run, even with one seed.
    """
    seconds, repeatable = os.environ.get("NPEXPLORE_FUZZ_SECONDS", "30"), {}
    if os.environ.get("CI") and "NPEXPLORE_FUZZ_SECONDS" not in os.environ:
        seconds, repeatable = "300", {"NPEXPLORE_FUZZ_RUNS": RUNS}
    run = subprocess.run(
        [sys.executable, str(Path(__file__).parent / target), seconds, str(corpus)],
        env=os.environ | {"NUMBA_DISABLE_JIT": "1"} | repeatable,
        capture_output=True,
        text=True,
        timeout=int(seconds) + 240,
        check=False,
    )
    assert run.returncode == 0, run.stdout[-2000:] + run.stderr[-4000:]
    assert "runs" in run.stdout + run.stderr
