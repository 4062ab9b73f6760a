"""Whether there is enough memory for a capture, checked before the work begins and not in the middle of it.

available = min(MemAvailable of /proc/meminfo, limit of the control group, address space that ulimit -v leaves)
"""

from contextlib import suppress
from pathlib import Path

from npexplore.errors import InputError

_MEMINFO, _GROUP = Path("/proc/meminfo"), Path("/sys/fs/cgroup")


def available() -> int | None:
    """Return the bytes of memory that this process may still take, None if the system does not say."""
    limits: list[int] = []
    with suppress(OSError, ValueError, StopIteration):
        line = next(line for line in _MEMINFO.read_bytes().splitlines() if line.startswith(b"MemAvailable:"))
        limits.append(int(line.split()[1]) * 1024)
    with suppress(OSError, ValueError):
        limits.append(int((_GROUP / "memory.max").read_bytes()) - int((_GROUP / "memory.current").read_bytes()))
    with suppress(ImportError, OSError, ValueError):
        import resource  # not on Windows

        limit, _ = resource.getrlimit(resource.RLIMIT_AS)
        if limit != resource.RLIM_INFINITY:
            pages = int(Path("/proc/self/statm").read_bytes().split()[0])
            limits.append(limit - pages * resource.getpagesize())
    return max(0, min(limits)) if limits else None


def check_fits(needed_bytes: float, what: str, instead: str, limit_bytes: float | None = None) -> None:
    """Raise InputError if that much memory is not available, or not allowed; `instead` says what needs less."""
    there = available()
    if limit_bytes is not None and needed_bytes > limit_bytes:
        needed, allowed = needed_bytes / 1e9, limit_bytes / 1e9
        raise InputError(f"{what} needs about {needed:.3g} GB of memory, {allowed:.3g} GB are allowed; {instead}")
    if there is not None and needed_bytes > there:
        raise InputError(
            f"{what} needs about {needed_bytes / 1e9:.1f} GB of memory, {there / 1e9:.1f} GB are there; {instead}"
        )
