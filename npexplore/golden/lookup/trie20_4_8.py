"""The IPv4 lookup of the Gorilla network processor: a three-level trie of 20, 4 and 8 bits in 18-bit words.

Lavasani, Dennison, Chiou, "Compiling high throughput network processors", FPGA 2012, section 4.2 and Fig. 6.

An entry of the first two levels is one word. Entries of the last level are only next hops, of half a word, so two share
a word (Fig. 6: words = level 1 + level 2 + level 3 / 2). A word below 2^9 is a leaf, any other word is 2^9 plus the
number of a node. The paper does not specify this encoding; with it, 18 bits address 261,632 nodes.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from npexplore._kernels import golden_multibit as kernels
from npexplore.golden.lookup.multibit import WordTrie


class Storage(NamedTuple):
    """A row of the storage table: entries of each level, and words in total."""

    prefixes: int
    level1_entries: int
    level2_entries: int
    level3_entries: int
    total_words: int


class Trie20_4_8(WordTrie):  # noqa: N801 (the name says the strides)
    """Gorilla's IPv4 lookup: a trie with strides of 20, 4 and 8 bits; one read per level down to a leaf.

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
        """Return the entries per level and the words that the routes occupy, as counted in Fig. 6."""
        level1, level2, level3 = self.entries
        return Storage(len(self), level1, level2, level3, self.words)

    def _lookup_many(self, address: NDArray[np.uint32], out: NDArray[np.int32]) -> None:
        level1, level2, level3 = self._entries
        strides = self.STRIDES[1:]
        kernels.lookup_three(address, level1, level2, level3, *strides, self._limit, self._hops.value, out)
