"""Parses the line of a transition: `2 A + B[i] -> C[i + 1], using Bus, unless D, while E, if i < 2, rate 0.5`.

Names are looked up later, when the net is unfolded.
"""

import re
from dataclasses import dataclass, field

from npexplore.errors import InputError, one_of

ARCS = ("using", "unless", "while")  # clauses that name places
CLAUSES = (*ARCS, "if", "set", "for", "rate", "priority", "weight", "servers")
NAME = r"[A-Za-z_]\w*"
_TERM = re.compile(rf"(?:(?P<weight>\d+|{NAME}|\(.+\))\s+)?(?P<place>{NAME})(?:\s*\[(?P<index>[^\[\]]*)\])?")


@dataclass(frozen=True)
class Term:
    """`weight PLACE[index, ...]` as texts."""

    weight: str
    place: str
    index: tuple[str, ...]


@dataclass(frozen=True)
class Line:
    """The parsed line of a transition: arcs by their kind, and other clauses by their first words."""

    take: list[Term]
    give: list[Term]
    using: list[Term] = field(default_factory=list)
    unless: list[Term] = field(default_factory=list)
    tests: list[Term] = field(default_factory=list)
    guards: list[str] = field(default_factory=list)
    sets: list[tuple[str, str]] = field(default_factory=list)
    clauses: dict[str, str] = field(default_factory=dict)

    @property
    def terms(self) -> list[Term]:
        """All arcs."""
        return [*self.take, *self.give, *self.using, *self.unless, *self.tests]


def read_line(text: str) -> Line:
    """Return the parsed line of a transition; raises InputError for text that is not such a line."""
    arcs, *clauses = split(text, ",")
    if arcs.count("->") != 1:
        raise InputError(f"a transition needs one arrow, such as 'A -> B', got {arcs.strip()!r}")
    take, give = arcs.split("->")
    line = Line(_terms(take, "before the arrow"), _terms(give, "behind the arrow"))
    for clause in clauses:
        word, _, rest = clause.strip().partition(" ")
        one_of("clause", word, CLAUSES)
        if not rest.strip():
            raise InputError(f"clause {word!r} needs something after it, got nothing")
        if word in ARCS:
            {"using": line.using, "unless": line.unless, "while": line.tests}[word].extend(_terms(rest, f"in {word!r}"))
        elif word == "if":
            line.guards.append(rest.strip())
        elif word == "set":
            name, equals, text = rest.partition("=")
            if not equals or not text.strip():
                raise InputError(f"clause 'set' needs 'field = formula', got {rest.strip()!r}")
            line.sets.append((name.strip(), text.strip()))
        elif word in line.clauses:
            raise InputError(f"clause {word!r} must appear only once, got it twice")
        else:
            line.clauses[word] = rest.strip()
    return line


def read_term(text: str) -> Term:
    """Return one term, such as `2 Bank[b]`; raises InputError."""
    match = _TERM.fullmatch(text.strip())
    if not match:
        raise InputError(f"an arc must be a place, such as 'A', '2 A' or 'A[i]', got {text.strip()!r}")
    index = match["index"]
    return Term(match["weight"] or "1", match["place"], () if index is None else tuple(p.strip() for p in split(index)))


def split(text: str, mark: str = ",") -> list[str]:
    """Return the parts of a text between marks outside brackets."""
    parts, depth = [""], 0
    for letter in text:
        depth += (letter in "([") - (letter in ")]")
        if letter == mark and depth == 0:
            parts.append("")
        else:
            parts[-1] += letter
    if depth:
        raise InputError(f"brackets must be closed, got {text.strip()!r}")
    return parts


def _terms(text: str, where: str) -> list[Term]:
    if not text.strip():
        return []
    parts = split(text, "+")
    if not all(part.strip() for part in parts):
        raise InputError(f"an arc leads nowhere: a place is missing {where}, got {text.strip()!r}")
    return [read_term(part) for part in parts]
