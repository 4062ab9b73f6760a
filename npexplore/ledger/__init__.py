"""Published numbers: `load()` for checks and plots, `facts()` for models, `published()` as a table."""

from npexplore.ledger.reader import facts, load, published
from npexplore.ledger.records import COLUMNS, KINDS, ROLES, Frozen, Row
from npexplore.ledger.table import Facts, Ledger

__all__ = ["COLUMNS", "KINDS", "ROLES", "Facts", "Frozen", "Ledger", "Row", "facts", "load", "published"]
