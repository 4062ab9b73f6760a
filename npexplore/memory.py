"""Checks before work begins whether the memory that it needs is available to this process.

available = min(MemAvailable of /proc/meminfo, remainder of control groups, remainder of the address space (ulimit -v))
Pages that only cache files count as available, because the system releases them when necessary.
"""

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from npexplore.errors import InputError

_MEMINFO, _GROUPS, _OWN_GROUPS = Path("/proc/meminfo"), Path("/sys/fs/cgroup"), Path("/proc/self/cgroup")
# controller in a line of /proc/self/cgroup -> folder, files of limit and use, prefix in memory.stat; "": version 2
_LAYOUTS = {
    "": ("", "memory.max", "memory.current", ""),
    "memory": ("memory", "memory.limit_in_bytes", "memory.usage_in_bytes", "total_"),
}


def available() -> int | None:
    """Return the bytes of memory that are available to this process, None if the system does not say."""
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
    """Yield the remaining bytes of each control group with a limit that contains this process."""
    for line in _OWN_GROUPS.read_text(encoding="utf-8").splitlines():
        _, controller, path = line.split(":", 2)
        if controller not in _LAYOUTS:
            continue
        folder, limit, used, prefix = _LAYOUTS[controller]
        own_group = Path(path).relative_to("/")
        for group in (own_group, *own_group.parents):  # in a container, the full path may not exist
            group_folder = _GROUPS / folder / group
            with suppress(OSError, ValueError):  # no limit, or the limit "max"
                remaining = int((group_folder / limit).read_bytes()) - int((group_folder / used).read_bytes())
                words = (group_folder / "memory.stat").read_text(encoding="utf-8").split()
                statistics = dict(zip(words[::2], words[1::2], strict=True))
                yield remaining + sum(int(statistics.get(f"{prefix}{kind}_file", 0)) for kind in ("active", "inactive"))


def check_fits(needed_bytes: float, what: str, instead: str, limit_bytes: float | None = None) -> None:
    """Raise InputError if the memory is not available or exceeds the limit; `instead`: what needs less memory."""
    free = available()
    if limit_bytes is not None and needed_bytes > limit_bytes:
        needed, allowed = needed_bytes / 1e9, limit_bytes / 1e9
        raise InputError(f"{what} needs about {needed:.3g} GB of memory, {allowed:.3g} GB are allowed; {instead}")
    if free is not None and needed_bytes > free:
        raise InputError(
            f"{what} needs about {needed_bytes / 1e9:.1f} GB of memory, {free / 1e9:.1f} GB are there; {instead}"
        )
