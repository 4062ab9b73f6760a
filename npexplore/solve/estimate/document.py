"""An estimate as a JSON document, the same in every command: numbers, their 95 % intervals, and the method."""

from collections.abc import Mapping
from typing import Any

from npexplore.solve.prediction import Prediction

LATENCIES = ("mean", "p50", "p95", "p99")


def document(estimate: Prediction | None) -> dict[str, Any] | None:
    """Return the object `estimate` of a command's document (None: refused); an interval that does not exist is None."""
    if estimate is None:
        return None
    ci95 = estimate.ci95
    latency = {name: _scaled(ci95, "latency_s" if name == "mean" else f"latency_s.{name}", 1e9) for name in LATENCIES}
    return {
        "rate_mpps": estimate.rate_pps / 1e6,
        "throughput_bps": estimate.throughput_bps,
        "latency_ns": {
            name: None if (seconds := getattr(estimate.latency_s, name)) is None else 1e9 * seconds
            for name in LATENCIES
        },
        "loss": estimate.loss,
        "ci95": {
            "rate_mpps": _scaled(ci95, "rate_pps", 1e-6),
            "throughput_bps": _scaled(ci95, "throughput_bps", 1.0),
            **latency,
            "loss": _scaled(ci95, "loss", 1.0),
        },
        "precision": estimate.about.get("precision"),
        "runs": estimate.about.get("runs"),
        "modes": estimate.about.get("modes"),
        "method": estimate.approximation,
        "seconds": estimate.seconds,
    }


def _scaled(ci95: Mapping[str, tuple[float, float]], name: str, scale: float) -> list[float] | None:
    ends = ci95.get(name)
    return None if ends is None else [scale * end for end in ends]
