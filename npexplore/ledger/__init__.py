"""Published numbers: `load()` for checks and plots, `facts()` for models, `published()` as a table."""

from typing import TYPE_CHECKING

from npexplore.names import on_demand

if TYPE_CHECKING:
    from npexplore.ledger.auditing import Finding as Finding
    from npexplore.ledger.auditing import audit as audit
    from npexplore.ledger.reader import facts as facts
    from npexplore.ledger.reader import load as load
    from npexplore.ledger.reader import published as published
    from npexplore.ledger.records import COLUMNS as COLUMNS
    from npexplore.ledger.records import KINDS as KINDS
    from npexplore.ledger.records import ROLES as ROLES
    from npexplore.ledger.records import Frozen as Frozen
    from npexplore.ledger.records import Row as Row
    from npexplore.ledger.table import Facts as Facts
    from npexplore.ledger.table import Ledger as Ledger
else:
    __all__, __getattr__, __dir__ = on_demand(__name__)
