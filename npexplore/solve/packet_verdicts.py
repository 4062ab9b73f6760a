"""The golden router's decision for each packet of a capture, as packet columns that a machine's program may read.

drop_reason   0 for a packet that is forwarded, otherwise the number of the reason (npexplore/golden/reasons.py)
sent_bytes    bytes sent because of the packet: its own if it is forwarded, and those of ICMP messages that answer it

The router decides at arrivals. The queues of its ports are behind the machine and drop packets later (packet_router).
"""

from collections.abc import Collection, Mapping
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from npexplore.errors import InputError
from npexplore.golden.captures.replay import Replay
from npexplore.golden.ethernet import ETHERNET
from npexplore.golden.router.configuration import Router
from npexplore.machine.machine import Machine
from npexplore.machine.workload import DROP_REASON, SENT_BYTES, Workload
from npexplore.mapped_arrays import computed, release_pages
from npexplore.packets.capture import Capture
from npexplore.rows.expressions import Variable, column

Integers = npt.NDArray[np.int64]


class _Noted(dict[str, Variable]):
    """Columns that record which of them a program reads."""

    def __init__(self, columns: Mapping[str, Variable]) -> None:
        super().__init__(columns)
        self.read: set[str] = set()

    def __contains__(self, name: object) -> bool:
        self.read.add(str(name))
        return super().__contains__(name)

    def __getitem__(self, name: str) -> Variable:
        self.read.add(name)
        return super().__getitem__(name)


def verdicts_read(machine: Machine, packets: Workload) -> set[str]:
    """Return the router's columns that programs of a machine read; packets: a workload with the machine's columns."""
    queues, read = machine.queues(), set[str]()
    for pool in machine.pools:
        carried = () if pool.gets is None else queues[pool.gets].carries
        names = _Noted({name: column(name) for name in (*packets.columns, *carried, DROP_REASON, SENT_BYTES)})
        machine.record(names, pool)
        read |= names.read & {DROP_REASON, SENT_BYTES}
    return read


def with_verdicts(
    packets: Workload, rows: Integers, capture: Capture, router: Router, ports: tuple[str, ...], speed: float,
    *, any_station: bool = False, columns: Collection[str] = (DROP_REASON, SENT_BYTES),
) -> Workload:  # fmt: skip
    """Return packets with the columns of a router's decisions.

    rows: row of each packet in the capture. ports: the router's input port for each file of the capture. speed: replay
    speed relative to the capture, for limits on the rate of ICMP messages. any_station: forward frames with any
    destination MAC address. columns: the columns to add. Raises InputError for a capture that cannot be read again, or
    whose number of files is not that of the ports.
    """
    if len(capture.files) != len(ports):
        raise InputError(
            f"{capture.path}: a router whose verdicts the machine's work depends on takes one file for each port, got "
            f"{len(capture.files)} for {len(ports)}"
        )
    total, starts = sum(capture.file_packets), np.cumsum([0, *capture.file_packets[:-1]])
    reason, answer_bytes = (computed(total, lambda part: 0, kind) for kind in (np.uint8, np.int32))
    inputs = dict(zip(ports, capture.files, strict=True))
    for step in Replay(router, inputs, any_station=any_station, speed=speed):
        capture_rows = starts[step.part.source] + step.part.number
        reason[capture_rows] = step.made.reason
        answers = step.made.icmp
        np.add.at(answer_bytes, capture_rows[step.made.packet[answers]], step.made.frames.length[answers] - ETHERNET)
        release_pages()
    frame_bytes = packets.packet_bytes

    def sent_bytes(part: slice) -> Integers:
        of_part = rows[part]
        forwarded = np.where(reason[of_part] == 0, frame_bytes[part], 0)
        return np.asarray(forwarded + answer_bytes[of_part])

    values = {DROP_REASON: lambda part: reason[rows[part]], SENT_BYTES: sent_bytes}
    verdicts = {name: computed(len(rows), values[name]) for name in sorted(columns)}
    return replace(packets, columns={**packets.columns, **verdicts})
