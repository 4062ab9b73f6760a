"""Oracles: compare a user's router or lookup structure with the golden one, and show the smallest difference.

    check_router(my_forward, "router.toml")
    check_lookup(MyTable)

Cases are the same in every run. A difference is raised as a `CounterexampleError`, which is an AssertionError.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple, Protocol

from hypothesis import given
from hypothesis import strategies as st

from npexplore.golden.compare.difference import Difference
from npexplore.golden.ipv4.addresses import address_text
from npexplore.golden.lookup import LinearLpm
from npexplore.golden.router.configuration import Router
from npexplore.golden.router.rules import Profile
from npexplore.testing.drawing import as_router, example_settings
from npexplore.testing.examining import examine_router, judge_of
from npexplore.testing.routers import frames as frames_for
from npexplore.testing.strategies import Update, addresses_near, updates
from npexplore.testing.verdicts import CounterexampleError, Forward, compare, refuse_port, shown

LONGEST_MATCH = "RFC 1812 section 5.2.4.3 (2)"  # pruning by longest match


def check_router(
    forward: Forward,
    router: Router | str | Path,
    *,
    profile: Profile | str | None = None,
    cases: st.SearchStrategy[tuple[int, bytes]] | None = None,
    max_examples: int = 1000,
    failures: int = 1,
) -> int:
    """Compare a function that forwards frames with the golden router; return the number of frames compared.

    Each frame is judged separately, without a limit on the rate of ICMP messages.

    Args:
        forward: takes (port, frame) and returns the frames it sends as a list of (port, frame), or None for a frame
            that it leaves to another part of the system, as a fast path does. Such frames are not compared.
        router: a configuration, its TOML file, or a name in models/routers.
        profile: "rfc1812" or "linux" (None: that of the configuration).
        cases: a strategy for (port, frame) (None: `frames(router)`).
        max_examples: the number of frames to try.
        failures: if more than one, collect up to this many and raise them clustered, as `examine_router` does.

    Raises:
        CounterexampleError: with the smallest frame found that is forwarded differently. Exceptions of `forward` itself
            are passed on, with the frame as a note.
    """
    configuration = as_router(router)
    if failures > 1:
        conformance = examine_router(
            forward, configuration, profile=profile, cases=cases, max_examples=max_examples, failures=failures
        )
        conformance.raise_if_failed()
        return conformance.frames
    golden = judge_of(configuration, profile)
    compared: list[int] = []

    @example_settings(max_examples)
    @given(frames_for(configuration) if cases is None else cases)
    def test(case: tuple[int, bytes]) -> None:
        port, frame = case
        try:
            sent = forward(port, frame)
        except Exception as error:
            error.add_note(f"the router got, by port {port}: {shown(frame)}")
            raise
        if sent is None:
            return
        got = [(number, bytes(data)) for number, data, *_ in sent]
        for number, data in got:
            refuse_port(configuration, number, data)
        compare(got, golden.forward(port, frame), port=port, frame=frame)
        compared.append(port)

    test()
    return len(compared)


class Lookup(Protocol):
    """The methods of a lookup structure: prefixes are text, next hops and addresses numbers; None means no route."""

    def insert(self, prefix: str, next_hop: int) -> None:
        """Add a route or change its next hop."""

    def remove(self, prefix: str) -> None:
        """Remove an existing route."""

    def lookup(self, address: int) -> int | None:
        """Return the next hop of the longest prefix that contains an address."""


def check_lookup(
    make: Callable[[], Lookup],
    *,
    max_examples: int = 1000,
    max_updates: int = 12,
    max_length: int = 32,
    next_hops: int = 8,
) -> None:
    """Compare a lookup structure with the golden one after each of many updates.

    Both look up the first and last addresses of the prefix that changed and, at the end, of all prefixes.

    Args:
        make: returns the structure to test, empty.
        max_examples: the number of sequences of updates to try.
        max_updates: the largest number of updates in a sequence.
        max_length: the longest prefix that the structure takes.
        next_hops: the number of next hops to draw from.

    Raises:
        CounterexampleError: with the shortest sequence of updates found after which an answer is wrong.
    """

    @example_settings(max_examples)
    @given(updates(max_size=max_updates, next_hops=next_hops, max_length=max_length))
    def test(sequence: list[Update]) -> None:
        wrong = _first_wrong(make, sequence)
        if wrong is not None:
            raise _wrong_lookup(make, sequence)

    test()


class _Wrong(NamedTuple):
    """A wrong answer: number of updates before it, address, expected and actual next hop."""

    updates: int
    address: int
    expected: int | None
    got: int | None


def _first_wrong(make: Callable[[], Lookup], sequence: list[Update]) -> _Wrong | None:
    tested, golden = make(), LinearLpm()
    for count, (prefix, next_hop) in enumerate(sequence, start=1):
        for table in (tested, golden):
            if next_hop is None:
                table.remove(prefix)
            else:
                table.insert(prefix, next_hop)
        changed = sequence if count == len(sequence) else [(prefix, next_hop)]
        for address in addresses_near(changed):
            expected, got = golden.lookup(address), tested.lookup(address)
            if got != expected:
                return _Wrong(count, address, expected, got)
    return None


def _wrong_lookup(make: Callable[[], Lookup], sequence: list[Update]) -> CounterexampleError:
    """Return the error of a sequence, without all updates that are not needed for a wrong answer."""
    needed = sequence
    for place in range(len(sequence) - 1, -1, -1):
        fewer = needed[:place] + needed[place + 1 :]
        if place < len(needed) and _is_possible(fewer) and _first_wrong(make, fewer) is not None:
            needed = fewer
    first_wrong = _first_wrong(make, needed)
    assert first_wrong is not None
    field = f"next hop of {address_text(first_wrong.address)}"
    difference = Difference(0, 0, field, _hop(first_wrong.expected), _hop(first_wrong.got), LONGEST_MATCH)
    lines = [f"{field} must be {difference.expected}, got {difference.got} ({LONGEST_MATCH})", "  after"]
    lines += [
        f"    remove {prefix}" if hop is None else f"    insert {prefix} -> {hop}"
        for prefix, hop in needed[: first_wrong.updates]
    ]
    return CounterexampleError(difference, "\n".join(lines))


def _is_possible(sequence: list[Update]) -> bool:
    """Return whether every route exists when it is removed."""
    existing: set[str] = set()
    for prefix, next_hop in sequence:
        if next_hop is None and prefix not in existing:
            return False
        existing = existing - {prefix} if next_hop is None else existing | {prefix}
    return True


def _hop(next_hop: int | None) -> str:
    return "none" if next_hop is None else str(next_hop)
