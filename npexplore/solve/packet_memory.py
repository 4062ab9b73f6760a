"""The memory that a run with a row per packet takes, from our own measurements (docs/packet_run.md)."""

from npexplore._kernels import engine
from npexplore.mapped_arrays import in_files
from npexplore.memory import check_fits

# Measured with a million packets of soclib, rows of 7 and of 40 columns, their data frame included.
PACKET_BYTES, COLUMN_BYTES = 330, 13
# Measured with arrays in files: smartnic with 1, 4 and 20 million packets; raw, which draws columns of all packets.
FILES_BYTES, DRESSED_BYTES = 450e6, 60
ARRIVAL_COLUMNS = ("t_ns", "length", "l3_length")  # the columns of a capture that a run needs


def check_memory(
    name: str, packets: int, columns: int = engine.F_FIRST, limit_bytes: float | None = None, *, dressed: bool = False
) -> None:
    """Raise InputError if a run with this number of packets and of columns per row takes too much memory.

    name: of the design. limit_bytes: allowed memory (None: the available memory). dressed: whether the design computes
    more columns of its packets, which are then in memory.
    """
    needed: float = packets * (PACKET_BYTES + COLUMN_BYTES * (columns - engine.F_FIRST))
    if in_files():
        needed = min(needed, FILES_BYTES + packets * DRESSED_BYTES * dressed)
    description, instead = f"{name}: a run with rows of {packets:,} packets", "fewer packets or loops need less"
    check_fits(needed, description, instead, limit_bytes)
