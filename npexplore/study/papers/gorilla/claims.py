"""Which cycles per packet are consistent with all claims about rates: the admissible set, and how much claims say.

    reaches 200 Mpps  <=>  min(engines / issue, engines x threads / residence) x clock >= REACHES x offered
    issue = overhead + steps x cycles per step;   residence = issue + waits;   the memory taken as wide enough

Overhead follows from the one rate below what is offered (195.7 Mpps); cycles per step and the lookup's delay are free.
Claims are the rows of the ledger that say whether one configuration keeps up and that nothing was fitted to: scores
(study/checking/groups.py) and the map of the page count the same ones.
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
JUDGED = ("check", "blind")  # roles of claims whose truth is known and that nothing was fitted to


@dataclass(frozen=True)
class Claim:
    """A configuration with its traffic, and whether it is said to keep up with what is offered."""

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
    """Return the judged claims on rates of single configurations, each measurement once."""
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
    """Say whether a configuration keeps up by the bounds of engines and threads."""
    return _enough(p, claim, _cycles(p, claim))


def _cycles(p: Parameters, claim: Claim) -> tuple[float, float]:
    return residence_cycles(p.with_(protocols=claim.protocols), _ways(claim.counting, claim.proto))


def _enough(p: Parameters, claim: Claim, cycles: tuple[float, float]) -> bool:
    issue, stay = cycles
    engines = claim.clusters * claim.engines * float(p.core_mhz)
    return min(engines / issue, engines * claim.threads / stay) >= float(REACHES.value) * claim.mpps


def overhead_for(p: Parameters, per_step: float) -> float:
    """Return the overhead for which 16-6-4 forwards four labels with flow counting at the printed rate."""
    (path,) = _ways("on", "mpls_4").paths
    return 96 * float(p.core_mhz) * 1e6 / facts().value(NUMBER) - len(path.steps) * per_step


def admissible(
    per_step: Sequence[float], delays: Sequence[float], chosen: Sequence[Claim] | None = None
) -> pd.DataFrame:
    """Return a table of how many claims hold, and which do not, by cycles per step and lookup delay.

    Columns: cycles_per_step, lookup_cycles, overhead_cycles, right, claims, wrong (names).
    """
    import pandas as pd

    judged, own = list(chosen) if chosen is not None else claims(), design("gorilla").parameters
    rows = []
    for each, delay in product(per_step, delays):
        overhead = overhead_for(own, each)
        if overhead < 0:
            continue
        half: dict[str, Value] = {"request_cycles": each / 2, "edit_cycles": each / 2}
        p = own.with_(**half, overhead_cycles=overhead, lookup_cycles=delay)
        kinds = {(c.counting, c.proto, c.protocols): c for c in judged}
        cycles = {kind: _cycles(p, claim) for kind, claim in kinds.items()}
        wrong = [c.name for c in judged if _enough(p, c, cycles[c.counting, c.proto, c.protocols]) != c.keeps_up]
        rows.append({
            "cycles_per_step": each, "lookup_cycles": delay, "overhead_cycles": overhead,
            "right": len(judged) - len(wrong), "claims": len(judged), "wrong": "; ".join(wrong),
        })  # fmt: skip
    return pd.DataFrame(rows)
