"""Counters of 72 bits: 64 in `low` (uint64), 8 in `high` (uint8), three a flow; adding carries and wraps."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from npexplore.jit import kernel

Array = NDArray[Any]


@kernel()
def count(flow: Array, more: Array, low: Array, high: Array) -> None:
    """Add one to the first counter of each packet's flow, and more (n, 2) to the others."""
    for i in range(len(flow)):
        f = flow[i]
        for k in range(3):
            amount = np.uint64(1) if k == 0 else np.uint64(more[i, k - 1])
            old = low[f, k]
            low[f, k] = old + amount
            if low[f, k] < old:
                high[f, k] += 1
