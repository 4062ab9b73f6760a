"""Flows of a capture whose columns are not in memory; its files are read again.

Memory: a few hundred bytes for each direction of a flow, up to MAX_DIRECTIONS. The direction of each packet is in a
file if the run's rows are in files.
"""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from npexplore.mapped_arrays import empty, release_pages
from npexplore.packets.capture import Capture
from npexplore.packets.files import open_captures
from npexplore.packets.statistics.endpoints import endpoints
from npexplore.progress import Task

if TYPE_CHECKING:
    import pandas as pd

Integers = npt.NDArray[np.int64]
MAX_DIRECTIONS = 1 << 20  # of flows that are distinguished
NO_DIRECTION = -1
LABEL = "flows of the capture"  # of progress
Key = tuple[str, int, str, int, int]  # src, sport, dst, dport, ip_proto


class Directed(NamedTuple):
    """Directions of flows. of_packet: direction of each packet of the capture (NO_DIRECTION: without IP header, or of a
    flow after the first MAX_DIRECTIONS). keys, flow: of each direction, and its row in the capture's `flows()`.
    beyond: packets without a direction that have an IP header."""

    of_packet: Integers
    keys: list[Key]
    flow: Integers
    beyond: int

    def ends_of(self, rows: Integers) -> pd.DataFrame:
        """Return src and dst of some packets of the capture (None: unknown)."""
        import pandas as pd

        keys = [None if at == NO_DIRECTION else self.keys[at] for at in self.of_packet[rows].tolist()]
        ends = {name: [key and key[place] for key in keys] for name, place in (("src", 0), ("dst", 2))}
        return pd.DataFrame(ends, index=pd.Index(rows, name="packet"))


def directed(capture: Capture) -> Directed:
    """Read a capture's files again and return the flow direction of each packet."""
    of_packet, first, beyond = empty(sum(capture.file_packets), np.int32), 0, 0
    keys: dict[Key, int] = {}
    flows: dict[tuple[object, ...], int] = {}
    flow: list[int] = []
    with closing(open_captures(list(capture.files))) as scan, Task(LABEL, unit="packet", total=len(of_packet)) as task:
        for table in scan:
            ends = endpoints(table)
            sport, dport, protocol = (
                table[name][ends.rows].astype(np.int64) for name in ("sport", "dport", "ip_proto")
            )
            columns = np.stack([ends.src, sport, ends.dst, dport, protocol])
            tuples, first_packet, group = np.unique(columns, axis=1, return_index=True, return_inverse=True)
            numbers = np.full(tuples.shape[1], NO_DIRECTION, dtype=np.int64)
            src, dst = ends.text(tuples[0]), ends.text(tuples[2])
            for k in np.argsort(first_packet).tolist():  # flows are numbered in the order of their first packets
                key = (src[k], int(tuples[1, k]), dst[k], int(tuples[3, k]), int(tuples[4, k]))
                number = keys.get(key)
                if number is None and len(keys) < MAX_DIRECTIONS:
                    number = keys[key] = len(keys)
                    flow_key = (*sorted([key[:2], key[2:4]]), key[4])
                    flow.append(flows.setdefault(flow_key, len(flows)))
                numbers[k] = NO_DIRECTION if number is None else number
            part = np.full(table.rows, NO_DIRECTION, dtype=np.int32)
            part[ends.rows] = numbers[group.ravel()]
            beyond += int(np.count_nonzero(part[ends.rows] == NO_DIRECTION))
            of_packet[first : first + table.rows] = part
            first += table.rows
            task.reach(first, task.total)
            release_pages()
    return Directed(of_packet, list(keys), np.array(flow, dtype=np.int64), beyond)
