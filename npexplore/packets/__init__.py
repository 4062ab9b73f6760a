"""Captures in and out, packet tables, statistics, synthetic traffic."""

from typing import TYPE_CHECKING

from npexplore.names import on_demand

if TYPE_CHECKING:
    from npexplore.packets.anonymise import Anonymiser as Anonymiser
    from npexplore.packets.capture import Capture as Capture
    from npexplore.packets.capture import read_capture as read_capture
    from npexplore.packets.columns import PacketTable as PacketTable
    from npexplore.packets.files import find_captures as find_captures
    from npexplore.packets.files import open_captures as open_captures
    from npexplore.packets.filters import matching_packets as matching_packets
    from npexplore.packets.frames import read_frames as read_frames
    from npexplore.packets.frames import write_frames as write_frames
    from npexplore.packets.length_cdf import LengthCdf as LengthCdf
    from npexplore.packets.parquet import convert_to_parquet as convert_to_parquet
    from npexplore.packets.scan import CaptureScan as CaptureScan
    from npexplore.packets.scan import Damage as Damage
    from npexplore.packets.statistics import *  # noqa: F403
    from npexplore.packets.statistics.endpoints import endpoints as endpoints
    from npexplore.packets.statistics.tables import hit_ratio_table as hit_ratio_table
    from npexplore.packets.statistics.tables import lorenz_curve as lorenz_curve
    from npexplore.packets.statistics.tables import rate_table as rate_table
    from npexplore.packets.synthetic import *  # noqa: F403
    from npexplore.packets.writing import CaptureWriter as CaptureWriter
    from npexplore.packets.writing import write_packets as write_packets
else:
    __all__, __getattr__, __dir__ = on_demand(__name__)
