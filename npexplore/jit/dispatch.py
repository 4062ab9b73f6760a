"""numba's dispatcher for kernels: declared types, a cache of our own, and reports of long compilations.

Kernels are compiled for this processor. Code for any processor of this kind (target `generic`, in platform wheels) also
works and is looked for second.
"""

import os
import pickle
import re
import sys
from functools import cache
from importlib import import_module
from typing import Any, cast

import llvmlite
import numba
import numpy as np
from numba.core import config as _config
from numba.core.caching import NullCache
from numba.core.compiler import CompileResult
from numba.core.compiler_lock import global_compiler_lock
from numba.core.registry import CPUDispatcher
from numba.core.runtime import rtsys  # type: ignore[attr-defined]
from numba.core.serialize import dumps
from numba.core.sigutils import normalize_signature

from npexplore.jit import files, notice

config: Any = _config  # it gets its attributes when it is imported


class Dispatcher(CPUDispatcher):
    """Compiles one kernel at its first call, or loads it from the cache."""

    kernel: Any  # npexplore.jit.Kernel, which imports this module
    _cache: Any

    @classmethod
    def of(cls, kernel: Any) -> "Dispatcher":
        """Return the dispatcher of a kernel."""
        # Wrappers for C are never used, wrappers for Python only for kernels that are no parts of others.
        wrappers = {"no_cfunc_wrapper": True, "no_cpython_wrapper": kernel.is_part}
        options = {"nopython": True, "nogil": True, "error_model": "numpy", **wrappers, **kernel.options}
        dispatcher: Any = cls(kernel.py_func, targetoptions=options)
        dispatcher.kernel = kernel
        dispatcher._cache = Cache(kernel, options)
        return cast(Dispatcher, dispatcher)

    def compile(self, sig: Any) -> Any:
        """Compile for a signature, or for the declared one only; return the entry point."""
        with global_compiler_lock, notice.part(self.kernel):
            if self.kernel.declared is None:
                return super().compile(sig)
            if not self.overloads:
                super().compile(self.kernel.declared.find())
                self.disable_compile()
            compiled: Any = next(iter(self.overloads.values()))
            return compiled.entry_point

    def types_of(self, arguments: tuple[Any, ...]) -> tuple[Any, ...]:
        """Return numba's types of arguments."""
        return tuple(map(self.typeof_pyval, arguments))

    def is_ready(self, arguments: tuple[Any, ...]) -> bool:
        """Return whether code for arguments is in memory or on disk."""
        types = self.types_of(arguments) if self.kernel.declared is None else self.kernel.declared.find()
        return tuple(normalize_signature(types)[0]) in self.overloads or self._cache.has(types, self.targetctx)

    def _compile_for_args(self, *arguments: Any, **named: Any) -> Any:
        """Return the callable for arguments of new types: this dispatcher, after compiling the declared types."""
        if self.kernel.declared is None:
            return super()._compile_for_args(*arguments, **named)  # type: ignore[misc]
        self.compile(None)
        return self


class Cache(NullCache):
    """Keeps compiled code in files, except for parts, which are compiled into their callers.

    Before it looks into a cache, numba imports and registers everything that compiled code could call, which takes half
    of the time of a first call. Code that is already compiled needs only the functions that allocate and release
    arrays. (Kernels that hash text would also need the seeds of text hashes, from `numba.cpython.hashing`; there are
    none.)
    """

    def __init__(self, kernel: Any, options: dict[str, Any]) -> None:
        self.kernel = kernel
        self.options = options
        self.used = kernel.source is not None and not kernel.is_part

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Return the compiled code for a signature, None if it is not on disk."""
        rtsys.initialize(target_context)
        if self.used:
            for target in _targets(target_context):
                code = files.read(self.kernel.name, self._key(sig, target))
                if code is not None:
                    return CompileResult._rebuild(target_context, *pickle.loads(code))
        load_arrays()
        notice.missing(self.kernel)
        return None

    def has(self, sig: Any, target_context: Any) -> bool:
        """Return whether there is an entry for a signature."""
        return self.used and any(
            files.has(self.kernel.name, self._key(sig, target)) for target in _targets(target_context)
        )

    def save_overload(self, sig: Any, data: Any) -> None:
        """Store compiled code without the annotated source, which is long and contains folders of this machine."""
        if self.used and not data.lifted and not data.library.has_dynamic_globals:
            target = data.target_context.codegen().magic_tuple()
            files.write(self.kernel.name, self._key(sig, target), dumps(data._replace(type_annotation="")._reduce()))

    def _key(self, sig: Any, target: tuple[str, str, str]) -> str:
        """Return a text with everything that the code depends on."""
        triple, processor, features = target
        triple = re.sub(r"(darwin)[0-9.]+", r"\1", triple)  # on macOS, the triple ends with the system's version
        arguments, _ = normalize_signature(sig)
        versions = f"numba {numba.__version__} llvmlite {llvmlite.__version__} numpy {np.__version__}"
        return "\n".join([
            f"{self.kernel.py_func.__module__}.{self.kernel.name}{arguments}",
            f"sources {self.kernel.source}",
            f"options {sorted(self.options.items())}",
            f"{sys.implementation.cache_tag} {versions}",
            f"target {triple} {processor} {features}",
            f"settings {config.OPT!r} {config.LOOP_VECTORIZE} {config.SLP_VECTORIZE} {config.BOUNDSCHECK} "
            f"{config.DEBUGINFO_DEFAULT}",
        ])  # fmt: skip


def forget_folders() -> None:
    """Make code that is compiled from now on name source files by their path in the package, for other machines."""
    from numba.core.ir import Loc

    begin: Any = Loc.__init__
    roots = sorted(filter(None, sys.path), key=len, reverse=True)

    def begin_without_folder(self: Any, filename: str, *rest: Any, **named: Any) -> None:
        root = next((root for root in roots if filename.startswith(f"{root}{os.sep}")), None)
        begin(self, filename if root is None else os.path.relpath(filename, root), *rest, **named)

    Loc.__init__ = begin_without_folder  # type: ignore[method-assign]


def _targets(target_context: Any) -> list[tuple[str, str, str]]:
    """Return two targets: this processor, then any processor of its kind."""
    this_processor = target_context.codegen().magic_tuple()
    return list(dict.fromkeys([this_processor, (this_processor[0], "generic", "")]))


@cache
def load_arrays() -> None:
    """Load numba's functions on arrays without scipy's linear algebra, for whose presence they check on import.

    No kernel needs linear algebra, and importing it takes longer than the rest of a first call. A user's function that
    needs it, such as one with `np.dot`, still gets it, because numba checks again.
    """
    linalg: Any = import_module("numba.np.linalg")
    ensure_blas = linalg.ensure_blas
    linalg.ensure_blas = lambda: None
    try:
        arrays: Any = import_module("numba.np.arraymath")
    finally:
        linalg.ensure_blas = ensure_blas
    arrays.ensure_blas = ensure_blas
