"""Places of registers in a context, shared by those that are never needed at once, and by those that are equal then.

A context stands still at points: `START`, where a packet has come in, and behind each step. At a point, of a register

    needed   a bit is, if a step that may follow, or the answer, looks at it before it is written anew
    held     it is, if it is needed and a step on some way to this point, or the packet, gave it a value
    alike    two bits are, if on every way to this point both are copies of one bit that somebody computed

Rule: two bits that are held at one point share a place only if they are alike there. Then each held bit is found at
its place: at START it is put there; a step reads places of needed bits, and puts every held bit that it writes at its
own place, where at the point behind it only bits that are alike are held. What the rule leaves free is chosen so that
little is moved: a bit stands where one does of which it may be a copy, else where one alike does, else at the first
place that is free.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property

from npexplore.hardware.bit_sources import Source, Sources
from npexplore.hardware.places import NOWHERE, Bit, Places
from npexplore.hardware.programs import ENDS, LoweredProgram, LoweredStep
from npexplore.hardware.verilog import bits_of

START = "(start)"
Point = str  # START, or the step that it is behind


class StepBits:
    """What a step does to the bits of registers."""

    def __init__(self, step: LoweredStep, sizes: Mapping[str, int]) -> None:
        self.step, self._sizes = step, sizes
        self._sources = Sources(step.graph)
        read_nodes = [at for one in step.requests for at in (one.when, *one.arguments)]
        self.always_needed = frozenset(self._all_of([step.next, *read_nodes]))
        self.written = {
            name: self._sources.of(at, sizes[name]) for name, at in step.writes.items() if name in sizes
        }  # fmt: skip
        self._under = {name: frozenset(self._all_of([step.writes[name]])) for name in self.written}

    def _all_of(self, nodes: list[int]) -> Iterator[Bit]:
        """Yield all bits of the registers that nodes look at."""
        for name in sorted(self.step.inputs(nodes) & self._sizes.keys()):
            yield from ((name, k) for k in range(self._sizes[name]))

    def source(self, bit: Bit) -> Source | None:
        """Return where a bit that is written comes from, None for one that stays as it is."""
        return self.written[bit[0]][bit[1]] if bit[0] in self.written else None

    def kin(self, bit: Bit) -> Iterable[Bit]:
        """Return the bits of which a bit that is written may be a copy."""
        return (one for one in self._sources.kin(self.written[bit[0]][bit[1]]) if one[0] in self._sizes)

    def needs(self, bits: Iterable[Bit]) -> set[Bit]:
        """Return what is needed before the step, from what is needed behind it."""
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
    """The places of a program's registers; see the module."""

    def __init__(self, program: LoweredProgram) -> None:
        self.program = program
        self.sizes = {leaf[0]: bits_of(leaf) for leaf in program.registers}
        self.steps = {name: StepBits(step, self.sizes) for name, step in program.steps.items()}
        self.after = {START: [program.start], **{name: _followers(program, name) for name in program.steps}}
        self.before = {name: [at for at, goes in self.after.items() if name in goes] for name in program.steps}
        self.answer = {(name, k) for name in program.results for k in range(self.sizes[name])}

    @cached_property
    def needed(self) -> Mapping[Point, set[Bit]]:
        """What is needed at each point."""
        bits: dict[Point, set[Bit]] = {point: set() for point in self.after}
        while True:
            before = sum(map(len, bits.values()))
            for point in reversed(list(self.after)):
                for name in self.after[point]:
                    bits[point] |= self.answer if name == ENDS else self.steps[name].needs(bits[name])
            if sum(map(len, bits.values())) == before:
                return bits

    @cached_property
    def filled(self) -> Mapping[Point, set[str]]:
        """The registers that have been given a value on some way to each point."""
        names: dict[Point, set[str]] = {START: set(self.program.begins) & self.sizes.keys()}
        names |= {name: set(step.written) for name, step in self.steps.items()}
        while True:
            before = sum(map(len, names.values()))
            for name, points in self.before.items():
                names[name] = names[name].union(*(names[point] for point in points))
            if sum(map(len, names.values())) == before:
                return names

    @cached_property
    def held(self) -> Mapping[Point, list[Bit]]:
        """What is held at each point, in order."""
        return {
            point: sorted(bit for bit in self.needed[point] if bit[0] in self.filled[point]) for point in self.after
        }

    @cached_property
    def alike(self) -> Mapping[Point, Mapping[Bit, int]]:
        """A number for each bit held at a point, the same for those that are alike.

        All bits are taken for alike where a step begins, until a way to it is found on which two are not.
        """
        entry = {
            name: dict.fromkeys(bit for point in self.before[name] for bit in self.held[point]) for name in self.steps
        }
        begins: dict[str, dict[Bit, int]] = {name: dict.fromkeys(bits, 0) for name, bits in entry.items()}
        while True:
            behind = {
                point: _numbered({bit: self._identity(point, bit, begins) for bit in bits})
                for point, bits in self.held.items()
            }
            before = begins
            begins = {
                name: _numbered(
                    {bit: (before[name][bit], *(behind[one].get(bit) for one in self.before[name])) for bit in bits}
                )
                for name, bits in entry.items()
            }
            if all(len(set(begins[name].values())) == len(set(before[name].values())) for name in begins):
                return behind

    def _identity(self, point: Point, bit: Bit, known: Mapping[str, Mapping[Bit, int]]) -> object:
        """Return what tells a bit's value behind a step from others, given what is alike before it."""
        source = self.steps[point].source(bit) if point != START else ("came", bit)
        if source is None:
            return "alike", known[point][bit]
        if isinstance(source, tuple) and source in known.get(point, {}):
            return "alike", known[point][source]  # type: ignore[index]
        return source

    @cached_property
    def places(self) -> Places:
        """The places of all bits."""
        context = _Context(self.held, self.alike)
        for bit in (*self.held[START], *(bit for step in self.steps.values() for bit in _bits(step.written))):
            context.put(bit, self._kin.get(bit, {}))
        at = {name: tuple(context.at.get((name, k), NOWHERE) for k in range(size)) for name, size in self.sizes.items()}
        writes = {name: self._written(name, context.at) for name in self.steps}
        return Places(at, max(1, len(context.taken)), writes, {context.at[bit]: bit for bit in self.held[START]})

    @cached_property
    def _kin(self) -> dict[Bit, dict[Bit, None]]:
        """By bit, those that it may be a copy of, and those that may be copies of it."""
        neighbours: dict[Bit, dict[Bit, None]] = {}
        for step in self.steps.values():
            for bit in _bits(step.written):
                for one in step.kin(bit):
                    neighbours.setdefault(bit, {})[one] = None
                    neighbours.setdefault(one, {})[bit] = None
        return neighbours

    def _written(self, name: str, at: Mapping[Bit, int]) -> dict[int, Bit]:
        """Return what a step puts where; what it copies from the same place stays there."""
        written: dict[int, Bit] = {}
        for bit in self.held[name]:
            source = self.steps[name].source(bit)
            if source is not None and at.get(source) != at[bit]:  # type: ignore[arg-type]
                written.setdefault(at[bit], bit)
        return written


