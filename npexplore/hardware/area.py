"""LUTs of engines, from a table of synthesis results (data/hardware/areas.csv); this module runs no synthesis.

    LUTs = all of LUT1 to LUT6 + LUTs as memory      (RAM32M and RAM64M are 4 LUTs, RAM32X1D and RAM64X1D are 2)

`python tests/reference/hardware_areas.py` makes the table. Its hashes identify the synthesised Verilog: one of the
program (its steps) and one of the template around them.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from statistics import fmean

from npexplore.errors import InputError
from npexplore.paths import share, table_rows

TABLE = ("data", "hardware", "areas.csv")
TEMPLATE = re.compile(r"^module (?!step_)", re.MULTILINE)


@dataclass(frozen=True)
class Synthesis:
    """The synthesis of an engine for a device family by a tool. luts: all LUTs; memory_luts: those used as memory.

    Example:
        >>> from npexplore.hardware import syntheses
        >>> syntheses()[0].luts > 0
        True
    """

    program: str
    threads: int
    stores: str
    scheduler: str
    family: str
    tool: str
    luts: int
    memory_luts: int
    flip_flops: int
    program_hash: str
    template_hash: str


@dataclass(frozen=True)
class Luts:
    """LUTs of an engine over several tools: minimum, mean and maximum.

    Example:
        >>> from npexplore.hardware import Luts
        >>> Luts(low=900.0, mean=1000.0, high=1100.0).mean
        1000.0
    """

    low: float
    mean: float
    high: float


def table_of(file: Path) -> tuple[Synthesis, ...]:
    """Return the syntheses in a CSV file."""
    numbers = "threads", "luts", "memory_luts", "flip_flops"
    return tuple(
        Synthesis(**{name: int(text) if name in numbers else text for name, text in row.items()})  # type: ignore[arg-type]
        for row in table_rows(file)
    )


@cache
def syntheses() -> tuple[Synthesis, ...]:
    """Return all syntheses of the package's table."""
    return table_of(share(*TABLE))


def hashes(text: str) -> tuple[str, str]:
    """Return the hashes of an engine's Verilog: (of its steps, of the template around them)."""
    match = TEMPLATE.search(text)
    if match is None:
        raise InputError("the text of an engine must have a module beside its steps, got none")
    parts = text[: match.start()], text[match.start() :]
    steps, template = (hashlib.sha256(part.strip().encode()).hexdigest()[:16] for part in parts)
    return steps, template


def engine_luts(
    program: str, threads: int, stores: str, family: str = "xc7", tool: str = "", scheduler: str = "ready"
) -> Luts:  # fmt: skip
    """Return the LUTs of an engine; tool: the beginning of a tool's name (empty: all tools).

    program: the name of a synthesised step program. threads: contexts of the engine. stores: what holds contexts,
    "registers" or "lut_ram". family: the FPGA family, as the synthesis tool calls it. scheduler: "ready" or
    "round_robin". Raises InputError for an engine that is not in the table.
    """
    parts_luts = [
        row.luts for row in syntheses()
        if (row.program, row.threads, row.stores, row.family) == (program, threads, stores, family)
        and row.scheduler == scheduler and row.tool.startswith(tool)
    ]  # fmt: skip
    if not parts_luts:
        nearest = sorted(
            {(r.program, r.threads, r.stores, r.scheduler, r.family) for r in syntheses() if r.program == program}
        )
        wanted = program, threads, stores, scheduler, family
        raise InputError(f"no engine {wanted} was synthesised; the nearest are {nearest}")
    return Luts(min(parts_luts), fmean(parts_luts), max(parts_luts))


def lut_slope(points: Sequence[tuple[int, float]]) -> float:
    """Return the LUTs that an engine needs per additional thread: the least-squares slope of (threads, LUTs) points."""
    x, y = [float(threads) for threads, _ in points], [luts for _, luts in points]
    middle = fmean(x)
    return sum((a - middle) * (b - fmean(y)) for a, b in zip(x, y, strict=True)) / sum((a - middle) ** 2 for a in x)
