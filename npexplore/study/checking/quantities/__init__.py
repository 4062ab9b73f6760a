"""Published quantities by design: which design points a row speaks of, and how its number follows from predictions."""

from collections.abc import Mapping

from npexplore.ledger import Row
from npexplore.study.checking.quantities import gorilla, ixp1200, ixp2400, raw, soclib
from npexplore.study.checking.quantities.base import Conditions, MissingError, Quantity, whole

__all__ = ["QUANTITIES", "Conditions", "MissingError", "Quantity", "quantity_of", "whole"]

QUANTITIES: Mapping[str, Mapping[str, Quantity]] = {
    "gorilla": gorilla.QUANTITIES,
    "ixp1200": ixp1200.QUANTITIES,
    "ixp2400": ixp2400.QUANTITIES,
    "ixp2400_dram": ixp2400.QUANTITIES,
    "raw": raw.QUANTITIES,
    "soclib": soclib.QUANTITIES,
}


def quantity_of(row: Row) -> Quantity | None:
    """Return how a row's quantity is predicted (a rule for its key goes before that of its quantity), None without."""
    known = QUANTITIES.get(row.design, {})
    return known.get(row.key) or known.get(row.quantity)
