"""A capture as one offline page: reads it once, fills the sections one after the other, carries plotly.js inside."""

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import BinaryIO

from plotly.offline import get_plotlyjs

from npexplore.errors import InputError
from npexplore.packets import Capture, CaptureScan
from npexplore.packets.columns import TableBuilder
from npexplore.report.capture_sections import SECTIONS
from npexplore.report.capture_subject import SAMPLE_PACKETS, Streams, Subject, notices
from npexplore.report.sections import Content, Section
from npexplore.report.shell import environment

Titles = Iterable[str]


def read(path: str | Path | BinaryIO, *, keep: int = SAMPLE_PACKETS) -> Subject:
    """Read and count a capture in one pass (`-` is standard input); raises InputError if it is none.

    keep: packets that stay in memory (rounded up to whole chunks); everything else is counted as it passes.
    """
    scan = CaptureScan(path)
    builder, streams, kept = TableBuilder(), Streams(), 0
    for part in scan:
        streams.add(part)
        if kept < keep:
            builder.append(part)
            kept += part.rows
    capture = Capture(scan.path, scan.format, tuple(scan.interfaces), builder.finish(scan.link_types), scan.damage)
    name = "standard input" if str(path) == "-" else Path(scan.path).name
    return Subject(name, capture, streams)


def capture_page(subject: Subject, *, steps: Callable[[Titles], Titles] = iter) -> str:
    """Return the page; `steps` may wrap the titles of the sections in a progress bar."""
    sections = []
    for title in steps(list(SECTIONS)):
        try:
            sections.append(Section(title, SECTIONS[title](subject)))
        except InputError as reason:
            sections.append(Section(title, Content(), str(reason)))
    template = environment().get_template("capture.html.j2")
    drawn = any("plotly-graph-div" in part for section in sections for part in section.parts)
    return template.render(
        name=subject.name,
        file=subject.capture.path,
        damage=subject.capture.damage,
        notices=notices(subject),
        sections=sections,
        plotly_js=get_plotlyjs() if drawn else None,
    )
