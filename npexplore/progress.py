"""Shows the progress of long work: a bar on a terminal or in a notebook, elsewhere a line at least every two seconds.

Work opens a `Task` and counts in it. `reporting` starts a thread that writes a line after `MAX_SILENCE_S` without one,
so that no command is silent while it waits for an import, the compiler or a long simulation. `TQDM_DISABLE=1` in the
environment switches bars and lines off.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from time import monotonic
from types import TracebackType
from typing import Any, Self

MAX_SILENCE_S = 1.5
CLEAR_LINE = "\r\x1b[K"  # clears the current line of a terminal

_tasks: list[Task] = []  # open tasks; the last one is reported
_lock = threading.RLock()
_last_line_s = 0.0
_reporting = 0  # number of open blocks of `reporting`
_status_shown = False  # whether the last line on the terminal is our status
if hasattr(os, "register_at_fork"):  # a forked process must not begin in the middle of a line
    os.register_at_fork(before=_lock.acquire, after_in_parent=_lock.release, after_in_child=_lock.release)


class Task:
    """A piece of work, used as a context manager; a bar or the next line on standard error reports it.

    Args:
        label: the work in words.
        unit: the counted thing, singular; "B" counts bytes; "" counts nothing and shows no bar.
        total: the final count (None: unknown).
        initial: the count before the work begins.
        keep_bar: whether the bar remains on the terminal after the end.
    """

    def __init__(
        self, label: str, *, unit: str = "", total: int | None = None, initial: int = 0, keep_bar: bool = False
    ) -> None:
        self.label, self.unit, self.total, self.done, self.keep_bar = label, unit, total, initial, keep_bar
        self._bar: Any = None

    def __enter__(self) -> Self:
        with _lock:
            _tasks.append(self)
            if self.unit and (bar := _bar_type()) is not None:
                _clear_status()
                self._bar = bar(
                    total=self.total, initial=self.done, unit=self.unit, unit_scale=self.unit == "B", desc=self.label,
                    leave=self.keep_bar, file=sys.stderr,
                )  # fmt: skip
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        with _lock:
            _tasks.remove(self)
            if self._bar is not None:
                self._bar.close()

    def advance(self, count: int = 1) -> None:
        """Increase the count."""
        self.reach(self.done + count, self.total)

    def reach(self, done: int, total: int | None = None) -> None:
        """Set the count and the final count."""
        self.done, self.total = done, total
        if self._bar is not None:
            self._bar.total = total
            self._bar.update(done - self._bar.n)

    def describe(self, label: str) -> None:
        """Set the label."""
        if label != self.label:
            self.label = label
            if self._bar is not None:
                self._bar.set_description(label)

    def __str__(self) -> str:
        if self.unit == "B":
            of = f" of {self.total / 1e6:,.1f}" if self.total else ""
            return f"{self.label}: {self.done / 1e6:,.1f}{of} MB"
        if not self.unit or not (self.total or self.done):
            return self.label
        of = f" of {self.total:,}" if self.total else ""
        plural = "s" if (self.total or self.done) != 1 else ""
        return f"{self.label}: {self.done:,}{of} {self.unit}{plural}"


@contextmanager
def reporting(command: str) -> Iterator[None]:
    """Within the block, report the open task on standard error, at most `MAX_SILENCE_S` after the last line."""
    if _switched_off():
        yield
        return
    global _reporting
    ended, began_s = threading.Event(), monotonic()
    written(began_s)
    _reporting += 1
    thread = threading.Thread(target=_report, args=(command, began_s, ended), name="progress", daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()
        _reporting -= 1
        with _lock:
            _clear_status()


def is_reporting() -> bool:
    """Return whether a thread reports progress."""
    return _reporting > 0


@contextmanager
def printing() -> Iterator[None]:
    """Within the block, print without disturbing a bar or status on the terminal."""
    with _lock:
        _clear_status()
        if "tqdm" in sys.modules and _on_terminal():
            from tqdm import tqdm

            with tqdm.external_write_mode(file=sys.stderr):
                yield
        else:
            yield


def written(now_s: float | None = None) -> None:
    """Record that standard error was written to; the next progress line waits MAX_SILENCE_S from now."""
    global _last_line_s
    _last_line_s = monotonic() if now_s is None else now_s


def _report(command: str, began_s: float, ended: threading.Event) -> None:
    while not ended.wait(max(0.05, _last_line_s + MAX_SILENCE_S - monotonic())):
        if monotonic() - _last_line_s < MAX_SILENCE_S:
            continue
        with _lock, suppress(OSError, ValueError):  # standard error is closed
            if not ended.is_set():
                _write_line(command, began_s)
        written()


def _write_line(command: str, began_s: float) -> None:
    global _status_shown
    task = _tasks[-1] if _tasks else None
    text = f"{command}: {task or 'working'} ({monotonic() - began_s:.0f} s)"
    if not _on_terminal():
        print(text, file=sys.stderr, flush=True)
    elif task is not None and task._bar is not None:
        task._bar.refresh()
    else:
        print(f"{CLEAR_LINE}{text}", end="", file=sys.stderr, flush=True)
        _status_shown = True


def _clear_status() -> None:
    global _status_shown
    if _status_shown:
        print(CLEAR_LINE, end="", file=sys.stderr, flush=True)
        _status_shown = False


def _switched_off() -> bool:
    return os.environ.get("TQDM_DISABLE", "0") not in ("", "0")


def _on_terminal() -> bool:
    return sys.stderr is not None and sys.stderr.isatty() and not _switched_off()


def _bar_type() -> Any:
    """Return the class of progress bars for this output; None if it has no bars."""
    if "ipykernel" in sys.modules and not _switched_off():
        from tqdm.auto import tqdm as notebook_bar

        return notebook_bar
    if _on_terminal():
        from tqdm import tqdm as terminal_bar

        return terminal_bar
    return None
