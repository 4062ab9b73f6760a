"""IPv6 lookup: six levels over the 64 bits that networks are told apart by, further levels for longer routes.

Lavasani, Dennison, Chiou, "Compiling high throughput network processors", FPGA 2012, section 4.2: like the IPv4 trie,
with six levels for three; the paper leaves the strides open. Here the first level has 20 bits as there, the second ends
at /32, where networks are given out, and then a byte a level: 11.5 million words and 3.5 reads a lookup for the 160,147
routes of a full IPv6 table (data/README.md). Strides of 19, 13, 6, 6, 6, 14 would need the fewest words (8.8 million,
by the dynamic programme of Srinivasan, Varghese, ACM TOCS 17(1), 1999), but 4.1 reads.

Interface identifiers fill the other 64 bits (RFC 4291 section 2.5.4), but a router must not stop there (RFC
7608): routes beyond /64 hang below the sixth level, 8 bits a level.
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
    """Entries of each of the six levels, of all levels beyond them, and words in all."""

    prefixes: int
    level_entries: tuple[int, ...]
    beyond_entries: int
    total_words: int


class SixLevelTrie(WordTrie):
    """IPv6 lookup by a trie of six levels, one read each down to a leaf; up to 14 reads if a route exceeds 64 bits.

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
        """Return how many entries and words the routes take."""
        return Storage6(len(self), self.entries[: len(SIX)], sum(self.entries[len(SIX) :]), self.words)

    def _lookup_many(self, address: NDArray[np.uint64], out: NDArray[np.int32]) -> None:
        levels, rest = self._entries[: len(SIX)], self._entries[len(SIX) :]
        kernels.lookup_six(
            address, levels, rest, self._SHIFTS, self._strides[: len(SIX)], self._limit, self._hops.value, out
        )
