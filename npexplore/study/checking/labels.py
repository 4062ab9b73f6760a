"""Labels of predictions, derived from what was read to compute them (npexplore/reads.py), never declared.

calibrated  something read was fitted to the row, or to rows from which it follows
arithmetic  no solver with contention took part, and everything read is input, or the row follows from inputs, or the
            row is a rate, a latency or a load; also whatever the solver: an input that comes back, a claim of no
            effect whose two sides are one machine
post_hoc    something read was chosen after the row, or after rows from which it follows
predicted   else

A row follows from others by an identity of the audit (npexplore/ledger/ties.py), or because it prints the same number
of the same quantity as a row that was fitted to. A value that was set for the row's own design point was not fitted. A
fitted value that names no calibration row was fitted to the rows that it was chosen after.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property

from npexplore.errors import InputError, UnknownNameError
from npexplore.ledger import Ledger, Row
from npexplore.ledger.auditing import identities
from npexplore.ledger.identities import Identity
from npexplore.ledger.records import READABLE
from npexplore.ledger.ties import Ties, keys_of
from npexplore.reads import SAME, SOLVER, Read, Reads
from npexplore.units import UNITS

LABELS = ("predicted", "post_hoc", "calibrated", "arithmetic")
PROTOTYPE = "prototype"  # what a choice was made after that is no row: a published prototype
INPUTS = ("knob", "fact", "row: input")
INPUTS_ALONE = "no solver with contention took part, and it follows from inputs"
PREDICTED = "nothing read was fitted to it or chosen after it, nor to rows from which it follows"
LOADS = ("packet rate", "bit rate", "time", "transaction rate", "bits per cycle", "packets per cycle")
OFFERED = {"load", "load_mpps"}  # conditions: at an offered load a share or a utilization is one of a load, too
DIGITS = 3  # significant digits from which on a bare number that equals a published one is no chance


@dataclass(frozen=True)
class _Paper:
    """The identities between a paper's rows, its inputs, and what follows from these."""

    ties: Ties
    inputs: list[str]
    returning: Ties  # the identities whose result every model gives back

    @cached_property
    def from_inputs(self) -> frozenset[str]:
        return self.ties.follow(self.inputs)

    @cached_property
    def returned(self) -> frozenset[str]:
        return self.returning.follow(self.inputs)


