"""A server as queueing solvers and the event engine see it: one resource of the engine, or several equal ones."""

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
MOST_MEMBERS = 2**20  # each member needs an entry in arrays


@dataclass(frozen=True)
class Polls:
    """How tokens that wait for a server poll it: a visit of another `server`, then a gap of `gap_s` seconds.

    in_turn: whether the longest waiting token gets the server, and not the next one that polls. A token that had to
    wait then makes `woken` more visits of the other server, each followed by `woken_s` seconds.
    """

    server: str
    gap_s: float
    in_turn: bool
    woken: int = 0
    woken_s: float = 0.0


@dataclass(frozen=True)
class Server:
    """One engine resource, or `members` equal ones (banks, engines), each with `units` units.

    role: "queue" is a station with a line; "limit" admits at most `units` packets to the visits made while it is held
    (controller slots); "pool" has units that any thread may give back (buffers); "hidden" exists for the event engine
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
    start: int | None = None  # free units at time 0 (None: all)
    wake_s: float = 0.0  # extra time of a service that ends while others wait,
    per_waiter_s: float = 0.0  # and extra time for each of these
    polled: Polls | None = None  # how waiting tokens poll (None: they sleep in the line)
    unsolvable: str | None = None  # why no queueing model describes waiting here
    away: float = 0.0  # share of the time without service (refresh), for queueing solvers
    approximation: str | None = None  # the queueing solvers' approximation of it
    labels: tuple[str, ...] = ()  # names of the members in messages (empty: their numbers)
    unseen_s: float = 0.0  # largest extra time of a visit that no demand contains (opening rows, clock edges)
    unseen_busy_s: float = 0.0  # largest time besides that a visit may occupy a member (closing rows)
    kept_waiting: bool = False  # a packet holds it while it waits for the next server: a link of a blocked worm
    stall_reason: str = ""  # what waiting here for ever means; messages of stalled runs begin with such tokens
    brings: bool = False  # packets arrive over it: a packet is born as its first visit, here, begins service
    refilled_by: str | None = None  # semaphore: the server whose holder (of the same member) puts its units back

    def __post_init__(self) -> None:
        one_of(f"role of server {self.name}", self.role, ROLES)
        one_of(f"discipline of server {self.name}", self.discipline, ORDERS)
        for what, number, least in (
            ("members", self.members, 1),
            ("units", self.units, 0),
        ):  # semaphores may have none
            if number < least:
                raise ModelError(f"server {self.name}: {what} must be at least {least}, got {number}")
        if self.members > MOST_MEMBERS:
            raise ModelError(f"server {self.name}: members must be at most {MOST_MEMBERS}, got {self.members}")


def place_of(server: Server) -> str:
    """Return the place at which the time of packets at a server counts; the links of a network are one place."""
    return server.name.partition(".")[0] if server.kept_waiting else server.name


@dataclass(frozen=True)
class Controller:
    """One DRAM controller of the event engine: its initial block, and the statistics in its block.

    block: returns the initial block for a number of requests, given the start of the block. busy: pairs of an engine
    resource and the place in the block that counts the ticks for which a unit of it was held. counts: pairs of a
    counter of the engine and the place in the block that holds its value.
    """

    block: Callable[[int, int], npt.NDArray[np.int64]]
    busy: tuple[tuple[int, int], ...] = ()
    counts: tuple[tuple[int, int], ...] = ()
