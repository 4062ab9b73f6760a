"""Rules by design that compute published quantities: the design points of a row, and its number from predictions."""

from collections.abc import Mapping

from npexplore.errors import InputError, likely_meant
from npexplore.ledger import Ledger, Row
from npexplore.study.checking.quantities import gorilla, ixp1200, ixp2400, nfp4000, pcie, raw, server, soclib
from npexplore.study.checking.quantities.base import (
    Conditions,
    MissingError,
    Quantity,
    latency,
    throughput,
    whole,
)
from npexplore.units import UNITS

__all__ = [
    "GENERAL",
    "QUANTITIES",
    "Conditions",
    "MissingError",
    "Quantity",
    "quantity_of",
    "refuse_another_unit",
    "whole",
    "without_rule",
]

QUANTITIES: Mapping[str, Mapping[str, Quantity]] = {
    "gorilla": gorilla.QUANTITIES,
    "ixp1200": ixp1200.QUANTITIES,
    "ixp2400": ixp2400.QUANTITIES,
    "ixp2400_dram": ixp2400.QUANTITIES,
    "nfp4000": nfp4000.QUANTITIES,
    "pcie": pcie.QUANTITIES,
    "raw": raw.QUANTITIES,
    "server": server.QUANTITIES,
    "soclib": soclib.QUANTITIES,
}

_POINTS = Conditions()
GENERAL: Mapping[str, Quantity] = {  # rules for a machine without published rows
    "throughput": _POINTS.mean(throughput),
    "packet rate": _POINTS.mean(lambda prediction: prediction.rate_pps),
    "latency": _POINTS.mean(latency),
    "utilization": _POINTS.utilization(),
}


def quantity_of(row: Row) -> Quantity | None:
    """Return the rule that predicts a row, None if there is none; a rule for its key overrides one for its quantity."""
    rules = QUANTITIES.get(row.design, GENERAL)
    return rules.get(row.key) or rules.get(row.quantity)


def without_rule(row: Row) -> str:
    """Return why a row without a rule has no prediction, with the most similar quantity that has a rule."""
    similar = likely_meant(row.quantity, QUANTITIES.get(row.design, GENERAL))
    meant = f"; is it {similar!r}?" if similar else ""
    return f"no rule says how {row.quantity!r} follows from a run{meant}"


def refuse_another_unit(row: Row, ledger: Ledger) -> None:
    """Raise InputError if the unit of a row has another dimension than all other rows of its quantity."""
    others = {r.unit for r in ledger.select(design=row.design, quantity=row.quantity) if r.key != row.key}
    others = {unit for unit in others if unit in UNITS}
    if row.unit in UNITS and others and UNITS[row.unit][0] not in {UNITS[unit][0] for unit in others}:
        raise InputError(
            f"row {row.key!r}: column 'unit' must measure what {', '.join(sorted(others))} of other rows of "
            f"{row.quantity!r} measures, got {row.unit!r} ({UNITS[row.unit][0]})"
        )
