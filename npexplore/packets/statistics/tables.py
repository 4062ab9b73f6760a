"""The data of a capture's figures: a data frame per figure, with few enough rows to draw.

A function raises InputError if the capture lacks the data: no IP packet, no time stamps, too few packets.
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
from npexplore.packets.length_cdf import LengthCdf
from npexplore.packets.statistics.counting import CaptureCounts
from npexplore.packets.statistics.flow_counter import FlowCounter
from npexplore.packets.statistics.flows import TrainCounter
from npexplore.packets.statistics.gaps import GapCounter
from npexplore.packets.statistics.locality import destination_locality
from npexplore.packets.statistics.rates import RateSeries
from npexplore.packets.statistics.scaling import HurstEstimate, variance_time

if TYPE_CHECKING:
    import pandas as pd

POINTS = 500
TRAIN_GAPS_S = (0.001, 0.01, 0.1, 0.5)  # the last is Jain and Routhier's largest gap within a train
PREFIX_BITS = ((32, 128), (24, 48), (16, 32))  # of IPv4 and of IPv6
CELLS = tuple(range(16, 513, 8))


def need_ip(table: PacketTable) -> None:
    """Raise InputError unless a packet has a whole IPv4 or IPv6 header."""
    if not (table["header_complete"] & (table["ipv4"] | table["ipv6"])).any():
        raise InputError(f"none of the {table.rows:,} packets has a whole IP header")


def need_times(counts: CaptureCounts) -> RateSeries:
    """Return packets and bytes over time; raises InputError unless at least two time stamps differ."""
    series, times = counts.rates, counts.time_range()
    if series is None:
        raise InputError(f"none of the {counts.packets:,} packets has a time stamp")
    if times["min_time_ns"] == times["max_time_ns"]:
        raise InputError("all packets have the same time stamp")
    return series


def length_shares(link: LengthCdf, ip: LengthCdf) -> pd.DataFrame:
    """Return counted, length_bytes, cumulative share, for frames on the link, IP packets and bytes of IP packets."""
    import pandas as pd

    if not len(link.packets):
        raise InputError("the capture has no packet")
    rows = []
    for name, lengths in (("frames on the link", link), ("IP packets", ip)):
        values, weights = lengths.length_bytes.astype(np.int64), {name: lengths.packets}
        if name == "IP packets":
            weights["bytes of IP packets"] = lengths.packets * values
        for counted, weight in weights.items() if len(values) else ():
            share = np.cumsum(weight) / weight.sum()
            rows.append(pd.DataFrame({"counted": counted, "length_bytes": values, "share": share}))
    return pd.concat(rows, ignore_index=True)


def rate_table(counts: CaptureCounts) -> pd.DataFrame:
    """Return time_s (0 at the first packet), packets_per_s and bits_per_s in up to POINTS bins of equal width."""
    import pandas as pd

    series = need_times(counts)
    factor = 1
    while len(series.packets) > POINTS * factor:
        factor *= 2
    padding = (0, -len(series.packets) % factor)
    coarse = RateSeries(
        series.start_ns, series.width_ns, np.pad(series.packets, padding), np.pad(series.bytes, padding)
    ).coarser(factor)
    seconds = coarse.width_ns * 1e-9
    at = np.arange(len(coarse.packets)) * seconds
    return pd.DataFrame(
        {"time_s": at, "packets_per_s": coarse.packets / seconds, "bits_per_s": coarse.bytes * 8 / seconds}
    )


def gap_shares(gaps: GapCounter) -> pd.DataFrame:
    """Return gap_s, `share` of the times between packets up to gap_s, and that of exponential times (`poisson`)."""
    import pandas as pd

    longest, packets = gaps.histogram()
    if not gaps.total_ns:
        raise InputError("no two consecutive packets have different time stamps in order")
    value, total = longest * 1e-9, int(packets.sum())
    mean = gaps.total_ns * 1e-9 / total
    return pd.DataFrame({"gap_s": value, "share": packets.cumsum() / total, "poisson": 1 - np.exp(-value / mean)})


def variances(counts: CaptureCounts) -> tuple[pd.DataFrame, HurstEstimate | None]:
    """Return the variance-time plot and the Hurst estimate (None if the capture is too short).

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
    hurst, counted = counts.hurst(), counts.hurst_counts()
    if hurst is not None and counted is not None:
        first_s = counted.width_ns * 1e-9 * 2**hurst.first_octave
        anchor = int(np.abs(np.log(frame["bin_s"] / first_s)).argmin())
        fitted = variance[anchor] * (sizes / sizes[anchor]) ** (2 * hurst.hurst - 2)
        frame["fitted"] = np.where(sizes >= sizes[anchor], fitted, np.nan)
    return frame, hurst


def dispersions(counts: CaptureCounts) -> pd.DataFrame:
    """Return the index of dispersion of packet counts: bin_s, value (1 for Poisson arrivals)."""
    import pandas as pd

    rows = counts.rates.dispersion() if counts.rates is not None else []
    return pd.DataFrame(rows, columns=["bin_s", "value"])


