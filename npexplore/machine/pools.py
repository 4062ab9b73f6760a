"""Pools of threads: their number, program and source of packets, and how threads start and wait for packets."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal, get_args

from npexplore.errors import ModelError, one_of, positive
from npexplore.machine.program import Body, Branch, Fork, Loop, Packet, Parallel, Recorder, Visit
from npexplore.machine.resources.base import Ends, time_of
from npexplore.machine.tree import bodies

Begin = Literal["simultaneous", "staggered", "random"]
Idle = Literal["sleep", "poll"]


@dataclass(frozen=True)
class Start:
    """The start of threads: all at time 0, each `seconds` after the one before, or at random within `seconds`.

    Example:
        >>> from npexplore.machine import Start
        >>> Start("random", seconds=1e-6)
        Start(how='random', seconds=1e-06)
    """

    how: Begin = "random"
    seconds: float = 1e-6

    def __post_init__(self) -> None:
        one_of("start of threads", self.how, get_args(Begin))
        time_of(f"{self.how} start of threads", self.seconds)

    def latest(self, count: int) -> float:
        """Return the latest start of any of `count` threads, in seconds."""
        return {"simultaneous": 0.0, "staggered": (count - 1) * self.seconds, "random": self.seconds}[self.how]


@dataclass
class Pool:
    """`count` threads that each run `program` for one packet after the other; thread i belongs to member i of `home`.

    gets: the bounded queue that packets come from (None: the machine's receive side). priority: 0..15; of events at the
    same time, smaller numbers go first. idle: a thread without a packet sleeps, or polls: each poll that finds no
    packet occupies its home for `poll_cycles`, and the flag it reads takes `poll_wait_s` to answer.

    Example:
        >>> from npexplore.machine import Pool
        >>> Pool("rx", 4, lambda m, packet: m.receive.free(bytes=packet.packet_bytes)).count
        4
    """

    name: str
    count: int
    program: Callable[[Recorder, Packet], None]
    home: str | None = None
    gets: str | None = None
    priority: int = 8
    idle: Idle = "sleep"
    poll_cycles: float = 0.0
    start: Start = Start()
    poll_wait_s: float = 0.0

    def check(self, machine: str) -> None:
        """Raise ModelError for values outside their range."""
        if not self.name.strip():
            raise ModelError(f"{machine}: a pool of threads needs a name, got {self.name!r}")
        if self.priority not in range(16):
            raise ModelError(f"{machine}: priority of pool {self.name!r} must be in 0..15, got {self.priority!r}")
        one_of(f"{machine}: idle threads of pool {self.name!r}", self.idle, get_args(Idle))
        if self.idle == "poll":
            positive(f"{machine}: poll_cycles of pool {self.name!r}", self.poll_cycles)
            if self.home is None:
                raise ModelError(f"{machine}: pool {self.name!r} polls and needs a home to do so")
        elif self.poll_cycles:
            raise ModelError(f"{machine}: pool {self.name!r} sleeps, poll_cycles must be 0, got {self.poll_cycles!r}")
        elif self.poll_wait_s:
            raise ModelError(f"{machine}: pool {self.name!r} sleeps, poll_wait_s must be 0, got {self.poll_wait_s!r}")
        time_of(f"{machine}: poll_wait_s of pool {self.name!r}", self.poll_wait_s)


def visits(body: Body, aside: bool = False) -> Iterator[tuple[Visit, bool]]:
    """Yield all visits of a recorded body, each with whether it is in a fork or a parallel part."""
    for step in body:
        if isinstance(step, Visit):
            yield step, aside
            continue
        for inner in bodies(step):
            yield from visits(inner, aside or isinstance(step, Fork | Parallel))


def guests(pool: Pool, body: Body) -> list[str]:
    """Return the servers on which a pool's threads compute although these are not its home.

    Thread k computes on member k modulo their number.
    """
    homes = dict.fromkeys(name for step, _ in visits(body) for name in step.resource.homes())
    return [name for name in homes if name != pool.home]


def depends(body: Body) -> bool:
    """Return whether packets leave a body in different ways: finished, handed on, or lost."""
    return ends(body) == "sometimes" or any(v.resource.ends(v.method) == "sometimes" for v, _ in visits(body))


def ends(body: Body) -> Ends:
    """Return whether a body takes the packet from its thread: on no path through it, on some, or on all."""
    result: Ends = "never"
    for step in body:
        step_ends: Ends = "never"
        if isinstance(step, Visit):
            step_ends = step.resource.ends(step.method)
        elif isinstance(step, Loop):
            step_ends = "never" if ends(step.body) == "never" else "sometimes"
        elif isinstance(step, Branch):
            sides = {ends(step.then), ends(step.otherwise)}
            step_ends = sides.pop() if len(sides) == 1 else "sometimes"
        if step_ends == "always":
            return step_ends
        result = result if step_ends == "never" else step_ends
    return result
