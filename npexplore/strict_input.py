"""Strict input: each named part is read, declared irrelevant, or refused with its place in the file.

A reader requests from an `Entry` the parts that it knows, by name. `Entry.finish` then raises InputError for the first
part that was not requested, with its file and line or path, its name, and the nearest requested names. The `IRRELEVANT`
tables of readers list parts that do not affect the answer, each with the reason (docs/inputs.md).
"""

from __future__ import annotations

import math
import re
from codecs import BOM_UTF8
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path
from typing import Any
from xml.parsers import expat

from npexplore.errors import InputError
from npexplore.paths import input_content

# kind or key of an entry ("*": any) -> name of a part ("*": every part) -> why it does not affect the answer
Irrelevant = Mapping[str, Mapping[str, str]]
MAX_NAMES = 12  # names that a message lists
MAX_DEPTH = 200  # nested entries

_WHOLE = re.compile(r"0|[1-9][0-9]*|0[xX][0-9a-fA-F]+", re.ASCII)


def whole_number(text: str, *, hexadecimal: bool = True) -> int | None:
    """Return a decimal or 0x-prefixed hexadecimal number; None for any other text.

    Decimal numbers with a leading 0 are refused as ambiguous, because some programs read them as octal.
    """
    return int(text, 0) if _WHOLE.fullmatch(text) and (hexadecimal or text.isdigit()) else None


