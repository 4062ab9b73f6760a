"""Generates rules from a profile's shares like ClassBench, a rule for each flow, and headers that match rules.

Profiles are in models/rule_profiles. Port ranges have five classes (Taylor, Turner, ClassBench, 2007): WC any, HI 1024
and up, LO below 1024, AR an arbitrary range, EM one port. Prefixes nest: many are inside an earlier one.
"""

from __future__ import annotations

from collections.abc import Collection
from functools import cache
from pathlib import Path

import msgspec
import numpy as np
from numpy.typing import NDArray

from npexplore.errors import InputError, one_of, positive
from npexplore.golden.classify.rules import ANY_PORT, ANY_PROTOCOL, CLASSES, MAX_RULES, Range, Rule, Rules, class_number
from npexplore.golden.ipv4.addresses import MAX_ADDRESS, prefix_mask
from npexplore.golden.ipv4.five_tuple import PROTOCOLS, TYPES, Columns, FiveTuple
from npexplore.paths import input_content, share, stems
from npexplore.toml import Record, decode

PORT_CLASSES = ("WC", "HI", "LO", "AR", "EM")
_PRIVILEGED = 1023  # the last system port, RFC 6335 section 6
_TRIES = 100  # draws per wanted rule, to find different ones


class Profile(Record, frozen=True, kw_only=True):
    """Schema of models/rule_profiles/*.toml; each table holds relative shares by name.

    Names are protocols (or any), prefix lengths, port classes and per-hop behaviours.
    nesting: share of new prefixes inside an earlier one; shared: share of prefixes that repeat an earlier one.
    services: the ports of class EM.
    """

    title: str
    source: str
    nesting: float
    shared: float
    services: list[int]
    protocol: dict[str, float]
    source_length: dict[str, float]
    destination_length: dict[str, float]
    source_port: dict[str, float]
    destination_port: dict[str, float]
    class_: dict[str, float] = msgspec.field(name="class")


def profile_names() -> list[str]:
    """Return the names of all profiles."""
    return stems("models", "rule_profiles")


def load_profile(path: str | Path) -> Profile:
    """Read a profile; raises InputError naming file, place and rule."""
    file = Path(path)
    profile: Profile = decode(input_content(file), Profile, file)
    lengths = [str(length) for length in range(33)]
    names_by_table: dict[str, Collection[str]] = {
        "protocol": [*PROTOCOLS, "any"], "source_length": lengths, "destination_length": lengths,
        "source_port": PORT_CLASSES, "destination_port": PORT_CLASSES, "class": CLASSES,
    }  # fmt: skip
    for table, names in names_by_table.items():
        shares = getattr(profile, "class_" if table == "class" else table)
        for name, value in shares.items():
            one_of(f"{file.name}: {table}", name, names)
            positive(f"{file.name}: {table}: share of {name}", value, zero=True)
        positive(f"{file.name}: {table}: sum of shares", sum(shares.values()))
    if not profile.services or not all(0 <= port <= ANY_PORT[1] for port in profile.services):
        raise InputError(
            f"{file.name}: services must be ports 0 to {ANY_PORT[1]}, at least one, got {profile.services}"
        )
    for name, value in (("nesting", profile.nesting), ("shared", profile.shared)):
        if not 0 <= value <= 1:
            raise InputError(f"{file.name}: {name} must be 0 to 1, got {value}")
    return profile


@cache
def _listed(name: str) -> Profile:
    return load_profile(share("models", "rule_profiles", f"{one_of('rule profile', name, profile_names())}.toml"))


def generate_rules(
    count: int, profile: str | Profile = "access", *, seed: int | np.random.Generator, default: bool = True
) -> Rules:
    """Return `count` different rules of a profile, narrow ones first; the same seed gives the same rules.

    default: make the last rule match every packet (BE). Raises InputError for a count outside 1 .. 16,384 or a profile
    with too few different rules.
    count: how many rules. profile: the shares of prefix lengths and port ranges, by name or as a record. seed: an
    integer or a generator.
    """
    if not 1 <= count <= MAX_RULES:
        raise InputError(f"rules to generate must be 1 to {MAX_RULES}, got {count}")
    shares = _listed(profile) if isinstance(profile, str) else profile
    draw = _Draw(shares, np.random.default_rng(seed))
    rules: dict[tuple[Range, ...], Rule] = {}
    drawn_count = count - default
    for _ in range(_TRIES * drawn_count):
        if len(rules) == drawn_count:
            break
        rule = draw.rule()
        if not (default and rule.ranges == Rule().ranges):
            rules.setdefault(rule.ranges, rule)
    if len(rules) < drawn_count:
        raise InputError(f"profile {shares.title!r} gave {len(rules)} different rules, {drawn_count} were asked for")
    ordered = sorted(rules.values(), key=_breadth)
    return Rules((*ordered, Rule()) if default else tuple(ordered), "generated rules")


