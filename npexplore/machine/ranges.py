"""Checks of values that users set: a number in a range or from a list, whole or not, or a word from a list."""

from collections.abc import Sequence

from npexplore.errors import InputError
from npexplore.units import quantity, split

Value = str | int | float
SMALLEST, LARGEST = 1e-18, 1e18  # magnitudes allowed in any unit, so that products of several stay finite
Choices = Sequence[str | int]  # words, or numbers


def words(choices: Choices) -> list[str]:
    """Return the choices that are words."""
    return [choice for choice in choices if isinstance(choice, str)]


def checked(
    subject: str, value: Value, whole: bool, low: float | None, high: float | None, choices: Choices, unit: str
) -> Value:
    """Return a checked value: one of `choices`, or a finite (whole) number in low..high; raises InputError.

    A text with a unit (`312.5 ps`) becomes a number in `unit`.
    """
    if allowed := words(choices):
        if str(value) not in allowed:
            raise InputError(f"{subject} must be one of {', '.join(allowed)}, got {value!r}")
        return str(value)
    unit_text = "" if unit in ("", "1") else f" {unit}"
    least = -float("inf") if low is None else low
    span = f"at least {least:g}" if high is None else f"in {least:g}..{high:g}"
    requirement = f"a {'whole ' if whole else ''}number"
    if low is not None or high is not None:
        requirement += f" {'of ' if high is None else ''}{span}{unit_text}"
    try:
        number = float(value if str(value).isascii() else "digits of other scripts")
    except ValueError:
        if unit == "" or split(str(value)) is None:
            raise InputError(f"{subject} must be {requirement}, got {value!r}") from None
        number = quantity(subject, str(value), unit)
    if number != number or abs(number) == float("inf"):
        raise InputError(f"{subject} must be finite, got {value!r}")
    if number and not SMALLEST <= abs(number) <= LARGEST:
        raise InputError(f"{subject} must be 0 or of a size in {SMALLEST:g}..{LARGEST:g}, got {value!r}")
    if whole and number != int(number):
        raise InputError(f"{subject} must be {requirement}, got {value!r}")
    if choices and number not in choices:
        raise InputError(f"{subject} must be one of {', '.join(map(str, choices))}{unit_text}, got {value!r}")
    if (low is not None and number < low) or (high is not None and number > high):
        raise InputError(f"{subject} must be {span}{unit_text}, got {value!r}")
    return int(number) if whole else number
