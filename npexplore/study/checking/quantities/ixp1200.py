"""Rules for the IXP1200's published quantities: throughput by threads and rules, Tables 1 and 2, functional tests.

Assumptions where the paper is not explicit: Tables 1 and 2 use the number of rules that fits the calibration rows (the
knob's default). The throughput and rate of the summary name no number of rules and are not predicted.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from statistics import fmean

import numpy as np
from numpy.typing import NDArray

from npexplore.designs import Design, design
from npexplore.golden.diffserv.experiments import DiffServBench
from npexplore.ledger import Row
from npexplore.ledger.rules import rule
from npexplore.machine.parameters import Value
from npexplore.solve.prediction import ClassOfPackets, Prediction
from npexplore.study.checking.quantities.base import (
    Conditions,
    Get,
    MissingError,
    Quantity,
    exact,
    knobs_of,
    throughput,
)
from npexplore.study.loading.mlrsearch import Goal, Search
from npexplore.study.papers.ixp1200 import diffserv
from npexplore.study.sweeping.points import Point

TICKS, GOOD_FIT, LOADS = rule("ixp1200.ticks"), rule("ixp1200.good_fit"), rule("ixp1200.loads")
LOAD_TOLERANCE, WIRE_SPEED = rule("ixp1200.load_tolerance"), rule("ixp1200.wire_speed")
TABLES, ENGINES = rule("ixp1200.tables"), rule("ixp1200.engines")
RESOURCES = ("me0", "me1", "me2", "sdram", "sram")


def of_tables() -> dict[str, Value]:
    """Return the settings of the vendor's simulator for Tables 1 and 2."""
    receivers, engines = TABLES.value
    return {"receivers": receivers, "receiver_engines": engines}


def points_of(row: Row) -> list[Point]:
    """Return the point of a row; if it names no number of engines, each engine runs four receivers."""
    return [Point.of(row.design, None, _knobs(row))]


