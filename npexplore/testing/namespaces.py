"""Network namespaces of Linux: makes them, runs functions inside them, and manages their settings and links.

unshare(2), setns(2), packet(7). Functions run inside in a separate thread, so that the caller's namespace stays.
"""

from __future__ import annotations

import ctypes
import os
import shutil
import socket
import subprocess
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from types import TracebackType
from typing import ClassVar, Self, TypeVar

from npexplore.errors import InputError

Result = TypeVar("Result")

NEW_NAMESPACE = 0x4000_0000  # CLONE_NEWNET of clone(2)
ALL_PROTOCOLS = 3  # ETH_P_ALL of packet(7)
IGNORE_OUTGOING = 23  # PACKET_IGNORE_OUTGOING of packet(7)
PACKET_LEVEL = 263  # SOL_PACKET
NO_IPV6 = {"conf/all/disable_ipv6": 1, "conf/default/disable_ipv6": 1}
FIRST_LINK_NUMBER = 1001  # interface index of the first near end of a link, above the indices that namespaces use
PATIENCE_S = 60.0  # time-out for links to come up, also on a busy machine


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
    """Call work in a new thread, whose namespace may change; return its result or raise its error."""
    results: list[Result] = []
    errors: list[BaseException] = []

    def run() -> None:
        try:
            results.append(work())
        except BaseException as error:  # raised again in the caller's thread
            errors.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    if errors:
        raise errors[0]
    return results[0]


def _new_namespace() -> None:
    _call("unshare", NEW_NAMESPACE)


def enter(namespace: int) -> None:
    """Move this thread into a namespace, given by its descriptor."""
    _call("setns", namespace, NEW_NAMESPACE)


def _call(name: str, *arguments: int) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    if getattr(libc, name)(*arguments) != 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))


def make_namespace() -> int:
    """Make a namespace; return a descriptor that keeps it alive."""

    def work() -> int:
        _new_namespace()
        return os.open("/proc/thread-self/ns/net", os.O_RDONLY | os.O_CLOEXEC)

    return in_thread(work)


def inside(namespace: int, work: Callable[[], Result]) -> Result:
    """Call work inside a namespace, given by its descriptor; return its result."""

    def entered() -> Result:
        enter(namespace)
        return work()

    return in_thread(entered)


def run_batch(namespace: int, commands: Iterable[str], program: str = "ip") -> str:
    """Run commands of iproute2 (ip, tc) inside a namespace; return their output. Raises InputError if one fails."""

    def work() -> subprocess.CompletedProcess[str]:
        text = "\n".join(commands) + "\n"
        return subprocess.run([program, "-batch", "-"], input=text, capture_output=True, text=True, check=False)

    finished = inside(namespace, work)
    if finished.returncode:
        raise InputError(f"the Linux kernel refuses the configuration: {finished.stderr.strip().splitlines()[0]}")
    return finished.stdout


def pair(number: int, near: str, far: str, namespace: int) -> str:
    """Return the command of `ip` that makes a link whose other end is in a namespace.

    number: number of the link. near, far: name, MTU and other arguments of `ip` for an end. The two ends get different
    indices: Linux takes ends with equal indices for one device, and may report it as up a second late
    (linkwatch_urgent_event of net/core/link_watch.c).
    """
    place = f"/proc/{os.getpid()}/fd/{namespace}"
    return f"link add index {FIRST_LINK_NUMBER + number} name {near} type veth peer name {far} netns {place}"


def await_links(namespaces: Sequence[int], count: int) -> None:
    """Wait until `count` links are up in each namespace, because frames sent earlier are dropped."""
    end = time.monotonic() + PATIENCE_S
    while any(run_batch(namespace, ["link show"]).count(" state UP ") < count for namespace in namespaces):
        if time.monotonic() > end:
            raise InputError(f"the Linux kernel did not bring its links up within {PATIENCE_S} s")
        time.sleep(0.002)


def write_settings(family: str, settings: dict[str, int]) -> None:
    """Write the settings that this namespace has; older kernels have some settings only for the whole machine."""
    for name, value in settings.items():
        path = Path(f"/proc/sys/net/{family}/{name}")
        if path.exists():
            path.write_text(str(value), encoding="utf-8")


def open_link(name: str) -> socket.socket:
    """Return a socket for the frames of a link of this namespace; it does not receive what it sends."""
    handle = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ALL_PROTOCOLS))
    handle.setsockopt(PACKET_LEVEL, IGNORE_OUTGOING, 1)
    handle.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 22)
    handle.bind((name, 0))
    handle.setblocking(False)
    return handle


def drain(handle: socket.socket) -> list[bytes]:
    """Return the frames that have arrived."""
    frames = []
    while True:
        try:
            frames.append(handle.recv(65_536))
        except BlockingIOError:
            return frames


class Between(ABC):
    """Base of classes with namespaces and sockets on links between them, which exist inside a `with` block."""

    REFUSED: ClassVar[str]  # beginning of the message if namespaces cannot be made

    def __init__(self) -> None:
        self._sockets: list[socket.socket] = []
        self._namespaces: list[int] = []

    def __enter__(self) -> Self:
        reason = why_no_namespaces()
        if reason:
            raise InputError(f"{self.REFUSED}: {reason}")
        try:
            self._set_up()
        except BaseException:
            self.close()
            raise
        return self

    @abstractmethod
    def _set_up(self) -> None:
        """Make the namespaces and open the sockets on their links."""

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Close the sockets and release the namespaces; their links are deleted with them."""
        for handle in self._sockets:
            handle.close()
        for namespace in self._namespaces:
            os.close(namespace)
        self._sockets, self._namespaces = [], []
