"""Values that users may set: a number in its range, whole or not, or one word of a list."""

from __future__ import annotations

from collections.abc import Sequence

from npexplore.errors import InputError
from npexplore.units import quantity, split

Value = str | int | float


def checked(
    subject: str, value: Value, whole: bool, low: float | None, high: float | None, choices: Sequence[str], unit: str
) -> Value:
    """Return a value as what it must be: text of `choices`, or a finite (whole) number in low..high; or InputError.

    A number may be a text with a unit of its own (`312.5 ps`), which becomes a number in `unit`.
    """
    if choices:
        if str(value) not in choices:
            raise InputError(f"{subject} must be one of {', '.join(choices)}, got {value!r}")
        return str(value)
    try:
        number = float(value)
    except ValueError:
        if unit == "" or split(str(value)) is None:
            raise InputError(f"{subject} must be a number, got {value!r}") from None
        number = quantity(subject, str(value), unit)
    if number != number or abs(number) == float("inf"):
        raise InputError(f"{subject} must be finite, got {value!r}")
    if whole and number != int(number):
        raise InputError(f"{subject} must be a whole number, got {value!r}")
    if (low is not None and number < low) or (high is not None and number > high):
        least = -float("inf") if low is None else low
        span = f"at least {least:g}" if high is None else f"in {least:g}..{high:g}"
        raise InputError(f"{subject} must be {span}{'' if unit in ('', '1') else ' ' + unit}, got {value!r}")
    return int(number) if whole else number