def ccdf(values: NDArray[np.number]) -> pd.DataFrame:
    """Return value and the share of values at least as large (CCDF) in at most POINTS rows, densest in the tail."""
    import pandas as pd

    value, count = np.unique(values, return_counts=True)
    share = count[::-1].cumsum()[::-1] / max(1, len(values))
    if len(value) > POINTS:
        from_end = np.unique(np.geomspace(1, len(value), POINTS).astype(np.int64))
        value, share = value[len(value) - from_end[::-1]], share[len(value) - from_end[::-1]]
    return pd.DataFrame({"value": value, "share": share})


def lorenz_curve(flows: pd.DataFrame) -> pd.DataFrame:
    """Return the share `bytes` of all bytes that the largest flows carry, by their share `flows` of all flows.

    flows: may have a `weight`, the number of flows that each row stands for.
    """
    import pandas as pd

    octets, order = flows["bytes"].to_numpy(), np.argsort(flows["bytes"].to_numpy())[::-1]
    weight = flows["weight"].to_numpy() if "weight" in flows else np.ones(len(flows), np.int64)
    carried, flow_count = np.cumsum((octets * weight)[order]), np.cumsum(weight[order])
    at = np.unique(np.geomspace(1, len(carried), POINTS).astype(np.int64))
    shares = {"flows": flow_count[at - 1] / flow_count[-1], "bytes": carried[at - 1] / carried[-1]}
    return pd.DataFrame(shares)


def hit_ratio_table(table: PacketTable) -> pd.DataFrame:
    """Return key, entries and hit_ratio of LRU caches of destination addresses and of their prefixes."""
    import pandas as pd

    need_ip(table)
    has_ipv4, has_ipv6 = (bool((table[version] & table["header_complete"]).any()) for version in ("ipv4", "ipv6"))
    rows = []
    for bits, ipv6_bits in PREFIX_BITS:
        locality = destination_locality(table, prefix_bits=bits, ipv6_prefix_bits=ipv6_bits)
        sizes = sorted({2**k for k in range(31) if 2**k <= locality.distinct} | {locality.distinct})
        lengths = [f"/{length}" for length, present in ((bits, has_ipv4), (ipv6_bits, has_ipv6)) if present]
        key = "addresses" if bits == 32 else " and ".join(lengths) + " prefixes"
        rows += [(key, size, locality.hit_ratio(size)) for size in sizes]
    return pd.DataFrame(rows, columns=["key", "entries", "hit_ratio"])


def train_shares(table: PacketTable) -> pd.DataFrame:
    """Return gap_s, value (packets of a train), share of trains at least as long, and trains and mean of each gap."""
    import pandas as pd

    need_ip(table)
    if not table["has_time"].all():
        without = int((~table["has_time"]).sum())
        raise InputError(f"{without:,} of the {table.rows:,} packets have no time stamp")
    trains, parts = TrainCounter(table), []
    for gap in TRAIN_GAPS_S:
        lengths = trains.lengths(gap)
        parts.append(ccdf(lengths).assign(gap_s=gap, trains=len(lengths), mean=float(lengths.mean())))
    return pd.concat(parts, ignore_index=True)


def talkers(counter: FlowCounter, count: int = 10) -> dict[str, pd.DataFrame]:
    """Return the addresses that send and receive most bytes, under `senders` and `receivers`."""
    if not counter.packets:
        raise InputError("no packet has a whole IP header")
    return {name: counter.talkers(count, end) for name, end in (("senders", "src"), ("receivers", "dst"))}


def shares(document: Mapping[str, object]) -> pd.DataFrame:
    """Return kind, name, packets and share from the fields of `trace stats`; the rarest names of a kind are merged."""
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
        ordered = sorted(((count, name) for name, count in counted.items() if count), reverse=True)
        if len(ordered) > 6:
            ordered = [*ordered[:5], (sum(count for count, _ in ordered[5:]), f"{len(ordered) - 5} more")]
        total = sum(count for count, _ in ordered)
        rows += [(kind, name, count, count / total) for count, name in ordered]
    if not rows:
        raise InputError("the capture has no packet")
    return pd.DataFrame(rows, columns=["kind", "name", "packets", "share"])


def narrow_shares(counts: CaptureCounts) -> pd.DataFrame:
    """Return cell_bytes and share: the share of packet-buffer accesses that move less than a cell."""
    import pandas as pd

    if not counts.packets:
        raise InputError("the capture has no packet")
    return pd.DataFrame({"cell_bytes": CELLS, "share": [counts.narrow_share(cell) for cell in CELLS]})


def protocol_names() -> dict[int, str]:
    """Return the names of the IP protocol numbers for which the socket module has constants."""
    constants = sorted((name for name in dir(socket) if name.startswith("IPPROTO_")), reverse=True)
    return {int(getattr(socket, name)): name.removeprefix("IPPROTO_") for name in constants}


def dscp_names() -> dict[int, str]:
    """Return names of code points: CSn (RFC 2474), AFxy (RFC 2597), EF (RFC 3246)."""
    classes = {8 * x: f"CS{x}" for x in range(8)}
    assured = {8 * x + 2 * y: f"AF{x}{y}" for x in range(1, 5) for y in range(1, 4)}
    return {**classes, **assured, 46: "EF"}
