"""Makes one offline page of the standard study of a machine: rates, bottleneck, latency, changes, cost, assumptions."""

from __future__ import annotations

import time
from collections.abc import Mapping
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from npexplore.display import html_records, significant
from npexplore.report.shell import draw, figure_page

if TYPE_CHECKING:
    from npexplore.study.loading.curve import LoadCurve
    from npexplore.study.machine_study import MachineStudy


def study_page(study: MachineStudy, command: str | None = None, beside: Path | None = None) -> str:
    """Return the page as HTML; it needs no network. command: the command that made it, None without one.

    beside: the page's path, to store plotly.js next to it (shared by pages); None draws figures as static pictures.
    """
    from npexplore.plot.breakdown import breakdown
    from npexplore.plot.load import load_figure

    subject, front = study.subject, study.front
    breakdowns = {name: p.breakdown for name, p in subject.predictions.items() if p.breakdown is not None}
    recommended = None if front is None else front.recommended()
    return figure_page(
        "study.html.j2", beside,
        name=study.design, load=subject.workload.name, command=command, seed=subject.seed, knobs=dict(subject.knobs),
        made=time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime()), refused=dict(study.refused),
        lines=str(subject).split("\n"), rates=html_records(study.records()), figure=draw(subject.plot()),
        latency="" if study.load is None else html_records(latency_rows(study.load)),
        curve="" if study.load is None else draw(load_figure(study.load)),
        times=draw(breakdown(breakdowns)) if breakdowns else "", changes=html_records(change_rows(study)),
        searched="" if front is None else front.searched, advice=recommended[1] if recommended else "",
        front="" if front is None else front._repr_html_(), assumptions=assumption_table(study),
    )  # fmt: skip


def latency_rows(curve: LoadCurve) -> list[dict[str, Any]]:
    """Return the latency at each load in nanoseconds, by the best solver."""
    full = curve.full
    return [
        {
            "% of highest rate": None if full is None else round(100 * point.offered_pps / full.rate_pps),
            "offered Mpps": significant(point.offered_pps / 1e6),
            **{f"{name} ns": None if s is None else significant(1e9 * s) for name, s in point.latency_s.items()},
            "loss %": None if point.loss is None else round(100 * point.loss, 9),
            "by": point.solver,
        }
        for point in curve.best
    ]  # fmt: skip


def change_rows(study: MachineStudy) -> list[dict[str, Any]]:
    """Return the single changes of the subject that have an effect, best first."""
    from npexplore.study.explaining.words import gain_text, value_text

    what_if = study.subject.what_if
    return [
        {
            "change": f"{change.knob} {value_text(change.present)} to {value_text(change.value)} {change.unit}".strip(),
            "kind": change.kind, "throughput": gain_text(change), "what binds then": change.bottleneck,
        }
        for change in (() if what_if is None else what_if.changes)
    ]  # fmt: skip


def assumption_table(study: MachineStudy) -> str:
    """Return a table of the numbers without a source that affect the answer for any workload."""
    rows: dict[str, Mapping[str, Any]] = {
        assumption.name: {
            "name": assumption.name, "value": assumption.value, "unit": assumption.unit, "kind": assumption.kind,
            "about": assumption.about, "source": assumption.source, "shelf part": assumption.shelf,
        }
        for explanation in study.explanations for assumption in explanation.assumptions
    }  # fmt: skip
    return html_records(list(rows.values())) or escape("None: every number has a source.")
