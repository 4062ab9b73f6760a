"""Consolidating virtual routers (Sec. 5, Fig. 14): each alone, all as one, or groups that have a protocol in common.

    area of a group = fixed part + least of engines x (logic x steps + thread x threads) over the threads
    engines >= rate x issue and engines x threads >= rate x residence, for the slowest protocol of the group

Protocol-based: two groups are merged while they have a common protocol and the merged area is below the sum; each time
the merge that saves most. The fixed part is what a processor has beside engines.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from npexplore.designs import Design
from npexplore.designs.gorilla.design import residence_cycles
from npexplore.errors import InputError
from npexplore.ledger.rules import rule
from npexplore.study.papers.gorilla.area import engine_share, scale

TRAFFIC = {"mpls": "mpls_1", "ipv4": "ipv4", "ipv6": "ipv6"}
KINDS = (("mpls",), ("ipv4",), ("ipv4", "mpls"))  # M, I, B of the paper's notation
THREADS = (1, 2, 3, 4, 6, 8)
CONFIGURATIONS, RATE_MPPS = rule("gorilla.virtual_routers"), rule("gorilla.virtual_mpps")
METHODS = ("isolated", "merged", "protocol")


@dataclass(frozen=True)
class Group:
    """Virtual routers on one processor: how many of each kind of KINDS, the protocols they speak, packets a second."""

    counts: tuple[int, int, int]
    rate_pps: float

    @property
    def protocols(self) -> frozenset[str]:
        """All protocols of the group."""
        return frozenset(name for kind, n in zip(KINDS, self.counts, strict=True) if n for name in kind)

    def __add__(self, other: Group) -> Group:
        a, b, c = (x + y for x, y in zip(self.counts, other.counts, strict=True))
        return Group((a, b, c), self.rate_pps + other.rate_pps)

    def __str__(self) -> str:
        return "+".join(f"{n}{letter}" for n, letter in zip(self.counts, "MIB", strict=True) if n)


@dataclass(frozen=True)
class Engines:
    """What an engine takes of the device, by threads and protocols, and the numbers of threads that there are."""

    share: Callable[[int, tuple[str, ...]], float]
    threads: tuple[int, ...] = THREADS


@dataclass(frozen=True)
class Sized:
    """A group with its processor: engines in all, threads each, share of the device."""

    group: Group
    engines: int
    threads: int
    area: float


def routers(configuration: str, rate_pps: float) -> list[Group]:
    """Return the single virtual routers of a configuration like 8.1.1; raises InputError."""
    parts = configuration.split(".")
    if len(parts) != len(KINDS) or not all(part.isdigit() for part in parts) or not sum(map(int, parts)):
        raise InputError(f"virtual routers must be like 8.1.1 (MPLS, IPv4, both), got {configuration!r}")
    single = ((1, 0, 0), (0, 1, 0), (0, 0, 1))
    return [Group(single[k], rate_pps) for k, part in enumerate(parts) for _ in range(int(part))]


def cycles(design: Design) -> dict[str, tuple[float, float]]:
    """Return for each protocol a packet's cycles in the engine (issue), and with all waits (residence)."""
    return {name: residence_cycles(design.with_(proto=proto).parameters) for name, proto in TRAFFIC.items()}


def sized(
    design: Design, group: Group, needed: Mapping[str, tuple[float, float]], device: str = "v7855t",
    fixed: float | None = None, engines_of: Engines | None = None,
) -> Sized:  # fmt: skip
    """Return the smallest processor that keeps the group's rate for each of its protocols; needed: `cycles`.

    fixed: of the reference, in per cent, beside engines. engines_of: areas other than the model's.
    """
    p = design.parameters
    per_cycle = group.rate_pps / (p.core_mhz * 1e6)
    needs = [needed[name] for name in sorted(group.protocols)]
    areas = engines_of or Engines(lambda threads, spoken: engine_share(p, threads, spoken) * scale(p, device))
    sizes = []
    for threads in areas.threads:
        engines = max(math.ceil(per_cycle * max(issue, stay / threads) - 1e-9) for issue, stay in needs)
        area = engines * areas.share(threads, _program(group))
        sizes.append(Sized(group, engines, threads, area))
    best = min(sizes, key=lambda one: one.area)
    more = (float(p.lut_fixed) if fixed is None else fixed) / 100 * scale(p, device)
    return Sized(group, best.engines, best.threads, best.area + more)


def _program(group: Group) -> tuple[str, ...]:
    return ("labels",) if group.protocols == {"mpls"} else tuple(sorted(group.protocols))


def consolidate(
    design: Design, configuration: str, method: str, rate_pps: float | None = None, fixed: float | None = None,
    engines_of: Engines | None = None,
) -> list[Sized]:  # fmt: skip
    """Return the processors of a method: isolated, merged, or protocol-based. rate_pps: of each virtual router."""
    needed = cycles(design)
    rate_pps = 1e6 * RATE_MPPS.value if rate_pps is None else rate_pps

    def size(group: Group) -> Sized:
        return sized(design, group, needed, fixed=fixed, engines_of=engines_of)

    alone = [size(one) for one in routers(configuration, rate_pps)]
    if method == "isolated":
        return alone
    if method == "merged":
        total = alone[0].group
        for one in alone[1:]:
            total = total + one.group
        return [size(total)]
    if method != "protocol":
        raise InputError(f"consolidation must be one of {', '.join(METHODS)}, got {method!r}")
    return _merge_while_it_saves(alone, size)


def _merge_while_it_saves(groups: Sequence[Sized], size: Callable[[Group], Sized]) -> list[Sized]:
    now = list(groups)
    known: dict[Group, Sized] = {}
    while True:
        best: tuple[float, int, int, Sized] | None = None
        for a, b in combinations(range(len(now)), 2):
            if not now[a].group.protocols & now[b].group.protocols:
                continue
            both = now[a].group + now[b].group
            if both not in known:
                known[both] = size(both)
            saves = now[a].area + now[b].area - known[both].area
            if saves > 1e-12 and (best is None or saves > best[0]):
                best = saves, a, b, known[both]
        if best is None:
            return sorted(now, key=lambda one: -one.area)
        _, a, b, merged = best
        now = [one for k, one in enumerate(now) if k not in (a, b)] + [merged]


def area(processors: Sequence[Sized]) -> float:
    """Return the share of the device that all processors take."""
    return sum(one.area for one in processors)


def grouping(processors: Sequence[Sized]) -> str:
    """Return the groups in the paper's notation, largest first."""
    return " | ".join(str(one.group) for one in processors)


def saving(design: Design, against: str, fixed: float | None = None) -> float:
    """Return the mean saving of the protocol-based method over the six configurations."""
    parts = []
    for configuration in CONFIGURATIONS.value:
        ours = area(consolidate(design, configuration, "protocol", fixed=fixed))
        parts.append(1 - ours / area(consolidate(design, configuration, against, fixed=fixed)))
    return sum(parts) / len(parts)
