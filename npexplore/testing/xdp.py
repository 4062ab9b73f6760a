"""An XDP program as a router under test: frames go through the interpreter, without interfaces (docs/testing.md).

Interface n + 1 is port n. Frames that the program sends (XDP_TX, XDP_REDIRECT) or drops are judged; frames that it
passes to the kernel (XDP_PASS) are not, because software forwards them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path

from npexplore._kernels import ebpf as k
from npexplore.errors import InputError
from npexplore.golden.router.configuration import KINDS, Router
from npexplore.programs.loading import program as load_program
from npexplore.programs.records import Program
from npexplore.programs.result import verdict_name
from npexplore.programs.running import Contents, Runner, of_bytes
from npexplore.testing.drawing import as_router
from npexplore.testing.fib import forwarding_tables

UNICAST = KINDS.index("unicast")
HOP_BYTES, STATION_BYTES = 20, 8
PASSING = ("pass", "tx", "redirect")  # verdicts that drop nothing


class XdpRouter:
    """An XDP program between the ports of a router: pass `forward` to `check_router` or `examine_router`.

    program: an object file (section: the program in it), or a loaded program; router: its configuration, a file or a
    name, whose tables `fib_lookup` reads; maps: initial contents; None: `hops` and `stations` from the configuration
    (`fast_path_maps`), if the program has them. filters: True for a filter, which sends nothing itself: a frame that it
    does not drop passes unchanged. `verdicts` counts frames; `maps` are the initial contents. Raises InputError as
    `npexplore.program` does.

    Example:
        >>> import npexplore as npx
        >>> from npexplore.testing import XdpRouter
        >>> XdpRouter(npx.program("mov r0, 1\\nexit"), "office").forward(0, bytes(64))
        []
    """

    def __init__(
        self, program: Program | str | Path, router: Router | str | Path, *, section: str | None = None,
        maps: Mapping[str, Contents] | None = None, filters: bool = False,
    ) -> None:  # fmt: skip
        self.origin, self.filters = (program, router, section, maps), filters
        self.router = as_router(router)
        self.program = program if isinstance(program, Program) else load_program(program, section)
        self.verdicts: Counter[str] = Counter()
        self.maps = contents = fast_path_maps(self.router, self.program) if maps is None else maps
        asks = "fib_lookup" in self.program.helpers
        self._runner = Runner(self.program, contents, fib=forwarding_tables(self.router) if asks else None)

    def __repr__(self) -> str:
        return f"XdpRouter({self.program!r})"

    def forward(self, port: int, frame: bytes) -> list[tuple[int, bytes]] | None:
        """Return the frames sent for a frame as (port, frame); None if it is passed to the kernel."""
        verdict, out, sent = self._answer(port, frame)
        self.verdicts[verdict] += 1
        if self.filters:
            return [(port, frame)] if verdict in PASSING else []
        if verdict == "pass":
            return None
        return [(out, sent)] if verdict in ("tx", "redirect") else []

    def _answer(self, port: int, frame: bytes) -> tuple[str, int, bytes]:
        """Return the verdict, the output port and the octets after the program."""
        self._runner.receive(port + 1, 0)
        (batch,) = of_bytes(self._runner, [frame])
        row = batch.rows[0]
        verdict = verdict_name(int(row[k.VERDICT]))
        if verdict == "fault":
            raise RuntimeError(f"the program faults at {self.program.place(int(row[k.FAULT_SLOT]))}")
        begin = int(row[k.OUT_AT] + row[k.METADATA])
        out = int(row[k.SENT_TO]) - 1 if verdict == "redirect" else port
        return verdict, out, batch.out[begin : begin + int(row[k.LENGTH])].tobytes()


def fast_path_maps(router: Router, program: Program) -> dict[str, dict[bytes, bytes]]:
    """Return contents for the maps `hops` and `stations` of a program, as data/programs/router.c declares them.

    hops: prefix -> interface, MTU, source and destination MAC address; interface 0: addresses of the router itself,
    broadcasts, unreachable routes, routes that a fast path does not support (labels, several next hops), unknown hosts.
    stations: interface -> its MAC address. Raises InputError for maps of these names in another layout.
    """
    sizes = {table.name: (table.key_bytes, table.value_bytes) for table in program.used_maps.values()}
    layouts = {"hops": (8, HOP_BYTES), "stations": (4, STATION_BYTES)}
    for name in layouts.keys() & sizes.keys():
        if sizes[name] != layouts[name]:
            raise InputError(f"{program.path}: map {name!r} has another layout than in data/programs/router.c")
    return {name: contents for name, contents in (("hops", _hops(router)), ("stations", _stations(router)))
            if name in sizes}  # fmt: skip


def _stations(router: Router) -> dict[bytes, bytes]:
    return {(port.number + 1).to_bytes(4, "little"): port.mac + bytes(2) for port in router.ports}


def _hops(router: Router) -> dict[bytes, bytes]:
    def key(address: int, length: int) -> bytes:
        return length.to_bytes(4, "little") + address.to_bytes(4, "big")

    def hop(port: int, mac: bytes) -> bytes:
        link = router.ports[port]
        return (port + 1).to_bytes(4, "little") + link.mtu.to_bytes(2, "little") + link.mac + mac + bytes(2)

    routes, hops = router.routes, {}
    nothing = [0] * len(routes)
    stacks, several = (nothing if column is None else column.tolist() for column in (routes.stack, routes.next_hops))
    columns = (routes.value, routes.length, routes.kind, routes.port, routes.via)
    for value, length, kind, port, via, stack, hops_of in zip(
        *(column.tolist() for column in columns), stacks, several, strict=True
    ):
        is_special = kind != UNICAST or stack or hops_of
        has_neighbour = not is_special and ((port, via) in router.neighbours or not router.ports[port].listed_only)
        hops[key(value, length)] = hop(port, router.mac_of(port, via)) if has_neighbour else bytes(HOP_BYTES)
    hops |= {key(address, 32): hop(port, mac) for (port, address), mac in router.neighbours.items()}
    for link in router.ports:
        for address, length in link.subnets:
            width = (1 << 32 - length) - 1
            local_addresses = {address, address & ~width, address | width} if length < 31 else {address}
            hops |= {key(local_address, 32): bytes(HOP_BYTES) for local_address in local_addresses}
    return hops
