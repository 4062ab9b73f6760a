"""How networks answer the models of LINE's gallery and examples, and how far LINE's own answers are from that."""

import json
from functools import cache
from math import inf, isfinite
from typing import NamedTuple

from reference.line_models import graph_of

from npexplore.errors import NpexploreError
from npexplore.networks.solve import solve_network

STATES = 20_000
TRUSTED = {  # LINE's solvers where they can be exact: its chain where all classes are closed, for else it truncates
    "closed product form": ("ctmc", "nc", "mva"),
    "closed": ("ctmc",),
    "open": ("mam", "nc", "mva"),
}


class Answer(NamedTuple):
    """A model's outcome: `solver` None where it is not said or refused; `nearest`: LINE's solver that is nearest."""

    name: str
    solver: str | None
    exact: bool
    how: str
    closed: bool
    nearest: str | None
    error: float | None


@cache
def solved(text):
    """Return what answers a model, as JSON, or why nothing does; LINE builds some models under two names."""
    try:
        network = graph_of(json.loads(text)).network()
        (found,) = solve_network(network, ["queueing"])
        if found.refused or not found.exact:
            (chain,) = solve_network(network, ["ctmc"], most_states=STATES)
            if not chain.refused:
                found = chain
        if found.refused:
            (run,) = solve_network(network, ["simulation"], [1], 20_000)
            found = run if not run.refused else found
    except (NpexploreError, KeyError) as error:
        return None, str(error)
    return (None, found.refused) if found.refused else (found, "")


def answer(one):
    """Answer one recorded model."""
    name, said = one["name"], one["model"]
    if said is None:
        return Answer(name, None, False, "LINE cannot write it down", False, None, None)
    closed = all(c["type"] == "Closed" for c in said.get("classes", ()))
    found, why_not = solved(json.dumps(said))
    if found is None:
        return Answer(name, None, False, why_not, closed, None, None)
    errors = {}
    kind = (
        "open" if not closed else "closed" if found.solver != "queueing" or not found.exact else "closed product form"
    )
    for solver in TRUSTED[kind]:
        rows = one["answers"].get(solver)
        if isinstance(rows, list):
            errors[solver] = distance(found, rows)
    nearest = min(errors, key=errors.get) if errors else None
    how = "exact" if found.exact else found.approximation
    return Answer(name, found.solver, found.exact, how, closed, nearest, errors.get(nearest))


def distance(found, rows):
    """The largest relative difference of mean numbers at stations by class (of small ones: in thousandths).

    It is infinite where the peer's number is and ours is not.
    """
    worst = 0.0
    for station, c, number, _ in rows:
        row = found.station_classes.get(station.strip(), {}).get(c.strip())
        if row is not None and row.mean_number is not None and row.mean_number != number:
            apart = abs(row.mean_number - number) / max(abs(number), 1e-3) if isfinite(number) else inf
            worst = max(worst, apart)
    return worst


def answers(recorded):
    """Answer every model of a recording."""
    return [answer(one) for one in recorded]


def table(found):
    """The answers as a Markdown table with a line of sums."""
    rows = ["| model | answered by | how | LINE's nearest | differs by |", "|---|---|---|---|---|"]
    for one in sorted(found):
        error = "" if one.error is None else f"{one.error:.1e}"
        rows.append(f"| {one.name} | {one.solver or '-'} | {one.how[:90]} | {one.nearest or ''} | {error} |")
    run = [one for one in found if one.solver]
    near = [one for one in run if one.error is not None and one.error <= 1e-4]
    exact = [one for one in run if one.exact or one.solver == "ctmc"]
    said = f"{len(run)} answered, {len(exact)} exactly or by a chain, {len(near)} within 1e-4 of LINE"
    return "\n".join([f"{len(found)} models, {said}", "", *rows])
