"""`npexplore trace flows`: one row for each flow of both directions, with the results of its TCP segments.

Exit status 0, or 3 for a damaged capture, whose good packets are in the flows.
"""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from npexplore.cli.files import OutputFile, memory_limit, memory_option
from npexplore.cli.output import emit, json_option, note, table, warn
from npexplore.errors import InputError, shown

if TYPE_CHECKING:
    import pandas as pd

DAMAGED, SHOWN = 3, 20


@click.command("flows")
@click.argument("file", metavar="FILE")
@click.option("--out", metavar="FLOWS.parquet", type=OutputFile(), help="Write all flows as a Parquet table.")
@memory_option
@click.option("--application", is_flag=True, help="Add names of DNS, TLS and HTTP from each flow's first packets.")
@json_option
def command(file: str, out: Path | None, memory: str, application: bool, as_json: bool) -> int:
    """Show the flows of a capture: ends, times, packets and bytes each way, flags, retransmissions, handshake.

    Without --json and --out the 20 flows with the most bytes are printed. If --memory cannot hold all flows, one flow
    in 2, 4, ... is shown, with all its packets; the column weight is the number of flows that it represents.
    """
    if out is not None and out.suffix.lower() != ".parquet":
        raise InputError(f"{out}: flows are written as Parquet, so its name must end in .parquet")
    from npexplore.packets.files import open_captures, troubles
    from npexplore.packets.sampled_flows import application_flows, sampled_flows

    memory_bytes = memory_limit(memory)
    with closing(open_captures(file)) as scan:
        flows, flows_each = (application_flows if application else sampled_flows)(scan, memory_bytes)
    if out is not None:
        from npexplore.packets.output import replacing

        with replacing(file, out) as part:
            flows.to_parquet(part)
        note(f"{out}: {len(flows):,} flows")
    if as_json:
        emit({"file": shown(scan.path), "flows": _records(flows)}, "", as_json=True)
    elif out is None:
        largest = (-flows["bytes"] - flows["bytes_back"]).argsort(kind="stable")[:SHOWN]
        emit(None, table(_records(flows.iloc[largest])), as_json=False)
        if len(flows) > SHOWN:
            note(f"{len(flows) - SHOWN:,} smaller flows: --json or --out shows all")
    if flows_each > 1:
        warn(f"more flows than --memory {memory} holds: one of {flows_each} is shown, chosen by a hash of its ends")
    damage = troubles(scan)
    for trouble in damage:
        warn(f"{trouble}; the packets that could be read are counted")
    return DAMAGED if damage else 0


def _records(flows: pd.DataFrame) -> list[dict[str, Any]]:
    """Return one dictionary for each flow, with None for missing values."""
    columns = flows.astype(object).where(flows.notna(), None)
    rows = zip(*(columns[name].tolist() for name in columns), strict=True)
    return [dict(zip(columns, row, strict=True)) for row in rows]
