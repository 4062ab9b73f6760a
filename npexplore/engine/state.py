"""The arrays of one run: created from a model and a seed, advanced by the engine, copied into snapshots.

Nothing is reset: the events between two instants are the difference of their snapshots.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable
from dataclasses import dataclass
from hashlib import blake2b

import numpy as np
import numpy.typing as npt

from npexplore._kernels import engine
from npexplore.engine.accounts import Tally
from npexplore.engine.cold import event_loop
from npexplore.engine.fates import Fates
from npexplore.engine.model import EngineModel
from npexplore.engine.waiting import circle_text, meanings, resource_names
from npexplore.errors import InputError

Integers = npt.NDArray[np.int64]
MOST_GROUPS = 8  # in a message, groups of tokens that wait for the same resource
DISCIPLINE = {"fifo": engine.FIFO, "keyed": engine.KEYED, "cyclic": engine.CYCLIC, "shared": engine.SHARED}


@dataclass
class Snapshot:
    """Totals since time 0 at one instant; arrays are per resource, class or counter."""

    now: int
    integral_free: Integers
    integral_line: Integers
    integral_blocked: Integers
    grants: Integers
    refused: Integers
    done: Integers
    histogram: Integers
    counters: Integers
    events: int
    live: int = 0  # tokens that are alive: threads and forked work
    age: int = 0  # sum of ticks: age of the packets in the system, and waits of threads for packets to arrive


def stream_keys(sources: list[str | None], seed: int) -> npt.NDArray[np.uint64]:
    """Return a random stream key per row: BLAKE2 of (seed, source name, ordinal of that name)."""
    ordinals: Counter[str] = Counter()
    keys = np.zeros(len(sources), dtype=np.uint64)
    for k, source in enumerate(sources):
        if source is not None:
            text = f"{seed}/{source}/{ordinals[source]}"
            ordinals[source] += 1
            keys[k] = int.from_bytes(blake2b(text.encode(), digest_size=8).digest(), "little")
    return keys


class State:
    """The mutable arrays of one run."""

    def __init__(
        self, model: EngineModel, seed: int, log_rows: int = 0, accounts: bool = False, packets: int = 0,
        fates: Fates | None = None,
    ) -> None:  # fmt: skip
        """packets: number of packets of the run (0: unknown); few are interpreted while the event loop is compiled."""
        if seed < 0:
            raise InputError(f"seed must be at least 0, got {seed}")
        rng = np.random.default_rng(seed)
        n_tokens = len(model.tokens) + model.spare_tokens
        i64 = np.int64
        self.model = model
        self.packets = packets
        self.stream = stream_keys(model.sources, seed)
        self.draws = np.zeros(len(model.rows), dtype=i64)
        self.S = np.zeros((max(model.n_resources, 1), engine.S_WIDTH), dtype=i64)
        self.capacity = np.ones(max(model.n_resources, 1), dtype=i64)
        for server, number in model.servers.values():
            part = slice(number, number + server.members)
            self.S[part, engine.S_CAP] = server.units
            self.S[part, engine.S_FREE] = server.units if server.start is None else server.start
            self.S[part, engine.S_DISCIPLINE] = DISCIPLINE[server.discipline]
            self.capacity[part] = server.units
        self.S[:, engine.S_HEAD] = self.S[:, engine.S_TAIL] = -1
        self.T = np.zeros((n_tokens, engine.T_WIDTH), dtype=i64)
        self.T[:, [engine.T_RELEASE, engine.T_PARENT, engine.T_SLOT]] = -1
        self.T[:, engine.T_PRIORITY] = 8
        self.R = np.zeros((n_tokens, engine.REGISTERS), dtype=i64)
        self.H = np.zeros((n_tokens, 2 * engine.SLOTS), dtype=i64)
        self.G = np.array([*model.globals, 0], dtype=i64)
        self.clock = np.zeros(engine.K_WIDTH, dtype=i64)
        self._begin_tokens(model, n_tokens)
        self.table, self.table_at = model.joined_tables  # no row writes to them
        if model.shuffled is not None:
            self.table = self.table.copy()
            table, start = model.tables[model.shuffled], self.table_at[model.shuffled, 0]
            self.table[start : start + table.size] = np.ravel(rng.permutation(table))
        self.ring_at = np.zeros((len(model.rings), 5), dtype=i64)
        at = 0
        for k, (capacity, width) in enumerate(model.rings):
            self.ring_at[k, :3] = at, capacity, width
            at += capacity * (width + 1)
        self.ring = np.zeros(at + 1, dtype=i64)
        self.histogram = np.zeros((model.classes, engine.BINS), dtype=i64)
        self.done = np.zeros((model.classes, 4), dtype=i64)
        self.counters = np.zeros(len(model.counters) + 1, dtype=i64)
        self.log = np.zeros((log_rows, 4), dtype=i64)
        self._begin_accounts(model, n_tokens, accounts, fates)
        blocks: list[Integers] = []
        for controller in model.controllers:
            blocks.append(controller.block(n_tokens, sum(map(len, blocks))))
        self.D_at = np.cumsum([0, *map(len, blocks)], dtype=i64)[:-1]
        self.D = np.concatenate([*blocks, np.zeros(1, dtype=i64)])
        self.orders = np.zeros((1 + log_rows * bool(blocks), 4), dtype=i64)
        largest_count = max([n_tokens, *self.capacity.tolist(), *(capacity for capacity, _ in model.rings)])
        self.slice = (1 << 62) // largest_count  # ticks after which no integral has grown by more than 62 bits
        self.before = np.zeros((3, len(self.S)), dtype=i64)  # integrals modulo 2^64 at the last carry
        self.carried: npt.NDArray[np.object_] | None = None  # integrals up to the last carry, as Python integers

    def _begin_tokens(self, model: EngineModel, n_tokens: int) -> None:
        """Place the model's tokens: ready at tick 0, or asleep until they begin."""
        i64 = np.int64
        self.heap_time, self.heap_key, self.heap_token, self.ready_key, self.ready_token = (
            np.zeros(n_tokens + len(model.controllers) + 1, dtype=i64) for _ in range(5)
        )
        live = len(model.tokens)
        for k, token in enumerate(model.tokens):
            self.T[k, engine.T_ROW] = token.row
            self.T[k, engine.T_ALIVE] = 1
            for register, value in token.registers.items():
                self.R[k, register] = value
            self.T[k, engine.T_PRIORITY] = token.priority
        order = sorted((token.begin, token.priority << 48 | k, k) for k, token in enumerate(model.tokens))
        ready = [(key, k) for begin, key, k in order if not begin]
        later = order[len(ready) :]  # sorted, therefore a heap
        self.ready_key[: len(ready)] = [key for key, _ in ready]
        self.ready_token[: len(ready)] = [k for _, k in ready]
        self.heap_time[: len(later)] = [begin for begin, _, _ in later]
        self.heap_key[: len(later)] = [key for _, key, _ in later]
        self.heap_token[: len(later)] = sleepers = [k for _, _, k in later]
        self.T[sleepers, engine.T_WAITS] = engine.SLEEPING
        self.T[live:, engine.T_NEXT] = np.append(np.arange(live + 1, n_tokens), -1)
        self.clock[engine.K_READY], self.clock[engine.K_HEAP] = len(ready), len(later)
        self.clock[engine.K_SEQUENCE] = self.clock[engine.K_LIVE] = live
        self.clock[engine.K_PEAK] = live
        self.clock[engine.K_FREE_TOKEN] = live if model.spare_tokens else -1
        self.clock[engine.K_POOL_HEAD] = self.clock[engine.K_POOL_TAIL] = -1

    def _begin_accounts(self, model: EngineModel, n_tokens: int, accounts: bool, fates: Fates | None) -> None:
        """Create the arrays of accounts and of the fates of packets."""
        i64 = np.int64
        places = model.places if accounts else None
        width = engine.C_FIRST + 3 * len(places.names) if places else engine.C_FIRST
        self.where = np.zeros(0, dtype=i64) if places is None else places.where
        self.account = np.zeros((0, width), dtype=i64)
        self.tally = np.zeros((model.classes if places else 0, engine.BINS, width - engine.C_FIRST), dtype=i64)
        self.ring_account = np.zeros(len(self.ring) if places else 0, dtype=i64)
        self.fate = np.zeros((0, engine.F_FIRST), dtype=i64)
        self.clock[engine.K_PACKETS] = -1
        self.pauses: deque[tuple[int, int]] = deque()  # (tick, packets that have arrived by then)
        self.paused: Callable[[int], None] | None = None
        if fates is not None:
            self.pauses.extend(fates.pauses())
            self.fate, self.clock[engine.K_PACKETS] = fates.rows, fates.table
        self.clock[engine.K_FREE_ACCOUNT] = self.T[:, engine.T_ACCOUNT] = -1
        if places:
            self._more_accounts(len(model.tokens) + 2 * engine.FEW_ACCOUNTS)
            self.T[: len(model.tokens), engine.T_ACCOUNT] = np.arange(len(model.tokens))
            self.clock[engine.K_FREE_ACCOUNT] = len(model.tokens)
            self.clock[engine.K_SPARE_ACCOUNTS] -= len(model.tokens)

    def _more_accounts(self, more: int) -> None:
        """Add accounts for more packets; all existing ones are in use, or reserved for the next activation."""
        old = len(self.account)
        self.account = np.concatenate([self.account, np.zeros((more, self.account.shape[1]), dtype=np.int64)])
        self.account[old:, engine.C_PACKET] = -1
        self.account[old:, engine.C_NEXT] = np.append(np.arange(old + 1, old + more), self.clock[engine.K_FREE_ACCOUNT])
        self.clock[engine.K_FREE_ACCOUNT] = old
        self.clock[engine.K_SPARE_ACCOUNTS] += more

    def tallied(self) -> Tally:
        """Return where the time of finished packets went (empty without accounts)."""
        names = self.model.places.names if self.model.places is not None and len(self.tally) else ()
        histogram = self.histogram if names else self.histogram[:0]
        return Tally.of(names, histogram, self.tally, self.done[:, engine.D_LATENCY])

    def advance(self, until: int, until_done: int, stall: int) -> int:
        """Run on; return the engine's status. A long run is split so that no integral grows by 2^64 in one part."""
        carry = int(self.clock[engine.K_NOW]) + self.slice
        while True:
            pause, arrived = self.pauses[0] if self.pauses else (until, 0)
            end = min(until, carry, pause)
            status = self._advance(end, until_done, stall)
            if status == engine.ACCOUNTS:
                self._more_accounts(len(self.account))
                continue
            if status != engine.TIME_UP or end >= until:
                return status
            if end == pause and self.paused is not None:
                self.pauses.popleft()
                self.paused(arrived)
            if end == carry:
                now = self._integrals(int(self.clock[engine.K_NOW]))
                self.carried = (now - self.before).astype(object) + (0 if self.carried is None else self.carried)
                self.before = now
                carry += self.slice

    def stalled(self, ticks: int) -> bool:
        """Return whether no packet was finished for more than `ticks` ticks."""
        return int(self.clock[engine.K_NOW]) - int(self.clock[engine.K_LAST_DONE]) > ticks

    def _advance(self, until: int, until_done: int, stall: int) -> int:
        arguments = (
            engine.Model(self.model.rows, self.stream, self.table, self.table_at),
            engine.State(
                self.S, self.T, self.R, self.H, self.G, self.draws, self.ring, self.ring_at, self.log
            ),
            engine.Agenda(
                self.clock, self.heap_time, self.heap_key, self.heap_token, self.ready_key, self.ready_token
            ),
            engine.Totals(self.histogram, self.done, self.counters),
            engine.Accounts(self.account, self.where, self.tally, self.ring_account, self.fate),
            engine.Controllers(self.D, self.D_at, self.orders) if self.model.controllers else None,
            np.int64(until), np.int64(until_done), np.int64(stall),
        )  # fmt: skip
        loop = event_loop(arguments, bool(self.model.controllers), self.packets)
        return int(loop(*arguments))

    def snapshot(self, at: int | None = None) -> Snapshot:
        """Copy the totals, with integrals updated to now, or to a tick `at` up to which nothing more happens."""
        now = int(self.clock[engine.K_NOW]) if at is None else at
        S, wrapped = self.S, self._integrals(now)
        integrals = wrapped if self.carried is None else self.carried + (wrapped - self.before)
        return Snapshot(
            now=now,
            integral_free=integrals[0],
            integral_line=integrals[1],
            integral_blocked=integrals[2],
            grants=S[:, engine.S_GRANTS].copy(),
            refused=S[:, engine.S_REFUSED].copy(),
            done=self.done.copy(),
            histogram=self.histogram.copy(),
            counters=self._counters(),
            events=int(self.clock[engine.K_EVENTS]),
            live=int(self.clock[engine.K_LIVE]),
            age=self._age(now) + int(self.clock[engine.K_BEFORE]),
        )

    def _integrals(self, now: int) -> Integers:
        """Return integrals of free units, waiting tokens and blocked units, modulo 2^64, shape (3, resources)."""
        S = self.S
        dt = now - S[:, engine.S_SINCE]
        free = S[:, engine.S_INT_FREE] + dt * S[:, engine.S_FREE]
        for at, controller in zip(self.D_at.tolist(), self.model.controllers, strict=True):
            for resource, place in controller.busy:
                free[resource] -= self.D[at + place]
        return np.stack([
            free,
            S[:, engine.S_INT_LINE] + dt * (S[:, engine.S_LINE] + S[:, engine.S_POOL]),
            S[:, engine.S_INT_BLOCKED] + dt * S[:, engine.S_BLOCKED],
        ])  # fmt: skip

    def _counters(self) -> Integers:
        """Return the counters, including those of DRAM controllers."""
        counters = self.counters[:-1].copy()
        for at, controller in zip(self.D_at.tolist(), self.model.controllers, strict=True):
            for counter, place in controller.counts:
                counters[counter] += self.D[at + place]
        return counters

    def _age(self, now: int) -> int:
        """Return the sum of the ages, in ticks, of the packets in the system."""
        census = self.model.census
        if census is None:
            return 0
        threads = self.T[: census.threads]
        if census.waiting is not None:
            woken = self.model.rows[threads[:, engine.T_ROW], engine.OP] == engine.POP  # packet still in the ring
            threads = threads[(threads[:, engine.T_WAITS] != census.waiting) & ~woken]
        births = threads[:, engine.T_BIRTH]
        if census.ring is not None:
            at, capacity, width, head, count = (int(value) for value in self.ring_at[census.ring])
            messages = at + (head + np.arange(count)) % capacity * (width + 1)
            births = np.concatenate([births, self.ring[messages]])
        high, low = births >> 32, births & 0xFFFFFFFF  # the sum of each half fits into 64 bits
        return len(births) * now - (int(high.sum()) << 32) - int(low.sum())

    def error_place(self) -> str:
        """Return the visit and number of the row at which the engine stopped."""
        row = int(self.clock[engine.K_ERROR_ROW])
        place = self.model.visits[row] if 0 <= row < len(self.model.visits) else ""
        return f"{place} (row {row})" if place else f"row {row}"

    def who_waits(self) -> str:
        """Return in words what tokens wait for and what they hold."""
        names, meaning_of = resource_names(self.model.servers), meanings(self.model.servers)
        groups: Counter[str] = Counter()
        with_reason: list[str] = []
        for k in np.flatnonzero(self.T[:, engine.T_ALIVE]):
            awaited = int(self.T[k, engine.T_WAITS])
            if awaited == engine.SLEEPING:
                continue
            held = [
                names.get(int(self.H[k, slot]), "?")
                for slot in range(engine.SLOTS)
                if self.T[k, engine.T_HELD] >> slot & 1
            ]
            special = {engine.JOINING: "its children", engine.POOLED: "several at once", engine.RUNNING: "its turn"}
            text = f"wait for {special.get(awaited) or names.get(awaited, '?')}" + (
                f" holding {', '.join(held)}" if held else ""
            )
            if awaited in meaning_of:
                text += f" ({meaning_of[awaited]})"
                with_reason.append(text)
            groups[text] += 1
        order = dict.fromkeys([*with_reason, *(text for text, _ in groups.most_common())])
        shown = {text: groups[text] for text in list(order)[:MOST_GROUPS]}
        description = "; ".join(f"{n} token{'s'[: n > 1]} {text}" for text, n in shown.items()) or "nobody waits"
        return description + circle_text(self.model.servers, self.T, self.H)
