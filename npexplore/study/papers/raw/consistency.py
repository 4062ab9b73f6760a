"""Tests which readings of printed numbers are consistent, by a linear program over logarithms of rates.

    log lo <= sum of coefficient x log rate - slack <= log hi;    minimise the sum of abs(slack)

A ratio a / b in [lo, hi] is linear in log a and log b, so a chain of ratios and rates is a set of linear constraints.
If the minimum is 0, all relations can be true; otherwise relations with slack are violated, as little as possible. A
smallest conflict is a set of inconsistent rows that is consistent without any one of its rows (deletion filter,
Chinneck and Dravnieks 1991).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product

import numpy as np

from npexplore.designs import design
from npexplore.errors import InputError
from npexplore.ledger import Ledger, load


@dataclass(frozen=True)
class Relation:
    """lo <= product of rate ** power <= hi; None: no limit. key: the ledger row of the relation."""

    key: str
    powers: Mapping[str, float]
    lo: float | None
    hi: float | None


@dataclass(frozen=True)
class Answer:
    """possible: whether all relations can hold; off: by key, the factor by which a relation must be relaxed; rates: one
    solution; between: by name, the smallest and largest possible rate.
    """

    possible: bool
    off: dict[str, float]
    rates: dict[str, float]
    between: dict[str, tuple[float, float]] = field(default_factory=dict)


def consistent(relations: Sequence[Relation], ranges: Sequence[str] = ()) -> Answer:
    """Return whether relations can hold together and, if so, the possible range of each rate in `ranges`.

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
    solution = linprog(cost, A_ub=np.array(rows), b_ub=limits, bounds=free + [(0, None)] * (2 * m))
    slack = solution.x[n : n + m] - solution.x[n + m :]
    off = {r.key: math.exp(s) for r, s in zip(relations, slack, strict=True) if abs(s) > 1e-6}
    between = {}
    if not off:
        fixed = free + [(0, 0)] * (2 * m)
        for name in ranges:
            objective = np.zeros(n + 2 * m)
            objective[names.index(name)] = 1.0
            extremes = [linprog(sign * objective, A_ub=np.array(rows), b_ub=limits, bounds=fixed) for sign in (1, -1)]
            low, high = (math.exp(end.x[names.index(name)]) if end.success else math.nan for end in extremes)
            between[name] = low, high
    return Answer(not off, off, dict(zip(names, np.exp(solution.x[:n]).tolist(), strict=True)), between)


def smallest_conflict(relations: Sequence[Relation]) -> list[str]:
    """Return the keys of a smallest set of relations that cannot all hold, but can without any one of them.

    Raises InputError for relations that can hold together.
    """
    conflict = list(relations)
    if consistent(conflict).possible:
        raise InputError("a conflict needs relations that cannot hold together")
    for relation in relations:
        without = [other for other in conflict if other is not relation]
        if without and not consistent(without).possible:
            conflict = without
    return list(dict.fromkeys(relation.key for relation in conflict))


# ---- the RAW paper: rates in packets/s (64 bytes, trace) or bit/s, and the cycles behind them

BITS_64 = 64 * 8
PIPELINES = 4
SHORT_SHARE = 0.81  # packets of the trace below 64 bytes, if the others are log-uniform up to 1500 bytes
PLAIN = 0  # index of the plain reading of each row, which assumes nothing beyond its words
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
    "raw.stage1.lookup32.miss.cycles": {
        "the slowest stage of Table 2 sets the rate": "slowest",
        "stages 1 and 3 take turns": "turns",
        "stages 1 and 3 take turns, but not where a card feeds two pipelines": "turns but V",
    },
    "raw.trace.throughput.v3": {
        "four fifths of the trace are below 64 bytes": "few",
        "every packet of the trace is stored": "all",
    },
    "raw.v3d.change_64": {"a copied word costs a cycle": "once", "a copied word is read and sent": "twice"},
}


def relations(reading: Mapping[str, str], ledger: Ledger | None = None) -> list[Relation]:
    """Return the relations between the paper's rates under one choice of READINGS (word by row)."""
    rows = ledger or load()

    def of(key: str, powers: Mapping[str, float], *, plus: float = 0.0, scale: float = 1.0) -> Relation:
        row = rows[key]
        ends = [None if end is None else (row.si(end) + plus) * scale for end in (row.lo, row.hi)]
        return Relation(key, powers, ends[0], ends[1])

    def step(key: str, new: str, old: str) -> Relation:
        return of(key, {new: 1, old: -1}, plus=1.0)

    chain = [
        step("raw.v2.gain_64", "II 64", "I 64"), step("raw.v3.gain_64", "III 64", "II 64"),
        step("raw.v4.gain_64", "IV 64", "III 64"), step("raw.v5.gain_64", "V 64", "III 64"),
        step("raw.v2.gain_1500", "II 1500", "I 1500"), step("raw.v3.gain_1500", "III 1500", "II 1500"),
        step("raw.v4.gain_1500", "IV 1500", "III 1500"), of("raw.v4.throughput_1500", {"IV 1500": 1}),
        step("raw.null.over_v3", "null", "III 1500"), step("raw.null.over_v4", "null", "IV 1500"),
        of("raw.null.throughput", {"null": 1}),
        of("raw.peak_rate", {"III 64" if reading["raw.peak_rate"] == "iii" else "V 64": 1}),
        of("raw.ref.ixp1200.forwarding_rate", {"IXP1200 64": 1}),
        *_cycles(reading, rows),
    ]  # fmt: skip
    lost = rows["raw.v3d.change_64"]
    remaining = [None if end is None else 1 - lost.si(end) for end in (lost.hi, lost.lo)]
    chain.append(Relation("raw.v3d.change_64", {"III.d 64": 1, "III 64": -1}, remaining[0], remaining[1]))
    twelve = reading["raw.v5.throughput"]
    if twelve != "apart":
        chain.append(of("raw.v5.throughput", {"V 64": 1}, scale=1 / BITS_64 / (2 if twelve == "twice" else 1)))
    if reading["raw.v1.speedup_vs_ixp1200"] == "short":
        chain.append(of("raw.v1.speedup_vs_ixp1200", {"I 64": 1, "IXP1200 64": -1}))
    else:
        chain.append(of("raw.v1.speedup_vs_ixp1200", {"I 1500": 1}, scale=2e9))
    return chain


