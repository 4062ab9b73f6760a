"""The Linux kernel as an oracle: it forwards Ethernet frames between network namespaces, with a router's configuration.

    with LinuxKernel(load_router("router.toml")) as kernel:
        kernel.forward(port=0, frame=frame)      # -> [(port, frame), ...]

One namespace is the router, another holds the far ends of its links (veth); frames go in and out by AF_PACKET.
Behaviour that depends on time is switched off: neighbours are permanent, ICMP has no rate limit. After each frame a
marker is sent and received over a separate link; when it arrives, all output for the frame has arrived. Needs the `ip`
program and the right to make namespaces (CAP_SYS_ADMIN).
"""

from __future__ import annotations

import os
import select
import struct
import time
from collections.abc import Iterator, Sequence

import numpy as np

from npexplore.errors import InputError
from npexplore.golden.ethernet import IPV6_TYPE
from npexplore.golden.ipv4.addresses import MAX_ADDRESS, address_number, address_text, prefix_mask
from npexplore.golden.linux.routes import MULTICAST
from npexplore.golden.router.configuration import KINDS, PortRecord, Router, RouterFile, resolve_router
from npexplore.golden.router.ports import Port
from npexplore.golden.router.vlans import TAGS
from npexplore.testing import linux_kernel6
from npexplore.testing.linux_kernel6 import told_next_hops
from npexplore.testing.namespaces import (
    NO_IPV6,
    PATIENCE_S,
    Between,
    await_links,
    drain,
    inside,
    make_namespace,
    open_link,
    pair,
    run_batch,
    why_no_namespaces,
    write_settings,
)

MARKER_NETWORK = "198.51.100.248/29"  # TEST-NET-2 (RFC 5737): no configuration may use it
MARKER_ROUTER, MARKER_SOURCE, MARKER_TARGET = "198.51.100.249", "198.51.100.250", "198.51.100.254"
MARKER_MAC = b"\x02\x00\x00\x00\x03\xfe"
LINK_HEADER = 14
HOSTS_LISTED = 4096  # largest link whose neighbours are all added at the start

# Settings without which answers would depend on time, and settings that [linux] of ROUTER.toml does not have.
SETTINGS = {
    "ip_forward": 1,
    "icmp_msgs_per_sec": 1_000_000,
    "icmp_msgs_burst": 1_000_000,
    "ipfrag_time": 3600,  # incomplete fragments for the router itself do not time out within a run
}
LINK_SETTINGS = {
    "log_martians": 0,
    "accept_local": 0,
    "route_localnet": 0,
    "bc_forwarding": 0,
    "accept_redirects": 0,
}

# Neighbour settings without time-outs, in ms, 1/100 s and s.
STILL = {"retrans_time_ms": 3_600_000, "locktime": 360_000, "delay_first_probe_time": 3600}
TOLD = (  # settings taken from the router's configuration
    "icmp_errors_use_inbound_ifaddr",
    "icmp_ratelimit",
    "icmp_ratemask",
    "fib_multipath_hash_policy",
    "fib_multipath_hash_fields",
    "fib_multipath_hash_seed",
)
TOLD_OF_LINKS = ("accept_source_route", "rp_filter", "send_redirects")


def why_not() -> str | None:
    """Return why the kernel cannot be used here, None if it can; this sets up a small router to try."""
    reason = why_no_namespaces()
    if reason:
        return reason
    port = PortRecord(name="p", address="10.0.0.1/30", mac="02:00:00:00:00:00", peer_mac="02:00:00:00:01:00")
    try:
        with LinuxKernel(resolve_router(RouterFile(port=[port]))) as kernel:
            kernel.forward(0, bytes(LINK_HEADER))
    except (InputError, OSError) as error:
        return f"a router in a namespace cannot be set up: {error}"
    return None


