"""The memory that a run of packets with their rows takes: own measurement, docs/packet_run.md."""

from npexplore._kernels import engine
from npexplore.mapped_arrays import in_files
from npexplore.memory import check_fits

# Measured with a million packets of soclib, rows of 7 and of 40 columns, their data frame included.
PACKET_BYTES, COLUMN_BYTES = 330, 13
# Measured with arrays in files: smartnic with 1, 4 and 20 million packets; raw, which draws columns of all packets.
FILES_BYTES, DRESSED_BYTES = 450e6, 60
ARRIVAL_COLUMNS = ("t_ns", "length", "l3_length")  # of a capture, those that a run needs


def check_memory(
    name: str, packets: int, columns: int = engine.F_FIRST, limit_bytes: float | None = None, *, dressed: bool = False
) -> None:
    """Raise InputError if a run of so many packets with rows of so many columns takes too much memory.

    name: the design's. limit_bytes: what is allowed (None: what is available). dressed: whether the design computes
    more columns of its packets, which are in memory then.
    """
    needed: float = packets * (PACKET_BYTES + COLUMN_BYTES * (columns - engine.F_FIRST))
    if in_files():
        needed = min(needed, FILES_BYTES + packets * DRESSED_BYTES * dressed)
    what, instead = f"{name}: a run with rows of {packets:,} packets", "fewer packets or loops need less"
    check_fits(needed, what, instead, limit_bytes)
