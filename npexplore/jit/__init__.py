"""The decorator for kernels: numba compiles them at the first call and keeps them on disk; they run without the GIL.

numba itself is imported at the first call, so reading the constants of a kernel file is cheap. A kernel whose name
begins with an underscore is a part of other kernels and is compiled into them; called from Python, it is interpreted.
"""

from __future__ import annotations

import os
import pickle
import sys
from collections.abc import Callable
from functools import update_wrapper
from threading import RLock
from typing import TYPE_CHECKING, Any, TypeVar, cast

from npexplore.jit.files import can_write, source_digest, writable

if TYPE_CHECKING:
    from subprocess import Popen

F = TypeVar("F", bound=Callable[..., Any])

_BUILDING = RLock()
COMPILE = (
    "import os, pickle, sys; from importlib import import_module; from npexplore.signals import end_after; "
    "module, name, types = pickle.load(sys.stdin.buffer); end_after(lambda: os.read(0, 1)); "
    "getattr(import_module(module), name).dispatcher.compile(types)"
)


class Kernel:
    """A function that numba compiles: for the declared argument types, or, without these, for those of its calls."""

    def __init__(self, function: Callable[..., Any], declared: Types | None, options: dict[str, Any]) -> None:
        update_wrapper(self, function)
        self.name = f"{function.__module__.rpartition('.')[2]}.{function.__name__}"
        self.py_func = function
        self.declared = declared
        self.options = options
        self.is_part = function.__name__.startswith("_") or bool(options.get("forceinline"))
        self.source = source_digest(function.__code__.co_filename)
        self._dispatcher: Any = None

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        """Call the compiled function; raises TypeError for arguments that do not match the declared types."""
        if self.is_part:
            return self.py_func(*arguments, **named)
        return (self._dispatcher or self.dispatcher)(*arguments, **named)

    def __reduce__(self) -> str:
        """Pickle by name, as Python pickles functions."""
        return str(self.py_func.__qualname__)

    @property
    def dispatcher(self) -> Any:
        """numba's dispatcher of this function, created on first use."""
        with _BUILDING:
            if self._dispatcher is None:
                from npexplore.jit.dispatch import Dispatcher

                self._dispatcher = Dispatcher.of(self)
            return self._dispatcher

    @property
    def _numba_type_(self) -> Any:
        """The type by which other kernels refer to this one when they are compiled."""
        return self.dispatcher._numba_type_

    def is_ready(self, *arguments: Any) -> bool:
        """Return whether a call with these arguments needs no compilation."""
        return bool(self.dispatcher.is_ready(arguments))

    def compile_elsewhere(self, *arguments: Any) -> Popen[bytes] | None:
        """Start another process that compiles for these arguments and keeps the code on disk; None if none can start.

        The other process ends when this one does, in any way, because the pipe between them is then closed.
        """
        from subprocess import DEVNULL, PIPE, Popen

        if not any(map(can_write, writable())):
            return None
        request = self.py_func.__module__, self.py_func.__name__, self.dispatcher.types_of(arguments)
        try:
            compiler = Popen([sys.executable, "-c", COMPILE], stdin=PIPE, stdout=DEVNULL, stderr=DEVNULL)
            assert compiler.stdin is not None
            compiler.stdin.write(pickle.dumps(request))
            compiler.stdin.flush()
        except OSError:
            return None
        return compiler

    def parts(self) -> set[Kernel]:
        """Return this kernel and all kernels that it calls, directly or indirectly."""
        reached, unexplored = {self}, [self]
        while unexplored:
            function = unexplored.pop().py_func
            called = [function.__globals__.get(name) for name in function.__code__.co_names]
            new = {callee for callee in called if isinstance(callee, Kernel)} - reached
            reached |= new
            unexplored += new
        return reached


def kernel(declared: Types | None = None, **options: Any) -> Callable[[F], F]:
    """Return the decorator that makes a function a kernel.

    declared: its only signature (None: compiled for the types of each call). options: numba's. With
    NUMBA_DISABLE_JIT=1, kernels are interpreted.
    """

    def decorate(function: F) -> F:
        if os.environ.get("NUMBA_DISABLE_JIT", "0") not in ("", "0"):
            return function
        return cast(F, Kernel(function, declared, options))

    return decorate


def plain(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that interprets a kernel and its parts; integers wrap around as in compiled code."""

    def interpreted(*arguments: Any) -> Any:
        import numpy as np

        with np.errstate(over="ignore"):
            return getattr(function, "py_func", function)(*arguments)

    return interpreted


class Types:
    """numba's types in numba's notation (`types.int64[::1]`), looked up when a kernel is compiled."""

    def __init__(self, find: Callable[[], Any]) -> None:
        self.find = find

    def __getattr__(self, name: str) -> Types:
        return Types(lambda: getattr(self.find(), name))

    def __getitem__(self, layout: Any) -> Types:
        return Types(lambda: self.find()[layout])

    def __call__(self, *arguments: Any, **options: Any) -> Types:
        return Types(lambda: self.find()(*map(_resolved, arguments), **options))


def _resolved(argument: Any) -> Any:
    """Return an argument of a type after looking up the types in it."""
    if isinstance(argument, Types):
        return argument.find()
    return tuple(map(_resolved, argument)) if type(argument) is tuple else argument


def _numba_types() -> Any:
    from numba import types

    return types


types = Types(_numba_types)
