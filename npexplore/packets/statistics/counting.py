"""The numbers of `npexplore trace stats`, counted in one pass and in memory that does not grow with the packets.

Lengths are original lengths. Time to live, fragments, options, checksum, protocol, DSCP and flows are those of the
outermost IPv4 header. Only the set of flows grows, up to 256 MiB (flow_set.py).
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import sqrt
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from npexplore._kernels import capture_counts as rows
from npexplore._kernels.capture_counts import count_packets
from npexplore.errors import InputError
from npexplore.packets.columns import PacketTable
from npexplore.packets.length_cdf import LengthCdf
from npexplore.packets.links import link_format
from npexplore.packets.scan import CaptureScan, Damage
from npexplore.packets.statistics.flow_set import LG_KEPT, FlowSet
from npexplore.packets.statistics.lengths import LengthCounter
from npexplore.packets.statistics.rates import RateCounter, RateSeries
from npexplore.packets.statistics.scaling import HurstEstimate, hurst

HISTOGRAM_BOUNDS = (0, 20, 40, 80, 160, 320, 640, 1280, 2560, 5120)
HURST_PACKETS = 10
TIME_ROWS = [rows.FIRST_NS, rows.LAST_NS, rows.MIN_NS, rows.MAX_NS]


@dataclass(eq=False, repr=False)
class CaptureCounts:
    """Running totals of a capture: `add` each table, then read the statistics.

    Example:
        >>> from npexplore.packets import count_capture
        >>> counts, scan = count_capture("sample:zeek_wikipedia")
        >>> counts.packets
        136
    """

    totals: NDArray[np.int64] = field(default_factory=lambda: np.zeros(rows.TOTALS, np.int64))
    squares: NDArray[np.uint64] = field(default_factory=lambda: np.zeros(3, np.uint64))
    ip_proto: NDArray[np.int64] = field(default_factory=lambda: np.zeros(256, np.int64))
    dscp: NDArray[np.int64] = field(default_factory=lambda: np.zeros(64, np.int64))
    link_types: dict[int, int] = field(default_factory=dict)
    _lengths: LengthCounter = field(default_factory=LengthCounter, repr=False)
    _flows: FlowSet = field(default_factory=FlowSet, repr=False)
    _rates: RateCounter = field(default_factory=RateCounter, repr=False)

    def __repr__(self) -> str:
        return f"CaptureCounts({self.packets:,} packets, {self.link_types})"

    def add(self, table: PacketTable) -> None:
        """Count a table's packets."""
        names = ("t_ns", "length", "captured", "flags", "l3_offset", "ip_proto", "tos", "ttl", "vlans", "labels")
        columns = [table[name] for name in names]
        if count_packets(self.totals, self.squares, self._lengths.short, self.ip_proto, self.dscp, *columns):
            self._lengths.add_longer(table["length"])
        interfaces = [table.rows] if len(table.link_types) == 1 else np.bincount(table["interface"]).tolist()
        for number, count in enumerate(interfaces):
            if count:
                kind = int(table.link_types[number])
                self.link_types[kind] = self.link_types.get(kind, 0) + count
        self._flows.add(table)
        self._rates.add(table["t_ns"], table["length"])

    def merge(self, later: "CaptureCounts") -> None:
        """Add the counts of later packets; the result equals that of one pass over all packets."""
        earlier_totals, later_totals = self.totals.copy(), later.totals
        self.totals += later_totals
        if later_totals[rows.TIMED]:
            squares = _whole(self.squares) + _whole(later.squares)
            if earlier_totals[rows.TIMED]:
                gap = int(later_totals[rows.FIRST_NS]) - int(earlier_totals[rows.LAST_NS])
                squares += gap**2
                self.totals[rows.BACKWARDS] += gap < 0
                self.totals[rows.FIRST_NS] = earlier_totals[rows.FIRST_NS]
                self.totals[rows.MIN_NS] = min(earlier_totals[rows.MIN_NS], later_totals[rows.MIN_NS])
                self.totals[rows.MAX_NS] = max(earlier_totals[rows.MAX_NS], later_totals[rows.MAX_NS])
            else:
                self.totals[TIME_ROWS] = later_totals[TIME_ROWS]
            self.totals[rows.LAST_NS] = later_totals[rows.LAST_NS]
            self.squares = np.array([squares >> shift & (1 << 64) - 1 for shift in (0, 64, 128)], np.uint64)
        else:
            self.totals[TIME_ROWS] = earlier_totals[TIME_ROWS]
        self.ip_proto += later.ip_proto
        self.dscp += later.dscp
        for kind, count in later.link_types.items():
            self.link_types[kind] = self.link_types.get(kind, 0) + count
        self._lengths.merge(later._lengths)
        self._flows.merge(later._flows)
        self._rates.merge(later._rates)

    def state(self) -> dict[str, NDArray[Any]]:
        """Return the complete state as arrays, to send to another process or to keep for a finished file."""
        links = np.array(sorted(self.link_types.items()), np.int64).reshape(-1, 2)
        plain = {name: getattr(self, name) for name in ("totals", "squares", "ip_proto", "dscp")}
        return {
            **plain, "links": links, "lengths": self._lengths.state(), "rates": self._rates.state(),
            **self._flows.state(),
        }  # fmt: skip

    @classmethod
    def of_state(cls, state: Mapping[str, NDArray[Any]]) -> "CaptureCounts":
        """Return the counts that a `state` describes."""
        totals, squares, ip_proto, dscp = (state[name] for name in ("totals", "squares", "ip_proto", "dscp"))
        lengths, rates = LengthCounter.of_state(state["lengths"]), RateCounter.of_state(state["rates"])
        links = dict(state["links"].tolist())
        return cls(totals, squares, ip_proto, dscp, links, lengths, FlowSet.of_state(state), rates)

    def __reduce__(self) -> tuple[Any, ...]:
        return CaptureCounts.of_state, (self.state(),)

    @property
    def packets(self) -> int:
        """Number of packets."""
        return int(self.totals[rows.PACKETS])

    @property
    def flows(self) -> int:
        """Number of distinct directed IPv4 5-tuples; an estimate if `flows_estimate` is not None."""
        return self._flows.count

    def flows_estimate(self) -> dict[str, Any] | None:
        """Return the sketch that estimates the number of flows and its 95 % interval; None if the number is exact."""
        if (bounds := self._flows.bounds) is None:
            return None
        return {"sketch": f"Theta, 2^{LG_KEPT} hashes", "low": bounds[0], "high": bounds[1]}

    @property
    def rates(self) -> RateSeries | None:
        """Packets and bytes over time, None without time stamps."""
        return self._rates.series()

    def lengths(self) -> LengthCdf:
        """Return the distribution of original lengths."""
        return self._lengths.cdf()

    def length_histogram(self) -> dict[int, int]:
        """Return the packets whose original length is at least each bound and below the next."""
        cdf = self.lengths()
        at = np.searchsorted(HISTOGRAM_BOUNDS, cdf.length_bytes, side="right") - 1
        counts = np.bincount(at, weights=cdf.packets, minlength=len(HISTOGRAM_BOUNDS))
        return {bound: int(count) for bound, count in zip(HISTOGRAM_BOUNDS, counts, strict=True)}

    def mean_length(self) -> float | None:
        """Mean original length in bytes, None without packets."""
        return int(self.totals[rows.BYTES]) / self.packets if self.packets else None

    def cov_length(self) -> float | None:
        """Coefficient of variation (population standard deviation / mean) of the original lengths."""
        mean = self.mean_length()
        if not mean:
            return None
        cdf = self.lengths()
        square_sum = sum(int(size) ** 2 * int(n) for size, n in zip(cdf.length_bytes, cdf.packets, strict=True))
        return sqrt(max(0, square_sum * self.packets - int(self.totals[rows.BYTES]) ** 2)) / self.packets / mean

    def narrow_share(self, cell_bytes: int = 64) -> float | None:
        """Share of memory accesses that move less than a cell, when each packet is stored in cells of `cell_bytes`.

        A packet of L bytes takes ceil(L / cell) accesses, the last of them narrow unless L is a multiple of the cell.
        """
        cdf = self.lengths()
        length = cdf.length_bytes.astype(np.int64)
        accesses = int((-(-length // cell_bytes) * cdf.packets).sum())
        return int(((length % cell_bytes != 0) * cdf.packets).sum()) / accesses if accesses else None

    def time_range(self) -> dict[str, int | None]:
        """Return the time stamps of the first and last packet and the extremes, in ns since 1970; None without any."""
        names = {"first": rows.FIRST_NS, "last": rows.LAST_NS, "min": rows.MIN_NS, "max": rows.MAX_NS}
        timed = bool(self.totals[rows.TIMED])
        return {f"{name}_time_ns": int(self.totals[index]) if timed else None for name, index in names.items()}

    def rate(self) -> dict[str, float | None]:
        """Return duration, mean rates, and the highest rates over bins of at least 10 ms."""
        timed, series = int(self.totals[rows.TIMED]), self.rates
        duration = (int(self.totals[rows.MAX_NS]) - int(self.totals[rows.MIN_NS])) / 1e9 if timed else None
        bin_s, peak_pps, peak_bps = series.peak(0.01) if series and duration else (None, None, None)
        return {
            "duration_s": duration,
            "packets_per_s": timed / duration if duration else None,
            "bits_per_s": int(series.bytes.sum()) * 8 / duration if series and duration else None,
            "bin_s": bin_s,
            "peak_packets_per_s": peak_pps,
            "peak_bits_per_s": peak_bps,
        }

    def burstiness(self) -> dict[str, Any]:
        """Return moments of the times between packets and the index of dispersion at doubling bin widths."""
        gaps, span_ns = (
            int(self.totals[rows.TIMED]) - 1,
            int(self.totals[rows.LAST_NS]) - int(self.totals[rows.FIRST_NS]),
        )
        variance = gaps * _whole(self.squares) - span_ns**2  # multiplied by gaps^2
        series, scaling = self.rates, self.hurst()
        return {
            "interarrival_mean_s": span_ns / gaps * 1e-9 if gaps > 0 else None,
            "interarrival_cov": sqrt(variance) / span_ns if gaps > 0 and span_ns > 0 else None,
            "backwards_steps": int(self.totals[rows.BACKWARDS]),
            "hurst": {"value": scaling.hurst, "low": scaling.low, "high": scaling.high} if scaling else None,
            "index_of_dispersion": [{"bin_s": w, "value": idc} for w, idc in series.dispersion()] if series else [],
        }

    def hurst_counts(self) -> RateSeries | None:
        """Return the counts for the Hurst estimate: whole bins, the finest with a mean of HURST_PACKETS or more.

        The estimator's interval assumes Gaussian counts; nearly empty bins would make it far too narrow.
        """
        series = self.rates
        if series is None:
            return None
        factor = 1
        while factor < len(series.packets) and series.packets.mean() * factor < HURST_PACKETS:
            factor *= 2
        whole = RateSeries(series.start_ns + series.width_ns, series.width_ns, series.packets[1:-1], series.bytes[1:-1])
        return whole.coarser(factor)

    def hurst(self) -> HurstEstimate | None:
        """Return the Hurst parameter with its 95 % interval, None if the capture is too short for one."""
        series = self.hurst_counts()
        try:
            return hurst(series.packets) if series else None
        except InputError:
            return None

    def document(self, file: str, form: str, damage: Damage | None) -> dict[str, Any]:
        """Return all fields of `npexplore trace stats --json`."""
        totals = self.totals
        network = {"ipv4": int(totals[rows.IPV4]), "ipv6": int(totals[rows.IPV6]), "arp": int(totals[rows.ARP])}
        counted = {
            "vlan": rows.VLAN, "mpls": rows.MPLS, "ttl_le_1": rows.TTL_LE_1, "fragments": rows.FRAGMENTS,
            "fragments_nonfirst": rows.NONFIRST, "df": rows.DF, "with_options": rows.OPTIONS,
            "checksum_good": rows.GOOD, "checksum_bad": rows.BAD, "checksum_unverified": rows.CUT,
        }  # fmt: skip
        return {
            "file": file,
            "format": form,
            "link_types": {link_format(number).name: count for number, count in sorted(self.link_types.items())},
            "packets": self.packets,
            "bytes": int(totals[rows.BYTES]),
            "captured_bytes": int(totals[rows.CAPTURED]),
            **self.time_range(),
            **network,
            "other": self.packets - sum(network.values()),
            **{name: int(totals[row]) for name, row in counted.items()},
            "length_histogram": {str(bound): count for bound, count in self.length_histogram().items()},
            "ip_proto": {str(number): int(count) for number, count in enumerate(self.ip_proto) if count},
            "dscp": {str(number): int(count) for number, count in enumerate(self.dscp) if count},
            "flows": self.flows,
            **({"flows_estimate": estimate} if (estimate := self.flows_estimate()) else {}),
            "mean_length": self.mean_length(),
            "cov_length": self.cov_length(),
            "rate": self.rate(),
            "burstiness": self.burstiness(),
            "damage": {"offset": damage.offset, "message": damage.message} if damage else None,
        }


def _whole(words: NDArray[np.uint64]) -> int:
    return sum(int(word) << 64 * index for index, word in enumerate(words))


def count_capture(path: str | Path, *, workers: int = 1) -> tuple[CaptureCounts, CaptureScan]:
    """Count a capture in one pass; the scan holds format, interfaces and damage. Raises InputError as the scan does."""
    scan = CaptureScan(path, workers=workers, passing=True)
    counts = CaptureCounts()
    for table in scan:
        counts.add(table)
    return counts, scan


@dataclass(frozen=True)
class FileCounts:
    """The counts of one file; only `error` (the reason) if the file cannot be read.

    missing: the worker did not find the file.
    """

    path: str
    counts: CaptureCounts | None = None
    format: str = ""
    damage: Damage | None = None
    error: str | None = None
    missing: bool = False
