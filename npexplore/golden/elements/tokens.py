"""Words, marks and bracketed texts of Click's configuration language, each with its file and line."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from npexplore.errors import InputError
from npexplore.golden.elements.base import Place

_TOKEN = re.compile(
    r"(?P<skip>\s+|//[^\n]*|/\*.*?\*/|^\#[^\n]*)|(?P<mark>::|->|[\[\]{}|;,])|(?P<open>\()|(?P<word>\$?[A-Za-z_@][\w@/]*|\d+)",
    re.DOTALL | re.MULTILINE,
)
COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)


class Token(NamedTuple):
    """A word, a mark, or the text between brackets (kind `arguments`)."""

    kind: str
    text: str
    place: Place


def tokens(text: str, file: str) -> list[Token]:
    """Return the tokens of a configuration; raises InputError with file and line."""
    result: list[Token] = []
    at, line = 0, 1
    while at < len(text):
        match = _TOKEN.match(text, at)
        place = Place(file, line)
        if match is None:
            raise InputError(f"{place}: no element, port or connection begins with {text[at]!r}")
        end, kind = match.end(), str(match.lastgroup)
        if kind == "open":
            end = _closing(text, match.start(), place)
            result.append(Token("arguments", text[at + 1 : end - 1], place))
        elif kind != "skip":
            result.append(Token(kind, match.group(), place))
        line += text.count("\n", at, end)
        at = end
    return result


def _closing(text: str, at: int, place: Place) -> int:
    depth = 0
    for k in range(at, len(text)):
        depth += {"(": 1, ")": -1}.get(text[k], 0)
        if depth == 0:
            return k + 1
    raise InputError(f"{place}: a bracket is opened and never closed")


def split_arguments(text: str) -> tuple[str, ...]:
    """Return comma-separated arguments, comments and blanks cut off."""
    bare = COMMENT.sub(" ", text).strip()
    return tuple(" ".join(part.split()) for part in bare.rstrip(",").split(",")) if bare else ()


def declared_names(tokens_read: Sequence[Token]) -> set[str]:
    """Return the names in front of `::`, but those inside of compounds."""
    names: set[str] = set()
    depth = 0
    for k, token in enumerate(tokens_read):
        depth += {"{": 1, "}": -1}.get(token.text, 0) if token.kind == "mark" else 0
        if token.kind == "mark" and token.text == "::" and not depth:
            back = k - 1
            while back >= 0 and (tokens_read[back].kind == "word" or tokens_read[back].text == ","):
                if tokens_read[back].kind == "word":
                    names.add(tokens_read[back].text)
                    if back == 0 or tokens_read[back - 1].text != ",":
                        break
                back -= 1
    return names
