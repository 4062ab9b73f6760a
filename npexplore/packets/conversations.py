"""Bidirectional flows as a table: endpoints, times, packets and bytes of each direction, TCP flags and TCP events.

A flow is all packets of one pair of addresses, ports and protocol; its forward direction is that of its first packet.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from npexplore._kernels import capture_tcp as kernels
from npexplore._kernels.capture_headers import NO_OFFSET
from npexplore._kernels.capture_records import NO_TIME
from npexplore.packets.columns import PacketTable
from npexplore.packets.files import Files, open_captures
from npexplore.packets.statistics.endpoints import Endpoints, endpoints
from npexplore.packets.statistics.flows import both_ways_key, numbered

if TYPE_CHECKING:
    import pandas as pd

TCP = 6
FLAG_NAMES = "FSRPAUEC"
FLAGS_TEXT = ["".join(name for bit, name in enumerate(FLAG_NAMES) if flags >> bit & 1) for flags in range(256)]
Words = dict[str, NDArray[np.int64]]


def tcp_words(files: Files) -> Words:
    """Return sequence and acknowledgement numbers, windows, payload bytes and rows of a capture's TCP segments.

    Segments whose 20-byte header was not captured whole, and fragments after the first, are left out.
    """
    parts: list[Words] = []
    rows = 0
    for table, words in open_captures(files).each(segment_words):
        words["row"] += rows
        rows += table.rows
        parts.append(words)
    names = ("row", "seq", "ack", "window", "payload")
    return {name: np.concatenate([part[name] for part in parts] or [np.empty(0, np.int64)]) for name in names}


def segment_words(table: PacketTable, data: Any, base: int) -> Words:
    """Return the words (as `tcp_words`) of a table's packets, whose bytes are data[position - base:]."""
    start = table["l4_offset"].astype(np.int64)
    may_have_header = (table["ip_proto"] == TCP) & (start != NO_OFFSET) & ~table["nonfirst"]
    rows = np.flatnonzero(may_have_header & (start + 20 <= table["captured"]) & (table["ipv4"] | table["ipv6"]))
    at = table["position"][rows] - base + start[rows]

    def word(offset: int, size: int) -> NDArray[np.int64]:
        octets = data[at[:, None] + np.arange(offset, offset + size)].astype(np.int64)
        return np.asarray(octets @ (1 << 8 * np.arange(size - 1, -1, -1)))

    header_offset = start[rows] - table["l3_offset"][rows].astype(np.int64)
    payload = table["l3_length"][rows].astype(np.int64) - header_offset - 4 * (word(12, 1) >> 4)
    words = {"row": rows, "seq": word(4, 4), "ack": word(8, 4), "window": word(14, 2)}
    return {**words, "payload": np.maximum(payload, 0)}


class Directions(NamedTuple):
    """IP packets of a table, by flow and direction.

    rows: the packets' rows in the table. number: each packet's flow, numbered in order of first packets. back: whether
    the packet goes opposite to the flow's first packet. tuples: src and dst (numbers of `ends`), sport, dport, ip_proto
    of each packet.
    """

    rows: NDArray[np.int64]
    number: NDArray[np.int64]
    back: NDArray[np.bool_]
    tuples: dict[str, NDArray[np.int64]]
    ends: Endpoints


def directions(table: PacketTable) -> Directions:
    """Return the flow and the direction of each IP packet."""
    ends = endpoints(table)
    rows = ends.rows
    tuples = {"src": ends.src, "dst": ends.dst}
    tuples |= {name: table[name][rows].astype(np.int64) for name in ("ip_proto", "sport", "dport")}
    key, forward = both_ways_key(tuples)
    number = numbered(key)
    first = np.unique(number, return_index=True)[1]
    back = forward != forward[first][number] if len(number) else np.zeros(0, bool)
    return Directions(rows, number, back, tuples, ends)


