"""Compares the IXP2400's packet buffer with later memory: the same accesses on one channel of each generation.

Accesses are random and have 64 bytes; half of them are writes, since each packet is written and read once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from npexplore.designs import design
from npexplore.machine.resources.dram_device import dram_devices
from npexplore.machine.resources.dram_policy import DramPolicy
from npexplore.machine.resources.dram_run import run_accesses
from npexplore.machine.resources.dram_streams import dram_accesses

if TYPE_CHECKING:
    import pandas as pd

ACCESS_BYTES = 64
THEN = "DDR-200, as it was"


def memory_of_today(n: int = 20_000) -> pd.DataFrame:
    """Return one channel's rate: columns memory, gbps (Gb/s, reads and writes), times (relative to DDR-200)."""
    import pandas as pd

    ddr200_gbps = design("ixp2400_dram").with_(narrow_share=0, read_share=0.5).simulate().throughput_bps / 1e9
    rates = {THEN: ddr200_gbps}
    for name, device in dram_devices().items():
        accesses = dram_accesses(device, "random", n, seed=1, writes=0.5)
        bursts = -(-ACCESS_BYTES // device.burst_bytes)
        policy = DramPolicy(page="closed")
        run = run_accesses(device, policy, bank=accesses.bank, row=accesses.row, write=accesses.write, bursts=bursts)
        rates[name] = run.gbits_per_s
    return pd.DataFrame(
        [(name, gbps, gbps / ddr200_gbps) for name, gbps in rates.items()], columns=["memory", "gbps", "times"]
    )
