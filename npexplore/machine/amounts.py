"""Amounts per packet: each is an array (shape n), or a number that holds for all packets."""

from typing import Any

import numpy as np
import numpy.typing as npt

from npexplore.rows.expressions import Values


def any_of(flags: Any) -> bool:
    """Return whether a flag, or any flag of an array, is set."""
    return bool(flags.any()) if type(flags) is np.ndarray else bool(flags)


def total_of(amounts: Values) -> float:
    """Return the sum of amounts (shape n)."""
    return float(np.add.reduce(amounts))


def for_each(amount: Any, packets: npt.NDArray[Any]) -> Values:
    """Return an amount as an array with the shape of `packets`."""
    if type(amount) is np.ndarray and amount.shape == packets.shape:
        return amount
    return np.broadcast_to(amount, packets.shape)


def repeated(amounts: Values, times: int) -> Values:
    """Return `times` copies of amounts (shape n), concatenated."""
    return np.concatenate([amounts] * times)
