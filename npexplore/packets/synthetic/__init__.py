"""Synthetic traffic: length mixes, arrival processes, destinations; together they are packets, or a capture."""

from npexplore.packets.synthetic.arrivals import on_off, periodic, poisson, trains
from npexplore.packets.synthetic.destinations import zipf_destinations
from npexplore.packets.synthetic.lengths import LengthMix, fit_lengths, fixed, flat
from npexplore.packets.synthetic.traffic import Traffic

__all__ = [
    "LengthMix",
    "Traffic",
    "fit_lengths",
    "fixed",
    "flat",
    "on_off",
    "periodic",
    "poisson",
    "trains",
    "zipf_destinations",
]
