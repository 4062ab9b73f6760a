"""Checks a device in a test bench (cocotb or any other) against the golden router, which computes the output.

bench = Bench("router.toml")
for port, frame in bench.stimuli(500):
    await send(port, bench.drive(port, frame))
...
bench.expect(port, frame)      # whenever the device has sent a frame
bench.done()                   # at the end: nothing may be missing
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from npexplore.display import ShownByArguments
from npexplore.golden.compare.difference import AHEAD, ICMP_HEADER, frame_difference
from npexplore.golden.ethernet import ETHERNET
from npexplore.golden.ipv4.header import SHORTEST
from npexplore.golden.ipv4.icmp import ERROR_TYPES, ICMP
from npexplore.golden.reasons import Reason
from npexplore.golden.router.configuration import Router
from npexplore.golden.router.forward import Forwarder
from npexplore.golden.router.rules import Profile
from npexplore.golden.router.walk import Outcome, Sent
from npexplore.testing.conformance import Conformance, Failure, Shrink, Tally, failure
from npexplore.testing.drawing import as_router, cases_for
from npexplore.testing.rule_catalogue import ORDER
from npexplore.testing.verdicts import compare, refuse_port

NO_OUTCOME = Outcome(Reason.NONE, ())
IPV4_VERSION = 4
ERRORS = {bytes([kind]) for kind in ERROR_TYPES}


@dataclass
class _Cause:
    """An input frame, its expected outcome, and the frames that the device has sent for it."""

    port: int
    frame: bytes
    outcome: Outcome
    sent: list[tuple[int, bytes]] = field(default_factory=list)
    late: bool = False


class _Awaited(NamedTuple):
    """An expected frame, and the input frame that causes it; `serial` counts the expected frames of a port."""

    sent: Sent
    cause: _Cause
    serial: int


class Bench(ShownByArguments):
    """The golden router next to a device in a test bench: it compares all frames that the device receives and sends.

    Args:
        router: a configuration, or the path of its file.
        profile: a profile or its name, such as "linux" (None: the configuration's).
        ordered: frames leave a port in the order in which they were caused (False: in any order).
        failures: number of failures to collect. With 1 the first failure is raised at once; with more, nothing is
            raised before `done`, and `conformance` has all failures, each with the frame that caused it.

    Example:
        >>> from npexplore.testing import Bench
        >>> bench = Bench("office")
        >>> bench.drive(0, bytes(64)) is not None
        True
        >>> bench.done()
    """

    def __init__(
        self, router: Router | str | Path, *, profile: Profile | str | None = None, ordered: bool = True,
        failures: int = 1,
    ) -> None:  # fmt: skip
        self.router = as_router(router)
        self.golden = Forwarder(self.router, profile=profile)
        self.ordered, self.failures = ordered, failures
        self.seen = 0
        self._awaited: list[deque[_Awaited]] = [deque() for _ in self.router.ports]
        self._serial = [0 for _ in self.router.ports]
        self._reached = [0 for _ in self.router.ports]
        self._causes: list[_Cause] = []
        self._named: dict[tuple[bytes, ...], _Cause] = {}

    def stimuli(self, count: int) -> Iterator[tuple[int, bytes]]:
        """Yield `count` frames as (port, frame) that exercise the router's rules, the same frames in every run."""
        yield from cases_for(self.router, count)

    def drive(self, port: int, frame: bytes, time_ns: int = 0) -> bytes:
        """Record that a frame goes into the device; return the frame.

        Args:
            port: number of the port, from 0.
            frame: the Ethernet frame, without its frame check sequence.
            time_ns: time of the input, in nanoseconds.
        """
        refuse_port(self.router, port, frame, "come")
        outcome = self.golden.forward(port, frame, time_ns)
        cause = _Cause(port, frame, outcome)
        for sent in outcome.sent:
            self._awaited[sent.port].append(_Awaited(sent, cause, self._serial[sent.port]))
            self._serial[sent.port] += 1
        self._causes.append(cause)
        self._named |= dict.fromkeys(names_of(frame)[:1], cause)
        return frame

    @property
    def awaited(self) -> int:
        """Number of frames that are still expected."""
        return sum(map(len, self._awaited))

    def expect(self, port: int, frame: bytes) -> None:
        """Record a frame that the device has sent; raises CounterexampleError if it is not the expected one."""
        refuse_port(self.router, port, frame)
        queue, collects = self._awaited[port], self.failures > 1
        for place in range(min(len(queue), (1 if self.ordered else len(queue)) if not collects else AHEAD)):
            if frame_difference(queue[place].sent, frame) is None:
                self._take(port, place, frame)
                return
        if collects:
            self._lay(port, frame)
        elif queue:
            expected = queue[0]
            outcome = expected.cause.outcome._replace(sent=(expected.sent,))
            compare([(port, frame)], outcome, port=expected.cause.port, frame=expected.cause.frame)
        else:
            last_cause = self._causes[-1] if self._causes else _Cause(port, b"", NO_OUTCOME)
            compare([(port, frame)], last_cause.outcome._replace(sent=()), port=last_cause.port, frame=last_cause.frame)

    def _take(self, port: int, place: int, frame: bytes) -> None:
        awaited = self._awaited[port][place]
        del self._awaited[port][place]
        self.seen += 1
        awaited.cause.sent.append((port, frame))
        awaited.cause.late |= self.ordered and awaited.serial < self._reached[port]
        self._reached[port] = max(self._reached[port], awaited.serial)
        while self.failures > 1 and self._awaited[port] and self._awaited[port][0].serial < awaited.serial - AHEAD // 2:
            self._awaited[port].popleft()  # it counts as lost: many later frames have arrived

    def _lay(self, port: int, frame: bytes) -> None:
        """Attribute an unexpected frame to the input frame that it equals or quotes, otherwise to the last one."""
        names = names_of(frame)
        cause = next((self._named[name] for name in reversed(names) if name in self._named), None)
        if cause is None:
            cause = self._causes[-1] if self._causes else _Cause(port, b"", NO_OUTCOME)
            self._causes = self._causes or [cause]
        cause.sent.append((port, frame))
        for number in (port, *(other_port for other_port in range(len(self._awaited)) if other_port != port)):
            queue = self._awaited[number]
            for place in range(min(len(queue), AHEAD)):
                if queue[place].cause is cause and queue[place].sent.icmp == (len(names) > 1):
                    del queue[place]
                    return

    def verdicts(self) -> list[Failure | None]:
        """Return the failure of each input frame, in order; None if its output is right."""
        failures = []
        for cause in self._causes:
            fault = failure(cause.port, cause.frame, cause.outcome, cause.sent)
            if fault is None and cause.late:
                fault = Failure(
                    cause.port, cause.frame, cause.outcome, tuple(cause.sent), ORDER, "sent behind a later one"
                )
            failures.append(fault)
        return failures

    def conformance(self, shrink: Shrink | None = None) -> Conformance:
        """Return the conformance table and the clusters of failures; shrink: a function that reduces failures."""
        tally = Tally(self.router, self.failures)
        for cause, fault in zip(self._causes, self.verdicts(), strict=True):
            if not tally.full:
                tally.count(cause.outcome, fault)
        return tally.conformance(shrink)

    def done(self) -> None:
        """Raise CounterexampleError if a frame is missing, or with all failures if several are allowed."""
        if self.failures > 1:
            self.conformance().raise_if_failed()
        for queue in self._awaited:
            if queue:
                expected = queue[0]
                outcome = expected.cause.outcome._replace(sent=(expected.sent,))
                compare([], outcome, port=expected.cause.port, frame=expected.cause.frame)


def names_of(frame: bytes) -> list[tuple[bytes, ...]]:
    """Return source, identification and protocol of an IPv4 packet, then those of the packet its ICMP error quotes.

    RFC 791 section 3.1: with the destination they identify a packet; source routes change the destination.
    """
    names: list[tuple[bytes, ...]] = []
    at = ETHERNET
    while len(frame) >= at + SHORTEST and frame[at] >> 4 == IPV4_VERSION:
        names.append((frame[at + 12 : at + 16], frame[at + 4 : at + 6], frame[at + 9 : at + 10]))
        body = at + 4 * (frame[at] & 15)
        if frame[at + 9] != ICMP or frame[body : body + 1] not in ERRORS or len(names) > 1:
            break
        at = body + ICMP_HEADER
    return names
