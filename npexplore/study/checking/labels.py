"""Derives labels of predictions from the inputs that were read to compute them (npexplore/reads.py).

calibrated  an input was fitted to the row, or to rows from which the row follows
arithmetic  without a solver of contention: all inputs are published inputs, or the row follows from them, or the row is
            a rate, a latency or a load. With any solver: the row returns an input unchanged, or it claims no effect and
            both sides of its comparison are the same machine
post_hoc    an input was chosen after the row was known, or after rows from which the row follows
predicted   otherwise

A row follows from others by an identity of the audit (npexplore/ledger/ties.py), or because it prints the same number
of the same quantity as a row that was used for fitting. A value set for the row's own design point counts as not
fitted. A fitted value that names no calibration row counts as fitted to the rows after which it was chosen.
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
PROTOTYPE = "prototype"  # in `chosen_after`: the choice followed a published prototype, not a row
INPUTS = ("knob", "fact", "row: input")
INPUTS_ALONE = "no solver with contention took part, and it follows from inputs"
PREDICTED = "nothing read was fitted to it or chosen after it, nor to rows from which it follows"
LOADS = ("packet rate", "bit rate", "time", "transaction rate", "bits per cycle", "packets per cycle")
OFFERED = {"load", "load_mpps"}  # conditions of an offered load: shares and utilizations then depend on the load too
DIGITS = 3  # a dimensionless number with this many significant digits equals a published one hardly by chance


@dataclass(frozen=True)
class _Paper:
    """The identities between a paper's rows, the keys of its inputs, and the rows that follow from the inputs."""

    ties: Ties
    inputs: list[str]
    returning: Ties  # the identities whose result every model returns unchanged

    @cached_property
    def from_inputs(self) -> frozenset[str]:
        return self.ties.follow(self.inputs)

    @cached_property
    def returned(self) -> frozenset[str]:
        return self.returning.follow(self.inputs)


