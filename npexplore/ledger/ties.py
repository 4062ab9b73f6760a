"""Determines which printed numbers follow from others, by the identities between them.

A product of powers is a linear equation in logarithms. With known numbers K, ln x_r is fixed if r is zero in the null
space of these equations without the columns of K. Any other equation fixes its only unknown number; if it has min, max
or ceil, only a side that is a single number. An order decides a claim (`up to`, `more than`) whose other side is known;
a band fixes no other number. Not used are formulas that the audit finds inconsistent, undecidable formulas with an
explanation for failing, and hypotheses.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property

import numpy as np

from npexplore.ledger.auditing import identities, judge
from npexplore.ledger.identities import Identity, exponents
from npexplore.ledger.records import Row
from npexplore.ledger.table import Ledger

ROUGH = ("min(", "max(", "ceil(")
DUST = 1e-9


class Ties:
    """The identities of a ledger's papers as relations between measurements (the ends of same_as chains)."""

    def __init__(self, ledger: Ledger, formulas: Iterable[Identity] | None = None) -> None:
        self.ledger = ledger
        chosen = identities() if formulas is None else formulas
        self._holding = [i for i in chosen if self._all_there(i) and _holds(i, judge(i, ledger).verdict)]
        self._followed: dict[frozenset[str], frozenset[str]] = {}

    def follow(self, known: Iterable[str]) -> frozenset[str]:
        """Return the measurements that are determined by those of the known keys, including these.

        `KEY / KEY` is a known ratio of two unknown numbers. Names that are no row (`prototype`) are ignored.
        """
        known_keys = frozenset(known)
        if known_keys not in self._followed:
            self._followed[known_keys] = self._closed(known_keys)
        return self._followed[known_keys]

    def _all_there(self, identity: Identity) -> bool:
        if identity.paper not in self.ledger.papers:
            return False
        return all(f"{self.ledger.prefix(identity.paper)}.{key}" in self.ledger for key in identity.keys)

    def _closed(self, known_keys: frozenset[str]) -> frozenset[str]:
        rows = [[self.ledger.measurement(key) for key in keys_of(name) if key in self.ledger] for name in known_keys]
        derived = {row[0] for row in rows if len(row) == 1}
        ratios = [{row[0]: 1.0, row[1]: -1.0} for row in rows if len(row) == 2]
        while True:
            fixed = {key for key in derived if self.ledger[key].kind == "number"}
            new = self._by_products(fixed, ratios) | self._one_by_one(fixed)
            if new <= derived:
                return frozenset(derived)
            derived |= new

    def _key(self, identity: Identity, key: str) -> str:
        return self.ledger.measurement(f"{self.ledger.prefix(identity.paper)}.{key}")

    @cached_property
    def _products(self) -> list[dict[str, float]]:
        """The exponents of measurements in each equation between products of powers."""
        rows = []
        for identity in self._holding:
            left, relation, right = identity.sides
            sides = exponents(left), exponents(right)
            if relation == "=" and None not in sides:
                row: dict[str, float] = {}
                for sign, side in zip((1.0, -1.0), sides, strict=True):
                    for key, power in (side or {}).items():
                        name = self._key(identity, key)
                        row[name] = row.get(name, 0.0) + sign * power
                rows.append(row)
        return rows

    def _by_products(self, known: set[str], ratios: Sequence[Mapping[str, float]]) -> set[str]:
        unknown = [{name: power for name, power in row.items() if name not in known} for row in self._products]
        return {name for rows in _parts([*unknown, *ratios]) for name in _fixed(rows, known)}

    @cached_property
    def _solvable(self) -> list[tuple[set[str], set[str]]]:
        """For each identity, its measurements, and those that follow if all others are known."""
        solvable = []
        for identity in self._holding:
            left, relation, right = identity.sides
            left_key = left.strip("{}") if left.count("{") == 1 and left[0] == "{" and left[-1] == "}" else None
            names = {key: self._key(identity, key) for key in identity.keys}
            smooth = relation == "=" and not any(word in right for word in ROUGH)
            solvable_names = {
                name for key, name in names.items()
                if identity.formula.count(f"{{{key}}}") == 1 and list(names.values()).count(name) == 1
                and (smooth or (key == left_key and (relation == "=" or _claims(self.ledger[name], relation))))
            }  # fmt: skip
            if solvable_names:
                solvable.append((set(names.values()), solvable_names))
        return solvable

    def _one_by_one(self, known: set[str]) -> set[str]:
        return {name for names, ends in self._solvable for name in ends if names - known == {name}}


def _parts(rows: Iterable[Mapping[str, float]]) -> list[list[Mapping[str, float]]]:
    """Return the equations in groups that share no unknown."""
    parts: list[tuple[set[str], list[Mapping[str, float]]]] = []
    for row in rows:
        names, members = set(row), [row]
        separate = []
        for part in parts:
            if part[0].isdisjoint(row):
                separate.append(part)
            else:
                names |= part[0]
                members += part[1]
        parts = [*separate, (names, members)]
    return [members for _, members in parts]


def _fixed(rows: Sequence[Mapping[str, float]], known: set[str]) -> list[str]:
    """Return the unknowns that these equations determine."""
    names = sorted({name for row in rows for name in row} - known)
    if not names:
        return []
    _, sizes, basis = np.linalg.svd(np.array([[row.get(name, 0.0) for name in names] for row in rows]))
    free = basis[int(np.sum(sizes > DUST)) :]  # changes of the unknowns that satisfy all equations
    return [name for place, name in enumerate(names) if np.all(np.abs(free[:, place]) < DUST)]


def _holds(identity: Identity, verdict: str) -> bool:
    if identity.hypothesis:
        return False
    return verdict == "consistent" or (verdict == "undecidable" and identity.explanation is None)


def _claims(row: Row, relation: str) -> bool:
    """Return whether a row claims that the other side of an order is not above (`up to`), or not below, its number."""
    if row.kind != "bound":
        return False
    return row.hi is not None if relation == ">=" else relation == "<=" and row.hi is None and row.lo is not None


def keys_of(fitted: str) -> list[str]:
    """Return the keys that something was fitted to: of one row, or of the ratio of two."""
    return fitted.split(" / ")
