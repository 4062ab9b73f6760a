"""The Linux kernel of this machine as a router under test; it gets only frames with a certain outcome.

    with LiveKernel("router.toml") as kernel:
        print(examine_router(kernel.forward, kernel.router))

The kernel limits some messages per address (`npexplore/testing/kernel_limits.py`). A frame whose outcome depends on
earlier frames is sent to a fresh kernel, in rounds, until the number of kernels is used up; remaining frames are not
judged. Needs `ip` and CAP_SYS_ADMIN.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

from npexplore.display import ShownByArguments
from npexplore.errors import InputError
from npexplore.golden.router.configuration import Router
from npexplore.testing.drawing import Case, as_router
from npexplore.testing.examining import judge_of
from npexplore.testing.kernel_limits import Told
from npexplore.testing.linux_kernel import LINK_HEADER, LinuxKernel

KERNELS = 60  # fresh kernels, some tenths of a second each: enough for 1,000 random frames and shrinking


class LiveKernel(ShownByArguments):
    """The Linux kernel of this machine as a router, set up anew if answers depend on earlier frames; use it in `with`.

    kernels: largest number of set-ups (None: 60).

    Raises InputError if namespaces cannot be made, and for configurations that are not supported here: VLANs, label
    stacks, and address resolution.
    """

    def __init__(self, router: Router | str | Path, *, kernels: int | None = None) -> None:
        self.router = as_router(router)
        refused = {
            "VLANs": any(port.vlan for port in self.router.ports),
            "label stacks": self.router.labels is not None or len(self.router.stacks) > 1,
            'neighbours = "resolve"': self.router.policy.neighbours != "known",
        }
        for feature, is_used in refused.items():
            if is_used:
                raise InputError(f"the kernel is examined without {feature}, got a configuration that has them")
        self._golden, self._left = judge_of(self.router, "linux"), KERNELS if kernels is None else kernels
        self._answers: dict[Case, list[Case]] = {}
        self._kernel: LinuxKernel | None = None
        self._limits = Told(self.router)

    def __enter__(self) -> Self:
        self._renew()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self._kernel is not None:
            self._kernel.close()
        self._kernel = None

    def _renew(self) -> bool:
        """Start a fresh kernel; return False if the number of kernels is used up."""
        if self._left == 0:
            return False
        if self._kernel is not None:
            self._kernel.close()
        self._kernel, self._limits, self._left = None, Told(self.router), self._left - 1
        kernel = LinuxKernel(self.router)
        self._kernel = kernel.__enter__()
        return True

    def ask(self, cases: Sequence[Case]) -> None:
        """Send many frames, with as few kernels as possible; `forward` then returns the answers."""
        pending = [case for case in cases if self._carried(*case)]
        while pending and self._kernel is not None:
            self._kernel.introduce(pending)
            pending = [case for case in pending if not self._sent(*case)]
            pending = [case for case in pending if Told(self.router).may_ask(*case, self._golden.forward(*case))]
            if pending and not self._renew():
                return

    def forward(self, port: int, frame: bytes) -> list[Case] | None:
        """Return the frames that the kernel sends for a frame; None if the outcome is not certain."""
        if not self._carried(port, frame):
            return None
        if (port, frame) not in self._answers and not self._sent(port, frame):
            is_certain = Told(self.router).may_ask(port, frame, self._golden.forward(port, frame))
            if is_certain and self._renew():
                self._sent(port, frame)
        return self._answers.get((port, frame))

    def _carried(self, port: int, frame: bytes) -> bool:
        return LINK_HEADER <= len(frame) <= self.router.ports[port].mtu + LINK_HEADER

    def _sent(self, port: int, frame: bytes) -> bool:
        """Send a frame if its outcome is certain; return whether it was sent."""
        if self._kernel is None or not self._limits.may_ask(port, frame, self._golden.forward(port, frame)):
            return False
        self._answers[port, frame] = self._kernel.forward(port, frame)
        return True