@dataclass(frozen=True)
class Labels:
    """Computes the labels of a ledger's rows."""

    ledger: Ledger
    _checked: set[Read] = field(default_factory=set)  # inputs whose row keys were checked
    _papers: dict[str, _Paper] = field(default_factory=dict)

    def __call__(self, row: Row, reads: Reads) -> str:
        """Return a row's label; raises InputError if the source of an input names a row that it must not use."""
        for read in reads.values():
            self._check(read)
        if self._tied(row, self.keys(row, reads, "calibrated")):
            return "calibrated"
        untested = self._untested(row, reads)
        if untested is None and self._tied(row, self.keys(row, reads, "post_hoc")):
            return "post_hoc"
        return "predicted" if untested is None and not self._of_inputs(row, reads) else "arithmetic"

    def _untested(self, row: Row, reads: Reads) -> str | None:
        """Return why a row tests no model; None if it tests one."""
        if self._end(row.key) in self._of(row).returned:
            return "it is an input that every model gives back"
        if any(read.kind == SAME for read in reads.values()) and row.inside(1.0 if "ratio" in row.quantity else 0.0):
            return "both sides of the comparison are one machine here"
        if _of_load(row) and not contended(reads):
            return "it is a rate, a latency or a load, and no model that carries the load took part"
        return None

    def _of_inputs(self, row: Row, reads: Reads) -> bool:
        """Return whether a row follows from inputs without a model of contention."""
        inputs_alone = all(_is_input(read) for read in reads.values() if read.kind not in (SOLVER, SAME))
        return (inputs_alone or self._end(row.key) in self._of(row).from_inputs) and not contended(reads)

    def because(self, row: Row, reads: Reads) -> tuple[str, str]:
        """Return a row's label and the reason for it as text."""
        label = self(row, reads)
        if label == "predicted":
            return label, PREDICTED
        if label == "arithmetic":
            return label, self._untested(row, reads) or INPUTS_ALONE
        keys = self.keys(row, reads, label)
        if same_measurement := [key for key in keys if self._end(key) == self._end(row.key)]:
            keys, rows = {key: keys[key] for key in same_measurement}, "it"
        else:
            for key in list(keys):  # keep only the rows that are necessary for the label
                other_keys = {name: reads_of_key for name, reads_of_key in keys.items() if name != key}
                keys = other_keys if self._tied(row, other_keys) else keys
            rows = f"rows from which it follows: {', '.join(keys)}"
        names = list(dict.fromkeys(read.name for reads_of_key in keys.values() for read in reads_of_key))
        values = (
            f"{', '.join(names[:4])}{' and others' if len(names) > 4 else ''} {'was' if len(names) == 1 else 'were'}"
        )
        return label, f"{values} {'fitted to' if label == 'calibrated' else 'chosen after'} {rows}"

    def keys(self, row: Row, reads: Reads, label: str) -> dict[str, list[Read]]:
        """Return the inputs by the keys of the rows that they were fitted to or (label post_hoc) chosen after."""
        reads_by_key: dict[str, list[Read]] = {}
        for read in reads.values():
            if read.usual:
                later_keys = read.chosen_after if label == "post_hoc" or read.fitted_by_hand else ()
                for key in (*read.fitted_to, *self._restated(row, read), *later_keys):
                    if key != PROTOTYPE:
                        reads_by_key.setdefault(key, []).append(read)
        return reads_by_key

    def _tied(self, row: Row, keys: Iterable[str]) -> bool:
        """Return whether a row is among `keys`, or follows from them and inputs, but not from inputs alone."""
        fitted_keys, measurement = list(keys), self._end(row.key)
        if any(self._end(key) == measurement for key in fitted_keys):
            return True
        if not fitted_keys:
            return False
        paper, twins = self._of(row), [twin for key in fitted_keys for twin in self._twins(key)]
        return measurement in paper.ties.follow([*paper.inputs, *fitted_keys, *twins]) - paper.from_inputs

    def _of(self, row: Row) -> _Paper:
        """Return the identities between the rows of a row's paper."""
        if row.paper not in self._papers:
            of_paper = [identity for identity in self._identities if identity.paper == row.paper]
            inputs = [r.key for r in self.ledger if r.paper == row.paper and r.role == "input"]
            returning = Ties(self.ledger, [identity for identity in of_paper if identity.returned])
            self._papers[row.paper] = _Paper(Ties(self.ledger, of_paper), inputs, returning)
        return self._papers[row.paper]

    @cached_property
    def _identities(self) -> list[Identity]:
        return identities()

    def _end(self, key: str) -> str:
        return self.ledger.measurement(key) if key in self.ledger else key

    def _twins(self, fitted: str) -> list[str]:
        """Return the keys of the other rows that print the same number of the same quantity as a fitted row."""
        if fitted not in self.ledger:
            return []
        fitted_row = self.ledger[fitted]
        if (fitted_row.role, fitted_row.kind) != ("calibration", "number"):
            return []
        return [key for key in self._alike[_printed(fitted_row)] if key != fitted]

    @cached_property
    def _alike(self) -> dict[tuple[object, ...], list[str]]:
        """The keys of all rows, by the number that they print and its quantity."""
        keys_by_number: dict[tuple[object, ...], list[str]] = {}
        for row in self.ledger:
            keys_by_number.setdefault(_printed(row), []).append(row.key)
        return keys_by_number

    @staticmethod
    def _restated(row: Row, read: Read) -> list[str]:
        """Return [row.key] if an input from no readable row equals the number that the row prints, else []."""
        value, unit = read.value, read.unit or "1"
        if read.row is not None or row.point is None or not isinstance(value, int | float):
            return []
        comparable = (
            row.kind == "number" and unit in UNITS and row.unit in UNITS and UNITS[unit][0] == UNITS[row.unit][0]
        )
        precise = UNITS.get(unit, ("ratio",))[0] != "ratio" or len(f"{value:g}".strip("0").replace(".", "")) >= DIGITS
        return [row.key] if comparable and precise and row.inside(row.from_si(value * UNITS[unit][1])) else []

    def _check(self, read: Read) -> None:
        """Raise UnknownNameError if an input names a missing row, InputError for a row of a forbidden role."""
        if read in self._checked:
            return
        source = f"{read.place}: {read.name.rpartition('/')[2]}"
        for column, keys, roles in (
            ("fitted_to", [key for entry in read.fitted_to for key in keys_of(entry)], ("calibration",)),
            ("row", [] if read.row is None else [read.row], READABLE),
            ("chosen_after", [key for key in read.chosen_after if key != PROTOTYPE], None),
        ):
            for key in keys:
                if key.split(".", 1)[0] not in self._prefixes:
                    continue  # a row of a paper that this ledger does not have
                if key not in self.ledger:
                    raise UnknownNameError(f"{source}: {column}", key, [row.key for row in self.ledger])
                role = self.ledger[key].role
                if roles is not None and role not in roles:
                    raise InputError(f"{source}: {column} must name {' or '.join(roles)} rows, got {key!r} ({role})")
        self._checked.add(read)

    @cached_property
    def _prefixes(self) -> set[str]:
        return {row.key.split(".", 1)[0] for row in self.ledger}


def unprinted(reads: Reads) -> str:
    """Return the label of a solver's value that no row prints: any fitted or later chosen input determines it."""
    usual_inputs = [read for read in reads.values() if read.usual and read.kind != SOLVER]
    if any(read.fitted_to or read.fitted_by_hand for read in usual_inputs):
        return "calibrated"
    return "post_hoc" if any(read.chosen_after for read in usual_inputs) else "predicted"


def contended(reads: Reads) -> bool:
    """Return whether a solver that models contention was used."""
    return any(read.kind == SOLVER and read.name != "bounds" for read in reads.values())


def hints(reads: Iterable[Read]) -> int:
    """Return how many of the assumptions read come from a published prototype."""
    return sum(PROTOTYPE in read.chosen_after for read in reads if read.usual)


def free(reads: Iterable[Read]) -> list[str]:
    """Return the names of the fitted parameters that were read: the free parameters behind a value."""
    fitted = [read for read in reads if read.usual and (read.fitted_to or read.fitted_by_hand)]
    return sorted({read.name for read in fitted if not read.kind.startswith("row")})


def _is_input(read: Read) -> bool:
    return not read.usual or (read.kind in INPUTS and not read.fitted_to and not read.chosen_after)


def _of_load(row: Row) -> bool:
    """Return whether a row states a rate, a latency or a load: only a model with overload can predict it wrongly."""
    measures = UNITS.get(row.unit, ("",))[0]
    return measures in LOADS or not OFFERED.isdisjoint(row.conditions) or row.quantity == "offered load"


def _printed(row: Row) -> tuple[object, ...]:
    """Return the number that a row prints, with its kind, design, quantity, unit and resource."""
    return row.point, row.kind, row.design, row.quantity, row.unit, row.conditions.get("resource")
