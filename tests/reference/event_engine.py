"""The event engine a second time, in plain Python, written from docs/engine.md alone: obvious, slow, no numba.

A `Model` is described by rows with names (`Row("SERVE", A=1, B=40, x="EXPONENTIAL")`) and run by `advance`. Nothing is
imported from the package, so that what both engines agree on is what the page says.
"""

import heapq
import math
from collections import Counter
from dataclasses import dataclass, field
from typing import NamedTuple

from reference.dram_clock import Access, Asked

REGISTERS = 24
SLOTS = 8
JUMPS_LIMIT = 1_000_000
WAKES_LIMIT = 20_000_000
WORD = 1 << 64
USUAL = {  # what x = 0 means
    "WAIT": "FIXED", "SERVE": "FIXED", "DRAW": "FIXED", "SET": "ADD", "JUMP": "ALWAYS", "FORK": "DETACHED",
    "PICK": "ROTATE", "SHARE": "FIXED",
}  # fmt: skip


class Row(NamedTuple):
    op: str
    A: int = 0
    ra: int = 0
    B: int = 0
    rb: int = 0
    C: int = 0
    rc: int = 0
    target: int = 0
    slot: int = -1
    x: str | int = 0
    y: int = 0
    z: int = 0


class RunError(Exception):
    """Ends a run with a status; `row` is the program row to blame if it is not the token's own."""

    def __init__(self, status, row=None):
        super().__init__(status)
        self.row = row


