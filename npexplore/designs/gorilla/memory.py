"""The channels of Gorilla's QDR memory, and the reads that each gives (Secs. 4.4, 4.5)."""

from __future__ import annotations

from npexplore.machine.parameters import Parameters


def reads_per_s(p: Parameters) -> float:
    """Return the reads a second of a channel: one each clock (QDRII), or the announced rate (QDRII+)."""
    return 1e6 * float(p.qdr_mhz if p.memory == "qdrii" else p.qdriiplus_mops)


def channels_of(p: Parameters) -> int:
    """Return the channels of the memory: external ones, or as many as memories inside the device make up."""
    return int(p.internal_channels if p.memories == "internal" else p.channels)
