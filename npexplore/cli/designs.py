"""`npexplore designs`: list the machines that can be explored; the lists of knobs and mixes that `explain` prints."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from npexplore.cli.output import emit, json_option, table

if TYPE_CHECKING:
    from npexplore.machine.parameters import Parameters

KNOB_COLUMNS = ("knob", "kind", "type", "default", "unit", "range", "about", "source")
MIX_COLUMNS = {
    "name": "name", "mean_packet_bytes": "mean bytes", "below_64": "share < 64", "longest_bytes": "longest",
    "title": "title",
}  # fmt: skip


@click.command("designs")
@json_option
def command(as_json: bool) -> None:
    """List the machines that can be explored; `explain NAME --knobs` lists what can be set on one."""
    from npexplore.designs.listed import LISTED
    from npexplore.machine.machine_files import load_machine

    rows = []
    for name, entry in LISTED.items():
        file = load_machine(name)
        knobs = sum(parameter.kind == "knob" for parameter in file.parameter.values())
        rows.append({
            "name": name, "title": file.title, "knobs": knobs, "parameters": len(file.parameter), "paper": file.paper,
            "needs_workload": entry.needs_workload,
        })  # fmt: skip
    columns = {"name": "name", "knobs": "knobs", "parameters": "parameters", "paper": "paper", "title": "title"}
    emit({"designs": rows}, lambda: table(rows, columns), as_json=as_json)


def show_knobs(name: str, parameters: Parameters, as_json: bool) -> None:
    """Print the parameters that can be set on a design."""
    from npexplore.machine.parameters import HOW_TO_ADD

    rows = list_knobs(parameters)
    none = f"{name} has no parameters to change; to have some, {HOW_TO_ADD}"
    emit({"design": name, "knobs": rows}, lambda: table(rows, KNOB_COLUMNS) if rows else none, as_json=as_json)


def list_knobs(parameters: Parameters) -> list[dict[str, Any]]:
    """Return the parameters that can be set on a design, the paper's knobs first."""
    rows = []
    for name, parameter in parameters.file.parameter.items():
        low, high = ("" if end is None else f"{end:g}" for end in (parameter.min, parameter.max))
        kind = "choice" if parameter.choices else "integer" if isinstance(parameter.value, int) else "number"
        range_text = (
            ", ".join(map(str, parameter.choices)) if parameter.choices else f"{low}..{high}" if low or high else ""
        )
        rows.append({
            "knob": name, "kind": parameter.kind, "type": kind, "value": parameters[name], "default": parameter.value,
            "unit": parameter.unit, "range": range_text, "min": parameter.min, "max": parameter.max,
            "choices": parameter.choices or None, "about": parameter.about, "source": parameter.source,
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
