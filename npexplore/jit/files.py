"""Compiled kernels on disk: each is found by the content it was compiled from, written as a whole, shared by processes.

The name of an entry contains the hash of its key, a text with everything that its code depends on. A file is therefore
never out of date, and several copies of the package can share a folder. An entry begins with a hash of key and code. A
truncated, foreign or unreadable entry is reported in one line, treated as missing, and written again.
"""

import hashlib
import os
import re
import sys
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path
from tempfile import TemporaryFile
from threading import get_ident

from npexplore.progress import printing

KERNELS = Path(__file__).resolve().parents[1] / "_kernels"
SHIPPED = KERNELS / "compiled"  # entries of a platform wheel, or built by `make` in a checkout
ONLY = "NPEXPLORE_KERNELS"  # variable with the only folder to read and write; for building wheels or an empty cache
SUFFIX = ".kernel"
MAGIC = b"npexplore kernel 1\n"
HASH_BYTES = 32

used: set[Path] = set()  # entries that this process read or wrote


def read(name: str, key: str) -> bytes | None:
    """Return the code stored for a kernel's key, None without an undamaged entry."""
    file = _file(name, key)
    for folder in readable():
        path = folder / file
        try:
            content = path.read_bytes()
        except (FileNotFoundError, NotADirectoryError):
            continue
        except OSError as error:
            if os.access(folder, os.R_OK | os.X_OK):  # a folder without access counts as empty
                _tell_damage(path, str(error.strerror or error))
            continue
        if fault := fault_of(content, key):
            _tell_damage(path, fault)
            continue
        used.add(path)
        return content[len(MAGIC) + HASH_BYTES + 4 + len(key.encode()) :]
    return None


def has(name: str, key: str) -> bool:
    """Return whether there is an entry for a key, damaged or not."""
    return any(os.path.exists(folder / _file(name, key)) for folder in readable())


def write(name: str, key: str, code: bytes) -> None:
    """Store a kernel's code in the first writable folder; other processes see the whole file or none."""
    text = key.encode()
    body = len(text).to_bytes(4, "big") + text + code
    for folder in writable():
        path = folder / _file(name, key)
        part = path.with_suffix(f".{os.getpid()}.{get_ident()}.part")
        try:
            folder.mkdir(parents=True, exist_ok=True)
            part.write_bytes(MAGIC + hashlib.sha256(body).digest() + body)
            part.replace(path)
            used.add(path)
        except OSError:
            with suppress(OSError):
                part.unlink()
            continue
        return
    advice = "set NUMBA_CACHE_DIR to a folder that can be written"
    _tell("nowhere", f"compiled kernels cannot be kept, so every process compiles them again; {advice}")


def fault_of(content: bytes, key: str | None = None) -> str | None:
    """Return what is wrong with the content of an entry, None if nothing; key: also check that it has this key."""
    start = len(MAGIC) + HASH_BYTES
    if not content:
        return "it is empty"
    if not content.startswith(MAGIC):
        return "it is no compiled kernel"
    if hashlib.sha256(content[start:]).digest() != content[len(MAGIC) : start]:
        return f"its {len(content)} bytes are cut off or changed"
    if key is not None and key_of(content) != key:
        return "it belongs to another kernel or version"
    return None


def key_of(content: bytes) -> str:
    """Return the key in the content of an undamaged entry."""
    start = len(MAGIC) + HASH_BYTES + 4
    return content[start : start + int.from_bytes(content[start - 4 : start], "big")].decode()


def source_of(content: bytes) -> str:
    """Return the hash of the kernel files from which an undamaged entry was compiled."""
    return next((line.split()[1] for line in key_of(content).splitlines() if line.startswith("sources ")), "")


def can_write(folder: Path) -> bool:
    """Return whether a file can be written in a folder, which is created if necessary."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with TemporaryFile(dir=folder):
            return True
    except OSError:
        return False


def readable() -> list[Path]:
    """Return the folders to search for an entry, in this order."""
    return [*writable(), *([] if os.environ.get(ONLY) else [SHIPPED])]


def writable() -> list[Path]:
    """Return the folders for new entries; the first writable one is used."""
    if only_folder := os.environ.get(ONLY):
        return [Path(only_folder)]
    if cache_folder := os.environ.get("NUMBA_CACHE_DIR"):
        return [Path(cache_folder) / "npexplore"]
    return [*_user_folders(), KERNELS / "__pycache__"]


def _user_folders() -> Iterator[Path]:
    """Yield the folder for caches of the user, if there is one on this system."""
    with suppress(RuntimeError):  # the user has no home folder
        home = {"win32": "~/AppData/Local", "darwin": "~/Library/Caches"}.get(sys.platform, "~/.cache")
        root = os.environ.get("LOCALAPPDATA" if sys.platform == "win32" else "XDG_CACHE_HOME")
        yield (Path(root) if root else Path(home).expanduser()) / "npexplore" / "kernels"


def source_digest(file: str) -> str | None:
    """Return a hash of a kernel file and all kernel files that it imports; None if there is no file."""
    try:
        stamp = os.stat(file)
    except OSError:
        return None
    return _digest(file, stamp.st_mtime_ns, stamp.st_size)


@cache
def _digest(file: str, _changed: int, _size: int) -> str:
    """Hash the contents of a kernel file and of its imports, whose kernels and constants it may use."""
    contents: dict[str, bytes] = {}
    unread = [Path(file)]
    while unread:
        path = unread.pop()
        if path.stem not in contents:
            contents[path.stem] = path.read_bytes()
            unread += [KERNELS / f"{name}.py" for name in imported(contents[path.stem].decode())]
    return hashlib.sha256(repr(sorted(contents.items())).encode()).hexdigest()


def imported(source: str) -> list[str]:
    """Return the names of the kernel files that a source imports."""
    lines = re.findall(r"^\s*(?:from|import) npexplore\._kernels[^\n(]*(?:\([^)]*\))?", source, re.MULTILINE)
    words = {word for line in lines for word in re.findall(r"\w+", line)}
    return sorted(word for word in words if (KERNELS / f"{word}.py").exists())


def _file(name: str, key: str) -> str:
    return f"{name}-{hashlib.sha256(key.encode()).hexdigest()[:24]}{SUFFIX}"


def _tell_damage(path: Path, fault: str) -> None:
    _tell("damage", f"the compiled kernel {path} is unusable: {fault}; such kernels are compiled again")


_reported: set[str] = set()


def _tell(kind: str, text: str) -> None:
    """Print a note on standard error, at most one of each kind per process."""
    if kind not in _reported:
        _reported.add(kind)
        with suppress(OSError, ValueError), printing():  # standard error is closed
            print(f"npexplore: {text}", file=sys.stderr, flush=True)
