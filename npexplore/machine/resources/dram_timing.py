"""Timing of DRAM parts, with the names of data sheets, and the parts of models/parts/ddr_sdram.toml.

Rules are minimum distances between commands (JEDEC JESD79, JESD79-2); data of a burst follow their column command by
tCL (read) or tWL (write). A rule of 0 does not exist.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import cache
from math import ceil, floor
from typing import Any

import msgspec

from npexplore.errors import InputError, ModelError
from npexplore.machine.resources.base import time_of
from npexplore.paths import share
from npexplore.toml import decode

NANOSECOND = 1e-9
SLACK = 1e-9  # of a clock: tolerance for rounding of binary fractions


class DramRules(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Rules of a part or device in nanoseconds (0: not in its data sheet), and their source.

    For a device with bank groups, rules between commands to different banks hold between different groups.
    """

    t_ck: float  # clock period
    t_rcd: float  # row command to column command (of a device: to read command), same bank
    t_cl: float  # read command to its first data
    t_wl: float  # write command to its first data
    t_rp: float  # precharge to row command, same bank
    t_ras: float  # row command to precharge, same bank
    t_rc: float  # row command to row command, same bank
    t_rrd: float  # row command to row command, other bank
    t_faw: float  # window that holds at most four row commands
    t_wr: float  # last data written to precharge, same bank
    t_wtr: float  # last data written to read command
    t_rtw: float  # last data read to first data written on the bus (turn-around)
    t_rtp: float  # read command (of the last prefetch of a burst) to precharge, same bank
    t_ccd: float  # column command to column command: one prefetch
    t_refi: float  # mean interval of refreshes of all banks
    t_rfc: float  # refresh of all banks to row command or refresh
    source: str
    note: str = ""


class DramPart(DramRules, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Schema of one part in models/parts/ddr_sdram.toml."""


@dataclass(frozen=True)
class DramTiming:
    """Timing of a part in seconds, by the names of DramPart; all-bank refresh every `t_refi`, `t_rfc` long (0: none).

    Raises ModelError for impossible parts: negative times, a row cycle shorter than open and precharge, a window of
    four row commands shorter than the distance of two.

    Example:
        >>> from npexplore.machine import DramTiming, dram_parts
        >>> round(1e9 * DramTiming.of(dram_parts()["ddr_400"]).t_ck, 3)
        5.0
    """

    t_ck: float
    t_rcd: float
    t_cl: float
    t_rp: float
    t_ras: float
    t_wr: float
    t_wl: float
    t_refi: float = 0.0
    t_rfc: float = 0.0
    t_rc: float = 0.0
    t_rrd: float = 0.0
    t_faw: float = 0.0
    t_wtr: float = 0.0
    t_rtw: float = 0.0
    t_rtp: float = 0.0
    t_ccd: float = 0.0

    def __post_init__(self) -> None:
        for field in fields(self):
            time_of(f"DRAM timing {field.name}", getattr(self, field.name))
        if self.t_rfc and self.t_rfc >= self.t_refi:
            raise ModelError(f"DRAM timing: t_rfc must be below t_refi, got {self.t_rfc!r} of {self.t_refi!r}")
        least = self.t_ras + self.t_rp
        if self.t_rc and self.t_rc < least * (1 - SLACK):
            raise ModelError(f"DRAM timing: t_rc must be at least t_ras + t_rp = {least:.4g}, got {self.t_rc!r}")
        if self.t_faw and self.t_faw < self.t_rrd * (1 - SLACK):
            raise ModelError(f"DRAM timing: t_faw must be at least t_rrd = {self.t_rrd!r}, got {self.t_faw!r}")

    @staticmethod
    def of(part: DramPart) -> DramTiming:
        """Return the timing of a part in seconds."""
        return DramTiming(**{field.name: getattr(part, field.name) * NANOSECOND for field in fields(DramTiming)})

    def up(self, seconds: float) -> float:
        """Return a time rounded up to whole clocks; raises ModelError without a clock."""
        if not self.t_ck:
            raise ModelError("DRAM timing: whole clocks need a t_ck above 0, got 0.0")
        return ceil(seconds / self.t_ck - SLACK) * self.t_ck

    def in_clocks(self) -> DramTiming:
        """Return the timing of a synchronous controller: distances rounded up to clocks, the refresh interval down.

        Latencies of data are not rounded (2.5 clocks are possible).
        """
        unrounded = {"t_ck": self.t_ck, "t_cl": self.t_cl, "t_wl": self.t_wl, "t_rtw": self.t_rtw}
        rounded = {f.name: self.up(getattr(self, f.name)) for f in fields(self) if f.name not in unrounded}
        rounded["t_refi"] = floor(self.t_refi / self.t_ck + SLACK) * self.t_ck
        rounded["t_rc"] = max(rounded["t_rc"], rounded["t_ras"] + rounded["t_rp"]) if self.t_rc else 0.0
        return DramTiming(**unrounded, **rounded)


@cache
def dram_parts(file: str = "ddr_sdram") -> dict[str, DramPart]:
    """Return the parts of models/parts/FILE.toml by name; raises InputError with file, place, rule and value."""
    path = share("models", "parts", f"{file}.toml")
    parts: dict[str, DramPart] = decode(path.read_bytes(), dict[str, DramPart], path)
    for name, part in parts.items():
        if not part.source.strip():
            raise InputError(f"{path.name}: part {name!r} has no source")
        try:
            DramTiming.of(part)
        except ModelError as error:
            raise InputError(f"{path.name}: {name}: {error}") from None
    return parts


def dram_parts_schema() -> dict[str, Any]:
    """Return the JSON Schema of models/parts/ddr_sdram.toml."""
    return msgspec.json.schema(dict[str, DramPart])
