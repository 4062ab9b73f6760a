"""The one decorator kernels are compiled with: cached, without the interpreter lock, typed for callers.

Each file of `_kernels/` holds its own callees: numba's cache is keyed by one file's time stamp, so a kernel that called
a function of another file would keep that function's old code after an edit.
"""

from collections.abc import Callable
from functools import cache
from importlib import import_module
from typing import Any, TypeVar, cast

import numba
from numba.core.caching import FunctionCache
from numba.core.runtime import rtsys  # type: ignore[attr-defined]

F = TypeVar("F", bound=Callable[..., Any])


def kernel(signature: Any = None, **options: Any) -> Callable[[F], F]:
    """Compile a function with numba: nogil, and cached on disk where a folder is writable.

    Give `signature` to compile at import and to refuse any other argument types. A kernel with `forceinline` is for
    other kernels alone: Python cannot call it. An installation without a writable
    place for the cache compiles again in each process instead of failing.
    """

    def decorate(function: F) -> F:
        njit: Any = numba.njit  # its overloads do not take settings by the dictionary
        # Doors for C are never used, doors for Python only of what is more than a part of its callers.
        doors = {"no_cfunc_wrapper": True, "no_cpython_wrapper": options.get("forceinline", False)}
        made = njit(nogil=True, error_model="numpy", **doors, **options)(function)
        if made is function:  # NUMBA_DISABLE_JIT: kernels run as they are written
            return function
        try:
            # what numba's `cache=True` does, with a cache of our own
            made._cache = _KernelCache(function)  # type: ignore[no-untyped-call]
        except RuntimeError as error:
            if "cannot cache" not in str(error):
                raise
            load_arrays()
        if signature is not None:
            made.compile(signature)
            made.disable_compile()
        return cast(F, made)

    return decorate


def plain(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return the Python function behind a kernel, compiled or not."""
    return cast(Callable[..., Any], getattr(function, "py_func", function))


class _KernelCache(FunctionCache):
    """numba's cache on disk, which readies the compiler only for a kernel that is not in it.

    numba imports and registers all that compiled code could call before it looks: half of a first call's time. Code
    that is compiled already needs of it only the functions that make and release arrays. (It would need the seeds of
    text hashes, too, if a kernel hashed text; none does, and `numba.cpython.hashing` would then have to be imported.)
    """

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Return the compiled code for a signature, None where it is not kept."""
        rtsys.initialize(target_context)
        with self._guard_against_spurious_io_errors():
            kept = self._load_overload(sig, target_context)  # type: ignore[no-untyped-call]
            if kept is not None:
                return kept
        load_arrays()
        return None


@cache
def load_arrays() -> None:
    """Load numba's functions on arrays without scipy's linear algebra, which they import to look whether it is there.

    No kernel needs it, and it takes longer than all the rest of a first call. Whoever compiles `np.dot` himself gets
    it then: numba asks again.
    """
    linalg: Any = import_module("numba.np.linalg")
    asked = linalg.ensure_blas
    linalg.ensure_blas = lambda: None
    try:
        arrays: Any = import_module("numba.np.arraymath")
    finally:
        linalg.ensure_blas = asked
    arrays.ensure_blas = asked
