"""Allocation of register bits to a context's places; bits that are equal or never needed together share a place.

The analysis looks at a context at points: at `START`, when a packet has entered, and after each step. At a point, bits
of registers are

    needed   if a step that may follow, or the result, reads the bit before it is written again
    held     if the bit is needed and was given a value by the packet or by a step on some path to this point
    alike    (two bits) if on every path to this point both are copies of the same computed bit

Rule: two bits that are held at a point share a place only if they are alike there. Then every held bit is at its place:
START puts it there; a step reads the places of needed bits, and writes each held bit to the bit's own place, where only
alike bits are held after the step. The rule leaves choices, which are made so that few bits move: a bit gets the place
of a bit of which it may be a copy, else the place of an alike bit, else the first free place.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property

from npexplore.hardware.bit_sources import Source, Sources
from npexplore.hardware.places import NOWHERE, Bit, Places
from npexplore.hardware.programs import ENDS, LoweredProgram, LoweredStep
from npexplore.hardware.verilog import bits_of

START = "(start)"
Point = str  # START, or the name of the step that has just ended


class StepBits:
    """The reads and writes of register bits by a step."""

    def __init__(self, step: LoweredStep, sizes: Mapping[str, int]) -> None:
        self.step, self._sizes = step, sizes
        self._sources = Sources(step.graph)
        read_nodes = [node for request in step.requests for node in (request.when, *request.arguments)]
        self.always_needed = frozenset(self._all_of([step.next, *read_nodes]))
        self.written = {
            name: self._sources.of(node, sizes[name]) for name, node in step.writes.items() if name in sizes
        }  # fmt: skip
        self._under = {name: frozenset(self._all_of([step.writes[name]])) for name in self.written}

    def _all_of(self, nodes: list[int]) -> Iterator[Bit]:
        """Yield all bits of the registers that nodes read."""
        for name in sorted(self.step.inputs(nodes) & self._sizes.keys()):
            yield from ((name, k) for k in range(self._sizes[name]))

    def source(self, bit: Bit) -> Source | None:
        """Return the source of a bit that the step writes; None for an unchanged bit."""
        return self.written[bit[0]][bit[1]] if bit[0] in self.written else None

    def kin(self, bit: Bit) -> Iterable[Bit]:
        """Return the bits of which a written bit may be a copy."""
        return (copied for copied in self._sources.kin(self.written[bit[0]][bit[1]]) if copied[0] in self._sizes)

    def needs(self, bits: Iterable[Bit]) -> set[Bit]:
        """Return the bits that are needed before the step; bits: those needed after it."""
        needed_bits = set(self.always_needed)
        for bit in bits:
            source = self.source(bit)
            if source is None:
                needed_bits.add(bit)
            elif isinstance(source, tuple) and isinstance(source[0], str):
                needed_bits |= {source} if source[0] in self._sizes else set()
            elif isinstance(source, tuple):
                needed_bits |= self._under[bit[0]]
        return needed_bits


class Allocation:
    """The allocation of a program's registers, as the module describes."""

    def __init__(self, program: LoweredProgram) -> None:
        self.program = program
        self.sizes = {leaf[0]: bits_of(leaf) for leaf in program.registers}
        self.steps = {name: StepBits(step, self.sizes) for name, step in program.steps.items()}
        self.after = {START: [program.start], **{name: _followers(program, name) for name in program.steps}}
        self.before = {name: [point for point, goes in self.after.items() if name in goes] for name in program.steps}
        self.answer = {(name, k) for name in program.results for k in range(self.sizes[name])}

    @cached_property
    def needed(self) -> Mapping[Point, set[Bit]]:
        """The needed bits at each point."""
        bits: dict[Point, set[Bit]] = {point: set() for point in self.after}
        while True:
            previous_size = sum(map(len, bits.values()))
            for point in reversed(list(self.after)):
                for name in self.after[point]:
                    bits[point] |= self.answer if name == ENDS else self.steps[name].needs(bits[name])
            if sum(map(len, bits.values())) == previous_size:
                return bits

    @cached_property
    def filled(self) -> Mapping[Point, set[str]]:
        """The registers that have a value on some path to each point."""
        names: dict[Point, set[str]] = {START: set(self.program.begins) & self.sizes.keys()}
        names |= {name: set(step.written) for name, step in self.steps.items()}
        while True:
            previous_size = sum(map(len, names.values()))
            for name, points in self.before.items():
                names[name] = names[name].union(*(names[point] for point in points))
            if sum(map(len, names.values())) == previous_size:
                return names

    @cached_property
    def held(self) -> Mapping[Point, list[Bit]]:
        """The held bits at each point, sorted."""
        return {
            point: sorted(bit for bit in self.needed[point] if bit[0] in self.filled[point]) for point in self.after
        }

    @cached_property
    def alike(self) -> Mapping[Point, Mapping[Bit, int]]:
        """A class number for each bit held at a point; alike bits have the same number.

        The search starts with all bits alike where a step begins, and splits classes whose bits differ on some path.
        """
        entry = {
            name: dict.fromkeys(bit for point in self.before[name] for bit in self.held[point]) for name in self.steps
        }
        begins: dict[str, dict[Bit, int]] = {name: dict.fromkeys(bits, 0) for name, bits in entry.items()}
        while True:
            after = {
                point: _numbered({bit: self._identity(point, bit, begins) for bit in bits})
                for point, bits in self.held.items()
            }
            before = begins
            begins = {
                name: _numbered(
                    {bit: (before[name][bit], *(after[point].get(bit) for point in self.before[name])) for bit in bits}
                )
                for name, bits in entry.items()
            }
            if all(len(set(begins[name].values())) == len(set(before[name].values())) for name in begins):
                return after

    def _identity(self, point: Point, bit: Bit, known: Mapping[str, Mapping[Bit, int]]) -> object:
        """Return a key that equals another bit's key after a step if both are alike; known: classes before the step."""
        source = self.steps[point].source(bit) if point != START else ("came", bit)
        if source is None:
            return "alike", known[point][bit]
        if isinstance(source, tuple) and source in known.get(point, {}):
            return "alike", known[point][source]  # type: ignore[index]
        return source

    @cached_property
    def places(self) -> Places:
        """The place of every bit."""
        context = _Context(self.held, self.alike)
        for bit in (*self.held[START], *(bit for step in self.steps.values() for bit in _bits(step.written))):
            context.put(bit, self._kin.get(bit, {}))
        place_of = {
            name: tuple(context.at.get((name, k), NOWHERE) for k in range(size)) for name, size in self.sizes.items()
        }
        writes = {name: self._written(name, context.at) for name in self.steps}
        return Places(place_of, max(1, len(context.taken)), writes, {context.at[bit]: bit for bit in self.held[START]})

    @cached_property
    def _kin(self) -> dict[Bit, dict[Bit, None]]:
        """For each bit, the bits of which it may be a copy, and the bits that may be its copies."""
        neighbours: dict[Bit, dict[Bit, None]] = {}
        for step in self.steps.values():
            for bit in _bits(step.written):
                for original in step.kin(bit):
                    neighbours.setdefault(bit, {})[original] = None
                    neighbours.setdefault(original, {})[bit] = None
        return neighbours

    def _written(self, name: str, at: Mapping[Bit, int]) -> dict[int, Bit]:
        """Return the bit that a step writes to each place; bits copied from the same place need no write."""
        placed_bits: dict[int, Bit] = {}
        for bit in self.held[name]:
            source = self.steps[name].source(bit)
            if source is not None and at.get(source) != at[bit]:  # type: ignore[arg-type]
                placed_bits.setdefault(at[bit], bit)
        return placed_bits


