"""The schema of ROUTER.toml: what a user may write, before anything is checked or resolved (docs/router_files.md)."""

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
    """A port: its address with the length of the link's network, its MTU in bytes, both MAC addresses of the link.

    address6: the same for IPv6. addresses: further ones of either family; one without a length lies in a network of
    the link. vlan, on: its VLAN's number, and the port that carries it, whose MAC addresses are its own unless it has
    some. listed_only: nobody is on the link but those that have a `neighbour` entry.

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
    """An address on a link with a MAC address of its own."""

    address: str
    mac: str


class NextHopRecord(Record, frozen=True, kw_only=True):
    """One of several next hops of a route; by their weights they share its flows. port: as of a route."""

    via: str
    port: str | None = None
    weight: int = 1


class RouteRecord(Record, frozen=True, kw_only=True):
    """A route: to a next hop, to one of several, out of a port, or one that drops (kinds as in ip-route).

    next_hops: in place of via and port.
    push: labels to put on its packets, outermost first. ttl: the model of RFC 3443 that they get their time to live by.

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
    """An entry of the incoming label map: the labels that take the top's place, outermost first, none to pop it.

    With via or port the packet goes there; without, the router looks again, by the next label or by IP. ttl: the model
    of RFC 3443.
    """

    label: int
    labels: list[int] = msgspec.field(default_factory=list)
    via: str | None = None
    port: str | None = None
    ttl: TtlModel = "uniform"


class RoutesFile(Record, frozen=True, kw_only=True):
    """A file of lines `PREFIX via ADDRESS`, `PREFIX PORT` or `PREFIX KIND`; gzip by its name (.gz)."""

    file: str


class DiffservRecord(Record, frozen=True, kw_only=True):
    """A DiffServ edge at every port: a file of rules, with policers, queues and schedulers (docs/diffserv.md)."""

    rules: str


class RouterFile(Record, frozen=True, kw_only=True):
    """Schema of ROUTER.toml. The order of the ports gives them their numbers.

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
