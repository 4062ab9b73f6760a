"""Examines any program that forwards between the interfaces of a network namespace, as a router under test.

    with LinkRouter(["./my_router"], "router.toml") as mine:
        print(examine_router(mine.forward, mine.router))

The program has an interface for each port, with the port's name, MAC address and MTU; npexplore holds the other ends
(veth(4)), and answers ARP requests (RFC 826) as configured. Each frame is followed by a marker packet that must pass;
when the marker leaves, the program has finished the frame. Needs `ip` and CAP_SYS_ADMIN.
"""

from __future__ import annotations

import os
import select
import signal
import subprocess
import tempfile
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from npexplore.display import ShownByArguments
from npexplore.errors import InputError
from npexplore.golden.ethernet import IPV4_TYPE
from npexplore.golden.ipv4.arp import REPLY, REQUEST, Arp, read_arp, write_arp
from npexplore.golden.router.configuration import Router
from npexplore.golden.router.resolution import ARP_TYPE
from npexplore.testing.drawing import as_router
from npexplore.testing.examining import judge_of
from npexplore.testing.namespaces import (
    NO_IPV6,
    Between,
    await_links,
    drain,
    enter,
    inside,
    make_namespace,
    open_link,
    pair,
    run_batch,
    write_settings,
)
from npexplore.testing.probes import packet
from npexplore.testing.programs import running
from npexplore.testing.routers import routed_of

MARK = b"npexplore: done "
EXPERIMENTAL = 253  # RFC 3692 section 2.1
MOST_LOST = 3  # consecutive lost markers after which a port gets no more markers
LONGEST_NAME = 15  # IFNAMSIZ of netdevice(7) without the terminating 0
MAX_FRAMES_FOR_ONE = 256  # output frames per input frame: a packet of 64 KiB has fewer fragments at an MTU of 576


