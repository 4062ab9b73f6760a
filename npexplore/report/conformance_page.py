"""Makes one offline page of a router's examination: key numbers, clusters of failures, the conformance table.

write_conformance_page(examine_router(my_forward, "router.toml"), "examined.html", "my router")
"""

from __future__ import annotations

from collections import Counter
from html import escape
from pathlib import Path

import pandas as pd

from npexplore.plot.tables import table
from npexplore.report.sections import Content, Section
from npexplore.report.shell import environment
from npexplore.testing.conformance import COLUMNS, Conformance

LEFT = ("clause", "rule", "verdict")


def write_conformance_page(conformance: Conformance, path: str | Path, name: str) -> None:
    """Write the page of an examination.

    conformance: the result of `npexplore.testing.examine_router`. path: the HTML file. name: the router's name.
    """
    Path(path).write_text(conformance_page(conformance, name), encoding="utf-8")


def conformance_page(conformance: Conformance, name: str) -> str:
    """Return the page as HTML; it needs no network."""
    ports = ", ".join(f"{port.name} (MTU {port.mtu:,})" for port in conformance.router.ports)
    failing = "" if conformance.clusters else "every frame came out as it must"
    sections = [
        Section("Summary", _summary(conformance)),
        Section("Failures by rule", Content() if failing else _clusters(conformance), failing or None),
        Section("Conformance table", _table(conformance)),
    ]
    return environment().get_template("conformance.html.j2").render(
        name=f"Conformance of {name}", file=f"ports {ports}", damage="", notices=[], sections=sections, plotly_js=None
    )  # fmt: skip


def _summary(conformance: Conformance) -> Content:
    verdicts = Counter(row.verdict for row in conformance.rows)
    numbers = [("frames tried", f"{conformance.frames:,}"), ("failures", f"{conformance.failures:,}")]
    numbers.append(("clusters of failures", f"{len(conformance.clusters):,}"))
    numbers += [(f"rules {name}", f"{verdicts[name]:,}") for name in ("held", "failed", "not exercised")]
    return Content(headlines=tuple(numbers))


def _clusters(conformance: Conformance) -> Content:
    parts = [
        f"<details><summary>{cluster.failures:,} times: {escape(cluster.title)}</summary>"
        f"<pre>{escape(str(cluster.smallest))}</pre></details>"
        for cluster in conformance.clusters
    ]
    return Content(
        "Failures of a cluster break the same rule in the same way. Open one to see its smallest frame, what must "
        "become of it, and what did.",
        parts=tuple(parts),
    )


def _table(conformance: Conformance) -> Content:
    order = {"failed": 0, "held": 1, "not exercised": 2}
    rows = sorted(conformance.rows, key=lambda row: order[row.verdict])
    cells = [(*row.rule, row.tried, row.held, row.failed, row.verdict) for row in rows]
    listed = pd.DataFrame(cells, columns=[*COLUMNS, "verdict"])
    about = (
        "A line is a rule, and what it failed comes first. A frame that comes out right holds every rule it tries; "
        "one that does not fails the rule of its first difference and is no verdict on the others."
    )
    return Content(about, parts=(table(listed, left=LEFT, height=900)._repr_html_(),))
