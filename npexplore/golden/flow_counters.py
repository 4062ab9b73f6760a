"""Flow counters: a word of 216 bits for each flow, three counters of 72 bits, updated by every packet.

Lavasani, Dennison, Chiou, "Compiling high throughput network processors", FPGA 2012, section 4.3. A flow is a pair of
classes, the results of looking up destination and source: flow = destination << bits | source. An update reads and
writes each counter: 72 bits are two words of 36 bits in one burst. The first counter counts packets; the caller chooses
what the others count. Counters wrap at 2^72.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from npexplore._kernels import golden_flow_counters as kernels
from npexplore.display import ShownByArguments
from npexplore.errors import InputError
from npexplore.golden.work import Access, Work, WorkColumns

COUNTERS, COUNTER_BITS, WORD_BITS, BURST = 3, 72, 36, 2
TABLE = "flow_counters"


class FlowCounters(ShownByArguments):
    """Three counters for each flow; a flow is a pair of classes of `class_bits` bits each.

    `count` counts one packet, `count_many` columns of packets.

    Example:
        >>> from npexplore.golden import FlowCounters
        >>> FlowCounters(class_bits=4)
        FlowCounters(class_bits=4)
    """

    def __init__(self, class_bits: int = 9) -> None:
        if not 1 <= class_bits <= 12:
            raise InputError(f"class bits of flow counters must be 1 to 12, got {class_bits}")
        self.class_bits = class_bits
        flows = 1 << 2 * class_bits
        self._low = np.zeros((flows, COUNTERS), np.uint64)
        self._high = np.zeros((flows, COUNTERS), np.uint8)  # the 8 bits above 64

    def __len__(self) -> int:
        return len(self._low)

    def flow(self, destination: int, source: int) -> int:
        """Return the number of a flow; raises InputError for a class with more than `class_bits` bits."""
        for name, number in (("destination", destination), ("source", source)):
            if not 0 <= number < 1 << self.class_bits:
                raise InputError(f"{name} class must be 0 to {(1 << self.class_bits) - 1}, got {number}")
        return destination << self.class_bits | source

    def read(self, destination: int, source: int) -> tuple[int, int, int]:
        """Return the three counters of a flow."""
        flow = self.flow(destination, source)
        packets, second, third = (int(self._high[flow, k]) << 64 | int(self._low[flow, k]) for k in range(COUNTERS))
        return packets, second, third

    def count(self, destination: int, source: int, amounts: Sequence[int] = (0, 0)) -> Work:
        """Count a packet of a pair of classes; return the work, its memory accesses.

        Args:
            destination: number of the destination's class.
            source: number of the source's class.
            amounts: increments of the second and third counter (0 to 2^63 - 1 each); the first counts packets.
        """
        flow = self.flow(destination, source)
        if len(amounts) != COUNTERS - 1 or not all(0 <= amount < 1 << 63 for amount in amounts):
            raise InputError(f"a packet adds two amounts of 0 to 2^63 - 1, got {tuple(amounts)}")
        for k, (value, increment) in enumerate(zip(self.read(destination, source), (1, *amounts), strict=True)):
            updated = (value + increment) % (1 << COUNTER_BITS)
            self._low[flow, k], self._high[flow, k] = updated & 0xFFFF_FFFF_FFFF_FFFF, updated >> 64
        return Work((Access(TABLE, BURST),) * COUNTERS + (Access(TABLE, BURST, True),) * COUNTERS)

    def count_many(
        self, destination: NDArray[np.integer], source: NDArray[np.integer], amounts: NDArray[np.integer] | None = None
    ) -> WorkColumns:
        """Count n packets in their order; return the work of each.

        Args:
            destination: (n,) numbers of the destinations' classes.
            source: (n,) numbers of the sources' classes.
            amounts: (n, 2) increments of the second and third counter (None: zeros).
        """
        packets = len(destination)
        columns = [np.asarray(column, np.int64) for column in (destination, source)]
        added = np.zeros((packets, COUNTERS - 1), np.int64) if amounts is None else np.asarray(amounts, np.int64)
        if len(columns[1]) != packets or added.shape != (packets, COUNTERS - 1):
            raise InputError(f"{packets} packets need as many source classes and pairs of amounts, got {added.shape}")
        if packets:
            self.flow(*(int(column.max()) for column in columns))
            self.flow(*(int(column.min()) for column in columns))
            if added.min() < 0:
                raise InputError(f"amounts must be 0 to 2^63 - 1, got {added.min()}")
        kernels.count(columns[0] << self.class_bits | columns[1], added, self._low, self._high)
        times, words = (np.full(packets, number, np.int64) for number in (COUNTERS, COUNTERS * BURST))
        return WorkColumns.counted(packets, {TABLE: (times, words)}, {TABLE: (times, words)})
