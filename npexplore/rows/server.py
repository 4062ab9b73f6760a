"""What a server is to a queueing solver and to the event engine: one resource of the engine, or several alike ones."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, get_args

from npexplore.errors import ModelError, one_of

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

Role = Literal["queue", "limit", "pool", "hidden"]
Order = Literal["fifo", "keyed", "cyclic", "shared"]
ROLES, ORDERS = get_args(Role), get_args(Order)
MOST_MEMBERS = 2**20  # each has a place in arrays


@dataclass(frozen=True)
class Polls:
    """How those who wait for a server look again: a visit of another `server`, then a gap.

    in_turn: whether only the first of them gets it; who got it makes `woken` visits more, woken_s beside each.
    """

    server: str
    gap_s: float
    in_turn: bool
    woken: int = 0
    woken_s: float = 0.0


@dataclass(frozen=True)
class Server:
    """One engine resource, or `members` alike ones (banks, engines), each with `units` places.

    role: "queue" is a station with a line; "limit" admits so many into what is visited while its units are held
    (controller slots); "pool" is units that anybody may give back (buffers); "hidden" is modelled by the event engine
    only (semaphores).

    Example:
        >>> from npexplore.machine import Server
        >>> Server("bank", members=4).units
        1
    """

    name: str
    members: int = 1
    units: int = 1
    discipline: Order = "fifo"
    role: Role = "queue"
    start: int | None = None  # free units at time 0, if not all of them
    wake_s: float = 0.0  # a service that ends while others wait takes so much longer,
    per_waiter_s: float = 0.0  # and so much for each of them
    polled: Polls | None = None  # what those who wait do meanwhile
    unsolvable: str | None = None  # why no queueing model describes waiting here
    away: float = 0.0  # share of the time that nobody is served here (refresh), for a queueing solver
    approximation: str | None = None  # what a queueing solver takes it for
    labels: tuple[str, ...] = ()  # what members are called in messages, if not by their number
    unseen_s: float = 0.0  # by which a visit may take longer for what no demand knows (rows to open, edges of a clock),
    unseen_busy_s: float = 0.0  # for which one may keep a member busy besides (closed rows)
    kept_waiting: bool = False  # its holder keeps it while it waits for the next: a link of a blocked worm
    stall_reason: str = ""  # what it means to wait here for ever; where a run stands still, who does is named first
    brings: bool = False  # packets come over it: until it is free for a thread's first visit, the packet has not come
    refilled_by: str | None = None  # semaphore: the server whose holder (of the same member) puts its units back

    def __post_init__(self) -> None:
        one_of(f"role of server {self.name}", self.role, ROLES)
        one_of(f"discipline of server {self.name}", self.discipline, ORDERS)
        for what, number, low in (("members", self.members, 1), ("units", self.units, 0)):  # semaphores may have none
            if number < low:
                raise ModelError(f"server {self.name}: {what} must be at least {low}, got {number}")
        if self.members > MOST_MEMBERS:
            raise ModelError(f"server {self.name}: members must be at most {MOST_MEMBERS}, got {self.members}")


def place_of(server: Server) -> str:
    """Return the name under which the time of packets at a server counts: links of a network are one place."""
    return server.name.partition(".")[0] if server.kept_waiting else server.name


@dataclass(frozen=True)
class Controller:
    """One DRAM controller: its block at rest for so many requests at a place, what it tells of servers and counters.

    busy: a resource of the engine, and a place in the block that holds the ticks for which a unit of it was kept.
    counts: a counter of the engine, and a place in the block that holds its value.
    """

    block: Callable[[int, int], npt.NDArray[np.int64]]
    busy: tuple[tuple[int, int], ...] = ()
    counts: tuple[tuple[int, int], ...] = ()
