"""Results for a lock alone with hand-over: the exact chain of its sleepers (solve/queueing/hand_over.py)."""

from __future__ import annotations

from npexplore.errors import RefusedError
from npexplore.machine.resources import Lock
from npexplore.solve.queueing.hand_over import HandOver
from npexplore.study.laboratory.lone import LoneResource


def closed_lock(lone: LoneResource, threads: int) -> float:
    """Return the holds/s of `threads` threads."""
    return _hand_over(lone).closed(threads)


def open_lock(lone: LoneResource, rate: float) -> float:
    """Return the mean time in s from the start of a visit to the end of its release."""
    return _hand_over(lone).open(rate)


def _hand_over(lone: LoneResource) -> HandOver:
    lock, held = lone.resource, lone.held_s
    assert isinstance(lock, Lock)
    assert held is not None
    cycles = lock.sleepers_cycles()
    if cycles is None:
        raise RefusedError("theory: the chain of a lock needs sleepers that are woken by a clock of its own")
    acquire, release, wake, waiter = (number * lock.cycle for number in cycles)
    return HandOver(acquire, held, release, wake, waiter)
