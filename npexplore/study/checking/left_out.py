"""Cross-validates models: leaves out one group of visible rows at a time and predicts it from the others (Stone 1974).

A parameter that was fitted to rows of the group is fitted again to its other rows. A parameter that no other row
determines is set to its smallest value, as if its effect did not exist. A program's cycle counts are removed from the
server, which then uses the counts with another ring or has no answer. The one read that characterises a PCI Express
host is always kept.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

import msgspec
import numpy as np

from npexplore.designs import Design, design, with_machines
from npexplore.errors import InputError, NpexploreError
from npexplore.ledger import load
from npexplore.machine.parameters import Parameters, Value
from npexplore.records import content_hash
from npexplore.study.checking.calibrate import calibrate
from npexplore.study.checking.check import check
from npexplore.study.checking.fitted_rows import fitted_keys
from npexplore.study.checking.groups import SCORES
from npexplore.study.sweeping.grid import Span

WIDE = 2.0  # a parameter is fitted between its value / WIDE and its value * WIDE
RATE = "forwarding rate"
VISIBLE = ("calibration", "check")


@dataclass(frozen=True)
class LeftOut:
    """A left-out group: its number of rows, relative errors by key, refitted values, and undetermined parameters.

    Example:
        >>> from npexplore.study import LeftOut
        >>> LeftOut("rates", 3, {"row": 0.02}, {}, ()).rows
        3
    """

    __hash__ = content_hash

    group: str
    rows: int
    errors: Mapping[str, float]
    fitted: Mapping[str, Value]
    untold: tuple[str, ...]

    @property
    def median(self) -> float:
        """The median of the absolute errors; nan if no row has an answer."""
        return float(np.median([abs(error) for error in self.errors.values()])) if self.errors else float("nan")


def row_groups(of: str) -> dict[str, list[str]]:
    """Return the keys of a design's visible numeric rows by group: the server's rates by series, others as scored.

    Transfers over PCI Express are also grouped by size, so that such a row is in two groups.
    """
    rows = [row for row in load().select(design=of, roles=VISIBLE) if row.point]
    characterising = {key for name, keys in _fitted(design(of)).items() if name.startswith("read_ns_") for key in keys}
    by_group: dict[str, list[str]] = {}
    for row in rows:
        prefix, rest = row.key.split(".", 1)
        names = [group.name for group in SCORES[prefix] if group.has(row) and not group.part]
        if of == "server":
            names = [rest.rsplit(".", 1)[0]] * (row.quantity == RATE)
        elif "transfer_bytes" in row.conditions and "window_bytes" not in row.conditions:
            names.append(f"{row.conditions['transfer_bytes']} bytes")
        for name in names:
            if row.key not in characterising:
                by_group.setdefault(name, []).append(row.key)
    return by_group


def leave_group_out(of: str, group: str, keys: Sequence[str], *, seeds: int = 1, starts: int = 1) -> LeftOut:
    """Return how well all other rows predict those of a group.

    Raises UnknownNameError for an unknown design or row, InputError for a row of another design.

    of: the name of a design. group: the name of the group. keys: the rows of the group, as `row_groups` lists them.
    seeds: number of simulations of each row. starts: number of starts of the fit.
    """
    left_out, base, ledger = set(keys), design(of), load()
    for key in keys:
        if (owner := ledger[key].design) != of:
            raise InputError(
                f"group {group!r} of design {of}: row {key} is of design {owner}; row_groups lists those of {of}"
            )
    other_rows = {name: keys_ - left_out for name, keys_ in _fitted(base).items() if keys_ & left_out}
    undetermined = tuple(name for name, others in other_rows.items() if not others)
    machine = _without(base, undetermined)
    fitted: dict[str, Value] = {}
    if free := {name: Span(*_around(base, name)) for name, others in other_rows.items() if others}:
        others = sorted(set.union(*(other_rows[name] for name in free)))
        with with_machines({of: machine}):
            best = calibrate(free, others, solver="bounds", starts=starts, profiles=False, evaluation_seeds=(2,)).best
        fitted, machine = dict(best.values), machine.with_(**best.values)
    errors: dict[str, float] = {}
    with suppress(NpexploreError):  # the machine has no answer without the removed parameters
        entries = check([of], keys=list(keys), seeds=seeds, machines={of: machine}).rows
        errors = {entry["key"]: entry["error"] for entry in entries if entry["error"] is not None}
    return LeftOut(group, len(keys), errors, fitted, undetermined)


def _around(base: Design, name: str) -> tuple[float, float]:
    parameter, value = base.parameters.file.parameter[name], float(base.parameters[name])
    low, high = value / WIDE, value * WIDE
    low = max(low, parameter.min or 0.0)
    return (round(low), round(high)) if isinstance(parameter.value, int) else (low, high)


def _without(base: Design, names: Sequence[str]) -> Design:
    """Return the design without the named cycle counts, and with the other named parameters at their smallest value."""
    file = base.parameters.file
    parameters = {
        name: parameter
        for name, parameter in file.parameter.items()
        if not (name in names and name.startswith("cycles_"))
    }
    for name in set(names) & set(parameters):
        smallest = parameters[name].min or 0.0
        parameters[name] = msgspec.structs.replace(parameters[name], value=type(parameters[name].value)(smallest))
    return replace(base, parameters=Parameters(msgspec.structs.replace(file, parameter=parameters), {}))


def _fitted(base: Design) -> dict[str, set[str]]:
    """Return for each fitted parameter the keys of the rows that it was fitted to."""
    parameters = base.parameters.file.parameter.items()
    return {name: set(fitted_keys(p)) for name, p in parameters if p.fitted_to}
