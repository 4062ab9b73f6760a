"""Flows of a packet table, IPv4 and IPv6: 5-tuples, directed or bidirectional, split by timeouts; talkers and trains.

A flow ends when no packet of it arrives for `timeout_s` (inactive) or when it has lasted `active_s` (RFC 5470 section
5.1.1 calls both flow expiration). Elephants are the fewest flows that together carry a given share of the bytes.
"""

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from npexplore._kernels.capture_flows import split_by_timeout
from npexplore._kernels.capture_records import NO_TIME
from npexplore.errors import InputError, one_of
from npexplore.packets.columns import PacketTable
from npexplore.packets.statistics.endpoints import FIRST_IPV6, Endpoints, dense, endpoints
from npexplore.units import FOREVER_NS, whole_nanoseconds

if TYPE_CHECKING:
    import pandas as pd

TUPLE = ("src", "dst", "ip_proto", "sport", "dport")


def flow_table(
    table: PacketTable,
    *,
    both_ways: bool = False,
    timeout_s: float | None = None,
    active_s: float | None = None,
    ends: Endpoints | None = None,
) -> "pd.DataFrame":
    """Return a row for each flow, in order of first packets: 5-tuple, packets, bytes, times, duration.

    The columns src and dst are numbers of `endpoints(table)`: an IPv4 address is its own number, and
    `endpoints(table).text` converts any number to text.

    Args:
        table: the packets.
        both_ways: count both directions as one flow, in the direction of its first packet, and add packets_back.
        timeout_s: a gap longer than this many seconds starts a new flow (None: never); needs time stamps.
        active_s: a flow that lasts longer than this many seconds is split (None: never); needs time stamps.
        ends: the table's endpoints, if they are known already.

    Raises:
        InputError: a timeout that is not above 0, or a timeout for packets without time stamps.
    """
    import pandas as pd

    ends = ends or endpoints(table)
    rows = ends.rows
    tuples = {"src": ends.src, "dst": ends.dst}
    tuples |= {name: table[name][rows].astype(np.int64) for name in ("ip_proto", "sport", "dport")}
    key, forward = both_ways_key(tuples) if both_ways else (tuples, np.ones(len(rows), bool))
    number = numbered(key)
    time = table["t_ns"][rows]
    if timeout_s is not None or active_s is not None:
        if (time == NO_TIME).any():
            raise InputError("flows can be split by timeouts only if every packet has a time stamp")
        idle, life = (FOREVER_NS if s is None else whole_nanoseconds("flow timeout", s) for s in (timeout_s, active_s))
        size = int(number.max()) + 1 if len(number) else 0
        last, began, current = np.zeros(size, np.int64), np.zeros(size, np.int64), np.full(size, -1, np.int64)
        number = split_by_timeout(number, time, idle, life, last, began, current)
    frame = pd.DataFrame({"flow": number, "bytes": table["length"][rows].astype(np.int64), "t_ns": time, **tuples})
    frame["packets"] = 1
    grouped = frame.groupby("flow", sort=False)
    names = dict.fromkeys(TUPLE, "first")
    flows = grouped.agg({**names, "packets": "sum", "bytes": "sum"})
    flows["first_ns"], flows["last_ns"] = grouped["t_ns"].min(), grouped["t_ns"].max()
    flows["duration_s"] = (flows["last_ns"] - flows["first_ns"]) * 1e-9
    if both_ways:
        first = np.unique(number, return_index=True)[1]
        back = forward != forward[first][number]
        flows["packets_back"] = np.bincount(number, back, len(flows)).astype(np.int64)
    return flows.reset_index(drop=True)


def both_ways_key(
    tuples: dict[str, NDArray[np.int64]],
) -> tuple[dict[str, NDArray[np.int64]], NDArray[np.bool_]]:
    """Return 5-tuples that are equal for both directions, and whether each packet is sent by the lower endpoint."""
    forward = (tuples["src"] << 16 | tuples["sport"]) <= (tuples["dst"] << 16 | tuples["dport"])
    key = dict(tuples)
    for name, opposite in (("src", "dst"), ("dst", "src"), ("sport", "dport"), ("dport", "sport")):
        key[name] = np.where(forward, tuples[name], tuples[opposite])
    return key, forward


