"""Labels of predictions, from what was read for them (npexplore/reads.py); nobody declares one.

calibrated  something read was fitted to the row, or to rows from which it follows
post_hoc    something read was chosen after the row, or after rows from which it follows
arithmetic  no solver with contention took part, and everything read is input, or the row follows from inputs
predicted   else

A row follows from others by an identity of the audit (npexplore/ledger/ties.py), or because it prints the same number
of the same quantity as a row that was fitted to. A value that was set for the row's own design point was not fitted.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from npexplore.errors import InputError, UnknownNameError
from npexplore.ledger import Ledger, Row
from npexplore.ledger.records import READABLE
from npexplore.ledger.ties import Ties, keys_of
from npexplore.reads import SOLVER, Read, Reads
from npexplore.units import UNITS

LABELS = ("predicted", "post_hoc", "calibrated", "arithmetic")
PROTOTYPE = "prototype"  # what a choice was made after that is no row: a published prototype
INPUTS = ("knob", "fact", "row: input")
DIGITS = 3  # significant digits from which on a bare number that equals a published one is no chance


@dataclass(frozen=True)
class Labels:
    """Labels of the rows of a ledger."""

    ledger: Ledger
    _checked: set[Read] = field(default_factory=set)  # whose keys are known to be right

    def __call__(self, row: Row, reads: Reads) -> str:
        """Return a row's label; raises InputError for a read whose record names what it may not."""
        return self.because(row, reads)[0]

    def because(self, row: Row, reads: Reads) -> tuple[str, str]:
        """Return a row's label and, in words, what it follows from."""
        mine = [read for read in reads.values() if read.kind != SOLVER]
        for read in mine:
            self._check(read)
        behind = [read for read in mine if read.usual]
        fitted = {key: read for read in behind for key in (*read.fitted_to, *self._restated(row, read))}
        chosen = {key: read for read in behind for key in read.chosen_after if key != PROTOTYPE}
        measurement = self.ledger.measurement(row.key) if row.key in self.ledger else row.key
        inputs = self._ties.follow(self._inputs)
        for label, keys in (("calibrated", fitted), ("post_hoc", fitted | chosen)):
            known = [*keys, *(twin for key in fitted for twin in self._twins(key))]
            own = any(self._end(key) == measurement for key in keys)
            if own or measurement in self._ties.follow([*self._inputs, *known]) - inputs:
                return label, self._told(label, row, measurement, keys)
        if not contended(reads):
            if all(_is_input(read) for read in mine):
                return "arithmetic", "no solver took part, and everything read is input"
            if measurement in inputs:
                return "arithmetic", "no solver took part, and it follows from inputs by an identity of the audit"
        return "predicted", "nothing read was fitted to it or chosen after it, nor to rows from which it follows"

    def _told(self, label: str, row: Row, measurement: str, keys: Mapping[str, Read]) -> str:
        word = "fitted to" if label == "calibrated" else "chosen after"
        own = [key for key in keys if self._end(key) == measurement]
        tied = own or sorted(key for key in keys if key.split(".", 1)[0] == row.key.split(".", 1)[0])
        names = list(dict.fromkeys(keys[key].name for key in tied))
        rows = "it" if own else f"rows from which it follows: {', '.join(tied[:6])}{', ...' if len(tied) > 6 else ''}"
        return f"{', '.join(names[:4])}{' and others' if len(names) > 4 else ''} {word} {rows}"

    @cached_property
    def _ties(self) -> Ties:
        return Ties(self.ledger)

    @cached_property
    def _inputs(self) -> tuple[str, ...]:
        return tuple(row.key for row in self.ledger if row.role == "input")

    def _end(self, key: str) -> str:
        return self.ledger.measurement(key) if key in self.ledger else key

    def _twins(self, fitted: str) -> list[str]:
        """Return the rows that print the same number of the same quantity as one that was fitted to."""
        if fitted not in self.ledger:
            return []
        one = self.ledger[fitted]
        return [
            row.key for row in self.ledger
            if row.kind == one.kind == "number" and row.point == one.point and row.key != one.key
            and all(_asked(row, what) == _asked(one, what) for what in ("design", "quantity", "unit", "resource"))
        ]  # fmt: skip

    @staticmethod
    def _restated(row: Row, read: Read) -> list[str]:
        """Return the row's key if a number that stands in no readable row is the very number that the row prints."""
        value, unit = read.value, read.unit or "1"
        if read.row is not None or row.point is None or not isinstance(value, int | float):
            return []
        same = row.kind == "number" and unit in UNITS and row.unit in UNITS and UNITS[unit][0] == UNITS[row.unit][0]
        telling = UNITS.get(unit, ("ratio",))[0] != "ratio" or len(f"{value:g}".strip("0").replace(".", "")) >= DIGITS
        return [row.key] if same and telling and row.inside(row.from_si(value * UNITS[unit][1])) else []

    def _check(self, read: Read) -> None:
        """Raise InputError where a record names a row that is not there or that its value must not come from."""
        if read in self._checked:
            return
        place = f"{read.place}: {read.name.rpartition('/')[2]}"
        for what, keys, roles in (
            ("fitted_to", [key for one in read.fitted_to for key in keys_of(one)], ("calibration",)),
            ("row", [] if read.row is None else [read.row], READABLE),
            ("chosen_after", [key for key in read.chosen_after if key != PROTOTYPE], None),
        ):
            for key in keys:
                if key.split(".", 1)[0] not in self._prefixes:
                    continue  # another paper's, which was not read
                if key not in self.ledger:
                    raise UnknownNameError(f"{place}: {what}", key, [row.key for row in self.ledger])
                role = self.ledger[key].role
                if roles is not None and role not in roles:
                    raise InputError(f"{place}: {what} must name {' or '.join(roles)} rows, got {key!r} ({role})")
        self._checked.add(read)

    @cached_property
    def _prefixes(self) -> set[str]:
        return {row.key.split(".", 1)[0] for row in self.ledger}


def contended(reads: Reads) -> bool:
    """Whether a solver that knows contention took part."""
    return any(read.kind == SOLVER and read.name != "bounds" for read in reads.values())


def hints(reads: Iterable[Read]) -> int:
    """Return how many of the assumptions read stem from a published prototype."""
    return sum(PROTOTYPE in read.chosen_after for read in reads if read.usual)


def free(reads: Iterable[Read]) -> list[str]:
    """Return the names of what was read and fitted: the free parameters behind a value."""
    return sorted({read.name for read in reads if read.usual and read.fitted_to and not read.kind.startswith("row")})


def _is_input(read: Read) -> bool:
    return not read.usual or (read.kind in INPUTS and not read.fitted_to and not read.chosen_after)


def _asked(row: Row, what: str) -> object:
    return row.conditions.get("resource") if what == "resource" else getattr(row, what)
