"""What a capture's page is about, and what one of its sections holds."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from npexplore.errors import InputError
from npexplore.machine.workload import Workload, of_columns
from npexplore.packets import Capture, PacketTable
from npexplore.packets.statistics import CaptureCounts


@dataclass(frozen=True)
class Subject:
    """The capture a page is about: all packets, and the totals of `trace stats`."""

    name: str
    capture: Capture
    counts: CaptureCounts

    @property
    def packets(self) -> PacketTable:
        """The packet table."""
        return self.capture.columns

    @cached_property
    def document(self) -> dict[str, Any]:
        """The fields of `npexplore trace stats --json`."""
        return self.counts.document(self.capture.path, self.capture.format, self.capture.damage)

    @cached_property
    def workload(self) -> Workload:
        """The capture's IP packets in order; raises InputError if there are none."""
        return of_columns(self.name, self.capture)


@dataclass(frozen=True)
class Content:
    """What a section shows: a paragraph, key numbers (label, value), and parts as HTML (figures, tables)."""

    about: str = ""
    headlines: tuple[tuple[str, str], ...] = ()
    parts: tuple[str, ...] = ()


def notices(subject: Subject) -> list[str]:
    """Return what a reader should know before he trusts a number: packets that some sections leave out."""
    packets = subject.packets
    out = []
    without = packets.rows - int(packets["has_time"].sum())
    if without:
        out.append(f"{without:,} of {packets.rows:,} packets have no time stamp; sections over time leave them out.")
    others = packets.rows - int((packets["ipv4"] & packets["header_complete"]).sum())
    if others:
        out.append(
            f"{others:,} of {packets.rows:,} packets have no whole IPv4 header; flows, locality, trains and talkers "
            "leave them out."
        )
    try:
        if subject.workload.note:
            out.append(f"{subject.workload.note} of the workload for the machines.")
    except InputError:
        pass  # the machines' section says so itself
    return out
