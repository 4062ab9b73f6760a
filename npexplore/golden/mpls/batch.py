"""Switches many labelled frames at once: returns the frames sent, and the IP frames exposed by popped stacks."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from npexplore._kernels import golden_mpls as kernels
from npexplore.golden.columns import Packets
from npexplore.golden.ethernet import ETHERNET
from npexplore.golden.mpls.switch import LabelMap, plan_many, rewrite_rows
from npexplore.golden.reasons import Reason
from npexplore.golden.router.configuration import Router
from npexplore.golden.router.frames import Forwarded, Frames, words_of_macs


class LabelledMany(NamedTuple):
    """The outcome of the rows `decided` (sent or dropped), and the IP frames of rows `exposed`, yet to be routed."""

    decided: NDArray[np.int64]
    forwarded: Forwarded
    exposed: NDArray[np.int64]
    frames: Packets


class BatchLabels:
    """Decides columns of labelled frames with the same results as the stages of mpls/stages.py."""

    def __init__(self, router: Router, known: LabelMap) -> None:
        self._mac = words_of_macs(router.ports)
        self._columns = known.columns()
        entries = known.entries
        macs = b"".join(
            entry.mac + (router.ports[entry.port].mac if entry.port >= 0 else bytes(6)) for entry in entries
        )
        self._heads = np.frombuffer(macs + bytes(12), np.uint8).reshape(-1, 12)
        self._mtu = np.array([router.ports[entry.port].mtu if entry.port >= 0 else 0 for entry in entries] + [0])

    def forward(self, frames: Frames) -> LabelledMany:
        """Decide frames, without counting them."""
        packets, columns = frames.packets, self._columns
        packets_below_link = Packets(packets.buffer, packets.offset + ETHERNET, packets.length - ETHERNET)
        plan = plan_many(packets_below_link, columns)
        reason, entry = plan.reason, plan.entry
        reason[(reason == 0) & (entry >= 0) & (plan.size > self._mtu[entry])] = Reason.LABELLED_TOO_BIG
        kernels.stations(packets.buffer, packets.words, packets.offset, frames.port, self._mac, reason)
        decided_ok = reason == 0
        rows = np.flatnonzero(decided_ok)
        size = plan.size[rows] + ETHERNET
        at = np.cumsum(size) - size
        out = np.empty(int(size.sum()), np.uint8)
        rewrite_rows(packets_below_link, rows, plan, columns, at + ETHERNET, out)
        kernels.heads(packets.buffer, packets.offset, rows, entry, plan.labelled, self._heads, at, out)
        by_port = entry[rows] >= 0
        exposed = decided_ok & (entry < 0)
        decided = np.flatnonzero(~exposed)
        index = np.cumsum(~exposed) - 1  # index of a row among the decided rows
        sent = rows[by_port]
        port = columns.port[entry[sent]].astype(np.int16)
        forwarded = Forwarded(
            reason[decided], index[sent], port, np.zeros(len(sent), np.bool_), Packets(out, at[by_port], size[by_port])
        )
        return LabelledMany(decided, forwarded, rows[~by_port], Packets(out, at[~by_port], size[~by_port]))
