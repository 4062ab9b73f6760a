"""Oracles: a router or a lookup structure of your own against the golden one; the smallest case that differs is shown.

    check_router(my_forward, "router.toml")
    check_lookup(MyTable)

Cases are the same in every run. What differs is raised as a `CounterexampleError`, which is an AssertionError.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import NamedTuple, Protocol

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from npexplore.golden.compare.difference import Difference, first_difference, frame_difference, summary
from npexplore.golden.ipv4.addresses import address_text
from npexplore.golden.lookup import LinearLpm
from npexplore.golden.router.configuration import Router, load_router
from npexplore.golden.router.forward import Forwarder
from npexplore.golden.router.rules import Profile
from npexplore.golden.router.walk import Outcome
from npexplore.testing.routers import frames as frames_for
from npexplore.testing.strategies import Update, addresses_near, updates

LONGEST_MATCH = "RFC 1812 section 5.2.4.3 (2)"  # pruning by longest match
MOST_SHOWN = 80  # bytes of a frame in a message
Frames = Iterable[tuple[int, bytes]]
Forward = Callable[[int, bytes], "Frames | None"]


class CounterexampleError(AssertionError):
    """What differs: the `difference` (field, both values, clause), and the `port` and `frame` that show it."""

    def __init__(self, difference: Difference, text: str, port: int = 0, frame: bytes = b"") -> None:
        super().__init__(text)
        self.difference = difference
        self.port = port
        self.frame = frame


def compare(got: Frames, expected: Outcome, *, port: int = 0, frame: bytes = b"") -> None:
    """Compare what a router sent, (port, frame) each, with the golden outcome; raises CounterexampleError.

    port, frame: what came in, for the message. Identifications of ICMP messages and the time of day are free.
    """
    sent = [(number, bytes(data)) for number, data, *_ in got]
    dropped = [(expected.reason, frame)] if expected.reason else []
    difference = first_difference(expected.sent, sent, dropped)
    if difference is not None and dropped:
        # that a packet passes which must not comes before all else
        difference = first_difference([], _unexpected(sent, expected)[:1], dropped) or difference
    if difference is not None:
        raise CounterexampleError(difference, _told(difference, port, frame, expected, sent), port, frame)


def _unexpected(sent: list[tuple[int, bytes]], expected: Outcome) -> list[tuple[int, bytes]]:
    return [
        (port, data)
        for port, data in sent
        if not any(one.port == port and frame_difference(one, data) is None for one in expected.sent)
    ]


def _told(difference: Difference, port: int, frame: bytes, expected: Outcome, sent: list[tuple[int, bytes]]) -> str:
    verdict = f"drops it: {expected.reason.text} ({expected.reason.clause})" if expected.reason else "forwards it"
    return "\n".join(
        [
            str(difference),
            f"  came in by port {port}: {summary(frame)}",
            f"    {_shown(frame)}",
            f"  the golden router {verdict}",
            *_listed([(one.port, one.frame) for one in expected.sent]),
            "  this one",
            *_listed(sent),
        ]
    )


def _shown(frame: bytes) -> str:
    return frame.hex() if len(frame) <= MOST_SHOWN else f"{frame[:MOST_SHOWN].hex()}... ({len(frame)} bytes)"


def _listed(sent: list[tuple[int, bytes]]) -> list[str]:
    return [f"    sends by port {number}: {summary(data)}" for number, data in sent] or ["    sends nothing"]


def as_router(router: Router | str | Path) -> Router:
    """Return a router's configuration, read if it is a path."""
    return router if isinstance(router, Router) else load_router(router)


def check_router(
    forward: Forward,
    router: Router | str | Path,
    *,
    profile: Profile | str | None = None,
    cases: st.SearchStrategy[tuple[int, bytes]] | None = None,
    max_examples: int = 1000,
) -> int:
    """Compare `forward(port, frame)`, which returns the frames it sends as (port, frame), with the golden router.

    It may return None for a frame that it leaves to somebody else, as a fast path does; such frames are not compared.
    Each frame is judged by itself, without a limit on ICMP messages. Returns how many frames were compared.

    router: a configuration or what load_router takes; profile: `rfc1812` or `linux`, else the configuration's; cases: a
    strategy for (port, frame), `frames(router)` if not given. Raises CounterexampleError for the smallest frame found
    that is forwarded otherwise, and what `forward` itself raises.
    """
    configuration = as_router(router)
    without_limit = replace(configuration.policy, icmp_per_second=None, icmp_burst=None)
    golden = Forwarder(dataclasses.replace(configuration, policy=without_limit), profile=profile)
    compared: list[int] = []

    @example_settings(max_examples)
    @given(frames_for(configuration) if cases is None else cases)
    def test(case: tuple[int, bytes]) -> None:
        port, frame = case
        sent = forward(port, frame)
        if sent is not None:
            compare(sent, golden.forward(port, frame), port=port, frame=frame)
            compared.append(port)

    test()
    return len(compared)


