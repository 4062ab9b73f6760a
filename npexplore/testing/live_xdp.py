"""An XDP program as a router under test, run by the Linux kernel: BPF_PROG_TEST_RUN of bpf(2), without real interfaces.

Verdict and octets are the kernel's. A test run does not say by which interface a redirected frame leaves: that is the
interpreter's, which runs beside it and whose verdict must be the same.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from npexplore.errors import InputError
from npexplore.golden.router.configuration import Router
from npexplore.programs.linux import LinuxProgram, is_available
from npexplore.programs.records import Program
from npexplore.programs.result import verdict_name
from npexplore.programs.running import Contents
from npexplore.testing.namespaces import FIRST_LINK_NUMBER, Between, inside, make_namespace, run_batch
from npexplore.testing.xdp import XdpRouter

LEAST_BYTES = 14  # of a frame that the kernel takes for a test run
LOOPBACK = 1  # interface that every namespace has


class LiveXdpRouter(Between, XdpRouter):
    """An XDP program in the kernel of this machine, between the ports of a router; use it in a `with` block.

    Arguments as of `XdpRouter`. Raises InputError where programs cannot be loaded, for one that the verifier refuses,
    and for one that asks `fib_lookup`, which would be answered from tables of the kernel that nobody filled.

    Example:
        >>> from npexplore.testing import LiveXdpRouter
        >>> with LiveXdpRouter("my_router.o", "office") as router:  # doctest: +SKIP
        ...     router.forward(0, bytes(64))
        []
    """

    REFUSED = "an XDP program cannot be run live"

    def __init__(
        self, program: Program | str | Path, router: Router | str | Path, *, section: str | None = None,
        maps: Mapping[str, Contents] | None = None, filters: bool = False,
    ) -> None:  # fmt: skip
        Between.__init__(self)
        XdpRouter.__init__(self, program, router, section=section, maps=maps, filters=filters)
        if "fib_lookup" in self.program.helpers:
            raise InputError(f"{self.program.path}: fib_lookup asks the kernel's tables, which are empty here; run it "
                             "by the interpreter (without --live)")  # fmt: skip

    def _set_up(self) -> None:
        if not is_available():
            raise InputError(f"{self.REFUSED}: the kernel does not let this process load programs")
        self._namespaces = [make_namespace()]
        ports = range(LOOPBACK + 1, len(self.router.ports) + 1)
        pair = "link add name port{n} index {n} type veth peer name far{n} index {far}"
        run_batch(self._namespaces[0], [pair.format(n=n, far=FIRST_LINK_NUMBER + n) for n in ports])
        self._loaded = LinuxProgram(self.program, self.maps)

    def close(self) -> None:
        """Take the program out of the kernel, and let the interfaces go."""
        if loaded := vars(self).pop("_loaded", None):
            loaded.close()
        super().close()

    def _answer(self, port: int, frame: bytes) -> tuple[str, int, bytes]:
        own, out, sent = super()._answer(port, frame)
        if len(frame) < LEAST_BYTES:
            return own, out, sent
        number, answer, _ = inside(self._namespaces[0], lambda: self._loaded.run(frame, interface=port + 1))
        verdict = verdict_name(number)
        if verdict != own:
            raise RuntimeError(f"the kernel's verdict is {verdict}, the interpreter's {own}")
        return verdict, out, answer[max(len(answer) - len(sent), 0) :]  # behind metadata