class LinuxKernel(Between):
    """A router of the Linux kernel; use it in a `with` block. Raises InputError if it cannot be set up.

    clock: whether neighbour entries expire and are probed again, and may change after a second.
    """

    REFUSED = "the Linux kernel cannot be asked"

    def __init__(self, router: Router, *, clock: bool = True) -> None:
        super().__init__()
        self.router, self._clock = router, clock
        self._cores = os.sched_getaffinity(0)
        self._address_routes = sum(len(port.networks) for port in router.ports)  # routes that the kernel adds itself
        self._attached = self._to_ports()
        self._introduced = {address for port in router.ports for address in (*port.own, *port.broadcasts)}
        self._introduced.add(MAX_ADDRESS)  # the limited broadcast always has the broadcast MAC address

        self._introduced6: set[str] = set()
        self._known = router.policy.neighbours == "known"

    def close(self) -> None:
        """Close the sockets and delete the namespaces with their links."""
        super().close()
        os.sched_setaffinity(0, self._cores)

    def _set_up(self) -> None:
        # On one core the kernel handles frames in the order in which they are sent.
        os.sched_setaffinity(0, {min(self._cores)})
        self._namespaces = router, ends = [make_namespace(), make_namespace()]
        ports = [(f"r{p.number} mtu {p.mtu} address {_text(p.mac)}", f"w{p.number}") for p in self.router.ports]
        links = [*ports, (f"mark address {_text(MARKER_MAC)}", "wmark")]
        run_batch(router, [pair(number, near, f"{end} mtu 65535", ends) for number, (near, end) in enumerate(links)])
        inside(router, self._configure)
        far_ends = [end for _, end in links]
        inside(ends, lambda: write_settings("ipv6", NO_IPV6))
        run_batch(ends, [f"link set {name} up" for name in far_ends])
        run_batch(router, [*self._commands(), *linux_kernel6.commands(self.router)])
        await_links(self._namespaces, len(links))
        self._sockets = [inside(ends, lambda name=name: open_link(name)) for name in far_ends]  # type: ignore[misc]

    def _configure(self) -> None:
        if self.router.six is None:
            write_settings("ipv6", NO_IPV6)
        else:
            links = [f"r{number}" for number, port in enumerate(self.router.six.ports) if port]
            write_settings("ipv6", {"conf/mark/disable_ipv6": 1, **linux_kernel6.settings(links, self.router.linux)})
        linux_settings, ignore_echo = self.router.linux, {"icmp_echo_ignore_all": int(not self.router.policy.answers)}
        write_settings("ipv4", {**SETTINGS, **ignore_echo, **{key: int(getattr(linux_settings, key)) for key in TOLD}})
        link_settings = {**LINK_SETTINGS, **{key: int(getattr(linux_settings, key)) for key in TOLD_OF_LINKS}}
        for link in ("all", "default", *(f"r{port.number}" for port in self.router.ports)):
            write_settings("ipv4", {f"conf/{link}/{name}": value for name, value in link_settings.items()})
        if not self._clock:
            for family in ("ipv4", "ipv6"):
                slow = {f"neigh/r{p.number}/{name}": value for p in self.router.ports for name, value in STILL.items()}
                write_settings(family, slow)

    def _commands(self) -> Iterator[str]:
        for port in self.router.ports:
            at = f"dev r{port.number}"
            for address, length in port.subnets:
                yield f"address add {address_text(address)}/{length} broadcast + {at}"
            yield f"link set r{port.number} up"
            for address in self._neighbours(port) if self._known else self._listed(port):
                mac = _text(self.router.mac_of(port.number, address))
                yield f"neighbour replace {address_text(address)} lladdr {mac} nud permanent {at}"
        yield f"address add {MARKER_ROUTER}/29 dev mark"
        yield "link set mark up"
        yield "link set lo up"
        yield f"neighbour replace {MARKER_TARGET} lladdr {_text(MARKER_MAC)} nud permanent dev mark"
        yield f"route add {MARKER_SOURCE}/32 via {MARKER_TARGET} dev mark"  # no neighbour: no redirect
        routes = self.router.routes
        columns = (routes.value, routes.length, routes.kind, routes.port, routes.via)
        rows = zip(*(column.tolist() for column in columns), strict=True)
        for number, (value, length, kind, exit_port, via) in enumerate(rows):
            if number < self._address_routes:
                continue  # the kernel adds these routes itself, from the addresses
            where = f"dev r{exit_port}" if kind == 0 else ""
            through = f"via {address_text(via)}" if via else ""
            several = self._several(number)
            if several:
                through, where = " ".join(several), ""
            yield f"route replace {KINDS[kind]} {address_text(value)}/{length} {through} {where}"

    def _several(self, number: int) -> list[str]:
        """Return the next hops of a multipath route in the syntax of iproute2."""
        column = self.router.routes.next_hops
        return [] if column is None else told_next_hops(self.router.next_hops[column[number]], address_text)

    def _to_ports(self) -> dict[int, dict[int, list[int]]]:
        """Return the prefixes that lead to ports without a next hop, except small links: {length: {value: ports}}."""
        routes = self.router.routes
        ports: dict[int, dict[int, list[int]]] = {}
        for row in np.flatnonzero((routes.via == 0) & (routes.kind == 0)).tolist():
            length, value = int(routes.length[row]), int(routes.value[row])
            if row >= self._address_routes or 1 << 32 - length > HOSTS_LISTED:
                ports.setdefault(length, {}).setdefault(value, []).append(int(routes.port[row]))
        return ports

    def _neighbours(self, port: Port) -> Iterator[int]:
        """Return the addresses of a link that need an entry: all of a small link, the next hops of a large link."""
        for port_address, length in port.networks:
            hosts, first = 1 << 32 - length, port_address & prefix_mask(length)
            if hosts <= HOSTS_LISTED:
                yield from (a for a in range(first, first + hosts) if a not in port.own and a not in port.broadcasts)
                continue
            vias = {int(via) for via in self.router.routes.via[self.router.routes.port == port.number] if via}
            vias |= {next_hop.hop.via for several in self.router.next_hops for next_hop in several}
            candidates = vias | self._listed(port)
            yield from sorted(address for address in candidates if (address ^ port_address) & prefix_mask(length) == 0)

    def _listed(self, port: Port) -> set[int]:
        """Return the neighbours of a link with a configured MAC address."""
        return {address for number, address in self.router.neighbours if number == port.number}

    def forward(self, port: int, frame: bytes) -> list[tuple[int, bytes]]:
        """Send one frame into a port; return all frames that the router sends for it, as (port, frame), by port.

        Raises InputError for a frame that no link carries: shorter than its header, or too long for the port.
        """
        longest = self.router.ports[port].mtu + LINK_HEADER
        if not LINK_HEADER <= len(frame) <= longest:
            raise InputError(f"port {port} takes frames of {LINK_HEADER} to {longest} bytes, got {len(frame)}")
        self.introduce([(port, frame)])
        marker = self._marker()
        self._sockets[port].send(frame)
        self._sockets[-1].send(marker)
        self._await_marker(marker)
        return self._left()

    def wait(self, seconds: float) -> list[tuple[int, bytes]]:
        """Wait; return the frames that the router sends unsolicited, as (port, frame), by port."""
        time.sleep(seconds)
        return self._left()

    def _left(self) -> list[tuple[int, bytes]]:
        drained = [(number, data) for number, handle in enumerate(self._sockets[:-1]) for data in drain(handle)]
        unsolicited = linux_kernel6.TO_MANY if self._known else linux_kernel6.REPORTS
        return [row for row in drained if self.router.six is None or not row[1].startswith(unsolicited)]

    def introduce(self, frames: Sequence[tuple[int, bytes]]) -> None:
        """Add the neighbour entries that these frames may need; one call for many frames is faster."""
        commands: list[str] = []
        for port, tagged in frames if self._known else ():
            frame = tagged
            while frame[12:LINK_HEADER] in TAGS:
                frame = frame[:12] + frame[16:]
            if frame[12:LINK_HEADER] == IPV6_TYPE:
                missing = set(linux_kernel6.introductions(self.router, frame, port)) - self._introduced6
                self._introduced6 |= missing
                commands += sorted(missing)
            else:
                commands += self._introductions(frame[LINK_HEADER:])
        if commands:
            run_batch(self._namespaces[0], commands)

    def _introductions(self, packet: bytes) -> Iterator[str]:
        """Yield commands for the source, the destination and addresses in options, except multicast groups."""
        end = min(4 * (packet[0] & 15), len(packet)) if packet else 0
        for at in (12, 16, *range(20, end - 3)):
            address = int.from_bytes(packet[at : at + 4], "big")
            if address in self._introduced or address >> 28 == MULTICAST:
                continue
            self._introduced.add(address)
            for length, prefixes in self._attached.items():
                for port in prefixes.get(address & prefix_mask(length), ()):
                    mac = _text(self.router.mac_of(port, address))
                    yield f"neighbour replace {address_text(address)} lladdr {mac} nud permanent dev r{port}"

    def _marker(self) -> bytes:
        source, target = address_number(MARKER_SOURCE), address_number(MARKER_TARGET)
        header = bytearray(struct.pack(">BBHHHBBHII", 0x45, 0, 20, 0, 0, 9, 253, 0, source, target))
        total = sum(struct.unpack(">10H", header))
        total = (total & 0xFFFF) + (total >> 16)
        header[10:12] = struct.pack(">H", ~(total + (total >> 16)) & 0xFFFF)
        return MARKER_MAC + MARKER_MAC + b"\x08\x00" + bytes(header)

    def _await_marker(self, marker: bytes) -> None:
        handle = self._sockets[-1]
        while True:
            if not select.select([handle], [], [], PATIENCE_S)[0]:
                raise InputError(f"the Linux kernel did not forward a marker within {PATIENCE_S} s")
            if handle.recv(65_536)[30:34] == marker[30:34]:
                return


def _text(mac: bytes) -> str:
    return ":".join(f"{byte:02x}" for byte in mac)
