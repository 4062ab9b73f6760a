"""The ledger of published numbers as a table of records, and the view of it for models.

A Ledger has every row, for checks, audits and plots. Facts has the rows that a model may read (input and calibration);
a request for any other row raises an error that names the row's role.
"""

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from npexplore import units
from npexplore.errors import InputError, UnknownNameError, one_of
from npexplore.ledger.records import COLUMNS, READABLE, ROLES, Row
from npexplore.reads import Read, note

if TYPE_CHECKING:
    import pandas as pd


class Ledger:
    """All rows in file order. `ledger[key]` returns one, `select` some, `facts()` those that models may read.

    Example:
        >>> from npexplore.ledger import load
        >>> load()["raw.clock"].value
        '425'
    """

    def __init__(self, rows: Iterable[Row]) -> None:
        self._rows: dict[str, Row] = {}
        for row in rows:
            if row.key in self._rows:
                raise InputError(f"{_place(row)}: column 'key' must be unique, got {row.key!r} twice")
            self._rows[row.key] = row
        self._prefixes = {row.paper: row.key.split(".", 1)[0] for row in self}
        for row in self._rows.values():
            self._check_same(row)
        self._facts: Facts | None = None

    def __getitem__(self, key: str) -> Row:
        if key not in self._rows:
            raise UnknownNameError("ledger row", key, self._rows)
        return self._rows[key]

    def __contains__(self, key: object) -> bool:
        return key in self._rows

    def __iter__(self) -> Iterator[Row]:
        return iter(self._rows.values())

    def __len__(self) -> int:
        return len(self._rows)

    def __repr__(self) -> str:
        return f"Ledger({len(self)} rows of {', '.join(self.papers)})"

    @property
    def papers(self) -> tuple[str, ...]:
        """The names of the papers, equal to the names of their files."""
        return tuple(self._prefixes)

    def prefix(self, paper: str) -> str:
        """Return the first part of the keys of a paper; raises UnknownNameError."""
        return self._prefixes[one_of("paper", paper, self._prefixes)]

    def paper(self, name: str) -> str:
        """Return the paper named `name`: a file's name, or the first part of the paper's keys (`ixp2400`)."""
        aliases = {prefix: paper for paper, prefix in self._prefixes.items()}
        return aliases.get(name) or one_of("paper", name, self.papers)

    def select(
        self,
        *,
        paper: str | None = None,
        design: str | None = None,
        roles: Iterable[str] = ROLES,
        quantity: str | None = None,
        distinct: bool = False,
    ) -> list[Row]:
        """Return the rows that match; distinct: one row per measurement (the row that others name in same_as)."""
        chosen_roles = [one_of("role", role, ROLES) for role in roles]
        name = self.paper(paper) if paper is not None else None
        return [
            row
            for row in self
            if row.role in chosen_roles
            and name in (None, row.paper)
            and quantity in (None, row.quantity)
            and design in (None, row.design)
            and not (distinct and row.same_as)
        ]

    def measurement(self, key: str) -> str:
        """Return the key of the row that represents the measurement of row `key`: the end of its same_as chain."""
        row = self[key]
        while row.same_as:
            row = self[row.same_as]
        return row.key

    def facts(self) -> "Facts":
        """Return the view for models: input and calibration rows."""
        self._facts = self._facts or Facts(self)
        return self._facts

    def to_frame(self) -> "pd.DataFrame":
        """Return the rows as a table: the columns of files, `paper`, `frozen` (in `unit`); conditions as text."""
        import pandas as pd

        columns = (*COLUMNS, "paper", "frozen")
        data = {c: [getattr(row, c) for row in self] for c in columns}
        data["frozen"] = [row.frozen_value for row in self]
        data["conditions"] = [";".join(f"{k}={v}" for k, v in row.conditions.items()) for row in self]
        frame = pd.DataFrame(data, columns=columns)
        return frame.astype(dict.fromkeys(("point", "lo", "hi", "frozen"), "float64"))

    def _check_same(self, row: Row) -> None:
        """Check same_as: its chain must end, at the same measurement, and must not join a model's rows to others."""
        if row.same_as is None:
            return
        place = f"{_place(row)}: column 'same_as' of {row.key!r}"
        chain, target = {row.key}, row
        while target.same_as:
            if target.same_as not in self._rows:
                raise UnknownNameError(place, target.same_as, self._rows)
            target = self._rows[target.same_as]
            if target.key in chain:
                raise InputError(f"{place} must not lead in a circle, got {' -> '.join([*sorted(chain), target.key])}")
            chain.add(target.key)
        if _side(row) != _side(target):
            got = f"{row.role!r} -> {target.role!r} ({target.key!r})"
            rule = "must join readable rows to readable, withheld ones to withheld and blind ones to blind"
            raise InputError(f"{place} {rule}, got {got}")
        if not _agree(row, target):
            raise InputError(
                f"{place} must print the same measurement, got {row.value!r} {row.unit} "
                f"against {target.value!r} {target.unit} ({target.key!r})"
            )


