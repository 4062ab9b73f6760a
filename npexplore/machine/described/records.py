"""What a machine file may say beside its parameters: resources, the receive side, pools of threads, what is counted."""

from __future__ import annotations

from typing import Any, Literal

from npexplore.toml import Record

Whole = int | str  # a number, or a formula that begins with =
Number = float | int | str


class StartTable(Record, frozen=True):
    """When the threads of a pool begin (pools.Start)."""

    how: Literal["simultaneous", "staggered", "random"]
    seconds: Number = 1e-6


class PoolTable(Record, frozen=True):
    """A pool of threads (pools.Pool); `program` is the body of its function, line by line."""

    name: str
    count: Whole
    program: str
    home: str | None = None
    gets: str | None = None
    priority: Whole = 8
    idle: Literal["sleep", "poll"] = "sleep"
    poll_cycles: Number = 0.0
    start: StartTable = StartTable(how="random")


class ReceiveTable(Record, frozen=True):
    """The receive side (resources.Ingress)."""

    capacity_bytes: Whole
    cell_bytes: Whole = 1
    name: str = "receive"


class CountedTable(Record, frozen=True):
    """What counts as throughput: packets padded to whole cells of `cell_bytes`, called `name`."""

    name: str
    cell_bytes: Whole


class WindowTable(Record, frozen=True):
    """Simulations measure boot_s <= time < boot_s + seconds."""

    seconds: Number
    boot_s: Number = 0.0


Resources = dict[str, dict[str, Any]]
