"""The golden IPv4 router: references that cite their clause, batch forms proven equal, lookup structures.

Names are imported when they are first used.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from npexplore.golden.checksum import internet_checksum as internet_checksum
    from npexplore.golden.checksum import update_checksum as update_checksum
    from npexplore.golden.lookup import Dir24_8 as Dir24_8
    from npexplore.golden.lookup import LinearLpm as LinearLpm
    from npexplore.golden.lookup import Trie20_4_8 as Trie20_4_8

# public name -> the module that holds it
_HOMES = {
    "Dir24_8": "npexplore.golden.lookup",
    "LinearLpm": "npexplore.golden.lookup",
    "Trie20_4_8": "npexplore.golden.lookup",
    "internet_checksum": "npexplore.golden.checksum",
    "update_checksum": "npexplore.golden.checksum",
}

__all__ = [*_HOMES]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'npexplore.golden' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
