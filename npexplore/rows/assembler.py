"""The engine's operations for resource kinds: serve, take, give, wait, fork, count (docs/engine.md).

Times are expressions in ticks; `ticks` converts from the model's units. Servers are identified by name and member.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from npexplore._kernels import engine
from npexplore.errors import ModelError
from npexplore.rows.base import PROBABILITY_STEPS, EngineRow, Label, Rows
from npexplore.rows.expressions import Constant, Operand, Variable, expression
from npexplore.rows.server import Controller, Server

__all__ = ["PROBABILITY_STEPS", "Assembler", "EngineRow", "HoldSlot", "Label"]
LOST, HANDED_ON, OWN = -1, 0, 1  # owner of the packet that the running thread got: nobody, another thread, this one


@dataclass(frozen=True)
class HoldSlot:
    """A hold slot of the running token."""

    slot: int


@dataclass
class Assembler(Rows):
    """Rows with servers by name and the hold slots of the running token."""

    servers: dict[str, tuple[Server, int]] = field(default_factory=dict)
    n_resources: int = 0
    homes: dict[str, Variable] = field(default_factory=dict)
    guests: dict[str, Variable] = field(default_factory=dict)  # members on which threads compute, other than their home
    thread: Operand = 0  # number of the running thread, for numbered resources
    outlives: bool = False  # whether the emitted rows are of forked work that its thread does not wait for
    spare_tokens: int = 0  # tokens that visits may fork in addition to a few per thread
    at_rest: list[int] = field(default_factory=list)  # resources that unfinished work may wait for when a run ends
    columns: list[Variable] = field(default_factory=list)  # the workload's columns of the running thread's packet
    own: Variable | None = None  # OWN, HANDED_ON or LOST (None: the same for every packet)
    messages: dict[str, int] = field(default_factory=dict)  # by queue, the ring of its packets
    longest: dict[str, int] = field(default_factory=dict)  # by queue, the global with its largest length
    tables: list[npt.NDArray[np.int64]] = field(default_factory=list)
    named_tables: dict[str, int] = field(default_factory=dict)
    rings: list[tuple[int, int]] = field(default_factory=list)  # (capacity, width)
    controllers: list[Controller] = field(default_factory=list)  # DRAM controllers
    endless: bool = False  # whether the running pool has an endless supply of packets
    _first: dict[str, int] = field(default_factory=dict)  # by resource, the number of its first controller
    _slots: set[int] = field(default_factory=set)
    _holds_by_key: dict[object, list[HoldSlot]] = field(default_factory=dict)

    def declare(self, server: Server) -> None:
        """Assign engine resource numbers to a server."""
        if server.name in self.servers:
            raise ModelError(f"server {server.name!r} is declared twice")
        self.servers[server.name] = (server, self.n_resources)
        self.n_resources += server.members

    def home(self, server: str) -> Operand:
        """Return the member of a server that the running token belongs to (0 if it has no home there)."""
        return self.homes.get(server, self.guests.get(server, 0))

    def in_turn(self, server: str, members: int, counter: int | None = None) -> Operand:
        """Return a member chosen in turn; the value is kept until the current scope ends.

        counter: the global that counts (None: each visit in the program has its own).
        """
        if members == 1:
            return 0
        variable = Variable(f"{server} in turn")
        self.fetch_add(variable, self.new_global() if counter is None else counter, 1)
        return variable % members

    def number(self, server: str) -> int:
        """Return the engine resource number of a server's first member."""
        return self.servers[server][1]

    def at(self, server: str, member: Operand) -> tuple[int, int]:
        """Return the engine resource of a member; a number that is no member ends the run with an error."""
        kind, first = self.servers[server]
        constant, register = self.check_below(member, kind.members, f"{server} has members")
        return constant + first, register

    def check_below(self, value: Operand, below: int, subject: str) -> tuple[int, int]:
        """Return the operand of a value; emits a check at run time unless it is known to be in [0, below)."""
        if type(value) is int and 0 <= value < below:
            return value, 0
        constant, register = self.operand(value)
        limit = self._limit(expression(value))
        if limit is None or limit > below:
            outside, right = Label(), Label()
            self.emit(engine.JUMP, (constant, register), (0, 0), target=outside, x=engine.LT)
            self.emit(engine.JUMP, (constant, register), (below, 0), target=right, x=engine.LT)
            self.place(outside)
            self.emit(engine.LOAD, (-1, 0))
            self.rows[-1].place += f": {subject} 0..{below - 1}, the program asks for another"
            self.place(right)
        return constant, register

    def share(self, server: str, ticks: Operand, member: Operand = 0) -> None:
        """Do work of some ticks at a SHARED server, together with all tokens there."""
        with self.scope():
            self.emit(engine.SHARE, self.at(server, member), self.operand(ticks), x=engine.FIXED)

    def serve(self, server: str, ticks: Operand, member: Operand = 0, key: int = 0) -> None:
        """Queue for one unit, hold it for a time, give it back."""
        with self.scope():
            self.emit(engine.SERVE, self.at(server, member), self.operand(ticks), x=engine.FIXED, z=key)

    def take(self, server: str, member: Operand = 0, units: Operand = 1, key: Operand = 0) -> HoldSlot:
        """Queue for units and hold them."""
        slot = self._new_slot()
        with self.scope():
            a, b, c = self.at(server, member), self.operand(units), self.operand(key)
            self.emit(engine.TAKE, a, b, c, slot=slot)
        self.holding[slot] = server
        return HoldSlot(slot)

    def take_at(self, place: tuple[int, int], key: Operand = 0) -> HoldSlot:
        """Queue for one unit of a resource, given as an engine number (constant and register), and hold it."""
        slot = self._new_slot()
        with self.scope():
            self.emit(engine.TAKE, place, (1, 0), self.operand(key), slot=slot)
        return HoldSlot(slot)

    def take_all(self, parts: list[tuple[str, Operand]]) -> list[HoldSlot]:
        """Hold one unit of each (server, member): all at once, or none."""
        holds = []
        with self.scope():
            members = [self.at(server, member) for server, member in parts]
            self.emit(engine.ALL, x=len(parts))
            for a in members:
                holds.append(HoldSlot(self._new_slot()))
                self.emit(engine.TAKE, a, (1, 0), slot=holds[-1].slot)
        self.holding.update({hold.slot: server for hold, (server, _) in zip(holds, parts, strict=True)})
        return holds

    def grab(self, variable: Variable, places: Sequence[tuple[int, int]], most: Operand) -> None:
        """Consume as many units of each semaphore (by engine number) as all have, at most `most`; keep the number."""
        with self.scope():
            limit = self.operand(most)
        self.emit(engine.GRAB, (0, 0), limit, slot=self.operand(variable)[1], x=len(places))
        for place in places:
            self.emit(engine.TAKE, place)

    def give(self, hold: HoldSlot) -> None:
        """Give back a hold's units."""
        self._slots.discard(hold.slot)
        self.emit(engine.GIVE, slot=hold.slot)
        self.holding.pop(hold.slot, None)

    def keep(self, key: object, hold: HoldSlot) -> None:
        """Store a hold for another visit under a key."""
        self._holds_by_key.setdefault(key, []).append(hold)

    def pop_hold(self, key: object) -> HoldSlot:
        """Remove and return the hold that was stored last under a key."""
        return self._holds_by_key[key].pop()

    def consume(self, server: str, units: Operand = 1, member: Operand = 0) -> None:
        """Wait for units of a semaphore and consume them."""
        with self.scope():
            self.emit(engine.TAKE, self.at(server, member), self.operand(units))

    def try_consume(self, server: str, units: Operand, otherwise: Label, member: Operand = 0) -> None:
        """Consume units of a semaphore if they are free, else go to the label."""
        with self.scope():
            self.emit(engine.TRY, self.at(server, member), self.operand(units), target=otherwise)

    def put(self, server: str, units: Operand = 1, member: Operand = 0) -> None:
        """Add units to a semaphore."""
        with self.scope():
            self.emit(engine.PUT, self.at(server, member), self.operand(units))

    def wait(self, ticks: Operand) -> None:
        """Sleep for a time; emits no row for a constant 0."""
        with self.scope():
            time = self.operand(ticks)
            if time != (0, 0):
                self.emit(engine.WAIT, time, x=engine.FIXED)

    def wait_until(self, time: Operand) -> None:
        """Sleep until a time; a time in the past does not sleep."""
        with self.scope():
            self.emit(engine.WAIT, self.operand(time), x=engine.UNTIL)

    def wait_window(self, period: int, length: int) -> None:
        """If now lies in the first `length` ticks of a period, sleep until these end."""
        self.emit(engine.WAIT, (period, 0), (length, 0), x=engine.WINDOW)

    @contextmanager
    def fork(self, hold: HoldSlot | None = None, mode: int = engine.DETACHED) -> Iterator[HoldSlot | None]:
        """Emit a new token's program in the block; it takes over `hold`, which is yielded, and must give it back."""
        begin, after = Label(), Label()
        self.emit(engine.FORK, target=begin, slot=-1 if hold is None else hold.slot, x=mode)
        if hold is not None:
            self._slots.discard(hold.slot)
        self.jump(after)
        self.place(begin)
        outer, self.outlives = self.outlives, self.outlives or mode == engine.DETACHED
        with self.token(hold):
            yield None if hold is None else HoldSlot(0)
        self.outlives = outer
        self.place(after)

    def try_take(
        self, server: str, otherwise: Label, member: Operand = 0, units: Operand = 1, polls: bool = False
    ) -> HoldSlot:
        """Hold units if they are free and the line is empty, else jump to the label without holding any."""
        slot = self._new_slot()
        with self.scope():
            self.emit(engine.TRY, self.at(server, member), self.operand(units), target=otherwise, slot=slot)
        self.rows[-1].polls = polls
        self.holding[slot] = server
        return HoldSlot(slot)

    def priority(self, value: Operand) -> Variable:
        """Set the running token's priority (0..15, a smaller number goes first); return the old one."""
        return self.value(engine.PRIORITY, value, name="old priority")

    def line(self, server: str, member: Operand = 0) -> Variable:
        """Return the number of tokens that wait at a server."""
        return self._of(engine.LINE, server, member)

    def free(self, server: str, member: Operand = 0) -> Variable:
        """Return the number of free units of a server."""
        return self._of(engine.FREE, server, member)

    def _of(self, function: int, server: str, member: Operand) -> Variable:
        variable = Variable(server)
        with self.scope():
            place = self.at(server, member)
        self.emit(engine.SET, place, slot=self.register(variable), x=function)
        return variable

    def pick(self, server: str, choice: int, flags: Operand | None = None, last: int | None = None) -> Variable:
        """Return a member chosen by PICK; `flags` is the first of the members' globals for NEXT_FLAGGED.

        last: the global that holds the previous choice (None: each visit in the program has its own).
        """
        members, variable = self.servers[server][0].members, Variable(f"{server} picked")
        last = self.new_global(members - 1) if last is None else last
        with self.scope():
            place = self.operand(self.number(server) if flags is None else flags)
        self.emit(engine.PICK, place, (members, 0), (last, 0), slot=self.register(variable), x=choice)
        self.limit(variable, members)
        return variable

    def table(self, rows: npt.NDArray[np.int64]) -> int:
        """Add a read-only table, shape (rows, columns); return its number."""
        self.tables.append(rows)
        return len(self.tables) - 1

    def shared_table(self, name: str, rows: npt.NDArray[np.int64]) -> int:
        """Return the number of the table of this name, which all visits of a resource share."""
        if name not in self.named_tables:
            self.named_tables[name] = self.table(rows)
        return self.named_tables[name]

    def load(self, table: int, row: Operand, names: Sequence[str]) -> list[Variable]:
        """Load a row of a table into variables, one per column."""
        with self.scope():
            at = self.operand(row)
        variables = self.block(names)
        self.emit(engine.LOAD, (table, 0), at, slot=self.operand(variables[0])[1])
        return variables

    def ring(self, capacity: int, width: int) -> int:
        """Add a ring of messages of `width` numbers; return its number."""
        self.rings.append((capacity, width))
        return len(self.rings) - 1

    def dram(self, name: str, make_controllers: Callable[[], Sequence[Controller]]) -> int:
        """Return the number of the first DRAM controller of a resource; the first call creates the controllers."""
        if name not in self._first:
            self._first[name] = len(self.controllers)
            self.controllers += make_controllers()
        return self._first[name]

    def ask(self, controller: Operand, bank: Operand, row: Operand, bursts: Operand, write: bool) -> None:
        """Let a DRAM controller serve an access: wait for its data, or (buffered write) for a buffer entry."""
        bursts_variable = Variable("bursts")
        with self.scope():
            burst_count = expression(bursts)
            single = isinstance(burst_count, Constant) and burst_count.value == 1
            if not single:
                self.let(bursts_variable, bursts)
            slot = -1 if single else self.operand(bursts_variable)[1]
            operands = (self.operand(value) for value in (controller, bank, row))
            self.emit(engine.ASK, *operands, slot=slot, x=int(write))

    def push(self, ring: tuple[int, int], values: Sequence[Operand]) -> None:
        """Append a message (with the birth time) to a ring, an operand; a full ring ends the run with an error."""
        with self.scope():
            numbers = [self._registers.get(value, 0) for value in values if isinstance(value, Variable)]
            first = numbers[0] if numbers else 0
            if not first or numbers != list(range(first, first + len(values))):  # not consecutive
                variables = self.block([f"message {k}" for k in range(len(values))])
                for variable, value in zip(variables, values, strict=True):
                    with self.scope():
                        a = self.operand(value)
                    self.emit(engine.SET, a, slot=self.operand(variable)[1], x=engine.ADD)
                first = self.operand(variables[0])[1]
            self.emit(engine.PUSH, ring, slot=first)

    def pop(self, ring: int, names: Sequence[str]) -> list[Variable]:
        """Remove the oldest message of a ring into variables; the token gets its birth time."""
        variables = self.block(names)
        self.emit(engine.POP, (ring, 0), slot=self.operand(variables[0])[1])
        return variables

    @contextmanager
    def token(self, hold: HoldSlot | None = None) -> Iterator[None]:
        """Emit in the block the program of tokens that start at a label inside, then END. hold: their slot 0."""
        held_server = None if hold is None else self.holding.pop(hold.slot, None)
        outer = self._slots, self.holding
        self._slots, self.holding = set() if hold is None else {0}, {} if held_server is None else {0: held_server}
        with self.scope():
            yield
            self.emit(engine.END)
        self._slots, self.holding = outer

    def end_packet(self, how: int) -> None:
        """Record that the packet no longer belongs to the running thread: HANDED_ON or LOST."""
        if self.own is not None:
            self.assign(self.own, how)

    def unless_lost(self, otherwise: Label) -> None:
        """Go to the label if the packet was lost."""
        if self.own is not None:
            self.jump(otherwise, self.own == LOST)

    def join(self) -> None:
        """Wait until all joined tokens have ended."""
        self.emit(engine.JOIN)

    def _new_slot(self) -> int:
        for slot in range(engine.SLOTS):
            if slot not in self._slots:
                self._slots.add(slot)
                return slot
        place = f"{self.place_name}: " if self.place_name else ""
        raise ModelError(f"{place}a token holds more than {engine.SLOTS} things at once")
