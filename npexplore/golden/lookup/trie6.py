"""IPv6 lookup: a trie with six levels over the first 64 bits, and further levels for longer prefixes.

Lavasani, Dennison, Chiou, "Compiling high throughput network processors", FPGA 2012, section 4.2: like the IPv4 trie,
with six levels instead of three; the paper does not specify the strides. Here the first level has 20 bits as in IPv4,
the second ends at /32, the usual allocation, the others have 8 bits: 11.5 million words and 3.5 reads per lookup for
the 160,147 routes of a full IPv6 table (data/README.md). Strides of 19, 13, 6, 6, 6, 14 would need the fewest words
(8.8 million, by the dynamic programme of Srinivasan, Varghese, ACM TOCS 17(1), 1999), but 4.1 reads.

The other 64 bits are interface identifiers (RFC 4291 section 2.5.4), but a router must match longer prefixes too (RFC
7608): routes beyond /64 are below the sixth level, 8 bits per level.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from npexplore._kernels import golden_multibit as kernels
from npexplore.golden.lookup.family import IPV6
from npexplore.golden.lookup.multibit import WordTrie

SIX = (20, 12, 8, 8, 8, 8)
BEYOND = (8,) * 8


class Storage6(NamedTuple):
    """Entries of each of the six levels, of all levels beyond them, and words in total."""

    prefixes: int
    level_entries: tuple[int, ...]
    beyond_entries: int
    total_words: int


class SixLevelTrie(WordTrie):
    """IPv6 lookup by a six-level trie: one read per level down to a leaf; up to 14 reads for routes beyond /64.

    Example:
        >>> from npexplore.golden import SixLevelTrie
        >>> SixLevelTrie.from_routes([("2001:db8::/32", 1)]).lookup("2001:db8::1")
        1
    """

    source = "Gorilla, section 4.2; RFC 7608"
    family = IPV6
    STRIDES = SIX + BEYOND
    TABLES = tuple(f"level{number}" for number in range(1, len(STRIDES) + 1))
    ENTRIES_PER_WORD = (1,) * len(STRIDES)
    _SHIFTS = 64 - np.cumsum(SIX)

    def storage(self) -> Storage6:
        """Return the entries per level and the words that the routes occupy."""
        return Storage6(len(self), self.entries[: len(SIX)], sum(self.entries[len(SIX) :]), self.words)

    def _lookup_many(self, address: NDArray[np.uint64], out: NDArray[np.int32]) -> None:
        levels, levels_beyond = self._entries[: len(SIX)], self._entries[len(SIX) :]
        kernels.lookup_six(
            address, levels, levels_beyond, self._SHIFTS, self._strides[: len(SIX)], self._limit, self._hops.value, out
        )
