"""numba's dispatcher for kernels: declared types at the first call, a cache of our own, notice of long compilation.

Kernels are compiled for this processor. Code for any processor of its kind (target `generic`, as platform wheels carry
it) serves as well: it is looked for second.
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

config: Any = _config  # its settings are set when it is imported


class Dispatcher(CPUDispatcher):
    """Compiles one kernel at its first call, or takes it from the cache."""

    kernel: Any  # npexplore.jit.Kernel, which imports this module
    _cache: Any

    @classmethod
    def of(cls, kernel: Any) -> "Dispatcher":
        """Return the dispatcher of a kernel."""
        # Doors for C are never used, doors for Python only of what is more than a part of its callers.
        doors = {"no_cfunc_wrapper": True, "no_cpython_wrapper": kernel.is_part}
        options = {"nopython": True, "nogil": True, "error_model": "numpy", **doors, **kernel.options}
        dispatcher: Any = cls(kernel.py_func, targetoptions=options)
        dispatcher.kernel = kernel
        dispatcher._cache = Cache(kernel, options)
        return cast(Dispatcher, dispatcher)

    def compile(self, sig: Any) -> Any:
        """Compile for a signature, or for the declared one and no other; return the entry point."""
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
        """Say whether code for arguments is in memory or kept on disk."""
        types = self.types_of(arguments) if self.kernel.declared is None else self.kernel.declared.find()
        return tuple(normalize_signature(types)[0]) in self.overloads or self._cache.has(types, self.targetctx)

    def _compile_for_args(self, *arguments: Any, **named: Any) -> Any:
        """Return what numba calls for arguments of new types: this again, once the declared types are compiled."""
        if self.kernel.declared is None:
            return super()._compile_for_args(*arguments, **named)  # type: ignore[misc]
        self.compile(None)
        return self


class Cache(NullCache):
    """Keeps compiled code in files, but for parts, which are within their callers.

    numba imports and registers all that compiled code could call before it looks: half of a first call's time. Code
    that is compiled already needs of it only the functions that make and release arrays. (It would need the seeds of
    text hashes, too, if a kernel hashed text; none does, and `numba.cpython.hashing` would then have to be imported.)
    """

    def __init__(self, kernel: Any, options: dict[str, Any]) -> None:
        self.kernel = kernel
        self.options = options
        self.used = kernel.source is not None and not kernel.is_part

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Return the compiled code for a signature, None where it is not kept."""
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
        """Say whether there is an entry for a signature."""
        return self.used and any(
            files.has(self.kernel.name, self._key(sig, target)) for target in _targets(target_context)
        )

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keep compiled code, without the annotated source, which is long and names the building machine's folders."""
        if self.used and not data.lifted and not data.library.has_dynamic_globals:
            target = data.target_context.codegen().magic_tuple()
            files.write(self.kernel.name, self._key(sig, target), dumps(data._replace(type_annotation="")._reduce()))

    def _key(self, sig: Any, target: tuple[str, str, str]) -> str:
        """Return the text of all that the code depends on."""
        triple, processor, features = target
        triple = re.sub(r"(darwin)[0-9.]+", r"\1", triple)  # a Mac's triple ends with the version of its system
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
    """Let code that is compiled from now on name source files by their place in a package: for other machines."""
    from numba.core.ir import Loc

    begin: Any = Loc.__init__
    roots = sorted(filter(None, sys.path), key=len, reverse=True)

    def begin_without_folder(self: Any, filename: str, *rest: Any, **named: Any) -> None:
        root = next((root for root in roots if filename.startswith(f"{root}{os.sep}")), None)
        begin(self, filename if root is None else os.path.relpath(filename, root), *rest, **named)

    Loc.__init__ = begin_without_folder  # type: ignore[method-assign]


def _targets(target_context: Any) -> list[tuple[str, str, str]]:
    """Return this processor as a target, then any of its kind."""
    own = target_context.codegen().magic_tuple()
    return list(dict.fromkeys([own, (own[0], "generic", "")]))


@cache
def load_arrays() -> None:
    """Load numba's functions on arrays without scipy's linear algebra, which they import to look whether it is there.

    No kernel needs it, and it takes longer than all the rest of a first call. Whoever compiles `np.dot` himself gets
    it then: numba asks again.
    """
    linalg: Any = import_module("numba.np.linalg")
    ensure_blas = linalg.ensure_blas
    linalg.ensure_blas = lambda: None
    try:
        arrays: Any = import_module("numba.np.arraymath")
    finally:
        linalg.ensure_blas = ensure_blas
    arrays.ensure_blas = ensure_blas
