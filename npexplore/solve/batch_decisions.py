"""A decision that a model takes for a whole batch: where its points do not agree, the batch is divided and asked again.

So a point's answer does not depend on the points that are answered with it.
"""

import numpy as np
import numpy.typing as npt


class DividedError(Exception):
    """Points of a batch would be answered in two ways; of_points (P,): who in the first."""

    def __init__(self, of_points: npt.NDArray[np.bool_]) -> None:
        super().__init__("the points of a batch do not agree")
        self.of_points = of_points


def agreed(of_points: npt.ArrayLike) -> bool:
    """Return what every point of a batch says (P,), or one answer for all (); raises DividedError where they differ."""
    flags = np.atleast_1d(np.asarray(of_points, dtype=np.bool_))
    if flags.all():
        return True
    if not flags.any():
        return False
    raise DividedError(flags)
