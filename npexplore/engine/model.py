"""Compiles a machine and a workload into the arrays of the event engine, which run with any seed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import cache, partial

import numpy as np
import numpy.typing as npt

from npexplore._kernels import engine
from npexplore.engine.accounts import GET
from npexplore.engine.arrays import Census as Census
from npexplore.engine.arrays import EngineModel as EngineModel
from npexplore.engine.arrays import Token as Token
from npexplore.engine.jitter import jittered
from npexplore.engine.patience import least_patience, patience
from npexplore.engine.rows_check import check_rows
from npexplore.errors import ModelError, RefusedError
from npexplore.machine.machine import Machine, Recorded
from npexplore.machine.pools import Pool, depends, ends, guests
from npexplore.machine.program import HOME, THREAD, visit
from npexplore.machine.resources.ingress import SATURATED, TIMESTAMPS, Ingress
from npexplore.machine.resources.queue import BoundedQueue
from npexplore.machine.steps import steps
from npexplore.machine.under_load import UnderLoad, under_load
from npexplore.machine.workload import CLASS, Workload
from npexplore.mapped_arrays import computed, extremes, stacked
from npexplore.rows.assembler import OWN, Assembler, EngineRow, Label
from npexplore.rows.expressions import Variable, round_up
from npexplore.rows.server import Server

Integers = npt.NDArray[np.int64]
MOST_CLASSES = 64
LAST_TICK = 4 * 10**18  # no run goes on beyond this tick


def rows_of(rows: list[EngineRow]) -> Integers:
    """Return assembled rows as the engine's array (rows, ROW), with labels resolved."""
    try:
        array = np.array([row.fields for row in rows], dtype=np.int64).reshape(len(rows), engine.ROW)
    except OverflowError:
        place, number = next((row.place, n) for row in rows for n in row.fields if abs(n) >= 1 << 63)
        raise ModelError(f"{place or 'the program'}: {float(number):.3g} is beyond the engine's 64-bit ticks") from None
    for k, row in enumerate(rows):
        if row.target is not None:
            if row.target.row is None:
                raise ModelError(f"row {k} jumps to a label that was never placed")
            array[k, engine.TARGET] = row.target.row
    return array


def build(machine: Machine, workload: Workload) -> EngineModel:
    """Compile a machine and a workload: the programs of the threads, the source of packets, and the resources."""
    compiler = MachineCompiler(machine, workload)
    return compiler.model(workload, cache(compiler.under_load))


