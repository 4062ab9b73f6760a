"""Function and time together: frames that left a machine go through the golden router, at the times at which they left.

What the machine lost the router never sees; what the router drops, rewrites or answers it does on the machine's clock.
Where the router has a rate or queues at a port (RFC 2475), frames wait there once more.
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, closing
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from npexplore.golden.captures.replay import Step
from npexplore.golden.captures.routed import Routed, forward_captures
from npexplore.golden.router.configuration import Router
from npexplore.mapped_arrays import arrays_in_files, computed, empty, release_pages
from npexplore.packets.files import open_captures
from npexplore.packets.writing import CaptureWriter
from npexplore.solve.packet_files import departing
from npexplore.solve.packet_rows import SENT, Coded, Columns
from npexplore.solve.packet_run import PacketRun
from npexplore.solve.row_files import write_rows

if TYPE_CHECKING:
    import pandas as pd

Integers = npt.NDArray[np.int64]
NO_PORT = -1


class OutputPorts:
    """A sink of a replay: by which port the first frame left that each packet became."""

    def __init__(self, packets: Sequence[Integers], total: int) -> None:
        """packets: of each input of the replay, the places of its packets among `total`, in their order."""
        self._packets = packets
        self.port = computed(total, lambda part: NO_PORT, np.int32)

    def take(self, step: Step) -> None:
        """Take the frames of a step that packets became; messages of the router itself are not among them."""
        became = np.flatnonzero(~step.made.icmp)[::-1]  # the first of several is written last
        packet = step.made.packet[became]
        for source, places in enumerate(self._packets):
            of_source = step.part.source[packet] == source
            at = places[step.part.number[packet[of_source]]]
            self.port[at] = step.made.port[became[of_source]]
        release_pages()


def route_run(
    result: PacketRun, files: Mapping[str, Path], router: Router, port: str, *, profile: str | None = None,
    any_station: bool = False,
) -> tuple[Routed, pd.DataFrame]:  # fmt: skip
    """Forward the frames that `write_run` wrote; return what the router did, and the packets that it dropped.

    Their folder gets `ports/PORT.pcap` for each port that sends something, and `packets.parquet` three more columns.

    result: the run. files: what `write_run` returned for it. router: the configuration. port: by which port
    all packets come, unless the run has input ports of its own. profile: rules to follow (None: the configuration's).
    any_station: forward frames whatever their destination MAC address. The table has a row a dropped packet:
    router_reason, router_clause; its index is the packet's row in the capture, as that of `result.packets`. The third
    column of the file is output_port, of packets that were forwarded. Raises InputError for a link type that routers
    refuse, UnknownNameError for a port that the router has not.
    """
    import pandas as pd

    folder = files["packets"].parent
    names = (port,) if result.ports is None else result.ports.names
    with arrays_in_files(folder):
        sent, count = empty(result.counts[SENT]), 0
        for leaving in departing(result.fates):
            sent[count : count + len(leaving)] = leaving
            count += len(leaving)
        source = None if result.ports is None else result.input_port[sent]
        places = {name: sent if source is None else sent[source == k] for k, name in enumerate(names)}
        output = OutputPorts([*places.values()], len(result.number))
    with tempfile.TemporaryDirectory() as aside:
        inputs = {port: files["sent"]} if source is None else _by_port(files["sent"], source, names, Path(aside))
        table = Path(aside) / "drops.csv"
        routed = forward_captures(
            router, inputs, out=folder / "ports", drops=table, profile=profile, any_station=any_station,
            sinks=[output],
        )  # fmt: skip
        read = pd.read_csv(table, keep_default_na=False)
    dropped = np.array(
        [places[name][number] for name, number in zip(read.port, read.packet, strict=True)], dtype=np.int64
    )
    output.port[dropped] = NO_PORT
    codes, labels = {"output_port": output.port}, {"output_port": [one.name for one in router.ports]}
    drops = pd.DataFrame(index=pd.Index(result.number[dropped], name="packet"))
    for name in ("reason", "clause"):
        values = pd.Categorical(read[name].to_numpy())
        column = f"router_{name}"
        drops[column], labels[column] = values, values.categories.tolist()
        with arrays_in_files(folder):
            codes[column] = computed(len(result.number), lambda part: NO_PORT, np.int32)
        codes[column][dropped] = values.codes

    def routing(part: slice) -> Columns:
        return {name: Coded(codes[name][part], labels[name]) for name in codes}

    write_rows(result.rows, [], files["packets"], routing)
    return routed, drops


def _by_port(sent: Path, source: Integers, names: Sequence[str], folder: Path) -> dict[str, Path]:
    """Write the frames of each input port as a capture of its own; return the captures by port."""
    captures = {name: folder / f"{k}{sent.suffix}" for k, name in enumerate(names)}
    form, first = "pcapng" if sent.suffix == ".pcapng" else "pcap-ns", 0
    with ExitStack() as opened:
        writers = [opened.enter_context(CaptureWriter(path, form)) for path in captures.values()]
        scan = opened.enter_context(closing(open_captures(sent)))
        for table in scan:
            data, base = scan.window
            of_table = source[first : first + table.rows]
            for k, writer in enumerate(writers):
                writer.write(data, base, table, np.flatnonzero(of_table == k), table["captured"].astype(np.int64))
            first += table.rows
    return captures
