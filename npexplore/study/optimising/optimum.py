"""The result of a search for the best machines: the front, and what became of all other points (optimise.py)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from npexplore.machine.parameters import Value
from npexplore.records import content_hash
from npexplore.results import Result, plain


@dataclass(frozen=True)
class Best:
    """A machine on the front, simulated. throughput: bit/s of packets, with its 95 % interval; latency: mean, in s;
    bounds, queueing: throughput by these (queueing None where it refuses or was not asked).
    """

    knobs: Mapping[str, Value]
    costs: Mapping[str, float]
    throughput: float
    interval: tuple[float, float] | None
    latency: float | None
    bottleneck: str
    bounds: float
    queueing: float | None


ENOUGH = 0.95  # of the fastest: what more buys is rarely worth its cost


@dataclass(frozen=True, repr=False)
class Optimum(Result):
    """The best machines for their cost (the front), best merit first, and what became of all other points.

    counts: points = impossible + pruned_by_bounds + ranked_lower + queueing + simulated, each point counted at the last
    step it reached; pruned are those that a simulated point dominates even at their bound. unconfirmed: points whose
    estimates put them on the front but that the budget left unsimulated. built: machines built to compute the bounds of
    all points.

    Example:
        >>> import npexplore as npx
        >>> machine, load = npx.design("ixp2400"), npx.workload(mix="amp")
        >>> best = npx.optimise(machine, load, knobs={"threads": [8, 16]}, costs=("threads",), packets=500)
        >>> best.front[0].knobs, best.counts["points"]
        ({'threads': 8}, 2)
    """

    __hash__ = content_hash

    design: str
    workload: str
    costs: tuple[str, ...]
    merits: tuple[str, ...]
    front: tuple[Best, ...]
    counts: Mapping[str, int]
    built: int
    unconfirmed: int
    tolerance: float

    @property
    def saved(self) -> int:
        """The number of points that did not have to be simulated."""
        return self.counts["points"] - self.counts["impossible"] - self.counts["simulated"]

    def share(self, best: Best) -> float:
        """Return a machine's costs as a share of those of the fastest on the front, the mean over the costs."""
        fastest = max(self.front, key=lambda one: one.throughput)
        shares = [best.costs[name] / fastest.costs[name] for name in self.costs if fastest.costs[name]]
        return sum(shares) / len(shares) if shares else 1.0

    def recommended(self) -> tuple[Best, str] | None:
        """Return the cheapest machine with at least 95 % of the best throughput, and why; None for an empty front."""
        if not self.front:
            return None
        fastest = max(self.front, key=lambda one: one.throughput)
        enough = [one for one in self.front if one.throughput >= ENOUGH * fastest.throughput]
        chosen = min(enough, key=lambda one: (self.share(one), -one.throughput))
        knobs = ", ".join(f"{name} = {value:g}" if isinstance(value, float) else f"{name} = {value}"
                          for name, value in chosen.knobs.items())  # fmt: skip
        one_cost = self.costs[0].removesuffix("_bits").replace("_", " ")
        cost = one_cost if len(self.costs) == 1 else "the costs, in the mean"
        told = f"Take {knobs}: {chosen.throughput / 1e6:,.0f} Mb/s, and {chosen.bottleneck} binds."
        if chosen is not fastest:
            lost, spared = 1 - chosen.throughput / fastest.throughput, 1 - self.share(chosen)
            told += f" The fastest gains {lost / (1 - lost):.1%} for {spared / (1 - spared):.0%} more of {cost}."
        cheaper = [one for one in self.front if self.share(one) < self.share(chosen)]
        if cheaper:
            next_ = max(cheaper, key=lambda one: one.throughput)
            less, spared = 1 - next_.throughput / chosen.throughput, 1 - self.share(next_) / self.share(chosen)
            told += f" The best cheaper one loses {less:.1%} and saves {spared:.0%}."
        return chosen, told

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON document of `npexplore optimise`."""
        document = {
            "design": self.design, "workload": self.workload, "costs": self.costs, "merits": self.merits,
            "points": dict(self.counts), "machines_built": self.built, "simulations_saved": self.saved,
            "unconfirmed": self.unconfirmed, "tolerance": self.tolerance,
            "recommendation": (found := self.recommended()) and {"knobs": dict(found[0].knobs), "reason": found[1]},
            "front": [_line(best) for best in self.front],
        }  # fmt: skip
        return {name: plain(value) for name, value in document.items()}

    def heading(self) -> str:
        """Return what was searched, and what to take."""
        found = self.recommended()
        return f"{self.design}, {self.workload}: {found[1] if found else 'no machine is possible'}"

    def records(self) -> list[dict[str, Any]]:
        """Return a row for each machine of the front: knobs, costs as cost_NAME, throughput, latency, each solver's."""
        lines = [_line(best) for best in self.front]
        costs = [{f"cost_{name}": value for name, value in line.pop("costs").items()} for line in lines]
        return [{**line.pop("knobs"), **cost, **line} for line, cost in zip(lines, costs, strict=True)]


def _line(best: Best) -> dict[str, Any]:
    low, high = best.interval or (None, None)
    return {
        "knobs": dict(best.knobs), "costs": dict(best.costs), "throughput_bps": best.throughput,
        "throughput_low_bps": low, "throughput_high_bps": high,
        "latency_ns": None if best.latency is None else best.latency * 1e9, "bottleneck": best.bottleneck,
        "bounds_bps": best.bounds, "queueing_bps": best.queueing,
    }  # fmt: skip
