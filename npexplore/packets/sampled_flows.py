"""Flows within a memory limit: all flows if they fit, otherwise a sample chosen by a hash of each flow's endpoints."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from npexplore.errors import InputError
from npexplore.packets.columns import PacketTable, TableBuilder
from npexplore.packets.conversations import Words, conversations, directions, segment_words, tcp_words
from npexplore.packets.files import Scan, paths_of
from npexplore.packets.hashing import in_sample, mixed

if TYPE_CHECKING:
    import pandas as pd

PACKET_BYTES, FLOW_BYTES = 300, 900  # memory per packet and per flow of the sample, measured


class SampledFlows(NamedTuple):
    """Flows as `conversations` returns them. flows_each: the number of flows that each row stands for."""

    table: pd.DataFrame
    flows_each: int


def sampled_flows(scan: Scan, memory_bytes: int) -> SampledFlows:
    """Return the flows of captures that are read once; if memory does not hold all packets, the flows of a sample.

    The sample holds all packets of a flow or none (Duffield, Lund, Thorup, "Estimating flow distributions from sampled
    flow statistics", SIGCOMM 2003). Raises InputError if not even the packets of one flow fit.
    """
    parts: list[_Part] = []
    flows_each, rows, flows = 1, 0, 0
    for table, words in scan.each(segment_words):
        part = _Part(table, words, _hashes(table)).ip_packets().sample(flows_each)
        parts.append(part)
        rows, flows = rows + part.table.rows, flows + part.table.rows  # upper bound: a flow per packet
        while _bytes(rows, flows) > memory_bytes:
            flows = len(np.unique(np.concatenate([part.hashes for part in parts])))
            if _bytes(rows, flows) <= memory_bytes:
                break
            flows_each *= 2
            parts = [part.sample(flows_each) for part in parts]
            rows = flows = sum(part.table.rows for part in parts)
            if not rows:
                raise InputError(f"{scan.path}: one flow has more packets than --memory holds")
    builder, words_of_parts, rows_before = TableBuilder(), [], 0
    for part in parts:
        builder.append(part.table)
        words_of_parts.append({**part.words, "row": part.words["row"] + rows_before})
        rows_before += part.table.rows
    names = ("row", "seq", "ack", "window", "payload")
    words = {name: np.concatenate([part[name] for part in words_of_parts] or [np.empty(0, np.int64)]) for name in names}
    parts.clear()
    all_flows = conversations(builder.finish(scan.link_types), words)
    return SampledFlows(all_flows.assign(weight=flows_each) if flows_each > 1 else all_flows, flows_each)


def _bytes(rows: int, flows: int) -> int:
    return rows * PACKET_BYTES + flows * FLOW_BYTES


def application_flows(scan: Scan, memory_bytes: int) -> SampledFlows:
    """Return all flows with the names of applications in their first packets; the files are read three times.

    Raises InputError for a stream, and for more packets than memory holds.
    """
    from npexplore.packets.application import application_columns

    files = paths_of(scan)
    if "-" in files:
        raise InputError("names of applications need a file; a stream is not kept")
    builder, rows, max_packets = TableBuilder(), 0, memory_bytes // PACKET_BYTES
    for part in scan:
        rows += part.rows
        if rows > max_packets:
            raise InputError(
                f"{scan.path}: --memory holds {max_packets:,} packets, of which names of applications need all"
            )
        builder.append(part, scan.share_read)
    table = builder.finish(scan.link_types)
    flow_directions, words = directions(table), tcp_words(files)
    flows = conversations(table, words, flow_directions)
    return SampledFlows(flows.assign(**application_columns(files, table, flow_directions, words)), 1)


class _Part(NamedTuple):
    """Packets, the words of their TCP segments, and the hash of each packet's flow."""

    table: PacketTable
    words: Words
    hashes: NDArray[np.uint64]

    def ip_packets(self) -> _Part:
        return self._of(np.flatnonzero(self.table["header_complete"] & (self.table["ipv4"] | self.table["ipv6"])))

    def sample(self, flows_each: int) -> _Part:
        return self if flows_each == 1 else self._of(np.flatnonzero(in_sample(self.hashes, flows_each)))

    def _of(self, rows: NDArray[np.int64]) -> _Part:
        at = np.searchsorted(rows, self.words["row"])
        has_words = np.append(rows, -1)[at] == self.words["row"]
        words = {name: column[has_words] for name, column in self.words.items()}
        return _Part(self.table.chosen(rows), {**words, "row": at[has_words]}, self.hashes[rows])


def _hashes(table: PacketTable) -> NDArray[np.uint64]:
    """Return a hash of each packet's flow, equal for both directions."""
    ends: list[Any] = []
    for address, six, port in (("src", "source", "sport"), ("dst", "destination", "dport")):
        word = table[address].astype(np.uint64)
        halves = np.ascontiguousarray(getattr(table.ipv6, six)).view(np.uint64)
        word[table.ipv6.packet] = mixed(halves.T) if len(halves) else 0
        ends.append(mixed([word, table[port]]))
    return mixed([np.minimum(*ends), np.maximum(*ends), table["ip_proto"]])
