"""Which lines of its maps each packet of a capture touches, in the order of the packets: what caches are asked for.

The interpreter marks a line of 64 bytes with the packet that touched it last; packets go through it one at a time.
What a lookup itself reads on its way to an entry is not marked.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from npexplore._kernels import ebpf as k
from npexplore.programs.forwarding import ForwardingTables
from npexplore.programs.records import Program
from npexplore.programs.running import Contents, Runner, of_bytes

LINE_BYTES = 64


def map_touches(
    program: Program, packets: Sequence[bytes], maps: Mapping[str, Contents] | None = None,
    fib: ForwardingTables | None = None,
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:  # fmt: skip
    """Return the lines of maps that packets touch, once a packet: packets and addresses; maps: their first contents;
    fib: the tables that `fib_lookup` asks."""
    filled = {
        name: {key: value for key, value in contents.items() if any(value)} for name, contents in (maps or {}).items()
    }
    runner = Runner(program, filled, fib=fib)
    first = -(-k.MAPS // LINE_BYTES)
    packet, lines = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
    for number, one in enumerate(packets):
        for _ in of_bytes(runner, [one]):
            met = np.flatnonzero(runner.stamps[first:] == runner.state[k.PACKET_NUMBER])
            packet.append(np.full(len(met), number))
            lines.append((met + first) * LINE_BYTES)
    return np.concatenate(packet), np.concatenate(lines)
