"""Parses a subset of Click's configuration language: elements, connections, compounds (Kohler et al., Sec. 2.3).

    name :: Class(arguments);   a, b :: Class;   a [1] -> [0] b -> Class(arguments) -> c;
    elementclass Name { $x, $y | input -> Class($x) -> output; [1] output ... }

    define($X value, $Y value);       replaces $X by its value from here on, also in compounds

Comments are // and /* */, and lines that begin with #. `require(...)` is ignored. Any other syntax raises an error with
file and line.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from npexplore.errors import InputError
from npexplore.golden.elements.base import Place
from npexplore.golden.elements.tokens import Token, declared_names, filled_in, split_arguments, tokens


class Port(NamedTuple):
    """A port of an element, by the element's full name."""

    element: str
    port: int


class Declared(NamedTuple):
    """An element's declaration in a configuration."""

    kind: str
    arguments: tuple[str, ...]
    place: Place


class Joined(NamedTuple):
    """A connection in a configuration."""

    source: Port
    target: Port
    place: Place


@dataclass
class Parsed:
    """Elements by full name in the order of their declaration, and connections between them."""

    elements: dict[str, Declared] = field(default_factory=dict)
    joined: list[Joined] = field(default_factory=list)


@dataclass
class _Class:
    """A compound class: its parameters and its body."""

    parameters: list[str]
    body: list[Token]


@dataclass
class _Reader:
    """Parses the statements of one scope into `out`; names get `prefix` in front."""

    tokens: Sequence[Token]
    out: Parsed
    classes: dict[str, _Class]
    prefix: str = ""
    values: Mapping[str, str] = field(default_factory=dict)
    within: tuple[str, ...] = ()
    at: int = 0
    unnamed: int = 0
    compounds: set[str] = field(default_factory=set)
    _later: set[str] | None = None

    @property
    def later(self) -> set[str]:
        """All names that this scope declares, also in later statements."""
        if self._later is None:
            self._later = declared_names(self.tokens)
        return self._later

    def peek(self, ahead: int = 0) -> Token | None:
        return self.tokens[self.at + ahead] if self.at + ahead < len(self.tokens) else None

    def next(self, wanted: str = "") -> Token:
        token = self.peek()
        if token is None:
            last_place = self.tokens[-1].place
            raise InputError(f"{last_place}: the configuration ends where {wanted or 'more'} should follow")
        if wanted and token.text != wanted and token.kind != wanted:
            raise InputError(f"{token.place}: {wanted!r} should stand here, got {token.text!r}")
        self.at += 1
        return token

    def sees(self, text: str, ahead: int = 0) -> bool:
        token = self.peek(ahead)
        return token is not None and token.kind != "arguments" and token.text == text

    def read(self) -> None:
        """Parse all statements."""
        while self.peek() is not None:
            if self.sees(";"):
                self.at += 1
            elif self.sees("elementclass"):
                self._class()
            elif self.sees("require"):
                self.at += 1
                token = self.next("arguments")
                if token.text.split()[:1] == ["library"]:
                    raise InputError(f"{token.place}: other files are not read: put the classes of {token.text!r} here")
            elif self.sees("define"):
                self._define()
            else:
                self._chain()

    def _define(self) -> None:
        place = self.next().place
        values = dict(self.values)
        for definition in split_arguments(self.next("arguments").text):
            name, _, value = definition.partition(" ")
            if not name.startswith("$") or not value:
                raise InputError(f"{place}: define(...) takes names with $ and their values, got {definition!r}")
            values[name] = value
        self.values = values

    def _class(self) -> None:
        self.next()
        self._body(self.next("word").text)

    def _body(self, name: str) -> None:
        """Parse `{ ... }` as the compound class with a name."""
        self.next("{")
        depth, body = 1, []
        while depth:
            token = self.next("}") if self.peek() is None else self.next()
            depth += {"{": 1, "}": -1}.get(token.text, 0) if token.kind == "mark" else 0
            body.append(token)
        body.pop()
        self.classes[name] = _Class(*_parameters(body))

    def _chain(self) -> None:
        """Parse elements joined by `->` and store their connections."""
        previous = self._node()
        while self.sees("->"):
            arrow = self.next()
            node = self._node()
            source, target = previous[1], node[0]
            if source is None or target is None:
                raise InputError(f"{arrow.place}: one element should stand on each side of '->', got a list")
            self.out.joined.append(Joined(source, target, arrow.place))
            previous = node
        token = self.peek()
        if token is not None and token.text != ";" and token.kind != "word" and not self.sees("["):
            raise InputError(f"{token.place}: '->' or ';' should stand here, got {token.text!r}")

    def _port(self) -> int:
        if not self.sees("["):
            return 0
        self.next()
        token = self.next("word")
        if not token.text.isdigit():
            raise InputError(f"{token.place}: a port is a number, got {token.text!r}")
        self.next("]")
        return int(token.text)

    def _node(self) -> tuple[Port | None, Port | None]:
        """Parse [PORT] ELEMENT [PORT]; return its input port and its output port (None for a list of elements)."""
        input_port = self._port()
        if self.sees("{"):
            return self._nameless(input_port)
        first_word = self.next("word")
        names = [first_word]
        while self.sees(","):
            self.next()
            names.append(self.next("word"))
        if self.sees("::"):
            self.next()
            kind = self.next("word")
            arguments = self._arguments()
            for name in names:
                self._declare(self.prefix + name.text, kind.text, arguments, name.place)
        elif len(names) > 1:
            raise InputError(f"{first_word.place}: a list of elements needs '::' and their class")
        elif not self._known(first_word.text):
            kind = first_word
            self.unnamed += 1
            token = Token("word", f"{kind.text}@{self.unnamed}", kind.place)
            self._declare(self.prefix + token.text, kind.text, self._arguments(), kind.place)
            names = [token]
        output_port = self._port() if self.sees("[") and self._is_output() else 0
        if len(names) > 1:
            return None, None
        return self._end(names[0].text, input_port), self._end(names[0].text, output_port)

    def _nameless(self, into: int) -> tuple[Port, Port]:
        """Parse an anonymous compound; return its input port and its output port."""
        place, self.unnamed = self.tokens[self.at].place, self.unnamed + 1
        name = f"compound@{self.unnamed}"
        self._body(name)
        self._declare(self.prefix + name, name, (), place)
        output_port = self._port() if self.sees("[") and self._is_output() else 0
        return self._end(name, into), self._end(name, output_port)

    def _is_output(self) -> bool:
        """Say whether a port behind an element is its output: `->`, `;` or the end follows."""
        follower = self.peek(3)
        return follower is None or follower.text in ("->", ";")

    def _known(self, name: str) -> bool:
        full = self.prefix + name
        if self.prefix and name in ("input", "output"):
            return True
        return full in self.out.elements or full in self.compounds or name in self.later

    def _end(self, name: str, port: int) -> Port:
        """Return a port by full name; `input` and `output` of a compound are `NAME#in` and `NAME#out`."""
        if self.prefix and name in ("input", "output"):
            return Port(f"{self.prefix[:-1]}#{'in' if name == 'input' else 'out'}", port)
        return Port(self.prefix + name, port)

    def _arguments(self) -> tuple[str, ...]:
        token = self.peek()
        if token is None or token.kind != "arguments":
            return ()
        self.at += 1
        return split_arguments(filled_in(token.text, self.values))

    def _declare(self, full: str, kind: str, arguments: tuple[str, ...], place: Place) -> None:
        """Store an element, or the elements of a compound with its parameters replaced."""
        if full in self.out.elements or full in self.compounds:
            raise InputError(f"{place}: element {full!r} is declared twice")
        if kind not in self.classes:
            self.out.elements[full] = Declared(kind, arguments, place)
            return
        definition = self.classes[kind]
        if kind in self.within:
            raise InputError(f"{place}: compound class {kind!r} must not contain itself")
        if len(arguments) != len(definition.parameters):
            expected = len(definition.parameters)
            raise InputError(f"{place}: {kind} {full!r} must have {expected} arguments, got {len(arguments)}")
        self.compounds.add(full)
        values = {**self.values, **dict(zip(definition.parameters, arguments, strict=True))}
        inner = _Reader(definition.body, self.out, dict(self.classes), full + "/", values, (*self.within, kind))
        inner.compounds = self.compounds
        inner.read()