class Facts:
    """The rows that a model may read; of other rows, only the roles, so that an error can give the reason.

    Example:
        >>> from npexplore.ledger import facts
        >>> facts()["raw.clock"].point
        425
    """

    def __init__(self, ledger: Ledger) -> None:
        self._rows = {row.key: row for row in ledger if row.readable}
        self._hidden = {row.key: row.role for row in ledger if not row.readable}

    def __getitem__(self, key: str) -> Row:
        if key in self._hidden:
            raise InputError(
                f"ledger row {key!r} has role {self._hidden[key]!r}: a model may read only "
                f"{' and '.join(READABLE)} rows"
            )
        if key not in self._rows:
            raise UnknownNameError("ledger row", key, self._rows)
        row = self._rows[key]
        fitted = (key,) if row.role == "calibration" else ()  # a value of a calibration row counts as fitted to it
        note(Read(key, f"row: {row.role}", row.value, f"{row.paper}.csv", row.unit, fitted_to=fitted, row=key))
        return row

    def __contains__(self, key: object) -> bool:
        return key in self._rows

    def __iter__(self) -> Iterator[Row]:
        return (self[key] for key in self._rows)

    def __len__(self) -> int:
        return len(self._rows)

    def __repr__(self) -> str:
        return f"Facts({len(self)} readable rows, {len(self._hidden)} hidden)"

    def value(self, key: str) -> float:
        """Return the point of a row in SI base units; raises InputError if it is hidden, unknown or has none."""
        row = self[key]
        if row.point is None:
            raise InputError(f"ledger row {key!r} must have a point to be read as a number, got {row.value!r}")
        return row.si(row.point)


def _place(row: Row) -> str:
    return f"{row.paper}.csv:{row.line}"


def _side(row: Row) -> str:
    """Return who may know the row's measurement, and since when; rows of different sides must not share one."""
    return "readable" if row.readable else row.role if row.role in ("withheld", "blind") else "unreadable"


def _agree(row: Row, other: Row) -> bool:
    """Return whether two rows can print one measurement: intervals that meet, or one reading as two rates or ratios."""
    if not (row.numeric and other.numeric):
        return row.kind == other.kind
    dimensions = {units.UNITS[r.unit][0] for r in (row, other)}
    if len(dimensions) == 2:
        return all(name == "ratio" or name.endswith(" rate") for name in dimensions)
    if row.role == "withheld":
        return True
    slack = 1 + 1e-12  # the ends are decimal texts scaled by a factor

    def span(r: Row) -> tuple[float, float]:
        return (float("-inf") if r.lo is None else r.si(r.lo)), (float("inf") if r.hi is None else r.si(r.hi))

    (lo, hi), (lo2, hi2) = span(row), span(other)
    return lo <= hi2 * slack and lo2 <= hi * slack
