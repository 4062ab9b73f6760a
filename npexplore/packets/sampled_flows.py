"""Flows within a limit of memory: of more flows than it holds a sample by a hash of their ends, whole flows of it."""

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

PACKET_BYTES, FLOW_BYTES = 300, 900  # of memory for each packet and each flow of the sample: measured


class SampledFlows(NamedTuple):
    """Flows as `conversations` returns them. flows_each: how many flows each stands for, 1 if all are here."""

    table: pd.DataFrame
    flows_each: int


def sampled_flows(scan: Scan, memory_bytes: int) -> SampledFlows:
    """Return the flows of captures that are read once; if memory does not hold all packets, those of a sample.

    Every packet of a flow is in the sample or none (Duffield, Lund, Thorup, "Estimating flow distributions from sampled
    flow statistics", SIGCOMM 2003). Raises InputError where not even the packets of one flow fit.
    """
    parts: list[_Part] = []
    flows_each, rows, flows = 1, 0, 0
    for table, words in scan.each(segment_words):
        part = _Part(table, words, _hashes(table)).ip_packets().sample(flows_each)
        parts.append(part)
        rows, flows = rows + part.table.rows, flows + part.table.rows  # at most
        while _bytes(rows, flows) > memory_bytes:
            flows = len(np.unique(np.concatenate([part.hashes for part in parts])))
            if _bytes(rows, flows) <= memory_bytes:
                break
            flows_each *= 2
            parts = [part.sample(flows_each) for part in parts]
            rows = flows = sum(part.table.rows for part in parts)
            if not rows:
                raise InputError(f"{scan.path}: one flow has more packets than --memory holds")
    builder, joined, before = TableBuilder(), [], 0
    for part in parts:
        builder.append(part.table)
        joined.append({**part.words, "row": part.words["row"] + before})
        before += part.table.rows
    names = ("row", "seq", "ack", "window", "payload")
    words = {name: np.concatenate([part[name] for part in joined] or [np.empty(0, np.int64)]) for name in names}
    parts.clear()
    whole = conversations(builder.finish(scan.link_types), words)
    return SampledFlows(whole.assign(weight=flows_each) if flows_each > 1 else whole, flows_each)


def _bytes(rows: int, flows: int) -> int:
    return rows * PACKET_BYTES + flows * FLOW_BYTES


def application_flows(scan: Scan, memory_bytes: int) -> SampledFlows:
    """Return all flows with the names that their first packets say, for which the files are read three times.

    Raises InputError for a stream, and for more packets than memory holds.
    """
    from npexplore.packets.application import application_columns

    files = paths_of(scan)
    if "-" in files:
        raise InputError("names of applications need a file; a stream is not kept")
    builder, rows, most = TableBuilder(), 0, memory_bytes // PACKET_BYTES
    for part in scan:
        rows += part.rows
        if rows > most:
            raise InputError(f"{scan.path}: --memory holds {most:,} packets, of which names of applications need all")
        builder.append(part, scan.share_read)
    table = builder.finish(scan.link_types)
    ways, words = directions(table), tcp_words(files)
    flows = conversations(table, words, ways)
    return SampledFlows(flows.assign(**application_columns(files, table, ways, words)), 1)


class _Part(NamedTuple):
    """Packets, the words of their TCP segments, and the hash of each one's flow."""

    table: PacketTable
    words: Words
    hashes: NDArray[np.uint64]

    def ip_packets(self) -> _Part:
        return self._of(np.flatnonzero(self.table["header_complete"] & (self.table["ipv4"] | self.table["ipv6"])))

    def sample(self, flows_each: int) -> _Part:
        return self if flows_each == 1 else self._of(np.flatnonzero(in_sample(self.hashes, flows_each)))

    def _of(self, rows: NDArray[np.int64]) -> _Part:
        at = np.searchsorted(rows, self.words["row"])
        there = np.append(rows, -1)[at] == self.words["row"]
        words = {name: column[there] for name, column in self.words.items()}
        return _Part(self.table.chosen(rows), {**words, "row": at[there]}, self.hashes[rows])


def _hashes(table: PacketTable) -> NDArray[np.uint64]:
    """Return a hash of each packet's flow, the same in both directions."""
    ends: list[Any] = []
    for address, six, port in (("src", "source", "sport"), ("dst", "destination", "dport")):
        word = table[address].astype(np.uint64)
        halves = np.ascontiguousarray(getattr(table.ipv6, six)).view(np.uint64)
        word[table.ipv6.packet] = mixed(halves.T) if len(halves) else 0
        ends.append(mixed([word, table[port]]))
    return mixed([np.minimum(*ends), np.maximum(*ends), table["ip_proto"]])
