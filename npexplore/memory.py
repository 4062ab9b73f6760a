"""How much memory this process may still take, checked before work begins and not in the middle of it.

available = min(MemAvailable of /proc/meminfo, what control groups leave, address space that ulimit -v leaves)
Pages that only cache files count as available everywhere: the system gives them back.
"""

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from npexplore.errors import InputError

_MEMINFO, _GROUPS, _OWN_GROUPS = Path("/proc/meminfo"), Path("/sys/fs/cgroup"), Path("/proc/self/cgroup")
# Controller of a line of /proc/self/cgroup -> folder, files of limit and use, prefix in memory.stat; "": version 2.
_LAYOUTS = {
    "": ("", "memory.max", "memory.current", ""),
    "memory": ("memory", "memory.limit_in_bytes", "memory.usage_in_bytes", "total_"),
}


def available() -> int | None:
    """Return the bytes of memory that this process may still take, None if the system does not say."""
    limits: list[int] = []
    with suppress(OSError, ValueError, StopIteration):
        line = next(line for line in _MEMINFO.read_bytes().splitlines() if line.startswith(b"MemAvailable:"))
        limits.append(int(line.split()[1]) * 1024)
    with suppress(OSError, ValueError):
        limits += _left_by_groups()
    with suppress(ImportError, OSError, ValueError):
        import resource  # not on Windows

        limit, _ = resource.getrlimit(resource.RLIMIT_AS)
        if limit != resource.RLIM_INFINITY:
            pages = int(Path("/proc/self/statm").read_bytes().split()[0])
            limits.append(limit - pages * resource.getpagesize())
    return max(0, min(limits)) if limits else None


def _left_by_groups() -> Iterator[int]:
    """Yield what each control group with a limit leaves, of this process's and those around it."""
    for line in _OWN_GROUPS.read_text(encoding="utf-8").splitlines():
        _, controller, path = line.split(":", 2)
        if controller not in _LAYOUTS:
            continue
        folder, limit, used, prefix = _LAYOUTS[controller]
        own = Path(path).relative_to("/")
        for group in (own, *own.parents):  # the whole path is not there where a container shows its own group alone
            at = _GROUPS / folder / group
            with suppress(OSError, ValueError):  # without a limit, or "max"
                left = int((at / limit).read_bytes()) - int((at / used).read_bytes())
                words = (at / "memory.stat").read_text(encoding="utf-8").split()
                held = dict(zip(words[::2], words[1::2], strict=True))
                yield left + sum(int(held.get(f"{prefix}{kind}_file", 0)) for kind in ("active", "inactive"))


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
