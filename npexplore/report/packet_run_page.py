"""Makes one offline page of a run of packets: packets over time, the slowest hundred with their waits, worst flows."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from npexplore.plot.packet_run import timeline_figure, waits_figure
from npexplore.plot.tables import table
from npexplore.report.sections import Content, Section
from npexplore.report.shell import draw, figure_page, listing, si
from npexplore.solve.packet_flows import MAX_DIRECTIONS
from npexplore.solve.packet_groups import MEASURED_PACKETS

if TYPE_CHECKING:
    import pandas as pd

    from npexplore.packets.capture import Capture
    from npexplore.solve.packet_run import PacketRun

WORST_PACKETS = 100
LISTED_FLOWS = 100
FLOW_COLUMNS = (
    "src", "sport", "dst", "dport", "ip_proto", "packets", "measured", "sent", "lost", "longest_loss_period",
    "latency_p50_s", "latency_p99_s", "latency_max_s", "pdv_p99_s", "reordered", "worst_at_s", "waits_most_at",
    "waits_there_s",
)  # fmt: skip


def packet_run_page(result: PacketRun, beside: Path | None = None) -> str:
    """Return the page of a run of a capture as HTML; it shows waits if the run has times by resource.

    beside: the page's path, to store plotly.js next to it (shared by pages); None draws figures as static pictures.
    """
    capture = result.capture
    assert capture is not None, "a run of a capture"
    worst = result.worst(WORST_PACKETS)
    sections = [
        Section("Summary", _summary(result, capture)),
        Section("Packets over time", _over_time(result, zooms=beside is not None)),
        Section("Worst packets", *_worst(result, capture, worst)),
        Section("Flows", _flows(result)),
    ]
    return figure_page(
        "packet_run.html.j2", beside,
        name=f"Packets of {', '.join(_names(capture))} through {result.design}",
        file=", ".join(_names(capture)), damage=str(capture.damage) if capture.damage else "", notices=[],
        sections=sections,
    )  # fmt: skip


def _names(capture: Capture) -> list[str]:
    """Return the names of a capture's files without folders, because pages are shared with others."""
    return [Path(file).name for file in capture.files or (capture.path,)]


def _summary(result: PacketRun, capture: Capture) -> Content:
    latency = result.prediction.latency_s
    headlines = [("packets", f"{len(result.number):,}"), *((name, f"{n:,}") for name, n in result.counts.items())]
    if latency.mean is not None:
        headlines.append(("mean latency", si(latency.mean, "s")))
    lines = {f"lost at {end['dropped_at']}": f"{end['packets']:,} ({end['reason']})"
             for end in result.records() if "dropped_at" in end}  # fmt: skip
    if result.ports is not None:
        counts = np.bincount(result.input_port, minlength=len(result.ports.names))
        lines |= {f"in by {name}": f"{n:,}" for name, n in zip(result.ports.names, counts.tolist(), strict=True)}
    return Content(headlines=tuple(headlines), parts=(listing(lines),) if lines else ())


def _over_time(result: PacketRun, *, zooms: bool) -> Content:
    about = (
        "Rates are those of each window of time; the backlog is the largest number of packets inside during the "
        "window." + " Drag over a part to zoom in, double-click to return." * zooms
    )
    return Content(about, parts=(draw(timeline_figure(result)),))


def _worst(result: PacketRun, capture: Capture, worst: pd.DataFrame) -> tuple[Content, str | None]:
    if not result.counts["sent"]:
        return Content(), "no packet was sent"
    worst = worst[worst.latency_s.notna()]
    has_waits = any(name.endswith(".service_s") for name in worst.columns)
    figures = (draw(waits_figure(worst, result.design)),) if has_waits else ()
    rows = worst.index.to_numpy()
    if "src" in capture.columns.stored:
        addresses = capture.packets.loc[rows, ["src", "dst"]]
    else:
        addresses = result.directed.ends_of(rows)
    addresses["length"] = capture.columns["length"][rows]
    listed = addresses.join(worst.drop(columns=["outcome", "dropped_at", "reason"])).reset_index()
    about = f"The {len(worst)} packets with the largest latency, of those that were sent."
    return Content(about, parts=(*figures, table(listed, height=480)._repr_html_())), None


def _flows(result: PacketRun) -> Content:
    flows = result.flows()
    losers = flows.sort_values(["lost", "latency_p99_s"], ascending=False, kind="stable")
    listed = losers[[name for name in FLOW_COLUMNS if name in losers]].head(LISTED_FLOWS)
    listed = listed.astype({"sport": str, "dport": str})
    about = (
        f"{int((flows.lost > 0).sum()):,} of {len(flows):,} directions of flows lost packets. The first "
        f"{len(listed):,} by packets lost, then by 99th percentile of latency."
    )
    if result.row_file is not None and (beyond := result.directed.beyond):
        about += f" {beyond:,} packets are of flows behind the first {MAX_DIRECTIONS:,} directions, and not counted."
    if "measured" in flows:
        about += (
            f" Directions with more than {MEASURED_PACKETS:,} packets are measured by their first {MEASURED_PACKETS:,} "
            "(column measured)."
        )
    return Content(about, parts=(table(listed, height=480)._repr_html_(),))
