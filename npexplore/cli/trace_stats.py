"""`npexplore trace stats`: count and measure the packets of a capture in one pass (docs/captures.md).

Exit status 0 for an undamaged capture, even if empty; 3 for a damaged capture, whose good packets are still counted.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from npexplore.cli.output import emit, facts, json_option, note, table, warn
from npexplore.errors import InputError
from npexplore.progress import Task

if TYPE_CHECKING:
    from npexplore.packets.statistics import CaptureCounts
    from npexplore.packets.statistics.several import SeveralCounts

DAMAGED = 3


@click.command("stats")
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@click.option(
    "--cell-bytes", default=64, show_default=True, type=click.IntRange(min=1), help="Cell size of a packet buffer."
)
@click.option(
    "--workers",
    type=click.IntRange(min=1),
    help="Files read in parallel (default: one per core); for a single file, threads that decode it (default: 1).",
)
@click.option("--cluster", metavar="tcp://HOST:PORT", help="Read the files on the workers of a Dask cluster.")
@click.option(
    "--keep",
    metavar="FOLDER",
    type=click.Path(path_type=Path),
    help="Folder that keeps the counts of finished files; a run started again counts only the others.",
)
@json_option
def command(
    files: tuple[str, ...], cell_bytes: int, workers: int | None, cluster: str | None, keep: Path | None, as_json: bool
) -> int:
    """Count and measure the packets of FILE...: files, folders and patterns, together as one capture.

    They are pcap, pcapng or ERF, plain, gzip or zstd; - is standard input.
    """
    from npexplore.packets.files import find_captures
    from npexplore.packets.links import unread_links

    paths = find_captures(files)
    if len(paths) == 1 and cluster is None and keep is None:
        from npexplore.packets.statistics import count_capture

        counts, scan = count_capture(paths[0], workers=workers or 1)
        document = counts.document(paths[0], scan.format, scan.damage)
        document.update({"other_blocks": scan.other_blocks} if scan.other_blocks else {})
        lost = [f"{paths[0]}: {scan.damage}; the {counts.packets:,} packets before it are counted"] * bool(scan.damage)
    else:
        several = _count_several(paths, workers, cluster, keep)
        counts, document = several.counts, several.document(", ".join(files))
        for notice in several.notices():
            note(notice)
        broken = [file for file in several.files if file.trouble]
        lost = [f"{file.trouble}; {file.packets:,} packets of it are counted" for file in broken]
    for link in unread_links(counts.link_types):
        note(f"of packets of link type {link} only lengths and times are read")
    document["narrow_accesses"] = {"cell_bytes": cell_bytes, "share": counts.narrow_share(cell_bytes)}
    _show(counts, document, as_json=as_json)
    for line in lost:
        warn(line)
    return DAMAGED if lost else 0


def _count_several(paths: list[str], workers: int | None, cluster: str | None, keep: Path | None) -> SeveralCounts:
    """Count files in parallel, with a progress bar in bytes."""
    from contextlib import closing, nullcontext

    from npexplore.packets.statistics.kept import KeptCounts
    from npexplore.packets.statistics.several import count_captures
    from npexplore.study.sweeping.executors import lost, pool, slots

    if "-" in paths:
        raise InputError("standard input cannot be combined with files; give one or the other")
    sizes = {path: Path(path).stat().st_size if Path(path).is_file() else 0 for path in paths}
    total = sum(sizes.values())
    try:
        with (
            closing(KeptCounts(keep)) if keep else nullcontext() as store,
            pool(cluster, workers) as executor,
            Task("stats", unit="B", total=total, keep_bar=True) as task,
        ):
            return count_captures(
                paths, executor, slots=slots(executor), progress=lambda path: task.advance(sizes[path]), store=store
            )
    except lost() as error:
        raise InputError(f"a worker was lost before its file was counted: {type(error).__name__}") from None


def _show(counts: CaptureCounts, document: dict[str, Any], *, as_json: bool) -> None:
    """Print the JSON document or the tables."""
    import numpy as np

    cell_bytes = document["narrow_accesses"]["cell_bytes"]

    def text() -> str:
        cdf = counts.lengths()
        values: dict[str, Any] = dict(document)
        lists = {name: values.pop(name) for name in ("length_histogram", "rate", "burstiness", "damage")}
        values.pop("narrow_accesses")
        estimate = values.pop("flows_estimate", None)
        values.pop("files", None)
        for end in ("first", "last", "min", "max"):
            if (ns := values.pop(f"{end}_time_ns")) is not None:
                values[f"{end} time (UTC)"] = str(np.datetime64(ns, "ns"))
        lists["burstiness"].pop("index_of_dispersion")
        if counts.packets:
            values["length quartiles"] = [cdf.quantile(quantile) for quantile in (0.25, 0.5, 0.75)]
            if estimate:
                values["flows"] = (
                    f"{counts.flows:,} by {estimate['sketch']}: {estimate['low']:,} to {estimate['high']:,} (95 %)"
                )
            values["commonest lengths"] = ", ".join(f"{length} ({share:.1%})" for length, share in cdf.modes())
            if (narrow := counts.narrow_share(cell_bytes)) is not None:  # None: all packets have no bytes
                values[f"narrow accesses, {cell_bytes}-byte cells"] = f"{narrow:.1%}"
        lengths = [{"from": int(low), "packets": count} for low, count in lists["length_histogram"].items()]
        return "\n\n".join([facts({**values, **lists["rate"], **lists["burstiness"]}), table(lengths)])

    emit(document, text, as_json=as_json)
