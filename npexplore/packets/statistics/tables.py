"""What a capture's figures are drawn from: one data frame a question, with few enough rows to draw.

Raises InputError, saying what is missing, where a capture cannot answer: no IPv4 packet, no time stamps, too few.
CCDF(x) = share of the values that are at least x.
"""

from __future__ import annotations

import socket
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from npexplore.errors import InputError
from npexplore.packets.columns import PacketTable
from npexplore.packets.statistics.counting import CaptureCounts
from npexplore.packets.statistics.flows import top_talkers, train_lengths
from npexplore.packets.statistics.locality import destination_locality
from npexplore.packets.statistics.rates import rate_over_time
from npexplore.packets.statistics.scaling import HurstEstimate, interarrivals, variance_time

if TYPE_CHECKING:
    import pandas as pd

POINTS = 500
TRAIN_GAPS_S = (0.001, 0.01, 0.1, 0.5)  # the last is Jain and Routhier's largest gap within a train
PREFIX_BITS = (32, 24, 16)
CELLS = tuple(range(16, 513, 8))


def need_ipv4(table: PacketTable) -> None:
    """Raise InputError unless a packet has a whole IPv4 header."""
    if not (table["ipv4"] & table["header_complete"]).any():
        raise InputError(f"none of the {table.rows:,} packets has a whole IPv4 header")


def need_times(table: PacketTable) -> NDArray[np.int64]:
    """Return the time stamps there are; raises InputError unless two of them differ."""
    times: NDArray[np.int64] = table["t_ns"][table["has_time"]]
    if not len(times):
        raise InputError(f"none of the {table.rows:,} packets has a time stamp")
    if times.min() == times.max():
        raise InputError("all packets have the same time stamp")
    return times


def length_shares(table: PacketTable) -> pd.DataFrame:
    """Return cumulative shares: counted, length_bytes, share. Frames on the link; IP packets, and the bytes in them."""
    import pandas as pd

    if not table.rows:
        raise InputError("the capture has no packet")
    parts = {"frames on the link": table["length"]}
    if (ip := table["l3_length"][table["l3_length"] > 0]).size:
        parts["IP packets"] = ip
    found = []
    for name, lengths in parts.items():
        values, counts = np.unique(lengths.astype(np.int64), return_counts=True)
        weights = {name: counts}
        if name == "IP packets":
            weights["bytes of IP packets"] = counts * values
        for counted, weight in weights.items():
            share = np.cumsum(weight) / weight.sum()
            found.append(pd.DataFrame({"counted": counted, "length_bytes": values, "share": share}))
    return pd.concat(found, ignore_index=True)


def rates(table: PacketTable) -> pd.DataFrame:
    """Return time_s from the first packet on, packets_per_s and bits_per_s in some hundred bins of a round width."""
    import pandas as pd

    times = need_times(table)
    least = (int(times.max()) - int(times.min())) * 1e-9 / POINTS
    power = 10.0 ** np.floor(np.log10(least))
    bin_s = max(1e-9, float(next(step * power for step in (1, 2, 5, 10) if step * power >= least)))
    series = rate_over_time(table["t_ns"], table["length"], bin_s)
    at = np.arange(len(series.packets)) * series.width_ns * 1e-9
    seconds = series.width_ns * 1e-9
    return pd.DataFrame(
        {"time_s": at, "packets_per_s": series.packets / seconds, "bits_per_s": series.bytes * 8 / seconds}
    )


def gap_shares(table: PacketTable) -> pd.DataFrame:
    """Return gap_s, the share of times between packets up to it, and the share if they were exponential (`poisson`)."""
    import pandas as pd

    need_times(table)
    gaps = np.sort(interarrivals(table["t_ns"])) * 1e-9
    at = np.unique(np.linspace(0, len(gaps) - 1, POINTS).astype(np.int64))
    value = gaps[at]
    share = np.searchsorted(gaps, value, side="right") / len(gaps)
    return pd.DataFrame({"gap_s": value, "share": share, "poisson": 1 - np.exp(-value / gaps.mean())}).drop_duplicates()


def variances(counts: CaptureCounts) -> tuple[pd.DataFrame, HurstEstimate | None]:
    """Return the variance-time plot with the Hurst estimate behind it (None: too short for one).

    Columns: bin_s, variance of the mean rate relative to the finest bin, `poisson` (slope -1), `fitted` (2H - 2).
    """
    import pandas as pd

    series = counts.rates
    sizes, variance = (
        variance_time(series.packets[1:-1]) if series is not None else (np.empty(0, np.int64), np.empty(0))
    )
    if series is None or len(sizes) < 3 or not variance.any():
        raise InputError("a variance-time plot needs at least 64 bins of a capture with time stamps that varies")
    frame = pd.DataFrame({"bin_s": sizes * series.width_ns * 1e-9, "variance": variance, "poisson": 1.0 / sizes})
    found, counted = counts.hurst(), counts.hurst_counts()
    if found is not None and counted is not None:
        first_s = counted.width_ns * 1e-9 * 2**found.first_octave
        anchor = int(np.abs(np.log(frame["bin_s"] / first_s)).argmin())
        fitted = variance[anchor] * (sizes / sizes[anchor]) ** (2 * found.hurst - 2)
        frame["fitted"] = np.where(sizes >= sizes[anchor], fitted, np.nan)
    return frame, found


