"""`npexplore explain`: what a machine does with a workload, and why (fields: docs/studies.md).

Exit status 3 if the workload's capture is damaged: what could be read is explained all the same.
"""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from npexplore.cli.files import OutputFile
from npexplore.cli.options import (
    apply_settings,
    check_packets,
    ending,
    read_workload,
    set_option,
    split_settings,
    warn_of_idle_knobs,
    workload_options,
)
from npexplore.cli.output import emit, facts, json_option, note, table, warn
from npexplore.errors import InputError

if TYPE_CHECKING:
    from npexplore.designs import Design
    from npexplore.machine.workload import Workload
    from npexplore.study.explaining.explain import Explanation


@click.command("explain")
@click.argument("design", required=False)
@set_option(several=False)
@workload_options
@click.option("--seed", default=1, show_default=True, type=click.IntRange(min=0), help="First seed of the simulation.")
@click.option("--seeds", default=1, show_default=True, type=click.IntRange(min=1), help="Replications to simulate.")
@click.option("--packets", type=click.IntRange(min=1), help="Packets to measure in each; default: as stand for a mix.")
@click.option("--no-sensitivity", is_flag=True, help="Leave out what each parameter would change (the slow part).")
@click.option("--html", type=OutputFile(), help="Also write the paragraph and its picture as a page.")
@click.option("--knobs", is_flag=True, help="List what can be set on DESIGN: type, unit, range, default, source.")
@click.option("--mixes", is_flag=True, help="List the published mixes of packet lengths.")
@json_option
def command(
    design: str | None, settings: tuple[str, ...], trace: str | None, mix: str | None, packet_bytes: int | None,
    arrivals: str | None, rate: str | None, seed: int, seeds: int, packets: int | None, no_sensitivity: bool,
    html: Path | None, knobs: bool, mixes: bool, as_json: bool,
) -> int:  # fmt: skip
    """Say how fast DESIGN forwards a workload, what holds it back, how much headroom there is, and what would help."""
    if mixes:
        rows = list_mixes()
        emit({"mixes": rows}, lambda: table(rows, MIX_COLUMNS), as_json=as_json)
        return 0
    import npexplore.designs as designs
    from npexplore.study.explaining.equivalent import equivalent

    if design is None:
        raise InputError(f"explain needs a DESIGN ({', '.join(designs.DESIGNS)}) or --mixes")
    made = apply_settings(designs.design(design), settings)
    if knobs:
        rows = list_knobs(made)
        emit({"design": made.name, "knobs": rows}, lambda: table(rows, KNOB_COLUMNS), as_json=as_json)
        return 0
    check_packets(made, packets)
    given = read_workload(made, trace, mix, packet_bytes, arrivals, rate, nearest=True)
    asked, load, told = equivalent(made, given)
    if told is not None:
        note(f"{made.name}: {told}")
    explanation = _explain(made, given, seed, seeds, packets, not no_sensitivity)
    warn_of_idle_knobs(split_settings(settings), [(asked, load)])
    for name, reason in explanation.refused.items():
        warn(f"no answer by {name}: {reason.removeprefix(f'{name}: ')}")
    if html is not None:
        from npexplore.report.explanation_page import explanation_page

        html.write_text(explanation_page(explanation), encoding="utf-8")
    emit(explanation.to_dict(), lambda: text(explanation), as_json=as_json)
    return ending(given)


def _explain(
    design: Design, load: Workload | None, seed: int, seeds: int, packets: int | None, elasticities: bool
) -> Explanation:
    from tqdm import tqdm

    from npexplore.solve.simulate import PACKETS
    from npexplore.study.explaining.explain import explain

    with tqdm(total=None, unit="point", desc="what would help", disable=None, file=sys.stderr, leave=False) as bar:

        def progress(done: int, total: int) -> None:
            bar.total, bar.n = total, done
            bar.update(0)

        return explain(
            design, load, seed=seed, seeds=seeds, packets=packets or PACKETS, elasticities=elasticities,
            progress=progress,
        )  # fmt: skip


