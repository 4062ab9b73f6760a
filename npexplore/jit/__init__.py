"""The one decorator kernels are compiled with: at the first call, kept on disk, without the interpreter lock.

numba is imported at the first call, too: reading a kernel file's constants costs nothing. A kernel whose name begins
with an underscore is a part of other kernels, and is kept within them: where Python calls it, it runs as written.
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
    """A function that numba compiles for the argument types of its calls, or for the declared ones alone."""

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
        """Call the compiled function. Raises TypeError for arguments that the declared types do not admit."""
        if self.is_part:
            return self.py_func(*arguments, **named)
        return (self._dispatcher or self.dispatcher)(*arguments, **named)

    def __reduce__(self) -> str:
        """Pickle by name, as functions are."""
        return str(self.py_func.__qualname__)

    @property
    def dispatcher(self) -> Any:
        """numba's object for this function, built when it is first needed."""
        with _BUILDING:
            if self._dispatcher is None:
                from npexplore.jit.dispatch import Dispatcher

                self._dispatcher = Dispatcher.of(self)
            return self._dispatcher

    @property
    def _numba_type_(self) -> Any:
        """What other kernels see of this one when they are compiled."""
        return self.dispatcher._numba_type_

    def is_ready(self, *arguments: Any) -> bool:
        """Say whether a call with these arguments compiles nothing."""
        return bool(self.dispatcher.is_ready(arguments))

    def compile_elsewhere(self, *arguments: Any) -> Popen[bytes] | None:
        """Begin to compile for these arguments in another process, which keeps the code on disk; None if it cannot.

        The process ends with this one, however this one ends: the pipe to it is then closed.
        """
        from subprocess import DEVNULL, PIPE, Popen

        if not any(map(can_write, writable())):
            return None
        wanted = self.py_func.__module__, self.py_func.__name__, self.dispatcher.types_of(arguments)
        try:
            compiler = Popen([sys.executable, "-c", COMPILE], stdin=PIPE, stdout=DEVNULL, stderr=DEVNULL)
            assert compiler.stdin is not None
            compiler.stdin.write(pickle.dumps(wanted))
            compiler.stdin.flush()
        except OSError:
            return None
        return compiler

    def parts(self) -> set[Kernel]:
        """Return this kernel and all that it calls, directly or not."""
        reached, left = {self}, [self]
        while left:
            function = left.pop().py_func
            called = [function.__globals__.get(name) for name in function.__code__.co_names]
            new = {one for one in called if isinstance(one, Kernel)} - reached
            reached |= new
            left += new
        return reached


def kernel(declared: Types | None = None, **options: Any) -> Callable[[F], F]:
    """Make a function a kernel; `declared`: its signature, any other argument types are refused.

    `options` are numba's. With NUMBA_DISABLE_JIT=1 kernels run as they are written.
    """

    def decorate(function: F) -> F:
        if os.environ.get("NUMBA_DISABLE_JIT", "0") not in ("", "0"):
            return function
        return cast(F, Kernel(function, declared, options))

    return decorate


def plain(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return the function that runs a kernel and its parts as they are written, with integers that wrap as compiled."""

    def interpreted(*arguments: Any) -> Any:
        import numpy as np

        with np.errstate(over="ignore"):
            return getattr(function, "py_func", function)(*arguments)

    return interpreted


class Types:
    """numba's types, written as numba writes them (`types.int64[::1]`) and looked up when a kernel is compiled."""

    def __init__(self, find: Callable[[], Any]) -> None:
        self.find = find

    def __getattr__(self, name: str) -> Types:
        return Types(lambda: getattr(self.find(), name))

    def __getitem__(self, layout: Any) -> Types:
        return Types(lambda: self.find()[layout])

    def __call__(self, *arguments: Any, **options: Any) -> Types:
        return Types(lambda: self.find()(*map(_resolved, arguments), **options))


def _resolved(argument: Any) -> Any:
    """Return an argument of a type with the types in it looked up."""
    if isinstance(argument, Types):
        return argument.find()
    return tuple(map(_resolved, argument)) if type(argument) is tuple else argument


def _numba_types() -> Any:
    from numba import types

    return types


types = Types(_numba_types)
