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
    from npexplore.packets.statistics import CaptureCounts as CaptureCounts
    from npexplore.packets.statistics import Endpoints as Endpoints
    from npexplore.packets.statistics import FlowCounter as FlowCounter
    from npexplore.packets.statistics import GapCounter as GapCounter
    from npexplore.packets.statistics import HurstEstimate as HurstEstimate
    from npexplore.packets.statistics import LengthCounter as LengthCounter
    from npexplore.packets.statistics import Locality as Locality
    from npexplore.packets.statistics import RateCounter as RateCounter
    from npexplore.packets.statistics import RateSeries as RateSeries
    from npexplore.packets.statistics import count_capture as count_capture
    from npexplore.packets.statistics import destination_locality as destination_locality
    from npexplore.packets.statistics import elephants as elephants
    from npexplore.packets.statistics import flow_locality as flow_locality
    from npexplore.packets.statistics import flow_table as flow_table
    from npexplore.packets.statistics import hurst as hurst
    from npexplore.packets.statistics import interarrivals as interarrivals
    from npexplore.packets.statistics import rate_over_time as rate_over_time
    from npexplore.packets.statistics import top_talkers as top_talkers
    from npexplore.packets.statistics import train_lengths as train_lengths
    from npexplore.packets.statistics import variance_time as variance_time
    from npexplore.packets.statistics.endpoints import endpoints as endpoints
    from npexplore.packets.statistics.tables import hit_ratio_table as hit_ratio_table
    from npexplore.packets.statistics.tables import lorenz_curve as lorenz_curve
    from npexplore.packets.statistics.tables import rate_table as rate_table
    from npexplore.packets.synthetic import LengthMix as LengthMix
    from npexplore.packets.synthetic import Traffic as Traffic
    from npexplore.packets.synthetic import fit_lengths as fit_lengths
    from npexplore.packets.synthetic import fixed_length as fixed_length
    from npexplore.packets.synthetic import on_off_arrivals as on_off_arrivals
    from npexplore.packets.synthetic import packet_trains as packet_trains
    from npexplore.packets.synthetic import periodic_arrivals as periodic_arrivals
    from npexplore.packets.synthetic import poisson_arrivals as poisson_arrivals
    from npexplore.packets.synthetic import uniform_lengths as uniform_lengths
    from npexplore.packets.synthetic import zipf_destinations as zipf_destinations
    from npexplore.packets.writing import CaptureWriter as CaptureWriter
    from npexplore.packets.writing import write_packets as write_packets
else:
    __all__, __getattr__, __dir__ = on_demand(__name__)
