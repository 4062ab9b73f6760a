"""What ends a process: SIGTERM and SIGHUP as Ctrl-C does, so that what is finished is stored; its parent's end.

The exit status is 128 + the signal's number, as a shell reports it: 130 for Ctrl-C, 143 for SIGTERM.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import Any, NoReturn

STATUS_BASE = 128
OTHERS = tuple(getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name))
_received: list[int] = [signal.SIGINT]
_own_process = False


def take_process() -> None:
    """Note that this process runs one command of ours and nothing else."""
    global _own_process
    _own_process = True


def is_own_process() -> bool:
    """Say whether this process runs a command of ours and nothing else."""
    return _own_process


def note(number: int) -> None:
    """Note the signal that ends this process."""
    _received[0] = number


def status() -> int:
    """Return the exit status of a process that was stopped: by Ctrl-C, where no other signal was noted."""
    return STATUS_BASE + _received[0]


@contextmanager
def as_interrupts() -> Iterator[None]:
    """Let SIGTERM and SIGHUP raise KeyboardInterrupt during the block, unless they are ignored or handled already."""
    note(signal.SIGINT)
    before = {number: signal.getsignal(number) for number in OTHERS} if _in_main_thread() else {}
    ours = [number for number, handler in before.items() if handler is signal.SIG_DFL]

    def stop(number: int, frame: FrameType | None) -> None:
        note(number)
        raise KeyboardInterrupt

    for number in ours:
        signal.signal(number, stop)
    try:
        yield
    finally:
        for number in ours:
            signal.signal(number, signal.SIG_DFL)


@contextmanager
def noted() -> Iterator[threading.Event]:
    """Give an event that Ctrl-C, SIGTERM or SIGHUP sets, once; a second one has its usual effect at once.

    In another thread than the main one it is never set; a signal that is ignored stays so.
    """
    stop_requested = threading.Event()
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, *OTHERS)} if _in_main_thread() else {}
    before = {number: one for number, one in before.items() if callable(one) or one is signal.SIG_DFL}

    def set_event(number: int, frame: FrameType | None) -> None:
        usual: Any = before[number]
        if stop_requested.is_set() and callable(usual):
            usual(number, frame)
        elif stop_requested.is_set():
            signal.signal(number, signal.SIG_DFL)
            os.kill(os.getpid(), number)
        note(number)
        stop_requested.set()

    for number in before:
        signal.signal(number, set_event)
    try:
        yield stop_requested
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def end_after(wait: Callable[[], object]) -> None:
    """End this process at once when a call returns that waits, in a thread of its own, for the end of its parent."""

    def watch() -> None:
        wait()
        os._exit(1)

    threading.Thread(target=watch, name="parent", daemon=True).start()


def end_now(number: int) -> NoReturn:
    """End this process with an exit status once its output is written, without taking the interpreter apart.

    Threads of libraries (Arrow, BLAS, forked workers' queues) that a signal caught at work abort the process when the
    interpreter goes down under them.
    """
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):  # nobody reads any more, or it is closed
            stream.flush()
    os._exit(number)


def begin_worker() -> None:
    """Leave Ctrl-C to the parent of a process of multiprocessing, and end when the parent does, however it ends.

    Other signals end it, but those that are ignored: a forked process begins with its parent's handlers.
    """
    from multiprocessing import connection, parent_process

    signal.signal(signal.SIGINT, signal.SIG_IGN)
    for number in OTHERS:
        if callable(signal.getsignal(number)):
            signal.signal(number, signal.SIG_DFL)
    parent = parent_process()
    assert parent is not None
    end_after(lambda: connection.wait([parent.sentinel]))  # a pipe whose other end only the parent holds


def _in_main_thread() -> bool:
    return threading.current_thread() is threading.main_thread()
