"""Runs as one answer: mean latency with its control, rate and loss, percentiles, and the precision that was reached.

mean latency   sum of latencies / sum of packets over runs, each less its own control's wait plus that wait's mean V
half width     Student's t over runs; at least a tenth of that without a control, and 0.2 % (0.1 % where packets meet
               nobody or are always there)
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from time import perf_counter

import numpy as np

from npexplore.solve.estimate.percentiles import pooled
from npexplore.solve.estimate.plan import Ask, Plan, saturated_plan
from npexplore.solve.estimate.replications import Replication, Subject, over
from npexplore.solve.modes import Modes
from npexplore.solve.prediction import Latency, Prediction
from npexplore.solve.seeds import combine

RATE_FLOOR, LATENCY_FLOOR = 0.001, 0.002  # of the number: no half width is less
CONTROL_FLOOR = 0.1  # of the half width without a control: none with it is less
MOST_SKEWED = 6.0  # half widths per loss: where one run of many lost packets
HELPS = 0.8  # of the deviation without a control: above, the control is dropped


def latency(runs: Sequence[Replication], plan: Plan) -> tuple[float, float, bool]:
    """Return the mean latency (s), its half width, and whether the control is used."""
    weights = np.array([float(one.packets) for one in runs])
    plain = np.array([one.mean_s for one in runs])
    mean, half = over(plain * weights, weights)
    plain_half = half
    spread, floor, used = HELPS * float(np.std(plain)), 0.0, False
    for k, control in enumerate(plan.controls):
        waits = [one.waits_s[k] for one in runs]
        if None in waits:
            continue
        less = plain - np.array(waits, dtype=float) + control.wait_s
        if float(np.std(less)) <= spread:
            floor, used, spread = CONTROL_FLOOR * plain_half, True, float(np.std(less))
            mean, half = over(less * weights, weights)
            half = float(np.hypot(half, 1.96 * control.error_s))
    least = RATE_FLOOR if plan.kind == "saturated" or plan.alone else LATENCY_FLOOR
    return mean, max(half, floor, least * mean), used


def precision_of(runs: Sequence[Replication], plan: Plan) -> float:
    """Return the relative half width that the precision is asked of: of the rate (saturated), else of mean latency."""
    if plan.kind == "saturated":
        rate, half = over((one.packets for one in runs), (one.seconds for one in runs))
        return max(half / rate, RATE_FLOOR)
    mean, half, _ = latency(runs, plan)
    return half / mean if mean else 0.0


def answer(
    subject: Subject, runs: Sequence[Replication], plan: Plan, modes: Modes | None, ask: Ask, began: float
) -> Prediction:
    """Return the runs as one prediction."""
    if modes is not None:
        runs = [one for one in runs if one.seed in modes.commonest]
    base = combine([one.prediction for one in runs])
    values, percentiles = pooled(runs, subject.machine.tick)
    mean, half, used = latency(runs, plan)
    flow = _flow(subject, runs, plan)
    ci95 = {
        "latency_s": (max(mean - half, 0.0), mean + half),
        **{f"latency_s.{name}": ends for name, ends in percentiles.items()},
        **flow.intervals(),
    }
    reached = precision_of(runs, plan)
    about: dict[str, float | int | str] = {
        "runs": len(runs), "packets": sum(one.packets for one in runs), "warm_up": plan.warm_up,
        "packets_per_run": plan.packets, "precision": reached, "control": "Lindley" if used else "none",
    }  # fmt: skip
    if plan.load is not None:
        about["load"] = plan.load
    if modes is not None:
        slowest, fastest = modes.rates_pps[0], modes.rates_pps[-1]
        bits = flow.throughput_bps / flow.rate_pps
        ci95 = {"rate_pps": (slowest, fastest), "throughput_bps": (slowest * bits, fastest * bits)}
        about |= {"modes": str(modes), "runs": sum(modes.runs)}
    if modes is None:
        ci95 |= {name: ends for name, ends in base.ci95.items() if name not in ci95}
    return replace(
        base, solver="estimate", throughput_bps=flow.throughput_bps, rate_pps=flow.rate_pps, loss=flow.loss,
        latency_s=Latency(mean, **values), ci95=ci95, about=about, seconds=perf_counter() - began,
        approximation=_method(runs, used, reached, ask.precision, modes),
    )  # fmt: skip


def overloaded(subject: Subject, runs: Sequence[Replication], plan: Plan, ask: Ask, began: float) -> Prediction:
    """Return the answer behind a large receive buffer that stays full: the saturated rate, and the rest is lost."""
    process = subject.workload.process()
    assert process is not None
    full = answer(subject, runs, saturated_plan(subject), None, ask, began)
    low, high = full.ci95["rate_pps"]
    loss = 1 - full.rate_pps / process.rate
    ci95 = {name: ends for name, ends in full.ci95.items() if not name.startswith("latency_s")}
    return replace(
        full, latency_s=Latency(), loss=loss, offered_pps=process.rate, breakdown=None,
        ci95={**ci95, "loss": (1 - high / process.rate, 1 - low / process.rate)},
        approximation=f"{full.approximation}; saturated: the receive buffer of {subject.waiting_room:,} packets stays "
        "full, and equal packets are lost equally often; no latency, for which the buffer would have to fill",
        about={**full.about, "load": plan.load or 0.0},
    )  # fmt: skip


@dataclass(frozen=True)
class Flow:
    """Rate, throughput and loss (None: nothing is offered) with the ends of their intervals."""

    rate_pps: float
    rate_ends: tuple[float, float]
    throughput_bps: float
    throughput_ends: tuple[float, float]
    loss: float | None
    loss_ends: tuple[float, float] = (0.0, 0.0)

    def intervals(self) -> dict[str, tuple[float, float]]:
        """Return the intervals by name."""
        ends = {"rate_pps": self.rate_ends, "throughput_bps": self.throughput_ends}
        return ends if self.loss is None else {**ends, "loss": self.loss_ends}


def loss_of(runs: Sequence[Replication], clump: float, offered_pps: float | None) -> tuple[float, tuple[float, float]]:
    """Return the share of packets that is lost, and its interval.

    Lost / offered in the windows; or, with offered_pps and where that has the narrower interval and agrees,
    1 - finished / (seconds x offered_pps): an overloaded machine finishes as many, whatever number happens to come.
    Few losses are skewed: the upper end is p exp(h / p), h the half width over runs. clump: packets that are lost
    together; if none was lost, the upper end is that of 3 clumps (rule of three: exp(-3) = 5 %).
    """
    offered = sum(one.offered for one in runs)
    loss, half = over((one.lost for one in runs), (one.offered for one in runs))
    if not loss:
        return 0.0, (0.0, min(3 * clump / offered, 1.0))
    if offered_pps is not None:
        rate, rate_half = over((one.packets for one in runs), (one.seconds for one in runs))
        missing, missing_half = 1 - rate / offered_pps, max(rate_half, RATE_FLOOR * rate) / offered_pps
        if missing_half < HELPS * half and abs(missing - loss) < missing_half + half:
            return missing, (max(missing - missing_half, 0.0), missing + missing_half)
    return loss, (max(loss - half, 0.0), min(loss * float(np.exp(min(half / loss, MOST_SKEWED))), 1.0))


def _flow(subject: Subject, runs: Sequence[Replication], plan: Plan) -> Flow:
    """Return what flows: as finished; behind a known rate of arrivals what is offered less what is lost."""
    process = subject.workload.process()
    full = plan.kind == "open" and plan.load is not None and plan.load > 1
    known = process.rate if process is not None and full else None
    loss, lost = loss_of(runs, plan.clump, known) if sum(one.offered for one in runs) else (None, (0.0, 0.0))
    if plan.kind != "open" or process is None or loss is None:
        rate, rate_ends = _with_floor(over((one.packets for one in runs), (one.seconds for one in runs)))
        bps, bps_ends = _with_floor(over((one.bits for one in runs), (one.seconds for one in runs)))
        return Flow(rate, rate_ends, bps, bps_ends, loss, lost)
    bits, bits_half = over((one.bits for one in runs), (one.packets for one in runs))
    load = subject.open_model(plan.warm_up + plan.packets).under_load
    if not loss and load is not None:
        bits, bits_half = load.counted_bits, 0.0
    rate = process.rate * (1 - loss)
    low, high = process.rate * (1 - lost[1]), process.rate * (1 - lost[0])
    bps = rate * bits
    below, above = (float(np.hypot((rate - end) * bits, rate * bits_half)) for end in (low, high))
    return Flow(rate, (low, high), bps, (max(bps - below, 0.0), bps + above), loss, lost)


def _with_floor(ratio: tuple[float, float]) -> tuple[float, tuple[float, float]]:
    """Return a rate and the ends of its interval, which is never narrower than RATE_FLOOR."""
    rate, half = ratio[0], max(ratio[1], RATE_FLOOR * ratio[0])
    return rate, (max(rate - half, 0.0), rate + half)


def _method(runs: Sequence[Replication], used: bool, reached: float, precision: float, modes: Modes | None) -> str:
    """Return how the answer came about, as a sentence."""
    control = ", controlled by Lindley's wait before one server of the saturated rate" if used else ""
    method = f"{len(runs)} independent runs{control}; 95 % intervals by Student's t"
    if modes is not None:
        return f"runs fall into modes: {modes}; numbers are those of the commonest, the interval is the range of rates"
    if reached > precision:
        return f"{method}; the budget ended at +-{100 * reached:.2g} %, {100 * precision:g} % was asked for"
    return method