def conversations(table: PacketTable, words: Words | None = None, ways: Directions | None = None) -> pd.DataFrame:
    """Return one row for each bidirectional flow, in order of first packets. ways: `directions(table)`, if known.

    Columns: src, dst (text), sport, dport, ip_proto, first_ns, last_ns, packets, bytes (of frames), packets_back,
    bytes_back, flags, flags_back (letters of FSRPAUEC). With `words`, for TCP: retransmitted, out_of_order, zero_window
    (segments, both directions) and handshake_s; missing for other protocols. They are Wireshark's:

    - retransmitted (`tcp.analysis.retransmission`): data, SYN or FIN below the next sequence number, if not reordered
    - out_of_order (`tcp.analysis.out_of_order`): such a segment that arrives within the handshake's time (3 ms without
      one) after the segment that overtook it, if the two do not end at the same number and no third duplicate
      acknowledgement requested it
    - zero_window (`tcp.analysis.zero_window`): a window of 0 without SYN, FIN and RST
    - handshake_s (`tcp.analysis.initial_rtt`): from the last SYN to the first ACK of the same sender
    """
    import pandas as pd

    rows, number, back, tuples, ends = ways or directions(table)
    flows = int(number.max()) + 1 if len(number) else 0
    first = np.unique(number, return_index=True)[1]
    time, length = table["t_ns"][rows], table["length"][rows].astype(np.int64)
    timed = time != NO_TIME
    early, late = np.full(flows, np.iinfo(np.int64).max), np.full(flows, np.iinfo(np.int64).min)
    np.minimum.at(early, number[timed], time[timed])
    np.maximum.at(late, number[timed], time[timed])
    columns: dict[str, Any] = {
        "src": ends.text(tuples["src"][first]), "dst": ends.text(tuples["dst"][first]),
        **{name: tuples[name][first] for name in ("sport", "dport", "ip_proto")},
        "first_ns": np.where(early <= late, early, NO_TIME), "last_ns": np.where(early <= late, late, NO_TIME),
    }  # fmt: skip
    for name, mask in (("", ~back), ("_back", back)):
        columns[f"packets{name}"] = np.bincount(number[mask], minlength=flows)
        columns[f"bytes{name}"] = np.bincount(number[mask], length[mask], flows).astype(np.int64)
    flags = np.where(tuples["ip_proto"] == TCP, table["tcp_flags"][rows], 0)
    for name, mask in (("flags", ~back), ("flags_back", back)):
        flags_seen = np.zeros(flows, np.int64)
        for bit in range(8):
            flags_seen |= (np.bincount(number[mask], flags[mask] >> bit & 1, flows) > 0).astype(np.int64) << bit
        columns[name] = [FLAGS_TEXT[letters] for letters in flags_seen.tolist()]
    if words is not None:
        columns |= _tcp_columns(columns["ip_proto"], rows, number, back, time, flags, words)
    return pd.DataFrame(columns)


def _tcp_columns(
    protocol: NDArray[np.int64], rows: NDArray[np.int64], number: NDArray[np.int64], back: NDArray[np.bool_],
    time: NDArray[np.int64], flags: NDArray[np.int64], words: Words,
) -> dict[str, Any]:  # fmt: skip
    import pandas as pd

    counts, handshake = np.zeros((len(protocol), 3), np.int64), np.full(len(protocol), kernels.NOT_YET)
    at = np.searchsorted(rows, words["row"])
    is_ip_packet = (
        (at < len(rows)) & (rows[np.minimum(at, max(len(rows) - 1, 0))] == words["row"]) if len(rows) else at < 0
    )
    at = at[is_ip_packet]
    seq, ack, window, payload = (words[name][is_ip_packet] for name in ("seq", "ack", "window", "payload"))
    kernels.analyse(
        number[at], back[at].astype(np.int64), time[at], flags[at].astype(np.int64), seq, ack, window, payload, counts,
        handshake,
    )  # fmt: skip
    tcp = protocol == TCP
    names = ("retransmitted", "out_of_order", "zero_window")
    columns: dict[str, Any] = {
        name: pd.array(np.where(tcp, counts[:, column], -1), dtype="Int64") for column, name in enumerate(names)
    }
    for values in columns.values():
        values[~tcp] = pd.NA
    return columns | {"handshake_s": np.where(tcp & (handshake >= 0), handshake * 1e-9, np.nan)}
