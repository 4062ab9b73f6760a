"""Writes output files safely: a file gets its name only when it is complete, and never replaces its own source.

Until then its name is `.NAME.COMPUTER.PID.part` in the same folder (COMPUTER: the CRC-32 of the host's name). Such part
files of killed processes are removed by the next process that writes NAME on that computer. The file and its name are
on the disk when the writing ends, so a power failure leaves either the old file or the new one.
"""

import errno
import os
import platform
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from glob import escape
from pathlib import Path
from zlib import crc32

from npexplore.errors import InputError

NO_SPACE = (errno.ENOSPC, errno.EFBIG, getattr(errno, "EDQUOT", errno.ENOSPC))


@contextmanager
def replacing(source: str | Path | Sequence[str | Path], target: str | Path) -> Iterator[Path]:
    """Context manager: gives a temporary path, which becomes `target` at the end and is removed after an error.

    source: the file or files being read. Raises InputError if the target is one of them, or if its folder does not
    exist, OSError naming the target if its disk is full. Errors raised inside name the target, not the temporary file.
    Temporary files of the same target that ended processes left are removed.
    """
    target = Path(target)
    if not target.parent.is_dir():
        raise InputError(f"{target}: cannot be written: there is no folder {target.parent}")
    sources = [source] if isinstance(source, str | Path) else source
    if target.exists() and any(str(file) != "-" and Path(file).exists() and target.samefile(file) for file in sources):
        raise InputError(f"{target}: is the input itself; choose another name for the output")
    sweep(target)
    part = part_of(target)
    try:
        yield part
        _to_disk(part)
        part.replace(target)
        if os.name != "nt":  # Windows cannot open a folder
            _to_disk(target.parent)
    except InputError as error:
        error.args = tuple(arg.replace(str(part), str(target)) if isinstance(arg, str) else arg for arg in error.args)
        raise
    except OSError as error:
        if error.filename == str(part):
            error.filename = str(target)
        if error.errno is not None and error.errno in NO_SPACE:
            raise OSError(error.errno, os.strerror(error.errno), str(target)) from None
        raise
    finally:
        part.unlink(missing_ok=True)


def write_text(target: Path, text: str) -> None:
    """Write a text file all at once: if writing is interrupted, the old file stays."""
    with replacing("-", target) as part:
        part.write_text(text, encoding="utf-8")


def _to_disk(path: Path) -> None:
    """Wait until a file, or the names in a folder, are on the disk."""
    opened = os.open(path, os.O_RDONLY if path.is_dir() else os.O_RDWR)
    try:
        os.fsync(opened)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOTSUP):  # a file system without fsync
            raise
    finally:
        os.close(opened)


def part_of(target: Path) -> Path:
    """Return the temporary path of a file that this process writes."""
    return target.with_name(f"{_stem(target)}.{os.getpid()}.part")


def sweep(target: Path) -> None:
    """Remove a file's temporary files whose processes on this computer have ended."""
    for part in target.parent.glob(f"{escape(_stem(target))}.*.part"):
        number = part.name.split(".")[-2]
        if number.isdecimal() and not _runs(int(number)):
            with suppress(OSError):  # another process has just removed it, or we may not
                part.unlink()


def _stem(target: Path) -> str:
    return f".{target.name}.{crc32(platform.node().encode()):08x}"


def _runs(pid: int) -> bool:
    if os.name == "nt":  # signal 0 is Ctrl-C there, and an open file cannot be removed
        return False
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):  # a process of another user
        return True
    return True