class MachineCompiler:
    """Compiles all pools of a machine; `model` adds the source of packets, for the same packets at any rate.

    pools: the machine's programs, if they were already recorded with the workload's columns.
    """

    def __init__(self, machine: Machine, workload: Workload, pools: list[Recorded] | None = None) -> None:
        self.machine, self.workload = machine, workload
        machine.ingress.arrivals = workload.arrivals
        self.asm = asm = Assembler(machine.tick)
        for server in machine.servers().values():
            asm.declare(server)
        self.pools = machine.record_pools(workload.columns) if pools is None else pools
        self.several = len(self.pools) > 1
        if self.several:
            for pool in machine.pools:
                asm.declare(Server(threads_of(pool), units=pool.count, role="hidden"))
        self.rows = len(workload.packet_bytes)
        self.cursor = asm.new_global()
        self.packets = asm.table(stacked([*workload.columns.values()]))
        self._rings()
        self.classes = self._classes()
        self.numbered = [resource for resource in machine.resources.values() if resource.numbered]
        self.tokens: list[Token] = []
        for recorded in self.pools:
            with asm.scope():
                self._pool(recorded)

    def under_load(self) -> UnderLoad | None:
        """Return the demands at each server; None where these depend on chance or on the order of threads."""
        with suppress(RefusedError, ModelError):
            return under_load(self.machine, self.workload, self.pools)
        return None

    def _rings(self) -> None:
        """Create the receive buffer and the queues, each with room for as many packets as can fit."""
        asm, ingress = self.asm, self.machine.ingress
        width, (smallest, largest) = len(self.workload.columns), extremes(self.workload.packet_bytes)
        asm.messages[ingress.name] = asm.ring(ingress.capacity // ingress.cell_bytes, width)
        for name, queue in self.machine.queues().items():
            max_packets = queue.most_packets(smallest)
            extra_columns = [column for column in queue.carries if column not in self.workload.columns]
            asm.messages[name] = min(asm.ring(max_packets, width + len(extra_columns)) for _ in range(queue.members))
            asm.spare_tokens += max_packets * queue.members if queue.credit else 0
            queue.check_largest(largest)

    def _classes(self) -> int:
        """Return the number of packet classes, from the workload's column `class`; 1 without this column."""
        if CLASS not in self.workload.columns:
            return 1
        low, high = extremes(self.workload.columns[CLASS])
        if low < 0 or high >= MOST_CLASSES:
            raise ModelError(f"column {CLASS!r} of a workload must be in 0..{MOST_CLASSES - 1}, got {low}..{high}")
        return high + 1

    def _pool(self, recorded: Recorded) -> None:
        """Append the endless program of a pool's threads, and its threads as tokens."""
        asm, machine, pool = self.asm, self.machine, recorded.pool
        columns = list(recorded.columns.values())
        first = min(asm.register(variable) for variable in columns)
        asm.columns = [recorded.columns[name] for name in self.workload.columns]
        home, members = HOME, 1
        home_register = asm.register(home)
        asm.homes.clear()
        if pool.home is not None:
            members = asm.servers[pool.home][0].members
            asm.homes[pool.home] = home
        asm.limit(home, members)
        thread_register = 0
        if self.numbered:
            asm.thread = THREAD
            thread_register = asm.register(THREAD)
            asm.limit(THREAD, machine.threads)
        asm.guests, guest_members = {}, {}
        for name in guests(pool, recorded.body):
            if (member_count := asm.servers[name][0].members) > 1:
                asm.guests[name] = Variable(f"member of {name}")
                guest_members[asm.register(asm.guests[name])] = member_count
                asm.limit(asm.guests[name], member_count)
        packet_leaves = ends(recorded.body)
        asm.own = Variable("own") if depends(recorded.body) else None
        if asm.own is not None:
            asm.register(asm.own)
        entry = len(asm.rows)
        self._start(pool, first)
        next_packet = Label()
        asm.place(next_packet)
        self._get(pool, columns, born=packet_leaves != "never")
        if asm.own is not None:
            asm.assign(asm.own, OWN)
        busy = asm.take(threads_of(pool)) if self.several else None
        asm.holding.clear()  # from here on, time at no server belongs to the visited resource
        steps(asm, recorded.body)
        if busy is not None:
            asm.give(busy)
        if asm.own is not None:
            asm.jump(next_packet, asm.own != OWN)
        if packet_leaves != "always":
            self._done(recorded.columns)
        asm.jump(next_packet)
        first_thread = sum(earlier_pool.count for earlier_pool in machine.pools[: machine.pools.index(pool)])
        for k in range(pool.count):
            registers = {home_register: k % members} | ({thread_register: first_thread + k} if self.numbered else {})
            registers |= {register: (first_thread + k) % count for register, count in guest_members.items()}
            if pool.start.how == "staggered":
                registers[first] = round(k * pool.start.seconds / asm.tick)
            self.tokens.append(Token(entry, registers, pool.name, pool.priority, member=k % members))

    def _done(self, columns: Mapping[str, Variable]) -> None:
        """Append the row that counts a finished packet."""
        asm = self.asm
        kind = asm.operand(columns[CLASS]) if CLASS in columns else (0, 0)
        with asm.scope():
            padded = asm.operand(round_up(columns["packet_bytes"], self.machine.cell_bytes))
            asm.emit(engine.DONE, kind, asm.operand(columns["packet_bytes"]), padded)

    def _start(self, pool: Pool, register: int) -> None:
        """Delay the start of a thread; if starts are staggered, `register` holds the delay in ticks."""
        latest = round(pool.start.seconds / self.asm.tick)
        if pool.start.how == "random" and latest:
            source = f"start.{pool.name}" if self.several else "start"
            self.asm.emit(engine.WAIT, (1, 0), (latest, 0), x=engine.UNIFORM, source=source)
        elif pool.start.how == "staggered":
            self.asm.emit(engine.WAIT, (0, register), x=engine.FIXED)

    def _get(self, pool: Pool, columns: list[Variable], born: bool) -> None:
        """Append rows that wait for the pool's next packet and load its columns.

        born: whether a packet of an endless supply is born when a thread gets it.
        """
        asm, ingress = self.asm, self.machine.ingress
        place, asm.place_name = asm.place_name, f"{GET}{pool.name}"
        source = ingress if pool.gets is None else self.machine.queues()[pool.gets]
        endless = asm.endless = pool.gets is None and self.workload.arrivals == SATURATED
        poll = self._poll(pool) if pool.idle == "poll" else None
        if not endless and poll is None and self.numbered:
            with asm.scope():
                at_once = Label()
                asm.jump(at_once, asm.free(source.packets) > 0)
                for resource in self.numbered:
                    resource.emit_idle(asm)
                asm.place(at_once)
        if isinstance(source, Ingress):
            source.emit_get(asm, columns, poll, self.packets, self.rows, self.cursor)
        else:
            source.emit_get(asm, columns, poll)
        if endless and born:  # otherwise a packet is born when the thread finishes the previous one
            with asm.scope():
                asm.value(engine.BORN, asm.now())
        asm.place_name = place

    def _poll(self, pool: Pool) -> Callable[[], None]:
        """Return an emitter of one unsuccessful poll: a visit of the thread's home, then a gap."""

        def poll() -> None:
            steps(self.asm, [visit(self.machine.resources[str(pool.home)], "compute", cycles=pool.poll_cycles)])
            if pool.poll_wait_s:
                self.asm.wait(self.asm.ticks(pool.poll_wait_s))

        return poll

    def _source(self, asm: Assembler, workload: Workload) -> tuple[Token, int | None]:
        """Append the source of packets; return its token, and the table of arrival ticks (None without time stamps)."""
        times = None
        if workload.arrivals == TIMESTAMPS:
            assert workload.t_ns is not None
            last_s = extremes(workload.t_ns)[1] * 1e-9
            if last_s / asm.tick > LAST_TICK:
                raise ModelError(
                    f"{workload.name}: time stamps must end before {LAST_TICK * asm.tick:.3g} s, where a clock of "
                    f"{asm.tick:.3g} s ends, got {last_s:.6g} s"
                )
            t_ns = workload.t_ns
            ticks = computed(len(t_ns), lambda part: np.round(t_ns[part] * (1e-9 / asm.tick)))
            times = asm.table(ticks.reshape(-1, 1))
        entry = len(asm.rows)
        columns = asm.block(list(workload.columns))
        process = workload.process()
        self.machine.ingress.emit_source(asm, columns, self.packets, self.rows, self.cursor, process, times or 0)
        return Token(entry, {}, "arrivals"), times

    def model(self, workload: Workload, demands: Callable[[], UnderLoad | None]) -> EngineModel:
        """Return the arrays of the event engine.

        The workload may have another rate or other arrival times than the compiler's own, with the same arrival
        process.

        demands: computes the demands at each server, or None if only a run can measure them; called only where a result
        or check needs them.
        """
        asm, tokens, times = self.asm, self.tokens, None
        if workload.arrivals != SATURATED:
            asm = asm.copied()
            with asm.scope():
                source, times = self._source(asm, workload)
                tokens = [*tokens, source]
        model = check_rows(self._arrays(asm, tokens, times, workload, demands))
        if workload.arrivals != SATURATED and not self._plainly_freed() and model.under_load is not None:
            model.under_load.check_freed()
        return model

    def _plainly_freed(self) -> bool:
        """Return whether each packet frees its buffer space by one visit with its length, which no packet skips."""
        freeing = [
            step for recorded in self.pools for step, _ in recorded.visits if step.resource is self.machine.ingress
        ]
        receiving = [recorded for recorded in self.pools if recorded.pool.gets is None]
        return len(freeing) == len(receiving) == 1 and any(
            step is freeing[0] and freeing[0].operands["bytes"] is receiving[0].columns["packet_bytes"]
            for step in receiving[0].body
        )

    def _arrays(
        self, asm: Assembler, tokens: list[Token], times: int | None, workload: Workload,
        demands: Callable[[], UnderLoad | None],
    ) -> EngineModel:  # fmt: skip
        sources: list[Ingress | BoundedQueue] = [self.machine.ingress, *self.machine.queues().values()]
        rows, streams, visited = rows_of(asm.rows), [row.source for row in asm.rows], [row.place for row in asm.rows]
        if self.machine.jitter:
            rows, streams = jittered(rows, streams, visited, self.machine.jitter)
        return EngineModel(
            rows=rows,
            sources=streams,
            servers=asm.servers,
            n_resources=asm.n_resources,
            tick=self.machine.tick,
            tokens=tokens,
            tables=asm.tables,
            rings=asm.rings,
            controllers=asm.controllers,
            globals=asm.globals,
            counters=asm.counters,
            spare_tokens=64 + 8 * self.machine.threads + asm.spare_tokens,
            shuffled=None if workload.ordered else self.packets,
            packets=self.packets,
            times=times,
            cursor=self.cursor,
            visits=visited,
            marks=[(row.held, row.polls) for row in asm.rows],
            classes=self.classes,
            queues={s.name: (self._counts(s), asm.longest[s.name]) for s in sources if s.name in asm.longest},
            idle=[*(number for source in sources for number in self._counts(source)), *asm.at_rest],
            least_patience_s=least_patience(self.machine, workload),
            patience=partial(patience, self.machine, workload),
            census=self._census(asm),
            demands=demands,
        )

    def _counts(self, source: Ingress | BoundedQueue) -> range:
        """Return the resources that count the packets waiting at a source, one per member of the source."""
        server, number = self.asm.servers[source.packets]
        return range(number, number + server.members)

    def _census(self, asm: Assembler) -> Census | None:
        """Return how packets in the system are counted; None for several pools and for threads that poll."""
        pool, ingress = self.machine.pools[0], self.machine.ingress
        if self.several or (pool.idle == "poll" and self.workload.arrivals != SATURATED):
            return None
        start = pool.count * round(pool.start.latest(pool.count) / asm.tick)
        loses = asm.own is not None
        if self.workload.arrivals == SATURATED:
            return Census(pool.count, loses=loses, start=start)
        return Census(pool.count, asm.number(ingress.packets), asm.messages[ingress.name], loses, start)


def threads_of(pool: Pool) -> str:
    """Return the name of the hidden server that stands for a pool's threads, if a machine has several pools."""
    return f"threads.{pool.name}"
