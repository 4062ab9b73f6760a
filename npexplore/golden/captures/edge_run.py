"""Runs a replay's output through a DiffServ edge: frames are policed, marked, queued at their ports, and sent.

A packet is classified by its incoming header; each of its fragments is policed and queued separately. Messages that the
router generates are classified by their own headers. Rules and marking apply to IPv4 headers only; all other packets
are classified with fields of 0. About 100 bytes per packet stay in memory until all have arrived, frames in a temporary
file. A timestamp that goes back is replaced by that of the previous packet.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from npexplore.golden.captures.outputs import LateDropTable, OutputCaptures
from npexplore.golden.captures.replay import Step
from npexplore.golden.captures.spool import Spool
from npexplore.golden.captures.tally import Tally
from npexplore.golden.columns import Packets
from npexplore.golden.diffserv import Arrivals, Fate, Outcome, simulate_diffserv
from npexplore.golden.diffserv.edge import HEAD, SHORTEST, Edge
from npexplore.golden.diffserv.link_rate import CHECK
from npexplore.golden.diffserv.mark import mark_dscps
from npexplore.golden.ethernet import IPV4_TYPE
from npexplore.golden.ipv4.five_tuple import read_five_tuples
from npexplore.golden.router.configuration import Router

if TYPE_CHECKING:
    import pandas as pd

COLUMNS = ("time_ns", "length", "rule", "port", "source", "packet", "number", "t_ns", "icmp", "size", "ip")
COLUMN_OF = {"ip": "ip", "frame": "size", "line": "length"}  # column of a packet's size, by unit
MAX_TAGS, TAG_TYPES, LABEL_TYPES = 8, (0x8100, 0x88A8), (0x8847, 0x8848)
FATES = {int(fate): fate for fate in Fate}


class EdgeRun:
    """Collects the steps of a replay; `finish` simulates the edge and writes captures and drops."""

    def __init__(
        self, router: Router, edge: Edge, tally: Tally, spool: Spool, captures: OutputCaptures | None,
        drops: LateDropTable | None,
    ) -> None:  # fmt: skip
        self.router, self.edge, self.tally, self.spool = router, edge, tally, spool
        self.captures, self.drops = captures, drops
        self._parts: list[dict[str, NDArray[np.int64]]] = []
        self._before = 0  # packets of earlier steps
        self._outcome: Outcome | None = None

    def take(self, step: Step) -> None:
        """Store the frames that the router sent, and record the packets that the router dropped."""
        result, frames = step.made, step.frames
        rule = self.edge.classifier.match_many(read_five_tuples(_inner(frames.packets)))[result.packet]
        icmp = np.flatnonzero(result.icmp)
        if len(icmp):
            messages = Packets(result.frames.buffer, result.frames.offset[icmp], result.frames.length[icmp])
            rule[icmp] = self.edge.classifier.match_many(read_five_tuples(_inner(messages)))
        columns: tuple[NDArray[Any], ...] = (
            step.sent_ns, np.maximum(result.frames.length + CHECK, SHORTEST), rule, result.port,
            frames.port[result.packet],
            result.packet + self._before, step.part.number[result.packet], step.part.t_ns[result.packet], result.icmp,
            result.frames.length, _ip_bytes(result.frames),
        )  # fmt: skip
        self._parts.append({name: column.astype(np.int64) for name, column in zip(COLUMNS, columns, strict=True)})
        self.spool.put(result.frames)
        if self.drops is not None:
            self.drops.take(step, first=self._before)
        self._before += len(frames)

    def finish(self, seed: int = 0) -> None:
        """Simulate the edge; write sent and dropped packets, and correct the tally."""
        empty = [dict.fromkeys(COLUMNS, np.empty(0, np.int64))]
        sent = {name: np.concatenate([part[name] for part in self._parts or empty]) for name in COLUMNS}
        times = np.maximum(np.maximum.accumulate(sent["time_ns"]), 0) if len(sent["time_ns"]) else sent["time_ns"]
        policed, queued = self._counted(sent)
        arrivals = Arrivals.of(
            times, sent["length"], sent["rule"], sent["port"], source=sent["source"], policed_bytes=policed,
            queued_bytes=queued,
        )  # fmt: skip
        outcome = self._outcome = simulate_diffserv(self.edge.diffserv, arrivals, seed)
        if self.captures is not None and len(arrivals):
            frames = self.spool.all()
            mark_dscps(_inner(frames), outcome.dscp, in_place=True)
            self._write(self.captures, frames, outcome)
        self._lose(sent, outcome)

    def _counted(self, sent: dict[str, NDArray[np.int64]]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return each packet's size for its policer, and its size for its port's queues, in bytes."""
        lengths = np.stack([sent[COLUMN_OF[unit]] for unit in COLUMN_OF])
        units = list(COLUMN_OF)
        policers = np.array([units.index(unit) for unit in self.edge.policer_bytes] or [0])
        policer_of_rule = [treatment.policer or 0 for treatment in self.edge.diffserv.treatments] or [0]
        ports = np.array([units.index(unit) for unit in self.edge.port_bytes])
        rows = np.arange(len(sent["rule"]))
        return lengths[policers[np.array(policer_of_rule)[sent["rule"]]], rows], lengths[ports[sent["port"]], rows]

    def _write(self, captures: OutputCaptures, frames: Packets, outcome: Outcome) -> None:
        for port in range(len(self.router.ports)):
            rows = np.flatnonzero(outcome.sent & (outcome.arrivals.port == port))
            rows = rows[np.argsort(outcome.departure_ns[rows], kind="stable")]
            if len(rows):
                captures.write(port, frames, outcome.departure_ns, rows)

    def _lose(self, sent: dict[str, NDArray[np.int64]], outcome: Outcome) -> None:
        """Record packets of which no fragment was sent; their fate is that of their first fragment."""
        dropped = ~outcome.sent
        icmp = sent["icmp"].astype(bool)
        self.tally.unsend(sent["port"][dropped], icmp[dropped], sent["size"][dropped])
        sent_packets = np.unique(sent["packet"][outcome.sent & ~icmp])
        rows = np.flatnonzero(dropped & ~icmp & ~np.isin(sent["packet"], sent_packets))
        _, first_rows = np.unique(sent["packet"][rows], return_index=True)
        rows = rows[first_rows]
        for row in rows.tolist():
            fate = FATES[int(outcome.fate[row])]
            self.tally.lose(int(sent["source"][row]), int(sent["port"][row]), fate)
            if self.drops is not None:
                packet_place = int(sent["packet"][row]), int(sent["source"][row]), int(sent["number"][row])
                self.drops.add(*packet_place, int(sent["t_ns"][row]), fate.name, fate.clause)

    @property
    def outcome(self) -> Outcome:
        """The outcome of each frame; available after `finish`."""
        assert self._outcome is not None
        return self._outcome

    def _span(self) -> tuple[int, int]:
        """Return the time in ns over which rates are measured: first arrival to last departure."""
        times = self.outcome.arrivals.time_ns
        if not len(times):
            return 0, 1
        return int(times[0]), max(int(times[-1]), int(self.outcome.departure_ns.max())) + 1

    def classes(self) -> pd.DataFrame:
        """Return one row per port and class with packets: offered, by fate, rates, delays."""
        table = self.outcome.by_port(*self._span()).reset_index()
        table["port"] = [self.router.ports[number].name for number in table["port"]]
        return table[table["offered"] > 0].reset_index(drop=True)

    def rules(self) -> pd.DataFrame:
        """Return one row per rule with the counters of its packets; rule -1: packets without a rule."""
        return self.outcome.by_rule(*self._span()).reset_index()

    def document(self) -> dict[str, Any]:
        """Return both tables as records, with None for missing numbers."""
        return {"classes": _records(self.classes()), "rules": _records(self.rules())}


