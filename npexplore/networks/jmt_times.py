"""Converts JMT's distributions and arrivals to those of network files."""

from math import exp, expm1
from pathlib import Path
from typing import Any

from npexplore.errors import InputError, one_of
from npexplore.networks.jmt_file import kind_of, number_in, value_in
from npexplore.paths import text_content
from npexplore.strict_input import Entry

TIMES = (
    "Exponential", "DeterministicDistr", "Erlang", "HyperExp", "CoxianDistr", "Uniform", "Pareto", "GammaDistr",
    "Weibull", "WeibullDistr", "Lognormal", "LognormalDistr", "PhaseTypeDistr", "Replayer",
)  # fmt: skip
ARRIVALS = ("MAPDistr", "MMPP2Distr")


def service_of(strategy: Entry) -> dict[str, Any] | None:
    """Return the service time of a strategy, None for zero service; raises InputError naming the kind."""
    known = ("ServiceTimeStrategy", "ZeroServiceTimeStrategy")
    if one_of(f"{strategy.place}: strategy", kind_of(strategy), known) == "ZeroServiceTimeStrategy":
        return None
    kind, values = _parts(strategy)
    if values is None:
        raise strategy.refused("a distribution is missing")
    return _time(kind, values)


def _time(kind: Entry, values: Entry) -> dict[str, Any] | None:
    def number(name: str) -> float:
        return number_in(values.one(f"subParameter {name}"))

    def positive(name: str) -> float:
        value = number(name)
        if not 0 < value < float("inf"):
            raise values.refused(f"{name} must be greater than 0 and finite, got {value}")
        return value

    match one_of(f"{kind.place}: distribution", kind_of(kind), TIMES):
        case "Exponential":
            return {"distribution": "exponential", "mean": 1 / positive("lambda")}
        case "DeterministicDistr":
            return {"distribution": "deterministic", "mean": positive("t")} if number("t") else None
        case "Erlang":
            stages = values.whole(value_in(values.one("subParameter r")), "r")
            return {"distribution": "erlang", "mean": stages / positive("alpha"), "stages": stages}
        case "HyperExp":
            means = [1 / positive("lambda1"), 1 / positive("lambda2")]
            return {"distribution": "hyperexponential", "means": means, "probability": number("p")}
        case "CoxianDistr":
            means = [1 / positive("lambda0"), 1 / positive("lambda1")]
            return {"distribution": "coxian", "means": means, "go_on": [1 - number("phi0")]}
        case "Uniform":
            return {"distribution": "uniform", "low": number("min"), "high": number("max")}
        case "Pareto":
            return {"distribution": "pareto", "minimum": number("k"), "shape": number("alpha")}
        case "GammaDistr":
            shape = number("alpha")
            return {"distribution": "gamma", "mean": shape * number("beta"), "shape": shape}
        case "Weibull" | "WeibullDistr":
            return {"distribution": "weibull", "scale": number("alpha"), "shape": number("r")}
        case "Lognormal" | "LognormalDistr":
            spread = number("sigma") ** 2
            return {"distribution": "lognormal", "mean": exp(number("mu") + spread / 2), "scv": expm1(spread)}
        case "PhaseTypeDistr":
            first, rates = _table(values, "alpha"), _table(values, "T")
            return {"distribution": "phase_type", "first": first[0], "rates": rates}
        case _:
            return {"distribution": "trace", "values": _trace(values.one("subParameter fileName"))}


def arrivals_of(strategy: Entry) -> dict[str, Any] | None:
    """Return the arrivals of a source's strategy, None without arrivals; raises InputError naming the kind."""
    known = ("ServiceTimeStrategy", "DisabledServiceTimeStrategy")
    if one_of(f"{strategy.place}: strategy", kind_of(strategy), known) == "DisabledServiceTimeStrategy":
        return None
    kind, values = _parts(strategy)
    if values is None:  # a class that does not arrive here
        return None
    name = one_of(f"{kind.place}: distribution", kind_of(kind), (*TIMES, *ARRIVALS))
    if name == "Exponential":
        return {"process": "poisson", "rate": number_in(values.one("subParameter lambda"))}
    if name == "MAPDistr":
        return {"process": "markovian", "quiet": _table(values, "D0"), "arrive": _table(values, "D1")}
    if name == "MMPP2Distr":
        keys = ("lambda0", "lambda1", "sigma0", "sigma1")
        r0, r1, up, down = (number_in(values.one(f"subParameter {key}")) for key in keys)
        return {"process": "markovian", "quiet": [[-r0 - up, up], [down, -r1 - down]], "arrive": [[r0, 0.0], [0.0, r1]]}
    interval = _time(kind, values)
    if interval is None:
        raise strategy.refused("arrivals without any time between them")
    return {"process": "renewal", "interval": interval}


def _parts(strategy: Entry) -> tuple[Entry, Entry | None]:
    """Return the elements of a distribution and of its parameters; None in place of the parameters for `null`."""
    parts = strategy.of_kind("subParameter")
    values = [part for part in parts if part.key == "subParameter distrPar"]
    kinds = [part for part in parts if part.key != "subParameter distrPar"]
    if not parts:
        if strategy.children and value_in(strategy) != "null":
            raise strategy.refused(f"a distribution or 'null' is needed, got {value_in(strategy)!r}")
        return strategy, None
    if len(kinds) != 1 or len(values) != 1:
        raise strategy.refused(f"one distribution and its distrPar are needed, got {len(kinds)} and {len(values)}")
    return kinds[0], values[0]


def _table(values: Entry, name: str) -> list[list[float]]:
    """Return a matrix as a list of rows."""
    rows = values.one(f"subParameter {name}").of_kind("subParameter")
    table = [[number_in(entry) for entry in row.of_kind("subParameter")] for row in rows]
    if not table:
        raise values.refused(f"{name} is empty")
    return table


def _trace(entry: Entry) -> list[float]:
    path = Path(value_in(entry))
    try:
        return [float(text) for text in text_content(path).split()]
    except (OSError, ValueError, InputError) as error:
        raise entry.refused(f"Replayer {path}: {error}") from None
