"""The scratchpad layout of an engine: addresses of a thread's fields in block RAM (Secs. 4, 4.1: address translation).

    address = thread x words + word        fields are in program order; a field that does not fit into the rest of a
                                            word starts a new word, so that reading it takes the fewest accesses

The compiler determines the word and first bit of each field; the engine adds the number of its thread.
"""

from __future__ import annotations

from dataclasses import dataclass

from npexplore.errors import InputError, one_of
from npexplore.machine.step_programs.compiler import Compiled
from npexplore.records import content_hash


@dataclass(frozen=True)
class Place:
    """The position of a field: its first word, the first bit in that word, and its number of bits."""

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
        """Return the bits of block RAM that a number of threads takes."""
        return threads * self.words * self.width_bits


def scratchpad(compiled: Compiled) -> Scratchpad:
    """Return the layout of a compiled program's fields."""
    width, next_bit, places = compiled.width_bits, 0, dict[str, Place]()
    for name, field in compiled.program.fields.items():
        remaining = -next_bit % width
        if field.bits > remaining:
            next_bit += remaining
        places[name] = Place(next_bit // width, next_bit % width, field.bits)
        next_bit += field.bits
    return Scratchpad(width, -(-next_bit // width), places)
