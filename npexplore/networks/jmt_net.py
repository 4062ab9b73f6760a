"""Petri nets of JMT's simulator: places (Storage, Linkage) and transitions (Enabling, Timing, Firing) of a .jsimg file.

A place of JMT becomes one place of the net per class of tokens (finite colours unfold this way: Zhu, Casale, Perez,
FGCS 74, 2017); each mode of a transition becomes a transition. Clocks race. Modes without a delay fire before all
others, by firing priority (highest first), then by weight. A source becomes a transition without inputs; a sink removes
tokens. Stations among places are refused by name.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path

from npexplore.errors import one_of
from npexplore.machine.petri.unfolded import Arc, Net, Place, Transition
from npexplore.machine.petri.values import MOST_TOKENS
from npexplore.networks.jmt_file import IRRELEVANT as OF_FILES
from npexplore.networks.jmt_file import (
    by_class,
    by_name,
    classed,
    connections,
    kind_of,
    known,
    number_in,
    parameter,
    plain,
    read_file,
    value_in,
    whole_in,
)
from npexplore.networks.jmt_times import arrivals_of, service_of
from npexplore.networks.times import AnyTime
from npexplore.rows.distributions import Distribution, Exponential
from npexplore.strict_input import Entry
from npexplore.toml import typed

PLACE, TRANSITION = ("Storage", "ServiceTunnel", "Linkage"), ("Enabling", "Timing", "Firing")
SOURCE, SINK = ("RandomSource", "ServiceTunnel", "Router"), ("JobSink",)
NODES = {PLACE: "place", TRANSITION: "transition", SOURCE: "source", SINK: "sink"}
# irrelevant elements as for networks, except the initial tokens (`preload`), which a net needs
IRRELEVANT = {**OF_FILES, "sim": {name: why for name, why in OF_FILES["sim"].items() if name != "preload"}}
Vectors = dict[str, dict[str, int]]  # node -> class -> tokens


def read_jmt_net(path: str | Path, left_out: Iterable[str] = ()) -> Net:
    """Return the Petri net of a .jsimg file; raises InputError with file, line, element and the unsupported feature.

    left_out: names of elements that the user wants to ignore. If a file has several classes, a place is named `PLACE
    CLASS`; if a transition has several modes, each is named `TRANSITION MODE`.
    """
    path = Path(path)
    root = read_file(path, left_out)
    sim = root.one("sim") if root.kind == "archive" else root
    reader = _Reader(sim, path.stem)
    for entry in sim.every("blockingRegion"):
        raise entry.refused("a region is not supported in a Petri net")
    net = reader.net()
    root.finish(IRRELEVANT)
    return net


class _Reader:
    """Reads classes, nodes and connections; places are numbered in the order of the file, then by class."""

    def __init__(self, sim: Entry, name: str) -> None:
        self.sim, self.name, self.notes = sim, name, list[str]()
        self.classes, nodes = by_name(sim.every("userClass"), "classes"), by_name(sim.every("node"), "nodes")
        self.sections = {name: node.of_kind("section") for name, node in nodes.items()}
        self.kinds = {name: self.kind(node, self.sections[name]) for name, node in nodes.items()}
        self.numbers: dict[tuple[str, str], int] = {}
        for place in (name for name, kind in self.kinds.items() if kind == "place"):
            self.numbers |= {(place, c): len(self.numbers) + k for k, c in enumerate(self.classes)}
        self.links = connections(sim, self.kinds)

    @staticmethod
    def kind(node: Entry, sections: list[Entry]) -> str:
        kinds = tuple(section.value("@className") for section in sections)
        if kinds not in NODES:
            raise node.refused(
                f"a node of the sections {', '.join(kinds) or '(none)'} is not supported among places and transitions "
                f"(supported: place, transition, source, sink)"
            )
        return NODES[kinds]

    def net(self) -> Net:
        tokens = self.marking()
        places = [Place(self.called(*key), tokens[key], None) for key in self.numbers]
        for name, kind in self.kinds.items():
            if kind == "place":
                self.place(self.sections[name][0])
        transitions = []
        for name, kind in self.kinds.items():
            if kind == "transition":
                transitions += self.transition(name, *self.sections[name])
            elif kind == "source":
                transitions += self.source(name, self.sections[name][0], self.sections[name][2])
        lowest = min((one.priority for one in transitions), default=0)
        return Net(
            self.name, "race", tuple(places),
            tuple(one if one.timed else replace(one, priority=one.priority - min(lowest, 0)) for one in transitions),
            notes=tuple(dict.fromkeys(self.notes)),
        )  # fmt: skip

    def called(self, place: str, c: str) -> str:
        return place if len(self.classes) == 1 else f"{place} {c}"

    def marking(self) -> dict[tuple[str, str], int]:
        """Return the initial tokens: those of `preload`, the rest of a closed class at its reference station."""
        tokens = dict.fromkeys(self.numbers, 0)
        preload = self.sim.optional("preload")
        for station in preload.every("stationPopulations") if preload else ():
            place = known(station, "node", station.value("@stationName"), self.kinds)
            for entry in station.every("classPopulation"):
                c = entry.value("@refClass")
                if (place, c) not in tokens:
                    raise entry.refused(f"no place {place!r} with a class {c!r}")
                tokens[place, c] += entry.whole(entry.value("@population"), "population")
        for c, entry in self.classes.items():
            reference, kind = entry.value("@referenceSource", ""), one_of(
                f"{entry.place}: type", entry.value("@type"), ("open", "closed")
            )  # fmt: skip
            entry.value("@priority", "0")  # read but not used: tokens do not wait in line for a server
            if kind == "open":
                entry.value("@customers", "0")
                continue
            remaining = entry.whole(entry.value("@customers"), "customers") - sum(
                n for key, n in tokens.items() if key[1] == c
            )
            if remaining < 0:
                raise entry.refused(f"preload has {-remaining} customers more than the class")
            if remaining and (reference, c) not in tokens:
                raise entry.refused(f"{remaining} customers begin at {reference!r}, which is no place")
            if remaining:
                tokens[reference, c] += remaining
        return tokens

    def place(self, storage: Entry) -> None:
        """Read a place; raises InputError if it has a limit of tokens."""
        entry, total = plain(storage, "totalCapacity", "-1")
        limits = [(entry, entry.whole(total))]
        limits += [(one, whole_in(one)) for _, one in by_class(storage, "capacities", self.classes).items()]
        for entry, limit in limits:
            if limit != -1:
                raise entry.refused(f"a limit of the tokens in a place is not supported, got {limit} (supported: -1)")
        for one in by_class(storage, "dropRules", self.classes).values():  # unused without a limit
            value_in(one)
        parameter(storage, "getStrategy")  # the order of tokens of a class changes no count
        for one in by_class(storage, "putStrategies", self.classes).values():
            kind_of(one)

    def transition(self, name: str, enabling: Entry, timing: Entry, firing: Entry) -> list[Transition]:
        inputs = self.modes(enabling, "enablingConditions")
        inhibits = self.modes(enabling, "inhibitingConditions")
        outputs = self.modes(firing, "firingOutcomes")
        modes = [value_in(entry) for entry in _listed(timing, "modeNames")]
        servers = [whole_in(entry) for entry in _listed(timing, "numbersOfServers")]
        times = [self.delay(entry) for entry in _listed(timing, "timingStrategies")]
        priorities = [whole_in(entry) for entry in _listed(timing, "firingPriorities")]
        weights = [number_in(entry) for entry in _listed(timing, "firingWeights")]
        counts = [len(rows) for rows in (modes, servers, times, priorities, weights, inputs, inhibits, outputs)]
        if len(set(counts)) > 1 or not modes:
            raise timing.refused(f"every mode needs all conditions, got {', '.join(map(str, counts))} entries")
        transitions = []
        for k, mode in enumerate(modes):
            timed, count = times[k], servers[k]
            if timed is not None and (count == 0 or count < -1):
                raise timing.refused(f"mode {mode!r}: its servers must be -1 (no limit) or at least 1, got {count}")
            if timed is None and weights[k] <= 0:
                raise timing.refused(f"mode {mode!r}: its weight must be greater than 0, got {weights[k]:g}")
            if timed is not None and not isinstance(timed, Exponential) and count != 1:
                self.notes.append(f"{name}, {mode}: which of several clocks stops when tokens leave is not JMT's rule")
            transitions.append(Transition(
                f"{name} {mode}" if len(modes) > 1 else name,
                self.arcs(inputs[k]), self.arcs(outputs[k]), inhibit=self.arcs(inhibits[k]),
                delay=timed,
                priority=priorities[k] if timed is None else 0, weight=1.0 if timed is not None else weights[k],
                servers=None if count < 0 else count,
            ))  # fmt: skip
        return transitions

    def delay(self, strategy: Entry) -> Distribution | None:
        time = service_of(strategy)
        return None if time is None else _time(strategy, time)

    def arcs(self, vectors: Vectors) -> tuple[Arc, ...]:
        return tuple(Arc(self.numbers[place, c], n) for place, row in vectors.items() for c, n in row.items() if n > 0)

    def modes(self, section: Entry, name: str) -> list[Vectors]:
        """Return for each mode the tokens by node and class; sinks are left out."""
        modes = []
        for mode in _listed(section, name):
            vectors: Vectors = {}
            for vector in (part for array in mode.of_kind("subParameter") for part in array.of_kind("subParameter")):
                node = known(vector, "node", value_in(vector.one("subParameter stationName")), self.kinds)
                entries = [part for part in vector.of_kind("subParameter") if part.key != "subParameter stationName"]
                if len(entries) != 1 or node in vectors:
                    raise vector.refused(f"one list of tokens is needed for {node!r}, got {len(entries)}")
                row = {c: whole_in(part) for c, part in classed(entries[0], self.classes)}
                if wrong := [tokens for tokens in row.values() if not 0 <= tokens <= MOST_TOKENS]:
                    raise vector.refused(f"tokens must be 0 to {MOST_TOKENS}, got {wrong[0]}")
                if self.kinds[node] == "place":
                    vectors[node] = row
                elif any(row.values()) and not (self.kinds[node] == "sink" and name == "firingOutcomes"):
                    raise vector.refused(f"tokens of {node!r}, which is a {self.kinds[node]}, are not supported")
            modes.append(vectors)
        return modes

    def source(self, name: str, section: Entry, router: Entry) -> list[Transition]:
        """Return a transition for each class that arrives, with the only place behind the source as its output."""
        transitions = []
        targets = self.links[name]
        routing = by_class(router, "RoutingStrategy", self.classes)
        for c, strategy in by_class(section, "ServiceStrategy", self.classes).items():
            arrivals = arrivals_of(strategy)
            if arrivals is None:
                continue
            if arrivals["process"] == "markovian":
                raise strategy.refused("arrivals by a Markov chain are not supported in a Petri net")
            if c in routing and kind_of(routing[c]) not in ("RandomStrategy", "RoundRobinStrategy"):
                raise routing[c].refused(f"routing {kind_of(routing[c])} out of a source is not supported")
            if len(targets) != 1 or self.kinds[targets[0]] != "place":
                raise section.refused(f"a source must lead to one place, got {', '.join(targets) or 'none'}")
            poisson = {"distribution": "exponential", "mean": 1 / arrivals["rate"]} if "rate" in arrivals else None
            time = _time(strategy, poisson or arrivals["interval"])
            transitions.append(Transition(self.called(name, c), (), (Arc(self.numbers[targets[0], c], 1),), delay=time))
        return transitions


def _listed(section: Entry, name: str) -> list[Entry]:
    entry = parameter(section, name)
    return [] if entry is None else entry.of_kind("subParameter")


def _time(strategy: Entry, time: Mapping[str, object]) -> Distribution:
    distribution: Distribution = typed(dict(time), AnyTime)  # type: ignore[arg-type]
    distribution.check(strategy.place)
    return distribution
