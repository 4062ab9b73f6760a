"""What a server is to a queueing solver and to the event engine: one resource of the engine, or several alike ones."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Role = Literal["queue", "limit", "pool", "hidden"]


@dataclass(frozen=True)
class Server:
    """One engine resource, or `members` alike ones (banks, engines), each with `units` places.

    role: "queue" is a station with a line; "limit" admits so many into what is visited while its units are held
    (controller slots); "pool" is units that anybody may give back (buffers); "hidden" is modelled by the event engine
    only (semaphores).
    """

    name: str
    members: int = 1
    units: int = 1
    discipline: Literal["fifo", "keyed", "cyclic", "shared"] = "fifo"
    role: Role = "queue"
    start: int | None = None  # free units at time 0, if not all of them
    wake_s: float = 0.0  # a service that ends while others wait takes so much longer,
    per_waiter_s: float = 0.0  # and so much for each of them
    unsolvable: str | None = None  # why no queueing model describes waiting here
    approximation: str | None = None  # what a queueing solver takes it for
    labels: tuple[str, ...] = ()  # what members are called in messages, if not by their number
    kept_waiting: bool = False  # its holder keeps it while it waits for the next: a link of a blocked worm
    refilled_by: str | None = None  # semaphore: the server whose holder (of the same member) puts its units back