class Lookup(Protocol):
    """What a lookup structure must have: prefixes as text, next hops and addresses as numbers, None for no route."""

    def insert(self, prefix: str, next_hop: int) -> None:
        """Add a route or change its next hop."""

    def remove(self, prefix: str) -> None:
        """Take away a route that is there."""

    def lookup(self, address: int) -> int | None:
        """Return the next hop of the longest prefix that holds an address."""


def check_lookup(
    make: Callable[[], Lookup],
    *,
    max_examples: int = 1000,
    max_updates: int = 12,
    max_length: int = 32,
    next_hops: int = 8,
) -> None:
    """Compare a lookup structure, empty as `make` returns it, with the golden one after each of many updates.

    It is asked at the borders of the prefix that changed, and of all prefixes at the end. max_length: longest prefix
    that it takes; next_hops: how many. Raises CounterexampleError for the shortest sequence of updates found after
    which an answer is wrong.
    """

    @example_settings(max_examples)
    @given(updates(max_size=max_updates, next_hops=next_hops, max_length=max_length))
    def test(sequence: list[Update]) -> None:
        wrong = _first_wrong(make, sequence)
        if wrong is not None:
            raise _wrong_lookup(make, sequence)

    test()


class _Wrong(NamedTuple):
    """An answer that is wrong, after so many updates."""

    updates: int
    address: int
    expected: int | None
    got: int | None


def _first_wrong(make: Callable[[], Lookup], sequence: list[Update]) -> _Wrong | None:
    mine, golden = make(), LinearLpm()
    for count, (prefix, next_hop) in enumerate(sequence, start=1):
        for table in (mine, golden):
            if next_hop is None:
                table.remove(prefix)
            else:
                table.insert(prefix, next_hop)
        changed = sequence if count == len(sequence) else [(prefix, next_hop)]
        for address in addresses_near(changed):
            expected, got = golden.lookup(address), mine.lookup(address)
            if got != expected:
                return _Wrong(count, address, expected, got)
    return None


def _wrong_lookup(make: Callable[[], Lookup], sequence: list[Update]) -> CounterexampleError:
    """Leave out every update without which an answer is still wrong, and tell the rest."""
    done = sequence
    for place in range(len(sequence) - 1, -1, -1):
        fewer = done[:place] + done[place + 1 :]
        if place < len(done) and _is_possible(fewer) and _first_wrong(make, fewer) is not None:
            done = fewer
    wrong = _first_wrong(make, done)
    assert wrong is not None
    field = f"next hop of {address_text(wrong.address)}"
    difference = Difference(0, 0, field, _hop(wrong.expected), _hop(wrong.got), LONGEST_MATCH)
    lines = [f"{field} must be {difference.expected}, got {difference.got} ({LONGEST_MATCH})", "  after"]
    lines += [
        f"    remove {prefix}" if hop is None else f"    insert {prefix} -> {hop}"
        for prefix, hop in done[: wrong.updates]
    ]
    return CounterexampleError(difference, "\n".join(lines))


def _is_possible(sequence: list[Update]) -> bool:
    """Say whether each route that is taken away is there."""
    there: set[str] = set()
    for prefix, next_hop in sequence:
        if next_hop is None and prefix not in there:
            return False
        there = there - {prefix} if next_hop is None else there | {prefix}
    return True


def _hop(next_hop: int | None) -> str:
    return "none" if next_hop is None else str(next_hop)


def example_settings(max_examples: int) -> settings:
    """Return settings under which every run draws the same cases."""
    return settings(
        max_examples=max_examples,
        derandomize=True,
        database=None,
        deadline=None,
        phases=[Phase.generate, Phase.shrink],
        suppress_health_check=list(HealthCheck),
        report_multiple_bugs=False,
    )
