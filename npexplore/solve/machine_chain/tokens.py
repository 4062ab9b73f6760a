"""The events of one instant in a machine: tokens run, in the event engine's order, until all wait for time or units.

The rules are those of docs/engine.md: released units go to the head of a line, whose token continues later in the same
instant; a fork runs after all ready tokens. Random choices split an instant into several outcomes.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from npexplore.machine.program import HOME
from npexplore.rows.distributions import Distribution
from npexplore.rows.phases import Phases, erlang, plain_phases
from npexplore.solve.machine_chain.operations import HANDED_ON, Numbers, Operations

Token = tuple[int, Numbers, str]  # its operation, its stored numbers, and why it is ready: "", GRANTED or OVER
State = tuple[tuple[Any, ...], ...]  # (place, phase) of tokens in a time; free units; lines; rings; turn counters
Message = tuple[tuple[str, float], ...]  # a packet's columns
GRANTED, OVER = "granted", "over"
ENDLESS = 100_000  # limit of a token's operations in one instant
DONE, BYTES, LOST, OFFERED = range(4)


@dataclass
class Instant:
    """A state while tokens run, with its probability and the gains (done, bytes, lost, offered) so far."""

    timed: list[tuple[int, int]]
    free: list[int]
    lines: list[list[int]]
    rings: list[list[Message]]
    turns: list[int]
    ready: deque[Token] = field(default_factory=deque)
    chance: float = 1.0
    gains: list[float] = field(default_factory=lambda: [0.0] * 4)

    @staticmethod
    def after(state: State, ended: tuple[int, int]) -> Instant:
        """Return the instant at which the phase of one token of a state has ended."""
        timed, free, lines, rings, turns = state
        now = Instant(list(timed), list(free), [list(x) for x in lines], [list(x) for x in rings], list(turns))
        now.timed.remove(ended)
        return now

    def copy(self, chance: float) -> Instant:
        """Return a copy whose probability is multiplied by `chance`."""
        ready = deque((at, dict(numbers), why) for at, numbers, why in self.ready)
        return Instant(
            list(self.timed), list(self.free), [list(line) for line in self.lines],
            [list(ring) for ring in self.rings], list(self.turns), ready, self.chance * chance, list(self.gains),
        )  # fmt: skip

    def state(self) -> State:
        """Return the state that remains when no token is ready."""
        lines, rings = tuple(map(tuple, self.lines)), tuple(map(tuple, self.rings))
        return tuple(sorted(self.timed)), tuple(self.free), lines, rings, tuple(self.turns)


@dataclass(frozen=True)
class Source:
    """The source of a pool's packets: the semaphore that counts them, their ring, and the room that a get releases."""

    packets: int | None  # None: an endless supply
    ring: int = 0
    room: tuple[int, bool] | None = None  # a semaphore, and whether it counts bytes


