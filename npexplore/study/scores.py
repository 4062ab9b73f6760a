"""How good a cross-check is, in one line a group of rows: root mean square and worst error over what was predicted.

Rows a parameter was fitted to are not scored, and a measurement that is printed twice counts once. Errors are relative;
those of rows that are themselves differences (improvements in per cent) are in percentage points.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from npexplore.ledger import Row
from npexplore.study.check import Check

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Group:
    """Rows that are scored together; aim: (largest root mean square, largest error), None where there is no aim."""

    name: str
    has: Callable[[Row], bool]
    aim: tuple[float | None, float | None] = (None, None)
    points: bool = False  # errors in percentage points instead of per cent of the published number


def _resource(name: str) -> Callable[[Row], bool]:
    return lambda row: row.quantity == "utilization" and row.conditions.get("resource") == name


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


def scores(check: Check, ledger: Iterable[Row], groups: Sequence[Group] = IXP2400) -> pd.DataFrame:
    """Return one row a group: rows, post_hoc (how many of them), rms, worst, worst_key, aim_rms, aim_worst, unit."""
    import pandas as pd

    known = {row.key: row for row in ledger}
    scored = [r for r in check.rows if r["error"] is not None and not r["same_as"] and r["role"] == "check"]
    lines = []
    for group in groups:
        chosen = [r for r in scored if group.has(known[r["key"]])]
        if chosen:
            errors = np.array([r["error"] * (r["point"] if group.points else 100) for r in chosen])
            worst = int(np.argmax(np.abs(errors)))
            lines.append({
                "group": group.name, "rows": len(chosen), "rms": float(np.sqrt(np.mean(errors**2))),
                "post_hoc": sum(r["label"] == "post_hoc" for r in chosen),
                "worst": float(errors[worst]), "worst_key": chosen[worst]["key"],
                "aim_rms": group.aim[0], "aim_worst": group.aim[1], "unit": "points" if group.points else "%",
            })  # fmt: skip
    return pd.DataFrame(lines)
