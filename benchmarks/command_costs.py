"""Time and memory of each command that reads a user's data, at two sizes: the table of docs/bounded.md.

    exponent = ln((t(n) - t(n / 1024)) / (t(n / 4) - t(n / 1024))) / ln 4     t: seconds of processor time

python benchmarks/command_costs.py           # prints the table: some minutes of one core
python benchmarks/command_costs.py 0.1       # a tenth of the sizes
"""

import math
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

from reference import capture_files  # noqa: E402
from reference.large_captures import APART, make_capture  # noqa: E402

RATIO, SMALLEST = 4, 1024
MEASURABLE_S = 0.25


class Command(NamedTuple):
    """A command line on an input of some size: `prepare(size, folder)` returns its words; unit: what size counts."""

    title: str
    unit: str
    size: int
    prepare: Callable[[int, Path], list[str]]


def capture(size: int, folder: Path, **options: object) -> str:
    """Write a capture; return its path."""
    path = folder / f"{size}.pcap"
    make_capture(path, size, **options)
    return str(path)


def sections(size: int, folder: Path) -> list[str]:
    """Return `trace stats` on a pcapng file of sections, an interface and a packet each."""
    one = capture_files.section() + capture_files.interface() + capture_files.enhanced(bytes(60))
    (folder / f"{size}.pcapng").write_bytes(one * size)
    return ["trace", "stats", str(folder / f"{size}.pcapng")]


def routes(size: int, folder: Path) -> list[str]:
    """Return `route` with random routes of up to 32 bits on a small capture."""
    rng = np.random.default_rng(1)
    length = rng.integers(8, 33, size)
    value = rng.integers(1 << 24, 223 << 24, size) & (0xFFFFFFFF << (32 - length)) & 0xFFFFFFFF
    lines = {f"{v >> 24}.{v >> 16 & 255}.{v >> 8 & 255}.{v & 255}/{n}" for v, n in zip(value, length, strict=True)}
    (folder / "routes.txt").write_text("".join(f"{prefix} via 10.255.1.2\n" for prefix in sorted(lines)))
    office = (ROOT / "models" / "routers" / "office.toml").read_text(encoding="utf-8")
    (folder / "router.toml").write_text(office.replace("office_routes.txt", "routes.txt"), encoding="utf-8")
    config = ["--config", str(folder / "router.toml"), "--in", "office=sample:zeek_wikipedia"]
    return ["route", *config, "--drops", str(folder / "drops.csv")]


def forwarded(size: int, folder: Path) -> list[str]:
    """Return `route` on a capture of some size."""
    arrivals = f"office={capture(size, folder)}"
    return ["route", "--any-station", "--config", "office", "--in", arrivals, "--out", str(folder / "routed")]


def philosophers(size: int, folder: Path) -> list[str]:
    """Return `solve` on a net of a ring with some markings."""
    tokens = max(1, round((2 * size) ** 0.5 - 1.5))
    text = f'timing = "race"\n[place]\na = {tokens}\nb = 0\nc = 0\n[transition]\n'
    (folder / "ring.toml").write_text(text + 't = "a -> b, for 1"\nu = "b -> c, for 1"\nv = "c -> a, for 1"\n')
    return ["solve", str(folder / "ring.toml"), "--method", "markings", "--states", str(10 * size)]


COMMANDS = (
    Command("`trace stats`", "packets", 4_000_000, lambda n, at: ["trace", "stats", capture(n, at)]),
    Command("`trace stats`, each packet a flow", "packets", 4_000_000,
            lambda n, at: ["trace", "stats", capture(n, at, bytes_below=APART)]),
    Command("`trace stats`, sections of pcapng", "sections", 60_000, sections),
    Command("`trace report`", "packets", 4_000_000,
            lambda n, at: ["trace", "report", capture(n, at), "-o", str(at / "page.html")]),
    Command("`trace report`, each packet a flow", "packets", 4_000_000,
            lambda n, at: ["trace", "report", capture(n, at, bytes_below=APART), "-o", str(at / "page.html")]),
    Command("`trace flows`, 40,000 flows", "packets", 2_000_000, lambda n, at: ["trace", "flows", capture(n, at)]),
    Command("`trace flows`, each packet a flow", "packets", 500_000,
            lambda n, at: ["trace", "flows", capture(n, at, bytes_below=APART)]),
    Command("`trace convert`, to Parquet", "packets", 2_000_000,
            lambda n, at: ["trace", "convert", capture(n, at), str(at / "table.parquet")]),
    Command("`route`", "packets", 400_000, forwarded),
    Command("`route`, random routes", "routes", 1_000_000, routes),
    Command("`run ixp2400 --trace`", "packets", 200_000,
            lambda n, at: ["run", "ixp2400", "--trace", capture(n, at), "--out", str(at / "run")]),
    Command("`program run`", "packets", 400_000,
            lambda n, at: ["program", "run", str(ROOT / "tests" / "programs" / "router.o"), "--trace", capture(n, at)]),
    Command("`solve`, markings of a net", "markings", 400_000, philosophers),
)  # fmt: skip


def cost(words: list[str]) -> tuple[float, float]:
    """Return a command's seconds of processor time and its largest memory in MB; raises if it fails."""
    environment = os.environ | {"TQDM_DISABLE": "1"}
    with tempfile.TemporaryFile() as said:
        run = subprocess.Popen(
            [sys.executable, "-m", "npexplore", *words], cwd=ROOT, env=environment, stderr=said,
            stdout=subprocess.DEVNULL,
        )  # fmt: skip
        _, status, usage = os.wait4(run.pid, 0)
        run.returncode = os.waitstatus_to_exitcode(status)
        said.seek(0)
        if run.returncode:
            raise RuntimeError(f"{' '.join(words)}: {said.read().decode()[-500:]}")
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1000


def line(command: Command, scale: float) -> str:
    """Return the row of a command."""
    costs, size = [], round(command.size * scale)
    for part in (SMALLEST, RATIO, 1):
        with tempfile.TemporaryDirectory() as folder:
            costs.append(cost(command.prepare(max(1, size // part), Path(folder))))
    (start, _), (early, less), (late, memory) = costs
    growth = math.log(max(late - start, 1e-3) / max(early - start, 1e-3)) / math.log(RATIO)
    exponent = f"{growth:.2f}" if late - start > MEASURABLE_S else "-"  # else the start decides
    what = f"{size:,} {command.unit}"
    return f"| {command.title} | {what} | {late:.1f} | {start:.1f} | {exponent} | {memory:.0f} | {memory - less:.0f} |"


def main(scale: float) -> None:
    """Print the table."""
    print("| command | size | seconds | start-up seconds | exponent of time | MB | growth from quarter to full size |")
    print("|---|---|---|---|---|---|---|")
    for command in COMMANDS:
        print(line(command, scale), flush=True)


if __name__ == "__main__":
    main(float(sys.argv[1]) if len(sys.argv) > 1 else 1.0)
