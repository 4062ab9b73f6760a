"""Reads and applies a user-defined cost: prices per unit of resources, in any unit, each price with its source.

cost of a machine = sum over prices of value x amount       amount: a cost of COSTS, the value of a knob, or 1 (`base`)
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import numpy.typing as npt

from npexplore.designs import Design
from npexplore.errors import Faults, InputError, UnknownNameError
from npexplore.paths import input_content
from npexplore.study.optimising.costs import COSTS
from npexplore.toml import Record, decode

Floats = npt.NDArray[np.float64]
BASE = "base"


class Price(Record, frozen=True):
    """The price of one unit, in the unit of the file."""

    value: float
    source: str
    about: str = ""


class PriceFile(Record, frozen=True):
    """Schema of a file of prices. per: price by name of a cost (memory_bits, ...), of a knob, or `base` (constant)."""

    name: str
    unit: str
    per: dict[str, Price]


def load_prices(path: str | Path) -> PriceFile:
    """Read a file of prices; raises InputError for an invalid price or one without a source (several: FaultsError)."""
    file = Path(path)
    prices: PriceFile = decode(input_content(file), PriceFile, file)
    faults = Faults()
    with faults.one():
        if prices.name in COSTS:
            raise InputError(f"name must not be one of {', '.join(COSTS)}, got {prices.name!r}")
    for name, price in prices.per.items():
        with faults.one():
            if not price.source.strip():
                raise InputError(f"price per {name!r} has no source")
        with faults.one():
            if not 0 <= price.value < float("inf"):
                raise InputError(f"price per {name!r} must be at least 0 and finite, got {price.value!r}")
    faults.tell(file.name)
    return prices


def priced(prices: PriceFile, design: Design, costs: Mapping[str, Floats], knobs: Mapping[str, Floats]) -> Floats:
    """Return the priced cost of each machine; costs, knobs: arrays over the machines, of knobs that differ.

    Raises UnknownNameError for a price per a name that is neither a cost nor a knob, InputError for a knob that is a
    choice.
    """
    total = np.zeros_like(next(iter(costs.values())))
    parameters = design.parameters.file.parameter
    for name, price in prices.per.items():
        if name == BASE:
            total = total + price.value
        elif name in costs:
            total = total + price.value * costs[name]
        elif name in knobs:
            total = total + price.value * knobs[name]
        elif name not in parameters:
            raise UnknownNameError(f"{prices.name}: cost or knob of {design.name}", name, [BASE, *COSTS, *parameters])
        elif isinstance(parameters[name].value, str):
            raise InputError(f"{prices.name}: price per {name!r}: this knob is a choice, not a number")
        else:
            total = total + price.value * float(design.parameters[name])
    return total


def sources_of(prices: PriceFile) -> str:
    """Return the prices with their units and sources as text."""
    return "; ".join(f"{price.value:g} {prices.unit} per {name}: {price.source}" for name, price in prices.per.items())
