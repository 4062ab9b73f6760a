"""Finds the cycles per packet that are consistent with the paper's claims about rates (the admissible set).

    reaches 200 Mpps  <=>  min(engines / issue, engines x threads / residence) x clock >= REACHES x offered
    issue = overhead + steps x cycles per step;   residence = issue + waits;   the memory is assumed wide enough

Overhead follows from the only printed rate below the offered load (195.7 Mpps); cycles per step and the lookup's delay
are free. Claims are ledger rows that say whether one configuration keeps up and that no parameter was fitted to. The
scores (study/checking/groups.py) and the page's map count the same claims.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING

from npexplore.designs import design
from npexplore.designs.gorilla.design import residence_cycles
from npexplore.designs.gorilla.traffic import lowered
from npexplore.ledger import Ledger, facts, load
from npexplore.ledger.rules import rule
from npexplore.machine.parameters import Parameters, Value
from npexplore.machine.step_programs import Lowered
from npexplore.reads import remembered

if TYPE_CHECKING:
    import pandas as pd

REACHES = rule("gorilla.reaches")
NUMBER = "gorilla.perf.mpls4.16-6-4.fc"
JUDGED = ("check", "blind")  # roles of claims that are known and that no parameter was fitted to


@dataclass(frozen=True)
class Claim:
    """A configuration with its traffic, and whether the paper says that it forwards the whole offered load."""

    key: str
    clusters: int
    engines: int
    threads: int
    proto: str
    counting: str
    mpps: float
    keeps_up: bool
    protocols: str = "all"

    @property
    def name(self) -> str:
        """The configuration in the paper's notation, with traffic."""
        counted = ", counting" if self.counting == "on" else ""
        return f"{self.clusters}-{self.engines}-{self.threads} {self.proto}{counted}"


def claims(ledger: Ledger | None = None) -> list[Claim]:
    """Return the claims of the roles JUDGED on rates of single configurations, each measurement once."""
    judged = []
    for row in ledger or load():
        c = row.conditions
        if row.paper != "gorilla" or row.quantity != "forwarding rate" or row.role not in JUDGED:
            continue
        if "clusters" not in c or row.kind != "ordinal" or row.same_as:
            continue
        clusters, engines, threads = (int(float(c[name])) for name in ("clusters", "engines", "threads"))
        offered = float(c["rate_mpps"])
        keeps = row.hi is not None and row.hi >= offered
        counting = str(c.get("flow_counting", "off"))
        built = str(c.get("protocols", "all"))
        judged.append(Claim(row.key, clusters, engines, threads, str(c["proto"]), counting, offered, keeps, built))
    return judged


@remembered()
def _ways(counting: str, proto: str) -> Lowered:
    return lowered(design("gorilla").with_(proto=proto, flow_counting=counting).parameters)


def keeps_up(p: Parameters, claim: Claim) -> bool:
    """Return whether a configuration keeps up by the bounds of engines and threads."""
    return _enough(p, claim, _cycles(p, claim))


def _cycles(p: Parameters, claim: Claim) -> tuple[float, float]:
    return residence_cycles(p.with_(protocols=claim.protocols), _ways(claim.counting, claim.proto))


def _enough(p: Parameters, claim: Claim, cycles: tuple[float, float]) -> bool:
    issue, residence = cycles
    engines = claim.clusters * claim.engines * float(p.core_mhz)
    return min(engines / issue, engines * claim.threads / residence) >= float(REACHES.value) * claim.mpps


def overhead_for(p: Parameters, per_step: float) -> float:
    """Return the overhead in cycles with which 16-6-4 forwards four labels with flow counting at the printed rate."""
    (path,) = _ways("on", "mpls_4").paths
    return 96 * float(p.core_mhz) * 1e6 / facts().value(NUMBER) - len(path.steps) * per_step


def admissible(
    per_step: Sequence[float], delays: Sequence[float], chosen: Sequence[Claim] | None = None
) -> pd.DataFrame:
    """Return the number of claims that hold, and the claims that do not, by cycles per step and lookup delay.

    Columns: cycles_per_step, lookup_cycles, overhead_cycles, right, claims, wrong (names).
    """
    import pandas as pd

    judged, fitted_parameters = list(chosen) if chosen is not None else claims(), design("gorilla").parameters
    rows = []
    for step_cycles, delay in product(per_step, delays):
        overhead = overhead_for(fitted_parameters, step_cycles)
        if overhead < 0:
            continue
        half: dict[str, Value] = {"request_cycles": step_cycles / 2, "edit_cycles": step_cycles / 2}
        p = fitted_parameters.with_(**half, overhead_cycles=overhead, lookup_cycles=delay)
        kinds = {(c.counting, c.proto, c.protocols): c for c in judged}
        cycles = {kind: _cycles(p, claim) for kind, claim in kinds.items()}
        wrong = [c.name for c in judged if _enough(p, c, cycles[c.counting, c.proto, c.protocols]) != c.keeps_up]
        rows.append({
            "cycles_per_step": step_cycles, "lookup_cycles": delay, "overhead_cycles": overhead,
            "right": len(judged) - len(wrong), "claims": len(judged), "wrong": "; ".join(wrong),
        })  # fmt: skip
    return pd.DataFrame(rows)
