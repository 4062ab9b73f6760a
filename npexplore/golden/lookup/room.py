"""Builds a lookup structure, or the next larger one if the routes do not fit: DIR-24-8, 20-4-8 trie, binary trie.

DIR-24-8 has 32,768 segments for prefixes longer than 24 bits and 32,767 next hops. The trie of 20, 4 and 8 bits with
32-bit words has 65,535 next hops and a node for every possible prefix. The binary trie has no limits.
"""

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray

from npexplore.errors import TableFullError
from npexplore.golden.lookup.base import Lpm
from npexplore.golden.lookup.binary_trie import BinaryTrie
from npexplore.golden.lookup.dir24_8 import Dir24_8
from npexplore.golden.lookup.trie20_4_8 import Trie20_4_8

LARGER: dict[type[Lpm], tuple[type[Lpm], dict[str, int]]] = {
    Dir24_8: (Trie20_4_8, {"word_bits": 32}),
    Trie20_4_8: (BinaryTrie, {}),
}


def with_room(
    structure: type[Lpm], value: NDArray[Any], length: NDArray[np.uint8], next_hop: NDArray[Any], **limits: int
) -> Lpm:
    """Return routes in a structure, or with a warning in the next larger one that has room.

    limits: keywords of the structure. All structures return the same next hops. Raises InputError for bad routes.
    """
    try:
        return structure.from_columns(value, length, next_hop, **limits)
    except TableFullError as error:
        if structure not in LARGER:
            raise
        larger, limits = LARGER[structure]
        warnings.warn(f"{structure.__name__}: {error}; {larger.__name__} takes its place", stacklevel=2)
        return with_room(larger, value, length, next_hop, **limits)
