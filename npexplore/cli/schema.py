"""`npexplore schema KIND`: the JSON Schema of a kind of TOML file, for editors and scripts."""

from __future__ import annotations

import json
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import click

from npexplore.cli.output import emit, json_option, table
from npexplore.errors import one_of

# kind -> ("module:function", folder of examples, description)
SCHEMAS = {
    "machine": ("npexplore.machine.described.schema:machine_schema", "machines", "a machine: parameters, resources"),
    "part": ("npexplore.machine.described.schema:part_schema", "parts", "a part: a kind of resource; or DRAM timings"),
    "mix": ("npexplore.machine.mixes:mix_schema", "mixes", "packet lengths and their shares"),
    "layout": ("npexplore.designs.raw.layouts:layout_schema", "raw", "the tiles of a RAW chip and their streams"),
    "network": ("npexplore.networks.description:network_schema", "networks", "stations, classes and routes for solve"),
    "net": ("npexplore.machine.petri:net_schema", "nets", "a Petri net: places, and a line for each transition"),
    "router": (
        "npexplore.golden.router.configuration:router_schema",
        "routers",
        "ports, routes, queues of a router",
    ),
    "rules": ("npexplore.golden.classify.rule_files:rules_schema", "rules", "classifier rules, policers, schedulers"),
}


def kinds() -> dict[str, tuple[str, str, str]]:
    """Return the kinds of files that this installation reads."""
    return {name: entry for name, entry in SCHEMAS.items() if find_spec(entry[0].partition(":")[0])}


def schema(kind: str) -> dict[str, Any]:
    """Return the JSON Schema of a kind of file; raises UnknownNameError."""
    module, _, function = kinds()[one_of("kind of file", kind, kinds())][0].partition(":")
    document: dict[str, Any] = getattr(import_module(module), function)()
    return document


@click.command("schema")
@click.argument("kind", required=False)
@json_option
def command(kind: str | None, as_json: bool) -> None:
    """Print the JSON Schema of a KIND of TOML file; without KIND list the kinds and where examples of each are."""
    if kind is not None:
        print(json.dumps(schema(kind), indent=2))
        return
    rows = [
        {"kind": name, "examples": f"models/{folder}", "about": about} for name, (_, folder, about) in kinds().items()
    ]
    emit({"kinds": rows}, lambda: table(rows), as_json=as_json)
