"""Published quantities by design: which design points a row speaks of, and how its number follows from predictions."""

from collections.abc import Mapping

from npexplore.ledger import Row
from npexplore.study.checking.quantities import gorilla, ixp1200, ixp2400, pcie, raw, server, soclib
from npexplore.study.checking.quantities.base import (
    Conditions,
    MissingError,
    Quantity,
    latency,
    throughput,
    whole,
)

__all__ = ["GENERAL", "QUANTITIES", "Conditions", "MissingError", "Quantity", "quantity_of", "whole"]

QUANTITIES: Mapping[str, Mapping[str, Quantity]] = {
    "gorilla": gorilla.QUANTITIES,
    "ixp1200": ixp1200.QUANTITIES,
    "ixp2400": ixp2400.QUANTITIES,
    "ixp2400_dram": ixp2400.QUANTITIES,
    "pcie": pcie.QUANTITIES,
    "raw": raw.QUANTITIES,
    "server": server.QUANTITIES,
    "soclib": soclib.QUANTITIES,
}

_POINTS = Conditions()
GENERAL: Mapping[str, Quantity] = {  # of any machine that nobody published anything about
    "throughput": _POINTS.mean(throughput),
    "packet rate": _POINTS.mean(lambda prediction: prediction.rate_pps),
    "latency": _POINTS.mean(latency),
    "utilization": _POINTS.utilization(),
}


def quantity_of(row: Row) -> Quantity | None:
    """Return the rule that predicts a row (one for its key overrides that of its quantity); None if there is none."""
    known = QUANTITIES.get(row.design, GENERAL)
    return known.get(row.key) or known.get(row.quantity)
