"""The cache lines of its maps that a program touches for each packet of a capture, in the order of the packets.

The interpreter marks each 64-byte line with the last packet that touched it; packets are run one at a time. Lines that
a lookup reads on its way to an entry are not marked.
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
    """Return packet numbers and line addresses (bytes) of the map lines touched, each line once per packet.

    maps: initial contents; fib: the tables that `fib_lookup` reads.
    """
    filled = {
        name: {key: value for key, value in contents.items() if any(value)} for name, contents in (maps or {}).items()
    }
    runner = Runner(program, filled, fib=fib)
    first_line = -(-k.MAPS // LINE_BYTES)
    packet_numbers, addresses = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
    for number, packet_bytes in enumerate(packets):
        for _ in of_bytes(runner, [packet_bytes]):
            touched = np.flatnonzero(runner.stamps[first_line:] == runner.state[k.PACKET_NUMBER])
            packet_numbers.append(np.full(len(touched), number))
            addresses.append((touched + first_line) * LINE_BYTES)
    return np.concatenate(packet_numbers), np.concatenate(addresses)
