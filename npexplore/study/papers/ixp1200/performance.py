"""Computes tables behind the IXP1200's figures: rules and threads (Figs. 6, 10), bottlenecks, structures, Fig. 4.

share of a resource = simulated packet rate x its demand per packet    (utilization law, without polling)
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from npexplore.designs import Design
from npexplore.designs.ixp1200.load import BURST_WORDS
from npexplore.golden.classify import RangeMatcher
from npexplore.golden.classify.range_matching import READINGS
from npexplore.golden.classify.rule_generator import flow_rules
from npexplore.golden.ipv4.addresses import address_text
from npexplore.golden.ipv4.five_tuple import FIELDS, FiveTuple, five_tuple
from npexplore.ledger import Ledger
from npexplore.machine.parameters import Value
from npexplore.solve.bounds import busy_shares
from npexplore.study.checking.quantities.ixp1200 import TICKS, active, fits, of_tables
from npexplore.study.sweeping.simulations import Simulations

if TYPE_CHECKING:
    import pandas as pd

# configurations of Fig. 10: label -> (receivers, engines)
CONFIGURATIONS: Mapping[str, tuple[int, int]] = {
    "1 thread": (1, 1), "2 threads, 2 engines": (2, 2), "4 threads, 1 engine": (4, 1), "8 threads, 2 engines": (8, 2),
    "whole system": (16, 4),
}  # fmt: skip
RULES: Sequence[int] = TICKS.value  # numbers of rules in Fig. 6
BOTTLENECK_SHARE = 0.9  # smallest share of a resource that counts as a bottleneck
OTHERS: Mapping[str, dict[str, Value]] = {
    "as fitted": {},
    "SRAM latency 30 % longer": {"sram_latency_ns": 130.0},
    "SRAM efficiency 10 % higher": {"sram_efficiency": 0.61},
    "poll of 6 cycles, 20 between": {"poll_instructions": 6, "poll_wait_cycles": 20},
    "base path 30 % longer": {"scale_base": 1.3},
    "packets in the last queue": {"phb": "be"},
}
_FIG10: dict[str, Value] = {"packet_bytes": 64}
_ONE: dict[str, Value] = {**_FIG10, "receivers": 1, "receiver_engines": 1}
# points at which every structure is simulated: Fig. 10, plain forwarding, Tables 1 and 2
CASES: Mapping[str, dict[str, Value]] = {
    "one_many": {**_ONE, "rules": 512}, "one_few": {**_ONE, "rules": 1}, "all_many": {**_FIG10, "rules": 512},
    "all_few": {**_FIG10, "rules": 1}, "ls": {**of_tables(), "classifier": "ls"},
    "rm": {**of_tables(), "classifier": "rm"},
    "forwarding": {"service": "ip_forwarding", "gbe_load": 1.0},
}  # fmt: skip
SHARES = (("ls", "me0"), ("ls", "me2"), ("ls", "sram"), ("ls", "sdram"), ("rm", "sdram"))


def simulated(
    points: Sequence[tuple[Mapping[str, object], Design]], simulations: Simulations | None = None
) -> pd.DataFrame:
    """Return one row per point: its own columns, rate_kpps, throughput_mbps, bottleneck, engines, sram, sdram.

    engines, sram, sdram: shares by the utilization law, of the busiest receiver engine, of the SRAM (or of the busiest
    copy of the tables), and of the SDRAM.
    """
    import pandas as pd

    answers = (simulations or Simulations())(machine for _, machine in points)
    rows = []
    for (columns, machine), answer in zip(points, answers, strict=True):
        shares = busy_shares(machine.demands(), answer.rate_pps)
        rows.append({
            **columns,
            "rate_kpps": answer.rate_pps / 1e3,
            "throughput_mbps": answer.throughput_bps / 1e6,
            "bottleneck": answer.bottleneck,
            "engines": max(shares.get(name, 0.0) for name in ("me0", "me1", "me_gbe")),
            "sram": max(share for name, share in shares.items() if name.startswith(("sram", "tables"))),
            "sdram": shares["sdram"],
        })  # fmt: skip
    return pd.DataFrame(rows)


def over_rules(
    design: Design, rules: Iterable[int] = RULES, simulations: Simulations | None = None
) -> pd.DataFrame:  # fmt: skip
    """Return Fig. 6, with one receiver: columns classifier, rules and the columns of `simulated`."""
    one_receiver = design.with_(receivers=1, receiver_engines=1)
    knob_sets = [{"classifier": name, "rules": n} for name in ("rm", "ls") for n in rules]
    return simulated([(dict(knobs), one_receiver.with_(**knobs)) for knobs in knob_sets], simulations)


def shapes(table: pd.DataFrame) -> pd.DataFrame:
    """Return R2 of three shapes fitted to Fig. 6: columns classifier, log, hyperbola, linear."""
    import pandas as pd

    groups = table.groupby("classifier", sort=False)
    return pd.DataFrame([{"classifier": n, **fits(g["rules"].tolist(), g["rate_kpps"].tolist())} for n, g in groups])


def over_threads(
    design: Design, rules: Iterable[int] = (1, 8, 64, 512), simulations: Simulations | None = None
) -> pd.DataFrame:
    """Return Fig. 10: columns configuration, rules, the columns of `simulated`, and `binds` (the bottleneck)."""
    points = [
        ({"configuration": label, "rules": n}, design.with_(receivers=threads, receiver_engines=engines, rules=n))
        for n in rules
        for label, (threads, engines) in CONFIGURATIONS.items()
    ]
    table = simulated(points, simulations)
    return table.assign(binds=[binds(row.engines, row.sram) for row in table.itertuples()])


def binds(engines: float, sram: float) -> str:
    """Return the receivers' bottleneck as text: the engines, the SRAM, both, or waiting for memory."""
    full = [name for name, share in (("engines", engines), ("SRAM", sram)) if share >= BOTTLENECK_SHARE]
    return " and ".join(full) or "waiting for memory"


