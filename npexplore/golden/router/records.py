"""The schema of ROUTER.toml: what a user may write, before anything is checked or resolved (docs/golden.md)."""

from __future__ import annotations

from typing import Literal, get_args

import msgspec

from npexplore.golden.mpls.impose import TtlModel
from npexplore.golden.router.policy import OFF, Policy
from npexplore.toml import Record

ProfileName = Literal["rfc1812", "linux"]  # those of golden/router/profiles.py
RouteKind = Literal["unicast", "blackhole", "unreachable", "prohibit"]
KINDS: tuple[str, ...] = get_args(RouteKind)


class PortRecord(Record, frozen=True, kw_only=True):
    """A port: its address with the length of the link's network, its MTU in bytes, both MAC addresses of the link.

    address6: the same for IPv6. listed_only: nobody is on the link but those that have a `neighbour` entry.
    """

    name: str
    address: str
    mac: str
    peer_mac: str
    mtu: int = 1500
    rate: str | None = None
    listed_only: bool = False
    address6: str | None = None


class NeighbourRecord(Record, frozen=True, kw_only=True):
    """An address on a link with a MAC address of its own."""

    address: str
    mac: str


class RouteRecord(Record, frozen=True, kw_only=True):
    """A route: to a next hop, out of a port, or to nowhere (kinds as in ip-route).

    push: labels to put on its packets, outermost first. ttl: the model of RFC 3443 that they get their time to live by.
    """

    prefix: str
    via: str | None = None
    port: str | None = None
    kind: RouteKind = "unicast"
    push: list[int] = msgspec.field(default_factory=list)
    ttl: TtlModel = "uniform"


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
    """Schema of ROUTER.toml. The order of the ports gives them their numbers."""

    profile: ProfileName = "rfc1812"
    port: list[PortRecord]
    neighbour: list[NeighbourRecord] = msgspec.field(default_factory=list)
    route: list[RouteRecord] = msgspec.field(default_factory=list)
    label: list[LabelRecord] = msgspec.field(default_factory=list)
    routes: RoutesFile | None = None
    policy: Policy = OFF
    diffserv: DiffservRecord | None = None
