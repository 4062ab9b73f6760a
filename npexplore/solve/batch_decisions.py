"""A decision that a model takes for a whole batch: if its points do not agree, the batch is split and solved again.

So the answer at a point does not depend on the other points of its batch.
"""

import numpy as np
import numpy.typing as npt


class DividedError(Exception):
    """Points of a batch need two solution methods; of_points (P,): the points that need the first one."""

    def __init__(self, of_points: npt.NDArray[np.bool_]) -> None:
        super().__init__("the points of a batch do not agree")
        self.of_points = of_points


def agreed(of_points: npt.ArrayLike) -> bool:
    """Return the flag that all points of a batch share, (P,) or (); raises DividedError where they differ."""
    flags = np.atleast_1d(np.asarray(of_points, dtype=np.bool_))
    if flags.all():
        return True
    if not flags.any():
        return False
    raise DividedError(flags)
