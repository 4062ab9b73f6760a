"""The errors that users see; each names its subject, the rule, the value and, for names, the nearest known ones.

NpexploreError
├── InputError        wrong usage or unreadable input (command line: exit status 2)
│   ├── UnknownNameError  a name that is not in a list; carries the nearest known names
│   ├── FaultsError       several faults of one file, one line each
│   ├── ModelError        a machine, program or network that cannot work (refused before it runs)
│   └── TableFullError    a forwarding table of fixed size has no room; nothing was changed
├── DamagedInputError input that is readable in part; the raiser keeps the good part (exit status 3)
├── RefusedError      a solver has no correct answer for this model
└── SimulationError   a run that makes no progress: deadlock, stall, saturation, leak, endless instant
"""

import os
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from difflib import get_close_matches
from typing import Any

__all__ = [
    "DamagedInputError", "FaultsError", "InputError", "ModelError", "NpexploreError", "RefusedError", "SimulationError",
    "TableFullError", "UnknownNameError",
]  # fmt: skip
MAX_MESSAGE = 2000  # characters of a message; values of a damaged file may have megabytes


class NpexploreError(Exception):
    """Base of every error that npexplore raises deliberately; catching it catches all of them."""

    def __str__(self) -> str:
        text = shown(super().__str__())
        if len(text) <= MAX_MESSAGE:
            return text
        return f"{text[: MAX_MESSAGE * 3 // 4]} ... ({len(text):,} characters) ... {text[-MAX_MESSAGE // 8 :]}"


class InputError(NpexploreError):
    """An unusable value, file or command line; the message is one line that states the violated rule."""

    rest: Any = None  # for a file with faults: the part that could be read


class UnknownNameError(InputError):
    """A name that is not in the list of known names."""

    def __init__(self, subject: str, got: str, known: Iterable[str]) -> None:
        names = sorted(known)
        close = get_close_matches(got, names, n=3, cutoff=0.5)
        if close:
            hint = "nearest: " + ", ".join(close)
        else:
            hint = "known: " + (", ".join(names[:12]) + (", ..." if len(names) > 12 else "") or "none")
        super().__init__(f"{subject} {got!r} is unknown ({hint})")
        self.got = got
        self.known = names


class FaultsError(InputError):
    """Several faults of one file, reported together; `faults` has one line for each."""

    def __init__(self, faults: Iterable[str]) -> None:
        self.faults = list(faults)
        super().__init__("; ".join(self.faults))

    def __str__(self) -> str:
        return "; ".join(map(str, map(InputError, self.faults)))


class ModelError(InputError):
    """A description of a machine, program or network that has no syntax errors but cannot work."""


class TableFullError(InputError):
    """A table of fixed size has no room for another entry; the table is unchanged."""


class DamagedInputError(NpexploreError):
    """Input that is readable up to some byte; `offset` is the byte where the damage starts."""

    def __init__(self, message: str, offset: int) -> None:
        super().__init__(f"{message} at offset {offset}")
        self.message = message
        self.offset = offset


class RefusedError(NpexploreError):
    """A solver has no correct answer for this model; the message names the unsupported feature."""


class SimulationError(NpexploreError):
    """A run that cannot go on; `kind` is deadlock, stall, saturation, leak or endless instant; the text says why."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(f"{kind}: {message}")
        self.kind = kind


def shown(name: str | os.PathLike[str]) -> str:
    r"""Return a file's name, or a text that contains names, as text that can be written to any output.

    Bytes of a name that are not UTF-8 are lone surrogates in Python (PEP 383), which pages, JSON and strict terminals
    reject; they are written as escapes, as in caf\xe9.pcap. The same holds for characters that control a terminal (all
    controls except tab and line end) or change the text direction (UAX #9), as in \x1b.
    """
    return UNPRINTED.sub(lambda match: _written_out(ord(match[0])), os.fspath(name))


# surrogates, controls (C0, DEL, C1) except tab and line end, line separators, direction marks and overrides
UNPRINTED = re.compile("[\ud800-\udfff\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")


def _written_out(code: int) -> str:
    byte = code - 0xDC00 if 0xDC80 <= code <= 0xDCFF else code
    return f"\\x{byte:02x}" if byte <= 0xFF else f"\\u{code:04x}"


def likely_meant(got: str, names: Iterable[str]) -> str | None:
    """Return the name that `got` misspells by a letter or two, None if there is no such name."""
    return next(iter(get_close_matches(got, list(names), n=1, cutoff=0.85)), None)


def one_of(subject: str, got: str, known: Iterable[str]) -> str:
    """Return `got` if it is among `known`; otherwise raise UnknownNameError with the nearest names."""
    names = list(known)
    if got not in names:
        raise UnknownNameError(subject, got, names)
    return got


def positive(subject: str, got: float, *, zero: bool = False) -> float:
    """Return `got` if it is a finite number above zero (or zero, if allowed); otherwise raise InputError."""
    rule = "at least 0" if zero else "greater than 0"
    if not (got == got and abs(got) != float("inf") and (got > 0 or (zero and got == 0))):
        raise InputError(f"{subject} must be {rule} and finite, got {got!r}")
    return got


@contextmanager
def told_at(place: str) -> Iterator[None]:
    """Prefix errors with the place of the fault: an NpexploreError in the block becomes InputError `place: ...`."""
    try:
        yield
    except NpexploreError as error:
        raise InputError(f"{place}: {error}") from None


class Faults:
    """Collects all faults of a file to report them together: `with faults.one(): ...`, then `tell()`."""

    def __init__(self) -> None:
        self.by_text: dict[str, NpexploreError] = {}  # by message, so that equal faults are reported once

    @contextmanager
    def one(self) -> Iterator[None]:
        """Record an error raised in the block, and continue after the block."""
        try:
            yield
        except FaultsError as error:
            self.by_text |= {fault: InputError(fault) for fault in error.faults}
        except NpexploreError as error:
            self.by_text[str(error)] = error

    def tell(self, place: str = "") -> None:
        """Raise the recorded faults: one unchanged, several as FaultsError; `place` is put in front of each."""
        if len(self.by_text) == 1 and not place:
            raise next(iter(self.by_text.values())) from None
        lines = [
            fault if not place or fault.startswith(f"{place}: ") else f"{place}: {fault}" for fault in self.by_text
        ]
        if len(lines) > 1:
            raise FaultsError(lines) from None
        if lines:
            raise InputError(lines[0]) from None
