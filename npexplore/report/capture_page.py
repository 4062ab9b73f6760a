"""Makes one offline page of a capture: reads the capture once, then fills each section."""

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, BinaryIO

from npexplore.errors import InputError, shown
from npexplore.packets import Capture
from npexplore.packets.columns import TableBuilder
from npexplore.packets.files import Files, Scan, open_captures, paths_of
from npexplore.report.capture_sections import SECTIONS
from npexplore.report.capture_subject import KEPT_COLUMNS, SAMPLE_PACKETS, Streams, Subject, notices
from npexplore.report.sections import Content, Section
from npexplore.report.shell import figure_page

Titles = Iterable[str]
MEMORY_BYTES = 1 << 30


def read(
    path: Files | Scan | BinaryIO, *, keep: int = SAMPLE_PACKETS, memory_bytes: int = MEMORY_BYTES,
    wrap: Callable[[Iterable[Any]], Iterable[Any]] = iter,
) -> Subject:  # fmt: skip
    """Read and count a capture in one pass (`-` is standard input); raises InputError if it is not a capture.

    path: a file, several as one, or what `open_captures` returned for them.
    keep: packets that stay in memory (rounded up to whole chunks); all packets are counted;
    memory_bytes: half of it is for flows; if they take more, they are sampled;
    wrap: wraps the iteration, for example in a progress bar.
    """
    scan = open_captures(path)
    builder, streams, packets = TableBuilder(KEPT_COLUMNS), Streams.within(memory_bytes), 0
    for part in wrap(scan):
        streams.add(part)
        if packets < keep:
            builder.append(part)
            packets += part.rows
    capture = Capture(
        shown(scan.path), scan.format, tuple(scan.interfaces), builder.finish(scan.link_types), scan.damage
    )
    names = ", ".join(shown(Path(path).name) for path in paths_of(scan))
    name = "standard input" if names == "-" else names
    return Subject(name, capture, streams)


def capture_page(subject: Subject, *, steps: Callable[[Titles], Titles] = iter, beside: Path | None = None) -> str:
    """Return the page; `steps` may wrap the titles of the sections in a progress bar.

    beside: the page's path, to store plotly.js next to it (shared by pages); None draws figures as static pictures.
    """
    sections = []
    for title in steps(list(SECTIONS)):
        try:
            sections.append(Section(title, SECTIONS[title](subject)))
        except InputError as reason:
            sections.append(Section(title, Content(), str(reason)))
    drawn = any("plotly-graph-div" in part for section in sections for part in section.parts)
    return figure_page(
        "capture.html.j2",
        beside,
        drawn=drawn,
        name=subject.name,
        file=Path(subject.capture.path).name,
        damage=subject.capture.damage,
        notices=notices(subject),
        sections=sections,
    )
