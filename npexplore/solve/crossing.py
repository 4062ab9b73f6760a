"""Where falling functions turn negative, many at once: regula falsi with the Illinois step.

Dowell and Jarratt, BIT 11, 1971: the end that stays twice counts half, so that both ends close in.
"""

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
STEPS = 60
TOLERANCE = 1e-10  # relative


def crossing(excess: Callable[[Floats], Floats], low: Floats, high: Floats) -> Floats:
    """Return x (P,) of low..high where a falling function (P,) -> (P,) turns negative; high where it never does.

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
        at = (low * above - high * below) / np.where(above == below, -1.0, above - below)
        at = np.where(done, root, np.clip(at, low, high))
        here = excess(at)
        positive = here >= 0
        near = (high - low <= TOLERANCE * high) | (np.abs(here) <= TOLERANCE * at)
        root, done = np.where(done, root, at), done | near
        if done.all():
            break
        above = np.where(positive, np.where(stayed == 1, above / 2, above), here)
        below = np.where(positive, here, np.where(stayed == -1, below / 2, below))
        low, high = np.where(positive, at, low), np.where(positive, high, at)
        stayed = np.where(positive, 1, -1)
    return root
