"""Checks that an installation is whole: required libraries, their versions, the package's own files.

The requirements are those of the package's metadata (PEP 508 lines); its files are those of its RECORD (PEP 427).
"""

from __future__ import annotations

import base64
import hashlib
import re
import sqlite3
from collections.abc import Sequence
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path

from npexplore.errors import InputError
from npexplore.findings import BROKEN, GOOD, Finding
from npexplore.paths import share

SHARED = ("models", "data", "notebooks")
MIN_SQLITE = (3, 35, 0)  # RETURNING, and write-ahead logs that survive a full disk


def check(places: Sequence[Path], repair: bool) -> list[Finding]:
    """Return a finding for the libraries, one for the package's own files, and one for SQLite; nothing is repaired."""
    try:
        package = distribution("npexplore")
    except PackageNotFoundError:
        missing = [name for name in SHARED if not _has(name)]
        state, note = (BROKEN, f"missing: {', '.join(missing)}") if missing else (GOOD, "a checkout, not installed")
        return [Finding("npexplore", state, note), _sqlite()]
    return [_libraries(package), _files(package), _sqlite()]


def _libraries(package: Distribution) -> Finding:
    wrong = []
    for line in package.requires or []:
        name = re.match(r"[\w.-]+", line)
        if name is None or "extra ==" in line:
            continue
        least = re.search(r">=\s*([\d.]+)", line)
        try:
            version = distribution(name[0]).version
        except PackageNotFoundError:
            wrong.append(f"{name[0]} is missing")
            continue
        if least and _number(version) < _number(least[1]):
            wrong.append(f"{name[0]} is {version}, needed is at least {least[1]}")
    if wrong:
        return Finding("libraries", BROKEN, f"{'; '.join(wrong)}; install npexplore again")
    return Finding("libraries", GOOD, "all that npexplore requires are installed")


def _files(package: Distribution) -> Finding:
    """Compare the installed files with the sizes and SHA-256 that the installer recorded."""
    wrong = [name for name in SHARED if not _has(name)]
    for file in package.files or []:
        if file.hash is None or file.hash.mode != "sha256":
            continue
        try:
            digest = hashlib.sha256(Path(str(file.locate())).read_bytes()).digest()
        except OSError:
            wrong.append(str(file))
            continue
        if base64.urlsafe_b64encode(digest).rstrip(b"=").decode() != file.hash.value:
            wrong.append(str(file))
    if wrong:
        more = f" and {len(wrong) - 3} more" if len(wrong) > 3 else ""
        return Finding("files", BROKEN, f"missing or changed: {', '.join(wrong[:3])}{more}; install npexplore again")
    return Finding("files", GOOD, "the package's files are as they were installed")


def _sqlite() -> Finding:
    version = sqlite3.sqlite_version
    if _number(version) < MIN_SQLITE:
        least = ".".join(map(str, MIN_SQLITE))
        return Finding("sqlite3", BROKEN, f"is {version}, needed is at least {least}; use a newer Python")
    return Finding("sqlite3", GOOD, f"is {version}")


def _has(name: str) -> bool:
    try:
        return share(name).is_dir()
    except InputError:
        return False


def _number(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", version)[:3])
