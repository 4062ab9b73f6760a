"""The section of a capture's page with the predicted throughput of each machine for the capture."""

from __future__ import annotations

from typing import Any

from npexplore.plot import captures as figures
from npexplore.plot.tables import Table, number
from npexplore.report.capture_subject import Subject
from npexplore.report.sections import Content
from npexplore.report.shell import draw, si
from npexplore.study.explaining.on_capture import compare_on_capture, machines_without_clock, packet_rates


def machines(subject: Subject) -> Content:
    """Return the section: throughput and bottleneck of each machine with the capture's packets."""
    import pandas as pd

    comparison = compare_on_capture(subject.workload)
    capture_rate_pps = subject.document["rate"]["packets_per_s"]
    table_rows = []
    for row in comparison.to_dict("records"):
        half_interval = (row["high_bps"] - row["low_bps"]) / 2e9 if _known(row["high_bps"]) else None
        interval_text = f" &plusmn;&thinsp;{half_interval:.2g}" if half_interval else ""
        rate_pps = row["rate_pps"] if _known(row["rate_pps"]) else None
        table_rows.append(
            {
                "machine": row["machine"],
                "bounds (Gb/s)": _gigabits(row["bounds_bps"]),
                "queueing (Gb/s)": _gigabits(row["queueing_bps"]),
                "simulated (Gb/s)": _gigabits(row["simulated_bps"]) + interval_text,
                "Mpps": number(rate_pps / 1e6 if rate_pps else None, 3),
                "bottleneck": number(row["bottleneck"]),
                "mean latency": si(row["latency_s"], "s") if _known(row["latency_s"]) else "&ndash;",
                "times this capture's rate": f"{float(f'{rate_pps / capture_rate_pps:.3g}'):,.12g}"
                if capture_rate_pps and rate_pps
                else "&ndash;",
                "bits of": number(row["counted"]),
                "note": number("; ".join(text for text in (row["note"], row["refused"]) if isinstance(text, str))),
            }
        )
    cells = pd.DataFrame(table_rows)
    about = (
        f"{subject.of_the_first}{subject.of_the_ip_packets}, always one "
        "waiting, through each machine with its parameters as listed: the roofline, the queueing model and the "
        "simulation. Mpps, bottleneck and latency are those of the simulation, or of what answers in its place. "
        "Machines count the bits of different things; their packets can be compared. Left out, since nobody states "
        f"their clocks: {', '.join(machines_without_clock()) or 'none'}."
    )
    machine_table = Table(comparison, cells, left=("machine", "bottleneck", "bits of"))
    return Content(about, parts=(machine_table._repr_html_(), draw(figures.machines(packet_rates(comparison)))))


def _gigabits(bps: float | None) -> str:
    return number(bps / 1e9 if bps is not None and bps == bps else None, 3)


def _known(value: Any) -> bool:
    return value is not None and value == value
