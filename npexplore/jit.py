"""The one decorator kernels are compiled with: cached, without the interpreter lock, typed for callers.

Each file of `_kernels/` holds its own callees: numba's cache is keyed by one file's time stamp, so a kernel that called
a function of another file would keep that function's old code after an edit.
"""

from collections.abc import Callable
from functools import cache
from importlib import import_module
from typing import Any, TypeVar, cast

import numba

F = TypeVar("F", bound=Callable[..., Any])


def kernel(signature: Any = None, **options: Any) -> Callable[[F], F]:
    """Compile a function with numba: nogil, and cached on disk where a folder is writable.

    Give `signature` to compile at import and to refuse any other argument types. An installation without a writable
    place for the cache compiles again in each process instead of failing.
    """

    def decorate(function: F) -> F:
        njit: Any = numba.njit  # its overloads do not take settings by the dictionary
        settings = {"nogil": True, "error_model": "numpy", **options}
        args = () if signature is None else (signature,)
        if args:
            load_arrays()
        try:
            return cast(F, njit(*args, cache=True, **settings)(function))
        except RuntimeError as error:
            if "cannot cache" not in str(error):
                raise
            return cast(F, njit(*args, **settings)(function))

    return decorate


def plain(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return the Python function behind a kernel, compiled or not."""
    return cast(Callable[..., Any], getattr(function, "py_func", function))


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