def numbered(key: dict[str, NDArray[np.int64]]) -> NDArray[np.int64]:
    """Return the number of each packet's key; keys are numbered in order of appearance."""
    import pandas as pd

    src, dst = key["src"], key["dst"]
    if len(src) and max(src.max(), dst.max()) >= FIRST_IPV6:
        src, dst = np.split(pd.factorize(np.concatenate([src, dst]))[0].astype(np.int64), 2)
    upper = src << 32 | dst
    lower = key["sport"] << 24 | key["dport"] << 8 | key["ip_proto"]
    ends, ports = (pd.factorize(columns)[0].astype(np.int64) for columns in (upper, lower))
    return np.asarray(pd.factorize(ends << 31 | ports)[0], dtype=np.int64)


def elephants(flows: "pd.DataFrame", share: float = 0.8) -> "pd.DataFrame":
    """Return the fewest flows that together carry at least a share of the bytes, largest first.

    flows: may have a `weight`, how many flows each row stands for.
    """
    if not 0 < share <= 1:
        raise InputError(f"share of the bytes must be above 0 and at most 1, got {share!r}")
    ordered = flows.sort_values("bytes", ascending=False, kind="stable")
    octets = ordered["bytes"] * ordered["weight"] if "weight" in ordered else ordered["bytes"]
    needed = int((octets.cumsum() < share * octets.sum()).sum()) + 1
    return ordered.head(needed if len(ordered) else 0)


def top_talkers(table: PacketTable, count: int = 10, *, by: str = "bytes", end: str = "src") -> "pd.DataFrame":
    """Return the IP addresses, as text, that send or receive most.

    Args:
        table: the packets.
        count: the number of addresses.
        by: "bytes" or "packets".
        end: "src" for senders, "dst" for receivers.
    """
    one_of("measure of talkers", by, ("bytes", "packets"))
    ends = endpoints(table)
    numbers = getattr(ends, one_of("end of a packet", end, ("src", "dst")))
    return ranked(numbers, np.ones(len(numbers), np.int64), table["length"][ends.rows], ends, count, by=by)


def ranked(
    numbers: NDArray[np.int64], packets: Any, octets: Any, ends: Endpoints, count: int, *, by: str = "bytes"
) -> "pd.DataFrame":
    """Return the addresses with the largest sums: address (text), packets, bytes, and its share by the measure."""
    import pandas as pd

    address, inverse = np.unique(numbers, return_inverse=True)
    sums = {name: np.bincount(inverse, part, len(address)) for name, part in (("packets", packets), ("bytes", octets))}
    frame = pd.DataFrame({"address": address, **{name: total.astype(np.int64) for name, total in sums.items()}})
    frame["share"] = frame[by] / max(1, frame[by].sum())
    top = frame.sort_values(by, ascending=False, kind="stable").head(count).reset_index(drop=True)
    return top.assign(address=ends.text(top["address"]))


def train_lengths(table: PacketTable, gap_s: float) -> NDArray[np.int64]:
    """Return the number of packets of each train: packets of one address pair, both directions, at most gap_s apart.

    Packets of other pairs in between do not end a train (Jain and Routhier's definition of a node-pair process).
    """
    return TrainCounter(table).lengths(gap_s)


class TrainCounter:
    """The packet trains of a table for any number of largest gaps; address pairs are numbered once."""

    def __init__(self, table: PacketTable) -> None:
        import pandas as pd

        ends = endpoints(table)
        self._t_ns = table["t_ns"] if len(ends.rows) == table.rows else table["t_ns"][ends.rows]
        low, other, has_ipv6 = ends.src, ends.dst, len(ends.ipv6) > 0
        del ends
        high = np.maximum(low, other)
        np.minimum(low, other, out=low)
        del other
        if has_ipv6:
            low, high = np.split(pd.factorize(np.concatenate([low, high]))[0].astype(np.int64), 2)
        low <<= 32
        low |= high
        del high
        self._pair, self._pairs = dense(low)

    def lengths(self, gap_s: float) -> NDArray[np.int64]:
        """Return the number of packets of each train, as `train_lengths` does."""
        gap_ns = whole_nanoseconds("largest gap within a train", gap_s)
        if (self._t_ns == NO_TIME).any():
            raise InputError("packets form trains only if every packet has a time stamp")
        last, began, current = (np.full(self._pairs, start, np.int64) for start in (0, 0, -1))
        return np.bincount(split_by_timeout(self._pair, self._t_ns, gap_ns, FOREVER_NS, last, began, current))