class _Context:
    """Places as they are taken: of each, what is held there by point, as a number that those alike share."""

    def __init__(self, held: Mapping[Point, Iterable[Bit]], alike: Mapping[Point, Mapping[Bit, int]]) -> None:
        self.at: dict[Bit, int] = {}
        self.taken: list[dict[Point, int]] = []
        self._wants: dict[Bit, dict[Point, int]] = {}
        self._busy: list[int] = []  # of each place, its points as bits of a number
        self._where: dict[tuple[Point, int], int] = {}  # the place of those alike
        self._order = {point: k for k, point in enumerate(held)}
        for point, bits in held.items():
            for bit in bits:
                self._wants.setdefault(bit, {})[point] = alike[point][bit]

    def put(self, bit: Bit, kin: Iterable[Bit]) -> None:
        """Give a bit its place, if it is held anywhere and has none."""
        wants = self._wants.get(bit)
        if wants is None or bit in self.at:
            return
        points = sum(1 << self._order[point] for point in wants)
        near = [self.at[one] for one in kin if one in self.at]
        near += [self._where[one] for one in wants.items() if one in self._where]
        fit = next((place for place in near if self._fits(place, wants)), None)
        if fit is None:
            fit = next((k for k, busy in enumerate(self._busy) if not busy & points), len(self.taken))
        if fit == len(self.taken):
            self.taken.append({})
            self._busy.append(0)
        self.taken[fit] |= wants
        self._busy[fit] |= points
        self._where |= dict.fromkeys(wants.items(), fit)
        self.at[bit] = fit

    def _fits(self, place: int, wants: Mapping[Point, int]) -> bool:
        there = self.taken[place]
        return all(there.get(point, number) == number for point, number in wants.items())


def _followers(program: LoweredProgram, name: str) -> list[str]:
    return [one for one in program.steps[name].goes if one == ENDS or one in program.steps]


def _bits(registers: Mapping[str, tuple[Source, ...]]) -> Iterator[Bit]:
    return ((name, k) for name, bits in registers.items() for k in range(len(bits)))


def _numbered(bits: Mapping[Bit, object]) -> dict[Bit, int]:
    numbers: dict[object, int] = {}
    return {bit: numbers.setdefault(one, len(numbers)) for bit, one in bits.items()}


def places_of(program: LoweredProgram) -> Places:
    """Return where the registers of a program stand in a context."""
    return Allocation(program).places
