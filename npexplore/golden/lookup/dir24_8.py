"""DIR-24-8-BASIC lookup: one read for prefixes of up to 24 bits, two for longer ones.

Gupta, Lin, McKeown, "Routing lookups in hardware at memory access speeds", IEEE INFOCOM 1998. tbl24 has a 16-bit entry
for each value of the first 24 address bits. Its first bit says whether the other 15 are the number of a next hop or of
a segment of tbl8. A segment has an entry for each value of the last 8 address bits.
"""

import numpy as np
from numpy.typing import NDArray

from npexplore._kernels import golden_multibit as kernels
from npexplore.errors import InputError
from npexplore.golden.lookup.multibit import MultibitTrie

POINTER = 1 << 15


class Dir24_8(MultibitTrie):  # noqa: N801 (the name of the scheme)
    """DIR-24-8: longest prefix match by a table over the first 24 address bits, and segments for longer prefixes.

    segments: capacity of tbl8, in segments. next_hops: maximum number of different next hops in use.

    Example:
        >>> from npexplore.golden import Dir24_8
        >>> table = Dir24_8.from_routes([("10.0.0.0/8", 1), ("10.0.0.7/32", 2)])
        >>> table.lookup_many([0x0A000007, 0x0A000008]).tolist(), table.segments
        ([2, 1], 1)
    """

    source = "Gupta, Lin, McKeown 1998, section II (DIR-24-8-BASIC)"
    STRIDES = (24, 8)
    TABLES = ("tbl24", "tbl8")
    ENTRIES_PER_WORD = (1, 1)
    ENTRY = np.uint16
    NODE = "segment"

    def __init__(self, *, segments: int = POINTER, next_hops: int = POINTER - 1) -> None:
        if not 0 <= segments <= POINTER:
            raise InputError(f"segments of DIR-24-8 must be 0 to {POINTER}, got {segments}")
        if not 1 <= next_hops < POINTER:
            raise InputError(f"next hops of DIR-24-8 must be 1 to {POINTER - 1}, got {next_hops}")
        super().__init__(limit=POINTER, next_hops=next_hops, nodes=(segments,))

    @property
    def segments(self) -> int:
        """Segments of tbl8 in use."""
        return self.nodes[1]

    def _lookup_many(self, address: NDArray[np.uint32], out: NDArray[np.int32]) -> None:
        tbl24, tbl8 = self._entries
        kernels.lookup_two(address, tbl24, tbl8, self.STRIDES[1], self._limit, self._hops.value, out)
