"""A workload: the lengths (and further columns) of packets in order, and their arrival process.

machine/workload_sources.py makes workloads from a capture, a mix, or one packet length. `saturated` keeps every
thread busy. `poisson`, `periodic`, `batch:SIZE`, `batch:SIZE:geometric` and `on_off:ON:OFF` (mean spans such as 2ms)
need a rate. `timestamps` needs a capture with time stamps; a rate scales them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from hashlib import blake2b
from typing import TYPE_CHECKING, Literal, get_args

import msgspec
import numpy as np
import numpy.typing as npt

from npexplore.alike import alike
from npexplore.display import html_table
from npexplore.errors import InputError, one_of, positive
from npexplore.mapped_arrays import PART_ROWS, chosen, computed, extremes, is_ascending, parts, release_pages
from npexplore.rows.distributions import Arrivals, Batch, OnOff, Periodic, Poisson
from npexplore.rows.expressions import Values
from npexplore.units import parse_rate, parse_time, readable

if TYPE_CHECKING:
    import pandas as pd


Integers = npt.NDArray[np.int64]
Arrival = Literal["saturated", "timestamps", "poisson", "periodic", "batch", "on_off"]
ARRIVALS: tuple[str, ...] = get_args(Arrival)
RATED = ARRIVALS[2:]  # arrival processes that need a rate
CLASS = "class"  # the column of the traffic class in a simulation's statistics
DROP_REASON, SENT_BYTES = "drop_reason", "sent_bytes"  # columns of a router's decisions (solve/packet_verdicts.py)
FRAME_BYTES, SHORTEST_FRAME = 18, 64  # Ethernet header + check sequence; least frame (IEEE 802.3 clauses 3.1.1, 3.2.8)
HIGHEST_RATE_PPS = 1e11  # a packet every ten ticks of 1 ps
FINEST_PPS = 1e9  # highest rate of time stamps in whole nanoseconds
LAST_NS = 2**62  # largest time stamp, 146 years after the first


@dataclass(frozen=True, eq=False)
class Workload:
    """Packets and their arrivals. Two workloads are equal if the same packets arrive in the same way, for any names.

    Args:
        name: its name in results.
        columns: int64 arrays of shape n, one value per packet; `packet_bytes` (network layer) is always there.
        arrivals: "saturated", "timestamps", "poisson", "periodic", "batch" or "on_off".
        rate_pps: mean packets per second (None: saturated or timestamps).
        t_ns: arrival times in nanoseconds, shape n (timestamps only).
        ordered: False lets every seed shuffle the packets (a mix); True keeps their order (a capture).
        note: what a user should know of the packets.
        assumption: what is assumed about the packets without a source.
        damage: where and why the capture could not be read further (None: it is whole).
        bursts: sizes of batches, or mean on and off spans (batch and on_off only).

    Example:
        >>> import npexplore as npx
        >>> npx.workload(packet_bytes=64)
        Workload(64 bytes: packets of one length, mean 64.0 bytes, saturated)
    """

    name: str
    columns: Mapping[str, Integers]
    arrivals: str = "saturated"
    rate_pps: float | None = None
    t_ns: Integers | None = None
    ordered: bool = True
    note: str = ""
    assumption: str = ""
    damage: str | None = None
    bursts: Batch | OnOff | None = None

    def __post_init__(self) -> None:
        one_of("arrivals", self.arrivals, ARRIVALS)
        sizes = self.columns["packet_bytes"]
        for name, column in self.columns.items():
            if len(column) != len(sizes):
                raise InputError(f"workload {self.name!r}: column {name!r} has {len(column)} rows, not {len(sizes)}")
        if not len(sizes):
            raise InputError(f"workload {self.name!r} has no packets")
        if (smallest := extremes(sizes)[0]) < 1:
            raise InputError(f"workload {self.name!r} has a packet of {smallest} bytes; at least 1 is needed")
        if self.rate_pps is not None and not 0 < self.rate_pps <= HIGHEST_RATE_PPS:
            raise InputError(
                f"workload {self.name!r}: rate must be above 0 and at most {HIGHEST_RATE_PPS / 1e6:g} Mpps, "
                f"got {self.rate_pps / 1e6:g} Mpps"
            )
        if self.arrivals in RATED and self.rate_pps is None:
            raise InputError(f"arrivals {self.arrivals!r} need a rate (for example 2.5Mpps)")
        kind = {"batch": Batch, "on_off": OnOff}.get(self.arrivals)
        if kind is not None and not isinstance(self.bursts, kind):
            raise InputError(f"arrivals {self.arrivals!r} need their {_form(self.arrivals)}")
        if self.arrivals == "timestamps" and self.t_ns is None:
            raise InputError(
                f"workload {self.name!r} has no time stamps; choose saturated, poisson or periodic arrivals"
            )

    @cached_property
    def key(self) -> str:
        """Identity of packets and arrivals: a 64-bit BLAKE2 of columns, order and arrivals, in hexadecimal."""
        timed = self.arrivals == "timestamps"
        identity: tuple[object, ...] = (self.arrivals, self.rate_pps, self.ordered, *sorted(self.columns))
        identity += () if self.bursts is None else (repr(self.process()),)
        return self._digest(repr(identity), [self.t_ns] if timed and self.t_ns is not None else [])

    @cached_property
    def packets_key(self) -> str:
        """Identity of the packets without their arrivals: a 64-bit BLAKE2 of columns, in hexadecimal."""
        return self._digest(repr(sorted(self.columns)))

    def _digest(self, identity: str, times: Sequence[Integers] = ()) -> str:
        digest = blake2b(identity.encode(), digest_size=8)
        for column in (*(self.columns[name] for name in sorted(self.columns)), *times):
            for part in parts(len(column)):
                digest.update(np.ascontiguousarray(column[part], dtype="<i8").data)
        return digest.hexdigest()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Workload) and self.key == other.key

    def __hash__(self) -> int:
        return hash(self.key)

    @property
    def packet_bytes(self) -> Integers:
        """Network-layer length of each packet, shape n."""
        return self.columns["packet_bytes"]

    @property
    def mean_packet_bytes(self) -> float:
        """Mean network-layer length."""
        return float(self.packet_bytes.mean())

    @property
    def mean_frame_bytes(self) -> float:
        """Mean length of the packets' Ethernet frames, check sequence included: at least 64 bytes each."""
        return float(np.maximum(self.packet_bytes + FRAME_BYTES, SHORTEST_FRAME).mean())

    def distinct(self) -> tuple[dict[str, Values], Values]:
        """Return the distinct packets (columns of shape m) and their shares (shape m, sum 1)."""
        columns, shares = self._distinct
        return dict(columns), shares

    @cached_property
    def _distinct(self) -> tuple[dict[str, Values], Values]:
        columns = {name: column[:0] for name, column in self.columns.items()}
        counts: Values = np.zeros(0)
        start, rows = 0, len(self.packet_bytes)
        while start < rows:  # each part is at least as long as the distinct rows, so the total work stays linear
            part = slice(start, start + max(PART_ROWS, len(counts)))
            joined = {name: np.concatenate([columns[name], column[part]]) for name, column in self.columns.items()}
            groups = alike(joined.values(), len(joined["packet_bytes"]))
            weights = np.append(counts, np.ones(len(groups.number) - len(counts)))
            counts = np.bincount(groups.number, weights).astype(np.float64)
            columns = {name: column[groups.first] for name, column in joined.items()}
            start = part.stop
            release_pages()
        return {name: column.astype(np.float64) for name, column in columns.items()}, counts / counts.sum()

    def kinds(self) -> Integers:
        """Return, for each packet, the index of its distinct packet, shape n."""
        return alike(self.columns.values(), len(self.packet_bytes)).number

    def process(self) -> Arrivals | None:
        """Return the arrival process of the packets (None: saturated or timestamps)."""
        if self.arrivals not in RATED:
            return None
        assert self.rate_pps is not None
        if self.bursts is not None:
            return msgspec.structs.replace(self.bursts, rate=self.rate_pps)
        return (Poisson if self.arrivals == "poisson" else Periodic)(rate=self.rate_pps)

    def with_arrivals(self, arrivals: Arrival | str, rate: str | float | None = None) -> Workload:
        """Return the same packets with other arrivals; rate is text (`2.5Mpps`, `4Gb/s`) or packets per second.

        A rate with "timestamps" scales all times by one factor to this mean rate. Raises InputError.
        """
        arrivals, bursts = parse_arrivals(arrivals, rate)
        wanted_pps = None if rate is None else self.packets_per_s(rate)
        rate_pps = (wanted_pps or self.rate_pps) if arrivals in RATED else None
        columns, t_ns = self.columns, self.t_ns
        if arrivals == "timestamps" and t_ns is not None and not is_ascending(t_ns):  # sort packets by arrival
            order = np.argsort(t_ns, kind="stable")
            columns, t_ns = {name: chosen(column, order) for name, column in columns.items()}, chosen(t_ns, order)
        workload = replace(self, columns=columns, t_ns=t_ns, arrivals=arrivals, rate_pps=rate_pps, bursts=bursts)
        return workload if wanted_pps is None or arrivals in RATED else workload._stamped_at(wanted_pps)

    def packets_per_s(self, rate: str | float) -> float:
        """Return a rate in packets per second; a rate in bit/s (`4Gb/s`) is divided by the mean packet length."""
        if not isinstance(rate, str):
            return positive("rate", float(rate))
        value, unit = parse_rate(rate)
        return value if unit == "packets/s" else value / (8 * self.mean_packet_bytes)

    def _stamped_at(self, rate_pps: float) -> Workload:
        """Return the packets with time stamps scaled to a mean rate."""
        mean_pps = offered_rate(self)
        if mean_pps == float("inf"):
            raise InputError(f"workload {self.name!r} has one time stamp for all packets: no rate that could be scaled")
        if rate_pps > FINEST_PPS:
            raise InputError(f"time stamps are whole nanoseconds: at most 1000 Mpps, got {rate_pps / 1e6:g} Mpps")
        return self.scaled(mean_pps / rate_pps)

    def repeated(self, rows: int) -> Workload:
        """Return a workload of a single packet as `rows` equal packets; others, or with time stamps, unchanged."""
        if len(self.packet_bytes) > 1 or self.arrivals == "timestamps":
            return self
        columns = {name: np.repeat(column, rows) for name, column in self.columns.items()}
        return replace(self, columns=columns, t_ns=None)

    def shuffled(self) -> Workload:
        """Return the same packets without an order: every seed of a simulation draws an order (lengths only)."""
        if self.arrivals == "timestamps":
            raise InputError(f"workload {self.name!r} arrives by time stamps, which keep the packets in order")
        return replace(self, ordered=False)

    def scaled(self, factor: float) -> Workload:
        """Return the same packets with all times multiplied by a factor (0.5: twice the load).

        Raises InputError if there are no times to scale: saturated arrivals, or a factor that is not above 0.
        """
        positive("factor of time", factor)
        if self.arrivals == "saturated":
            raise InputError(
                f"workload {self.name!r} has saturated arrivals, without times to scale; choose timestamps, poisson or "
                "periodic arrivals first"
            )
        if self.t_ns is not None and float(extremes(self.t_ns)[1]) * factor > LAST_NS:
            raise InputError(f"factor of time must leave time stamps within {LAST_NS / 1e9:.3g} s, got {factor!r}")
        times_ns = self.t_ns
        t_ns = None if times_ns is None else computed(len(times_ns), lambda part: np.round(times_ns[part] * factor))
        rate_pps, bursts = None if self.rate_pps is None else self.rate_pps / factor, self.bursts
        if isinstance(bursts, OnOff):
            bursts = msgspec.structs.replace(bursts, on=bursts.on * factor, off=bursts.off * factor)
        return replace(self, t_ns=t_ns, rate_pps=rate_pps, bursts=bursts)

    def at_speed(self, speed: float) -> Workload:
        """Return the same packets at `speed` times the rate (2: in half the time); raises InputError like `scaled`."""
        return self.scaled(1 / positive("speed", speed))

    def __repr__(self) -> str:
        facts = self.summary()
        return f"Workload({facts.pop('workload')}: {', '.join(facts.values())})"

    def summary(self) -> dict[str, str]:
        """Return the most important facts: name -> text."""
        rate = f" at {readable(self.rate_pps, 'packets/s')}" if self.rate_pps else ""
        if self.arrivals == "timestamps":
            rate = f" at {readable(offered_rate(self), 'packets/s')}"
        if isinstance(self.bursts, Batch):
            rate += f" in {self.bursts.sizes} batches of {self.bursts.size}"
        elif self.bursts is not None:
            rate += f", {readable(self.bursts.on, 's')} on and {readable(self.bursts.off, 's')} off"
        packets = len(self.packet_bytes)
        lengths = f"mean {self.mean_packet_bytes:.1f} bytes"
        if self.packet_bytes.min() < self.packet_bytes.max():
            lengths += f" ({self.packet_bytes.min()} to {self.packet_bytes.max()})"
        return {
            "workload": self.name,
            "packets": "packets of one length" if packets == 1 else f"{packets:,} packets",
            "lengths": lengths,
            "arrivals": f"{self.arrivals}{rate}",
        }

    def to_frame(self) -> pd.DataFrame:
        """Return the packets as a table, one row each; times in nanoseconds where they arrive by time stamps."""
        import pandas as pd

        times = {"t_ns": self.t_ns} if self.arrivals == "timestamps" and self.t_ns is not None else {}
        frame = pd.DataFrame({**times, **self.columns})
        frame.attrs["units"] = {"packet_bytes": "bytes"} | ({"t_ns": "ns"} if times else {})
        return frame

    def _repr_html_(self) -> str:
        remarks = {"note": self.note, "assumption": self.assumption, "damage": self.damage}
        return html_table((), [*self.summary().items(), *((name, text) for name, text in remarks.items() if text)])


