"""Checks that an installation is complete: required libraries, their versions, the package's own files.

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
MIN_SQLITE = (3, 35, 0)  # for RETURNING, and for write-ahead logs that survive a full disk


def check(places: Sequence[Path], repair: bool) -> list[Finding]:
    """Return findings for the libraries, for the package's own files, and for SQLite; nothing is repaired."""
    try:
        package = distribution("npexplore")
    except PackageNotFoundError:
        missing = [name for name in SHARED if not _has(name)]
        state, note = (BROKEN, f"missing: {', '.join(missing)}") if missing else (GOOD, "a checkout, not installed")
        return [Finding("npexplore", state, note), _sqlite()]
    return [_libraries(package), _files(package), _sqlite()]


def _libraries(package: Distribution) -> Finding:
    faults = []
    for line in package.requires or []:
        name = re.match(r"[\w.-]+", line)
        if name is None or "extra ==" in line:
            continue
        required_version = re.search(r">=\s*([\d.]+)", line)
        try:
            version = distribution(name[0]).version
        except PackageNotFoundError:
            faults.append(f"{name[0]} is missing")
            continue
        if required_version and _number(version) < _number(required_version[1]):
            faults.append(f"{name[0]} is {version}, needed is at least {required_version[1]}")
    if faults:
        return Finding("libraries", BROKEN, f"{'; '.join(faults)}; install npexplore again")
    return Finding("libraries", GOOD, "all that npexplore requires are installed")


def _files(package: Distribution) -> Finding:
    """Compare the installed files with the sizes and SHA-256 that the installer recorded."""
    faulty = [name for name in SHARED if not _has(name)]
    for file in package.files or []:
        if file.hash is None or file.hash.mode != "sha256":
            continue
        try:
            digest = hashlib.sha256(Path(str(file.locate())).read_bytes()).digest()
        except OSError:
            faulty.append(str(file))
            continue
        if base64.urlsafe_b64encode(digest).rstrip(b"=").decode() != file.hash.value:
            faulty.append(str(file))
    if faulty:
        more = f" and {len(faulty) - 3} more" if len(faulty) > 3 else ""
        return Finding("files", BROKEN, f"missing or changed: {', '.join(faulty[:3])}{more}; install npexplore again")
    return Finding("files", GOOD, "the package's files are as they were installed")


def _sqlite() -> Finding:
    version = sqlite3.sqlite_version
    if _number(version) < MIN_SQLITE:
        required_version = ".".join(map(str, MIN_SQLITE))
        return Finding("sqlite3", BROKEN, f"is {version}, needed is at least {required_version}; use a newer Python")
    return Finding("sqlite3", GOOD, f"is {version}")


def _has(name: str) -> bool:
    try:
        return share(name).is_dir()
    except InputError:
        return False


def _number(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", version)[:3])
