"""JMT's distributions as those of network files."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from npexplore.errors import InputError

Element = ElementTree.Element
MATRICES = ("T", "D0", "D1")


def values_of(element: Element) -> dict[str, str]:
    """Return the named values directly inside an element."""
    found = {}
    for part in element.findall("subParameter"):
        if (text := part.findtext("value")) is not None:
            found[part.get("name", "")] = text.strip()
    return found


def service_of(said: Element, place: str) -> dict[str, Any] | None:
    """Return a service time of a ServiceTimeStrategy, None where no time passes; raises InputError naming the kind."""
    strategy = said.get("classPath", "").rpartition(".")[2]
    if strategy == "ZeroServiceTimeStrategy":
        return None
    if strategy != "ServiceTimeStrategy":
        raise InputError(f"{place}: {strategy}")
    kind, values, tables = _parts(said)

    def number(name: str) -> float:
        return float(values[name])

    match kind:
        case "Exponential":
            return {"distribution": "exponential", "mean": 1 / number("lambda")}
        case "DeterministicDistr":
            return {"distribution": "deterministic", "mean": number("t")} if number("t") else None
        case "Erlang":
            stages = round(number("r"))
            return {"distribution": "erlang", "mean": stages / number("alpha"), "stages": stages}
        case "HyperExp":
            means = [1 / number("lambda1"), 1 / number("lambda2")]
            return {"distribution": "hyperexponential", "means": means, "probability": number("p")}
        case "CoxianDistr":
            means = [1 / number("lambda0"), 1 / number("lambda1")]
            return {"distribution": "coxian", "means": means, "go_on": [1 - number("phi0")]}
        case "Uniform":
            return {"distribution": "uniform", "low": number("min"), "high": number("max")}
        case "Pareto":
            return {"distribution": "pareto", "minimum": number("k"), "shape": number("alpha")}
        case "GammaDistr":
            return {"distribution": "gamma", "mean": number("alpha") * number("beta"), "shape": number("alpha")}
        case "WeibullDistr":
            return {"distribution": "weibull", "scale": number("alpha"), "shape": number("r")}
        case "LognormalDistr":
            from math import exp, expm1

            spread = number("sigma") ** 2
            return {"distribution": "lognormal", "mean": exp(number("mu") + spread / 2), "scv": expm1(spread)}
        case "PhaseTypeDistr":
            return {"distribution": "phase_type", "first": tables["alpha"][0], "rates": tables["T"]}
        case "Replayer":
            return {"distribution": "trace", "values": _trace(Path(values["fileName"]), place)}
        case _:
            raise InputError(f"{place}: distribution {kind}")


def arrivals_of(said: Element, place: str) -> dict[str, Any] | None:
    """Return the arrivals of a source's strategy, None if it has none; raises InputError naming the kind."""
    if said.get("classPath", "").rpartition(".")[2] == "DisabledServiceTimeStrategy":
        return None
    kind, values, tables = _parts(said)
    if not kind:  # a closed class at a source
        return None
    if kind == "Exponential":
        return {"process": "poisson", "rate": float(values["lambda"])}
    if kind == "MAPDistr":
        return {"process": "markovian", "quiet": tables["D0"], "arrive": tables["D1"]}
    if kind == "MMPP2Distr":
        a, b, up, down = (float(values[key]) for key in ("lambda0", "lambda1", "sigma0", "sigma1"))
        return {"process": "markovian", "quiet": [[-a - up, up], [down, -b - down]], "arrive": [[a, 0.0], [0.0, b]]}
    interval = service_of(said, place)
    if interval is None:
        raise InputError(f"{place}: arrivals without any time between them")
    return {"process": "renewal", "interval": interval}


def _parts(said: Element) -> tuple[str, dict[str, str], dict[str, list[list[float]]]]:
    """Return the distribution's class, its values, and its tables of numbers."""
    kind, values, tables = "", {}, {}
    for part in said.findall("subParameter"):
        if part.get("name") != "distrPar":
            kind = part.get("classPath", "").rpartition(".")[2]
            continue
        values = values_of(part)
        for table in part.findall("subParameter"):
            rows = [
                [float(entry.findtext("value") or 0) for entry in row.findall("subParameter")]
                for row in table.findall("subParameter")
            ]
            if rows:
                tables[table.get("name", "")] = rows
    return kind, values, tables


def _trace(path: Path, place: str) -> list[float]:
    try:
        return [float(text) for text in path.read_text(encoding="utf-8").split()]
    except (OSError, ValueError) as error:
        raise InputError(f"{place}: Replayer {path}: {error}") from None