def _parameters(body: list[Token]) -> tuple[list[str], list[Token]]:
    """Split a compound's body into its parameters `$x, $y |` and its statements."""
    depth, bars = 0, []
    for k, token in enumerate(body):
        depth += {"{": 1, "}": -1}.get(token.text, 0) if token.kind == "mark" else 0
        bars += [k] if token.kind == "mark" and token.text == "|" and not depth else []
    if not bars:
        return [], body
    head = body[: bars[0]]
    bad_tokens = [token for k, token in enumerate(head) if token.text[0] != "$" if token.text != "," or k % 2 == 0]
    if bad_tokens or len(bars) > 1:
        place = bad_tokens[0].place if bad_tokens else body[bars[1]].place
        raise InputError(f"{place}: a compound has parameters `$x, $y |`, once (no keywords, no overloads)")
    return [token.text for token in head[::2]], body[bars[0] + 1 :]


def parse(text: str, file: str = "graph") -> Parsed:
    """Return the elements and connections of a configuration, with compounds expanded; raises InputError."""
    out = Parsed()
    reader = _Reader(tokens(text, file), out, {})
    reader.read()

    def end(port: Port, side: str) -> Port:
        return Port(f"{port.element}#{side}", port.port) if port.element in reader.compounds else port

    out.joined = _unfolded([Joined(end(link.source, "out"), end(link.target, "in"), link.place) for link in out.joined])
    return out


def _unfolded(joined: list[Joined]) -> list[Joined]:
    """Return the connections with the ports of compounds replaced by the element ports behind them."""
    inside_of: dict[Port, list[Port]] = {}
    for link in joined:
        if "#" in link.source.element:
            inside_of.setdefault(link.source, []).append(link.target)

    def ends(port: Port) -> list[Port]:
        return [port] if "#" not in port.element else [end for inner in inside_of.get(port, []) for end in ends(inner)]

    links = []
    for link in joined:
        if "#" in link.source.element:
            continue
        targets = ends(link.target)
        if not targets:
            compound = link.target.element.partition("#")[0]
            raise InputError(f"{link.place}: nothing inside {compound!r} is joined to its port {link.target.port}")
        links += [Joined(link.source, end, link.place) for end in targets]
    return links
