"""Synthetic traffic: length mixes, arrival processes and destinations, which together make packets or a capture."""

from npexplore.packets.synthetic.arrivals import on_off_arrivals, packet_trains, periodic_arrivals, poisson_arrivals
from npexplore.packets.synthetic.destinations import zipf_destinations
from npexplore.packets.synthetic.lengths import LengthMix, fit_lengths, fixed_length, uniform_lengths
from npexplore.packets.synthetic.traffic import Traffic

__all__ = [
    "LengthMix",
    "Traffic",
    "fit_lengths",
    "fixed_length",
    "on_off_arrivals",
    "packet_trains",
    "periodic_arrivals",
    "poisson_arrivals",
    "uniform_lengths",
    "zipf_destinations",
]
