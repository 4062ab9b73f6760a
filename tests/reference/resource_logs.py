"""What happened in a run of a small machine, in order: who took a unit of which server when."""

from typing import ClassVar

import numpy as np

from npexplore.engine.model import build
from npexplore.engine.run import run
from npexplore.machine.resources.base import OwnFaces, Server, Uses


class Mark(OwnFaces):
    """A place in a program: passing it leaves a row in the log and takes no time."""

    VISITS: ClassVar = {"see": ("member",)}
    OPTIONAL: ClassVar = {"member": 0}

    def __init__(self, name, members=1):
        super().__init__(name)
        self.members = members

    def servers(self):
        return [Server(self.name, self.members, 10**9, role="hidden")]

    def uses(self, method, values):
        return Uses(np.float64(0))

    def emit(self, method, operands, asm):
        asm.consume(self.name, member=operands.get("member", 0))


def takes(made, load, packets=400, seed=1, rows=100_000):
    """Return for each server the takes as rows (tick, member, token), shape (n, 3), in the order in which they were."""
    model = build(made, load)
    log = run(model, seed, packets, 1, log_rows=rows).log
    assert len(log) < rows
    log = log[log[:, 2] > 0]
    found = {}
    for name, (server, first) in model.servers.items():
        own = log[(log[:, 1] >= first) & (log[:, 1] < first + server.members)]
        found[name] = np.stack([own[:, 0], own[:, 1] - first, own[:, 3]], axis=1)
    return found