def dispersions(counts: CaptureCounts) -> pd.DataFrame:
    """Return the index of dispersion of packet counts: bin_s, value (1 for Poisson arrivals)."""
    import pandas as pd

    rows = counts.rates.dispersion() if counts.rates is not None else []
    return pd.DataFrame(rows, columns=["bin_s", "value"])


def ccdf(values: NDArray[np.number]) -> pd.DataFrame:
    """Return value and share of values that are at least as large, at most POINTS rows, densest in the tail."""
    import pandas as pd

    value, count = np.unique(values, return_counts=True)
    share = count[::-1].cumsum()[::-1] / max(1, len(values))
    if len(value) > POINTS:
        from_end = np.unique(np.geomspace(1, len(value), POINTS).astype(np.int64))
        value, share = value[len(value) - from_end[::-1]], share[len(value) - from_end[::-1]]
    return pd.DataFrame({"value": value, "share": share})


def lorenz(flows: pd.DataFrame) -> pd.DataFrame:
    """Return which share of the bytes (`bytes`) the largest share of the flows (`flows`) carries."""
    import pandas as pd

    carried = np.cumsum(np.sort(flows["bytes"].to_numpy())[::-1])
    at = np.unique(np.geomspace(1, len(carried), POINTS).astype(np.int64))
    shares = {"flows": at / len(carried), "bytes": carried[at - 1] / carried[-1]}
    return pd.DataFrame(shares)


def hit_ratios(table: PacketTable) -> pd.DataFrame:
    """Return key, entries and hit_ratio of LRU caches of destination addresses and of their prefixes."""
    import pandas as pd

    need_ipv4(table)
    rows = []
    for bits in PREFIX_BITS:
        found = destination_locality(table, prefix_bits=bits)
        sizes = sorted({2**k for k in range(31) if 2**k <= found.distinct} | {found.distinct})
        rows += [(f"/{bits}" if bits < 32 else "addresses", size, found.hit_ratio(size)) for size in sizes]
    return pd.DataFrame(rows, columns=["key", "entries", "hit_ratio"])


def train_shares(table: PacketTable) -> pd.DataFrame:
    """Return gap_s, value (packets of a train) and share of trains at least as long; mean packets and number a gap."""
    import pandas as pd

    need_ipv4(table)
    need_times(table)
    found = []
    for gap in TRAIN_GAPS_S:
        lengths = train_lengths(table, gap)
        found.append(ccdf(lengths).assign(gap_s=gap, trains=len(lengths), mean=float(lengths.mean())))
    return pd.concat(found, ignore_index=True)


def talkers(table: PacketTable, count: int = 10) -> dict[str, pd.DataFrame]:
    """Return who sends and who receives most bytes, under `senders` and `receivers`."""
    need_ipv4(table)
    return {name: top_talkers(table, count, end=end) for name, end in (("senders", "src"), ("receivers", "dst"))}


def shares(document: Mapping[str, object]) -> pd.DataFrame:
    """Return kind, name, packets and share, from the fields of `trace stats`; the rarest names of a kind are joined."""
    import pandas as pd

    def listed(key: str, naming: Mapping[int, str]) -> dict[str, int]:
        counted = document[key]
        assert isinstance(counted, Mapping)
        return {naming.get(int(number), number): count for number, count in counted.items()}

    def picked(names: Sequence[str], strip: str = "") -> dict[str, int]:
        return {name.removeprefix(strip): int(str(document[name])) for name in names}

    kinds = {
        "network layer": picked(("ipv4", "ipv6", "arp", "other")),
        "IPv4 protocol": listed("ip_proto", protocol_names()),
        "IPv4 DSCP": listed("dscp", dscp_names()),
        "IPv4 checksum": picked(("checksum_good", "checksum_bad", "checksum_unverified"), "checksum_"),
    }
    rows = []
    for kind, counted in kinds.items():
        ordered = sorted(((n, name) for name, n in counted.items() if n), reverse=True)
        if len(ordered) > 6:
            ordered = [*ordered[:5], (sum(n for n, _ in ordered[5:]), f"{len(ordered) - 5} more")]
        total = sum(n for n, _ in ordered)
        rows += [(kind, name, n, n / total) for n, name in ordered]
    if not rows:
        raise InputError("the capture has no packet")
    return pd.DataFrame(rows, columns=["kind", "name", "packets", "share"])


def narrow_shares(counts: CaptureCounts) -> pd.DataFrame:
    """Return cell_bytes and share: of the accesses to a packet buffer, those that move less than a cell."""
    import pandas as pd

    if not counts.packets:
        raise InputError("the capture has no packet")
    return pd.DataFrame({"cell_bytes": CELLS, "share": [counts.narrow_share(cell) for cell in CELLS]})


def protocol_names() -> dict[int, str]:
    """Return names of IP protocol numbers, as far as the operating system's socket interface has constants for them."""
    known = sorted((name for name in dir(socket) if name.startswith("IPPROTO_")), reverse=True)
    return {int(getattr(socket, name)): name.removeprefix("IPPROTO_") for name in known}


def dscp_names() -> dict[int, str]:
    """Return names of code points: CSn (RFC 2474), AFxy (RFC 2597), EF (RFC 3246)."""
    classes = {8 * x: f"CS{x}" for x in range(8)}
    assured = {8 * x + 2 * y: f"AF{x}{y}" for x in range(1, 5) for y in range(1, 4)}
    return {**classes, **assured, 46: "EF"}
