"""The colours of a policer's verdict (RFC 2697, RFC 2698, RFC 4115): green conforms, yellow exceeds, red violates."""

from enum import IntEnum


class Colour(IntEnum):
    """A packet's colour; a larger number is worse.

    Example:
        >>> from npexplore.golden import Colour
        >>> Colour.GREEN < Colour.RED
        True
    """

    GREEN = 0
    YELLOW = 1
    RED = 2