def _records(table: pd.DataFrame) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = table.astype(object).where(table.notna(), None).to_dict("records")
    return rows


def _ip_bytes(frames: Packets) -> NDArray[np.int64]:
    """Return the lengths in bytes of the packets in frames, without VLAN tags and labels; at least 1."""
    length, start = frames.length.astype(np.int64), np.full(len(frames.offset), HEAD, np.int64)

    def types() -> NDArray[np.int64]:
        at = np.minimum(frames.offset + start - 2, len(frames.buffer) - 2)
        return np.asarray(frames.buffer[at].astype(np.int64) << 8 | frames.buffer[at + 1])

    for _ in range(MAX_TAGS):
        start[np.isin(types(), TAG_TYPES) & (start + 4 <= length)] += 4
    labelled = np.isin(types(), LABEL_TYPES) & (start + 4 <= length)
    for _ in range(MAX_TAGS):
        start[labelled] += 4
        is_bottom = types() & 0x100 != 0  # bottom bit of the entry that ends here: the lowest bit of its third octet
        labelled &= ~is_bottom & (start + 4 <= length)
    return np.asarray(np.maximum(length - start, 1))


def _inner(frames: Packets) -> Packets:
    """Return the IPv4 packets in Ethernet frames; empty for short frames and other types."""
    head = np.minimum(frames.length, HEAD)
    ipv4 = np.flatnonzero(frames.length >= HEAD)
    at = frames.offset[ipv4] + HEAD
    ipv4 = ipv4[(frames.buffer[at - 2] == IPV4_TYPE[0]) & (frames.buffer[at - 1] == IPV4_TYPE[1])]
    length = np.zeros_like(frames.length)
    length[ipv4] = frames.length[ipv4] - HEAD
    return Packets(frames.buffer, frames.offset + head, length)
