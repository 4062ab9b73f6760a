"""Writes the files of a run: captures by verdict, rows, maps before and after, examples of paths, a listing."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from html import escape
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from npexplore._kernels import ebpf as k
from npexplore.packets.columns import PacketTable
from npexplore.packets.files import Files, open_captures
from npexplore.packets.frames import write_frames
from npexplore.packets.output import replacing
from npexplore.packets.writing import CaptureWriter
from npexplore.programs.map_files import write_map
from npexplore.programs.result import ProgramRun, verdict_name
from npexplore.programs.running import ETHERNET, Batch

MAX_FILES = 64  # captures; a program may return any number of different verdicts


class VerdictCaptures:
    """Writes the packets after the program, one capture per verdict; call `take` with each batch."""

    def __init__(self, folder: Path, sources: str | Sequence[str]) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.folder, self.sources = folder, sources
        self.files: dict[str, Path] = {}
        self._writers: dict[int, CaptureWriter] = {}
        self._open = ExitStack()

    def __enter__(self) -> VerdictCaptures:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._open.__exit__(kind, error, at)

    def take(self, batch: Batch) -> None:
        """Append the packets of a batch to the captures of their verdicts."""
        rows = batch.rows
        lengths = rows[:, k.LENGTH]
        stored: dict[str, Any] = {
            "t_ns": batch.t_ns, "length": lengths.astype(np.uint32),
            "position": rows[:, k.OUT_AT] + rows[:, k.METADATA], "interface": np.zeros(len(rows), np.uint16),
        }  # fmt: skip
        table = PacketTable.of_records(stored, np.array([ETHERNET], np.uint16))
        for number in np.unique(rows[:, k.VERDICT]).tolist():
            writer = self._writer(number if len(self._writers) < MAX_FILES or number in self._writers else -2)
            writer.write(batch.out, 0, table, np.flatnonzero(rows[:, k.VERDICT] == number), lengths)

    def _writer(self, number: int) -> CaptureWriter:
        if number not in self._writers:
            name = verdict_name(number).replace(" ", "_") if number >= -1 else "invalid"
            path = self.folder / f"{name}.pcap"
            part = self._open.enter_context(replacing(self.sources, path))
            self._writers[number] = self._open.enter_context(CaptureWriter(part))
            self.files[name] = path
        return self._writers[number]


def write_tables(run: ProgramRun, folder: Path) -> dict[str, Path]:
    """Write rows as Parquet, maps before and after, and the listing; return the files by their content."""
    folder.mkdir(parents=True, exist_ok=True)
    files = {"rows": folder / "packets.parquet", "lines": folder / "lines.html"}
    run.to_frame().to_parquet(files["rows"])
    files["lines"].write_text(listing(run), encoding="utf-8")
    for definition in run.program.used_maps.values():
        for when, contents in (("before", run.before), ("after", run.maps)):
            files[f"map {definition.name} {when}"] = folder / f"{definition.name.strip('.')}.{when}.txt"
            write_map(files[f"map {definition.name} {when}"], contents[definition.name], definition)
    return files


def write_examples(run: ProgramRun, source: Files, path: Path) -> None:
    """Write the example packet of each path as it was before the program, most frequent path first."""
    order = [path_row["example"] for path_row in run.paths]
    examples: dict[int, tuple[int, bytes]] = {}
    first_row = 0

    def examples_of(table: PacketTable, data: NDArray[np.uint8], base: int) -> dict[int, tuple[int, bytes]]:
        rows = [number - first_row for number in order if first_row <= number < first_row + table.rows]
        begins, lengths, times = table["position"] - base, table["captured"], table["t_ns"]
        return {
            first_row + row: (int(times[row]), data[begins[row] : begins[row] + int(lengths[row])].tobytes())
            for row in rows
        }

    for table, copied in open_captures(source).each(examples_of):
        examples |= copied
        first_row += table.rows
    write_frames(path, [examples[number][1] for number in order], [examples[number][0] for number in order])


def listing(run: ProgramRun) -> str:
    """Return an HTML page with the source lines and their shares of all instructions."""
    rows = "".join(
        f'<tr><td>{100 * row["share"]:.1f} %</td><td>{row["instructions"]:,}</td><td><meter value="{row["share"]:.4f}">'
        f"</meter></td><td><code>{escape(row['line'])}</code></td></tr>"
        for row in run.lines()
    )
    title = escape(f"{run.program.name}: {len(run):,} packets")
    head = "<tr><th>share</th><th>instructions</th><th></th><th>line</th></tr>"
    return f'<!doctype html><meta charset="utf-8"><title>{title}</title><h1>{title}</h1><table>{head}{rows}</table>\n'
