"""The tokenizer of Click's configuration language: words, marks and bracketed texts, with file and line."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from npexplore.errors import InputError
from npexplore.golden.elements.base import Place

_TOKEN = re.compile(
    r"(?P<skip>\s+|//[^\r\n]*|/\*.*?\*/|^\#[^\r\n]*)|(?P<mark>::|->|[\[\]{}|;,])|(?P<open>\()|(?P<word>\$?[A-Za-z_@][\w@/]*|\d+)",
    re.DOTALL | re.MULTILINE,
)
_PIECE = re.compile(
    r"""(?P<blank>(?:\s|//[^\r\n]*|/\*.*?\*/)+)|(?P<quoted>"(?:[^"\\]|\\.)*"|'[^']*')|(?P<other>.)""",
    re.DOTALL,
)
_VARIABLE = re.compile(r"'[^']*'|\$(?:(\w+)|\{(\w+)\})")


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
    for piece in _PIECE.finditer(text, at):
        depth += {"(": 1, ")": -1}.get(piece.group(), 0)
        if depth == 0:
            return piece.end()
    raise InputError(f"{place}: a bracket is opened and never closed")


def split_arguments(text: str) -> tuple[str, ...]:
    """Return comma-separated arguments without comments and surrounding blanks; quoted texts are unchanged."""
    parts = [""]
    for piece in _PIECE.finditer(text):
        if piece.group() == ",":
            parts.append("")
        else:
            parts[-1] += " " if piece.lastgroup == "blank" else piece.group()
    while parts and not parts[-1].strip():
        parts.pop()
    return tuple(part.strip() for part in parts)


def filled_in(text: str, values: Mapping[str, str]) -> str:
    """Return a text with `$name` and `${name}` replaced by values, except unknown names and names in single quotes."""
    return _VARIABLE.sub(lambda name: values.get(f"${name[1] or name[2]}", name[0]), text)


def declared_names(tokens_read: Sequence[Token]) -> set[str]:
    """Return the names in front of `::`, except those inside compounds."""
    names: set[str] = set()
    depth = 0
    for k, token in enumerate(tokens_read):
        depth += {"{": 1, "}": -1}.get(token.text, 0) if token.kind == "mark" else 0
        if token.kind == "mark" and token.text == "::" and not depth:
            position = k - 1
            while position >= 0 and (tokens_read[position].kind == "word" or tokens_read[position].text == ","):
                if tokens_read[position].kind == "word":
                    names.add(tokens_read[position].text)
                    if position == 0 or tokens_read[position - 1].text != ",":
                        break
                position -= 1
    return names
