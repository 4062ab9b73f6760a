"""Queues that lose packets together with their places in the receive buffer: the buffer fills with what is lost.

A packet keeps its place until a program frees it. One that a full queue drops is freed by nobody behind that queue, so
that it must have been freed before, or be freed by the program that put it there.
"""

from collections.abc import Iterator

from npexplore.machine.machine import Machine
from npexplore.machine.resources.ingress import Ingress
from npexplore.machine.resources.queue import BoundedQueue
from npexplore.machine.tree import Body, Branch, Visit, bodies
from npexplore.machine.workload import Workload


def leaking_queues(machine: Machine, workload: Workload) -> list[str]:
    """Return the queues between pools that drop packets whose places no program frees."""
    freed: dict[str | None, bool] = {None: False}  # by queue: whether all packets in it have left the buffer
    pools = machine.record_pools(workload.columns)
    for _ in pools:  # one pass for each pool behind the others
        for recorded in pools:
            before = freed.get(recorded.pool.gets, True)
            for queue, is_freed in _puts(recorded.body, before):
                freed[queue] = freed.get(queue, True) and is_freed
    return [name for name, queue in machine.queues().items() if queue.when_full == "drop" and not freed.get(name, True)]


def _puts(body: Body, freed: bool) -> Iterator[tuple[str, bool]]:
    """Yield the queues that a body puts packets into, and whether it or what is around it frees their places."""
    freed = freed or _frees(body)
    for step in body:
        if isinstance(step, Visit) and isinstance(step.resource, BoundedQueue):
            yield step.resource.name, freed
        for inner in bodies(step):
            yield from _puts(inner, freed)


def _frees(body: Body) -> bool:
    """Return whether a body frees a place on all ways through it."""
    for step in body:
        if isinstance(step, Visit) and isinstance(step.resource, Ingress):
            return True
        inner = [_frees(part) for part in bodies(step)]
        if any(inner) and (not isinstance(step, Branch) or all(inner)):
            return True
    return False
