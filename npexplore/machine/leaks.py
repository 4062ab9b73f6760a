"""Finds queues whose dropped packets are never freed from the receive buffer, so that the buffer fills up.

A packet occupies the receive buffer until a program frees it. The pool behind a queue cannot free a packet that the
queue drops; an earlier program, or the program that puts it into the queue, must do so.
"""

from collections.abc import Iterator

from npexplore.machine.machine import Machine
from npexplore.machine.resources.ingress import Ingress
from npexplore.machine.resources.queue import BoundedQueue
from npexplore.machine.tree import Body, Branch, Visit, bodies
from npexplore.machine.workload import Workload


def leaking_queues(machine: Machine, workload: Workload) -> list[str]:
    """Return the names of the queues between pools that drop packets which no program frees."""
    freed: dict[str | None, bool] = {None: False}  # by queue: whether all packets in it have left the buffer
    pools = machine.record_pools(workload.columns)
    for _ in pools:  # as many passes as the longest chain of pools can need
        for recorded in pools:
            already_freed = freed.get(recorded.pool.gets, True)
            for queue, is_freed in _puts(recorded.body, already_freed):
                freed[queue] = freed.get(queue, True) and is_freed
    return [name for name, queue in machine.queues().items() if queue.when_full == "drop" and not freed.get(name, True)]


def _puts(body: Body, freed: bool) -> Iterator[tuple[str, bool]]:
    """Yield the queues that a body puts packets into, each with whether this body or an outer one frees the packets."""
    freed = freed or _frees(body)
    for step in body:
        if isinstance(step, Visit) and isinstance(step.resource, BoundedQueue):
            yield step.resource.name, freed
        for inner in bodies(step):
            yield from _puts(inner, freed)


def _frees(body: Body) -> bool:
    """Return whether a body frees the packet on all paths through it."""
    for step in body:
        if isinstance(step, Visit) and isinstance(step.resource, Ingress):
            return True
        inner = [_frees(part) for part in bodies(step)]
        if any(inner) and (not isinstance(step, Branch) or all(inner)):
            return True
    return False
