"""The fates of packets (rows of the engine) as named columns, for all packets or some of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from npexplore._kernels import engine
from npexplore.engine.accounts import DROP
from npexplore.engine.fates import NOWHERE, Fates, Totals
from npexplore.results import units_of

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

    from npexplore.packets.capture import Capture
    from npexplore.solve.input_ports import InputPorts

Integers = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
OUTCOMES = SENT, DROPPED, INSIDE = "sent", "dropped", "inside"
TIMES = ((engine.SERVED, "service"), (engine.WAITED, "waiting"), (engine.HELD_UP, "held"))


@dataclass(frozen=True)
class Coded:
    """A categorical column. codes: index of each value's label (NOWHERE: no value)."""

    codes: npt.NDArray[Any]
    labels: Sequence[str]

    def categorical(self) -> pd.Categorical:
        """Return the values as a pandas categorical."""
        import pandas as pd

        return pd.Categorical.from_codes(self.codes, categories=pd.Index(self.labels, dtype="str"))

    def dictionary(self, kind: pa.DictionaryType) -> pa.DictionaryArray:
        """Return the values as an Arrow dictionary array; kind: Arrow's type for `categorical()`."""
        import pyarrow as pa

        codes = pa.array(self.codes.astype(kind.index_type.to_pandas_dtype()), mask=self.codes == NOWHERE)
        return pa.DictionaryArray.from_arrays(codes, pa.array(self.labels, kind.value_type))


Columns = dict[str, "npt.NDArray[Any] | Coded"]


def as_pandas(columns: Columns) -> dict[str, Any]:
    """Return columns as values of a data frame."""
    return {name: column.categorical() if isinstance(column, Coded) else column for name, column in columns.items()}


@dataclass(frozen=True)
class PacketRows:
    """fates: the rows in ticks. reasons: why packets are lost, by place. Other fields: see PacketRun."""

    fates: Fates
    reasons: Mapping[str, str]
    number: Integers
    classes: Integers | None = None
    capture: Capture | None = None
    ports: InputPorts | None = None
    loops: int = 1

    @cached_property
    def totals(self) -> Totals:
        """Sums over all rows."""
        return self.fates.totals()

    @property
    def counts(self) -> dict[str, int]:
        """Packets by outcome: sent, dropped, inside."""
        sent, dropped = self.totals.sent, int(self.totals.drops.sum())
        return {SENT: sent, DROPPED: dropped, INSIDE: len(self.fates.rows) - sent - dropped}

    @property
    def drops(self) -> dict[str, int]:
        """Packets dropped, by place."""
        lost = self.totals.names()[0]
        return dict(zip(self._places(lost), self.totals.drops[[*lost]].tolist(), strict=True))

    def frame(self, part: slice | Integers, totals: Totals | None = None) -> pd.DataFrame:
        """Return some rows of `PacketRun.packets`, computed from these rows alone.

        part: places of packets. totals: of the rows that determine names and columns (None: of all rows).
        """
        import pandas as pd

        columns = as_pandas(self.columns(part, totals or self.totals))
        frame = pd.DataFrame(columns, index=pd.Index(self.number[part], name="packet"))
        frame.attrs["units"] = units_of(frame.columns)
        return frame

    def columns(self, part: slice | Integers, totals: Totals) -> Columns:
        """Return the columns of `frame` by name, without its index."""
        return {
            **self._columns(part, totals),
            **self._origin(part),
            **({} if self.classes is None else {"class": self.classes[part]}),
            **self.by_resource(part, totals),
        }

    @cached_property
    def _threads(self) -> list[str]:
        return [f"{token.name} {k}" for k, token in enumerate(self.fates.model.tokens)]

    def _columns(self, part: slice | Integers, totals: Totals) -> Columns:
        """Return, for some rows, times in seconds, outcome, place and reason of drops, and thread."""
        model, lost = self.fates.model, totals.names()[0]
        columns = np.ascontiguousarray(self.fates.rows[part, : engine.F_FIRST].T)  # each column is read several times
        arrival, drop, tick, places = columns[engine.F_ARRIVAL], columns[engine.F_DROP], model.tick, self._places(lost)
        dropped = drop != NOWHERE
        sent = (columns[engine.F_ENDS] > 0) & ~dropped
        end = np.where(sent, columns[engine.F_END], NOWHERE)
        place_codes = np.full(len(drop), NOWHERE, dtype=np.int16)
        place_codes[dropped] = np.searchsorted(lost, drop[dropped])
        reasons = list(dict.fromkeys(map(self.reasons.__getitem__, places)))
        reason_codes = [reasons.index(self.reasons[place]) for place in places]
        outcome = np.where(sent, 0, np.where(dropped, 1, 2)).astype(np.int16)
        return {
            "arrival_s": _seconds(arrival, tick),
            "start_s": _seconds(columns[engine.F_START], tick),
            "departure_s": _seconds(end, tick),
            "latency_s": np.where(sent, (end - arrival) * tick, np.nan),
            "outcome": Coded(outcome, OUTCOMES),
            "dropped_at": Coded(place_codes, places),
            "reason": Coded(np.array([*reason_codes, NOWHERE], dtype=np.int16)[place_codes], reasons),
            "thread": Coded(columns[engine.F_THREAD], self._threads),
        }

    def by_resource(self, part: slice | Integers, totals: Totals) -> dict[str, Floats]:
        """Return, for some rows, the columns of service and waiting at the resources where packets spent time."""
        places, fates = self.fates.model.places, self.fates.part(part)
        if places is None or not len(totals.visited):
            return {}
        ended, tick = fates.finished | fates.lost, self.fates.model.tick
        return {
            f"{name or 'elsewhere'}.{word}_s": np.where(ended, fates.rows[:, engine.F_FIRST + column] * tick, np.nan)
            for k, name in enumerate(places.names)
            for kind, word in TIMES
            if totals.visited[column := 3 * k + kind]
        }

    def input_port(self, part: slice | Integers) -> Integers:
        """Return the index of some packets' input ports in `ports.names` (0 if there is one port)."""
        if self.ports is None or self.capture is None:
            return np.zeros(len(self.number[part]), dtype=np.int64)
        return self.ports.of_packets(self.capture, self.number[part])

    def _origin(self, part: slice | Integers) -> Columns:
        """Return the columns of input ports and of loops, each if there are several."""
        columns: Columns = {}
        if self.ports is not None:
            columns["input_port"] = Coded(self.input_port(part), self.ports.names)
        if self.loops > 1:
            places = np.arange(part.start, part.stop) if isinstance(part, slice) else part
            columns["loop"] = places // (len(self.number) // self.loops)
        return columns

    def _places(self, counters: Sequence[int]) -> list[str]:
        return [self.fates.model.counters[counter].removeprefix(DROP) for counter in counters]


def _seconds(ticks: Integers, tick: float) -> Floats:
    return np.where(ticks == NOWHERE, np.nan, ticks * tick)
