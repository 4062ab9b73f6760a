"""The golden router beside a device in a test bench (cocotb or any other): what goes in, what must come out next.

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
from pathlib import Path
from typing import NamedTuple

from npexplore.golden.compare.difference import frame_difference
from npexplore.golden.reasons import Reason
from npexplore.golden.router.configuration import Router
from npexplore.golden.router.forward import Forwarder
from npexplore.golden.router.rules import Profile
from npexplore.golden.router.walk import Outcome, Sent
from npexplore.testing.captures import cases_for
from npexplore.testing.oracles import as_router, compare


class _Awaited(NamedTuple):
    """A frame that must come, and the frame that caused it."""

    sent: Sent
    port: int
    frame: bytes
    outcome: Outcome


class Bench:
    """Queues of the frames that must come, one a port.

    ordered: frames of a port come in the order in which they were caused; False: in any.
    """

    def __init__(
        self, router: Router | str | Path, *, profile: Profile | str | None = None, ordered: bool = True
    ) -> None:
        self.router = as_router(router)
        self.golden = Forwarder(self.router, profile=profile)
        self.ordered = ordered
        self.seen = 0
        self._awaited: list[deque[_Awaited]] = [deque() for _ in self.router.ports]
        self._last: tuple[int, bytes, Outcome] | None = None

    def stimuli(self, count: int) -> Iterator[tuple[int, bytes]]:
        """Yield so many (port, frame) that try the router, the same ones each time."""
        yield from cases_for(self.router, count)

    def drive(self, port: int, frame: bytes, time_ns: int = 0) -> bytes:
        """Tell what goes into the device by a port; return the frame."""
        outcome = self.golden.forward(port, frame, time_ns)
        for sent in outcome.sent:
            self._awaited[sent.port].append(_Awaited(sent, port, frame, outcome))
        self._last = (port, frame, outcome)
        return frame

    @property
    def awaited(self) -> int:
        """How many frames are still to come."""
        return sum(map(len, self._awaited))

    def expect(self, port: int, frame: bytes) -> None:
        """Tell what the device has sent by a port; raises CounterexampleError if that is not what must come there."""
        queue = self._awaited[port]
        for place, one in enumerate(queue):
            if frame_difference(one.sent, frame) is None:
                del queue[place]
                self.seen += 1
                return
            if self.ordered:
                break
        if queue:
            first = queue[0]
            compare([(port, frame)], first.outcome._replace(sent=(first.sent,)), port=first.port, frame=first.frame)
        came, cause, outcome = self._last or (port, b"", Outcome(Reason.NONE, ()))
        compare([(port, frame)], outcome._replace(sent=()), port=came, frame=cause)

    def done(self) -> None:
        """Raise CounterexampleError if a frame has not come."""
        for queue in self._awaited:
            if queue:
                first = queue[0]
                compare([], first.outcome._replace(sent=(first.sent,)), port=first.port, frame=first.frame)
