"""Amounts of packets side by side, each a number or an array (shape n): sums, and one for each packet."""

from typing import Any

import numpy as np
import numpy.typing as npt

from npexplore.rows.expressions import Values


def any_of(flags: Any) -> bool:
    """Say whether a flag, or one of several, is set."""
    return bool(flags.any()) if type(flags) is np.ndarray else bool(flags)


def total_of(amounts: Values) -> float:
    """Return the sum of amounts (shape n)."""
    return float(np.add.reduce(amounts))


def for_each(amount: Any, packets: npt.NDArray[Any]) -> Values:
    """Return an amount for each of some packets (shape n)."""
    if type(amount) is np.ndarray and amount.shape == packets.shape:
        return amount
    return np.broadcast_to(amount, packets.shape)


def repeated(amounts: Values, times: int) -> Values:
    """Return amounts (shape n) so many times, one after the other."""
    return np.concatenate([amounts] * times)
