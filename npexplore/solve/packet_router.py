"""Function and time together: frames that left a machine go through the golden router, at the times at which they left.

What the machine lost the router never sees; what the router drops, rewrites or answers it does on the machine's clock.
Where the router has a rate or queues at a port (RFC 2475), frames wait there once more.
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from npexplore.golden.captures.routed import Routed, forward_captures
from npexplore.golden.router.configuration import Router
from npexplore.packets.output import replacing
from npexplore.solve.packet_files import departing
from npexplore.solve.packet_run import PacketRun

if TYPE_CHECKING:
    import pandas as pd


def route_run(
    result: PacketRun, files: Mapping[str, Path], router: Router, port: str, *, profile: str | None = None,
    any_station: bool = False,
) -> tuple[Routed, pd.DataFrame]:  # fmt: skip
    """Forward the frames that `write_run` wrote; return what the router did, and the packets that it dropped.

    Their folder gets `ports/PORT.pcap` for each port that sends something, and `packets.parquet` two more columns.

    result: the run. files: what `write_run` returned for it. router: the configuration. port: by which port
    all packets come. profile: rules to follow (None: the configuration's). any_station: forward frames whatever their
    destination MAC address. The table has a row a dropped packet: router_reason, router_clause; its index is the
    packet's row in the capture, as that of `result.packets`. Raises InputError for a link type that routers refuse,
    UnknownNameError for a port that the router has not.
    """
    import pandas as pd

    folder = files["packets"].parent
    with tempfile.TemporaryDirectory() as aside:
        table = Path(aside) / "drops.csv"
        routed = forward_captures(
            router, {port: files["sent"]}, out=folder / "ports", drops=table,
            profile=profile, any_station=any_station,
        )  # fmt: skip
        found = pd.read_csv(table, keep_default_na=False)
    packets = result.number[result.fates.finished][departing(result)]
    drops = pd.DataFrame(
        {
            "router_reason": pd.Categorical(found.reason.to_numpy()),
            "router_clause": pd.Categorical(found.clause.to_numpy()),
        },
        index=pd.Index(packets[found.packet.to_numpy(dtype="int64")], name="packet"),
    )
    with replacing("-", folder / "packets.parquet") as part:
        result.packets.join(drops).to_parquet(part)
    return routed, drops
