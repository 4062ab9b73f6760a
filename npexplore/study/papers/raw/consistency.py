"""Which readings of printed numbers can be true together? Intervals of ratios and rates, a linear program over logs.

    log lo <= sum of coefficient x log rate - slack <= log hi;    minimise the sum of abs(slack)

A ratio a / b in [lo, hi] is linear in log a and log b, so a chain of ratios and rates is a set of linear constraints.
With a least sum of 0 all can be true; else the relations with slack have to give way, as little as possible.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product

import numpy as np

from npexplore.errors import InputError
from npexplore.ledger import Ledger, load


@dataclass(frozen=True)
class Relation:
    """lo <= product of rate ** power <= hi; a missing end is open. key: the ledger row it comes from."""

    key: str
    powers: Mapping[str, float]
    lo: float | None
    hi: float | None


@dataclass(frozen=True)
class Answer:
    """possible: whether all relations can hold; off: key -> factor by which to relax that one; rates: one solution."""

    possible: bool
    off: dict[str, float]
    rates: dict[str, float]
    between: dict[str, tuple[float, float]] = field(default_factory=dict)


def consistent(relations: Sequence[Relation], ranges: Sequence[str] = ()) -> Answer:
    """Return whether relations hold together and, for `ranges`, what each rate may be if they do.

    Raises InputError for an interval that is empty or not above 0.
    """
    from scipy.optimize import linprog

    names = sorted({name for relation in relations for name in relation.powers})
    rows, limits = [], []
    n, m = len(names), len(relations)
    for k, relation in enumerate(relations):
        ends = [end for end in (relation.lo, relation.hi) if end is not None]
        if not ends or min(ends) <= 0 or (len(ends) == 2 and ends[0] > ends[1]):
            raise InputError(f"relation {relation.key}: needs 0 < lo <= hi, got {relation.lo}..{relation.hi}")
        row = np.zeros(n + 2 * m)
        for name, power in relation.powers.items():
            row[names.index(name)] = power
        row[n + k], row[n + m + k] = -1.0, 1.0  # slack above, slack below
        if relation.hi is not None:
            rows.append(row)
            limits.append(math.log(relation.hi))
        if relation.lo is not None:
            rows.append(-row)
            limits.append(-math.log(relation.lo))
    cost = np.concatenate([np.zeros(n), np.ones(2 * m)])
    free = [(None, None)] * n
    found = linprog(cost, A_ub=np.array(rows), b_ub=limits, bounds=free + [(0, None)] * (2 * m))
    slack = found.x[n : n + m] - found.x[n + m :]
    off = {r.key: math.exp(s) for r, s in zip(relations, slack, strict=True) if abs(s) > 1e-6}
    between = {}
    if not off:
        fixed = free + [(0, 0)] * (2 * m)
        for name in ranges:
            one = np.zeros(n + 2 * m)
            one[names.index(name)] = 1.0
            both = [linprog(sign * one, A_ub=np.array(rows), b_ub=limits, bounds=fixed) for sign in (1, -1)]
            low, high = (math.exp(end.x[names.index(name)]) if end.success else math.nan for end in both)
            between[name] = low, high
    return Answer(not off, off, dict(zip(names, np.exp(found.x[:n]).tolist(), strict=True)), between)


# ---- the chain of the RAW paper: rates in packets a second (64 bytes) or bits a second

BITS_64 = 64 * 8
READINGS: Mapping[str, Mapping[str, str]] = {
    "raw.v5.throughput": {
        "12 Gb/s of 64-byte packets": "once",
        "12 Gb/s counted on the way in and out": "twice",
        "12 Gb/s of longer packets": "apart",
    },
    "raw.peak_rate": {"9.75 Mpps with four line cards": "iii", "9.75 Mpps with two": "v"},
    "raw.v1.speedup_vs_ixp1200": {
        "Version I three times 2.9 Mpps": "short",
        "three times 2 Gb/s at 1500 bytes": "long",
    },
}


def relations(reading: Mapping[str, str], ledger: Ledger | None = None) -> list[Relation]:
    """Return the chain of the paper's rates and ratios under one choice of READINGS (row -> word)."""
    rows = ledger or load()

    def of(key: str, powers: Mapping[str, float], *, plus: float = 0.0, scale: float = 1.0) -> Relation:
        row = rows[key]
        ends = [None if end is None else (row.si(end) + plus) * scale for end in (row.lo, row.hi)]
        return Relation(key, powers, ends[0], ends[1])

    def step(key: str, new: str, old: str) -> Relation:
        return of(key, {new: 1, old: -1}, plus=1.0)

    found = [
        step("raw.v2.gain_64", "II 64", "I 64"), step("raw.v3.gain_64", "III 64", "II 64"),
        step("raw.v4.gain_64", "IV 64", "III 64"), step("raw.v5.gain_64", "V 64", "III 64"),
        step("raw.v2.gain_1500", "II 1500", "I 1500"), step("raw.v3.gain_1500", "III 1500", "II 1500"),
        step("raw.v4.gain_1500", "IV 1500", "III 1500"), of("raw.v4.throughput_1500", {"IV 1500": 1}),
        step("raw.null.over_v3", "null", "III 1500"), step("raw.null.over_v4", "null", "IV 1500"),
        of("raw.null.throughput", {"null": 1}),
        of("raw.peak_rate", {"III 64" if reading["raw.peak_rate"] == "iii" else "V 64": 1}),
        of("raw.ref.ixp1200.forwarding_rate", {"IXP1200 64": 1}),
    ]  # fmt: skip
    twelve = reading["raw.v5.throughput"]
    if twelve != "apart":
        found.append(of("raw.v5.throughput", {"V 64": 1}, scale=1 / BITS_64 / (2 if twelve == "twice" else 1)))
    if reading["raw.v1.speedup_vs_ixp1200"] == "short":
        found.append(of("raw.v1.speedup_vs_ixp1200", {"I 64": 1, "IXP1200 64": -1}))
    else:
        found.append(of("raw.v1.speedup_vs_ixp1200", {"I 1500": 1}, scale=2e9))
    return found


def readings(ledger: Ledger | None = None) -> list[tuple[tuple[str, ...], Answer]]:
    """Return every combination of READINGS with what the linear program says of it, the possible ones first."""
    found = []
    for chosen in product(*READINGS.values()):
        words = {row: READINGS[row][words] for row, words in zip(READINGS, chosen, strict=True)}
        every = relations(words, ledger)
        found.append((chosen, consistent(every, sorted({name for r in every for name in r.powers}))))
    return sorted(found, key=lambda item: sum(abs(math.log(x)) for x in item[1].off.values()))