def flow_rules(count: int, *, dscp: int = 0) -> Rules:
    """Return rules that each match one UDP flow and differ in every field except the protocol.

    Values are three apart, so that every field has the maximum of 2 n - 1 intervals (the worst case of range matching).
    """
    if not 1 <= count <= MAX_RULES:
        raise InputError(f"flows must be 1 to {MAX_RULES}, got {count}")
    udp = PROTOCOLS["udp"]
    bases = (0x0A000000, 0x0B000000, 10_000, 30_000)

    def flow(k: int) -> Rule:
        source, destination, source_port, destination_port = ((base + 3 * k,) * 2 for base in bases)
        return Rule(source, destination, source_port, destination_port, (udp, udp), dscp)

    return Rules(tuple(flow(k) for k in range(count)), "flow rules")


def headers_within(
    rules: Rules, count: int, *, seed: int | np.random.Generator, row: NDArray[np.integer] | None = None
) -> Columns:
    """Return headers as columns, each drawn at random from the ranges of one rule; earlier rules may match it, too.

    rules: the rules to draw from. count: how many headers. seed: an integer or a generator. row: shape (count,), the
    rule of each header; None: rules at random.
    """
    rng = np.random.default_rng(seed)
    chosen = rng.integers(0, len(rules), count) if row is None else np.asarray(row)
    low, high = (ends[chosen].astype(np.int64) for ends in (rules.low, rules.high))
    values = rng.integers(low, high + 1)
    return FiveTuple(*(values[:, k].astype(kind) for k, kind in enumerate(TYPES)))


def _breadth(rule: Rule) -> int:
    """Return about how many bits a rule leaves free: the sum of the rounded binary logarithms of its ranges."""
    return sum((high - low).bit_length() for low, high in rule.ranges)


class _Draw:
    """Draws rules of a profile with one random generator."""

    def __init__(self, profile: Profile, rng: np.random.Generator) -> None:
        self._profile, self._rng = profile, rng
        self._before: dict[str, list[tuple[int, int]]] = {"source": [], "destination": []}

    def rule(self) -> Rule:
        profile = self._profile
        protocol = self._one_of(profile.protocol)
        ports = protocol in ("tcp", "udp")
        return Rule(
            self._prefix("source", profile.source_length),
            self._prefix("destination", profile.destination_length),
            self._port(profile.source_port) if ports else ANY_PORT,
            self._port(profile.destination_port) if ports else ANY_PORT,
            ANY_PROTOCOL if protocol == "any" else (PROTOCOLS[protocol],) * 2,
            class_number(self._one_of(profile.class_)),
        )

    def _one_of(self, shares: dict[str, float]) -> str:
        names, weights = list(shares), np.cumsum(list(shares.values()))
        return names[int(np.searchsorted(weights, self._rng.random() * weights[-1], side="right"))]

    def _prefix(self, name: str, lengths: dict[str, float]) -> Range:
        earlier = self._before[name]
        if earlier and self._rng.random() < self._profile.shared:
            value, length = earlier[int(self._rng.integers(len(earlier)))]
        else:
            length = int(self._one_of(lengths))
            value = int(self._rng.integers(1 << 32))
            shorter = [prefix for prefix in earlier if 0 < prefix[1] < length]
            if shorter and self._rng.random() < self._profile.nesting:
                outer_value, outer_length = shorter[int(self._rng.integers(len(shorter)))]
                value = outer_value | value & ~prefix_mask(outer_length)
            value &= prefix_mask(length)
            earlier.append((value, length))
        return value, value | ~prefix_mask(length) & MAX_ADDRESS

    def _port(self, shares: dict[str, float]) -> Range:
        kind = self._one_of(shares)
        low, high = sorted(int(port) for port in self._rng.integers(0, 1 << 16, 2))
        service = self._profile.services[int(self._rng.integers(len(self._profile.services)))]
        return {
            "WC": ANY_PORT,
            "HI": (_PRIVILEGED + 1, ANY_PORT[1]),
            "LO": (0, _PRIVILEGED),
            "AR": (low, high),
            "EM": (service, service),
        }[kind]