@dataclass(eq=False, repr=False)
class Entry:
    """One place of an input with named parts, such as an XML element with attributes and children.

    kind: its name in the format. key: the name by which readers request it. title: its name in messages; messages about
    parts inside a landmark also contain the landmark's title. line: where it begins (0: unknown). values: texts by
    name, such as attributes. children: entries inside, in order.
    """

    kind: str
    key: str
    title: str
    file: str
    line: int = 0
    landmark: bool = False
    parent: Entry | None = None
    values: dict[str, str] = field(default_factory=dict)
    children: list[Entry] = field(default_factory=list)
    text: str = ""
    requested: dict[str, None] = field(default_factory=dict)
    text_is_read: bool = False
    omitted: int = 0  # number of children that the user chose to ignore

    @property
    def place(self) -> str:
        """File, line, titles of enclosing landmarks, and title: the beginning of messages."""
        titles, entry = [self.title], self.parent
        while entry is not None:
            titles += [entry.title] if entry.landmark else []
            entry = entry.parent
        return f"{self.file}{f':{self.line}' if self.line else ''}: {': '.join(reversed(titles))}"

    def refused(self, rule: str) -> InputError:
        """Return the error for a fault in this entry."""
        return InputError(f"{self.place}: {rule}")

    def value(self, name: str, default: str | None = None) -> str:
        """Return the text of a value; raises InputError if it is missing and there is no default."""
        self.requested[name] = None
        text = self.values.get(name, default)
        if text is None:
            raise self.refused(f"{name} is missing")
        return text

    def every(self, *names: str) -> list[Entry]:
        """Return the children with these names, in the order of the file."""
        self.requested.update(dict.fromkeys(names))
        return [child for child in self.children if child.key in names]

    def of_kind(self, kind: str) -> list[Entry]:
        """Return all children of a kind, with any name."""
        return self.every(*(child.key for child in self.children if child.kind == kind), kind)

    def optional(self, name: str) -> Entry | None:
        """Return the child of a name, None without one; raises InputError if there are several."""
        matches = self.every(name)
        if len(matches) > 1:
            raise matches[1].refused(f"stands twice in {self.title} (first in line {matches[0].line})")
        return matches[0] if matches else None

    def one(self, name: str) -> Entry:
        """Return the only child of a name; raises InputError unless there is exactly one."""
        child = self.optional(name)
        if child is None:
            raise self.refused(f"{name} is missing")
        return child

    def content(self) -> str:
        """Return the text inside, without surrounding blanks."""
        self.text_is_read = True
        return self.text.strip()

    def skip(self) -> None:
        """Mark all parts inside as read, because another place accounts for them, such as a note in the answer."""
        self.text_is_read = True
        self.requested.update(dict.fromkeys(self.values))
        for child in self.of_every_kind():
            child.skip()

    def of_every_kind(self) -> list[Entry]:
        """Return all children."""
        return self.every(*(child.key for child in self.children))

    def number(self, text: str, what: str = "the value") -> float:
        """Return a text as a number; raises InputError naming this entry for other texts and NaN."""
        try:
            number = float(text) if text.isascii() and "_" not in text else math.nan  # refuse Python's 1_000
        except ValueError:
            number = math.nan
        if math.isnan(number):
            raise self.refused(f"{what} must be a number, got {text!r}")
        return number

    def whole(self, text: str, what: str = "the value") -> int:
        """Return a text as a whole number (2.0 is accepted); raises InputError naming this entry."""
        number = self.number(text, what)
        if not number.is_integer():
            raise self.refused(f"{what} must be a whole number, got {text!r}")
        return int(number)

    def truth(self, text: str, what: str = "the value") -> bool:
        """Return `true` or `false` as a bool; raises InputError naming this entry."""
        if text.lower() not in ("true", "false"):
            raise self.refused(f"{what} must be true or false, got {text!r}")
        return text.lower() == "true"

    def unread(self, irrelevant: Irrelevant) -> Iterator[InputError]:
        """Yield an error for each part, here and inside, that was neither requested nor listed as irrelevant."""
        listed = {part for place in (self.kind, self.key, "*") for part in irrelevant.get(place, ())}
        if "*" in listed:
            return
        for name in self.values:
            if name not in self.requested and name not in listed:
                yield self.refused(self._unknown(name.lstrip("@"), "@" if name.startswith("@") else ""))
        if self.text.strip() and not self.text_is_read and "text" not in listed:
            yield self.refused(f"the text {self.text.strip()[:40]!r} has no meaning here")
        for child in self.children:
            if child.key in self.requested:
                yield from child.unread(irrelevant)
            elif not {child.key, child.kind} & listed:
                yield self._unsupported(child)

    def finish(self, irrelevant: Irrelevant) -> None:
        """Raise InputError for the first part that was not read."""
        for error in self.unread(irrelevant):
            raise error

    def only(self, irrelevant: Irrelevant) -> None:
        """Raise InputError for the first child that was neither requested nor listed; does not look inside children."""
        listed = {part for place in (self.kind, self.key, "*") for part in irrelevant.get(place, ())}
        for child in self.children:
            if not {child.key, child.kind} & {*self.requested, *listed}:
                raise self._unsupported(child)

    def _unsupported(self, child: Entry) -> InputError:
        inside = "" if self.landmark or self.parent is None else f" in {self.title}"
        return InputError(f"{child.place} is not supported{inside}{self._nearest(child.key)}")

    def _unknown(self, name: str, mark: str) -> str:
        return f"{'attribute' if mark else 'keyword'} {name!r} is not supported{self._nearest(mark + name)}"

    def _nearest(self, name: str) -> str:
        known = [requested for requested in self.requested if requested.startswith("@") == name.startswith("@")]
        close = get_close_matches(name, known, n=3, cutoff=0.5)
        shown = [requested.lstrip("@") for requested in close or known[:MAX_NAMES]]
        return f" ({'nearest' if close else 'supported here'}: {', '.join(shown)})" if shown else ""

    def without(self, name: str) -> bool:
        """Remove all parts with this name, kind or title, here and inside; return whether there were any."""
        removed_keys = [key for key in self.values if name in (key, key.lstrip("@"))]
        for key in removed_keys:
            del self.values[key]
        remaining = [e for e in self.children if name not in (e.key, e.kind, e.title, *e.named())]
        self.omitted += len(self.children) - len(remaining)
        removed = bool(removed_keys) or len(remaining) < len(self.children)
        self.children = remaining
        for child in remaining:
            removed = child.without(name) or removed
        return removed

    def named(self) -> list[str]:
        """Return the name in the title, such as Q of `node 'Q'`."""
        return [self.title.partition(" ")[2].strip("'")]


