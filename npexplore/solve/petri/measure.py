"""A net's tables `[measure]` and `[utilization]` as a Prediction: formulas over the counts of a simulation.

rate(T): firings of T per unit of time; rate(T, field): sum of the field over their tokens, per unit of time; mean(P):
tokens of P; busy(P): share of P's initial tokens that are in use; age(T): mean age of tokens that T ends. A family's
name stands for the sum over its members (busy: their mean). Each formula is evaluated for each batch; intervals are
over batches.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from npexplore import syntax
from npexplore.engine.intervals import Floats, interval
from npexplore.errors import InputError, RefusedError, UnknownNameError, one_of, told_at
from npexplore.machine.described.formula import Formulas
from npexplore.machine.petri import Net
from npexplore.solve.petri.simulation import BATCHES, FIRINGS, Batches, batches_of
from npexplore.solve.prediction import Latency, Prediction, Utilization

NUMBERS = ("throughput_bps", "rate_pps", "latency_s")
WORDS = ("counted",)
PROBE = 10_000  # firings of the run that measures the firings per packet
MIN_FIRINGS = 50 * BATCHES  # with fewer firings, batches may be empty
CALLS = ("rate", "mean", "busy", "age")


def predict(
    net: Net, seeds: Sequence[int] = (1,), firings: int = FIRINGS, progress: Callable[[int], None] | None = None,
    *, packets: int | None = None,
) -> Prediction:  # fmt: skip
    """Simulate a net and return its measures as a prediction; other keys of the table come as `rates`.

    net: one with measures. seeds: one run each. firings: measured firings of a run. progress: called with 1 after each
    batch. packets: approximate number of packets of each run (firings that rate_pps, or else throughput_bps, counts),
    in place of `firings`.

    Raises InputError for a wrong measure, RefusedError for a net without measures or that reaches a dead marking.
    """
    check_measures(net)
    if packets is not None:
        firings = _firings_for(net, packets)
    batches = batches_of(net, seeds, firings, progress)
    values = {
        name: _Measures(net, batches).measured(name, text) for name, text in net.measure.items() if name not in WORDS
    }

    def mean(value: Floats) -> float:
        return float(np.average(value, weights=batches.seconds))

    means = {name: mean(value) for name, value in values.items()}
    formulas = {
        name: _Measures(net, batches).measured(name, text, "utilization") for name, text in net.utilization.items()
    }
    shares = formulas or {place.name: _busy(net, batches, [p]) for p, place in enumerate(net.places) if place.resource}
    busy = {name: Utilization(mean(value)) for name, value in shares.items()}
    highest = max(busy, key=lambda name: busy[name].busy, default="")
    return Prediction(
        solver="simulation",
        throughput_bps=means.get("throughput_bps", 0.0),
        rate_pps=means.get("rate_pps", 0.0),
        counted=net.measure.get("counted", "tokens"),
        bottleneck=highest if highest and busy[highest].busy >= 0.85 else "tokens",
        utilization=busy,
        latency_s=Latency(means.get("latency_s")),
        rates={name: mean for name, mean in means.items() if name not in NUMBERS},
        ci95={
            **{name: interval(value) for name, value in values.items()},
            **{f"utilization.{name}": interval(value) for name, value in formulas.items()},
        },
        approximation="simulation of a Petri net; batch means with Student's t",
        seed=seeds[0] if len(seeds) == 1 else None,
        batches=_batches(net, batches, values.get("rate_pps")),
        about={
            "net": net.name,
            "seeds": len(seeds),
            "packets": round(batches.fired[:, _counted(net)[0]].sum()),
            "events": round(batches.fired.sum()),
        },
    )


def _batches(net: Net, batches: Batches, rates: Floats | None) -> tuple[tuple[int, float], ...]:
    """Return packets and seconds of each batch; empty if no measure gives packets per second."""
    if rates is None:
        return ()
    packets = batches.fired[:, _counted(net)[0]].sum(axis=1)
    return tuple((int(n), float(n / rate)) for n, rate in zip(packets, rates, strict=True) if n and rate > 0)


def _counted(net: Net) -> tuple[list[int], int]:
    """Return the transitions whose firings rate_pps (or else throughput_bps) counts, and the number of their names."""
    formula = net.measure.get("rate_pps") or net.measure.get("throughput_bps", "0")
    names = [
        ast.unparse(node.args[0]).replace(" ", "")
        for node in ast.walk(syntax.expression(formula))
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "rate"
    ]
    counted = {t for name in names for t in _members(name, "transition", [each.name for each in net.transitions])}
    return sorted(counted), len(names)


def _firings_for(net: Net, packets: int) -> int:
    """Return the approximate number of firings for a number of packets, from a short run."""
    which, names = _counted(net)
    if not which:
        raise RefusedError(f"net {net.name!r}: rate_pps or throughput_bps must name a rate(T), to count packets by")
    pilot = batches_of(net, (0,), PROBE)
    counted_firings = float(pilot.fired[:, which].sum()) / names
    return max(round(packets * float(pilot.fired.sum()) / max(counted_firings, 1.0)), MIN_FIRINGS)


def check_measures(net: Net) -> None:
    """Raise RefusedError for a net without measures, and errors of wrong measures, before a run starts."""
    if not net.measure:
        raise RefusedError(f"net {net.name!r} needs a table [measure] that defines its throughput, got none")
    empty = Batches.empty(net)
    for name, text in net.measure.items():
        if name not in WORDS:
            _Measures(net, empty).measured(name, text)
    for name, text in net.utilization.items():
        _Measures(net, empty).measured(name, text, "utilization")


class _Measures(Formulas):
    """Evaluates measures: arrays over batches."""

    def __init__(self, net: Net, batches: Batches) -> None:
        super().__init__(net.constants, frozenset())
        self.net, self.batches = net, batches

    def measured(self, name: str, text: str, table: str = "measure") -> Floats:
        with told_at(f"{self.net.name}: {table}.{name}"), np.errstate(all="ignore"):
            return np.asarray(np.broadcast_to(self.text(text), self.batches.seconds.shape), dtype=float)

    def call(self, node: ast.Call) -> Any:
        """Return the value of a call of one of CALLS."""
        function = ast.unparse(node.func)
        one_of("measure", function, CALLS)
        if not node.args or node.keywords or len(node.args) > (2 if function == "rate" else 1):
            raise InputError(f"{function} needs one name, got {ast.unparse(node)!r}")
        name = ast.unparse(node.args[0]).replace(" ", "")
        batches = self.batches
        if function in ("mean", "busy"):
            places = _members(name, "place", [place.name for place in self.net.places])
            if function == "mean":
                return batches.areas[:, places].sum(axis=1) / batches.seconds
            if not all(self.net.places[p].tokens for p in places):
                raise InputError(f"busy needs a place with tokens at first, got {name!r}")
            return _busy(self.net, batches, places)
        fired = _members(name, "transition", [transition.name for transition in self.net.transitions])
        if function == "age":
            ends = [k for k, t in enumerate(batches.endings) if t in fired]
            if not ends:
                raise InputError(f"age needs a transition that ends tokens with data, got {name!r}")
            return batches.ages[:, ends].sum(axis=1) / np.maximum(batches.fired[:, fired].sum(axis=1), 1)
        if len(node.args) == 1:
            return batches.fired[:, fired].sum(axis=1) / batches.seconds
        slot = list(self.net.fields).index(one_of("field", ast.unparse(node.args[1]), self.net.fields))
        return batches.moved[:, fired, slot].sum(axis=1) / batches.seconds


def _busy(net: Net, batches: Batches, places: list[int]) -> Floats:
    """Return the share of the initial tokens of places that are in use, in each batch."""
    tokens = sum(net.places[p].tokens for p in places)
    return np.asarray(1 - batches.areas[:, places].sum(axis=1) / (batches.seconds * tokens))


def _members(said: str, what: str, names: Sequence[str]) -> list[int]:
    members = [k for k, name in enumerate(names) if said in (name, name.partition("[")[0])]
    if not members:
        raise UnknownNameError(what, said, {name.partition("[")[0] for name in names})
    return members
