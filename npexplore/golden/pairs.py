"""A function in two forms: a reference for one packet, and a batch form for columns; a law test compares them."""

from collections.abc import Callable
from typing import Any, NamedTuple


class Pair(NamedTuple):
    """The batch form gets a column for each argument of the reference: `Packets` for packets, arrays for numbers.

    strategy: the function of `npexplore.testing.strategies` that draws one case (arguments as a tuple, if several).
    context: the one that draws arguments which all cases share; both forms get them last. The batch form may return an
    array, `Packets`, or a tuple of such.
    """

    reference: Callable[..., Any]
    batch: Callable[..., Any]
    strategy: str
    context: str | None = None
