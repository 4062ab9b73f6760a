"""Values that users may set: a number in its range or of a list, whole or not, or one word of a list."""

from collections.abc import Sequence

from npexplore.errors import InputError
from npexplore.units import quantity, split

Value = str | int | float
SMALLEST, LARGEST = 1e-18, 1e18  # of numbers, whatever their unit: products of several are finite
Choices = Sequence[str | int]  # words, or numbers


def words(choices: Choices) -> list[str]:
    """Return choices that are words; none where they are numbers."""
    return [one for one in choices if isinstance(one, str)]


def checked(
    subject: str, value: Value, whole: bool, low: float | None, high: float | None, choices: Choices, unit: str
) -> Value:
    """Return a value as what it must be: one of `choices`, or a finite (whole) number in low..high; or InputError.

    A number may be a text with a unit of its own (`312.5 ps`), which becomes a number in `unit`.
    """
    if said := words(choices):
        if str(value) not in said:
            raise InputError(f"{subject} must be one of {', '.join(said)}, got {value!r}")
        return str(value)
    behind = "" if unit in ("", "1") else f" {unit}"
    least = -float("inf") if low is None else low
    span = f"at least {least:g}" if high is None else f"in {least:g}..{high:g}"
    must = f"a {'whole ' if whole else ''}number"
    if low is not None or high is not None:
        must += f" {'of ' if high is None else ''}{span}{behind}"
    try:
        number = float(value if str(value).isascii() else "digits of other scripts")
    except ValueError:
        if unit == "" or split(str(value)) is None:
            raise InputError(f"{subject} must be {must}, got {value!r}") from None
        number = quantity(subject, str(value), unit)
    if number != number or abs(number) == float("inf"):
        raise InputError(f"{subject} must be finite, got {value!r}")
    if number and not SMALLEST <= abs(number) <= LARGEST:
        raise InputError(f"{subject} must be 0 or of a size in {SMALLEST:g}..{LARGEST:g}, got {value!r}")
    if whole and number != int(number):
        raise InputError(f"{subject} must be {must}, got {value!r}")
    if choices and number not in choices:
        raise InputError(f"{subject} must be one of {', '.join(map(str, choices))}{behind}, got {value!r}")
    if (low is not None and number < low) or (high is not None and number > high):
        raise InputError(f"{subject} must be {span}{behind}, got {value!r}")
    return int(number) if whole else number
