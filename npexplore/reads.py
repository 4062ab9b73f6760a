"""Records which parameters, ledger rows, mixes and scoring rules a value was computed from.

    with reading() as seen:     seen: by name, every Read in the block, including those behind cached values
        value = compute()

Functions that provide a number record it (`note`), so that callers need not declare what they read. Caches store the
reads of a computation with its value and record them again on every use (`remembered`, `note_all`). Threads and
processes have separate records; their results carry the reads back.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from functools import lru_cache, wraps
from typing import NamedTuple, ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")
SOLVER = "solver"  # the kind of a read that is a solver's answer; `names` leaves it out
SAME = "same"  # the kind of a read that records that both sides of a comparison are equal to the last bit


class Read(NamedTuple):
    """One value that was read. name: with its subject, as in `ixp2400/hash_ns`; place: the file of its record.

    kind: of a parameter (knob, fact, fitted, assumption), `mechanism` (an assumption in code), `row` with its role,
    `mix`, `rule` (of scoring), `solver`, `same`. usual: the record's own value was read, not one set for a point.
    fitted_to, chosen_after: ledger keys (and "prototype"). row: the ledger row that prints the value.
    """

    name: str
    kind: str
    value: object
    place: str
    unit: str = ""
    usual: bool = True
    fitted_to: tuple[str, ...] = ()
    chosen_after: tuple[str, ...] = ()
    row: str | None = None

    @property
    def text(self) -> str:
        """The name, with the value if it is not the record's own."""
        return self.name if self.usual else f"{self.name}={self.value}"

    @property
    def fitted_by_hand(self) -> bool:
        """Whether it is fitted but names no calibration row: then it was fitted to the rows it was chosen after."""
        return self.kind == "fitted" and not self.fitted_to and bool(self.chosen_after)


Reads = dict[str, Read]  # by `text`
_seen: ContextVar[Reads | None] = ContextVar("reads", default=None)
trace = _seen.get  # returns the reads that are being collected, or None


@contextmanager
def reading() -> Iterator[Reads]:
    """Collect the reads in the block; an enclosing `reading` collects them, too."""
    enclosing, reads = _seen.get(), Reads()
    token = _seen.set(reads)
    try:
        yield reads
    finally:
        _seen.reset(token)
        if enclosing is not None:
            enclosing.update(reads)


@contextmanager
def aside() -> Iterator[None]:
    """Collect no reads in the block, for checks that affect no number."""
    token = _seen.set(None)
    try:
        yield
    finally:
        _seen.reset(token)


def note(read: Read) -> None:
    """Record a read."""
    reads = _seen.get()
    if reads is not None:
        reads[read.text] = read


def note_all(reads: Mapping[str, Read]) -> None:
    """Record the reads of a stored value that is used again."""
    collected = _seen.get()
    if collected is not None:
        collected.update(reads)


def names(reads: Iterable[Read]) -> list[str]:
    """Return the names behind a value, sorted, without solvers."""
    return sorted(read.text for read in reads if read.kind not in (SOLVER, SAME))


_caches: list[Callable[[], None]] = []  # functions that clear each cache


def forget() -> None:
    """Clear the caches of all `remembered` functions, before machines or rows change."""
    for clear in _caches:
        clear()


def remembered(most: int | None = 128) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Return a decorator like functools.lru_cache; a hit records the reads of the original computation."""

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        @lru_cache(maxsize=most)
        def cached(*args: P.args, **kwargs: P.kwargs) -> tuple[R, Reads]:
            with reading() as reads:
                value = function(*args, **kwargs)
            return value, reads

        _caches.append(cached.cache_clear)

        @wraps(function)
        def call(*args: P.args, **kwargs: P.kwargs) -> R:
            value, reads = cached(*args, **kwargs)  # type: ignore[arg-type]
            note_all(reads)
            return value

        return call

    return decorate
