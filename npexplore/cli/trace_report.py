"""`npexplore trace report`: a capture as one offline HTML page.

Exit status 0, or 3 for a damaged capture, whose good packets are still on the page.
"""

from contextlib import closing
from pathlib import Path

import click

from npexplore.cli.files import OutputFile, memory_limit, memory_option
from npexplore.cli.output import bytes_read, library_option, note, progress, warn

DAMAGED = 3


@click.command("report")
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@click.option("-o", "--out", required=True, type=OutputFile(), help="HTML file to write.")
@memory_option
@library_option
def command(files: tuple[str, ...], out: Path, memory: str, shared_library: bool) -> int:
    """Write an HTML page: statistics of the captures FILE... taken together, and how each machine would forward them.

    FILE is a file, a folder or a pattern; - is standard input.
    """
    from npexplore.packets.files import open_captures, paths_of, troubles
    from npexplore.packets.output import replacing
    from npexplore.report.capture_page import capture_page, read
    from npexplore.study.sweeping.executors import usable_cores

    memory_bytes = memory_limit(memory)
    with closing(open_captures(files, workers=usable_cores())) as scan, replacing(paths_of(scan), out) as part:
        subject = read(scan, memory_bytes=memory_bytes, wrap=bytes_read(scan, "report"))
        note(f"{scan.path}: {subject.counts.packets:,} packets read")
        page = capture_page(
            subject, steps=lambda titles: progress(titles, unit="section", label="report"),
            beside=out if shared_library else None,
        )  # fmt: skip
        part.write_text(page, encoding="utf-8")
    if subject.streams.flows.sampled > 1:
        warn(f"more flows than --memory {memory} holds: the page estimates them from a sample, and says how")
    note(f"report: {out}")
    problems = troubles(scan)
    for trouble in problems:
        warn(f"{trouble}; the page counts the {subject.counts.packets:,} packets that could be read")
    return DAMAGED if problems else 0
