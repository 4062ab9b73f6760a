"""Short runs before the event loop is compiled: interpreted here while another process compiles, then compiled.

Both give the same bits (`jit.plain` is the same source), so a run changes over at the end of a batch.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from subprocess import Popen
from threading import Lock
from typing import Any

from npexplore._kernels import engine
from npexplore.jit import Kernel, plain
from npexplore.progress import Task

SHORT_PACKETS = 600  # longer runs wait for the compiler: some 400 packets a second are interpreted

_ready: set[bool] = set()  # the loops that need no compilation any more, likewise
_lock = Lock()
_compilers: dict[bool, Popen[bytes]] = {}  # by whether they compile the loop with the DRAM controller


_meanwhile: Callable[[], None] | None = None


@contextmanager
def meanwhile(action: Callable[[], None]) -> Iterator[None]:
    """Call an action where a long run inside the block must wait for the compiler; it may simulate a few packets."""
    global _meanwhile
    _meanwhile = action
    try:
        yield
    finally:
        _meanwhile = None


def event_loop(arguments: tuple[Any, ...], with_controller: bool, packets: int) -> Any:
    """Return what runs the event loop now: the kernel, or (packets few, the kernel not compiled yet) its source."""
    kernel: Any = engine.advance
    if with_controller in _ready or not isinstance(kernel, Kernel):  # no kernel: NUMBA_DISABLE_JIT
        return kernel
    if kernel.is_ready(*arguments):
        _ready.add(with_controller)
        return kernel
    global _meanwhile
    short, action = 0 < packets <= SHORT_PACKETS, None
    with _lock:  # one compiler for all threads
        if packets > SHORT_PACKETS:
            action, _meanwhile = _meanwhile, None
        if (short or action) and with_controller not in _compilers:
            compiler = kernel.compile_elsewhere(*arguments)
            if compiler is not None:
                _compilers[with_controller] = compiler
    if action is not None:
        action()
    compiler = _compilers.get(with_controller)
    if compiler is None or compiler.poll() is not None:
        return kernel
    if short:
        return plain(kernel)
    with Task("compiling kernels, once"):
        compiler.wait()
    return kernel
