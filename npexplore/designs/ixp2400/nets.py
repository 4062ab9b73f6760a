"""The paper's Petri nets of the IXP2400: the packet buffer of Fig. 4, and forwarding with this buffer inside.

The nets (models/nets/ixp2400_dram.toml, ixp2400.toml) have no parameters of their own. Bounds and queueing are those of
the designs ixp2400_dram and ixp2400, with the same machine files.
"""

from __future__ import annotations

from npexplore.designs.base import Design
from npexplore.designs.ixp2400.design import ixp2400
from npexplore.designs.ixp2400.dram import ixp2400_dram
from npexplore.designs.nets import NetDesign, Structure

DRAWN: Structure = {  # parameter values that the figure's structure fixes
    "admission": ("in_order",), "gating": ("before_bus",), "writes": ("like_reads",), "precharge_command": ("free",),
}  # fmt: skip
DRAWN_ALONE: Structure = {**DRAWN, "pattern": ("random", "one_bank"), "back_pressure": ("off",)}


def ixp2400_dram_net() -> Design:
    """Return the DRAM of the IXP2400 as a net, with the parameters of the design ixp2400_dram."""
    base = ixp2400_dram()
    return NetDesign(
        "ixp2400_dram_net", base.parameters, base.build, own=base.own, net="ixp2400_dram", structure=DRAWN_ALONE
    )


def ixp2400_net() -> Design:
    """Return the forwarding IXP2400 as a net, with the parameters of the design ixp2400."""
    base = ixp2400()
    return NetDesign("ixp2400_net", base.parameters, base.build, memory=base.memory, net="ixp2400", structure=DRAWN)
