"""Captures in and out, packet tables, statistics, synthetic workloads."""

from npexplore.packets.capture import Capture, LengthCdf, read_capture
from npexplore.packets.columns import PacketTable
from npexplore.packets.scan import CaptureScan, Damage

__all__ = ["Capture", "CaptureScan", "Damage", "LengthCdf", "PacketTable", "read_capture"]
