"""The IXP2400's packet buffer as the paper draws it: simulated by the net of Fig. 4 (models/nets/ixp2400_dram.toml).

Bounds and queueing are those of the design ixp2400_dram, from the same file: the net has no parameter of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from npexplore.designs.base import Design
from npexplore.designs.ixp2400.dram import accesses, build
from npexplore.errors import RefusedError
from npexplore.machine.petri import Net, load_net
from npexplore.machine.workload import Workload
from npexplore.solve.petri import predict
from npexplore.solve.prediction import Prediction

DRAWN: Mapping[str, tuple[object, ...]] = {  # what the figure has in its structure, and in no parameter
    "admission": ("in_order",), "gating": ("before_bus",), "writes": ("like_reads",), "precharge_command": ("free",),
    "pattern": ("random", "one_bank"), "back_pressure": ("off",),
}  # fmt: skip
FIRINGS_EACH = 13  # of an access, all its transitions together


@dataclass(frozen=True)
class NetDesign(Design):
    """A design that a Petri net simulates. net: its name in models/nets."""

    net: str = ""

    def drawn(self) -> Net:
        """Return the net with the design's parameters; raises RefusedError for a structure that it does not have."""
        for name, known in DRAWN.items():
            if self.parameters[name] not in known:
                raise RefusedError(
                    f"net {self.net} has {name} {known[0]} in its structure, got {self.parameters[name]}"
                )
        return load_net(self.net, parameters=self.parameters)

    def simulate(
        self, workload: Workload | None = None, seed: int = 1, *, seeds: int | Sequence[int] = 1,
        packets: int | None = None, progress: Callable[[int], None] | None = None, **_: Any,
    ) -> Prediction:  # fmt: skip
        """Return the net's answer with 95 % intervals; packets: accesses measured in each seed."""
        if workload is not None:
            raise RefusedError(f"net {self.net} draws its accesses itself, got a workload")
        chosen = list(range(seed, seed + seeds)) if isinstance(seeds, int) else list(seeds)
        return predict(self.drawn(), chosen, (packets or 20_000) * FIRINGS_EACH, progress)


def ixp2400_dram_net() -> Design:
    """Return the DRAM of the IXP2400 as a net, with the parameters of the design ixp2400_dram."""
    made = NetDesign.of("ixp2400_dram", build, own=accesses)
    return NetDesign("ixp2400_dram_net", made.parameters, build, own=accesses, net="ixp2400_dram")
