"""Statistics of captures: running totals in constant memory, and statistics of whole packet tables."""

from npexplore.packets.statistics.counting import CaptureCounts, count_capture
from npexplore.packets.statistics.endpoints import Endpoints
from npexplore.packets.statistics.flow_counter import FlowCounter
from npexplore.packets.statistics.flows import elephants, flow_table, top_talkers, train_lengths
from npexplore.packets.statistics.gaps import GapCounter
from npexplore.packets.statistics.lengths import LengthCounter
from npexplore.packets.statistics.locality import Locality, destination_locality, flow_locality
from npexplore.packets.statistics.rates import RateCounter, RateSeries, rate_over_time
from npexplore.packets.statistics.scaling import HurstEstimate, hurst, interarrivals, variance_time

__all__ = [
    "CaptureCounts",
    "Endpoints",
    "FlowCounter",
    "GapCounter",
    "HurstEstimate",
    "LengthCounter",
    "Locality",
    "RateCounter",
    "RateSeries",
    "count_capture",
    "destination_locality",
    "elephants",
    "flow_locality",
    "flow_table",
    "hurst",
    "interarrivals",
    "rate_over_time",
    "top_talkers",
    "train_lengths",
    "variance_time",
]
