"""The Linux kernel as an oracle: it forwards Ethernet frames between network namespaces, with a router's configuration.

    with LinuxKernel(load_router("router.toml")) as kernel:
        kernel.forward(port=0, frame=frame)      # -> [(port, frame), ...]

One namespace is the router, another holds the far ends of its links (veth); frames go in and out by AF_PACKET. What
would depend on time is switched off: neighbours are permanent, ICMP has no rate limit, no reverse path filter. Behind
each frame a marker is sent over a link of its own; when it arrives, all that the frame caused has arrived. Needs the
`ip` program and the right to make namespaces (CAP_SYS_ADMIN).
"""

from __future__ import annotations

import os
import select
import socket
import struct
import subprocess
from collections.abc import Callable, Iterator, Sequence
from types import TracebackType

import numpy as np

from npexplore.errors import InputError
from npexplore.golden.ethernet import IPV6_TYPE
from npexplore.golden.ipv4.addresses import address_number, address_text, mask_of
from npexplore.golden.router.configuration import KINDS, PortRecord, Router, RouterFile, resolve
from npexplore.golden.router.ports import Port
from npexplore.testing import linux_kernel6
from npexplore.testing.namespaces import (
    Result,
    drain,
    enter,
    in_thread,
    make_namespace,
    open_link,
    why_no_namespaces,
    write_settings,
)

MARKER_NETWORK = "198.51.100.252/30"  # TEST-NET-2 (RFC 5737): no configuration may use it
MARKER_ROUTER, MARKER_TARGET = "198.51.100.253", "198.51.100.254"
MARKER_MAC = b"\x02\x00\x00\x00\x03\xfe"
LINK_HEADER = 14
PATIENCE_S = 5.0
HOSTS_LISTED = 4096  # neighbours of a link that are entered one by one

# What RFC 1812 asks for or leaves open, and what would make answers depend on time.
SETTINGS = {
    "ip_forward": 1,
    "icmp_ratelimit": 0,
    "icmp_msgs_per_sec": 1_000_000,
    "icmp_msgs_burst": 1_000_000,
    "icmp_echo_ignore_all": 1,
    "icmp_errors_use_inbound_ifaddr": 0,
    "ipfrag_time": 3600,  # pieces for the router itself are not missed within a run
}
LINK_SETTINGS = {
    "rp_filter": 0,
    "accept_source_route": 1,
    "send_redirects": 1,
    "log_martians": 0,
    "accept_local": 0,
    "route_localnet": 0,
    "bc_forwarding": 0,
    "accept_redirects": 0,
}


def why_not() -> str | None:
    """Return why the kernel cannot be asked here, or None if it can: a small router was set up and took a frame."""
    reason = why_no_namespaces()
    if reason:
        return reason
    port = PortRecord(name="p", address="10.0.0.1/30", mac="02:00:00:00:00:00", peer_mac="02:00:00:00:01:00")
    try:
        with LinuxKernel(resolve(RouterFile(port=[port]))) as kernel:
            kernel.forward(0, bytes(LINK_HEADER))
    except (InputError, OSError) as error:
        return f"a router in a namespace cannot be set up: {error}"
    return None


