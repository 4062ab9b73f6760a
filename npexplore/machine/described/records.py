"""Schemas of the tables of machine files (resources, receive side, pools of threads) and of files of parts."""

from typing import Any, Literal

from msgspec import field

from npexplore.machine.ranges import Value
from npexplore.toml import Record

Whole = int | str  # a number, or a formula that begins with =
Number = float | int | str
Resources = dict[str, dict[str, Any]]


class StartTable(Record, frozen=True):
    """The start of a pool's threads (pools.Start)."""

    how: Literal["simultaneous", "staggered", "random"]
    seconds: Number = 1e-6


class PoolTable(Record, frozen=True):
    """A pool of threads (pools.Pool), with a `program` (lines of a function's body) or `steps` (steps.py)."""

    name: str
    count: Whole
    program: str | None = None
    steps: list[Any] | None = None
    home: str | None = None
    gets: str | None = None
    priority: Whole = 8
    idle: Literal["sleep", "poll"] = "sleep"
    poll_cycles: Number = 0.0
    start: StartTable = StartTable(how="random")


class ReceiveTable(Record, frozen=True):
    """The receive side (resources.Ingress); without `capacity_bytes` the buffer is unlimited."""

    capacity_bytes: Whole | None = None
    cell_bytes: Whole = 1
    name: str = "receive"


class CountedTable(Record, frozen=True):
    """The unit of throughput: packets padded to whole cells of `cell_bytes`, called `name`."""

    name: str
    cell_bytes: Whole


class WindowTable(Record, frozen=True):
    """Simulations measure boot_s <= time < boot_s + seconds."""

    seconds: Number
    boot_s: Number = 0.0


class TouchTable(Record, frozen=True):
    """A table or a ring that packets touch (machine/touching.Touched)."""

    what: str
    entries: Whole
    entry_bytes: Whole = 0
    moved_bytes: Whole = 64


class TouchingTable(Record, frozen=True):
    """Tables that packets of a number of flows access, through the caches of a resource of type cpu_caches.

    skew: Zipf's exponent of the flows' popularity. It gives each packet the columns l2_lines, l3_lines, memory_lines
    and page_walks.
    """

    caches: str
    touch: list[TouchTable]
    flows: Whole = 1
    skew: Number = 0.0


class RuleTable(Record, frozen=True):
    """A condition on a part's parameters: the first formula is at most the second."""

    at_most: tuple[str, str]
    about: str


class OperandTable(Record, frozen=True):
    """A parameter of a part, set as a key of the resource's table; required if it has no default.

    also: its other names. advised: whether reports may advise another value; false if a standard fixes it.
    """

    about: str
    source: str
    unit: str = ""
    also: list[str] = field(default_factory=list)
    default: Value | None = None
    whole: bool = False
    min: float | None = None
    max: float | None = None
    choices: list[str | int] = field(default_factory=list)
    advised: bool = True


class ServerTable(Record, frozen=True):
    """A server of a part (resources.base.Server)."""

    members: Whole = 1
    units: Whole = 1
    discipline: Literal["fifo", "keyed", "cyclic", "shared"] = "fifo"
    role: Literal["queue", "limit", "pool", "hidden"] = "queue"


class VisitTable(Record, frozen=True):
    """A visit of a part: its lines, its operands, and the defaults of optional operands.

    chance: operands that a random choice may decide. closed_by: the visit that gives back what this one opens; both
    must be in one block of a program.
    """

    program: str
    operands: list[str] = field(default_factory=list)
    optional: dict[str, Number] = field(default_factory=dict)
    chance: list[str] = field(default_factory=list)
    closed_by: str | None = None


class PartFile(Record, frozen=True):
    """Schema of a part: a kind of resource composed of servers and of other kinds (models/parts/NAME.toml).

    values: numbers that formulas compute from parameters, in this order. inner: resources that belong to the part.
    rules: conditions on its parameters, checked when it is made.
    """

    __hash__ = object.__hash__  # by identity: each file is read once

    title: str
    source: str
    visits: dict[str, VisitTable]
    parameters: dict[str, OperandTable] = field(default_factory=dict)
    values: dict[str, Number] = field(default_factory=dict)
    servers: dict[str, ServerTable] = field(default_factory=dict)
    inner: Resources = field(default_factory=dict)
    rules: list[RuleTable] = field(default_factory=list)
