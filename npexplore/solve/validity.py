"""Where queueing has no valid method: one sentence that names the arrivals or the resource, and the reason.

What concerns the holds of a program is refused where they are placed (nesting.py, levels.py).
"""

from __future__ import annotations

from npexplore.errors import RefusedError
from npexplore.machine.machine import Machine
from npexplore.machine.under_load import UnderLoad
from npexplore.machine.workload import Workload
from npexplore.rows.distributions import Batch, OnOff

ALONE_TOLERANCE = 0.05  # of the latency of a packet alone; what is compared is the most that it may wait


def check_arrivals(machine: Machine, workload: Workload) -> None:
    """Raise RefusedError for arrivals that no formula here covers, whatever the demands."""
    process, reason = workload.process(), None
    if workload.arrivals == "timestamps":
        reason = "recorded arrival times are not a random process"
    elif isinstance(process, Batch) and process.size > 1:
        reason = f"no formula covers several servers behind batches of {process.size} packets"
    elif isinstance(process, OnOff):
        reason = "no formula covers several servers behind on-off spans of packets"
    if reason is not None:
        raise RefusedError(f"queueing: {machine.name}: {reason}; use `estimate`")


def check_alone(d: UnderLoad) -> None:
    """Raise RefusedError where a packet alone may take longer than its steps add up to, since it meets itself."""
    pools = list(d.by_pool.values()) if d.by_pool else [d.demands]
    waits = {text: seconds for one in pools for text, seconds in one.own_waits.items()}
    for number, one in enumerate(pools):  # forked work that a later pool may still meet
        for name, seconds in one.aside.items():
            later = sum(other.servers[name].seconds for other in pools[number + 1 :] if name in other.servers)
            if later and d.servers[name].units * d.servers[name].members == 1:
                waits[f"work that a packet forks meets a later pool's at {name!r}"] = min(seconds, later)
    longer, latency = sum(waits.values()), d.demands.latency
    if latency <= 0 and (longer > 0 or d.workload.arrivals != "saturated"):
        raise RefusedError(f"queueing: {d.machine.name}: a packet alone takes no time of its own; use `estimate`")
    if longer > ALONE_TOLERANCE * latency:
        text = max(waits, key=lambda text: waits[text])
        raise RefusedError(
            f"queueing: {d.machine.name}: {text}, so that a packet alone takes up to {longer / latency:.0%} longer "
            "than its steps add up to; use `estimate`"
        )