def int64(value):
    """Two's complement wrap-around to 64 bits."""
    return (value + WORD // 2) % WORD - WORD // 2


def require(condition, status="BAD_OPERAND", row=None):
    if not condition:
        raise RunError(status, row)


def member(items, index, row=None):
    require(0 <= index < len(items), row=row)
    return items[index]


def mix(z):
    """The finalizer of SplitMix64 (Steele, Lea, Flood, OOPSLA 2014)."""
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 % WORD
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB % WORD
    return z ^ (z >> 31)


def histogram_bin(value):
    """32 bins an octave: the six leading bits of the value, and how many bits follow them."""
    shift = max(value.bit_length() - 6, 0)
    return 32 * shift + (value >> shift)


@dataclass(eq=False)
class Account:
    """Where a packet's time went until `since`: ticks by (place, 0 served, 1 waited, 2 held up)."""

    since: int
    spent: Counter = field(default_factory=Counter)

    def copy(self):
        return Account(self.since, Counter(self.spent))

    def charge(self, place, kind, now):
        self.spent[place, kind] += now - self.since
        self.since = now


@dataclass(eq=False)
class Token:
    number: int
    row: int
    registers: list[int]
    priority: int = 8
    birth: int = 0
    holds: list[tuple["Resource", int] | None] = field(default_factory=lambda: [None] * SLOTS)
    parent: "Token | None" = None
    children: int = 0
    waits: "Resource | str | None" = None  # a resource's line, "pool" or "children"
    need: int = 0
    key: int = 0
    slot: int = -1
    wants: list[tuple["Resource", int, int]] = field(default_factory=list)  # of a token in the pool
    duration: int | None = None  # the service a token in a line will have: SERVE
    serving: "Resource | None" = None
    left: int = 0  # work at a SHARED resource, in 2^-20 ticks
    account: "Account | None" = None
    mark: int = 0  # blocked time of the resource in whose line it waits when it came; work alone at a SHARED one
    polls: "Resource | None" = None
    asleep: int | None = None  # the row of the WAIT that it sleeps at


@dataclass(eq=False)
class Resource:
    number: int
    free: int
    discipline: str = "FIFO"
    units: int = 0
    sharing: list[Token] = field(default_factory=list)  # in order of coming
    speeds: list[list[int]] | None = None
    in_order: bool = False  # one is served at a time, by priority and in order of coming
    worked: int = 0  # until when `left` of those sharing is right
    line: list[Token] = field(default_factory=list)
    pool: int = 0
    turn: int = 0
    blocked: int = 0
    since: int = 0
    free_time: int = 0
    waiting_time: int = 0
    blocked_time: int = 0
    longest: int = 0
    grants: int = 0
    refusals: int = 0

    def touch(self, now):
        """Bring the integrals up to date; called before every change."""
        passed = now - self.since
        self.free_time += passed * self.free
        self.waiting_time += passed * self.waiting()
        self.blocked_time += passed * self.blocked
        self.since = now

    def waiting(self):
        return max(len(self.sharing) - self.units, 0) + len(self.line) + self.pool

    def speed(self):
        """Work in 2^-20 that each token served at a SHARED resource gets a tick."""
        n = len(self.sharing)
        if self.speeds is None:
            return (min(n, self.units) << 20) // n
        return self.speeds[min(n, len(self.speeds)) - 1][0] // (1 if self.in_order else n)

    def served(self):
        """Those of a SHARED resource whose work gets less."""
        return [min(self.sharing, key=lambda token: token.priority)] if self.in_order else self.sharing

    def first_to_end(self):
        return min(self.served(), key=lambda token: token.left)

    def head(self):
        """The token whose turn is next; `min` keeps the first come among equals."""
        if self.discipline == "FIFO":
            return self.line[0]
        later = [token for token in self.line if token.key > self.turn]
        if self.discipline == "CYCLIC" and later:
            return min(later, key=lambda token: token.key)
        return min(self.line, key=lambda token: token.key)


@dataclass(eq=False)
class Ring:
    capacity: int
    width: int
    messages: list[tuple[list[int], int]] = field(default_factory=list)
    accounts: list[Account | None] = field(default_factory=list)


class Model:
    """Programs, resources and tokens with their state; `spare` is the number of tokens that FORK may still make."""

    def __init__(
        self, program, resources, tokens, streams, spare=0, globals_=(), tables=(), rings=(), classes=1, counters=0,
        where=(), controllers=(),
    ):  # fmt: skip
        self.where, self.tally, self.controllers = where, Counter(), controllers
        self.program = [row if row.x else row._replace(x=USUAL.get(row.op, 0)) for row in program]
        self.resources = [Resource(i, free, discipline, free) for i, (free, discipline) in enumerate(resources)]
        self.tokens = [
            Token(i, row, [0, *registers] + [0] * (REGISTERS - 1 - len(registers)), priority)
            for i, (row, registers, priority) in enumerate(tokens)
        ]
        self.streams = streams
        self.draws = [0] * len(program)
        self.globals = list(globals_)
        self.tables = tables
        self.rings = [Ring(capacity, width) for capacity, width in rings]
        self.histogram = [{} for _ in range(classes)]
        self.done = [[0, 0, 0, 0] for _ in range(classes)]
        self.counters = [0] * counters
        self.free_numbers = list(range(len(tokens), len(tokens) + spare))
        self.pool = []
        self.log = []
        self.now = self.sequence = self.events = self.packets = self.last_done = self.wakes = self.before = 0
        self.error = None
        self.pending = []
        for token in self.tokens:
            token.account = Account(0) if where else None
            self.schedule(token, 0)

    def place(self, resource):
        return self.where[resource.number]

    def place_of_row(self, row):
        return self.where[len(self.resources) + row] if self.where else 0

    # ---- the loop

    def advance(self, until, until_done, stall):
        self.until = until
        while True:
            if self.packets >= until_done:
                return "COUNT_UP"
            if not self.pending:
                return "DEADLOCK" if self.tokens else "FINISHED"
            time, _, _, token = self.pending[0]
            if time > until:
                self.now = until
                return "TIME_UP"
            if time > self.now:
                self.now = time
                self.wakes = 0
                if time - self.last_done > stall:
                    return "STALL"
            heapq.heappop(self.pending)
            if isinstance(token, Asked):
                self.decide(token, time)
                continue
            self.events += 1
            self.wakes += 1
            try:
                require(self.wakes <= WAKES_LIMIT, "ENDLESS")
                self.run(token)
            except RunError as error:
                self.error = (token.number, token.row if error.row is None else error.row)
                return str(error)

    def schedule(self, token, time):
        heapq.heappush(self.pending, (time, token.priority, self.sequence, token))
        self.sequence += 1

    def run(self, token):
        """Let the token act until it sleeps, waits or ends."""
        self.charge_past(token)
        if token.serving:
            if token.serving.discipline == "SHARED":
                self.change_sharing(token.serving, leaves=token)
            else:
                resource, token.serving = token.serving, None
                self.release(resource, 1, token)
        jumps_back = 0
        while True:
            row = member(self.program, token.row)
            a, b, c = (
                int64(constant + token.registers[register])
                for constant, register in ((row.A, row.ra), (row.B, row.rb), (row.C, row.rc))
            )
            here = token.row
            goes_on = getattr(self, "op_" + row.op.lower())(token, row, a, b, c)
            if not goes_on:
                return
            if token.row <= here:
                jumps_back += 1
                require(jumps_back <= JUMPS_LIMIT, "ENDLESS", here)

    # ---- where a packet's time goes

    def charge_past(self, token):
        account, resource = token.account, token.serving
        row, token.asleep = token.asleep, None
        if account is None:
            return
        if token.polls:
            account.charge(self.place(token.polls), 1, self.now)
        elif resource and resource.discipline == "SHARED":
            place = self.place(resource)
            alone = min(self.now - account.since, token.mark)
            account.spent[place, 0] += alone
            account.since += alone
            account.charge(place, 1, self.now)
        elif resource:
            account.charge(self.place(resource), 0, self.now)
        elif row is not None:
            account.charge(self.place_of_row(row), 0, self.now)
        assert account.since == self.now

    def charge_line(self, token, resource, blocked):
        """The end of a wait for a resource, in its line or in the pool."""
        account = token.account
        if account is None:
            return
        if token.polls:
            account.charge(self.place(token.polls), 1, self.now)
            return
        held_up = min(self.now - account.since, blocked // max(resource.units, 1))
        account.spent[self.place(resource), 2] += held_up
        account.since += held_up
        account.charge(self.place(resource), 1, self.now)

    # ---- units, lines and the pool

    def change(self, resource, units, token):
        resource.touch(self.now)
        resource.free += units
        self.log.append((self.now, resource.number, -units, token.number))

    def take(self, token, resource, units, slot):
        self.change(resource, -units, token)
        resource.grants += 1
        if slot >= 0:
            token.holds[slot] = (resource, units)

    def release(self, resource, units, token):
        self.change(resource, units, token)
        while resource.line and resource.head().need <= resource.free:
            self.grant(resource, resource.head())
        if resource.pool:
            for waiting in list(self.pool):
                if self.fits(waiting.wants):
                    self.pool.remove(waiting)
                    for named, _, _ in waiting.wants:
                        named.touch(self.now)
                        named.pool -= 1
                    self.stop_waiting(waiting)
                    self.charge_line(waiting, resource, 0)
                    self.take_all(waiting, waiting.wants)
                    self.schedule(waiting, self.now)

    def grant(self, resource, token):
        resource.touch(self.now)
        resource.line.remove(token)
        resource.turn = token.key
        self.charge_line(token, resource, int64(resource.blocked_time - token.mark))
        self.stop_waiting(token)
        self.take(token, resource, token.need, token.slot)
        if token.duration is None:
            self.schedule(token, self.now)
        else:
            self.serve(token, resource, token.duration)

    def serve(self, token, resource, duration):
        token.serving = resource
        self.schedule(token, self.now + duration)

    def change_sharing(self, resource, comes=None, leaves=None):
        """Account for the work done so far, then let one come or leave, then let the next to end sleep anew."""
        if resource.sharing:
            done = (self.now - resource.worked) * resource.speed()
            for token in resource.served():
                token.left -= done
            for token in resource.sharing:
                token.serving = None
            self.pending = [entry for entry in self.pending if entry[3] not in resource.sharing]
            heapq.heapify(self.pending)
        resource.worked = self.now
        resource.touch(self.now)
        if comes:
            resource.sharing.append(comes)
            resource.grants += 1
        if leaves:
            resource.sharing.remove(leaves)
            leaves.waits = None
        n = len(resource.sharing)
        resource.free = max(resource.units - n, 0)
        resource.longest = max(resource.longest, resource.waiting())
        if n:
            sleeper = resource.first_to_end()
            self.serve(sleeper, resource, -(-max(sleeper.left, 0) // resource.speed()))

    def members(self, token, row):
        """(resource, units, slot) of each of the rows that follow an ALL."""
        found = []
        for i in range(token.row + 1, token.row + 1 + row.x):
            named = self.program[i]
            resource = member(self.resources, int64(named.A + token.registers[named.ra]), i)
            units = int64(named.B + token.registers[named.rb])
            require(units >= 0, row=i)
            require(named.slot < 0 or token.holds[named.slot] is None, row=i)
            require(all(resource is not other and not named.slot == slot >= 0 for other, _, slot in found), row=i)
            found.append((resource, units, named.slot))
        return found

    @staticmethod
    def fits(members):
        return all(resource.free >= units for resource, units, _ in members)

    def take_all(self, token, members):
        for resource, units, slot in members:
            self.take(token, resource, units, slot)

    def start_waiting(self, token, place):
        token.waits = place
        self.mark_blocked(token, 1)

    def stop_waiting(self, token):
        token.waits = None
        self.mark_blocked(token, -1)

    def mark_blocked(self, token, sign):
        for hold in token.holds:
            if hold:
                hold[0].touch(self.now)
                hold[0].blocked += sign * hold[1]

    def join_line(self, token, resource, units, key, slot, duration):
        token.need, token.key, token.slot, token.duration = units, key, slot, duration
        resource.touch(self.now)
        token.mark = resource.blocked_time
        resource.line.append(token)
        resource.longest = max(resource.longest, len(resource.line) + resource.pool)
        self.start_waiting(token, resource)

    # ---- operations: each returns whether the token goes on

    def op_take(self, token, row, a, b, c):
        resource = member(self.resources, a)
        require(b >= 0)
        require(row.slot < 0 or token.holds[row.slot] is None)
        token.row += 1
        if not resource.line and resource.free >= b:
            resource.turn = c
            self.take(token, resource, b, row.slot)
            return True
        self.join_line(token, resource, b, c, row.slot, None)
        return False

    def op_try(self, token, row, a, b, c):
        resource = member(self.resources, a)
        require(b >= 0)
        require(row.slot < 0 or token.holds[row.slot] is None)
        if not resource.line and resource.free >= b:
            resource.turn = c
            self.take(token, resource, b, row.slot)
            if self.place_of_row(token.row):
                token.polls = None
            token.row += 1
        else:
            resource.refusals += 1
            if self.place_of_row(token.row):
                token.polls = resource
            token.row = row.target
        return True

    def op_give(self, token, row, a, b, c):
        require(token.holds[row.slot] is not None)
        resource, units = token.holds[row.slot]
        token.holds[row.slot] = None
        token.row += 1
        self.release(resource, units, token)
        return True

    def op_put(self, token, row, a, b, c):
        resource = member(self.resources, a)
        require(b >= 0)
        token.row += 1
        self.release(resource, b, token)
        return True

    def op_all(self, token, row, a, b, c):
        token.wants = members = self.members(token, row)
        token.row += 1 + len(members)
        if self.fits(members) and not any(resource.line for resource, _, _ in members):
            self.take_all(token, members)
            return True
        for resource, _, _ in members:
            resource.touch(self.now)
            resource.pool += 1
            resource.longest = max(resource.longest, len(resource.line) + resource.pool)
        self.pool.append(token)
        self.start_waiting(token, "pool")
        return False

    def op_grab(self, token, row, a, b, c):
        named = []
        for i in range(token.row + 1, token.row + 1 + row.x):
            resource = member(self.resources, int64(self.program[i].A + token.registers[self.program[i].ra]), i)
            require(resource not in named, row=i)
            named.append(resource)
        units = max(0, min([b, *(0 if resource.line else resource.free for resource in named)]))
        for resource in named:
            self.take(token, resource, units, -1)
        if row.slot > 0:
            token.registers[row.slot] = units
        token.row += 1 + len(named)
        return True

    def op_wait(self, token, row, a, b, c):
        duration = self.draw(token, row.x, a, b, c)
        require(duration >= 0)
        token.row += 1
        if duration == 0:
            return True
        token.asleep = token.row - 1
        self.schedule(token, self.now + duration)
        return False

    def op_ask(self, token, row, a, b, c):
        memory = member(self.controllers, a)
        bursts = token.registers[row.slot] if row.slot > 0 else 1
        require(0 <= b < memory.n and c >= 0 and bursts >= 1)
        token.asleep = token.row
        token.row += 1
        edge = memory.ask(Access(token, self.now, b, c, row.x == 1, bursts), self.now)
        self.deliver(memory)
        if memory.awake is None or memory.awake > edge:
            self.wake(memory, edge)
        return False

    def wake(self, memory, edge):
        memory.awake = edge
        self.schedule(memory, edge * memory.ticks)

    def decide(self, memory, time):
        """Let a controller decide, if it has not been told to decide earlier."""
        if memory.awake is None or memory.awake * memory.ticks != time:
            return
        edge, memory.awake = memory.awake, None
        memory.decide(edge)
        self.deliver(memory)
        if memory.works():
            self.wake(memory, edge + 1)

    def deliver(self, memory):
        for token, time in memory.told:
            self.schedule(token, self.now if time is None else time)
        memory.told.clear()

    def op_serve(self, token, row, a, b, c):
        duration = self.draw(token, row.x, b, c, row.y)
        require(duration >= 0)
        resource = member(self.resources, a)
        token.row += 1
        if not resource.line and resource.free >= 1:
            resource.turn = row.z
            self.take(token, resource, 1, -1)
            self.serve(token, resource, duration)
        else:
            self.join_line(token, resource, 1, row.z, -1, duration)
        return False

    def op_share(self, token, row, a, b, c):
        work = self.draw(token, row.x, b, c, row.y)
        require(work >= 0)
        resource = member(self.resources, a)
        require(resource.discipline == "SHARED")
        speeds = member(self.tables, abs(row.z) - 1) if row.z else None
        require(speeds is None or len(speeds) > 0)
        token.row += 1
        token.left = work << 20
        token.waits = resource
        resource.speeds, resource.in_order = speeds, row.z < 0
        alone = min(1, resource.units) << 20 if speeds is None else speeds[0][0]
        token.mark = -(-token.left // alone)
        self.change_sharing(resource, comes=token)
        return False

    def op_set(self, token, row, a, b, c):
        self.write(token, row.slot, int64(self.function(token, row.x, a, b, c)))
        token.row += 1
        return True

    def op_jump(self, token, row, a, b, c):
        holds = {"ALWAYS": True, "LT": a < b, "LE": a <= b, "EQ": a == b, "NE": a != b, "GE": a >= b, "GT": a > b}
        token.row = row.target if holds[row.x] else token.row + 1
        return True

    def op_draw(self, token, row, a, b, c):
        value = self.draw(token, row.x, a, b, c)
        require(value >= 0)
        self.write(token, row.slot, value)
        token.row += 1
        return True

    def op_fork(self, token, row, a, b, c):
        require(self.free_numbers, "SATURATION")
        require(row.slot < 0 or token.holds[row.slot] is not None)
        birth = self.now if row.x == "NEW_PACKET" else token.birth
        child = Token(self.free_numbers.pop(0), row.target, list(token.registers), token.priority, birth)
        if row.slot >= 0:
            child.holds[0], token.holds[row.slot] = token.holds[row.slot], None
        if row.x == "JOINED":
            child.parent = token
            token.children += 1
        if token.account and self.place_of_row(token.row):
            child.account = token.account.copy() if row.x == "DETACHED" else Account(self.now)
        self.tokens.append(child)
        self.schedule(child, self.now)
        token.row += 1
        return True

    def op_join(self, token, row, a, b, c):
        token.row += 1
        if token.children == 0:
            return True
        self.start_waiting(token, "children")
        return False

    def op_done(self, token, row, a, b, c):
        latency = self.now - token.birth
        histogram, totals = member(self.histogram, a), self.done[a]
        place = histogram_bin(latency)
        histogram[place] = histogram.get(place, 0) + 1
        if token.account:
            for (where, kind), ticks in token.account.spent.items():
                self.tally[a, place, where, kind] += ticks
            token.account.spent.clear()
        for i, amount in enumerate((1, latency, b, c)):
            totals[i] += amount
        token.birth = self.now
        self.packets += 1
        self.last_done = self.now
        token.row += 1
        return True

    def op_end(self, token, row, a, b, c):
        require(not any(token.holds) and token.children == 0, "LEAK")
        self.tokens.remove(token)
        self.free_numbers.insert(0, token.number)
        parent = token.parent
        if parent:
            parent.children -= 1
            if parent.children == 0 and parent.waits == "children":
                self.stop_waiting(parent)
                if parent.account:
                    self.charge_parts(parent.account, token.account)
                self.schedule(parent, self.now)
        return False

    def charge_parts(self, account, part):
        """The last part is where the time went, if it took all of it."""
        if part and sum(part.spent.values()) == self.now - account.since:
            account.spent += part.spent
            account.since = self.now
        else:
            account.charge(0, 1, self.now)

    def op_load(self, token, row, a, b, c):
        values = member(member(self.tables, a), b)
        token.registers[self.span(row.slot, len(values))] = values
        token.row += 1
        return True

    def op_count(self, token, row, a, b, c):
        member(self.counters, a)
        self.counters[a] += b
        token.row += 1
        return True

    def op_push(self, token, row, a, b, c):
        ring = member(self.rings, a)
        require(len(ring.messages) < ring.capacity, "OVERFLOW")
        ring.messages.append((token.registers[self.span(row.slot, ring.width)], token.birth))
        ring.accounts.append(token.account and token.account.copy())
        token.row += 1
        return True

    def op_pop(self, token, row, a, b, c):
        ring = member(self.rings, a)
        require(ring.messages, "OVERFLOW")
        span = self.span(row.slot, ring.width)
        token.registers[span], token.birth = ring.messages.pop(0)
        token.account, token.polls = ring.accounts.pop(0), None
        if token.account:
            token.account.charge(self.place_of_row(token.row), 1, self.now)
        token.row += 1
        return True

    def op_pick(self, token, row, a, b, c):
        last = member(self.globals, row.C)
        require(b > 0)
        turns = [(last + 1 + i) % b for i in range(b)]
        if row.x == "NEXT_FLAGGED":
            require(a >= 0 and a + b <= len(self.globals))
            flagged = [i for i in turns if self.globals[a + i] != 0]
            index = flagged[0] if flagged else turns[0]
        else:
            require(a >= 0 and a + b <= len(self.resources))
            members = self.resources[a : a + b]
            index = turns[0]
            if row.x == "SHORTEST":
                index = min(turns, key=lambda i: members[i].waiting() - members[i].free)
            elif row.x == "FIRST_FREE":
                index = next((i for i in range(b) if members[i].free > 0 and not members[i].line), turns[0])
        self.globals[row.C] = index
        self.write(token, row.slot, index)
        token.row += 1
        return True

    # ---- registers and numbers

    @staticmethod
    def write(token, register, value):
        if register > 0:
            token.registers[register] = value

    @staticmethod
    def span(register, width):
        require(width == 0 or (register > 0 and register + width <= REGISTERS))
        return slice(register, register + width) if width else slice(0, 0)

    def function(self, token, name, a, b, c):
        if name in ("DIV", "CEILDIV", "MOD"):
            require(b != 0)
            return {"DIV": a // b, "CEILDIV": -(-a // b), "MOD": a % b}[name]
        if name in ("LEFT", "RIGHT"):
            require(0 <= b < 64)
            return a << b if name == "LEFT" else a >> b
        if name in ("ADD", "SUB", "MUL", "MIN", "MAX"):
            return {"ADD": a + b, "SUB": a - b, "MUL": a * b, "MIN": min(a, b), "MAX": max(a, b)}[name]
        if name == "NOW":
            return self.now
        if name == "BIRTH":
            return token.birth
        if name == "LINE":
            resource = member(self.resources, a)
            return resource.waiting()
        if name == "FREE":
            return member(self.resources, a).free
        if name == "TABLE":
            return member(member(member(self.tables, a), c), b)
        if name == "PRIORITY":
            old, token.priority = token.priority, min(max(a, 0), 15)
            return old
        if name == "BORN":
            old, token.birth = token.birth, min(max(a, 0), self.now)
            require(0 <= b <= len(self.resources))
            self.before += token.birth - old if b else 0
            if token.account:
                token.account = Account(token.birth)
                place, kind = (self.place(self.resources[b - 1]), 0) if b else (0, 1)
                token.account.charge(place, kind, self.now)
            return old
        if name == "TO_NEXT":
            return min(max(a, 0), min([self.until, *(entry[0] for entry in self.pending[:1])]) - self.now)
        old = member(self.globals, a)
        if name == "READ":
            return old
        self.globals[a] = int64(old + b) if name == "FETCH_ADD" else b
        return b if name == "WRITE" else old

    def number(self, token):
        """The next 53-bit number of the stream of the token's row."""
        row = token.row
        n = self.draws[row]
        self.draws[row] += 1
        return mix((self.streams[row] + n * 0x9E3779B97F4A7C15) % WORD) >> 11

    def draw(self, token, kind, a, b, c):
        def uniform():
            return self.number(token) / 2**53

        def exponential(mean):
            return round(-mean * math.log(1 - uniform()))

        if kind == "FIXED":
            return a
        if kind == "EXPONENTIAL":
            return exponential(a)
        if kind == "UNIFORM":
            require(a <= b)
            return a + math.floor(uniform() * (b - a + 1))
        if kind == "ERLANG":
            require(b > 0)
            return round(a * sum(-math.log(1 - uniform()) for _ in range(b)) / b)
        if kind == "HYPEREXPONENTIAL":
            return exponential(a if uniform() < c / 2**30 else b)
        if kind == "BELOW":
            require(a > 0)
            return math.floor(uniform() * a)
        if kind == "EMPIRICAL":
            table = member(self.tables, a)
            require(table and len(table[0]) >= 2)
            number = self.number(token)
            return next((value for value, weight, *_ in table if weight > number), table[-1][0])
        if kind == "POISSON":
            require(a >= 0 and b >= 1)
            return self.poisson(a / b, uniform)
        if kind == "UNTIL":
            return max(a - self.now, 0)
        if kind == "WINDOW":
            inside = (self.now - c) % a if a > 0 else b
            return b - inside if inside < b else 0
        raise ValueError(kind)

    @staticmethod
    def poisson(mean, uniform):
        if mean < 10:
            number, product = 0, uniform()
            while product > math.exp(-mean):
                number, product = number + 1, product * uniform()
            return number
        b = 0.931 + 2.53 * math.sqrt(mean)
        a = 0.02483 * b - 0.059
        while True:
            u, v = uniform() - 0.5, 1 - uniform()
            side = max(0.5 - abs(u), 1e-17)
            number = math.floor((2 * a / side + b) * u + mean + 0.43)
            if side >= 0.07 and v <= 0.9277 - 3.6224 / (b - 2):
                return number
            if number >= 0 and (side >= 0.013 or v <= side):
                share = math.log(v * (1.1239 + 1.1328 / (b - 3.4)) / (a / side**2 + b))
                if share <= number * math.log(mean) - mean - math.lgamma(number + 1):
                    return number
