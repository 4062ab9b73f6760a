"""`npexplore trace report`: a capture as one offline HTML page.

Exit status 0, or 3 for a damaged capture, whose good packets are on the page all the same.
"""

from pathlib import Path

import click

from npexplore.cli.files import OutputFile
from npexplore.cli.output import note, progress, warn

DAMAGED = 3


@click.command("report")
@click.argument("file")
@click.option("-o", "--out", required=True, type=OutputFile(), help="HTML file to write.")
def command(file: str, out: Path) -> int:
    """Write the statistics of the capture FILE (- is standard input), and what it would do to each machine, as HTML."""
    from npexplore.packets.output import replacing
    from npexplore.report.capture_page import capture_page, read

    with replacing(file, out) as part:
        subject = read(file)
        note(f"{file}: {subject.counts.packets:,} packets read")
        page = capture_page(subject, steps=lambda titles: progress(titles, unit="section", label="report"))
        part.write_text(page, encoding="utf-8")
    note(f"report: {out}")
    if subject.capture.damage:
        warn(f"{file}: {subject.capture.damage}; the page counts the {subject.counts.packets:,} packets before it")
        return DAMAGED
    return 0
