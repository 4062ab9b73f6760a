"""Ends of processes: SIGTERM and SIGHUP act as Ctrl-C, so that finished work is stored; workers end with their parent.

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
    """Record that this process runs one command of ours and nothing else."""
    global _own_process
    _own_process = True


def is_own_process() -> bool:
    """Return whether this process runs a command of ours and nothing else."""
    return _own_process


def note(number: int) -> None:
    """Record the signal that ends this process."""
    _received[0] = number


def status() -> int:
    """Return the exit status of a stopped process: that of Ctrl-C, if no other signal was recorded."""
    return STATUS_BASE + _received[0]


@contextmanager
def as_interrupts() -> Iterator[None]:
    """Within the block, SIGTERM and SIGHUP raise KeyboardInterrupt, unless they are ignored or have a handler."""
    note(signal.SIGINT)
    handlers = {number: signal.getsignal(number) for number in OTHERS} if _in_main_thread() else {}
    default_signals = [number for number, handler in handlers.items() if handler is signal.SIG_DFL]

    def stop(number: int, frame: FrameType | None) -> None:
        note(number)
        raise KeyboardInterrupt

    for number in default_signals:
        signal.signal(number, stop)
    try:
        yield
    finally:
        for number in default_signals:
            signal.signal(number, signal.SIG_DFL)


@contextmanager
def noted() -> Iterator[threading.Event]:
    """Yield an event that the first Ctrl-C, SIGTERM or SIGHUP sets; a second signal has its usual effect at once.

    Outside the main thread the event is never set; ignored signals remain ignored.
    """
    stop_requested = threading.Event()
    handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, *OTHERS)} if _in_main_thread() else {}
    handlers = {number: usual for number, usual in handlers.items() if callable(usual) or usual is signal.SIG_DFL}

    def set_event(number: int, frame: FrameType | None) -> None:
        usual: Any = handlers[number]
        if stop_requested.is_set() and callable(usual):
            usual(number, frame)
        elif stop_requested.is_set():
            signal.signal(number, signal.SIG_DFL)
            os.kill(os.getpid(), number)
        note(number)
        stop_requested.set()

    for number in handlers:
        signal.signal(number, set_event)
    try:
        yield stop_requested
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)


def end_after(wait: Callable[[], object]) -> None:
    """Call `wait` in a thread; when it returns, because the parent has ended, end this process at once."""

    def watch() -> None:
        wait()
        os._exit(1)

    threading.Thread(target=watch, name="parent", daemon=True).start()


def end_now(number: int) -> NoReturn:
    """End this process with an exit status after flushing its output, without shutting the interpreter down.

    Library threads (Arrow, BLAS, queues of forked workers) that a signal interrupted could abort the process during an
    interpreter shutdown.
    """
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):  # the stream is closed
            stream.flush()
    os._exit(number)


def begin_worker() -> None:
    """In a multiprocessing worker: leave Ctrl-C to the parent process, and end when the parent ends in any way.

    Other signals end the worker unless they are ignored; a forked process begins with its parent's handlers.
    """
    from multiprocessing import connection, parent_process

    signal.signal(signal.SIGINT, signal.SIG_IGN)
    for number in OTHERS:
        if callable(signal.getsignal(number)):
            signal.signal(number, signal.SIG_DFL)
    parent = parent_process()
    assert parent is not None
    end_after(lambda: connection.wait([parent.sentinel]))  # a pipe; only the parent holds its other end


def _in_main_thread() -> bool:
    return threading.current_thread() is threading.main_thread()
