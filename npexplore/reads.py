"""What a value was read from: every parameter, ledger row, mix and rule of scoring that is read leaves a trace.

    with reading() as seen:     seen: by name, every Read within, also those in caches that were hit
        value = compute()

Whoever hands a number out notes it (`note`): nobody declares what he reads. Whoever keeps what was computed keeps the
reads made meanwhile, and notes them again with every use (`remembered`, `note_all`). Threads and processes have traces
of their own: what they compute carries its reads back.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from functools import lru_cache, wraps
from typing import NamedTuple, ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")
SOLVER = "solver"  # the kind of a read that is an answer of a solver: told by who took part, and no name behind a value
SAME = "same"  # the kind of a read that says that both sides of a comparison came out equal to the last bit


class Read(NamedTuple):
    """Something that was read. name: with its subject, as in `ixp2400/hash_ns`; place: where its record stands.

    kind: of a parameter (knob, fact, fitted, assumption), `mechanism` (what code assumes), `row` with its role,
    `mix`, `rule` (of scoring), `solver`, `same`. usual: its record's own value was read, not one set for a point.
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
        """The name, with the value where it is not the record's own."""
        return self.name if self.usual else f"{self.name}={self.value}"

    @property
    def fitted_by_hand(self) -> bool:
        """Whether it is a fitted value that names no calibration row: it was fitted to the rows it was chosen after."""
        return self.kind == "fitted" and not self.fitted_to and bool(self.chosen_after)


Reads = dict[str, Read]  # by `text`
_seen: ContextVar[Reads | None] = ContextVar("reads", default=None)
trace = _seen.get  # the reads that are being collected (None: nobody asks)


@contextmanager
def reading() -> Iterator[Reads]:
    """Collect what is read inside the block; an enclosing `reading` collects it too."""
    outer, mine = _seen.get(), Reads()
    token = _seen.set(mine)
    try:
        yield mine
    finally:
        _seen.reset(token)
        if outer is not None:
            outer.update(mine)


@contextmanager
def aside() -> Iterator[None]:
    """Collect nothing of what is read inside the block, for checks on which no number depends."""
    token = _seen.set(None)
    try:
        yield
    finally:
        _seen.reset(token)


def note(read: Read) -> None:
    """Record that something was read."""
    seen = _seen.get()
    if seen is not None:
        seen[read.text] = read


def note_all(reads: Mapping[str, Read]) -> None:
    """Record the reads of a stored value that is used again."""
    seen = _seen.get()
    if seen is not None:
        seen.update(reads)


def names(reads: Iterable[Read]) -> list[str]:
    """Return the names behind a value, sorted; solvers have none."""
    return sorted(read.text for read in reads if read.kind not in (SOLVER, SAME))


_caches: list[Callable[[], None]] = []  # how to empty each of them


def forget() -> None:
    """Empty the caches of all `remembered` functions, because machines or rows are about to change."""
    for empty in _caches:
        empty()


def remembered(most: int | None = 128) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Return a decorator like functools.lru_cache whose hits note what was read when the value came about."""

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        @lru_cache(maxsize=most)
        def cached(*args: P.args, **kwargs: P.kwargs) -> tuple[R, Reads]:
            with reading() as seen:
                value = function(*args, **kwargs)
            return value, seen

        _caches.append(cached.cache_clear)

        @wraps(function)
        def call(*args: P.args, **kwargs: P.kwargs) -> R:
            value, seen = cached(*args, **kwargs)  # type: ignore[arg-type]
            note_all(seen)
            return value

        return call

    return decorate
