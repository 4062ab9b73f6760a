"""A run of a capture through a machine: the fate of each packet, and the prediction of the same run.

Every packet is sent, dropped, or still inside at the end; sums over the rows equal the totals of `simulate` to the tick
(RFC 1242, 3.8 and 3.17: latency and overhead are those of each frame, from its arrival to its departure).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from npexplore._kernels import engine
from npexplore.engine.accounts import DROP
from npexplore.engine.checkpoint import Checkpoints
from npexplore.engine.fates import Fates
from npexplore.engine.model import EngineModel
from npexplore.engine.run import run
from npexplore.errors import InputError, RefusedError, positive
from npexplore.machine.machine import Machine
from npexplore.machine.resources.ingress import Ingress
from npexplore.machine.resources.line_card import LineCard
from npexplore.machine.resources.policer import Policer
from npexplore.machine.resources.queue import BoundedQueue
from npexplore.machine.resources.scheduled_queue import ScheduledQueue
from npexplore.machine.workload import CLASS, Workload
from npexplore.mapped_arrays import arrays_in_files, computed, parts, release_pages
from npexplore.packets.conversations import directions
from npexplore.results import Result, units_of
from npexplore.solve.packet_flows import Directed, directed
from npexplore.solve.packet_groups import group_measures
from npexplore.solve.packet_memory import check_memory
from npexplore.solve.packet_rows import DROPPED, INSIDE, SENT, PacketRows
from npexplore.solve.prediction import Prediction
from npexplore.solve.row_files import ROW_FILE, RowStream
from npexplore.solve.simulate import BATCHES, measure

if TYPE_CHECKING:
    import pandas as pd

    from npexplore.packets.capture import Capture
    from npexplore.solve.input_ports import InputPorts

Integers = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
REASONS: Mapping[str, tuple[type, ...]] = {
    "BUFFER_FULL": (Ingress, LineCard),
    "QUEUE_FULL": (BoundedQueue, ScheduledQueue),
    "POLICED": (Policer,),
}


@dataclass(eq=False, repr=False)
class PacketRun(Result):
    """What `Design.run` returns: every packet's fate (`packets`), and the prediction of the same run.

    prediction: the answer of `simulate` for these packets and this seed. number: row of each offered packet in the
    capture's `packets`. fates: the recorded rows in ticks. reasons: why packets are lost, by place. classes: of each
    packet, if any. capture: the source of the packets. ports: input ports of the capture, if several. loops: number of
    passes over the capture. row_file: file with the rows (None: no file).

    Example:
        >>> import npexplore as npx
        >>> capture = npx.bundled_path("data/captures/zeek_wikipedia.pcap")
        >>> result = npx.design("ixp2400").run(capture)
        >>> result
        PacketRun(ixp2400: 126 packets: 126 sent, 0 dropped, 0 inside)
        >>> joined = npx.read_capture(capture).packets.join(result.packets, how="inner")
        >>> len(joined)
        126
    """

    design: str
    prediction: Prediction
    number: Integers
    fates: Fates
    reasons: Mapping[str, str]
    classes: Integers | None = None
    capture: Capture | None = None
    ports: InputPorts | None = None
    loops: int = 1
    row_file: Path | None = None

    @cached_property
    def rows(self) -> PacketRows:
        """The rows as named columns."""
        return PacketRows(self.fates, self.reasons, self.number, self.classes, self.capture, self.ports, self.loops)

    @property
    def counts(self) -> dict[str, int]:
        """Packets by outcome: sent, dropped, inside."""
        return self.rows.counts

    @property
    def drops(self) -> dict[str, int]:
        """Packets dropped, by place."""
        return self.rows.drops

    @cached_property
    def packets(self) -> pd.DataFrame:
        """One row per packet, whose index is the packet's row in the capture's `packets`; times in seconds.

        arrival_s, start_s (a thread gets the packet), departure_s (sent) count from the first packet; latency_s is from
        arrival to departure; outcome (sent, dropped, inside), dropped_at, reason; thread; input_port and loop (from 0),
        if there are several; class, if packets have classes. With `by_resource`: RESOURCE.service_s, .waiting_s, and
        .held_s (waiting while the resource is blocked by a packet that waits elsewhere), which add up to latency_s.
        Values that a packet does not have are missing.
        """
        return self.rows.frame(slice(0, len(self.number)))

    def worst(self, packets: int) -> pd.DataFrame:
        """Return the rows of the given number of sent packets with the largest latency, the largest first."""
        places = np.zeros(0, dtype=np.int64)
        for part in self.fates.parts():
            sent = part.start + np.flatnonzero(self.fates.part(part).finished)
            places = np.concatenate([places, sent])
            rows = self.fates.rows[places]
            latency = rows[:, engine.F_END] - rows[:, engine.F_ARRIVAL]
            places = places[np.lexsort((places, -latency))[:packets]]
        return self.rows.frame(places)

    def measures(self, by: Integers | None = None) -> pd.DataFrame:
        """Return loss, latency, delay variation and reordering of groups of packets, one row each (docs/packet_run.md).

        by: group number of each packet from 0 on, shape (packets,) (None: one group). If the rows are in files, only
        the first `packet_groups.MEASURED_PACKETS` packets of a group are measured; a column `measured` has the number
        of measured packets if any group is larger.
        """
        with self._arrays():
            group = computed(len(self.number), lambda part: 0, np.int32) if by is None else np.asarray(by)
            many = max(1, *(int(group[part].max()) + 1 for part in parts(len(group))))
            table = group_measures(self.fates, self.rows.totals, group, many)
        table.attrs["units"] = units_of(table.columns)
        return table

    def _arrays(self) -> AbstractContextManager[None]:
        """Place arrays with a value per packet where the rows are: in memory, or in files beside `row_file`."""
        return arrays_in_files(None if self.row_file is None else self.row_file.parent)

    def over_time(self, window_s: float) -> pd.DataFrame:
        """Return the measures of packets by the time window of their arrival; `start_s` is the window's beginning."""
        positive("window", window_s)
        rows, tick = self.fates.rows, self.fates.model.tick
        with self._arrays():
            window = computed(len(rows), lambda part: rows[part, engine.F_ARRIVAL] * tick / window_s)
        table = self.measures(window)
        table.insert(0, "start_s", np.arange(len(table)) * window_s)
        return table

    def by_class(self) -> pd.DataFrame:
        """Return the measures of each class of packets, row by row; raises InputError where packets have no classes."""
        if self.classes is None:
            raise InputError(f"{self.design}: its packets have no classes")
        return self.measures(self.classes)

    def flows(self) -> pd.DataFrame:
        """Return the measures of each flow's two directions, the one with the largest 99th percentile first.

        `flow` is the row in the capture's `flows()`; src, dst, sport, dport, ip_proto are of the direction. Packets
        whose IP header was cut off are left out.
        """
        if self.capture is None or not ("src" in self.capture.columns.stored or self.capture.files):
            raise InputError(f"{self.design}: these packets have no addresses, and no flows")
        if "src" not in self.capture.columns.stored:
            table = self._directed_flows(self.directed)
            return table.sort_values("latency_p99_s", ascending=False, kind="stable", ignore_index=True)
        flows = directions(self.capture.columns)
        at = np.minimum(np.searchsorted(flows.rows, self.number), len(flows.rows) - 1)
        has_flow = flows.rows[at] == self.number
        codes = np.where(has_flow, 2 * flows.number[at] + flows.back[at], 2 * len(flows.rows))
        present, first, group = np.unique(codes, return_index=True, return_inverse=True)
        table = self.measures(group)
        for place, name in enumerate(("src", "dst", "sport", "dport", "ip_proto")):
            values = flows.tuples[name][at][first]
            table.insert(place, name, flows.ends.text(values) if name in ("src", "dst") else values)
        table.insert(0, "flow", present // 2)
        return table[: has_flow.any() and len(table) - (not has_flow.all())].sort_values(
            "latency_p99_s", ascending=False, kind="stable", ignore_index=True
        )

    @cached_property
    def directed(self) -> Directed:
        """The flow directions of a capture whose columns are not in memory; its files are read once more."""
        assert self.capture is not None, "a run of a capture"
        with self._arrays():
            return directed(self.capture)

    def _directed_flows(self, known: Directed) -> pd.DataFrame:
        """Return the measures of flow directions, in the order of flows."""
        with self._arrays():
            group = computed(len(self.number), lambda part: known.of_packet[self.number[part]], np.int32)
            table = self.measures(group)
        keys = known.keys[: len(table)]
        for place, (name, field) in enumerate({"src": 0, "dst": 2, "sport": 1, "dport": 3, "ip_proto": 4}.items()):
            table.insert(place, name, [key[field] for key in keys])
        table.insert(0, "flow", known.flow[: len(table)])
        return table[table.packets > 0].sort_values("flow", kind="stable")

    @cached_property
    def input_port(self) -> Integers:
        """The index of each packet's input port in `ports.names` (0 if there is one port)."""
        return self.rows.input_port(slice(None))

    def to_frame(self) -> pd.DataFrame:
        """Return `packets`."""
        return self.packets

    def records(self) -> list[dict[str, Any]]:
        """Return the number of packets by outcome, place and reason."""
        ends: list[dict[str, Any]] = [{"outcome": SENT, "packets": self.counts[SENT]}]
        for place, count in self.drops.items():
            ends.append({"outcome": DROPPED, "packets": count, "dropped_at": place, "reason": self.reasons[place]})
        return [*ends, {"outcome": INSIDE, "packets": self.counts[INSIDE]}]

    def to_dict(self) -> dict[str, Any]:
        """Return the counts, the outcomes and the prediction in JSON types."""
        return {
            "design": self.design, "packets": len(self.number), **self.counts, "ends": self.records(),
            "prediction": self.prediction.to_dict(),
        }  # fmt: skip

    def heading(self) -> str:
        """Return the number of packets, and the number of each outcome."""
        ends = ", ".join(f"{count:,} {name}" for name, count in self.counts.items())
        return f"{self.design}: {len(self.number):,} packets: {ends}"


def run_packets(
    name: str, machine: Machine, workload: Workload, model: EngineModel, number: Integers, *, seed: int = 1,
    by_resource: bool = False, capture: Capture | None = None, ports: InputPorts | None = None, loops: int = 1,
    memory_bytes: float | None = None, folder: Path | None = None, resume: bool = False,
    progress: Callable[[int, int], None] | None = None,
) -> PacketRun:  # fmt: skip
    """Run time-stamped packets once through a machine; number: row of each packet in the capture.

    folder: `packets.parquet` is written there during the run. resume: continue from the folder's checkpoint, if it is
    of this run, and write checkpoints (npexplore/engine/checkpoint.py). progress: called with the numbers of arrived
    and of all packets. Raises RefusedError for a machine in which packets cannot be identified, or that creates other
    packets than those given; SimulationError if the run makes no progress; KeyboardInterrupt, with a message about the
    rows in the file, if the run was interrupted.
    """
    if len(number) != len(workload.packet_bytes):
        raise RefusedError(f"{name}: {len(number)} packets were given, its own {len(workload.packet_bytes)} come")
    if model.places is not None and folder is None:
        columns = engine.F_FIRST + 3 * len(model.places.names) * by_resource
        check_memory(name, len(number), columns, memory_bytes)
    checkpoints = Checkpoints(folder) if resume and folder is not None else None
    fates = Fates.of(model, by_place=by_resource, file=None if checkpoints is None else checkpoints.rows_file)
    lost_at = [counter.removeprefix(DROP) for counter in model.counters if counter.startswith(DROP)]
    reasons, classes = {place: _reason(machine, place) for place in lost_at}, workload.columns.get(CLASS)
    rows = PacketRows(fates, reasons, number, classes, capture, ports, loops)
    path = None if folder is None else folder / ROW_FILE
    with RowStream(rows, path) if path is not None else nullcontext() as stream:

        def paused(arrived: int) -> None:
            if arrived % fates.part_rows < fates.chunk_rows:
                release_pages()
            if progress is not None:
                progress(arrived, len(number))
            if stream is not None:
                stream.hand_over_ended()

        try:
            result = run(
                model, seed, len(number), BATCHES, accounts=True, fates=fates, checkpoints=checkpoints, paused=paused
            )
        except KeyboardInterrupt:
            if stream is None or not (ended := fates.ended(0)):
                raise
            stream.finish(ended)
            stopped = f"{path} has the rows of the first {ended:,} of {len(number):,} packets"
            if checkpoints is not None and checkpoints.arrived:
                stopped += f"; resume goes on from packet {checkpoints.arrived:,}"
        else:
            stopped, last = "", result.snapshots[-1]
            if stream is not None:
                stream.hand_over_ended()
            fates.check(last.done, last.counters)
            if stream is not None:
                stream.finish(len(number))
    if stopped:
        raise KeyboardInterrupt(stopped)
    prediction = measure(machine, workload, result, 0)
    return PacketRun(name, prediction, number, fates, reasons, classes, capture, ports, loops, path)


def _reason(machine: Machine, place: str) -> str:
    """Return why packets are lost at a place: a reason of its resource, or PROGRAM for drops that a program counts."""
    resource = machine.resources.get(place, machine.ingress if place == machine.ingress.name else None)
    return next((reason for reason, kinds in REASONS.items() if isinstance(resource, kinds)), "PROGRAM")
