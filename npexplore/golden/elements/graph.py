"""A graph of elements: checked before it runs, then run on real packets, priced by cycles an element.

Rules (Kohler et al., Sec. 2.2): every port is joined; a push output and a pull input have one partner; push meets push
and pull meets pull; on a cycle packets rest somewhere. Outputs for errors may stay open: what leaves there is dropped.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import NamedTuple, Self

from npexplore.errors import InputError, UnknownNameError, one_of
from npexplore.golden.elements.base import Element, Pack, Place
from npexplore.golden.elements.language import Joined, Port, parse
from npexplore.golden.elements.library import ELEMENTS
from npexplore.golden.elements.names import naming, read_names
from npexplore.golden.elements.rewriter import patterns
from npexplore.golden.reasons import Reason
from npexplore.paths import input_content, plain_text

LONGEST = 1000  # elements on one packet's way


class Passage(NamedTuple):
    """A packet's way through a graph: elements by name, how it left (device, switch, self, discard, drop, rest)."""

    path: tuple[str, ...]
    exit: str
    pack: Pack


class Way(NamedTuple):
    """A way that packets may go: elements, the exit, cycles, and how many of some traffic went it (0: none asked)."""

    path: tuple[str, ...]
    exit: str
    cycles: float
    packets: int = 0


