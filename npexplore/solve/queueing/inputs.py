"""Checks of the queueing functions' arguments: arrays of points, with errors that name station and value."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from npexplore.errors import InputError

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Booleans = NDArray[np.bool_]

SHORTEST = 1e-250  # seconds: shortest cycle through a network, so that rates stay in double precision
LEAST_DIVISOR = 1e-12  # lower limit of divisors (rates, visits, seconds)


def as_floats(subject: str, values: ArrayLike) -> Floats:
    """Return `values` as float64, C-contiguous; raises InputError if they are not numbers."""
    try:
        return np.ascontiguousarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"{subject} must be numbers in a regular table, got {values!r}") from error


def label(index: int, names: Sequence[str] | None) -> str:
    """Return the text that names the station or class `index` in errors: its name, or else its number."""
    return repr(names[index]) if names is not None and index < len(names) else str(index)


def refuse_first(
    wrong: Booleans,
    values: NDArray[Any],
    subject: str,
    rule: str,
    names: Sequence[str] | None = None,
    axes: Sequence[str] = ("point", "station"),
) -> None:
    """Raise InputError for the first True of `wrong`, naming its place on `axes` and its value; else do nothing.

    `names` belong to the axis called station, or else to the last axis.
    """
    if not wrong.any():
        return
    place = np.argwhere(wrong)[0]
    named_axis = "station" if "station" in axes else axes[-1]
    where = ", ".join(
        f"{axis} {label(int(i), names) if axis == named_axis else int(i)}"
        for axis, i in sorted(zip(axes, place, strict=True), key=lambda pair: pair[0] != named_axis)
    )
    raise InputError(f"{subject} of {where} must be {rule}, got {values[tuple(place)]!s}")


def nonnegative(
    subject: str, values: ArrayLike, names: Sequence[str] | None = None, axes: Sequence[str] = ("point", "station")
) -> Floats:
    """Return `values` as floats with the given axes; raises InputError for NaN, infinite or negative ones."""
    table = as_floats(subject, values)
    if table.size and not (table.min() >= 0 and table.max() < np.inf):  # NaN is neither
        wrong = ~((table >= 0) & (table < np.inf))
        refuse_first(wrong, table, subject, "at least 0 and finite", names, axes)
    return table


def demand_table(values: ArrayLike, names: Sequence[str] | None = None) -> Floats:
    """Return demands in seconds as (P, K); one row (K,) is taken as one point. Raises InputError."""
    table = as_floats("demand", values)
    table = table[None, :] if table.ndim == 1 else table
    if table.ndim != 2:
        raise InputError(f"demands must have the axes (points, stations), got shape {table.shape}")
    if names is not None and len(names) != table.shape[1]:
        raise InputError(f"names must be one per station ({table.shape[1]}), got {len(names)}")
    return nonnegative("demand", table, names)


def per_point(subject: str, values: ArrayLike, points: int) -> Floats:
    """Return a nonnegative number for every point (P,) from one number or one per point. Raises InputError."""
    row = as_floats(subject, values)
    if row.shape not in ((), (1,), (points,)):
        raise InputError(f"{subject} must be one number or one per point ({points}), got shape {row.shape}")
    return nonnegative(subject, np.ascontiguousarray(np.broadcast_to(row, (points,))), axes=("point",))


def population_row(values: ArrayLike, points: int) -> Ints:
    """Return the populations as int64 (P,); raises InputError for one that is not a whole number of at least 1."""
    row = per_point("population", values, points)
    refuse_first(
        (row < 1) | (row != np.floor(row)), row, "population", "a whole number of at least 1", None, ("point",)
    )
    return row.astype(np.int64)


def delay_flags(delay: ArrayLike | None, stations: int) -> Booleans:
    """Return which stations (K,) are delays, none by default. Raises InputError."""
    mask = np.zeros(stations, bool) if delay is None else np.asarray(delay, dtype=bool)
    if mask.shape != (stations,):
        raise InputError(f"delay must be one flag per station ({stations}), got shape {mask.shape}")
    return mask


def rate_cube(rates: ArrayLike, points: int, stations: int, names: Sequence[str] | None) -> Floats:
    """Return capacity multipliers as (1, K, M) or (P, K, M), all greater than 0. Raises InputError."""
    cube = as_floats("rate", rates)
    cube = cube[None] if cube.ndim == 2 else cube
    if cube.ndim != 3 or cube.shape[0] not in (1, points) or cube.shape[1] != stations or cube.shape[2] < 1:
        raise InputError(
            f"rates must be (K, M) or (P, K, M) with P = {points} points and K = {stations} stations, "
            f"got shape {np.shape(rates)}"
        )
    with np.errstate(invalid="ignore"):
        wrong = ~((cube > 0) & (cube < np.inf))
    refuse_first(wrong, cube, "rate", "greater than 0 and finite", names, ("point", "station", "customers"))
    return cube


def pick(table: Floats, stations: Booleans) -> Floats:
    """Return the columns (axis 1) of the chosen stations, contiguous; an empty table stays as it is."""
    return table if stations.all() or not table.size else np.ascontiguousarray(table[:, stations])


def numbers(*, least: float = 0.0, positive: bool = False, **values: Any) -> list[Floats]:
    """Return named numbers or arrays, broadcast to one shape, as floats.

    Raises InputError for one that is NaN, infinite, below `least`, or 0 where it must be `positive`.
    """
    checked = []
    for name, value in values.items():
        row = as_floats(name.replace("_", " "), value)  # a number becomes an array (1,)
        with np.errstate(invalid="ignore"):
            wrong = ~((row >= least) & (row < np.inf)) | (positive & (row == 0))
        if wrong.any():
            rule = f"greater than {least:g}" if positive else f"at least {least:g}"
            got = np.asarray(row)[wrong].ravel()[0]
            raise InputError(f"{name.replace('_', ' ')} must be {rule} and finite, got {got}")
        checked.append(row.reshape(np.shape(value)))
    try:
        return [np.asarray(row, dtype=np.float64) for row in np.broadcast_arrays(*checked)]
    except ValueError as error:
        shapes = ", ".join(f"{name} {np.shape(value)}" for name, value in values.items())
        raise InputError(f"shapes must fit together, got {shapes}") from error


def whole(*, least: int = 1, **values: Any) -> list[Ints]:
    """Return named whole numbers of at least `least`, broadcast to one shape, as int64. Raises InputError."""
    rows = numbers(least=least, **values)
    for name, row in zip(values, rows, strict=True):
        if (row != np.floor(row)).any():
            got = row[row != np.floor(row)].ravel()[0]
            raise InputError(f"{name.replace('_', ' ')} must be a whole number, got {got}")
    return [np.asarray(row, dtype=np.int64) for row in rows]


def stable(utilization: Floats) -> None:
    """Raise InputError if the offered load of an unlimited queue is not below its capacity."""
    if (utilization >= 1).any():
        worst = float(utilization[utilization >= 1].ravel()[0])
        raise InputError(f"utilization of an open queue must be below 1 (it is unstable otherwise), got {worst:g}")