def offered_rate(workload: Workload) -> float:
    """Return the mean rate of a capture's time stamps in packets per second (infinite if they are all the same)."""
    assert workload.t_ns is not None
    first_ns, last_ns = extremes(workload.t_ns)
    span = float(last_ns - first_ns) * 1e-9
    return (len(workload.t_ns) - 1) / span if span > 0 else float("inf")


def parse_arrivals(text: str, rate: str | float | None = None) -> tuple[str, Batch | OnOff | None]:
    """Return the kind of arrivals, and the process of `batch:SIZE`, `batch:SIZE:geometric` or `on_off:ON:OFF`.

    The process has a rate of 1 per second. Raises InputError for sizes below 1, spans that are not times, an unknown
    kind, or a rate for saturated arrivals.
    """
    kind, *parts = text.split(":")
    one_of("arrivals", kind, ARRIVALS)
    if rate is not None and kind == "saturated":
        raise InputError(f"a rate needs poisson or periodic arrivals, or timestamps, got {kind!r}")
    form = f"arrivals {kind!r} are given as {_form(kind)}, got {text!r}"
    if (
        kind == "batch"
        and parts
        and parts[0].isdigit()
        and int(parts[0])
        and parts[1:] in ([], ["fixed"], ["geometric"])
    ):
        return kind, Batch(rate=1.0, size=int(parts[0]), sizes="geometric" if "geometric" in parts else "fixed")
    if kind == "on_off" and len(parts) == 2:
        on, off = (parse_time("span of on_off arrivals", part) for part in parts)
        return kind, OnOff(rate=1.0, on=on, off=off)
    if kind in ("batch", "on_off") or parts:
        raise InputError(form)
    return kind, None


def _form(kind: str) -> str:
    forms = {"batch": "batch:SIZE or batch:SIZE:geometric", "on_off": "on_off:ON:OFF with times such as 2ms"}
    return forms.get(kind, f"{kind} alone")
