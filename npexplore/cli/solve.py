"""`npexplore solve`: solve a user's network by bounds, queueing theory and simulation (docs/networks.md).

Petri nets are solved by their structure, markings, Markov chain and simulation (docs/petri.md).
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from npexplore.cli.completions import one_of_words
from npexplore.cli.output import emit, json_option, table
from npexplore.errors import InputError, one_of
from npexplore.progress import Task

if TYPE_CHECKING:
    from npexplore.networks.result import NetworkResult

ALL = "all"


@click.command("solve")
@click.argument("model", required=False, type=click.Path(dir_okay=False, path_type=Path))
@click.option(
    "--method",
    default=ALL,
    show_default=True,
    metavar="NAME",
    shell_complete=one_of_words("bounds", "queueing", "simulation", "ctmc", "structure", "markings", "all"),
    help="bounds, queueing, simulation, all (of these), or ctmc: the network's Markov chain. "
    "Of a Petri net: structure, markings, ctmc, simulation, all.",
)
@click.option(
    "--seeds",
    default=5,
    show_default=True,
    type=click.IntRange(min=1),
    help="Number of simulations, each with its own seed.",
)
@click.option("--states", type=click.IntRange(min=1), help="Largest number of states of a Markov chain.")
@click.option(
    "--customers",
    type=click.IntRange(min=100),
    help="Passes through the network, or firings of a net, measured per seed.",
)
@click.option(
    "--set", "constants", multiple=True, metavar="NAME=VALUE", help="Set a constant of a Petri net; repeatable."
)
@click.option(
    "--ignore",
    "left_out",
    multiple=True,
    metavar="ELEMENT",
    help="Leave out what has this name in MODEL, knowingly; the answer names it and is never exact. Repeatable.",
)
@click.option(
    "--compare-stored",
    is_flag=True,
    help="Show the results that JMT stored in MODEL (.jsimg, .jmva) beside ours.",
)
@click.option("--schema", is_flag=True, help="Print the JSON Schema of MODEL.toml and do nothing else.")
@json_option
def command(
    model: Path | None,
    method: str,
    seeds: int,
    states: int | None,
    customers: int | None,
    constants: tuple[str, ...],
    left_out: tuple[str, ...],
    compare_stored: bool,
    schema: bool,
    as_json: bool,
) -> None:
    """Solve your own network of stations or Petri net, MODEL.toml, or a worked example by its name, such as mm1."""
    from npexplore.cli.nets import is_net, solve_net, stored_text
    from npexplore.networks.ctmc import MOST_STATES
    from npexplore.networks.description import load_network, network_schema
    from npexplore.networks.jmt_results import beside, stored_results
    from npexplore.networks.simulation import CUSTOMERS
    from npexplore.networks.solve import METHODS, solve_network
    from npexplore.paths import stems

    if schema:
        print(json.dumps(network_schema(), indent=2))
        return
    if model is None:
        raise InputError(f"solve needs a MODEL.toml, a network ({', '.join(stems('models', 'networks'))}), or --schema")
    if compare_stored and model.suffix not in (".jsimg", ".jsim", ".jmva"):
        raise InputError(f"--compare-stored needs a file of JMT (.jsimg, .jsim, .jmva), got {model.name}")
    if is_net(model):
        solve_net(model, method, constants, states, seeds, customers, as_json, left_out, compare_stored)
        return
    if constants:
        raise InputError(f"--set is for constants of Petri nets, got {constants[0]!r} for a network")
    methods = METHODS[:3] if method == ALL else (one_of("method", method, (*METHODS, ALL)),)
    network = load_network(model, left_out)
    stored = stored_results(model) if compare_stored else []
    simulates = "simulation" in methods
    with Task(network.name, unit="seed" if simulates else "", total=seeds, keep_bar=True) as task:
        try:
            results = solve_network(
                network, methods, range(1, seeds + 1), customers or CUSTOMERS, lambda _: task.advance(),
                states or MOST_STATES,
            )  # fmt: skip
        except InputError as error:
            raise InputError(f"{model.name}: {error}") from None
    if left_out:
        results = [_without(result, left_out) for result in results]
    rows = beside(stored, results, network)
    document = {
        "model": network.name, "method": method, "ignored": list(left_out),
        "results": [result.to_dict() for result in results],
    } | ({"stored": rows} if compare_stored else {})  # fmt: skip
    emit(document, lambda: "\n\n".join([*map(_text, results), *stored_text(rows)]), as_json=as_json)


def _without(result: NetworkResult, left_out: Sequence[str]) -> NetworkResult:
    """Return a result marked as not exact, because parts of the file were left out."""
    exactness = result.approximation or "exact"
    return replace(result, exact=False, approximation=f"{exactness}, but of the file without {', '.join(left_out)}")


def _text(result: NetworkResult) -> str:
    exactness = "refused: " + result.refused if result.refused else "exact" if result.exact else result.approximation
    head = f"{result.solver} ({exactness})"
    if result.refused:
        return head
    stations = table([{"station": name, **vars(station)} for name, station in result.stations.items()])
    classes = table([{"class": name, **vars(measures)} for name, measures in result.classes.items()])
    class_table = ""
    if len(result.classes) > 1:
        rows = [
            {"station": name, "class": class_name, **vars(measures)}
            for name, by_class in result.station_classes.items()
            for class_name, measures in by_class.items()
        ]
        class_table = f"\n\n{table(rows)}" if rows else ""
    if result.states is not None:
        head += f"; {result.states} states, every mean certified within {result.error:.1g}"
    return f"{head}\n\n{stations}\n\n{classes}{class_table}\n\nbottleneck: {result.bottleneck or 'none'}"
