"""Runs the event loop before it is compiled: interprets short runs while another process compiles it.

Both versions compute the same bits, because `jit.plain` runs the same source. A run changes from one to the other at
the end of a batch.
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

SHORT_PACKETS = 600  # longer runs wait for the compiler; the interpreter does some 400 packets/s

_ready: set[bool] = set()  # the compiled loops, by whether they have the DRAM controller
_lock = Lock()
_compilers: dict[bool, Popen[bytes]] = {}  # running compilers, by the same

_meanwhile: Callable[[], None] | None = None


@contextmanager
def meanwhile(action: Callable[[], None]) -> Iterator[None]:
    """Within the block, call an action (it may simulate a few packets) when a long run must wait for the compiler."""
    global _meanwhile
    _meanwhile = action
    try:
        yield
    finally:
        _meanwhile = None


def event_loop(arguments: tuple[Any, ...], with_controller: bool, packets: int) -> Any:
    """Return the compiled event loop; its source, if it is not compiled yet and the run has few packets."""
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
