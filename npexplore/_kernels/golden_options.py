"""Options of many IPv4 headers: the first fault of each, by the rules of golden/ipv4/options.py.

Packets lie in `buffer` (uint8) at offset, length bytes each, and may be malformed in any way.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from npexplore.jit import kernel

Array = NDArray[Any]
SHORTEST, SOUND = 20, -1
END, NOP, RECORD_ROUTE, TIMESTAMP, LOOSE_ROUTE, STRICT_ROUTE, ROUTER_ALERT = 0, 1, 7, 68, 131, 137, 148
TS_ONLY, TS_ADDRESS, TS_PRESPECIFIED = 0, 1, 3


@kernel()
def _fault(buffer: Array, a: int, kind: int, size: int) -> int:
    """Return which octet of the option at `a` is wrong, SOUND for none."""
    if kind == RECORD_ROUTE or kind == LOOSE_ROUTE or kind == STRICT_ROUTE:
        if size < 3:
            return 1
        pointer = np.int64(buffer[a + 2])
        if pointer < 4 or (kind == RECORD_ROUTE and size - 3 < pointer <= size):
            return 2
    elif kind == TIMESTAMP:
        if size < 4:
            return 1
        pointer = np.int64(buffer[a + 2])
        flag = np.int64(buffer[a + 3]) & 15
        if pointer < 5:
            return 2
        if flag != TS_ONLY and flag != TS_ADDRESS and flag != TS_PRESPECIFIED:
            return 3
        if pointer > size:
            return 3 if buffer[a + 3] >> 4 == 15 and flag != TS_PRESPECIFIED else SOUND
        if pointer + (4 if flag == TS_ONLY else 8) - 1 > size:
            return 2
    elif kind == ROUTER_ALERT and size < 4:
        return 1
    return SOUND


@kernel()
def faults(buffer: Array, offset: Array, length: Array, out: Array) -> None:
    """Fill out (int16) with the place in the header of the first wrong octet of the options, SOUND for none."""
    for i in range(len(offset)):
        out[i] = SOUND
        if length[i] == 0:
            continue
        o = offset[i]
        end = min(4 * (np.int64(buffer[o]) & 15), length[i])
        at = SHORTEST
        recorded = stamped = routed = False
        while at < end and buffer[o + at] != END:
            kind = np.int64(buffer[o + at])
            if kind == NOP:
                at += 1
                continue
            size = np.int64(buffer[o + at + 1]) if at + 1 < end else 0
            if size < 2 or at + size > end:
                out[i] = at
                break
            source_route = kind == LOOSE_ROUTE or kind == STRICT_ROUTE
            again = (recorded and kind == RECORD_ROUTE) or (stamped and kind == TIMESTAMP) or (routed and source_route)
            wrong = 0 if again else _fault(buffer, o + at, kind, size)
            if wrong != SOUND:
                out[i] = at + wrong
                break
            recorded |= kind == RECORD_ROUTE
            stamped |= kind == TIMESTAMP
            routed |= source_route
            at += size