@dataclass
class Graph:
    """Elements by name and their connections. Add and connect, or read a configuration; `check` before running.

    Example:
        >>> from npexplore.golden import Graph
        >>> sorted(Graph.read("FromDevice(a) -> Discard;").elements)
        ['Discard@2', 'FromDevice@1']
    """

    elements: dict[str, Element] = field(default_factory=dict)
    joined: list[Joined] = field(default_factory=list)
    _next: dict[Port, list[Port]] = field(default_factory=dict)

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read and check a `.click` file; raises InputError with file and line."""
        file = Path(path)
        return cls.read(plain_text(input_content(path), file.name), file.name)

    @classmethod
    def read(cls, text: str, file: str = "graph") -> Self:
        """Read and check a configuration."""
        graph, parsed = cls(), parse(text, file)
        unknown = {one.kind: one.place for one in reversed(parsed.elements.values()) if one.kind not in ELEMENTS}
        if len(unknown) > 1:
            places = sorted(unknown.items(), key=lambda one: one[1].line)
            listed = ", ".join(f"{kind!r} (line {place.line})" for kind, place in places)
            raise InputError(f"{places[0][1]}: {len(unknown)} element classes are unknown: {listed}")
        said = {kind: [text for one in parsed.elements.values() if one.kind == kind for text in one.arguments]
                for kind in ("AddressInfo", "IPRewriterPatterns")}  # fmt: skip
        with naming(read_names(said["AddressInfo"])), patterns(said["IPRewriterPatterns"]):
            for name, declared in parsed.elements.items():
                graph._add(name, declared.kind, declared.arguments, declared.place)
        for one in parsed.joined:
            graph._join(one)
        graph.check()
        return graph

    def add(self, name: str, kind: str, *arguments: object) -> Self:
        """Add an element; raises UnknownNameError, InputError."""
        if name in self.elements:
            raise InputError(f"element {name!r} exists already")
        self._add(name, kind, [str(argument) for argument in arguments], Place("graph", len(self.elements) + 1))
        return self

    def connect(self, *names: str, output: int = 0, into: int = 0) -> Self:
        """Connect elements in a chain: from `output` of the first to input `into` of the last, all other ports 0."""
        for k in range(len(names) - 1):
            source = Port(names[k], output if k == 0 else 0)
            target = Port(names[k + 1], into if k == len(names) - 2 else 0)
            self._join(Joined(source, target, Place("graph", len(self.joined) + 1)))
        return self

    def _add(self, name: str, kind: str, arguments: Iterable[str], place: Place) -> None:
        if kind not in ELEMENTS:
            raise UnknownNameError(f"{place}: element class", kind, ELEMENTS)
        self.elements[name] = ELEMENTS[kind](name, list(arguments), place)

    def _join(self, one: Joined) -> None:
        for end in (one.source, one.target):
            if end.element not in self.elements:
                raise UnknownNameError(f"{one.place}: element", end.element, self.elements)
        self.joined.append(one)
        self._next.setdefault(one.source, []).append(one.target)

    # ---- checks

    def check(self) -> None:
        """Check that the graph can work before any packet comes; raises InputError that says where it cannot."""
        for name, element in self.elements.items():
            for output in (False, True):
                self._check_ports(name, element, output)
            element.outputs = len({one.source.port for one in self.joined if one.source.element == name})
        self._check_processing()
        self._check_cycles()

    def _check_ports(self, name: str, element: Element, output: bool) -> None:
        least, most = element.OUTPUTS if output else element.INPUTS
        if output:
            least, most = max(least, element.named_outputs), element.named_outputs if element.names_all else most
        ends = [one.source if output else one.target for one in self.joined]
        used = {end.port for end in ends if end.element == name}
        word = "output" if output else "input"
        for port in used:
            if port >= most:
                place = next(one.place for one, end in zip(self.joined, ends, strict=True) if end == Port(name, port))
                raise InputError(f"{place}: {element.kind} {name!r} has {most} {word}s, got {word} {port}")
        for port in range(max(least, *(p + 1 for p in used)) if used else least):
            if port not in used:
                raise InputError(f"{element.place}: {word} {port} of {element.kind} {name!r} is not connected")

    def _check_processing(self) -> None:
        """Settle what agnostic elements are by their neighbours; push must not meet pull."""
        settled: dict[tuple[str, int, bool], str] = {}

        def code(end: Port, output: bool) -> str:
            return settled.get((*end, output), self.elements[end.element].processing(end.port, output=output))

        changed = True
        while changed:
            changed = False
            for one in self.joined:
                source, target = code(one.source, True), code(one.target, False)
                if source != target and "a" not in (source, target):
                    words = {"h": "push", "l": "pull"}
                    raise InputError(
                        f"{one.place}: {words[source]} output {one.source.port} of {one.source.element!r} meets "
                        f"{words[target]} input {one.target.port} of {one.target.element!r}; a Queue goes between"
                    )
                for end, mine, other in ((one.source, source, target), (one.target, target, source)):
                    if mine == "a" and other != "a":
                        changed |= self._settle(settled, end.element, other)
        for end, output in dict.fromkeys(self._ends()):
            if code(end, output) == ("l" if not output else "h"):
                places = [one.place for one in self.joined if (one.source if output else one.target) == end]
                if len(places) > 1:
                    word = "push output" if output else "pull input"
                    raise InputError(f"{places[1]}: {word} {end.port} of {end.element!r} is connected twice")

    def _ends(self) -> list[tuple[Port, bool]]:
        """Return the ports at both ends of each connection, and whether each is an output."""
        return [(one.source, True) for one in self.joined] + [(one.target, False) for one in self.joined]

    def _settle(self, settled: dict[tuple[str, int, bool], str], name: str, code: str) -> bool:
        """All agnostic ports of an element are the same."""
        new = False
        for end, output in self._ends():
            key, declared = (*end, output), self.elements[end.element].processing(end.port, output=output)
            if end.element == name and key not in settled and declared == "a":
                settled[key] = code
                new = True
        return new

    def _check_cycles(self) -> None:
        state: dict[str, int] = {}

        def visit(name: str, way: tuple[str, ...]) -> None:
            state[name] = 1
            for one in self.joined:
                target = one.target.element
                if one.source.element != name or self.elements[target].STORES:
                    continue
                if state.get(target) == 1:
                    circle = [*way[way.index(target) :], target]
                    raise InputError(f"{one.place}: a cycle without a queue: {' -> '.join(circle)}")
                if target not in state:
                    visit(target, (*way, target))
            state[name] = 2

        for name in self.elements:
            if name not in state:
                visit(name, (name,))

    # ---- running

    def entries(self) -> dict[str, str]:
        """Return the names of the elements where packets come in, by device."""
        entries = {}
        for name, element in self.elements.items():
            if (element.INPUTS == (0, 0) or element.ENTRY) and not element.DECLARES:
                entries[str(getattr(element, "device", name))] = name
        return entries

    def run(self, device: str, frame: bytes) -> list[Passage]:
        """Send a frame in by a device; return its path and those of all packets it causes. Raises UnknownNameError."""
        entries = self.entries()
        first = entries[one_of("device", device, entries)]
        pack = Pack(frame, device, link_broadcast=bool(frame[:1] and frame[0] & 1))
        todo: list[tuple[str, int, Pack, tuple[str, ...]]] = [(first, 0, pack, ())]
        passages: list[Passage] = []
        while todo:
            name, port, pack, before = todo.pop()
            element, path = self.elements[name], (*before, name)
            if len(path) > LONGEST:
                raise InputError(f"{element.place}: a packet goes round for more than {LONGEST} elements")
            if element.EXIT and before:
                passages.append(Passage(path, element.EXIT, pack))
                continue
            outputs = element.take(pack, port) if before else [(0, pack)]
            if not outputs:
                passages.append(Passage(path, "rest", pack))
            for output, changed in reversed(outputs):
                ends = self._next.get(Port(name, output), [])
                if not ends:
                    reason = changed.reason or Reason.NO_ROUTE
                    passages.append(Passage(path, "drop", replace(changed, reason=reason)))
                todo += [(end.element, end.port, changed, path) for end in ends[:1]]
        return passages

    # ---- cycles

    def cycles(self, path: Iterable[str], cost: Mapping[str, float]) -> float:
        """Return the cycles of a way; `cost` by element name, class, or row of a table (`TIMED`). What is none is 0."""
        total = 0.0
        for name in path:
            element = self.elements[name]
            total += next((cost[key] for key in (name, element.kind, element.TIMED) if key in cost), 0.0)
        return total

    def ways(self, cost: Mapping[str, float] | None = None) -> list[Way]:
        """Return every path from an entry to an exit that visits no element twice, most cycles first."""
        prices, paths = cost or {}, []

        def follow(name: str, path: tuple[str, ...]) -> None:
            if self.elements[name].EXIT:
                paths.append(Way(path, self.elements[name].EXIT, self.cycles(path, prices)))
            for end in [one.target.element for one in self.joined if one.source.element == name]:
                if end not in path:
                    follow(end, (*path, end))

        for first in self.entries().values():
            follow(first, (first,))
        return sorted(paths, key=lambda way: -way.cycles)

    def traffic(self, frames: Iterable[tuple[str, bytes]], cost: Mapping[str, float] | None = None) -> list[Way]:
        """Run frames (device, bytes) and return the paths that they took, the most frequent first."""
        gone = Counter((p.path, p.exit) for device, frame in frames for p in self.run(device, frame))
        return [Way(path, left, self.cycles(path, cost or {}), n) for (path, left), n in gone.most_common()]
