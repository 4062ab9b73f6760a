"""Groups of visible rows left out in turn, and predicted from the others (leave one group out; Stone 1974).

A parameter that rows of a group were fitted to is fitted anew to its other rows. One that no other row determines is
set to its least value, as if what it stands for did not exist; a program's cycles are taken out of the server, which
then uses those with another ring, or has no answer. A PCI Express host keeps the one read that characterises it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

import msgspec
import numpy as np

from npexplore.designs import Design, design, with_machines
from npexplore.errors import NpexploreError
from npexplore.ledger import load
from npexplore.machine.parameters import Parameters, Value
from npexplore.records import content_hash
from npexplore.study.checking.calibrate import calibrate
from npexplore.study.checking.check import check
from npexplore.study.checking.fitted_rows import fitted_keys
from npexplore.study.checking.groups import SCORES
from npexplore.study.sweeping.grid import Span

WIDE = 2.0  # a number is sought between its value over this and its value times this
RATE = "forwarding rate"
VISIBLE = ("calibration", "check")


@dataclass(frozen=True)
class LeftOut:
    """A group that was left out: its rows, their errors if predicted, parameters fitted anew, and undetermined ones.

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
    """Return the visible rows of a design that have a number, by group: the server's rates by series, others as scored.

    Transfers over PCI Express are also grouped by size, so such a row is in two groups.
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
    """Return how well all other rows predict those of a group; raises UnknownNameError for an unknown group.

    of: the name of a design. group: the name of the group. keys: the rows of the group, as `row_groups` lists them.
    seeds: simulations of each row. starts: starts of the fit.
    """
    gone, base = set(keys), design(of)
    touched = {name: keys_ - gone for name, keys_ in _fitted(base).items() if keys_ & gone}
    untold = tuple(name for name, others in touched.items() if not others)
    machine = _without(base, untold)
    fitted: dict[str, Value] = {}
    if free := {name: Span(*_around(base, name)) for name, others in touched.items() if others}:
        others = sorted(set.union(*(touched[name] for name in free)))
        with with_machines({of: machine}):
            best = calibrate(free, others, solver="bounds", starts=starts, profiles=False, evaluation_seeds=(2,)).best
        fitted, machine = dict(best.values), machine.with_(**best.values)
    errors: dict[str, float] = {}
    with suppress(NpexploreError):  # a machine that nobody measured
        entries = check([of], keys=list(keys), seeds=seeds, machines={of: machine}).rows
        errors = {entry["key"]: entry["error"] for entry in entries if entry["error"] is not None}
    return LeftOut(group, len(keys), errors, fitted, untold)


def _around(base: Design, name: str) -> tuple[float, float]:
    parameter, value = base.parameters.file.parameter[name], float(base.parameters[name])
    low, high = value / WIDE, value * WIDE
    low = max(low, parameter.min or 0.0)
    return (round(low), round(high)) if isinstance(parameter.value, int) else (low, high)


def _without(base: Design, names: Sequence[str]) -> Design:
    """Return the design without cycles that nothing tells, and with other such parameters at their least value."""
    file = base.parameters.file
    known = {name: one for name, one in file.parameter.items() if not (name in names and name.startswith("cycles_"))}
    for name in set(names) & set(known):
        least = known[name].min or 0.0
        known[name] = msgspec.structs.replace(known[name], value=type(known[name].value)(least))
    return replace(base, parameters=Parameters(msgspec.structs.replace(file, parameter=known), {}))


def _fitted(base: Design) -> dict[str, set[str]]:
    """Return the keys of the rows that each fitted parameter was fitted to."""
    parameters = base.parameters.file.parameter.items()
    return {name: set(fitted_keys(p)) for name, p in parameters if p.fitted_to}
