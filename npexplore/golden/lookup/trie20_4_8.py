"""Three-level trie of 20, 4 and 8 address bits in 18-bit words, the lookup of the Gorilla network processor.

Lavasani, Dennison, Chiou, "Compiling high throughput network processors", FPGA 2012, section 4.2 and Fig. 6.

An entry of the first two levels fills a word. Entries of the last level are next hops alone, so that two share a word
(Fig. 6: words = level 1 + level 2 + level 3 / 2) and a next hop has half a word's bits. A word below 2^9 is a leaf, any
other the number of a node plus 2^9: the paper leaves the code open, and with this one 18 bits reach 261,632 nodes.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from npexplore._kernels import golden_multibit as kernels
from npexplore.golden.lookup.multibit import WordTrie


class Storage(NamedTuple):
    """A row of the storage table: entries of each level, and words in all."""

    prefixes: int
    level1_entries: int
    level2_entries: int
    level3_entries: int
    total_words: int


class Trie20_4_8(WordTrie):  # noqa: N801 (the name says the strides)
    """Gorilla's IPv4 lookup: a trie of three levels over 20, 4 and 8 address bits, one read each down to a leaf.

    word_bits: bits of a memory word (even, 4 to 32).

    Example:
        >>> from npexplore.golden import Trie20_4_8
        >>> Trie20_4_8.from_routes([("10.0.0.0/8", 1)]).lookup("10.1.2.3")
        1
    """

    source = "Gorilla, section 4.2 and Fig. 6"
    STRIDES = (20, 4, 8)
    TABLES = ("level1", "level2", "level3")
    ENTRIES_PER_WORD = (1, 1, 2)

    def storage(self) -> Storage:
        """Return how many entries and words the routes take, as Fig. 6 counts them."""
        first, second, third = self.entries
        return Storage(len(self), first, second, third, self.words)

    def _lookup_many(self, address: NDArray[np.uint32], out: NDArray[np.int32]) -> None:
        first, second, third = self._entries
        strides = self.STRIDES[1:]
        kernels.lookup_three(address, first, second, third, *strides, self._limit, self._hops.value, out)
