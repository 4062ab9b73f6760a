"""The number of channels of Gorilla's QDR memory, and their read rate (Secs. 4.4, 4.5)."""

from __future__ import annotations

from npexplore.machine.parameters import Parameters


def reads_per_s(p: Parameters) -> float:
    """Return the reads per second of a channel: one per clock (QDRII), or the announced rate (QDRII+)."""
    return 1e6 * float(p.qdr_mhz if p.memory == "qdrii" else p.qdriiplus_mops)


def channels_of(p: Parameters) -> int:
    """Return the number of memory channels: external ones, or those that on-chip memories provide."""
    return int(p.internal_channels if p.memories == "internal" else p.channels)
