"""Network namespaces of Linux: making them, working inside of them, their settings and links.

unshare(2), setns(2), packet(7). A thread of its own does what must be done inside, so that the caller stays outside.
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
FIRST_LINK_NUMBER = 1001  # the number of the first near end of a link: more than a namespace has of its own
PATIENCE_S = 60.0  # until links are up, on a machine that is busy with other things


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
    results: list[Result] = []
    wrong: list[BaseException] = []

    def run() -> None:
        try:
            results.append(work())
        except BaseException as error:  # handed to the caller, whatever it is
            wrong.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    if wrong:
        raise wrong[0]
    return results[0]


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


def inside(namespace: int, work: Callable[[], Result]) -> Result:
    """Do something inside of a namespace, given by its descriptor; return its result."""

    def entered() -> Result:
        enter(namespace)
        return work()

    return in_thread(entered)


def run_batch(namespace: int, commands: Iterable[str], program: str = "ip") -> str:
    """Run commands of iproute2 (ip, tc) inside of a namespace; return what they say. Raises InputError if one fails."""

    def work() -> subprocess.CompletedProcess[str]:
        text = "\n".join(commands) + "\n"
        return subprocess.run([program, "-batch", "-"], input=text, capture_output=True, text=True, check=False)

    done = inside(namespace, work)
    if done.returncode:
        raise InputError(f"the Linux kernel refuses the configuration: {done.stderr.strip().splitlines()[0]}")
    return done.stdout


def pair(number: int, near: str, far: str, namespace: int) -> str:
    """Return the command of `ip` that makes a link whose other end is in a namespace.

    number: which link it is. near, far: name, MTU and what else `ip` is told of an end. Ends whose indices are the same
    Linux takes for one device, of which it may be a second until it says that it is up (linkwatch_urgent_event of
    net/core/link_watch.c).
    """
    place = f"/proc/{os.getpid()}/fd/{namespace}"
    return f"link add index {FIRST_LINK_NUMBER + number} name {near} type veth peer name {far} netns {place}"


def await_links(namespaces: Sequence[int], count: int) -> None:
    """Wait until so many links are up in each namespace: frames sent before that are dropped."""
    end = time.monotonic() + PATIENCE_S
    while any(run_batch(one, ["link show"]).count(" state UP ") < count for one in namespaces):
        if time.monotonic() > end:
            raise InputError(f"the Linux kernel did not bring its links up within {PATIENCE_S} s")
        time.sleep(0.002)


def write_settings(family: str, settings: dict[str, int]) -> None:
    """Write what this kernel has: older ones have some settings for the whole machine only."""
    for name, value in settings.items():
        path = Path(f"/proc/sys/net/{family}/{name}")
        if path.exists():
            path.write_text(str(value), encoding="utf-8")


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


class Between(ABC):
    """What has namespaces and sockets on links between them: made by `_set_up` in a `with` block, gone behind it."""

    REFUSED: ClassVar[str]  # what cannot be done where namespaces cannot be made

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
        """Close the sockets and let the namespaces go; the links vanish with them."""
        for handle in self._sockets:
            handle.close()
        for namespace in self._namespaces:
            os.close(namespace)
        self._sockets, self._namespaces = [], []
