"""One answer from several runs: mean latency with its control, rate and loss, percentiles, and the reached precision.

mean latency   sum of latencies / sum of packets over runs, each minus its control's wait plus that wait's mean V
half width     Student's t over runs; at least a tenth of that without a control, and 0.2 % (0.1 % for packets without
               contention and in saturation)
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

RATE_FLOOR, LATENCY_FLOOR = 0.001, 0.002  # smallest relative half widths
CONTROL_FLOOR = 0.1  # smallest half width with a control, as a share of that without
MOST_SKEWED = 6.0  # cap on the half width over the loss ratio (one of many runs lost packets)
HELPS = 0.8  # of the deviation without a control: a control with a larger deviation is not used


def latency(runs: Sequence[Replication], plan: Plan) -> tuple[float, float, bool]:
    """Return the mean latency (s), its half width, and whether the control is used."""
    weights = np.array([float(run.packets) for run in runs])
    plain = np.array([run.mean_s for run in runs])
    mean, half = over(plain * weights, weights)
    plain_half = half
    spread, floor, used = HELPS * float(np.std(plain)), 0.0, False
    for k, control in enumerate(plan.controls):
        waits = [run.waits_s[k] for run in runs]
        if None in waits:
            continue
        controlled = plain - np.array(waits, dtype=float) + control.wait_s
        if float(np.std(controlled)) <= spread:
            floor, used, spread = CONTROL_FLOOR * plain_half, True, float(np.std(controlled))
            mean, half = over(controlled * weights, weights)
            half = float(np.hypot(half, 1.96 * control.error_s))
    floor_share = RATE_FLOOR if plan.kind == "saturated" or plan.alone else LATENCY_FLOOR
    return mean, max(half, floor, floor_share * mean), used


def precision_of(runs: Sequence[Replication], plan: Plan) -> float:
    """Return the relative half width to which a precision applies: of the rate (saturated), else of mean latency."""
    if plan.kind == "saturated":
        rate, half = over((run.packets for run in runs), (run.seconds for run in runs))
        return max(half / rate, RATE_FLOOR)
    mean, half, _ = latency(runs, plan)
    return half / mean if mean else 0.0


def answer(
    subject: Subject, runs: Sequence[Replication], plan: Plan, modes: Modes | None, ask: Ask, began: float
) -> Prediction:
    """Return the runs as one prediction."""
    if modes is not None:
        runs = [run for run in runs if run.seed in modes.commonest]
    base = combine([run.prediction for run in runs])
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
        "runs": len(runs), "packets": sum(run.packets for run in runs), "warm_up": plan.warm_up,
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
    """Return the answer for a large receive buffer that stays full: the saturated rate; the excess is lost."""
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
    """Rate, throughput and loss ratio (None: no open arrivals) with the ends of their intervals."""

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
    """Return the loss ratio and its interval.

    Lost / offered in the windows; or 1 - finished / (seconds x offered_pps), if offered_pps is known, the interval is
    narrower and both agree: the rate of an overloaded machine does not depend on the random number of arrivals. The
    distribution of few losses is skewed: the upper end is p exp(h / p), h the half width over runs. clump: packets that
    are lost together; without a loss, the upper end is 3 clumps (rule of three: exp(-3) = 5 %).
    """
    offered = sum(run.offered for run in runs)
    loss, half = over((run.lost for run in runs), (run.offered for run in runs))
    if not loss:
        return 0.0, (0.0, min(3 * clump / offered, 1.0))
    if offered_pps is not None:
        rate, rate_half = over((run.packets for run in runs), (run.seconds for run in runs))
        missing, missing_half = 1 - rate / offered_pps, max(rate_half, RATE_FLOOR * rate) / offered_pps
        if missing_half < HELPS * half and abs(missing - loss) < missing_half + half:
            return missing, (max(missing - missing_half, 0.0), missing + missing_half)
    return loss, (max(loss - half, 0.0), min(loss * float(np.exp(min(half / loss, MOST_SKEWED))), 1.0))


def _flow(subject: Subject, runs: Sequence[Replication], plan: Plan) -> Flow:
    """Return rate, throughput and loss: from finished packets, or with open arrivals from offered minus lost ones."""
    process = subject.workload.process()
    overloaded = plan.kind == "open" and plan.load is not None and plan.load > 1
    offered_pps = process.rate if process is not None and overloaded else None
    loss, loss_ends = loss_of(runs, plan.clump, offered_pps) if sum(run.offered for run in runs) else (None, (0.0, 0.0))
    if plan.kind != "open" or process is None or loss is None:
        rate, rate_ends = _with_floor(over((run.packets for run in runs), (run.seconds for run in runs)))
        bps, bps_ends = _with_floor(over((run.bits for run in runs), (run.seconds for run in runs)))
        return Flow(rate, rate_ends, bps, bps_ends, loss, loss_ends)
    bits, bits_half = over((run.bits for run in runs), (run.packets for run in runs))
    load = subject.open_model(plan.warm_up + plan.packets).under_load
    if not loss and load is not None:
        bits, bits_half = load.counted_bits, 0.0
    rate = process.rate * (1 - loss)
    low, high = process.rate * (1 - loss_ends[1]), process.rate * (1 - loss_ends[0])
    bps = rate * bits
    below, above = (float(np.hypot((rate - end) * bits, rate * bits_half)) for end in (low, high))
    return Flow(rate, (low, high), bps, (max(bps - below, 0.0), bps + above), loss, loss_ends)


def _with_floor(ratio: tuple[float, float]) -> tuple[float, tuple[float, float]]:
    """Return a rate and the ends of its interval, whose relative half width is at least RATE_FLOOR."""
    rate, half = ratio[0], max(ratio[1], RATE_FLOOR * ratio[0])
    return rate, (max(rate - half, 0.0), rate + half)


def _method(runs: Sequence[Replication], used: bool, reached: float, precision: float, modes: Modes | None) -> str:
    """Return the method of the answer, in words."""
    control = ", controlled by Lindley's wait before one server of the saturated rate" if used else ""
    method = f"{len(runs)} independent runs{control}; 95 % intervals by Student's t"
    if modes is not None:
        return f"runs fall into modes: {modes}; numbers are those of the commonest, the interval is the range of rates"
    if reached > precision:
        return f"{method}; the budget ended at +-{100 * reached:.2g} %, {100 * precision:g} % was asked for"
    return method