class _Context:
    """The context during allocation: for each place, the class number of the bits that it holds at each point."""

    def __init__(self, held: Mapping[Point, Iterable[Bit]], alike: Mapping[Point, Mapping[Bit, int]]) -> None:
        self.at: dict[Bit, int] = {}
        self.taken: list[dict[Point, int]] = []
        self._wants: dict[Bit, dict[Point, int]] = {}
        self._busy: list[int] = []  # of each place, a mask of the points at which it is used
        self._where: dict[tuple[Point, int], int] = {}  # the place of a class at a point
        self._order = {point: k for k, point in enumerate(held)}
        for point, bits in held.items():
            for bit in bits:
                self._wants.setdefault(bit, {})[point] = alike[point][bit]

    def put(self, bit: Bit, kin: Iterable[Bit]) -> None:
        """Assign a place to a bit, if it is held anywhere and has none yet."""
        wants = self._wants.get(bit)
        if wants is None or bit in self.at:
            return
        points = sum(1 << self._order[point] for point in wants)
        candidates = [self.at[neighbour] for neighbour in kin if neighbour in self.at]
        candidates += [self._where[want] for want in wants.items() if want in self._where]
        chosen_place = next((place for place in candidates if self._fits(place, wants)), None)
        if chosen_place is None:
            chosen_place = next((place for place, busy in enumerate(self._busy) if not busy & points), len(self.taken))
        if chosen_place == len(self.taken):
            self.taken.append({})
            self._busy.append(0)
        self.taken[chosen_place] |= wants
        self._busy[chosen_place] |= points
        self._where |= dict.fromkeys(wants.items(), chosen_place)
        self.at[bit] = chosen_place

    def _fits(self, place: int, wants: Mapping[Point, int]) -> bool:
        classes_here = self.taken[place]
        return all(classes_here.get(point, number) == number for point, number in wants.items())


def _followers(program: LoweredProgram, name: str) -> list[str]:
    return [follower for follower in program.steps[name].goes if follower == ENDS or follower in program.steps]


def _bits(registers: Mapping[str, tuple[Source, ...]]) -> Iterator[Bit]:
    return ((name, k) for name, bits in registers.items() for k in range(len(bits)))


def _numbered(bits: Mapping[Bit, object]) -> dict[Bit, int]:
    numbers: dict[object, int] = {}
    return {bit: numbers.setdefault(value, len(numbers)) for bit, value in bits.items()}


def places_of(program: LoweredProgram) -> Places:
    """Return the places of a program's registers in a context."""
    return Allocation(program).places
