"""Consolidates virtual routers (Sec. 5, Fig. 14): each on a processor, all on one, or groups with a common protocol.

    area of a group = fixed part + minimum over threads of engines x (logic x steps + thread x threads)
    engines >= rate x issue and engines x threads >= rate x residence, for the slowest protocol of the group

Protocol-based: while two groups have a common protocol and a merged area below the sum of their areas, the merge that
saves most is made. The fixed part is the area of a processor without its engines.
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
    """Virtual routers on one processor: the number of each kind of KINDS, and their total packets/s."""

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
    """The share of the device of one engine, by threads and protocols, and the possible numbers of threads."""

    share: Callable[[int, tuple[str, ...]], float]
    threads: tuple[int, ...] = THREADS


@dataclass(frozen=True)
class Sized:
    """A group with its processor: number of engines, threads per engine, share of the device."""

    group: Group
    engines: int
    threads: int
    area: float


def routers(configuration: str, rate_pps: float) -> list[Group]:
    """Return the single virtual routers of a configuration like 8.1.1; raises InputError for any other text."""
    parts = configuration.split(".")
    if len(parts) != len(KINDS) or not all(part.isdigit() for part in parts) or not sum(map(int, parts)):
        raise InputError(f"virtual routers must be like 8.1.1 (MPLS, IPv4, both), got {configuration!r}")
    single = ((1, 0, 0), (0, 1, 0), (0, 0, 1))
    return [Group(single[k], rate_pps) for k, part in enumerate(parts) for _ in range(int(part))]


def cycles(design: Design) -> dict[str, tuple[float, float]]:
    """Return for each protocol a packet's (issue, residence) cycles: in the engine, and with all waits."""
    return {name: residence_cycles(design.with_(proto=proto).parameters) for name, proto in TRAFFIC.items()}


def sized(
    design: Design, group: Group, needed: Mapping[str, tuple[float, float]], device: str = "v7855t",
    fixed: float | None = None, engines_of: Engines | None = None,
) -> Sized:  # fmt: skip
    """Return the smallest processor that forwards the group's rate for each of its protocols; needed: `cycles`.

    fixed: fixed part in per cent of the reference (None: the model's). engines_of: areas (None: the model's).
    """
    p = design.parameters
    per_cycle = group.rate_pps / (p.core_mhz * 1e6)
    needs = [needed[name] for name in sorted(group.protocols)]
    areas = engines_of or Engines(lambda threads, protocols: engine_share(p, threads, protocols) * scale(p, device))
    sizes = []
    for threads in areas.threads:
        engines = max(math.ceil(per_cycle * max(issue, residence / threads) - 1e-9) for issue, residence in needs)
        area = engines * areas.share(threads, _program(group))
        sizes.append(Sized(group, engines, threads, area))
    best = min(sizes, key=lambda processor: processor.area)
    fixed_area = (float(p.lut_fixed) if fixed is None else fixed) / 100 * scale(p, device)
    return Sized(group, best.engines, best.threads, best.area + fixed_area)


def _program(group: Group) -> tuple[str, ...]:
    return ("labels",) if group.protocols == {"mpls"} else tuple(sorted(group.protocols))


def consolidate(
    design: Design, configuration: str, method: str, rate_pps: float | None = None, fixed: float | None = None,
    engines_of: Engines | None = None,
) -> list[Sized]:  # fmt: skip
    """Return the processors of a method: isolated, merged, or protocol-based. rate_pps: each virtual router's rate."""
    needed = cycles(design)
    rate_pps = 1e6 * RATE_MPPS.value if rate_pps is None else rate_pps

    def size(group: Group) -> Sized:
        return sized(design, group, needed, fixed=fixed, engines_of=engines_of)

    alone = [size(router) for router in routers(configuration, rate_pps)]
    if method == "isolated":
        return alone
    if method == "merged":
        total = alone[0].group
        for router in alone[1:]:
            total = total + router.group
        return [size(total)]
    if method != "protocol":
        raise InputError(f"consolidation must be one of {', '.join(METHODS)}, got {method!r}")
    return _merge_while_it_saves(alone, size)


def _merge_while_it_saves(groups: Sequence[Sized], size: Callable[[Group], Sized]) -> list[Sized]:
    processors = list(groups)
    merged_processors: dict[Group, Sized] = {}
    while True:
        best: tuple[float, int, int, Sized] | None = None
        for a, b in combinations(range(len(processors)), 2):
            if not processors[a].group.protocols & processors[b].group.protocols:
                continue
            merged_group = processors[a].group + processors[b].group
            if merged_group not in merged_processors:
                merged_processors[merged_group] = size(merged_group)
            saves = processors[a].area + processors[b].area - merged_processors[merged_group].area
            if saves > 1e-12 and (best is None or saves > best[0]):
                best = saves, a, b, merged_processors[merged_group]
        if best is None:
            return sorted(processors, key=lambda processor: -processor.area)
        _, a, b, merged = best
        processors = [processor for k, processor in enumerate(processors) if k not in (a, b)] + [merged]


def area(processors: Sequence[Sized]) -> float:
    """Return the share of the device of all processors together."""
    return sum(processor.area for processor in processors)


def grouping(processors: Sequence[Sized]) -> str:
    """Return the groups in the paper's notation, largest first."""
    return " | ".join(str(processor.group) for processor in processors)


def saving(design: Design, against: str, fixed: float | None = None) -> float:
    """Return the mean saving of the protocol-based method over the six configurations."""
    parts = []
    for configuration in CONFIGURATIONS.value:
        protocol_area = area(consolidate(design, configuration, "protocol", fixed=fixed))
        parts.append(1 - protocol_area / area(consolidate(design, configuration, against, fixed=fixed)))
    return sum(parts) / len(parts)
