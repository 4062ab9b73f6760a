"""Base of results: a plain document as the commands print it, a table with units, and a view for notebooks."""

from __future__ import annotations

import dataclasses
import math
import os
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from npexplore.display import html_records
from npexplore.errors import shown
from npexplore.units import SHOWN, readable, unit_of

if TYPE_CHECKING:
    import pandas as pd

MAX_ROWS_SHOWN = 60
SHARES = ("loss", "share", "busy", "blocked", "gain", "elasticity")


class Result(ABC):
    """Gives a result a document (`to_dict`), a table (`to_frame`) and a notebook view, made from its `records`."""

    UNITS: ClassVar[Mapping[str, str]] = {}  # units of columns whose names do not end with a unit

    def to_dict(self) -> dict[str, Any]:
        """Return the result in JSON's types."""
        return {field.name: plain(getattr(self, field.name)) for field in dataclasses.fields(self)}  # type: ignore[arg-type]

    @abstractmethod
    def records(self) -> list[dict[str, Any]]:
        """Return the rows of the table."""

    def to_frame(self) -> pd.DataFrame:
        """Return the result as a table; `attrs["units"]` names the unit of each column that has one."""
        return frame_of(self.records(), self.UNITS)

    def _repr_html_(self) -> str:
        rows = self.records()
        hidden = len(rows) - MAX_ROWS_SHOWN
        present = {name for row in rows for name, value in row.items() if value is not None and value == value}
        shown_rows = [
            {name.replace("_", " "): value for name, value in _readable(row, self.UNITS).items() if name in present}
            for row in rows[:MAX_ROWS_SHOWN]
        ]
        table = html_records(shown_rows, self.heading())
        return table + (f"<p>{hidden:,} more rows: to_frame()</p>" if hidden > 0 else "")

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.heading()})"

    def heading(self) -> str:
        """Return the line above the table in notebooks."""
        return type(self).__name__


def plain(value: Any) -> Any:
    """Return `value` in JSON's types: NaN and infinities become null, arrays lists, records objects, keys texts."""
    if isinstance(value, str | os.PathLike):
        return shown(value)
    if isinstance(value, bool | int | None):
        return value
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {str(plain(key)): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [plain(item) for item in value]
    if hasattr(value, "tolist"):  # numpy scalars and arrays, pandas columns
        return plain(value.tolist())
    if hasattr(value, "__struct_fields__"):  # msgspec records
        return {name: plain(getattr(value, name)) for name in value.__struct_fields__}
    if dataclasses.is_dataclass(value):
        return {field.name: plain(getattr(value, field.name)) for field in dataclasses.fields(value)}
    raise TypeError(f"{type(value).__name__} has no JSON form")


def frame_of(records: Sequence[Mapping[str, Any]], units: Mapping[str, str] | None = None) -> pd.DataFrame:
    """Return records as a table, with the units of its columns in `attrs["units"]`."""
    import pandas as pd

    frame = pd.DataFrame(list(records))
    frame.attrs["units"] = units_of(map(str, frame.columns)) | {
        name: unit for name, unit in (units or {}).items() if name in frame.columns
    }
    return frame


def units_of(names: Iterable[str]) -> dict[str, str]:
    """Return the unit of each column whose name contains it (`latency_mean_ns`: ns; "1" for shares)."""
    known = {name: "bit/s" if name.endswith("_bps") else unit_of(name) for name in names}
    shares = {name: "1" for name in known if name in SHARES or name.startswith("utilization")}
    return {name: unit for name, unit in known.items() if unit} | shares


def _readable(row: Mapping[str, Any], units: Mapping[str, str]) -> dict[str, Any]:
    """Return a row in which numbers in SI base units are texts with a unit of suitable size."""
    return {
        name: readable(value, units[name]) if isinstance(value, float) and units.get(name) in SHOWN else value
        for name, value in row.items()
    }
