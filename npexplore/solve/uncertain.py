"""Where a latency of queueing is not to be relied on: packets come nearly as fast as what is but an estimate allows.

    (1 - r) / (1 - (1 + e) r) > 1 + m,    r > m / (m + (1 + m) e)

r is the load of what threads carry, e how well this is known, m by how much waits may then be longer. Where a mechanism
of the machine is left out (a memory's write buffer and its drains), e is a twentieth; where threads meet each other in
a line, a tenth, and only the last part of the load is said to be uncertain.
"""

from __future__ import annotations

from collections.abc import Mapping

from npexplore.machine.under_load import UnderLoad
from npexplore.solve.batch import Batch
from npexplore.solve.pools_in_turn import Found
from npexplore.solve.prediction import NEARLY_FULL
from npexplore.solve.stations import Floats

LESS = 0.01  # than servers, of what threads carry
TWENTIETH, MORE = 0.05, 0.3
NEAR = MORE / (MORE + (1 + MORE) * TWENTIETH)


def left_out(d: UnderLoad) -> list[str]:
    """Return the servers for which nobody waits in queueing, though packets may in the machine."""
    seen = {*(server.name for server in d.machine.ingress.servers()), *d.demands.servers}
    unseen = [s.name for s in d.servers.values() if s.role == "hidden" and s.name not in seen]
    return unseen + sorted({*d.demands.untied, *(name for own in d.by_pool.values() for name in own.untied)})


def uncertain(batch: Batch, ceilings: Mapping[str, Floats], found: Found, line: bool) -> str:
    """Return what to add to the approximation of one point of one pool behind arrivals, or nothing."""
    curve = found.stays[0].curve
    if curve is None or len(found.stays) > 1:
        return ""
    most, servers = float(curve[0, -1]), [float(ceilings[name][0]) for name in ceilings if name in batch.seconds]
    load = float(batch.offered[0]) / most
    if not servers or most > min(servers) * (1 - LESS):
        return ""
    if line and load >= NEARLY_FULL:
        return f"; uncertain: {load:.0%} of what the threads carry, which is known to a tenth"
    unseen = [] if line else left_out(batch.like)
    if unseen and NEAR < load < 1 + TWENTIETH:
        return f"; uncertain: {load:.0%} of what is carried, which is known to a twentieth without {unseen[0]}"
    return ""
