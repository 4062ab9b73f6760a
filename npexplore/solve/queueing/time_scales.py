"""Arrivals that vary over some time: how much of it a queue meets, by its load.

    Z = sup_t { -(1 - r) t + sqrt(2 r s t (I(t) + c_s^2)) },     I = 2 (1 - r) Z / (r s) - c_s^2

I(t) is the index of dispersion of what arrives in t, s the mean service, r the load, c_s^2 the variation of services:
robust queueing (Whitt and You, Operations Research 66, 2018). A queue that is soon empty again does not live to see
what varies in a long time; one near saturation does. With one I for all times that I is returned.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
DECADES = (-2, 10)  # of time, in services
POINTS = 600
FULL = 1 - 1e-6


def dispersion_met(
    over: Callable[[Floats], Floats], offered: Floats, full: Floats, scv: Floats | float = 1.0
) -> Floats:
    """Return the index of dispersion (P,) that queues meet: one for all times, which makes them as long.

    over: the index of dispersion over times in seconds, an array. offered, full: customers a second that come, and that
    are served at most; a load of 1 and above counts as almost 1. scv: of services.
    """
    load, service = np.minimum(offered / full, FULL)[:, None], 1.0 / full[:, None]
    varies = np.broadcast_to(np.asarray(scv, dtype=np.float64), full.shape)
    t = service * np.logspace(*DECADES, POINTS)
    longest = np.max(-(1 - load) * t + np.sqrt(2 * load * service * t * (over(t) + varies[:, None])), axis=1)
    found = 2 * (1 - load[:, 0]) * longest / (load * service)[:, 0] - varies
    return np.asarray(np.clip(found, 0.0, None), dtype=np.float64)
