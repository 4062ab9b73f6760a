"""Reads value change dumps (IEEE 1364-2005, clause 18) as signal values, cycle by cycle.

    #TIME      bVALUE ID      vID      a change; a signal keeps its value until the next change

The values of a cycle are those just before a rising edge of the clock.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from npexplore.errors import InputError
from npexplore.paths import plain_text

UNDEFINED = -1
Words = Iterator[tuple[int, str]]  # (line number, word)


def read_vcd(file: Path, clock: str = "clk") -> dict[str, list[int]]:
    """Return the values of each signal of a dump before each rising edge of its clock; undefined values are -1.

    Names omit the scope, except for the second and later signals of the same name (`scope.name`). Raises InputError for
    a file without such a clock, and, with the line, for unknown signals and malformed changes.
    """
    lines = plain_text(file.read_bytes(), file.name).splitlines()
    words = ((number, word) for number, line in enumerate(lines, 1) for word in line.split())
    signals = _signals(words)
    if clock not in signals:
        raise InputError(f"{file.name} must have a clock named {clock!r}, got {', '.join(signals) or 'nothing'}")
    current = dict.fromkeys(signals.values(), UNDEFINED)
    values_by_signal: dict[str, list[int]] = {name: [] for name in signals}
    for changes in _instants(file.name, words, current):
        if changes.get(signals[clock]) == 1 and current[signals[clock]] == 0:
            for name, values in values_by_signal.items():
                values.append(current[signals[name]])
        current |= changes
    return values_by_signal


def _signals(words: Words) -> dict[str, str]:
    """Return the identifier of each signal by name; reads the words up to the end of the declarations."""
    signals: dict[str, str] = {}
    scopes: list[str] = []
    for _, word in words:
        command = [word, *_until_end(words)]
        if command[0] == "$enddefinitions":
            break
        if command[0] == "$scope":
            scopes.append(command[-1])
        elif command[0] == "$upscope":
            del scopes[-1:]
        elif command[0] == "$var" and len(command) > 4:
            name = command[4].removeprefix("\\")
            signals[".".join([*scopes, name]) if name in signals else name] = command[3]
    return signals


def _until_end(words: Words) -> Iterator[str]:
    """Yield the words of a command up to its $end."""
    for _, word in words:
        if word == "$end":
            return
        yield word


def _instants(file: str, words: Words, known: dict[str, int]) -> Iterator[dict[str, int]]:
    """Yield the changes of each instant, by identifier."""
    changes: dict[str, int] = {}
    for line, word in words:
        kind, rest = word[0], word[1:]
        if kind == "#":
            yield changes
            changes = {}
        elif word == "$comment":
            list(_until_end(words))
        elif kind != "$":  # $dumpvars and similar, and their $end, enclose changes
            bits, identifier = (rest, next(words, (line, ""))[1]) if kind in "bB" else (kind, rest)
            if not bits or not set(bits) <= set("01xXzZ"):
                raise InputError(
                    f"{file}:{line}: a change is VALUE and ID, or bVALUE ID (no real numbers), got {word!r}"
                )
            if identifier not in known:
                raise InputError(f"{file}:{line}: a change of {identifier!r}, which no $var declares")
            changes[identifier] = int(bits, 2) if set(bits) <= {"0", "1"} else UNDEFINED
    yield changes
