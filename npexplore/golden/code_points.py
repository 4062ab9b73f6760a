"""DS field code points by name, and their classes and colours.

AFxy = 8x + 2y (RFC 2597 section 6), EF = 46 (RFC 3246 section 2.7), CSx = 8x (RFC 2474 section 4.2.2), the default
BE = 0 (RFC 2474 section 4.1).
"""

from npexplore.errors import InputError, UnknownNameError
from npexplore.golden.police.colour import Colour

DSCP: dict[str, int] = {
    "BE": 0,
    **{f"CS{x}": 8 * x for x in range(1, 8)},
    **{f"AF{x}{y}": 8 * x + 2 * y for x in range(1, 5) for y in range(1, 4)},
    "EF": 46,
}
NAMES = {number: name for name, number in DSCP.items()}
MAX_DSCP = 63  # six bits (RFC 2474 section 3)
_ALIASES = {"DF": 0, "CS0": 0}  # other names of the default code point
_ASSURED = ("AF1", "AF2", "AF3", "AF4")


def dscp_number(name: str) -> int:
    """Return the code point of a name such as AF21, or of a number 0 to 63 as text; raises InputError."""
    upper = name.strip().upper()
    if upper.isdecimal():
        return _checked(int(upper))
    if upper not in DSCP and upper not in _ALIASES:
        raise UnknownNameError("DSCP", name, DSCP)
    return DSCP[upper] if upper in DSCP else _ALIASES[upper]


def dscp_name(number: int) -> str:
    """Return the name of a code point, its number as text if it has none; raises InputError."""
    return NAMES.get(_checked(number), str(number))


def class_dscp(name: str, colour: Colour = Colour.GREEN) -> int:
    """Return the code point of a class: AF1..AF4 depend on the colour (RFC 2597 section 2), others have one."""
    return DSCP[f"{name}{colour + 1}"] if name in _ASSURED else dscp_number(name)


def class_of(number: int) -> tuple[str, Colour]:
    """Return the class and colour of a code point; a code point without a name is BE (RFC 2474 section 3)."""
    name = NAMES.get(_checked(number), "BE")
    return (name[:3], Colour(int(name[3]) - 1)) if name.startswith("AF") else (name, Colour.GREEN)


def _checked(number: int) -> int:
    if not 0 <= number <= MAX_DSCP:
        raise InputError(f"DSCP must be 0 to {MAX_DSCP}, got {number}")
    return number
