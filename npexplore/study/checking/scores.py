"""How good a cross-check is, in one line a group of rows: errors of what was predicted, and how many claims hold.

Rows a parameter was fitted to are not scored, and a measurement that is printed twice counts once. Errors are relative;
those of rows that are themselves differences (improvements in per cent) are in percentage points. A claim is a row
without an error of its own: a shape, an order, a bound, a band.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from npexplore.ledger import Row
from npexplore.study.checking.check import Check

if TYPE_CHECKING:
    import pandas as pd

HOLDS = ("inside", "close")


@dataclass(frozen=True)
class Group:
    """Rows that are scored together; aim: (largest root mean square, largest error), None where there is no aim."""

    name: str
    has: Callable[[Row], bool]
    aim: tuple[float | None, float | None] = (None, None)
    points: bool = False  # errors in percentage points instead of per cent of the published number


def _resource(name: str) -> Callable[[Row], bool]:
    return lambda row: row.quantity == "utilization" and row.conditions.get("resource") == name


def _under(*prefixes: str) -> Callable[[Row], bool]:
    return lambda row: row.key.startswith(prefixes)


def _gain(row: Row) -> bool:
    return row.unit == "%" and row.quantity.startswith("throughput")


IXP2400 = (
    Group("throughput, Figs. 12-15", lambda row: row.quantity == "throughput" and row.where[:4] == "Fig.", (3, 6)),
    Group("DRAM bandwidth, Fig. 9", lambda row: row.where == "Fig. 9", (None, 2)),
    Group("DRAM bandwidth, Fig. 12", lambda row: row.quantity == "bandwidth" and row.where == "Fig. 12"),
    Group("bus utilization", _resource("dram.bus"), (3, None)),
    Group("bank utilization", _resource("dram.bank"), (8, None)),
    Group("hash unit utilization", _resource("hash")),
    Group("microengine utilization", _resource("me")),
    Group("improvements", lambda row: row.quantity == "throughput improvement", (None, 3), points=True),
)
IXP1200 = (
    Group("plain forwarding", _under("ixp1200.ipfwd."), (None, 10)),
    Group("Fig. 6, throughput against rules", _under("ixp1200.fig6.")),
    Group("Fig. 7, rates of four classes", _under("ixp1200.fig7.")),
    Group("Fig. 8, latencies of four classes", _under("ixp1200.fig8.")),
    Group("Fig. 9, 500 flows", _under("ixp1200.fig9."), (None, 10)),
    Group("Fig. 10, threads", _under("ixp1200.fig10.")),
    Group("Fig. 10, whole system", _under("ixp1200.diffserv."), (None, 10)),
    Group("Table 1, linear search", _under("ixp1200.table1."), (None, 10)),
    Group("Table 2, range matching", _under("ixp1200.table2."), (None, 10)),
)
RAW = (
    Group("rates", lambda row: row.unit in ("Gb/s", "Mpps") or row.quantity == "throughput ratio"),
    Group("steps from version to version", _gain, points=True),
    Group("latency and lookup, Table 1", lambda row: row.quantity in ("latency", "extra time")),
    Group("what binds", lambda row: row.quantity == "bottleneck"),
)
SOCLIB = (
    Group("one processor, Sec. 4", _under("soclib.baseline.")),
    Group("elements, Fig. 7 (arithmetic)", _under("soclib.element.", "soclib.table.", "soclib.longest_path")),
    Group("central memory", _under("soclib.exp1.")),
    Group("distributed memory", _under("soclib.exp2.")),
    Group("distributed memory, spin locks", _under("soclib.exp3.")),
)
SCORES: Mapping[str, Sequence[Group]] = {  # by the first word of the rows' keys
    "ixp1200": IXP1200,
    "ixp2400": IXP2400,
    "raw": RAW,
    "soclib": SOCLIB,
}


def scores(check: Check, ledger: Iterable[Row], groups: Mapping[str, Sequence[Group]] = SCORES) -> pd.DataFrame:
    """Return one row a group that has something to score.

    Columns: paper; group; rows, post_hoc (how many of them), rms, worst (NaN without a number), worst_key;
    claims, held; aim_rms, aim_worst, unit.
    """
    import pandas as pd

    known = {row.key: row for row in ledger}
    checks = [r for r in check.rows if r["role"] == "check" and not r["same_as"]]
    lines = []
    for paper, group in ((paper, group) for paper, mine in groups.items() for group in mine):
        mine = [r for r in checks if r["key"].split(".")[0] == paper and group.has(known[r["key"]])]
        chosen = [r for r in mine if r["error"] is not None and r["label"] is not None]  # else nothing is predicted
        claims = [r for r in mine if r["error"] is None and r["verdict"] in (*HOLDS, "off")]
        if not chosen and not claims:
            continue
        errors = np.array([r["error"] * (r["point"] if group.points else 100) for r in chosen])
        worst = int(np.argmax(np.abs(errors))) if chosen else None
        lines.append({
            "paper": paper, "group": group.name, "rows": len(chosen),
            "post_hoc": sum(r["label"] == "post_hoc" for r in chosen),
            "rms": None if worst is None else float(np.sqrt(np.mean(errors**2))),
            "worst": None if worst is None else float(errors[worst]),
            "worst_key": "" if worst is None else chosen[worst]["key"],
            "claims": len(claims), "held": sum(r["verdict"] in HOLDS for r in claims),
            "aim_rms": group.aim[0], "aim_worst": group.aim[1], "unit": "points" if group.points else "%",
        })  # fmt: skip
    return pd.DataFrame(lines)
