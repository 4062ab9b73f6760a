"""Tables behind the IXP1200's figures: rules and threads (Figs. 6 and 10), what binds, remedies, structures, Fig. 4.

share of a resource = packet rate simulated x its demand a packet    (utilization law, without polling)
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from npexplore.designs import Design
from npexplore.golden.classify import RangeMatcher
from npexplore.golden.ipv4.addresses import address_text
from npexplore.golden.ipv4.five_tuple import FIELDS, FiveTuple, five_tuple
from npexplore.machine.parameters import Value
from npexplore.study.answers import pool
from npexplore.study.quantities.ixp1200 import RULES, fits

if TYPE_CHECKING:
    import pandas as pd

# of Fig. 10: label -> receivers, engines
CONFIGURATIONS: Mapping[str, tuple[int, int]] = {
    "1 thread": (1, 1), "2 threads, 2 engines": (2, 2), "4 threads, 1 engine": (4, 1), "8 threads, 2 engines": (8, 2),
    "whole system": (16, 4),
}  # fmt: skip
FULL = 0.9  # share from which on a resource counts as a bottleneck
REMEDIES: Mapping[str, dict[str, Value]] = {
    "as published": {},
    "routing table in SDRAM": {"routing_table": "sdram"},
    "2 SRAM banks": {"sram_banks": 2},
    "4 SRAM banks": {"sram_banks": 4},
    "2 copies of the tables": {"sram_copies": 2},
    "QDR SRAM": {"sram_type": "qdr"},
    "cache, half of packets hit": {"cache_hit": 0.5},
    "cache, 90 % hit": {"cache_hit": 0.9},
}
OTHERS: Mapping[str, dict[str, Value]] = {
    "as fitted": {},
    "SRAM latency 30 % longer": {"sram_latency_ns": 130.0},
    "SRAM latency 30 % shorter": {"sram_latency_ns": 70.0},
    "SRAM efficiency 10 % higher": {"sram_efficiency": 0.61},
    "poll of 6 cycles, 20 between": {"poll_instructions": 6, "poll_wait_cycles": 20},
    "base path 30 % longer": {"scale_base": 1.3},
    "packets in the last queue": {"phb": "be"},
}


def simulated(points: Sequence[tuple[Mapping[str, object], Design]], seed: int = 1) -> pd.DataFrame:
    """Return a row a point: the point's own columns, rate_kpps, throughput_mbps, bottleneck, and shares by the law.

    Columns engines and sram: shares of the busiest receiver engine and of the SRAM (or of the tables' copies).
    """
    import pandas as pd

    def answer(point: tuple[Mapping[str, object], Design]) -> dict[str, object]:
        told, made = point
        found, needed = made.simulate(seed=seed), made.demands()
        shares = needed.busiest(found.rate_pps)
        return {
            **told,
            "rate_kpps": found.rate_pps / 1e3,
            "throughput_mbps": found.throughput_bps / 1e6,
            "bottleneck": found.bottleneck,
            "engines": max(shares.get(name, 0.0) for name in ("me0", "me1", "me_gbe")),
            "sram": max(share for name, share in shares.items() if name.startswith(("sram", "tables"))),
            "sdram": shares["sdram"],
        }

    with pool(None, None) as running:
        return pd.DataFrame(list(running.map(answer, points)))


def over_rules(design: Design, rules: Iterable[int] = RULES) -> pd.DataFrame:
    """Return Fig. 6, one receiver: columns classifier, rules and those of `simulated`."""
    one = design.with_(receivers=1, receiver_engines=1)
    asked = [{"classifier": name, "rules": n} for name in ("rm", "ls") for n in rules]
    return simulated([(dict(knobs), one.with_(**knobs)) for knobs in asked])


def shapes(table: pd.DataFrame) -> pd.DataFrame:
    """Return R2 of the shapes that fit Fig. 6: columns classifier, log, hyperbola, linear."""
    import pandas as pd

    groups = table.groupby("classifier", sort=False)
    return pd.DataFrame([{"classifier": n, **fits(g["rules"].tolist(), g["rate_kpps"].tolist())} for n, g in groups])


def over_threads(design: Design, rules: Iterable[int] = (1, 8, 64, 512)) -> pd.DataFrame:
    """Return Fig. 10: columns configuration, rules, those of `simulated`, and `binds` in words."""
    points = [
        ({"configuration": label, "rules": n}, design.with_(receivers=threads, receiver_engines=engines, rules=n))
        for n in rules
        for label, (threads, engines) in CONFIGURATIONS.items()
    ]
    table = simulated(points)
    return table.assign(binds=[binds(row.engines, row.sram) for row in table.itertuples()])


def binds(engines: float, sram: float) -> str:
    """Return what holds the receivers back: a full resource, both, or the time that a thread waits."""
    full = [name for name, share in (("engines", engines), ("SRAM", sram)) if share >= FULL]
    return " and ".join(full) or "waiting for memory"


def remedies(design: Design, rules: Iterable[int] = (1, 512)) -> pd.DataFrame:
    """Return what each remedy gains in the whole system: columns remedy, rules, those of `simulated`, gain."""
    points = [
        ({"remedy": name, "rules": n}, design.with_(rules=n, **knobs))
        for n in rules
        for name, knobs in REMEDIES.items()
    ]
    table = simulated(points)
    before = table.groupby("rules")["throughput_mbps"].transform("first")
    return table.assign(gain=table["throughput_mbps"] / before - 1)


def structures(design: Design) -> pd.DataFrame:
    """Return how four predictions move with structures and assumptions: one thread, whole system, loads of Table 1.

    Columns: structure, one_thread, few_rules, many_rules (Mb/s), engine_ls, sram_ls (active shares), about.
    """
    import pandas as pd

    named = {a.name: (dict(a.set), a.about) for a in design.parameters.file.alternative}
    every = {**{name: (knobs, "") for name, knobs in OTHERS.items()}, **named}
    cases: dict[str, dict[str, Value]] = {
        "one_thread": {"receivers": 1, "receiver_engines": 1, "rules": 512},
        "few_rules": {"rules": 1},
        "many_rules": {"rules": 512},
        "tables": {"receivers": 8, "receiver_engines": 2, "classifier": "ls"},
    }
    points = [
        ({"structure": name, "case": case}, design.with_(**{**knobs, **setting}))
        for name, (knobs, _) in every.items()
        for case, setting in cases.items()
    ]
    found = simulated(points).set_index(["structure", "case"])
    rows = []
    for name, (_, about) in every.items():
        mbps = {case: found.loc[(name, case), "throughput_mbps"] for case in list(cases)[:3]}
        tables = found.loc[(name, "tables")]
        efficiency = float(design.with_(**every[name][0]).parameters.sram_efficiency)
        rows.append(
            {"structure": name, **mbps, "engine_ls": tables["engines"], "sram_ls": tables["sram"] * efficiency,
             "about": about}
        )  # fmt: skip
    return pd.DataFrame(rows)


def intervals(matcher: RangeMatcher, field: str = "source") -> pd.DataFrame:
    """Return a field's live interval table: columns begin, end, vector (bits, rule 1 on the right), rules."""
    import pandas as pd

    number = FIELDS.index(field)
    as_text = address_text if number < 2 else str
    rows = []
    for begin, end, vector in matcher.tables[number].rows:
        holds = [k + 1 for k in range(len(matcher)) if vector >> k & 1]
        rows.append((as_text(begin), as_text(end), f"{vector:0{len(matcher)}b}", ", ".join(map(str, holds))))
    return pd.DataFrame(rows, columns=["begin", "end", "vector", "rules"])


def matching(matcher: RangeMatcher, header: FiveTuple[int] | Sequence[object]) -> pd.DataFrame:
    """Return how a header is matched: a row a field with its interval, rows probed, vector, and the AND so far."""
    import pandas as pd

    both, rows = (1 << len(matcher)) - 1, []
    for k, (name, value) in enumerate(zip(FIELDS, five_tuple(header), strict=True)):  # type: ignore[arg-type]
        found = matcher.tables[k].search(value)
        vector = matcher.tables[k].rows[found.row].vector if found.row >= 0 else 0
        both &= vector
        width = len(matcher)
        shown = address_text(value) if k < 2 else str(value)
        rows.append((name, shown, found.row + 1, found.probes, f"{vector:0{width}b}", f"{both:0{width}b}"))
    return pd.DataFrame(rows, columns=["field", "value", "interval", "rows probed", "vector", "AND so far"])