class Tokens:
    """Runs tokens over operations; kinds: (share, columns) of packets, constant: phases of a constant time."""

    def __init__(
        self, code: Operations, kinds: Sequence[tuple[float, Message]], sources: Sequence[Source],
        rings: Sequence[str], columns: Sequence[dict[str, int]], cell_bytes: int, constant: int | None,
    ) -> None:  # fmt: skip
        self.code, self.kinds, self.sources, self.columns = code, kinds, sources, columns
        self.rings = {name: number for number, name in enumerate(rings)}
        self.cell, self.constant = cell_bytes, constant
        self.first: dict[str, int] = {}
        self.units: list[int] = []
        self.names: list[tuple[str, int]] = []
        for name, (server, _) in code.servers.items():
            self.first[name] = len(self.units)
            self.units += [server.units if server.start is None else server.start] * server.members
            self.names += [(name, member) for member in range(server.members)]
        self.shared = [code.servers[name][0].discipline == "shared" for name, _ in self.names]
        self.places: list[tuple[int, tuple[tuple[int, Any], ...]]] = []
        self.number: dict[tuple[int, tuple[tuple[int, Any], ...]], int] = {}
        self.known: dict[object, Phases] = {}
        self.home, self.handed_on = code.name(HOME), code.name(HANDED_ON)
        self.constants = False  # whether a constant time occurred

    # ---- tokens that wait

    def place(self, at: int, numbers: Numbers) -> int:
        """Return the index of a token's operation and numbers in `places`."""
        key = at, tuple(sorted(numbers.items()))
        number = self.number.setdefault(key, len(self.places))
        if number == len(self.places):
            self.places.append(key)
        return number

    def server_of(self, row: tuple[Any, ...], numbers: Numbers) -> int | None:
        """Return the number of the member that serves a token (None: time passes at no server)."""
        return self.resource(row[1], row[2](numbers)) if row[0] == "serve" else None

    def resource(self, server: str, member: float) -> int:
        """Return the number of a server's member; raises RefusedError for a member that does not exist."""
        index = int(member)
        members = self.code.servers[server][0].members
        if index != member or not 0 <= index < members:
            raise self.code.refuse(f"{server} has members 0..{members - 1}, got {member:g}")
        return self.first[server] + index

    def phases(self, row: tuple[Any, ...], numbers: Numbers) -> Phases | None:
        """Return the phases of an operation's time (None: no time)."""
        time = row[-1] if isinstance(row[-1], Distribution) else row[-1](numbers)
        if not isinstance(time, float | int):
            phases = self.known.get(time)
            if phases is None:
                phases = plain_phases(time)
                if phases is None:
                    raise self.code.refuse(f"a {type(time).__name__.lower()} time at {_where(row)} has no phases")
                self.known[time] = phases
            return phases
        if time <= 0:
            return None
        self.constants = True
        if self.constant is None:
            raise self.code.refuse(
                f"a constant time of {time:.3g} s at {_where(row)} has no phases; phases=k takes it for an Erlang time"
                " of k (1: exponential)"
            )
        return self.known.setdefault(time, erlang(time, self.constant))

    def need(self, place: int) -> int:
        """Return the units that a token in a line waits for."""
        at, numbers = self.places[place]
        row = self.code.operations[at]
        return int(row[3](dict(numbers))) if row[0] in ("take", "consume") else 1

    # ---- units

    def release(self, now: Instant, r: int, units: int) -> None:
        """Release units, and grant those that suffice for the head of the line."""
        now.free[r] += units
        line = now.lines[r]
        while line and not self.shared[r] and now.free[r] >= (need := self.need(line[0])):
            at, numbers = self.places[line.pop(0)]
            now.free[r] -= need
            now.ready.append((at, dict(numbers), GRANTED))

    def taken(self, now: Instant, r: int, units: int) -> bool:
        """Take units if they are free and the line is empty; return whether they were taken."""
        if now.lines[r] or now.free[r] < units:
            return False
        now.free[r] -= units
        return True

    # ---- running

    def settle(self, now: Instant) -> list[Instant]:
        """Run all ready tokens; return the possible outcomes."""
        todo, settled = [now], []
        while todo:
            instant = todo.pop()
            if instant.ready:
                todo += self.run(instant)
            else:
                settled.append(instant)
        return settled

    def run(self, now: Instant) -> list[Instant]:
        """Run the first ready token until it stops or a random choice splits the instant."""
        at, numbers, why = now.ready.popleft()
        rows = self.code.operations
        for _ in range(ENDLESS):
            row = rows[at]
            match row[0]:
                case "jump":
                    at = row[1].row
                    continue
                case "if":
                    if row[1](numbers):
                        at = row[2].row
                        continue
                case "serve" | "wait":
                    stopped = self.time(now, at, row, numbers, why)
                    if stopped is not None:
                        return stopped
                case "take" | "consume":
                    r, units = self.resource(row[1], row[2](numbers)), int(row[3](numbers))
                    if why != GRANTED and not self.taken(now, r, units):
                        now.lines[r].append(self.place(at, numbers))
                        return [now]
                    if row[0] == "take":
                        numbers[row[4]] = (r, units)
                case "try":
                    r, units = self.resource(row[1], row[2](numbers)), int(row[3](numbers))
                    if not self.taken(now, r, units):
                        at = row[-1].row
                        continue
                    if row[4] is not None:
                        numbers[row[4]] = (r, units)
                case "chance":
                    return self.split(now, [(row[1], at + 1, numbers), (1 - row[1], row[2].row, numbers)])
                case "draw":
                    n = int(row[2](numbers))
                    return self.split(now, [(1 / n, at + 1, {**numbers, row[1]: float(k)}) for k in range(n)])
                case "fork":
                    child = {name: value for name, value in numbers.items() if not isinstance(value, tuple)}
                    if row[1] is not None:
                        child[row[1]] = numbers.pop(row[1])
                    now.ready.append((at + 1, child, ""))
                    at = row[2].row
                    continue
                case "get":
                    source = self.sources[row[1]]
                    if source.packets is None:
                        return self.split(now, [
                            (share, at + 1, self.loaded(row[1], numbers, message)) for share, message in self.kinds
                        ])  # fmt: skip
                    if why != GRANTED and not self.taken(now, source.packets, 1):
                        now.lines[source.packets].append(self.place(at, {self.home: numbers[self.home]}))
                        return [now]
                    numbers = self.from_ring(now, row[1], source, numbers)
                case "arrive":
                    return self.arrivals(now, at, numbers)
                case "end":
                    return [now]
                case _:
                    numbers = self.noted(now, row, numbers)
            at, why = at + 1, ""
        raise self.code.refuse("a thread runs for ever in zero time")

    def noted(self, now: Instant, row: Any, numbers: Numbers) -> Numbers:
        """Execute an operation that neither waits nor jumps, and return the token's numbers."""
        match row[0]:
            case "let":
                numbers[row[1]] = row[2](numbers)
            case "forget":
                for name in row[1]:
                    numbers.pop(name, None)
            case "give":
                self.release(now, *numbers.pop(row[1]))
            case "put":
                self.release(now, self.resource(row[1], row[2](numbers)), int(row[3](numbers)))
            case "line":
                r = self.resource(row[2], row[3](numbers))
                numbers[row[1]] = float(max(-now.free[r], 0) if self.shared[r] else len(now.lines[r]))
            case "turn":
                numbers[row[1]] = float(now.turns[row[3]])
                now.turns[row[3]] = (now.turns[row[3]] + 1) % row[2]
            case "done":
                if self.handed_on not in numbers:
                    now.gains[DONE] += 1
                    now.gains[BYTES] += row[1](numbers)
                return {self.home: numbers[self.home]}
            case "push":
                message = tuple(sorted((name, value(numbers)) for name, value in row[2].items()))
                now.rings[self.rings[row[1]]].append(message)
            case "lost":
                now.gains[LOST] += 1
        return numbers

    def from_ring(self, now: Instant, pool: int, source: Source, numbers: Numbers) -> Numbers:
        """Take a packet from a ring, and return the token's numbers with its columns."""
        message = now.rings[source.ring].pop(0)
        if source.room is not None:
            r, counts_bytes = source.room
            self.release(now, r, int(dict(message)["packet_bytes"]) if counts_bytes else 1)
        return self.loaded(pool, numbers, message)

    def split(self, now: Instant, ways: list[tuple[float, int, Numbers]]) -> list[Instant]:
        """Return the outcomes of a random choice; ways: (probability, next operation, numbers) of the running token."""
        instants = []
        for chance, at, numbers in ways:
            if chance > 0:
                outcome = now.copy(chance)
                outcome.ready.appendleft((at, dict(numbers), ""))
                instants.append(outcome)
        return instants

    def time(self, now: Instant, at: int, row: tuple[Any, ...], numbers: Numbers, why: str) -> list[Instant] | None:
        """Let time pass at a server or at none; return the outcomes (None: the time is over)."""
        r = self.server_of(row, numbers)
        if why == OVER:
            if r is not None:
                self.release(now, r, 1)
            return None
        if r is not None and self.shared[r]:
            now.free[r] -= 1
        elif r is not None and why != GRANTED and not self.taken(now, r, 1):
            now.lines[r].append(self.place(at, numbers))
            return [now]
        phases = self.phases(row, numbers)
        if phases is None:
            if r is None:
                return None
            now.ready.append((at, numbers, OVER))
            return [now]
        place, instants = self.place(at, numbers), []
        for phase, chance in enumerate(phases.first):
            if chance > 0:
                outcome = now if chance == 1 else now.copy(float(chance))
                outcome.timed.append((place, phase))
                instants.append(outcome)
        return instants

    def loaded(self, pool: int, numbers: Numbers, message: Message) -> Numbers:
        """Return the numbers of a thread that has got a packet."""
        columns = self.columns[pool]
        return {self.home: numbers[self.home], **{columns[name]: value for name, value in message if name in columns}}

    def arrivals(self, now: Instant, at: int, numbers: Numbers) -> list[Instant]:
        """Return the outcomes of an arrival: a packet of each kind enters the receive buffer, or is lost."""
        _, buffer, packets, ring = self.code.operations[at]
        instants = self.split(now, [(share, at + 1, numbers) for share, _ in self.kinds])
        for outcome, (_, message) in zip(instants, self.kinds, strict=True):
            outcome.gains[OFFERED] += 1
            cells = int(-(-dict(message)["packet_bytes"] // self.cell) * self.cell)
            if self.taken(outcome, buffer, cells):
                outcome.rings[ring].append(message)
                self.release(outcome, packets, 1)
            else:
                outcome.gains[LOST] += 1
        return instants


def _where(row: tuple[Any, ...]) -> str:
    return repr(row[1]) if row[0] == "serve" else "no server"
