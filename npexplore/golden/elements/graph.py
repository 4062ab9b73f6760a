"""A graph of elements: it is checked, runs real packets, and sums the cycles of elements on their paths.

Rules (Kohler et al., Sec. 2.2): every port is connected; a push output and a pull input have one connection; push
connects to push and pull to pull; every cycle has an element that stores packets. Error outputs may stay unconnected:
packets that leave there are dropped.
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

LONGEST = 1000  # elements on one packet's path


class Passage(NamedTuple):
    """A packet's path through a graph: element names, and its exit (device, switch, self, discard, drop, rest)."""

    path: tuple[str, ...]
    exit: str
    pack: Pack


class Way(NamedTuple):
    """A possible path of packets: elements, exit, cycles, and the packets of a given traffic on it (0: no traffic)."""

    path: tuple[str, ...]
    exit: str
    cycles: float
    packets: int = 0


@dataclass
class Graph:
    """Elements by name and their connections. Use `add` and `connect`, then `check`; or read a configuration.

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
        if not parsed.elements:
            raise InputError(f"{file}: no element stands here; the least is `FromDevice(a) -> Discard;`")
        unknown = {node.kind: node.place for node in reversed(parsed.elements.values()) if node.kind not in ELEMENTS}
        if len(unknown) > 1:
            places = sorted(unknown.items(), key=lambda item: item[1].line)
            listed = ", ".join(f"{kind!r} (line {place.line})" for kind, place in places)
            raise InputError(f"{places[0][1]}: {len(unknown)} element classes are unknown: {listed}")
        texts = {kind: [text for node in parsed.elements.values() if node.kind == kind for text in node.arguments]
                 for kind in ("AddressInfo", "IPRewriterPatterns")}  # fmt: skip
        with naming(read_names(texts["AddressInfo"])), patterns(texts["IPRewriterPatterns"]):
            for name, declared in parsed.elements.items():
                graph._add(name, declared.kind, declared.arguments, declared.place)
        for link in parsed.joined:
            graph._join(link)
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
        """Check the rules of connections, processing and cycles; raises InputError with the place."""
        for name, element in self.elements.items():
            for output in (False, True):
                self._check_ports(name, element, output)
            element.outputs = len({link.source.port for link in self.joined if link.source.element == name})
        self._check_processing()
        self._check_cycles()

    def _check_ports(self, name: str, element: Element, output: bool) -> None:
        least, most = element.OUTPUTS if output else element.INPUTS
        if output:
            least, most = max(least, element.named_outputs), element.named_outputs if element.names_all else most
        ends = [link.source if output else link.target for link in self.joined]
        used = {end.port for end in ends if end.element == name}
        word = "output" if output else "input"
        for port in used:
            if port >= most:
                place = next(link.place for link, end in zip(self.joined, ends, strict=True) if end == Port(name, port))
                raise InputError(f"{place}: {element.kind} {name!r} has {most} {word}s, got {word} {port}")
        for port in range(max(least, *(port_number + 1 for port_number in used)) if used else least):
            if port not in used:
                raise InputError(f"{element.place}: {word} {port} of {element.kind} {name!r} is not connected")

    def _check_processing(self) -> None:
        """Derive push or pull for agnostic elements from their neighbours; push must not be connected to pull."""
        derived: dict[tuple[str, int, bool], str] = {}

        def code(end: Port, output: bool) -> str:
            return derived.get((*end, output), self.elements[end.element].processing(end.port, output=output))

        changed = True
        while changed:
            changed = False
            for link in self.joined:
                source, target = code(link.source, True), code(link.target, False)
                if source != target and "a" not in (source, target):
                    words = {"h": "push", "l": "pull"}
                    raise InputError(
                        f"{link.place}: {words[source]} output {link.source.port} of {link.source.element!r} meets "
                        f"{words[target]} input {link.target.port} of {link.target.element!r}; a Queue goes between"
                    )
                for end, end_code, peer_code in ((link.source, source, target), (link.target, target, source)):
                    if end_code == "a" and peer_code != "a":
                        changed |= self._settle(derived, end.element, peer_code)
        for end, output in dict.fromkeys(self._ends()):
            if code(end, output) == ("l" if not output else "h"):
                places = [link.place for link in self.joined if (link.source if output else link.target) == end]
                if len(places) > 1:
                    word = "push output" if output else "pull input"
                    raise InputError(f"{places[1]}: {word} {end.port} of {end.element!r} is connected twice")

    def _ends(self) -> list[tuple[Port, bool]]:
        """Return the ports at both ends of each connection, and whether each is an output."""
        return [(link.source, True) for link in self.joined] + [(link.target, False) for link in self.joined]

    def _settle(self, settled: dict[tuple[str, int, bool], str], name: str, code: str) -> bool:
        """Set all agnostic ports of an element to a code; return whether any was unset."""
        changed = False
        for end, output in self._ends():
            key, declared = (*end, output), self.elements[end.element].processing(end.port, output=output)
            if end.element == name and key not in settled and declared == "a":
                settled[key] = code
                changed = True
        return changed

    def _check_cycles(self) -> None:
        state: dict[str, int] = {}

        def visit(name: str, way: tuple[str, ...]) -> None:
            state[name] = 1
            for link in self.joined:
                target = link.target.element
                if link.source.element != name or self.elements[target].STORES:
                    continue
                if state.get(target) == 1:
                    cycle = [*way[way.index(target) :], target]
                    raise InputError(f"{link.place}: a cycle without a queue: {' -> '.join(cycle)}")
                if target not in state:
                    visit(target, (*way, target))
            state[name] = 2

        for name in self.elements:
            if name not in state:
                visit(name, (name,))

    # ---- running

    def entries(self) -> dict[str, str]:
        """Return the names of the elements where packets enter the graph, by device."""
        entries = {}
        for name, element in self.elements.items():
            if (element.INPUTS == (0, 0) or element.ENTRY) and not element.DECLARES:
                entries[str(getattr(element, "device", name))] = name
        return entries

    def run(self, device: str, frame: bytes) -> list[Passage]:
        """Send a frame in by a device; return the paths of it and of all packets it causes. Raises UnknownNameError."""
        entries = self.entries()
        entry = entries[one_of("device", device, entries)]
        pack = Pack(frame, device, link_broadcast=bool(frame[:1] and frame[0] & 1))
        todo: list[tuple[str, int, Pack, tuple[str, ...]]] = [(entry, 0, pack, ())]
        passages: list[Passage] = []
        while todo:
            name, port, pack, visited = todo.pop()
            element, path = self.elements[name], (*visited, name)
            if len(path) > LONGEST:
                raise InputError(f"{element.place}: a packet goes round for more than {LONGEST} elements")
            if element.EXIT and visited:
                passages.append(Passage(path, element.EXIT, pack))
                continue
            outputs = element.take(pack, port) if visited else [(0, pack)]
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
        """Return the cycles of a path. cost: cycles by element name, class, or `TIMED`; elements without any cost 0."""
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
            for target in [link.target.element for link in self.joined if link.source.element == name]:
                if target not in path:
                    follow(target, (*path, target))

        for entry in self.entries().values():
            follow(entry, (entry,))
        return sorted(paths, key=lambda priced: -priced.cycles)

    def traffic(self, frames: Iterable[tuple[str, bytes]], cost: Mapping[str, float] | None = None) -> list[Way]:
        """Run frames (device, bytes); return their paths, the most frequent first."""
        counts = Counter((p.path, p.exit) for device, frame in frames for p in self.run(device, frame))
        return [Way(path, end, self.cycles(path, cost or {}), count) for (path, end), count in counts.most_common()]
