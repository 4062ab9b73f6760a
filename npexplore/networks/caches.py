"""A cache of items as rows of the event engine: its places are globals, for LRU in order of last use."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from npexplore._kernels import engine
from npexplore.networks.records import Cache
from npexplore.rows.assembler import Assembler, Label
from npexplore.rows.expressions import Variable


@dataclass(frozen=True)
class KeptItems:
    """The content of a cache. table: request probabilities of the items. first: the global of the first place."""

    name: str
    cache: Cache
    table: int
    first: int

    @classmethod
    def declare(cls, asm: Assembler, name: str, cache: Cache) -> KeptItems:
        """Create the globals of a cache, filled with the first items."""
        rising = np.round(np.cumsum(cache.chances()) * 2.0**53).astype(np.int64)
        table = asm.table(np.stack([np.arange(cache.items), rising], axis=1))
        return cls(name, cache, table, min(asm.new_global(item) for item in range(cache.places)))

    def ask(self, asm: Assembler, hit: Label, missed: Label, source: str) -> None:
        """Draw an item, insert it, and go to `hit` or `missed`. source: name of the random stream."""
        next_place = Label()
        with asm.scope():
            item, position = Variable("item"), Variable("place")
            asm.emit(engine.DRAW, (self.table, 0), slot=asm.register(item), x=engine.EMPIRICAL, source=f"item.{source}")
            asm.let(position, 0)
            if self.cache.replace == "lru":  # the item moves to the front; those in front of it move back by one
                carried = Variable("carried")
                asm.let(carried, item)
                asm.place(next_place)
                with asm.scope():
                    stored = asm.read(position + self.first)
                    asm.write(position + self.first, carried)
                    asm.jump(hit, stored == item)
                    asm.assign(carried, stored)
                asm.assign(position, position + 1)
                asm.jump(next_place, position < self.cache.places)
            else:
                asm.place(next_place)
                with asm.scope():
                    asm.jump(hit, asm.read(position + self.first) == item)
                asm.assign(position, position + 1)
                asm.jump(next_place, position < self.cache.places)
                evicted = Variable("place to take")
                if self.cache.replace == "random":
                    asm.draw(evicted, self.cache.places, f"out.{source}")
                else:
                    asm.fetch_add(evicted, asm.shared_global(f"oldest.{self.name}"), 1)
                asm.write(evicted % self.cache.places + self.first, item)
            asm.jump(missed)
