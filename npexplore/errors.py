"""The errors users meet: each names its subject, the rule, the value got and, where names are known, the nearest ones.

NpexploreError
├── InputError        wrong usage or unreadable input (command line: exit status 2)
│   ├── UnknownNameError  a name that is not in a list; carries the nearest known names
│   ├── FaultsError       several faults of one file, each a line of its own
│   ├── ModelError        a machine, program or network that cannot work (refused before it runs)
│   └── TableFullError    a forwarding table of fixed size has no room; nothing was changed
├── DamagedInputError readable in part; the good part is kept by the raiser (exit status 3)
├── RefusedError      a solver says: this model is outside what I can answer truthfully
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
MAX_MESSAGE = 2000  # characters; values of a damaged file may be megabytes


class NpexploreError(Exception):
    """Base of every error that npexplore raises on purpose; catch it to catch them all."""

    def __str__(self) -> str:
        text = shown(super().__str__())
        if len(text) <= MAX_MESSAGE:
            return text
        return f"{text[: MAX_MESSAGE * 3 // 4]} ... ({len(text):,} characters) ... {text[-MAX_MESSAGE // 8 :]}"


class InputError(NpexploreError):
    """A value, file or command line that cannot be used; the message is one line and states the rule that is broken."""

    rest: Any = None  # of a file with faults: what could be read all the same


class UnknownNameError(InputError):
    """A name was not found in the list it was looked up in."""

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
    """Several faults of one file, told together; `faults`: one line each."""

    def __init__(self, faults: Iterable[str]) -> None:
        self.faults = list(faults)
        super().__init__("; ".join(self.faults))

    def __str__(self) -> str:
        return "; ".join(map(str, map(InputError, self.faults)))


class ModelError(InputError):
    """A description without syntax errors, of a machine, program or network that cannot work."""


class TableFullError(InputError):
    """A table of fixed size has no room for another entry; the table is unchanged."""


class DamagedInputError(NpexploreError):
    """Input that is readable up to a point; `offset` is the byte where the damage starts."""

    def __init__(self, message: str, offset: int) -> None:
        super().__init__(f"{message} at offset {offset}")
        self.message = message
        self.offset = offset


class RefusedError(NpexploreError):
    """A solver has no correct answer for this model; the message names the feature that it cannot handle."""


class SimulationError(NpexploreError):
    """A run that cannot go on; `kind` is deadlock, stall, saturation, leak or endless instant; the text tells why."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(f"{kind}: {message}")
        self.kind = kind


def shown(name: str | os.PathLike[str]) -> str:
    r"""Return a file's name, or a text with names in it, as text that can be written anywhere.

    The bytes of a name that are no UTF-8 come from the system as lone surrogates (PEP 383), which neither a page nor
    JSON nor a strict terminal takes; they are written out here, as in caf\xe9.pcap. So are the characters that command
    a terminal (all controls but tab and line end) and that change the direction of what follows (UAX #9), as in \x1b.
    """
    return UNPRINTED.sub(lambda match: _written_out(ord(match[0])), os.fspath(name))


# surrogates, controls (C0, DEL, C1) but tab and line end, line separators, marks and overrides of direction
UNPRINTED = re.compile("[\ud800-\udfff\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")


def _written_out(code: int) -> str:
    byte = code - 0xDC00 if 0xDC80 <= code <= 0xDCFF else code
    return f"\\x{byte:02x}" if byte <= 0xFF else f"\\u{code:04x}"


def likely_meant(got: str, names: Iterable[str]) -> str | None:
    """Return the name that is misspelt by a letter or two in `got`, None if there is none so near."""
    return next(iter(get_close_matches(got, list(names), n=1, cutoff=0.85)), None)


def one_of(subject: str, got: str, known: Iterable[str]) -> str:
    """Return `got` if it is among `known`, else raise UnknownNameError that proposes the nearest names."""
    names = list(known)
    if got not in names:
        raise UnknownNameError(subject, got, names)
    return got


def positive(subject: str, got: float, *, zero: bool = False) -> float:
    """Return `got` if it is a finite number above zero (or zero, if allowed), else raise InputError."""
    rule = "at least 0" if zero else "greater than 0"
    if not (got == got and abs(got) != float("inf") and (got > 0 or (zero and got == 0))):
        raise InputError(f"{subject} must be {rule} and finite, got {got!r}")
    return got


@contextmanager
def told_at(place: str) -> Iterator[None]:
    """Prefix errors with the place of the fault: whatever is raised inside becomes InputError `place: ...`."""
    try:
        yield
    except NpexploreError as error:
        raise InputError(f"{place}: {error}") from None


class Faults:
    """Collects all faults of a file, to report them together: `with faults.one(): ...`, then `tell()`."""

    def __init__(self) -> None:
        self.by_text: dict[str, NpexploreError] = {}  # by what they say: what several meet is told once

    @contextmanager
    def one(self) -> Iterator[None]:
        """Record an error that is raised inside, and continue after the block."""
        try:
            yield
        except FaultsError as error:
            self.by_text |= {fault: InputError(fault) for fault in error.faults}
        except NpexploreError as error:
            self.by_text[str(error)] = error

    def tell(self, place: str = "") -> None:
        """Raise what was found: one fault as it is, several as FaultsError; `place` is put in front of each."""
        if len(self.by_text) == 1 and not place:
            raise next(iter(self.by_text.values())) from None
        lines = [
            fault if not place or fault.startswith(f"{place}: ") else f"{place}: {fault}" for fault in self.by_text
        ]
        if len(lines) > 1:
            raise FaultsError(lines) from None
        if lines:
            raise InputError(lines[0]) from None
