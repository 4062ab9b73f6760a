"""Converts several results to one tidy table, and a sweep over a grid to an array with named axes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any

from npexplore.designs import Design
from npexplore.errors import InputError
from npexplore.results import Result, frame_of, units_of
from npexplore.solve.prediction import UTILIZATION, Prediction
from npexplore.study.sweeping.rows import ANSWERED, RENAMED

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr

ASKED_OF_ALL = (
    "workload_key",
    "mean_packet_bytes",
    "mean_frame_bytes",
    "arrivals",
    "packets",
    "version",
    "model",
)  # columns that follow from other columns


def to_frame(results: Any) -> pd.DataFrame:
    """Return results as one tidy table: one row each, named like a sweep's columns; units are in `attrs["units"]`.

    Args:
        results: predictions; a mapping of names to predictions; or pairs of a design (or a mapping of columns) and a
            prediction, where knobs that differ become columns. A single result gives its own table, explanations give
            one row for each solver.

    Raises:
        InputError: an object that is not a result.

    Example:
        >>> import npexplore as npx
        >>> machine = npx.design("ixp2400")
        >>> table = npx.to_frame([machine.with_(banks=n).bounds(64) for n in (2, 4)])
        >>> table[["solver", "bottleneck"]].values.tolist(), table.attrs["units"]["rate_mpps"]
        ([['bounds', 'dram.bank'], ['bounds', 'dram.bus']], 'Mpps')
    """
    if hasattr(results, "to_frame") and not isinstance(results, type):
        result_table: pd.DataFrame = results.to_frame()
        return result_table
    if isinstance(results, Mapping):
        return frame_of([{"name": name, **row} for name, result in results.items() for row in _rows(result)])
    if not isinstance(results, Iterable) or isinstance(results, str):
        raise InputError(f"a table needs results such as predictions, got {type(results).__name__}")
    items = list(results)
    designs = [item[0] for item in items if isinstance(item, tuple) and isinstance(item[0], Design)]
    return frame_of([row for item in items for row in _rows(item, designs)], _units(designs))


def _rows(one: Any, designs: Sequence[Design] = ()) -> list[dict[str, Any]]:
    """Return the rows of one result."""
    match one:
        case (Design() as design, answer):
            knobs = {RENAMED.get(name, name): design.parameters[name] for name in _differing(designs)
                     if name in design.parameters}  # fmt: skip
            return [{"design": design.name, **knobs, **row} for row in _rows(answer)]
        case (dict() as columns, answer):
            return [{**columns, **row} for row in _rows(answer)]
        case Prediction():
            return [{"solver": one.solver, "seed": one.seed, **one.record()}]
        case Result():
            return one.records()
    raise InputError(f"a table needs results such as predictions, got {type(one).__name__}")


def _differing(designs: Sequence[Design]) -> list[str]:
    """Return the names of knobs that are changed in at least one of the designs."""
    return list(dict.fromkeys(name for design in designs for name in design.parameters.changed()))


def _units(designs: Sequence[Design]) -> dict[str, str]:
    units = {name: p.unit for design in designs for name, p in design.parameters.file.parameter.items() if p.unit}
    return {RENAMED.get(name, name): unit for name, unit in units.items()}


def to_xarray(rows: pd.DataFrame, dims: Sequence[str] | None = None) -> xr.Dataset:
    """Return the rows of a sweep as arrays with one named axis for each knob, workload, solver and seed that varies.

    A combination without a row is NaN. Answers of solvers without seeds are repeated at every seed.

    Args:
        rows: the table that `sweep` returns for a grid.
        dims: the columns that become axes (None: the columns of the question that vary).

    Raises:
        InputError: several rows with equal values in these columns.
        ImportError: xarray is not installed (npexplore's extra `xarray`).

    Example:
        >>> import npexplore as npx
        >>> points = npx.grid("ixp2400", npx.workload(packet_bytes=64), solver="bounds", banks=[2, 4], threads=[8, 16])
        >>> array = npx.to_xarray(npx.sweep(points))
        >>> sorted(array.sizes.items()), array["bottleneck"].sel(banks=2, threads=16).item()
        ([('banks', 2), ('threads', 2)], 'dram.bank')
    """
    import pandas as pd

    try:
        import_module("xarray")
    except ModuleNotFoundError:
        raise ImportError("to_xarray needs xarray: install npexplore with its extra `xarray`") from None
    answers = [name for name in rows.columns if name in ANSWERED or name.startswith(UTILIZATION)]
    columns = [name for name in rows.columns if name not in answers and name not in ASKED_OF_ALL]
    missing = [name for name in dims or () if name not in rows.columns]
    if missing:
        raise InputError(f"axis {missing[0]!r} is no column of the sweep ({', '.join(columns)})")
    axes = list(dims) if dims is not None else [name for name in columns if rows[name].nunique(dropna=False) > 1]
    table = rows
    if "seed" in axes and rows["seed"].isna().any() and rows["seed"].notna().any():
        seeds = rows["seed"].dropna().unique()
        seedless = rows[rows["seed"].isna()].drop(columns="seed").merge(pd.DataFrame({"seed": seeds}), how="cross")
        table = pd.concat([rows[rows["seed"].notna()], seedless])
    if "seed" in axes and table["seed"].notna().all():
        table = table.astype({"seed": "int64"})
    if not axes:
        axes = [columns[0]]
    duplicates = table[table.duplicated(axes, keep=False)]
    if len(duplicates):
        common_values = ", ".join(f"{name} {duplicates.iloc[0][name]}" for name in axes)
        differing = [name for name in columns if name not in axes and duplicates[name].nunique(dropna=False) > 1]
        hint = f"; {', '.join(differing)} differ" if differing else "; each point may stand there once"
        raise InputError(
            f"axes {', '.join(axes)} do not tell rows apart: {len(duplicates)} rows have {common_values}{hint}"
        )
    array: xr.Dataset = table.set_index(axes)[answers].to_xarray()
    units = {**units_of(map(str, rows.columns)), **rows.attrs.get("units", {})}
    for name in array.variables:
        if str(name) in units:
            array[name].attrs["units"] = units[str(name)]
    array.attrs = {name: rows[name].iloc[0] for name in columns if name not in axes and rows[name].nunique() == 1}
    return array
