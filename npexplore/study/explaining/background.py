"""Runs work in a thread while the main thread waits for workers; its reads are recorded here (npexplore/reads.py)."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from contextvars import copy_context
from threading import Thread


class Background:
    """Work that is done once, in a thread after `begin`; `end` waits for it or does it here, and raises its errors."""

    def __init__(self, work: Callable[[], None]) -> None:
        self._work = work
        self._done: Future[None] | None = None

    def begin(self) -> None:
        """Start the thread unless the work has begun; the process can exit before the work ends (daemon thread)."""
        if self._done is None:
            self._done = Future()
            Thread(target=copy_context().run, args=(self._do, self._done), name="background", daemon=True).start()

    def end(self) -> None:
        """Wait until the work is done; do it here if it has not begun."""
        if self._done is None:
            self._done = Future()
            self._do(self._done)
        self._done.result()

    def _do(self, done: Future[None]) -> None:
        try:
            self._work()
        except BaseException as error:
            done.set_exception(error)
        else:
            done.set_result(None)