def _cycles(reading: Mapping[str, str], rows: Ledger) -> list[Relation]:
    """Return the relations between rates and the cycles of Table 2: rate = pipelines x clock / cycles of a packet.

    Words in a switch's FIFO may be read while the next stage is busy: between none and all that fit.
    """
    clock, fifo = rows["raw.clock"], float(design("raw").parameters.fifo_depth)

    def cycles(key: str) -> tuple[float, float]:
        row = rows[f"raw.{key}.cycles"]
        assert row.lo is not None
        assert row.hi is not None
        return row.lo, row.hi

    def rate(key: str, name: str, least: float, most: float) -> Relation:
        clocks = [PIPELINES * clock.si(end) for end in (clock.lo or 0.0, clock.hi or 0.0)]
        return Relation(key, {name: 1}, clocks[0] / most, clocks[1] / least)

    table, composed = "raw.stage1.lookup32.miss.cycles", reading["raw.stage1.lookup32.miss.cycles"]
    long, third = cycles("stage1.lookup32.miss"), cycles("stage3.ttl")
    in_turn = (long[0] + third[0] - fifo, long[1] + third[1])
    chain = [rate(table, "III 64", *(long if composed == "slowest" else in_turn)),
             rate(table, "V 64", *(in_turn if composed == "turns" else long))]  # fmt: skip
    if composed != "slowest":
        words = float(rows["raw.v3.buffer_threshold"].point or 0) / float(rows["raw.word"].point or 1)
        copies = 2 * (words * (2 if reading["raw.v3d.change_64"] == "twice" else 1) + 1)  # each with a header word
        chain.append(rate(table, "III.d 64", in_turn[0] + copies, in_turn[1] + copies))
    short, hit = cycles("stage1.lookup24.miss"), cycles("stage1.lookup24.hit")
    stored = 1.0 if reading["raw.trace.throughput.v3"] == "all" else 1 - SHORT_SHARE
    stage3 = [0.0, 0.0] if composed == "slowest" else [third[0] - fifo, third[1]]
    chain.append(rate("raw.stage1.lookup24.miss.cycles", "III trace",
                      short[0] + stage3[0] + stored * (short[0] - hit[1]),
                      short[1] + stage3[1] + stored * (short[1] - hit[0])))  # fmt: skip
    mean, trace = rows["raw.workload.trace.mean_size"], rows["raw.trace.throughput.v3"]
    chain.append(Relation("raw.trace.throughput.v3", {"III trace": 1}, trace.si(trace.lo or 0) / 8 / (mean.hi or 1),
                          trace.si(trace.hi or 0) / 8 / (mean.lo or 1)))  # fmt: skip
    return chain


def readings(ledger: Ledger | None = None) -> list[tuple[tuple[str, ...], Answer]]:
    """Return every combination of READINGS with its answer by the linear program.

    Possible combinations come first, and among them those with the fewest assumptions.
    """
    answers = []
    for combination in product(*READINGS.values()):
        chain = relations(_words(combination), ledger)
        answer = consistent(chain)
        if answer.possible:
            answer = consistent(chain, sorted({name for relation in chain for name in relation.powers}))
        answers.append((combination, answer))
    return sorted(answers, key=lambda item: (sum(abs(math.log(x)) for x in item[1].off.values()), assumed(item[0])))


def _words(chosen: Sequence[str]) -> dict[str, str]:
    return {row: READINGS[row][words] for row, words in zip(READINGS, chosen, strict=True)}


def assumed(chosen: Sequence[str]) -> int:
    """Return the number of rows whose reading is not the plain one."""
    return sum(words != list(READINGS[row])[PLAIN] for row, words in zip(READINGS, chosen, strict=True))


def alternatives(ledger: Ledger | None = None) -> list[tuple[str, str, list[str], float]]:
    """Return the consequences of one other reading in the default, the possible combination with fewest assumptions.

    Each item is (row, its other reading, the smallest conflict (empty: none), the product of the factors by which
    relations must be relaxed).
    """
    combinations = readings(ledger)
    default = combinations[0][0]
    if not combinations[0][1].possible:
        raise InputError("no reading of the printed numbers is possible")
    rows = []
    for row, default_words in zip(READINGS, default, strict=True):
        for words in READINGS[row]:
            if words == default_words:
                continue
            combination = [words if other == row else plain for other, plain in zip(READINGS, default, strict=True)]
            answer, chain = dict(combinations)[tuple(combination)], relations(_words(combination), ledger)
            conflict = [] if answer.possible else smallest_conflict(chain)
            rows.append((row, words, conflict, math.exp(sum(abs(math.log(x)) for x in answer.off.values()))))
    return rows