def _knobs(row: Row) -> dict[str, Value]:
    knobs = {**(of_tables() if resource_of(row) else {}), **knobs_of(row)}
    if "receivers" in knobs and "receiver_engines" not in knobs:
        threads = int(design(row.design).parameters.engine_threads)
        knobs["receiver_engines"] = ENGINES.value[(int(knobs["receivers"]) - 1) // threads]
    if knobs.get("service") == "ip_forwarding":
        knobs["gbe_load"] = WIRE_SPEED.value
    return knobs


class _Conditions(Conditions):
    def points(self, row: Row) -> list[Point]:
        return points_of(row)


CONDITIONS = _Conditions()


def resource_of(row: Row) -> str:
    """Return the resource of Tables 1 and 2 that a row is about; "" for any other row."""
    return next((part for part in row.key.split(".") if part in RESOURCES), "")


def active(name: str, prediction: Prediction, machine: Design) -> float:
    """Return the active share of a resource; for SRAM, the moved words over the words that fit in the time.

    SDRAM is active while one of its banks works (command, words, precharge; at low loads never two banks at a time) or
    is refreshed.
    """
    p, share = machine.parameters, prediction.utilization[name].busy
    if name == "sdram":
        p.assume("active_banks")
        bank = prediction.utilization["sdram.bank"]
        return float(p.sdram_banks * (bank.busy - bank.blocked) + p.sdram_refresh_ns / p.sdram_refresh_every_ns)
    return share * float(p.sram_efficiency) if name == "sram" else share


def receivers_busy(row: Row, get: Get) -> float:
    """Return the mean active share of the engines that run receivers."""
    prediction, machine = get(points_of(row)[0]), design(row.design)
    return fmean(active(f"me{engine}", prediction, machine) for engine in range(TABLES.value[1]))


def busy(row: Row, prediction: Prediction) -> float:
    """Return the active share of a row's resource."""
    return active(resource_of(row), prediction, design(row.design))


def bits(row: Row, get: Get) -> float:
    """Return bit/s: of frames, of a memory (Tables 1 and 2), or on the wires with gaps (plain forwarding)."""
    point = points_of(row)[0]
    prediction, p = get(point), design(row.design).parameters
    name = resource_of(row)
    if name:
        word_bits, word_ns = (32, p.sram_word_ns) if name == "sram" else (64, p.sdram_word_ns)
        return float(busy(row, prediction) * word_bits / (word_ns * 1e-9))
    if row.conditions.get("service") == "ip_forwarding":
        return on_wires(prediction)
    if "rules" not in row.conditions:
        raise MissingError
    return prediction.throughput_bps


def on_wires(prediction: Prediction) -> float:
    """Return the bit/s that packets occupy on their wires, with the gaps between them."""
    p = design("ixp1200").parameters
    return float(prediction.rate_pps * 8 * (p.packet_bytes + p.gap_bytes))


def rate(row: Row, get: Get) -> float:
    """Return packets/s; raises MissingError for a row that names no number of rules."""
    if "rules" not in row.conditions:
        raise MissingError
    return get(points_of(row)[0]).rate_pps


def instructions(row: Row, get: Get) -> float:
    """Return an engine's instructions/s: one per busy cycle."""
    clock = float(design(row.design).parameters.me_clock_mhz) * 1e6
    return busy(row, get(points_of(row)[0])) * clock


def over_rules(row: Row) -> list[Point]:
    """Return the points of Fig. 6."""
    return [point.with_(rules=n) for point in points_of(row) for n in TICKS.value]


def fits(rules: Sequence[int], rates: Sequence[float]) -> dict[str, float]:
    """Return R2 of three shapes: `log` a - k log n, `hyperbola` 1 / (a + b n), `linear` a - b n.

    The hyperbola is fitted to times per packet; its R2 is that of the rates.
    """
    n, y = np.asarray(rules, dtype=float), np.asarray(rates, dtype=float)
    spread = float(np.sum((y - y.mean()) ** 2))

    def r2(predicted: NDArray[np.float64]) -> float:
        return 1.0 - float(np.sum((y - predicted) ** 2)) / spread if spread else 0.0

    return {
        "log": r2(np.polyval(np.polyfit(np.log2(n), y, 1), np.log2(n))),
        "hyperbola": r2(1 / np.polyval(np.polyfit(n, 1 / y, 1, w=y), n)),
        "linear": r2(np.polyval(np.polyfit(n, y, 1), n)),
    }


def has_shape(row: Row, get: Get) -> bool:
    """Return whether rates fall as the claim says: by the log of the rules (rm), or as 1 / (a + b rules) (ls)."""
    rates = [get(point).rate_pps for point in over_rules(row)]
    r2_by_shape = fits(TICKS.value, rates)
    best = r2_by_shape["log" if row.conditions["classifier"] == "rm" else "hyperbola"]
    return rates[-1] < rates[0] and best >= GOOD_FIT.value and best == max(r2_by_shape.values())


def unloaded(row: Row) -> list[Point]:
    """Return the point of a search for the loss-free load; each flow has one rule."""
    flows = int(float(row.conditions["flows"]))
    return [point.with_(rules=flows) for point in points_of(row)]


def loss_free(row: Row, get: Get) -> float:
    """Return the highest loss-free bit/s on the wires; bounds and queueing count loss only at saturation."""
    point, (lowest, highest) = unloaded(row)[0], map(float, LOADS.value.split(".."))

    def lost(load: float, _length: int, _numbers: range) -> list[float]:
        answer = get(point.with_(load=load))
        return [answer.loss or 0.0 if answer.solver == "simulation" else float(answer.bottleneck != "arrivals")]

    goal = Goal(width=LOAD_TOLERANCE.value, initial=None)
    load = Search(lost, lowest, highest).run(goal, confidence=False).load
    return on_wires(get(point.with_(load=load)))


def _bench(row: Row) -> DiffServBench:
    return diffserv.bench(design(row.design))


def flow_rate(row: Row, get: Get) -> float:
    """Return the mean rate of a flow of Fig. 9: its equal share of the machine's rate, at most the flow's limit."""
    share = get(points_of(row)[0]).rate_pps / float(row.conditions["flows"])
    return min(share, diffserv.limit_of("fig9.bw_per_flow"))


def offered_load(row: Row) -> float:
    """Return the load above which AF3 loses packets, or the load up to which all classes' latencies are similar."""
    bench = _bench(row)
    if "phb" in row.conditions:
        return diffserv.drop_onset(bench)
    return diffserv.alike_until(bench, float(design(row.design).parameters.alike_latency))


def shared(plain: Callable[[DiffServBench], float], timed: Callable[[Mapping[str, ClassOfPackets]], float]) -> Quantity:
    """Return a quantity of four classes at full load, from the machine's simulation or the functional router.

    plain: computes it from links and queues alone; timed: from a simulation's classes EF, AF1, AF2, AF3.
    """

    def points(row: Row) -> list[Point]:
        traffic, receivers, engines, rules = diffserv.SHARED.value
        knobs = {"traffic": traffic, "receivers": receivers, "receiver_engines": engines, "rules": rules}
        return [Point.of(row.design, None, knobs)]

    def value(row: Row, get: Get) -> float:
        prediction = get(points(row)[0])
        return timed(prediction.classes) if prediction.classes else plain(_bench(row))

    return Quantity(points, value)


def expedited(bench: DiffServBench) -> float:
    """Return the rate of expedited forwarding at full load in packets/s."""
    return float(diffserv.at_load(bench, 1.0).loc["EF", "sent_pps"])


def _assured(classes: Mapping[str, ClassOfPackets], number: Callable[[ClassOfPackets], float | None]) -> float:
    values = [number(class_of_packets) for class_of_packets in list(classes.values())[1:]]
    if not all(values):
        raise MissingError
    return diffserv.ratio_of([float(value or 0.0) for value in values])


_ratio = CONDITIONS.ratio(throughput)

QUANTITIES: Mapping[str, Quantity] = {
    "throughput": Quantity(points_of, bits),
    "forwarding rate": Quantity(points_of, rate),
    "throughput ratio": _ratio,
    "utilization": Quantity(points_of, lambda row, get: busy(row, get(points_of(row)[0]))),
    "instruction rate": Quantity(points_of, instructions),
    "throughput against rules": Quantity(over_rules, has_shape),
    "loss-free throughput": Quantity(unloaded, loss_free),
    "offered load": exact(offered_load),
    "latency ratio": shared(
        lambda bench: diffserv.neighbours(bench, "delay_mean_ns"),
        lambda classes: _assured(classes, lambda one: one.latency_s.mean),
    ),
    "rate of a flow": Quantity(points_of, flow_rate),
    # rules for single rows, which override the rule of their quantity
    "ixp1200.table1.ls.receivers.utilization": Quantity(points_of, receivers_busy),
    "ixp1200.fig7.ef.plateau": shared(expedited, lambda classes: classes["0"].rate_pps),
    "ixp1200.fig7.af_share_ratio": shared(
        lambda bench: diffserv.neighbours(bench, "sent_pps"),
        lambda classes: _assured(classes, lambda one: one.rate_pps),
    ),
}
