"""The scratchpad of an engine: where a thread's fields stand in block RAM (Secs. 4, 4.1: address translation).

    address = thread x words + word        fields stand in the order of the text; one that does not fit into what is
                                            left of a word begins a new one, so that no field is read more often
                                            than its bits ask for
The compiler knows word and first bit of each field; the engine puts its thread's number in front.
"""

from __future__ import annotations

from dataclasses import dataclass

from npexplore.errors import InputError, one_of
from npexplore.machine.step_programs.compiler import Compiled
from npexplore.records import content_hash


@dataclass(frozen=True)
class Place:
    """Where a field stands: its first word, the first bit in it, and how many bits it has."""

    word: int
    first_bit: int
    bits: int


@dataclass(frozen=True)
class Scratchpad:
    """The layout for one thread: places by field, words of `width_bits`.

    Example:
        >>> from npexplore.step_programs import Scratchpad
        >>> Scratchpad(128, 4, {}).words
        4
    """

    __hash__ = content_hash

    width_bits: int
    words: int
    places: dict[str, Place]

    def addresses(self, thread: int, field: str) -> range:
        """Return the block RAM addresses that hold a thread's field; raises InputError, UnknownNameError."""
        if thread < 0:
            raise InputError(f"a thread's number must be 0 or more, got {thread}")
        place = self.places[one_of("field", field, self.places)]
        first = thread * self.words + place.word
        return range(first, first - (-(place.first_bit + place.bits) // self.width_bits))

    def bits(self, threads: int) -> int:
        """Return the bits of block RAM that so many threads take."""
        return threads * self.words * self.width_bits


def scratchpad(compiled: Compiled) -> Scratchpad:
    """Return the layout of a compiled program's fields."""
    width, at, places = compiled.width_bits, 0, dict[str, Place]()
    for name, field in compiled.program.fields.items():
        left = -at % width
        if field.bits > left:
            at += left
        places[name] = Place(at // width, at % width, field.bits)
        at += field.bits
    return Scratchpad(width, -(-at // width), places)
