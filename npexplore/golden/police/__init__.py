"""Policers decide whether a flow is within its rate: POLICERS lists them; `police_many` polices columns of packets."""

from npexplore.golden.police.base import Policer
from npexplore.golden.police.batch import police_many
from npexplore.golden.police.colour import Colour
from npexplore.golden.police.differentiated import DifferentiatedTwoRate
from npexplore.golden.police.leaky_bucket import LeakyBucket
from npexplore.golden.police.single_rate import SingleRate
from npexplore.golden.police.two_rate import TwoRate

POLICERS: dict[str, type[Policer]] = {
    "leaky_bucket": LeakyBucket,
    "single_rate": SingleRate,
    "two_rate": TwoRate,
    "differentiated_two_rate": DifferentiatedTwoRate,
}

__all__ = [
    "POLICERS",
    "Colour",
    "DifferentiatedTwoRate",
    "LeakyBucket",
    "SingleRate",
    "TwoRate",
    "police_many",
]