class LinuxKernel:
    """A router of the Linux kernel; use it in a `with` block. Raises InputError where it cannot be set up."""

    def __init__(self, router: Router) -> None:
        self.router = router
        self._sockets: list[socket.socket] = []
        self._namespaces: list[int] = []
        self._cores = os.sched_getaffinity(0)
        self._attached = self._to_ports()
        self._introduced = {a for port in router.ports for a in (port.address, port.broadcast) if a is not None}

        self._introduced6: set[str] = set()

    def __enter__(self) -> LinuxKernel:
        reason = why_no_namespaces()
        if reason:
            raise InputError(f"the Linux kernel cannot be asked: {reason}")
        try:
            self._set_up()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Close the sockets and let the namespaces go; the links vanish with them."""
        for handle in self._sockets:
            handle.close()
        for namespace in self._namespaces:
            os.close(namespace)
        self._sockets, self._namespaces = [], []
        os.sched_setaffinity(0, self._cores)

    def _inside(self, which: int, work: Callable[[], Result]) -> Result:
        def entered() -> Result:
            enter(self._namespaces[which])
            return work()

        return in_thread(entered)

    def _ip(self, which: int, commands: Sequence[str]) -> None:
        """Run commands of iproute2 in the router (0) or at the far ends (1)."""

        def work() -> subprocess.CompletedProcess[str]:
            text = "\n".join(commands) + "\n"
            return subprocess.run(["ip", "-batch", "-"], input=text, capture_output=True, text=True, check=False)

        done = self._inside(which, work)
        if done.returncode:
            raise InputError(f"the Linux kernel refuses the configuration: {done.stderr.strip().splitlines()[0]}")

    def _set_up(self) -> None:
        # Frames are handled where they are sent: on one core, in the order in which they came.
        os.sched_setaffinity(0, {min(self._cores)})
        self._namespaces = [make_namespace(), make_namespace()]
        far = f"/proc/{os.getpid()}/fd/{self._namespaces[1]}"
        ports = [(f"r{p.number} mtu {p.mtu} address {_text(p.mac)}", f"w{p.number}") for p in self.router.ports]
        links = [*ports, (f"mark address {_text(MARKER_MAC)}", "wmark")]
        self._ip(0, [f"link add {near} type veth peer name {end} mtu 65535 netns {far}" for near, end in links])
        self._inside(0, self._configure)
        far_ends = [end for _, end in links]
        self._inside(1, lambda: write_settings("ipv6", {"conf/all/disable_ipv6": 1, "conf/default/disable_ipv6": 1}))
        self._ip(1, [f"link set {name} up" for name in far_ends])
        self._ip(0, [*self._commands(), *linux_kernel6.commands(self.router)])
        self._sockets = [self._inside(1, lambda name=name: open_link(name)) for name in far_ends]  # type: ignore[misc]

    def _configure(self) -> None:
        if self.router.six is None:
            write_settings("ipv6", {"conf/all/disable_ipv6": 1, "conf/default/disable_ipv6": 1})
        else:
            links = [f"r{k}" for k, port in enumerate(self.router.six.ports) if port]
            write_settings("ipv6", {"conf/mark/disable_ipv6": 1, **linux_kernel6.settings(links)})
        write_settings("ipv4", SETTINGS)
        for link in ("all", "default", "mark", *(f"r{port.number}" for port in self.router.ports)):
            write_settings("ipv4", {f"conf/{link}/{name}": value for name, value in LINK_SETTINGS.items()})

    def _commands(self) -> Iterator[str]:
        for port in self.router.ports:
            at = f"dev r{port.number}"
            yield f"address add {address_text(port.address)}/{port.length} broadcast + {at}"
            yield f"link set r{port.number} up"
            for address in self._neighbours(port):
                mac = _text(self.router.mac_of(port.number, address))
                yield f"neighbour replace {address_text(address)} lladdr {mac} nud permanent {at}"
        yield f"address add {MARKER_ROUTER}/30 dev mark"
        yield "link set mark up"
        yield "link set lo up"
        yield f"neighbour replace {MARKER_TARGET} lladdr {_text(MARKER_MAC)} nud permanent dev mark"
        routes = self.router.routes
        columns = (routes.value, routes.length, routes.kind, routes.port, routes.via)
        rows = zip(*(column.tolist() for column in columns), strict=True)
        for number, (value, length, kind, exit_port, via) in enumerate(rows):
            if number < len(self.router.ports):
                continue  # the kernel makes these itself, from the addresses
            where = f"dev r{exit_port}" if kind == 0 else ""
            through = f"via {address_text(via)}" if via else ""
            yield f"route replace {KINDS[kind]} {address_text(value)}/{length} {through} {where}"

    def _to_ports(self) -> dict[int, dict[int, list[int]]]:
        """Return the prefixes that lead to ports without a next hop, but small links: {length: {value: ports}}."""
        routes = self.router.routes
        found: dict[int, dict[int, list[int]]] = {}
        for row in np.flatnonzero((routes.via == 0) & (routes.kind == 0)).tolist():
            length, value = int(routes.length[row]), int(routes.value[row])
            if row >= len(self.router.ports) or 1 << 32 - length > HOSTS_LISTED:
                found.setdefault(length, {}).setdefault(value, []).append(int(routes.port[row]))
        return found

    def _neighbours(self, port: Port) -> Iterator[int]:
        """Return the addresses of a link that need an entry: all of a small link, the next hops of a large one."""
        hosts = 1 << 32 - port.length
        if hosts <= HOSTS_LISTED:
            not_hosts = (port.address, port.broadcast)
            yield from (a for a in range(port.network, port.network + hosts) if a not in not_hosts)
            return
        vias = {int(v) for v in self.router.routes.via[self.router.routes.port == port.number] if v}
        yield from sorted(vias | {a for a in self.router.neighbours if port.on_link(a)})

    def forward(self, port: int, frame: bytes) -> list[tuple[int, bytes]]:
        """Send one frame into a port; return all frames that leave the router for it, as (port, frame), by port.

        Raises InputError for a frame that no link carries: shorter than its header, or too long for the port.
        """
        longest = self.router.ports[port].mtu + LINK_HEADER
        if not LINK_HEADER <= len(frame) <= longest:
            raise InputError(f"port {port} takes frames of {LINK_HEADER} to {longest} bytes, got {len(frame)}")
        if frame[12:LINK_HEADER] == IPV6_TYPE:
            self._introduce6(frame, port)
        else:
            self._introduce(frame[LINK_HEADER:])
        marker = self._marker()
        self._sockets[port].send(frame)
        self._sockets[0].send(marker)
        self._await_marker(marker)
        drained = [(number, data) for number, handle in enumerate(self._sockets[:-1]) for data in drain(handle)]
        return [row for row in drained if self.router.six is None or row[1][:2] != linux_kernel6.TO_MANY]

    def _introduce(self, packet: bytes) -> None:
        """Enter the neighbours that this packet may be sent to: source, destination, what its options may name."""
        end = min(4 * (packet[0] & 15), len(packet)) if packet else 0
        commands = []
        for at in (12, 16, *range(20, end - 3)):
            address = int.from_bytes(packet[at : at + 4], "big")
            if address in self._introduced:
                continue
            self._introduced.add(address)
            for length, prefixes in self._attached.items():
                for port in prefixes.get(address & mask_of(length), ()):
                    mac = _text(self.router.mac_of(port, address))
                    commands.append(f"neighbour replace {address_text(address)} lladdr {mac} nud permanent dev r{port}")
        if commands:
            self._ip(0, commands)

    def _introduce6(self, frame: bytes, port: int) -> None:
        commands = set(linux_kernel6.introductions(self.router, frame, port)) - self._introduced6
        self._introduced6 |= commands
        if commands:
            self._ip(0, sorted(commands))

    def _marker(self) -> bytes:
        port = self.router.ports[0]
        source, target = port.address ^ 1, address_number(MARKER_TARGET)
        header = bytearray(struct.pack(">BBHHHBBHII", 0x45, 0, 20, 0, 0, 9, 253, 0, source, target))
        total = sum(struct.unpack(">10H", header))
        total = (total & 0xFFFF) + (total >> 16)
        header[10:12] = struct.pack(">H", ~(total + (total >> 16)) & 0xFFFF)
        return port.mac + port.peer_mac + b"\x08\x00" + bytes(header)

    def _await_marker(self, marker: bytes) -> None:
        handle = self._sockets[-1]
        while True:
            if not select.select([handle], [], [], PATIENCE_S)[0]:
                raise InputError(f"the Linux kernel did not forward a marker within {PATIENCE_S} s")
            if handle.recv(65_536)[30:34] == marker[30:34]:
                return


def _text(mac: bytes) -> str:
    return ":".join(f"{byte:02x}" for byte in mac)
