"""The capture that a page is about: the counts of its packets, and notices for the reader."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from npexplore._kernels.capture_counts import TIMED
from npexplore.machine.workload import Workload, of_columns
from npexplore.packets import Capture, PacketTable
from npexplore.packets.statistics import CaptureCounts, FlowCounter, GapCounter, LengthCounter

SAMPLE_PACKETS = 1 << 20


@dataclass
class Streams:
    """Everything counted over all packets, in memory that grows only with the number of flows."""

    counts: CaptureCounts = field(default_factory=CaptureCounts)
    ip_lengths: LengthCounter = field(default_factory=LengthCounter)
    gaps: GapCounter = field(default_factory=GapCounter)
    flows: FlowCounter = field(default_factory=FlowCounter)
    ip_packets: int = 0

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
    """The capture a page is about: the counts of all packets, and its first 2^20 packets.

    capture: the packets kept, the first ones, because locality, trains and machines depend on their order.
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
        """The packet table of the packets kept."""
        return self.capture.columns

    @property
    def of_the_first(self) -> str:
        """The opening of a section that uses only the packets kept, if these are not all; else empty."""
        kept = self.packets.rows
        return f"Of the first {kept:,} packets of {self.counts.packets:,}. " if kept < self.counts.packets else ""

    @cached_property
    def document(self) -> dict[str, Any]:
        """The fields of `npexplore trace stats --json`."""
        return self.counts.document(self.capture.path, self.capture.format, self.capture.damage)

    @cached_property
    def workload(self) -> Workload:
        """The IP packets kept, in order; raises InputError if there are none."""
        return of_columns(self.name, self.capture)


def notices(subject: Subject) -> list[str]:
    """Return the notices that a reader needs to trust the numbers: packets that some sections leave out."""
    packets, timed = subject.counts.packets, int(subject.counts.totals[TIMED])
    out = []
    if timed < packets:
        out.append(f"{packets - timed:,} of {packets:,} packets have no time stamp; sections over time leave them out.")
    if others := packets - subject.streams.flows.packets:
        out.append(
            f"{others:,} of {packets:,} packets have no whole IPv4 or IPv6 header; flows, locality, trains and talkers "
            "leave them out."
        )
    if skipped := packets - subject.streams.ip_packets:
        out.append(f"{skipped:,} of {packets:,} packets are not IP and left out of the workload for the machines.")
    return out
