"""The result of a search for the best machines: the Pareto front, and counts of all other points (optimise.py)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from npexplore.machine.parameters import Value
from npexplore.records import content_hash
from npexplore.results import Result, plain


@dataclass(frozen=True)
class Best:
    """A simulated machine on the front. throughput: bit/s of packets, with its 95 % interval; latency: mean, in s;
    bounds, queueing: throughput by these solvers (queueing None: it refuses or did not solve this point).
    """

    knobs: Mapping[str, Value]
    costs: Mapping[str, float]
    throughput: float
    interval: tuple[float, float] | None
    latency: float | None
    bottleneck: str
    bounds: float
    queueing: float | None


ENOUGH = 0.95  # recommended share of the best merit; the rest is rarely worth its cost


@dataclass(frozen=True, repr=False)
class Optimum(Result):
    """The best machines for their cost (the front), best merit first, and counts of all other points.

    counts: points = impossible + pruned_by_bounds + ranked_lower + queueing + simulated; each point counts at the last
    step that it reached. A pruned point is dominated by a simulated point even at its bound. unconfirmed: points on the
    front by their estimates that the budget left unsimulated. built: machines built to compute the bounds of all
    points. confirm: "estimate" or "simulation", the solver of the points counted as simulated.

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
    confirm: str = "estimate"

    @property
    def searched(self) -> str:
        """One sentence that says how many points were simulated, pruned or ranked lower."""
        n, verb = self.counts, "estimated" if self.confirm == "estimate" else "simulated"
        possible = n["points"] - n["impossible"]
        reasons = [
            (n["pruned_by_bounds"], "cannot beat a cheaper one that was, even at their bounds"),
            (n["ranked_lower"], "rank lower by their demands, which proves nothing"),
            (n["queueing"], "rank lower by queueing, which proves nothing"),
        ]
        others = [f"{count:,} {reason}" for count, reason in reasons if count]
        number = "all" if n["simulated"] == possible else f"{n['simulated']:,}"
        impossible = f" ({n['impossible']:,} more are impossible)" if n["impossible"] else ""
        return f"Of {possible:,} machines{impossible} {number} were {verb}{''.join(f'; {text}' for text in others)}."

    @property
    def saved(self) -> int:
        """The number of possible points that were not simulated."""
        return self.counts["points"] - self.counts["impossible"] - self.counts["simulated"]

    def worth(self, best: Best) -> float:
        """Return the merit that ranks a machine: throughput, or 1 / latency if only latency is a merit."""
        return best.throughput if "throughput" in self.merits or not best.latency else 1.0 / best.latency

    def share(self, best: Best) -> float:
        """Return the mean over the costs of a machine's cost relative to the best machine's on the front."""
        best_machine = max(self.front, key=self.worth)
        shares = [best.costs[name] / best_machine.costs[name] for name in self.costs if best_machine.costs[name]]
        return sum(shares) / len(shares) if shares else 1.0

    def recommended(self) -> tuple[Best, str] | None:
        """Return the cheapest machine with at least 95 % of the best merit, and why; None for an empty front."""
        if not self.front:
            return None
        fastest = max(self.front, key=self.worth)
        enough = [best for best in self.front if self.worth(best) >= ENOUGH * self.worth(fastest)]
        choice = min(enough, key=lambda best: (self.share(best), -self.worth(best)))
        knobs = ", ".join(f"{name} = {value:g}" if isinstance(value, float) else f"{name} = {value}"
                          for name, value in choice.knobs.items())  # fmt: skip
        one_cost = self.costs[0].removesuffix("_bits").replace("_", " ")
        cost = one_cost if len(self.costs) == 1 else "the costs, in the mean"
        by_latency = self.worth(choice) != choice.throughput
        merit = f"{1e9 * (choice.latency or 0.0):,.0f} ns" if by_latency else f"{choice.throughput / 1e6:,.0f} Mb/s"
        text = f"Take {knobs}: {merit}, and {choice.bottleneck} binds."
        if choice is not fastest:
            gain, saving = self.worth(fastest) / self.worth(choice) - 1, 1 - self.share(choice)
            text += f" The fastest gains {gain:.1%} for {saving / (1 - saving):.0%} more of {cost}."
        cheaper = [best for best in self.front if self.share(best) < self.share(choice)]
        if cheaper:
            next_ = max(cheaper, key=self.worth)
            loss, saving = 1 - self.worth(next_) / self.worth(choice), 1 - self.share(next_) / self.share(choice)
            text += f" Of the cheaper ones on this front the best loses {loss:.1%} and saves {saving:.0%}."
        return choice, text

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON document of `npexplore optimise`."""
        document = {
            "design": self.design, "workload": self.workload, "costs": self.costs, "merits": self.merits,
            "points": dict(self.counts), "machines_built": self.built, "simulations_saved": self.saved,
            "unconfirmed": self.unconfirmed, "tolerance": self.tolerance,
            "recommendation": (choice := self.recommended()) and {"knobs": dict(choice[0].knobs), "reason": choice[1]},
            "front": [_line(best) for best in self.front],
        }  # fmt: skip
        return {name: plain(value) for name, value in document.items()}

    def heading(self) -> str:
        """Return the design, the workload and the recommendation."""
        recommended = self.recommended()
        return f"{self.design}, {self.workload}: {recommended[1] if recommended else 'no machine is possible'}"

    def records(self) -> list[dict[str, Any]]:
        """Return a row for each machine of the front: knobs, costs as cost_NAME, throughput, latency, other solvers."""
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
