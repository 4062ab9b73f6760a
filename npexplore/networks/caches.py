"""A cache of items as rows of the event engine: its places are globals, the one that gives way last."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from npexplore._kernels import engine
from npexplore.networks.records import Cache
from npexplore.rows.assembler import Assembler, Label
from npexplore.rows.expressions import Variable


@dataclass(frozen=True)
class KeptItems:
    """What a cache holds. table: of the items' chances to be asked for. first: the global of the first place."""

    name: str
    cache: Cache
    table: int
    first: int

    @classmethod
    def declare(cls, asm: Assembler, name: str, cache: Cache) -> KeptItems:
        """Give a cache its globals, filled with the first items."""
        rising = np.round(np.cumsum(cache.chances()) * 2.0**53).astype(np.int64)
        table = asm.table(np.stack([np.arange(cache.items), rising], axis=1))
        return cls(name, cache, table, min(asm.new_global(item) for item in range(cache.places)))

    def ask(self, asm: Assembler, hit: Label, missed: Label, source: str) -> None:
        """Draw an item, keep it, and go on where it was there or was not. source: names the random numbers."""
        again = Label()
        with asm.scope():
            item, at = Variable("item"), Variable("place")
            asm.emit(engine.DRAW, (self.table, 0), slot=asm.register(item), x=engine.EMPIRICAL, source=f"item.{source}")
            asm.let(at, 0)
            if self.cache.replace == "lru":  # the item goes first, the others move by one as far as its old place
                carried = Variable("carried")
                asm.let(carried, item)
                asm.place(again)
                with asm.scope():
                    old = asm.read(at + self.first)
                    asm.write(at + self.first, carried)
                    asm.jump(hit, old == item)
                    asm.assign(carried, old)
                asm.assign(at, at + 1)
                asm.jump(again, at < self.cache.places)
            else:
                asm.place(again)
                with asm.scope():
                    asm.jump(hit, asm.read(at + self.first) == item)
                asm.assign(at, at + 1)
                asm.jump(again, at < self.cache.places)
                place = Variable("place to take")
                if self.cache.replace == "random":
                    asm.draw(place, self.cache.places, f"out.{source}")
                else:
                    asm.fetch_add(place, asm.shared_global(f"oldest.{self.name}"), 1)
                asm.write(place % self.cache.places + self.first, item)
            asm.jump(missed)