def structures(design: Design, simulations: Simulations | None = None) -> pd.DataFrame:
    """Return predictions with other structures and assumptions: the fitted machine, OTHERS, its alternatives.

    Columns: structure; one_many, one_few, all_many, all_few (Mb/s: threads, rules); forwarding (Gb/s with gaps);
    ls_me0, ls_me2, ls_sram, ls_sdram, rm_sdram (active shares of Tables 1 and 2); about.
    """
    import pandas as pd

    alternatives = {a.name: (dict(a.set), a.about) for a in design.parameters.file.alternative}
    settings = {**{name: (knobs, "") for name, knobs in OTHERS.items()}, **alternatives}
    machines = {
        (name, case): design.with_(**{**knobs, **setting})
        for name, (knobs, _) in settings.items()
        for case, setting in CASES.items()
    }
    runs = dict(zip(machines, (simulations or Simulations())(machines.values()), strict=True))
    rows = []
    for name, (_, about) in settings.items():
        row: dict[str, object] = {"structure": name}
        row |= {case: runs[name, case].throughput_bps / 1e6 for case in ("one_many", "one_few", "all_many", "all_few")}
        p = machines[name, "forwarding"].parameters
        row["forwarding"] = runs[name, "forwarding"].rate_pps * 8 * (p.packet_bytes + p.gap_bytes) / 1e9
        for case, resource in SHARES:
            row[f"{case}_{resource}"] = active(resource, runs[name, case], machines[name, case])
        rows.append({**row, "about": about})
    return pd.DataFrame(rows)


PRINTED = {  # by column of `structures`, the ledger row with the published number
    "one_many": "ixp1200.fig10.one_thread.512", "one_few": "ixp1200.fig9.lossfree",
    "all_many": "ixp1200.diffserv.throughput.min", "all_few": "ixp1200.diffserv.throughput.max",
    "forwarding": "ixp1200.ipfwd.throughput", "ls_me0": "ixp1200.table1.ls.receivers.utilization",
    "ls_me2": "ixp1200.table1.ls.me2.utilization", "ls_sram": "ixp1200.table1.ls.sram.utilization",
    "ls_sdram": "ixp1200.table1.ls.sdram.utilization", "rm_sdram": "ixp1200.table2.rm.sdram.utilization",
}  # fmt: skip


