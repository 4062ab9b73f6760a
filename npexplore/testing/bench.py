"""The golden router beside a device in a test bench (cocotb or any other): given the input, it checks the output.

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
    """A frame that came in, its expected outcome, and the frames that the device has sent because of it."""

    port: int
    frame: bytes
    outcome: Outcome
    sent: list[tuple[int, bytes]] = field(default_factory=list)
    late: bool = False


class _Awaited(NamedTuple):
    """An expected frame, and the frame that caused it; `serial` counts the frames of a port."""

    sent: Sent
    cause: _Cause
    serial: int


class Bench(ShownByArguments):
    """The golden router beside a device in a test bench: give it each frame sent and received, and it compares.

    Args:
        router: a configuration, or the path of its file.
        profile: a profile or its name, such as "linux" (None: the configuration's).
        ordered: frames leave a port in the order in which they were caused (False: in any order).
        failures: how many failures to collect. At 1 the first one is raised at once; with more, nothing is raised
            before `done`, and `conformance` has them all, each with the frame that caused it.

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
        """Yield `count` frames as (port, frame) that exercise the router's rules; every run yields the same ones."""
        yield from cases_for(self.router, count)

    def drive(self, port: int, frame: bytes, time_ns: int = 0) -> bytes:
        """Record that a frame goes into the device; return the frame.

        Args:
            port: number of the port, from 0.
            frame: the Ethernet frame, without its frame check sequence.
            time_ns: when it goes in, in nanoseconds.
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
        """How many frames are still expected."""
        return sum(map(len, self._awaited))

    def expect(self, port: int, frame: bytes) -> None:
        """Record a frame that the device has sent; raises CounterexampleError if it is not the expected one."""
        refuse_port(self.router, port, frame)
        queue, wide = self._awaited[port], self.failures > 1
        for place in range(min(len(queue), (1 if self.ordered else len(queue)) if not wide else AHEAD)):
            if frame_difference(queue[place].sent, frame) is None:
                self._take(port, place, frame)
                return
        if wide:
            self._lay(port, frame)
        elif queue:
            first = queue[0]
            one = first.cause.outcome._replace(sent=(first.sent,))
            compare([(port, frame)], one, port=first.cause.port, frame=first.cause.frame)
        else:
            last = self._causes[-1] if self._causes else _Cause(port, b"", NO_OUTCOME)
            compare([(port, frame)], last.outcome._replace(sent=()), port=last.port, frame=last.frame)

    def _take(self, port: int, place: int, frame: bytes) -> None:
        one = self._awaited[port][place]
        del self._awaited[port][place]
        self.seen += 1
        one.cause.sent.append((port, frame))
        one.cause.late |= self.ordered and one.serial < self._reached[port]
        self._reached[port] = max(self._reached[port], one.serial)
        while self.failures > 1 and self._awaited[port] and self._awaited[port][0].serial < one.serial - AHEAD // 2:
            self._awaited[port].popleft()  # it is lost: so many came after it

    def _lay(self, port: int, frame: bytes) -> None:
        """Attribute an unexpected frame to the input frame that it equals or quotes, else to the last one."""
        names = names_of(frame)
        cause = next((self._named[name] for name in reversed(names) if name in self._named), None)
        if cause is None:
            cause = self._causes[-1] if self._causes else _Cause(port, b"", NO_OUTCOME)
            self._causes = self._causes or [cause]
        cause.sent.append((port, frame))
        for number in (port, *(k for k in range(len(self._awaited)) if k != port)):
            queue = self._awaited[number]
            for place in range(min(len(queue), AHEAD)):
                if queue[place].cause is cause and queue[place].sent.icmp == (len(names) > 1):
                    del queue[place]
                    return

    def verdicts(self) -> list[Failure | None]:
        """Return for each frame that came in, in order, what is wrong with its output; None if nothing is."""
        failures = []
        for one in self._causes:
            wrong = failure(one.port, one.frame, one.outcome, one.sent)
            if wrong is None and one.late:
                wrong = Failure(one.port, one.frame, one.outcome, tuple(one.sent), ORDER, "sent behind a later one")
            failures.append(wrong)
        return failures

    def conformance(self, shrink: Shrink | None = None) -> Conformance:
        """Return the conformance table and the clusters of failures; shrink: reduces a failure, if given."""
        tally = Tally(self.router, self.failures)
        for one, wrong in zip(self._causes, self.verdicts(), strict=True):
            if not tally.full:
                tally.count(one.outcome, wrong)
        return tally.conformance(shrink)

    def done(self) -> None:
        """Raise CounterexampleError if a frame is missing, or with all failures if several are allowed."""
        if self.failures > 1:
            self.conformance().raise_if_failed()
        for queue in self._awaited:
            if queue:
                first = queue[0]
                one = first.cause.outcome._replace(sent=(first.sent,))
                compare([], one, port=first.cause.port, frame=first.cause.frame)


def names_of(frame: bytes) -> list[tuple[bytes, ...]]:
    """Return source, identification and protocol of a packet of IPv4, then of the one that its ICMP error quotes.

    RFC 791 section 3.1: with the destination they name a packet; source routes change that.
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
