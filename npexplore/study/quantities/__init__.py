"""Published quantities by design: which design points a row speaks of, and how its number follows from predictions."""

from collections.abc import Mapping

from npexplore.ledger import Row
from npexplore.study.quantities import ixp2400, soclib
from npexplore.study.quantities.base import Conditions, MissingError, Quantity

__all__ = ["QUANTITIES", "Conditions", "MissingError", "Quantity", "quantity_of"]

QUANTITIES: Mapping[str, Mapping[str, Quantity]] = {
    "ixp2400": ixp2400.QUANTITIES,
    "ixp2400_dram": ixp2400.QUANTITIES,
    "soclib": soclib.QUANTITIES,
}


def quantity_of(row: Row) -> Quantity | None:
    """Return how a row's quantity is predicted, or None if no rule says."""
    return QUANTITIES.get(row.design, {}).get(row.quantity)
