"""An XDP program as a router under test, run by the Linux kernel: BPF_PROG_TEST_RUN of bpf(2), without real interfaces.

Verdict and octets are those of the kernel. A test run does not report the output interface of a redirected frame; it
comes from the interpreter, which runs the same frames and must have the same verdict.
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

LEAST_BYTES = 14  # shortest frame that the kernel accepts for a test run
LOOPBACK = 1  # interface that every namespace has


class LiveXdpRouter(Between, XdpRouter):
    """An XDP program in the kernel of this machine, between the ports of a router; use it in a `with` block.

    Arguments as of `XdpRouter`. Raises InputError if programs cannot be loaded, if the verifier refuses the program,
    and for a program that calls `fib_lookup`, which would read empty tables of the kernel.

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
        run_batch(self._namespaces[0], [pair.format(n=number, far=FIRST_LINK_NUMBER + number) for number in ports])
        self._loaded = LinuxProgram(self.program, self.maps)

    def close(self) -> None:
        """Unload the program and delete the interfaces."""
        if loaded := vars(self).pop("_loaded", None):
            loaded.close()
        super().close()

    def _answer(self, port: int, frame: bytes) -> tuple[str, int, bytes]:
        interpreted, out, sent = super()._answer(port, frame)
        if len(frame) < LEAST_BYTES:
            return interpreted, out, sent
        number, answer, _ = inside(self._namespaces[0], lambda: self._loaded.run(frame, interface=port + 1))
        verdict = verdict_name(number)
        if verdict != interpreted:
            raise RuntimeError(f"the kernel's verdict is {verdict}, the interpreter's {interpreted}")
        return verdict, out, answer[max(len(answer) - len(sent), 0) :]  # without metadata
