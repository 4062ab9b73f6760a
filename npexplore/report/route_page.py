"""Makes one offline page of a run of captures through the router: paths of packets, drops with clauses, counters."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from npexplore.errors import shown
from npexplore.plot import routes as figures
from npexplore.plot.tables import table
from npexplore.report.sections import Content, Section
from npexplore.report.shell import draw, figure_page, listing, si

if TYPE_CHECKING:
    from npexplore.golden.captures.routed import Routed

NAMED_PORTS = 16  # ports on each side that a picture shows by name
OTHERS = "other ports"


def route_page(run: Routed, name: str, beside: Path | None = None) -> str:
    """Return the page of a run as HTML; name: the router's name.

    beside: the page's path, to store plotly.js next to it (shared by pages); None draws figures as static pictures.
    """
    router = run.replay.router
    sections = [Section(title, *_filled(fill, run)) for title, fill in SECTIONS.items()]
    damage = "; ".join(
        f"{shown(scan.path)}: {scan.damage}" for scan in run.replay.scans if scan.damage is not None
    )  # fmt: skip
    notices = []
    if run.tally.cut:
        notices.append(f"{run.tally.cut:,} packets were cut when they were captured; they are dropped as truncated.")
    ports = ", ".join(f"{port.name} (MTU {port.mtu:,})" for port in router.ports)
    return figure_page(
        "route.html.j2",
        beside,
        drawn=bool(run.tally.packets),
        name=f"Packets through the router {name}",
        file=f"ports {ports}",
        damage=damage,
        notices=notices,
        sections=sections,
    )


def _filled(fill: Callable[[Routed], Content | str], run: Routed) -> tuple[Content, str | None]:
    fills = fill(run)
    return (Content(), fills) if isinstance(fills, str) else (fills, None)


def summary(run: Routed) -> Content:
    """Return the key numbers and the inputs."""
    tally = run.tally
    packets, sent = tally.packets, tally.forwarded
    share = f" ({sent / packets:.1%})" if packets else ""
    numbers = [("packets in", f"{packets:,}"), ("forwarded", f"{sent:,}{share}"), ("dropped", f"{packets - sent:,}")]
    numbers.append(("ICMP messages of the router", f"{int(tally.frames[2].sum()):,}"))
    if pieces := int(tally.frames[1].sum()) - sent:
        numbers.append(("more frames out, for pieces", f"{pieces:,}"))
    lines = {"profile": run.profile}
    for row in run.inputs():
        name = Path(row["file"]).name or row["file"]  # pages are shared with others: leave out the folder
        lines[f"in by {row['port']}"] = f"{name}, {row['format']}, {row['packets']:,} packets"
    lines |= {f"out by {port}": Path(path).name for port, path in run.outputs.items()}
    return Content(headlines=tuple(numbers), parts=(listing(lines),))


def ways(run: Routed) -> Content | str:
    """Return the section with the diagram of packets from input ports to output ports and drop reasons."""
    if not run.tally.packets:
        return "no packet came in"
    clauses = {row["reason"]: f"{row['meaning']} ({row['clause']})" for row in run.tally.drops()}
    rows = pd.DataFrame(run.tally.ways())
    rows["kind"] = rows.pop("dropped").map({True: "dropped", False: "sent"})
    rows["from"] = _few(rows, rows["from"])
    sent = rows["kind"] == "sent"
    rows.loc[sent, "to"] = _few(rows[sent], rows.loc[sent, "to"])
    rows = rows.groupby(["kind", "from", "to"], sort=False, as_index=False)["packets"].sum()
    rows["all"] = rows.groupby(["kind", "to"])["packets"].transform("sum")
    rows = rows.sort_values(["kind", "all", "to"], ascending=[False, False, True], kind="stable")
    rows["clause"] = [
        clauses[to] if kind == "dropped" else "" for kind, to in zip(rows["kind"], rows["to"], strict=True)
    ]
    return Content(
        "A band is as wide as its packets: blue ones left by a port, orange ones were dropped for a reason. A packet "
        "that left in pieces counts once; messages that the router made itself are not among them.",
        parts=(draw(figures.ways(rows)),),
    )  # fmt: skip


def _few(rows: pd.DataFrame, names: pd.Series[Any]) -> pd.Series[Any]:
    """Return the names; all except those with the most packets are replaced by OTHERS."""
    largest = rows.groupby(names)["packets"].sum().nlargest(NAMED_PORTS).index
    return names.where(names.isin(largest), OTHERS)


def drops(run: Routed) -> Content | str:
    """Return the drops by reason, with meaning and clause, and by port."""
    dropped = run.tally.drops()
    if not dropped:
        return "no packet was dropped"
    order = {row["reason"]: place for place, row in enumerate(dropped)}
    rows = pd.DataFrame([row for row in run.tally.ways() if row["dropped"]])
    rows = rows.rename(columns={"from": "port", "to": "reason"}).sort_values(
        "reason", key=lambda names: names.map(order), kind="stable"
    )
    listed = pd.DataFrame(dropped)[["reason", "packets", "meaning", "clause"]]
    return Content(parts=(draw(figures.drops(rows)), table(listed)._repr_html_()))


def ports(run: Routed) -> Content:
    """Return the frames and bytes in and out of each port."""
    rows = [
        {
            "port": row["port"], "in": row["in"], "out": row["out"], "ICMP sent": row["icmp"],
            "bytes in": si(row["in_bytes"], "B"), "bytes out": si(row["out_bytes"] + row["icmp_bytes"], "B"),
        }
        for row in run.tally.ports()
    ]  # fmt: skip
    note = "Frames are counted, each piece of a packet once; bytes are those of frames without their check sequence."
    return Content(note, parts=(table(pd.DataFrame(rows), left=("port",))._repr_html_(),))


def counters(run: Routed) -> Content:
    """Return the router's counters."""
    rows = sorted(run.replay.forwarder.counters.items())
    listed = pd.DataFrame(rows, columns=["counter", "value"])
    return Content(parts=(table(listed, height=420)._repr_html_(),))


def comparison(run: Routed) -> Content | str:
    """Return the result of the comparison with another router's captures."""
    if run.verdict is None:
        return "no captures of another router were given (--compare DIR)"
    equal_frames = f"{run.verdict.alike:,} frames are as they must be"
    difference = run.verdict.difference
    if difference is None:
        return Content(f"{equal_frames}; there is no difference.")
    port = run.replay.router.ports[difference.port].name
    lines = {"port": port, "packet": f"{difference.frame:,}", "field": difference.field, "ours": difference.expected}
    lines |= {"theirs": difference.got, "clause": difference.clause}
    return Content(f"{equal_frames}; the first difference:", parts=(listing(lines),))


SECTIONS: dict[str, Callable[[Routed], Content | str]] = {
    "Summary": summary,
    "Ways": ways,
    "Drops by reason": drops,
    "Ports": ports,
    "Counters": counters,
    "Comparison": comparison,
}
