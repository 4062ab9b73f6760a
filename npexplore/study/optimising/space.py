"""Computes costs, upper bounds and norms of demands of a grid of machines as arrays (factored.py builds few machines).

    bound = bits of a packet / max_k D_k        norm = bits of a packet / (sum of D_k^4)^(1/4)
    delay = latency / (1 - S x offered rate)    saturated: threads x S    S = (sum of D_k^4)^(1/4) without arrivals

D_k are the seconds per packet at the most loaded member of server k, divided by its units; threads and arrivals count
as servers. `delay` ranks machines by latency as `norm` ranks them by throughput: by the latency of M/M/1, or by
Little's law with all threads busy.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import product
from math import prod

import numpy as np
import numpy.typing as npt

from npexplore.designs import Design
from npexplore.errors import InputError, ModelError, NpexploreError, RefusedError
from npexplore.machine.parameters import Value
from npexplore.machine.under_load import under_load
from npexplore.machine.workload import Workload, offered_rate
from npexplore.study.optimising.costs import COSTS, parts
from npexplore.study.optimising.factored import Factored, factored
from npexplore.study.sweeping.grid import Values, listed

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
MOST_POINTS = 20_000_000
POWER = 4
FULLEST = 0.98  # largest load in the formula of `delay`
SECONDS, COST = "seconds.", "cost."
ARRIVALS = SECONDS + "arrivals"


@dataclass
class Space:
    """The possible points of a grid; arrays have one element per point. numbers: the points' numbers in the whole grid.

    throughput (bit/s of packets) and latency (s) are bounds; smooth: throughput by the norm of demands; delay:
    estimated latency with queueing; bits: bits of a packet; built: number of machines that were built; reason: why the
    first impossible machine is impossible.
    """

    design: Design
    axes: dict[str, list[Value]]
    workload: str
    numbers: Integers = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    throughput: Floats = field(default_factory=lambda: np.empty(0))
    smooth: Floats = field(default_factory=lambda: np.empty(0))
    latency: Floats = field(default_factory=lambda: np.empty(0))
    delay: Floats = field(default_factory=lambda: np.empty(0))
    bits: Floats = field(default_factory=lambda: np.empty(0))
    costs: dict[str, Floats] = field(default_factory=dict)
    built: int = 0
    reason: str = ""

    @property
    def points(self) -> int:
        """The number of points of the grid."""
        return prod(len(values) for values in self.axes.values())

    @property
    def possible(self) -> int:
        """The number of possible points."""
        return len(self.numbers)

    def cost(self, name: str) -> Floats:
        """Return a cost of every possible point."""
        return self.costs[name]

    def differs(self, name: str) -> bool:
        """Return whether a cost is not the same at all possible points."""
        values = self.costs[name]
        return bool(values.max() > values.min() * (1 + 1e-12))

    def knobs_at(self, point: int) -> dict[str, Value]:
        """Return the knobs of a possible point."""
        indices = np.unravel_index(int(self.numbers[point]), [len(values) for values in self.axes.values()])
        return {name: values[int(k)] for (name, values), k in zip(self.axes.items(), indices, strict=True)}

    def numeric(self) -> dict[str, Floats]:
        """Return the values of the numeric knobs at every possible point."""
        indices = np.unravel_index(self.numbers, [len(values) for values in self.axes.values()])
        axes = zip(self.axes.items(), indices, strict=True)
        return {
            name: np.array(values, dtype=float)[index]
            for (name, values), index in axes
            if not isinstance(values[0], str)
        }

    def design_at(self, point: int) -> Design:
        """Return the design of a possible point."""
        return self.design.with_(**self.knobs_at(point))


def space(design: Design, workload: Workload | None, knobs: Mapping[str, Values], *, latency: bool = False) -> Space:
    """Return the grid of a design over every combination of some knobs' values.

    knobs: values as for a grid. latency: also compute the bound and the estimate of latency. Raises UnknownNameError
    or InputError before anything is built.
    """
    axes = {name: listed(design, name, values) for name, values in knobs.items()}
    if not axes:
        raise InputError(f"a search over {design.name} needs at least one knob with its values, got none")
    # choices first: each combination of choices is a separate structure
    axes = dict(sorted(axes.items(), key=lambda item: not isinstance(item[1][0], str)))
    grid = Space(design, axes, design.workload(workload).name)
    if grid.points > MOST_POINTS:
        raise InputError(f"a search takes at most {MOST_POINTS:,} points, got {grid.points:,}")
    choices = {name: values for name, values in axes.items() if isinstance(values[0], str)}
    numbers = {name: values for name, values in axes.items() if name not in choices}
    learned: list[tuple[int, Factored]] = []
    size = int(np.prod([len(values) for values in numbers.values()], dtype=np.int64))
    for k, choice in enumerate(product(*choices.values())):
        structure = _Structure(design.with_(**dict(zip(choices, choice, strict=True))), workload, latency)
        learned.append((k * size, factored(numbers, structure.functions, structure.possible)))
        grid.reason = grid.reason or structure.reason
    _fill(grid, learned, latency)
    return grid


@dataclass
class _Structure:
    """A design with fixed choices: the demands and costs of its machines as functions of the numeric knobs."""

    design: Design
    workload: Workload | None
    latency: bool
    reason: str = ""

    def possible(self, knobs: dict[str, Value]) -> bool:
        """Return whether the machine with these knobs is possible."""
        try:
            self.design.with_(**knobs).machine(self.workload)
        except ModelError as error:
            self.reason = self.reason or str(error)
            return False
        return True

    def functions(self, knobs: dict[str, Value]) -> dict[str, float] | None:
        """Return seconds by server, costs, bits and latency of one machine; None if its program is impossible."""
        varied = self.design.with_(**knobs)
        load, machine = varied.workload(self.workload), varied.machine(self.workload)
        try:
            loaded = under_load(machine, load)
        except RefusedError:
            raise
        except NpexploreError as error:
            self.reason = self.reason or str(error)
            return None
        seconds = {name: 1.0 / rate for name, rate in loaded.ceilings().items()}
        offered = load.rate_pps
        if load.arrivals == "timestamps":
            offered = offered_rate(load)
        if offered is not None:
            seconds["arrivals"] = 1.0 / offered
        memory = varied.memory(varied.parameters) if varied.memory is not None else None
        values = {SECONDS + name: value for name, value in seconds.items()}
        values |= {f"{COST}{name}.{cost_name}": value for (name, cost_name), value in parts(machine, memory).items()}
        values["bits"] = 8 * load.mean_packet_bytes * loaded.finished
        return values | ({"latency": loaded.demands.latency} if self.latency else {})


def _fill(out: Space, learned: list[tuple[int, Factored]], latency: bool) -> None:
    """Fill the space with the concatenated arrays of all structures."""
    columns: dict[str, list[Floats]] = {}
    numbers = []
    for begin, grid in learned:
        out.built += grid.built
        is_possible = grid.possible.ravel()
        numbers.append(begin + np.flatnonzero(is_possible))
        worst, norm = np.zeros(grid.shape), np.zeros(grid.shape)
        for name in grid.factors:
            if name.startswith(SECONDS) and name != ARRIVALS:
                seconds = grid.full(name)
                np.maximum(worst, seconds, out=worst)
                norm += seconds**POWER
        server_norm = norm ** (1 / POWER)
        if (offered := grid.full(ARRIVALS) if ARRIVALS in grid.factors else None) is not None:
            worst, norm = np.maximum(worst, offered), norm + offered**POWER
        bits = grid.full("bits")
        merits = {"bits": bits, "throughput": bits / worst, "smooth": bits / norm ** (1 / POWER)}
        merits |= {COST + name: np.zeros(grid.shape) for name in COSTS}
        for name in grid.factors:
            if name.startswith(COST):
                merits[name[: name.index(".", len(COST))]] += grid.full(name)
        if latency:
            merits["latency"] = grid.full("latency")
            load = None if offered is None else np.minimum(server_norm / offered, FULLEST)
            merits["delay"] = merits[COST + "threads"] * server_norm if load is None else merits["latency"] / (1 - load)
        for name, values in merits.items():
            columns.setdefault(name, []).append(values.ravel()[is_possible])
    joined = {name: np.concatenate(arrays) for name, arrays in columns.items()}
    out.numbers = np.concatenate(numbers)
    out.throughput, out.smooth, out.bits = joined["throughput"], joined["smooth"], joined["bits"]
    nothing = np.zeros(len(out.numbers))
    out.latency, out.delay = joined.get("latency", nothing), joined.get("delay", nothing)
    out.costs = {name: joined[COST + name] for name in COSTS}
