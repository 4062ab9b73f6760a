"""LUTs of engines, out of a table of syntheses (data/hardware/areas.csv); nothing is synthesised here.

    LUTs = all of LUT1 to LUT6 + LUTs as memory      (RAM32M and RAM64M are 4 LUTs, RAM32X1D and RAM64X1D are 2)

The table is made by `python tests/reference/hardware_areas.py`. Its hashes say which Verilog was synthesised: that of a
program (its steps) and that of the template around them.
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
    """One engine on one device family by one tool. luts: all; memory_luts: of them those that are memory.

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
    """LUTs of an engine by several tools: the least, the mean and the most.

    Example:
        >>> from npexplore.hardware import Luts
        >>> Luts(low=900.0, mean=1000.0, high=1100.0).mean
        1000.0
    """

    low: float
    mean: float
    high: float


def table_of(file: Path) -> tuple[Synthesis, ...]:
    """Return the syntheses of a table."""
    numbers = "threads", "luts", "memory_luts", "flip_flops"
    return tuple(
        Synthesis(**{name: int(text) if name in numbers else text for name, text in row.items()})  # type: ignore[arg-type]
        for row in table_rows(file)
    )


@cache
def syntheses() -> tuple[Synthesis, ...]:
    """Return all syntheses of the table."""
    return table_of(share(*TABLE))


def hashes(text: str) -> tuple[str, str]:
    """Return what tells an engine's Verilog from others: of its steps, and of the template around them."""
    match = TEMPLATE.search(text)
    if match is None:
        raise InputError("the text of an engine must have a module beside its steps, got none")
    parts = text[: match.start()], text[match.start() :]
    steps, template = (hashlib.sha256(part.strip().encode()).hexdigest()[:16] for part in parts)
    return steps, template


def engine_luts(
    program: str, threads: int, stores: str, family: str = "xc7", tool: str = "", scheduler: str = "ready"
) -> Luts:  # fmt: skip
    """Return the LUTs of an engine; tool: the beginning of one's name, all of them where empty.

    program: the name of a synthesised step program. threads: contexts of the engine. stores: where contexts stand,
    "registers" or "lut_ram". family: of the FPGA, as the synthesis tool calls it. scheduler: "ready" or "round_robin".
    Raises InputError for an engine that the table does not have.
    """
    parts_luts = [
        one.luts for one in syntheses()
        if (one.program, one.threads, one.stores, one.family) == (program, threads, stores, family)
        and one.scheduler == scheduler and one.tool.startswith(tool)
    ]  # fmt: skip
    if not parts_luts:
        known = sorted(
            {(o.program, o.threads, o.stores, o.scheduler, o.family) for o in syntheses() if o.program == program}
        )
        wanted = program, threads, stores, scheduler, family
        raise InputError(f"no engine {wanted} was synthesised; the nearest are {known}")
    return Luts(min(parts_luts), fmean(parts_luts), max(parts_luts))


def lut_slope(points: Sequence[tuple[int, float]]) -> float:
    """Return by how many LUTs an engine grows with a thread: the straight line of least squares through points."""
    x, y = [float(t) for t, _ in points], [v for _, v in points]
    middle = fmean(x)
    return sum((a - middle) * (b - fmean(y)) for a, b in zip(x, y, strict=True)) / sum((a - middle) ** 2 for a in x)
