"""The capture of a page: the counts of its packets, and notices for the reader."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from npexplore._kernels.capture_counts import TIMED
from npexplore.machine.workload import Workload
from npexplore.machine.workload_sources import of_columns
from npexplore.packets import Capture, PacketTable
from npexplore.packets.statistics import CaptureCounts, FlowCounter, GapCounter, LengthCounter
from npexplore.packets.statistics.flow_counter import FLOW_BYTES
from npexplore.packets.statistics.flow_set import FlowSet

SAMPLE_PACKETS = 1 << 20
KEPT_COLUMNS = ("t_ns", "length", "flags", "l3_length", "src", "dst")  # columns that the sections read
RUNS, RUN_PACKETS = 8, 1 << 13  # sample of a long capture for machines: runs of consecutive packets


@dataclass
class Streams:
    """The counters of all packets, whose memory grows only with the number of flows."""

    counts: CaptureCounts = field(default_factory=CaptureCounts)
    ip_lengths: LengthCounter = field(default_factory=LengthCounter)
    gaps: GapCounter = field(default_factory=GapCounter)
    flows: FlowCounter = field(default_factory=FlowCounter)
    ip_packets: int = 0

    @classmethod
    def within(cls, memory_bytes: int) -> Streams:
        """Return counters whose flows take at most half of memory_bytes; more flows are sampled."""
        rows = 1 << max(12, min(24, int(memory_bytes / 4 / 16).bit_length() - 1))
        counts = CaptureCounts(_flows=FlowSet(rows))
        return cls(counts, flows=FlowCounter(max(1024, memory_bytes // 4 // FLOW_BYTES)))

    def add(self, table: PacketTable) -> None:
        """Count a table's packets."""
        ip = table["ipv4"] | table["ipv6"]
        self.ip_packets += int(ip.sum())
        self.counts.add(table)
        self.ip_lengths.add(table["l3_length"][ip])
        self.gaps.add(table["t_ns"])
        self.flows.add(table)


@dataclass(frozen=True)
class Subject:
    """The capture of a page: the counts of all packets, and its first packets (by default 2^20).

    capture: the first packets, because locality, trains and machines depend on consecutive packets.
    """

    name: str
    capture: Capture
    streams: Streams

    @property
    def counts(self) -> CaptureCounts:
        """The totals of all packets."""
        return self.streams.counts

    @property
    def packets(self) -> PacketTable:
        """The packet table of the first packets."""
        return self.capture.columns

    @property
    def of_the_first(self) -> str:
        """The first words of a section that uses only the first packets; empty if these are all packets."""
        packets = self.packets.rows
        return f"Of the first {packets:,} packets of {self.counts.packets:,}. " if packets < self.counts.packets else ""

    @cached_property
    def document(self) -> dict[str, Any]:
        """The fields of `npexplore trace stats --json`."""
        return self.counts.document(self.capture.path, self.capture.format, self.capture.damage)

    @cached_property
    def workload(self) -> Workload:
        """The IP packets of the first packets, in order; of more than RUNS x RUN_PACKETS, evenly spaced runs.

        Run r of RUN_PACKETS consecutive packets begins at share r / RUNS. Raises InputError without IP packets.
        """
        all_packets = of_columns(self.name, self.capture)
        packets = len(all_packets.packet_bytes)
        if packets <= RUNS * RUN_PACKETS:
            return all_packets
        rows = (np.arange(RUNS)[:, None] * packets // RUNS + np.arange(RUN_PACKETS)).ravel()
        columns = {name: column[rows] for name, column in all_packets.columns.items()}
        return replace(all_packets, columns=columns, t_ns=None if all_packets.t_ns is None else all_packets.t_ns[rows])

    @property
    def of_the_ip_packets(self) -> str:
        """A phrase that names the packets of `workload`."""
        ip_packets, used = int(np.count_nonzero(self.packets["l3_length"])), len(self.workload.packet_bytes)
        if used == ip_packets:
            return f"The {used:,} IP packets in their order"
        return f"Of {ip_packets:,} IP packets {RUNS} runs of {RUN_PACKETS:,} in a row, evenly spread, in their order"


def notices(subject: Subject) -> list[str]:
    """Return notices about packets that some sections leave out or estimate."""
    packets, timed = subject.counts.packets, int(subject.counts.totals[TIMED])
    texts = []
    if timed < packets:
        texts.append(
            f"{packets - timed:,} of {packets:,} packets have no time stamp; sections over time leave them out."
        )
    if others := packets - subject.streams.flows.packets:
        texts.append(
            f"{others:,} of {packets:,} packets have no whole IPv4 or IPv6 header; flows, locality, trains and talkers "
            "leave them out."
        )
    if (flows := subject.streams.flows).sampled > 1:
        texts.append(
            f"More than {flows.most_flows:,} flows do not fit the memory (--memory): numbers of flows and talkers are "
            f"estimated from one flow in {flows.sampled} by its hash ({len(flows.sample()):,} flows) and from the "
            f"largest flows, each of which may lack up to {flows.lacking:,} bytes."
        )
    if skipped := packets - subject.streams.ip_packets:
        texts.append(f"{skipped:,} of {packets:,} packets are not IP and left out of the workload for the machines.")
    return texts