def text(e: Explanation) -> str:
    """Return an explanation as people read it: the paragraph, then the numbers behind it."""
    from npexplore.study.explaining.whatif import CONFIRM
    from npexplore.study.explaining.words import gain_text, value_text

    best = e.best
    solvers = [
        {
            "solver": name, "throughput": p.throughput_bps / 1e6, "rate": p.rate_pps / 1e6, "bottleneck": p.bottleneck,
            "latency": None if p.latency_s.mean is None else p.latency_s.mean * 1e9, "how": p.approximation or "exact",
        }
        for name, p in e.predictions.items()
    ]  # fmt: skip
    heads = {
        "solver": "solver", "throughput": f"Mb/s ({best.counted})", "rate": "Mpps", "latency": "latency ns",
        "bottleneck": "bottleneck", "how": "how",
    }  # fmt: skip
    shares = [
        {"resource": name, "busy %": 100 * busy, "blocked %": 100 * blocked}
        for name, (busy, blocked) in sorted(best.utilization.items(), key=lambda item: -item[1].busy)
        if busy > 0
    ]
    idle = Counter(name.partition(".")[0] for name, (busy, _) in best.utilization.items() if not busy > 0)
    latency = {name: None if s is None else s * 1e9 for name, s in best.latency_s._asdict().items()}
    never = "never busy: " + ", ".join(f"{name} ({n})" if n > 1 else name for name, n in idle.items())
    parts = [str(e), table(solvers, heads), table(shares), *([never] if idle else [])]
    parts.append(facts({"latency ns": latency, "drops": dict(best.drops)}))
    if e.sensitivity is not None:
        changes = [
            {
                "parameter": c.knob, "kind": c.kind, "value": c.value, "unit": c.unit, "bounds": c.bounds,
                "queueing": c.queueing, "simulated": c.simulated, "noise": c.noise, "gain by less": c.less,
                "by more": c.more,
            }
            for c in e.sensitivity.found
        ]  # fmt: skip
        if changes:
            parts.append("per cent of throughput for one per cent more of a parameter\n" + table(changes))
        if e.sensitivity.without_effect:
            parts.append(f"no effect beyond the noise: {', '.join(e.sensitivity.without_effect)}")
    if e.what_if is not None and e.what_if.changes:
        rows = [
            {"change": f"{c.knob} {value_text(c.present)} to {value_text(c.value)} {c.unit}".strip(), "kind": c.kind,
             "throughput": gain_text(c), "what binds then": c.bottleneck} for c in e.what_if.changes
        ]  # fmt: skip
        by = " and ".join(dict.fromkeys(change.solver for change in e.what_if.changes))
        repeated = any(change.low is not None for change in e.what_if.changes)
        seeds = f" (with ±: the mean of {CONFIRM} seeds; others: one seed)" if repeated else ""
        parts.append(f"what single changes would do, by {by}{seeds}\n" + table(rows))
        knees = [
            {"knob": k.knob, "knee": k.knee, "95 % of the best at": k.enough, "unit": k.unit} for k in e.what_if.knees
        ]
        if knees:
            parts.append("where the curve of a knob bends\n" + table(knees))
    if e.assumptions:
        columns = ("kind", "name", "value", "unit", "about")
        parts.append(table([{name: getattr(a, name) for name in columns} for a in e.assumptions]))
    return "\n\n".join(parts)


KNOB_COLUMNS = ("knob", "kind", "type", "default", "unit", "range", "about", "source")
MIX_COLUMNS = {
    "name": "name", "mean_packet_bytes": "mean bytes", "below_64": "share < 64", "longest_bytes": "longest",
    "title": "title",
}  # fmt: skip


def list_knobs(design: Design) -> list[dict[str, Any]]:
    """Return what can be set on a design, the paper's knobs first."""
    rows = []
    for name, p in design.parameters.file.parameter.items():
        low, high = ("" if end is None else f"{end:g}" for end in (p.min, p.max))
        kind = "choice" if p.choices else "integer" if isinstance(p.value, int) else "number"
        span = ", ".join(p.choices) if p.choices else f"{low}..{high}" if low or high else ""
        rows.append({
            "knob": name, "kind": p.kind, "type": kind, "value": design.parameters[name], "default": p.value,
            "unit": p.unit, "range": span, "min": p.min, "max": p.max, "choices": p.choices or None,
            "about": p.about, "source": p.source,
        })  # fmt: skip
    return sorted(rows, key=lambda row: row["kind"] != "knob")


def list_mixes() -> list[dict[str, Any]]:
    """Return the published mixes with their properties and sources."""
    import numpy as np

    from npexplore.machine.mixes import load_mix, mix_names

    rows = []
    for name in mix_names():
        mix = load_mix(name)
        lengths = np.arange(len(mix.probability))
        rows.append({
            "name": name, "title": mix.file.title, "mean_packet_bytes": float(np.sum(lengths * mix.probability)),
            "below_64": float(mix.probability[:64].sum()), "longest_bytes": int(lengths[-1]),
            "assumption": mix.file.assumption or None,
            "sources": [part.source for part in mix.file.component],
        })  # fmt: skip
    return rows