def beside_published(table: pd.DataFrame, ledger: Ledger) -> pd.DataFrame:
    """Return a table of `structures` with the published numbers as its first row (shares as fractions)."""
    import pandas as pd

    first: dict[str, object] = {"structure": "published", "about": ""}
    for column, key in PRINTED.items():
        row = ledger[key]
        first[column] = None if row.point is None else row.point / (100 if row.unit == "%" else 1)
    return pd.concat([pd.DataFrame([first]), table], ignore_index=True)[list(table.columns)]


def vector_time(ledger: Ledger, rules: int = 500) -> pd.DataFrame:
    """Return the time that a receiver spends on vectors if both Fig. 10's worst and Fig. 9's average case hold.

        F + V = worst case,  F + share V = average case;  share: part of a vector that the average packet reads

    F: time for everything except vectors. Columns: reading, share, vectors_us (V; NaN: no solution), rest_us (F).
    """
    import pandas as pd

    rows = [ledger[f"ixp1200.{key}"] for key in ("fig10.size", "fig10.one_thread.512", "fig9.load.pps")]
    frame_bytes, throughput_bps, average_pps = (row.si(row.point or 0.0) for row in rows)
    worst_us, average_us = 1e6 * 8 * frame_bytes / throughput_bps, 1e6 / average_pps
    times = []
    for reading in READINGS:
        matcher = RangeMatcher(flow_rules(rules), reading=reading, burst_words=BURST_WORDS)
        words = np.arange(rules) // matcher.word_bits + 1
        share = float(np.mean(-(-words // matcher.step_words))) * matcher.step_words / matcher.vector_words
        vectors_us = (worst_us - average_us) / (1 - share) if share < 1 else np.nan
        times.append((reading, share, vectors_us, worst_us - vectors_us))
    return pd.DataFrame(times, columns=["reading", "share", "vectors_us", "rest_us"])


def role_pairs(design: Design) -> pd.DataFrame:
    """Return which roles can share a microengine: columns roles, instructions, store (control store size), fits."""
    import pandas as pd

    p = design.parameters
    size = {"receiver": p.code_receiver, "transmitter": p.code_transmitter, "scheduler": p.code_scheduler}
    together = [roles for n in (1, 2, 3) for roles in combinations(size, n)]
    rows = [(" + ".join(roles), sum(size[role] for role in roles), p.control_store) for roles in together]
    table = pd.DataFrame(rows, columns=["roles", "instructions", "store"])
    return table.assign(fits=table["instructions"] <= table["store"])


def intervals(matcher: RangeMatcher, field: str = "source") -> pd.DataFrame:
    """Return a field's interval table: columns begin, end, vector (bits, rule 1 on the right), rules."""
    import pandas as pd

    number = FIELDS.index(field)
    as_text = address_text if number < 2 else str
    rows = []
    for begin, end, vector in matcher.tables[number].rows:
        holds = [k + 1 for k in range(len(matcher)) if vector >> k & 1]
        rows.append((as_text(begin), as_text(end), f"{vector:0{len(matcher)}b}", ", ".join(map(str, holds))))
    return pd.DataFrame(rows, columns=["begin", "end", "vector", "rules"])


def matching(matcher: RangeMatcher, header: FiveTuple[int] | Sequence[object]) -> pd.DataFrame:
    """Return the steps of matching a header: one row per field with its interval, rows probed, vector, AND so far."""
    import pandas as pd

    and_so_far, rows = (1 << len(matcher)) - 1, []
    for k, (name, value) in enumerate(zip(FIELDS, five_tuple(header), strict=True)):  # type: ignore[arg-type]
        match = matcher.tables[k].search(value)
        vector = matcher.tables[k].rows[match.row].vector if match.row >= 0 else 0
        and_so_far &= vector
        width = len(matcher)
        value_text = address_text(value) if k < 2 else str(value)
        rows.append((name, value_text, match.row + 1, match.probes, f"{vector:0{width}b}", f"{and_so_far:0{width}b}"))
    return pd.DataFrame(rows, columns=["field", "value", "interval", "rows probed", "vector", "AND so far"])