class LinkRouter(ShownByArguments, Between):
    """Your router, a program between network interfaces; use it in a `with` block.

    A program that ends is started again for the next frame.

    Args:
        command: the program and its arguments.
        router: a configuration, or the path of its file.
        quiet_s: without marker packets, seconds without output after which the program counts as done with a frame.
        ready_s: seconds that the program may take until it listens, and until a marker has passed.
        again: resend a frame that was lost while the program resolved its next hop, as a sender would: RFC 1122
            section 2.3.2.2 recommends to save at least one packet, but many routers save none.

    Raises:
        InputError: the links or the program cannot be set up.
    """

    REFUSED = "no program can be put between links"

    def __init__(
        self, command: Sequence[str], router: Router | str | Path, *, quiet_s: float = 0.25, ready_s: float = 5.0,
        again: bool = False,
    ) -> None:  # fmt: skip
        super().__init__()
        self.command, self.router = list(command), as_router(router)
        self.quiet_s, self.ready_s, self._again = quiet_s, ready_s, again
        self._program: subprocess.Popen[bytes] | None = None
        self._serial = self._questions = 0
        self._behind = [self._passing(number) for number in range(len(self.router.ports))]
        self._lost = [0 for _ in self.router.ports]
        self._said = tempfile.TemporaryFile()  # noqa: SIM115  output of the program, until `close`
        for port in self.router.ports:
            if len(port.name) > LONGEST_NAME:
                raise InputError(f"names of interfaces have at most {LONGEST_NAME} letters, got {port.name!r}")

    def close(self) -> None:
        """Stop the program and all processes that it started, and delete links and namespaces."""
        self._end()
        super().close()
        self._said.close()

    def _set_up(self) -> None:
        self._namespaces = near, far = [make_namespace(), make_namespace()]
        for namespace in self._namespaces:  # the kernel itself sends and forwards nothing
            inside(namespace, lambda: write_settings("ipv6", NO_IPV6))
            inside(namespace, lambda: write_settings("ipv4", {"ip_forward": 0}))
        ports = self.router.ports
        ends = [(f"{p.name} address {p.mac.hex(':')} mtu {p.mtu}", f"w{p.number} mtu 65535") for p in ports]
        run_batch(near, [pair(number, *names, far) for number, names in enumerate(ends)])
        run_batch(near, [f"link set dev {port.name} arp off up" for port in ports])
        run_batch(far, [f"link set w{port.number} up" for port in ports])
        await_links(self._namespaces, len(ports))
        self._sockets = [inside(far, lambda name=f"w{number}": open_link(name)) for number in range(len(ports))]  # type: ignore[misc]
        self._start()

    def _start(self) -> None:
        """Start the program; it is ready when it listens on all interfaces, or after `ready_s`."""
        try:
            self._program = subprocess.Popen(
                self.command, stdin=subprocess.DEVNULL, stdout=self._said, stderr=self._said, start_new_session=True,
                preexec_fn=lambda: enter(self._namespaces[0]),
            )  # fmt: skip
        except (OSError, subprocess.SubprocessError) as error:
            raise InputError(f"{self.command[0]} cannot be run: {getattr(error, 'strerror', None) or error}") from None
        end = time.monotonic() + self.ready_s
        while time.monotonic() < end and self._listening() < len(self.router.ports):
            self._must_run()
            time.sleep(0.01)
        self._left()
        for port in range(len(self.router.ports)):
            self._lost[port] = MOST_LOST - 1  # no more markers if two are lost; the first may be lost to an ARP request
            self._exchange(port, [])
            if self._lost[port]:
                self._exchange(port, [])

    def _listening(self) -> int:
        lines = inside(self._namespaces[0], lambda: Path("/proc/thread-self/net/packet").read_bytes()).splitlines()[1:]
        return len({line.split()[4] for line in lines})  # their interfaces

    def _must_run(self) -> None:
        status = None if self._program is None else self._program.poll()
        if status is not None:
            self._end()
            size = self._said.seek(0, os.SEEK_END)
            self._said.seek(max(0, size - 4096))
            lines = self._said.read().decode(errors="replace").strip().splitlines()
            raise InputError(
                f"{running(self.command)} must keep running, it ended with {status}: {(lines or ['no message'])[-1]}"
            )

    def _end(self) -> None:
        if self._program is not None:
            with suppress(ProcessLookupError):
                os.killpg(self._program.pid, signal.SIGKILL)
            self._program.wait()
        self._program = None

    def forward(self, port: int, frame: bytes) -> list[tuple[int, bytes]]:
        """Send one frame to a port; return all frames that leave until the program is done, as (port, frame), by port.

        Raises InputError if the program ends, or sends more than 256 frames for one frame: `examine_router` counts this
        as a failure of the frame.
        """
        if self._program is None:
            self._start()
        self._left()
        questions_before = self._questions
        sent = self._exchange(port, [frame])
        if self._again and not sent and self._questions > questions_before:
            sent = self._exchange(port, [frame])
        return sorted(sent, key=lambda row: row[0])

    def _exchange(self, port: int, frames: list[bytes]) -> list[tuple[int, bytes]]:
        """Send frames to a port, then its marker packet, if it has one; return the frames that leave."""
        self._serial += 1
        mark, marker = MARK + self._serial.to_bytes(4, "big"), self._behind[port]
        for frame in [*frames, marker + mark] if marker else frames:
            self._sockets[port].send(frame)
        end = time.monotonic() + (self.ready_s if marker else self.quiet_s)
        sent, done = list[tuple[int, bytes]](), False
        while select.select(self._sockets, [], [], 0 if done else self.quiet_s)[0] or (
            not done and time.monotonic() < end
        ):
            arrived = self._left()
            done |= any(data.endswith(mark) for _, data in arrived)
            sent += [row for row in arrived if MARK not in row[1]]
            if len(sent) > MAX_FRAMES_FOR_ONE:
                self._end()
                raise InputError(
                    f"{running(self.command)} must not flood: it sent more than {MAX_FRAMES_FOR_ONE} frames for one"
                )
            self._must_run()
        self._must_run()
        self._lost[port] = 0 if done else self._lost[port] + 1
        if self._lost[port] > MOST_LOST:
            self._behind[port] = b""
        return sent

    def _passing(self, port: int) -> bytes:
        """Return a marker frame without its mark, which must pass from a port to another; empty if there is none."""
        golden, input_port = judge_of(self.router), self.router.ports[port]
        for address in routed_of(self.router):
            mark = packet(input_port.network + 2, address, bytes(len(MARK) + 4), protocol=EXPERIMENTAL)
            frame = input_port.mac + input_port.peer_mac + IPV4_TYPE + mark
            if [sent.icmp for sent in golden.forward(port, frame).sent] == [False]:
                return frame[: -len(MARK) - 4]
        return b""

    def _left(self) -> list[tuple[int, bytes]]:
        """Return the frames that have arrived, by port; ARP requests are answered and left out."""
        return [
            (number, frame)
            for number, handle in enumerate(self._sockets)
            for frame in drain(handle)
            if not self._answered(number, frame)
        ]

    def _answered(self, port: int, frame: bytes) -> bool:
        request = read_arp(frame[14:]) if frame[12:14] == ARP_TYPE else None
        if request is None or request.operation != REQUEST:
            return False
        mac = self.router.mac_of(port, request.target)
        reply = write_arp(Arp(REPLY, mac, request.target, request.sender, request.sender_mac))
        self._sockets[port].send(request.sender_mac + mac + ARP_TYPE + reply)
        self._questions += 1
        return True
