"""Roots of many falling functions at once: regula falsi with the Illinois step.

Dowell and Jarratt, BIT 11, 1971: the value at an end that stays twice is halved, so that both ends converge.
"""

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
STEPS = 60
TOLERANCE = 1e-10  # relative


def crossing(excess: Callable[[Floats], Floats], low: Floats, high: Floats) -> Floats:
    """Return x (P,) in low..high where a falling function (P,) -> (P,) turns negative; high where it never does.

    The last call of the function is at the returned x.
    """
    above = excess(high)
    if (above >= 0).all():
        return high
    below = excess(low)
    root = np.where(above >= 0, high, low)
    done = (above >= 0) | (below <= 0)
    stayed = np.zeros(len(low))  # which end stayed in the last step: 1 the upper, -1 the lower
    for _ in range(STEPS):
        x = (low * above - high * below) / np.where(above == below, -1.0, above - below)
        x = np.where(done, root, np.clip(x, low, high))
        value = excess(x)
        positive = value >= 0
        near = (high - low <= TOLERANCE * high) | (np.abs(value) <= TOLERANCE * x)
        root, done = np.where(done, root, x), done | near
        if done.all():
            break
        above = np.where(positive, np.where(stayed == 1, above / 2, above), value)
        below = np.where(positive, value, np.where(stayed == -1, below / 2, below))
        low, high = np.where(positive, x, low), np.where(positive, high, x)
        stayed = np.where(positive, 1, -1)
    return root
