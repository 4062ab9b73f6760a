"""The IXP2400's packet buffer alone: a window of narrow and wide reads and writes is outstanding (Sec. 4.1, Fig. 9).

Its own accesses are a mix of two sizes; an access trace (`accesses`) may replace them (Fig. 5).
"""

from __future__ import annotations

import numpy as np

from npexplore.designs.base import Design
from npexplore.designs.ixp2400.accesses import on_banks, read
from npexplore.designs.ixp2400.design import dram
from npexplore.machine.machine import Machine, Pool
from npexplore.machine.parameters import Parameters
from npexplore.machine.program import Packet, Recorder
from npexplore.machine.resources.ingress import Ingress
from npexplore.machine.workload import Workload
from npexplore.rows.expressions import Operand

STEPS = 1000  # accesses that represent the mix of two sizes
ROOM = 2**20  # bytes of requests that may wait for a place in the window; further requests are dropped and counted


def build(p: Parameters) -> Machine:
    """Return the DRAM with `window` requesters, each with one access outstanding."""

    def access(m: Recorder, packet: Packet) -> None:
        m.receive.free(bytes=packet.packet_bytes)
        if "bank" in packet:
            bank: Operand = packet.bank
        elif p.pattern == "random":
            bank = m.draw(p.banks, "bank")
        elif p.pattern == "in_turn":
            bank = m.turn(p.banks, "bank")
        else:
            bank = m.let(0, "bank")
        with m.branch(packet.write == 0 if "write" in packet else float(p.read_share), "direction"):
            m.dram.read(bytes=packet.packet_bytes, bank=bank)
        with m.otherwise():
            m.dram.write(bytes=packet.packet_bytes, bank=bank)

    return Machine(
        p.file.name, Pool("access", p.window, access), Ingress("receive", ROOM, p.quantum_bytes),
        {"dram": dram(p)}, counted="DRAM bytes", cell_bytes=p.quantum_bytes, facts=p,
    )  # fmt: skip


def accesses(p: Parameters) -> Workload:
    """Return the mix of accesses as a workload: `packet_bytes` is the size of an access."""
    narrow = round(float(p.narrow_share) * STEPS)
    sizes = np.array([p.narrow_bytes] * narrow + [p.access_bytes] * (STEPS - narrow), dtype=np.int64)
    return Workload(f"{p.narrow_share:.0%} narrow accesses", {"packet_bytes": sizes}, ordered=False)


def ixp2400_dram() -> Design:
    """Return the DRAM with the IXP2400's parameters."""
    return Design.of("ixp2400_dram", build, own=accesses, dress=on_banks, reader=read)
