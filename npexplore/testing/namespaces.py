"""Network namespaces of Linux: making them, working inside of them, their settings and links.

unshare(2), setns(2), packet(7). A thread of its own does what must be done inside, so that the caller stays outside.
"""

from __future__ import annotations

import ctypes
import os
import shutil
import socket
import threading
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

Result = TypeVar("Result")

NEW_NAMESPACE = 0x4000_0000  # CLONE_NEWNET of clone(2)
ALL_PROTOCOLS = 3  # ETH_P_ALL of packet(7)
IGNORE_OUTGOING = 23  # PACKET_IGNORE_OUTGOING of packet(7)
PACKET_LEVEL = 263  # SOL_PACKET


def why_no_namespaces() -> str | None:
    """Return why namespaces cannot be made here, None if they can."""
    if shutil.which("ip") is None:
        return "the program ip (iproute2) is not installed"
    try:
        in_thread(_new_namespace)
    except OSError as error:
        return f"network namespaces cannot be made: {error.strerror}"
    return None


def in_thread(work: Callable[[], Result]) -> Result:
    """Run something in a thread of its own, whose namespace may change; return its result or raise its error."""
    found: list[Result] = []
    wrong: list[BaseException] = []

    def run() -> None:
        try:
            found.append(work())
        except BaseException as error:  # handed to the caller, whatever it is
            wrong.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    if wrong:
        raise wrong[0]
    return found[0]


def _new_namespace() -> None:
    _call("unshare", NEW_NAMESPACE)


def enter(namespace: int) -> None:
    """Take this thread into a namespace, by its descriptor."""
    _call("setns", namespace, NEW_NAMESPACE)


def _call(name: str, *arguments: int) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    if getattr(libc, name)(*arguments) != 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))


def make_namespace() -> int:
    """Make a namespace; return a descriptor that keeps it."""

    def work() -> int:
        _new_namespace()
        return os.open("/proc/thread-self/ns/net", os.O_RDONLY | os.O_CLOEXEC)

    return in_thread(work)


def write_settings(family: str, settings: dict[str, int]) -> None:
    """Write what this kernel has: older ones have some settings for the whole machine only."""
    for name, value in settings.items():
        path = Path(f"/proc/sys/net/{family}/{name}")
        if path.exists():
            path.write_text(str(value))


def open_link(name: str) -> socket.socket:
    """Return a socket for the frames of a link of this namespace; it does not see what it sends."""
    handle = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ALL_PROTOCOLS))
    handle.setsockopt(PACKET_LEVEL, IGNORE_OUTGOING, 1)
    handle.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 22)
    handle.bind((name, 0))
    handle.setblocking(False)
    return handle


def drain(handle: socket.socket) -> list[bytes]:
    """Return the frames that have come in."""
    frames = []
    while True:
        try:
            frames.append(handle.recv(65_536))
        except BlockingIOError:
            return frames
