"""The schema of ROUTER.toml: the user's entries, before they are checked and resolved (docs/router_files.md)."""

from __future__ import annotations

from typing import Literal, get_args

import msgspec

from npexplore.golden.linux.settings import DEFAULTS, LinuxSettings
from npexplore.golden.mpls.impose import TtlModel
from npexplore.golden.router.policy import OFF, Policy
from npexplore.toml import Record

ProfileName = Literal["rfc1812", "linux"]  # those of golden/router/profiles.py
RouteKind = Literal["unicast", "blackhole", "unreachable", "prohibit"]
KINDS: tuple[str, ...] = get_args(RouteKind)


class PortRecord(Record, frozen=True, kw_only=True):
    """A port: its address with the link's prefix length, its MTU in bytes, both MAC addresses of the link.

    address6: the same for IPv6. addresses: additional ones of either family; one without a length lies in a network
    of the link. vlan, on: the VLAN's number, and the port that carries it; a VLAN inherits this port's MAC addresses
    unless it has its own. listed_only: only addresses with a `neighbour` entry are on the link.

    Example:
        >>> from npexplore.golden import PortRecord
        >>> PortRecord(name="lan", address="10.0.0.1/24").mtu
        1500
    """

    name: str
    address: str
    mac: str | None = None
    peer_mac: str | None = None
    mtu: int = 1500
    rate: str | None = None
    listed_only: bool = False
    address6: str | None = None
    addresses: list[str] = msgspec.field(default_factory=list)
    on: str | None = None
    vlan: int | None = None


class NeighbourRecord(Record, frozen=True, kw_only=True):
    """A neighbour: an address on a link, and its MAC address."""

    address: str
    mac: str


class NextHopRecord(Record, frozen=True, kw_only=True):
    """One of several next hops of a route; flows are distributed by their weights. port: as in a route."""

    via: str
    port: str | None = None
    weight: int = 1


class RouteRecord(Record, frozen=True, kw_only=True):
    """A route: to one or several next hops, out of a port, or one that drops (kinds as in ip-route).

    next_hops: instead of via and port.
    push: labels to push onto its packets, outermost first. ttl: the RFC 3443 model that sets the labels' TTL.

    Example:
        >>> from npexplore.golden import RouteRecord
        >>> RouteRecord(prefix="10.0.0.0/8", via="10.0.0.2").kind
        'unicast'
    """

    prefix: str
    via: str | None = None
    port: str | None = None
    kind: RouteKind = "unicast"
    push: list[int] = msgspec.field(default_factory=list)
    ttl: TtlModel = "uniform"
    next_hops: list[NextHopRecord] = msgspec.field(default_factory=list)


class LabelRecord(Record, frozen=True, kw_only=True):
    """An entry of the incoming label map: the labels that replace the top label, outermost first; none pops it.

    With via or port the packet is sent there; without, the router looks up the next label, or the IP destination.
    ttl: the model of RFC 3443.
    """

    label: int
    labels: list[int] = msgspec.field(default_factory=list)
    via: str | None = None
    port: str | None = None
    ttl: TtlModel = "uniform"


class RoutesFile(Record, frozen=True, kw_only=True):
    """A file of lines `PREFIX via ADDRESS`, `PREFIX PORT` or `PREFIX KIND`; gzip if its name ends in .gz."""

    file: str


class DiffservRecord(Record, frozen=True, kw_only=True):
    """A DiffServ edge at every port: a file of rules, with policers, queues and schedulers (docs/diffserv.md)."""

    rules: str


class RouterFile(Record, frozen=True, kw_only=True):
    """Schema of ROUTER.toml. Ports are numbered in their order.

    Example:
        >>> from npexplore.golden import PortRecord, RouterFile, resolve_router
        >>> a, b = "02:00:00:00:00:01", "02:00:00:00:00:02"
        >>> lan = PortRecord(name="lan", address="10.0.0.1/24", mac=a, peer_mac=b)
        >>> len(resolve_router(RouterFile(port=[lan])).routes)
        1
    """

    profile: ProfileName = "rfc1812"
    port: list[PortRecord]
    neighbour: list[NeighbourRecord] = msgspec.field(default_factory=list)
    route: list[RouteRecord] = msgspec.field(default_factory=list)
    label: list[LabelRecord] = msgspec.field(default_factory=list)
    routes: RoutesFile | None = None
    policy: Policy = OFF
    linux: LinuxSettings = DEFAULTS
    diffserv: DiffservRecord | None = None
