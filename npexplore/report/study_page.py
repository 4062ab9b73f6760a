"""The usual study of a machine as one offline page: rates, what binds, latency, what would help, cost, assumptions."""

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
    """Return the page; it needs no network. command: the command that made it, if one did.

    beside: the page's file, to put plotly.js in a file next to it (shared by pages); None draws figures as pictures.
    """
    from npexplore.plot.breakdown import breakdown
    from npexplore.plot.load import load_figure

    e, front = study.subject, study.front
    broken = {name: p.breakdown for name, p in e.predictions.items() if p.breakdown is not None}
    recommended = None if front is None else front.recommended()
    return figure_page(
        "study.html.j2", beside,
        name=study.design, load=e.workload.name, command=command, seed=e.seed, knobs=dict(e.knobs),
        made=time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime()), refused=dict(study.refused),
        lines=str(e).split("\n"), rates=html_records(study.records()), figure=draw(e.plot()),
        latency="" if study.load is None else html_records(latency_rows(study.load)),
        curve="" if study.load is None else draw(load_figure(study.load)),
        times=draw(breakdown(broken)) if broken else "", changes=html_records(change_rows(study)),
        searched="" if front is None else front.searched, advice=recommended[1] if recommended else "",
        front="" if front is None else front._repr_html_(), assumptions=assumption_table(study),
    )  # fmt: skip


def latency_rows(curve: LoadCurve) -> list[dict[str, Any]]:
    """Return latency at each load, nanoseconds, by the best answer."""
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

    tried = study.subject.what_if
    return [
        {
            "change": f"{c.knob} {value_text(c.present)} to {value_text(c.value)} {c.unit}".strip(), "kind": c.kind,
            "throughput": gain_text(c), "what binds then": c.bottleneck,
        }
        for c in (() if tried is None else tried.changes)
    ]  # fmt: skip


def assumption_table(study: MachineStudy) -> str:
    """Return the numbers without a source that any workload's answer rests on, as a table."""
    rows: dict[str, Mapping[str, Any]] = {
        one.name: {
            "name": one.name, "value": one.value, "unit": one.unit, "kind": one.kind, "about": one.about,
            "source": one.source, "shelf part": one.shelf,
        }
        for e in study.explanations for one in e.assumptions
    }  # fmt: skip
    return html_records(list(rows.values())) or escape("None: every number has a source.")
