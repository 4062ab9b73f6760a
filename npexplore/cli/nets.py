"""Petri nets in `npexplore solve`: structure, markings, Markov chain, simulation (docs/petri.md)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from npexplore.cli.output import emit, facts, table
from npexplore.errors import InputError, SimulationError, one_of
from npexplore.machine.petri.tables import is_net_file
from npexplore.networks.jmt_file import is_petri_net
from npexplore.paths import share
from npexplore.progress import Task

if TYPE_CHECKING:
    from npexplore.machine.petri import Net
    from npexplore.solve.petri import Markings, NetChain, NetSimulation, Structure

METHODS = ("structure", "markings", "ctmc", "simulation")

TABLES = {"places": "place", "transitions": "transition", "utilization": "resource", "latency": "ended by"}


def is_net(model: Path) -> bool:
    """Return whether a file, or an example by its name, is a Petri net: PNML, JMT's, or with a table of transitions."""
    if model.suffix == ".pnml" or is_petri_net(model):
        return True
    if model.suffix != ".toml" and not model.is_file():
        return (
            not (share("models", "networks") / f"{model}.toml").exists()
            and (share("models", "nets") / f"{model}.toml").exists()
        )
    return is_net_file(model)


def solve_net(
    model: Path,
    method: str,
    constants: Sequence[str],
    most_states: int | None,
    seeds: int,
    firings: int | None,
    as_json: bool,
    left_out: Sequence[str] = (),
    compare_stored: bool = False,
) -> None:
    """Print the results of the chosen methods for a net; `firings` are simulated for each of the seeds 1, 2, ..."""
    from npexplore.machine.petri import load_net
    from npexplore.networks.jmt_net import read_jmt_net
    from npexplore.networks.jmt_results import beside_net, stored_results
    from npexplore.solve.petri import find_markings, find_structure, simulate_net, solve_chain
    from npexplore.solve.petri.graph import MOST_STATES
    from npexplore.solve.petri.simulation import FIRINGS

    methods = METHODS if method == "all" else (one_of("method of a Petri net", method, (*METHODS, "all")),)
    if is_petri_net(model):
        if constants:
            raise InputError(f"{model.name}: a file of JMT has no constants, got {constants[0]}")
        net = read_jmt_net(model, left_out)
    else:
        net = load_net(model, dict(_constant(text) for text in constants), left_out=left_out)
    stored = stored_results(model) if compare_stored else []
    max_states = most_states or MOST_STATES
    solvers: dict[str, Callable[[Net], Any]] = {
        "structure": find_structure,
        "markings": lambda model_net: find_markings(model_net, max_states),
        "ctmc": lambda model_net: solve_chain(model_net, max_states),
        "simulation": lambda model_net: simulate_net(model_net, range(1, seeds + 1), firings or FIRINGS),
    }
    answers = {}
    try:
        with Task("solving") as task:
            for name in methods:
                task.describe(name)
                answers[name] = solvers[name](net)
    except InputError as error:
        raise InputError(f"{model.name}: {error}") from None
    except SimulationError as error:
        raise SimulationError(error.kind, f"{model.name}: {str(error).removeprefix(f'{error.kind}: ')}") from None
    results = [answer.to_dict() for answer in answers.values()]
    rows = beside_net(stored, results)
    document = {
        "model": net.name, "method": method, "timing": net.timing, "ignored": list(left_out), "notes": list(net.notes),
        "results": results,
    } | ({"stored": rows} if compare_stored else {})  # fmt: skip
    notes = [f"of the file without {', '.join(left_out)}"] if left_out else []
    notes += [f"note: {note}" for note in net.notes]
    texts = [_text(name, answer) for name, answer in answers.items()]
    emit(document, lambda: "\n\n".join([*notes, *texts, *stored_text(rows)]), as_json=as_json)


def stored_text(rows: Sequence[dict[str, Any]]) -> list[str]:
    """Return a table of the results stored by JMT and ours; empty if there are none."""
    if not rows:
        return []
    keys = ("station", "class", "measure", "stored", "low", "high")
    return ["stored results beside ours\n\n" + table([{key: row[key] for key in keys} | row["ours"] for row in rows])]


def _constant(text: str) -> tuple[str, float]:
    name, _, value = text.partition("=")
    try:
        return name, float(value)
    except ValueError:
        raise InputError(f"--set needs NAME=NUMBER, got {text!r}") from None


def _text(name: str, answer: Structure | Markings | NetChain | NetSimulation) -> str:
    head = f"{name} (refused: {answer.refused})" if answer.refused else name
    measures: dict[str, Any] = {}
    tables: list[str] = []
    for field in fields(answer):
        value = getattr(answer, field.name)
        if field.name == "refused" or value is None:
            continue
        if value == {}:
            continue
        if field.name in TABLES and isinstance(value, dict):
            tables.append(table([{TABLES[field.name]: key, **vars(row)} for key, row in value.items()]))
        elif field.name.endswith("semiflows"):
            tables.append(f"{field.name}: {len(value)}\n" + "\n".join(f"  {_flow(flow)}" for flow in value))
        elif field.name in ("deadlock", "witness", "dead"):
            measures |= {f"{field.name}: {part}": item for part, item in vars(value).items()}
        else:
            measures[field.name] = value
    return "\n\n".join([head, *([facts(measures)] if measures else []), *tables])


def _flow(flow: Any) -> str:
    terms = " + ".join(name if weight == 1 else f"{weight} {name}" for name, weight in flow.weights.items())
    return terms if flow.tokens is None else f"{terms} = {flow.tokens}"
