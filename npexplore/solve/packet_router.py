"""A machine's output through the golden router: frames enter the router at the times at which they left the machine.

The router does not get packets that the machine lost, and drops, rewrites and answers on the machine's clock. At router
ports with a rate or queues (RFC 2475), frames wait once more.
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
    """A sink of a replay: the output port of each packet's first frame."""

    def __init__(self, packets: Sequence[Integers], total: int) -> None:
        """packets: for each input of the replay, the places of its packets among `total` packets, in order."""
        self._packets = packets
        self.port = computed(total, lambda part: NO_PORT, np.int32)

    def take(self, step: Step) -> None:
        """Note the ports of a step's forwarded frames; ICMP messages of the router do not count."""
        frames = np.flatnonzero(~step.made.icmp)[::-1]  # of several frames of a packet, the first is written last
        packet = step.made.packet[frames]
        for source, places in enumerate(self._packets):
            of_source = step.part.source[packet] == source
            packet_places = places[step.part.number[packet[of_source]]]
            self.port[packet_places] = step.made.port[frames[of_source]]
        release_pages()


def route_run(
    result: PacketRun, files: Mapping[str, Path], router: Router, port: str, *, profile: str | None = None,
    any_station: bool = False,
) -> tuple[Routed, pd.DataFrame]:  # fmt: skip
    """Forward the frames that `write_run` wrote; return the router's results and a table of the packets it dropped.

    The files' folder gets `ports/PORT.pcap` for each port that sends frames, and `packets.parquet` gets three columns:
    router_reason and router_clause of dropped packets, output_port of forwarded ones.

    result: the run. files: the paths that `write_run` returned for it. router: the configuration. port: the input port
    of all packets, if the run has no input ports. profile: rules to follow (None: the configuration's). any_station:
    forward frames with any destination MAC address. The table has a row per dropped packet with router_reason and
    router_clause; its index is the packet's row in the capture, as in `result.packets`. Raises InputError for a link
    type that routers refuse, UnknownNameError for a port that the router does not have.
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
    with tempfile.TemporaryDirectory() as scratch:
        inputs = {port: files["sent"]} if source is None else _by_port(files["sent"], source, names, Path(scratch))
        table = Path(scratch) / "drops.csv"
        routed = forward_captures(
            router, inputs, out=folder / "ports", drops=table, profile=profile, any_station=any_station,
            sinks=[output],
        )  # fmt: skip
        drop_table = pd.read_csv(table, keep_default_na=False)
    dropped = np.array(
        [places[name][number] for name, number in zip(drop_table.port, drop_table.packet, strict=True)], dtype=np.int64
    )
    output.port[dropped] = NO_PORT
    codes, labels = {"output_port": output.port}, {"output_port": [output_port.name for output_port in router.ports]}
    drops = pd.DataFrame(index=pd.Index(result.number[dropped], name="packet"))
    for name in ("reason", "clause"):
        values = pd.Categorical(drop_table[name].to_numpy())
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
    """Write the frames of each input port to a separate capture; return the captures by port."""
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