def ignore(root: Entry, names: Iterable[str]) -> None:
    """Remove parts that the user wants to ignore; raises InputError for a name that no part has."""
    for name in names:
        if not root.without(name):
            raise InputError(f"{root.file}: --ignore {name!r}: no part of the file has this name")


def ignore_keys(tables: dict[str, Any], names: Iterable[str], file: str) -> dict[str, Any]:
    """Return tables of a TOML file without the keys with these names or dotted paths.

    Raises InputError for a name that no key has.
    """
    for name in names:
        used, tables = _without_key(tables, name, "")
        if not used:
            raise InputError(f"{file}: --ignore {name!r}: no key of the file has this name")
    return tables


def _without_key(value: Any, name: str, path: str) -> tuple[bool, Any]:
    if isinstance(value, list):
        parts = [_without_key(item, name, path) for item in value]
        return any(used for used, _ in parts), [remaining for _, remaining in parts]
    if not isinstance(value, dict):
        return False, value
    removed, remaining = False, {}
    for key, item in value.items():
        place = f"{path}.{key}".lstrip(".")
        if name in (key, place):
            removed = True
            continue
        used, remaining[key] = _without_key(item, name, place)
        removed = removed or used
    return removed, remaining


Title = Callable[[str, Mapping[str, str]], tuple[str, str, bool]]


def read_xml(path: Path, title: Title) -> Entry:
    """Return an XML file as entries with lines; attributes become values named `@name`.

    title: returns, for a tag and its attributes, the key and the title of an entry, and whether it is a landmark. Names
    in a namespace other than the root element's have the form `{uri}tag`. Raises InputError for a missing file, invalid
    XML, and a document type, whose entities could stand for anything.
    """
    reader = _XmlReader(path.name, title)
    data = input_content(path)
    if not data.removeprefix(BOM_UTF8).strip():
        raise InputError(f"{path.name}: is empty")
    try:
        reader.parser.Parse(data, True)
    except (expat.ExpatError, ValueError, LookupError) as error:
        raise InputError(f"{path.name}: not XML: {error}") from None
    return reader.root


class _XmlReader:
    """Creates entries from expat events; comments and processing instructions are not reported."""

    root: Entry

    def __init__(self, file: str, title: Title) -> None:
        self.file, self.title = file, title
        self.open: list[Entry] = []
        self.namespace: str | None = None
        self.parser = expat.ParserCreate(namespace_separator="}")
        self.parser.buffer_text = True
        self.parser.StartElementHandler = self.start
        self.parser.EndElementHandler = self.end
        self.parser.CharacterDataHandler = self.data
        self.parser.StartDoctypeDeclHandler = self.doctype

    def start(self, name: str, attributes: dict[str, str]) -> None:
        uri, _, tag = name.rpartition("}")
        if self.namespace is None:
            self.namespace = uri
        if uri != self.namespace:
            tag = f"{{{uri}}}{tag}"
        if len(self.open) >= MAX_DEPTH:
            raise InputError(f"{self.file}:{self.parser.CurrentLineNumber}: more than {MAX_DEPTH} elements deep")
        values = {f"@{'{' if '}' in key else ''}{key}": value for key, value in attributes.items()}
        key, title, landmark = self.title(tag, attributes)
        parent = self.open[-1] if self.open else None
        entry = Entry(tag, key, title, self.file, self.parser.CurrentLineNumber, landmark, parent, values)
        if parent is not None:
            parent.children.append(entry)
        else:
            self.root = entry
        self.open.append(entry)

    def end(self, name: str) -> None:
        self.open.pop()

    def data(self, text: str) -> None:
        self.open[-1].text += text

    def doctype(self, name: str, *_: object) -> None:
        raise InputError(f"{self.file}: an XML file must have no document type of its own, got one ({name!r})")