@dataclass(frozen=True)
class Labels:
    """Labels of the rows of a ledger."""

    ledger: Ledger
    _checked: set[Read] = field(default_factory=set)  # whose keys are known to be right
    _papers: dict[str, _Paper] = field(default_factory=dict)

    def __call__(self, row: Row, reads: Reads) -> str:
        """Return a row's label; raises InputError if the source of something read names a row that it must not name."""
        for read in reads.values():
            self._check(read)
        if self._tied(row, self.keys(row, reads, "calibrated")):
            return "calibrated"
        untested = self._untested(row, reads)
        if untested is None and self._tied(row, self.keys(row, reads, "post_hoc")):
            return "post_hoc"
        return "predicted" if untested is None and not self._of_inputs(row, reads) else "arithmetic"

    def _untested(self, row: Row, reads: Reads) -> str | None:
        """Return why a row tests no model, whatever was chosen after it; None if it does."""
        if self._end(row.key) in self._of(row).returned:
            return "it is an input that every model gives back"
        if any(read.kind == SAME for read in reads.values()) and row.inside(1.0 if "ratio" in row.quantity else 0.0):
            return "both sides of the comparison are one machine here"
        if _of_load(row) and not contended(reads):
            return "it is a rate, a latency or a load, and no model that carries the load took part"
        return None

    def _of_inputs(self, row: Row, reads: Reads) -> bool:
        """Whether a row follows from inputs without a model of contention."""
        inputs_alone = all(_is_input(read) for read in reads.values() if read.kind not in (SOLVER, SAME))
        return (inputs_alone or self._end(row.key) in self._of(row).from_inputs) and not contended(reads)

    def because(self, row: Row, reads: Reads) -> tuple[str, str]:
        """Return a row's label and, in words, the reason for it."""
        label = self(row, reads)
        if label == "predicted":
            return label, PREDICTED
        if label == "arithmetic":
            return label, self._untested(row, reads) or INPUTS_ALONE
        keys = self.keys(row, reads, label)
        if own := [key for key in keys if self._end(key) == self._end(row.key)]:
            keys, rows = {key: keys[key] for key in own}, "it"
        else:
            for key in list(keys):  # those that it does not take are left out
                rest = {name: behind for name, behind in keys.items() if name != key}
                keys = rest if self._tied(row, rest) else keys
            rows = f"rows from which it follows: {', '.join(keys)}"
        names = list(dict.fromkeys(read.name for behind in keys.values() for read in behind))
        values = (
            f"{', '.join(names[:4])}{' and others' if len(names) > 4 else ''} {'was' if len(names) == 1 else 'were'}"
        )
        return label, f"{values} {'fitted to' if label == 'calibrated' else 'chosen after'} {rows}"

    def keys(self, row: Row, reads: Reads, label: str) -> dict[str, list[Read]]:
        """Return the keys of the rows that the values read were fitted to or (label post_hoc) chosen after."""
        reads_by_key: dict[str, list[Read]] = {}
        for read in reads.values():
            if read.usual:
                chosen = read.chosen_after if label == "post_hoc" or read.fitted_by_hand else ()
                for key in (*read.fitted_to, *self._restated(row, read), *chosen):
                    if key != PROTOTYPE:
                        reads_by_key.setdefault(key, []).append(read)
        return reads_by_key

    def _tied(self, row: Row, keys: Iterable[str]) -> bool:
        """Whether a row is among some rows, or follows from them and inputs but not from inputs alone."""
        known, mine = list(keys), self._end(row.key)
        if any(self._end(key) == mine for key in known):
            return True
        if not known:
            return False
        paper, twins = self._of(row), [twin for key in known for twin in self._twins(key)]
        return mine in paper.ties.follow([*paper.inputs, *known, *twins]) - paper.from_inputs

    def _of(self, row: Row) -> _Paper:
        """Return what holds between the rows of a row's paper."""
        if row.paper not in self._papers:
            mine = [identity for identity in self._identities if identity.paper == row.paper]
            inputs = [one.key for one in self.ledger if one.paper == row.paper and one.role == "input"]
            returning = Ties(self.ledger, [identity for identity in mine if identity.returned])
            self._papers[row.paper] = _Paper(Ties(self.ledger, mine), inputs, returning)
        return self._papers[row.paper]

    @cached_property
    def _identities(self) -> list[Identity]:
        return identities()

    def _end(self, key: str) -> str:
        return self.ledger.measurement(key) if key in self.ledger else key

    def _twins(self, fitted: str) -> list[str]:
        """Return the rows that print the same number of the same quantity as one that was fitted to."""
        if fitted not in self.ledger:
            return []
        one = self.ledger[fitted]
        if (one.role, one.kind) != ("calibration", "number"):
            return []
        return [key for key in self._alike[_printed(one)] if key != fitted]

    @cached_property
    def _alike(self) -> dict[tuple[object, ...], list[str]]:
        """Keys of rows that print a number, by that number and what it is of."""
        keys_by_number: dict[tuple[object, ...], list[str]] = {}
        for row in self.ledger:
            keys_by_number.setdefault(_printed(row), []).append(row.key)
        return keys_by_number

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


def unprinted(reads: Reads) -> str:
    """Return the label of a solver's value that no row prints: anything fitted, or chosen afterwards, ties it."""
    own = [read for read in reads.values() if read.usual and read.kind != SOLVER]
    if any(read.fitted_to or read.fitted_by_hand for read in own):
        return "calibrated"
    return "post_hoc" if any(read.chosen_after for read in own) else "predicted"


def contended(reads: Reads) -> bool:
    """Whether a solver that models contention took part."""
    return any(read.kind == SOLVER and read.name != "bounds" for read in reads.values())


def hints(reads: Iterable[Read]) -> int:
    """Return how many of the assumptions read stem from a published prototype."""
    return sum(PROTOTYPE in read.chosen_after for read in reads if read.usual)


def free(reads: Iterable[Read]) -> list[str]:
    """Return the names of the fitted parameters that were read: the free parameters behind a value."""
    fitted = [read for read in reads if read.usual and (read.fitted_to or read.fitted_by_hand)]
    return sorted({read.name for read in fitted if not read.kind.startswith("row")})


def _is_input(read: Read) -> bool:
    return not read.usual or (read.kind in INPUTS and not read.fitted_to and not read.chosen_after)


def _of_load(row: Row) -> bool:
    """Whether a row says how much a machine carries, or how fast: only what can be overloaded can miss it."""
    measures = UNITS.get(row.unit, ("",))[0]
    return measures in LOADS or not OFFERED.isdisjoint(row.conditions) or row.quantity == "offered load"


def _printed(row: Row) -> tuple[object, ...]:
    """Return what a row prints: the number, and what it is of."""
    return row.point, row.kind, row.design, row.quantity, row.unit, row.conditions.get("resource")
