"""Hashes everything that a notebook's results depend on: its source, the package, models, data, libraries."""

import hashlib
import sys
from functools import cache
from importlib.metadata import version
from pathlib import Path

from npexplore.paths import PACKAGE, share

LIBRARIES = ("numba", "numpy", "pandas", "plotly", "scipy")
LAYOUT = ("templates", "build", "chapters", "index", "kept", "lean", "pages", "search", "shell", "small")
NOT_COMPUTING = ("cli", *(f"report/{name}" for name in LAYOUT))  # modules that do not affect computed results


@cache
def _ground() -> str:
    """Return the hash of everything that all notebooks depend on."""
    digest = hashlib.sha256(sys.version.encode())
    for library in LIBRARIES:
        digest.update(f"{library} {version(library)};".encode())
    for root, suffixes in ((PACKAGE, {".py"}), (share("models"), None), (share("data"), None)):
        for path in sorted(root.rglob("*")):
            inside = path.relative_to(root).as_posix()
            if (
                path.is_file()
                and (suffixes is None or path.suffix in suffixes)
                and not inside.startswith(NOT_COMPUTING)
            ):
                digest.update(f"\0{inside}\0".encode())
                digest.update(path.read_bytes())
    return digest.hexdigest()


def fingerprint(source: Path) -> str:
    """Return the hash that decides whether an executed notebook is still up to date."""
    return hashlib.sha256(_ground().encode() + source.read_bytes()).hexdigest()
