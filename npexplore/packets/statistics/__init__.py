"""Statistics of captures: running totals in constant memory, and what needs the whole packet table."""

from npexplore.packets.statistics.counting import CaptureCounts, count_capture

__all__ = ["CaptureCounts", "count_capture"]
