"""A machine and a workload as the arrays of the event engine, ready to run with any seed."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from npexplore._kernels import engine
from npexplore.errors import ModelError
from npexplore.machine.assembler import Assembler, Label, Row
from npexplore.machine.expressions import Variable, round_up
from npexplore.machine.machine import Machine
from npexplore.machine.resources.base import Server
from npexplore.machine.resources.ingress import SATURATED, TIMESTAMPS
from npexplore.machine.steps import steps
from npexplore.machine.workload import Workload

Integers = npt.NDArray[np.int64]


@dataclass
class Token:
    """A token that exists at time 0."""

    row: int
    registers: dict[int, int] = field(default_factory=dict)
    name: str = "token"


@dataclass
class EngineModel:
    """Rows, resources, tables and tokens of one model; nothing here changes while it runs."""

    rows: Integers
    sources: list[str | None]
    servers: dict[str, tuple[Server, int]]
    n_resources: int
    tick: float
    tokens: list[Token]
    tables: list[Integers]
    rings: list[tuple[int, int]]  # (capacity, width)
    globals: list[int]
    counters: list[str]
    spare_tokens: int
    shuffled: int | None = None  # the table whose rows each seed may shuffle
    cursor: int | None = None  # the global that says which packet is next
    places: list[str] = field(default_factory=list)  # per row, the visit it belongs to
    classes: int = 1  # rows of the statistics of finished packets


def rows_of(rows: list[Row]) -> Integers:
    """Return assembled rows as the engine's array, with labels resolved."""
    out = np.empty((len(rows), engine.ROW), dtype=np.int64)
    for k, row in enumerate(rows):
        out[k] = row.fields
        if row.target is not None:
            if row.target.row is None:
                raise ModelError(f"row {k} jumps to a label that was never placed")
            out[k, engine.TARGET] = row.target.row
    return out


def build(machine: Machine, workload: Workload) -> EngineModel:
    """Assemble the threads' program, the source of packets, and the resources of a machine."""
    arrivals = workload.arrivals
    machine.ingress.arrivals = arrivals
    asm = Assembler(machine.tick)
    for server in machine.servers().values():
        asm.declare(server)
    columns = {name: Variable(name) for name in workload.columns}
    body = machine.record(columns)
    rows = len(workload.packet_bytes)
    cursor = asm.new_global()
    packets = asm.table(np.stack([np.asarray(column, dtype=np.int64) for column in workload.columns.values()], axis=1))
    waiting = asm.ring(machine.ingress.capacity // machine.ingress.cell_bytes, len(columns))
    tokens: list[Token] = []

    with asm.scope():
        first = min(asm.register(variable) for variable in columns.values())
        home = Variable("home")
        number = asm.register(home)
        if machine.pool.home is not None:
            asm.homes[machine.pool.home] = home
            asm.limit(home, machine.servers()[machine.pool.home].members)
        numbered = [resource for resource in machine.resources.values() if resource.numbered]
        own_number = 0
        if numbered:
            asm.thread = Variable("thread")
            own_number = asm.register(asm.thread)
            asm.limit(asm.thread, machine.pool.count)
        entry = len(asm.rows)
        asm.emit(engine.WAIT, (1, 0), (round(1e-6 / machine.tick), 0), x=engine.UNIFORM, source="start")
        again = len(asm.rows)
        if arrivals != SATURATED and numbered:
            with asm.scope():
                at_once = Label()
                asm.jump(at_once, asm.free(f"{machine.ingress.name}.waiting") > 0)
                for resource in numbered:
                    resource.emit_idle(asm)
                asm.place(at_once)
        machine.ingress.emit_next_packet(asm, packets, waiting, first, rows, cursor)
        steps(asm, body)
        size = columns["packet_bytes"]
        with asm.scope():
            padded = asm.operand(round_up(size, machine.cell_bytes))
            asm.emit(engine.DONE, (0, 0), asm.operand(size), padded)
        asm.rows.append(Row([engine.JUMP, 0, 0, 0, 0, 0, 0, again, -1, engine.ALWAYS, 0, 0]))
        members = machine.servers()[machine.pool.home].members if machine.pool.home else 1
        for k in range(machine.pool.count):
            registers = {number: k % members} | ({own_number: k} if numbered else {})
            tokens.append(Token(entry, registers, machine.pool.name))

    if arrivals != SATURATED:
        interval = round(1.0 / workload.rate_pps / machine.tick) if workload.rate_pps else 0
        times = 0
        if arrivals == TIMESTAMPS:
            assert workload.t_ns is not None
            times = asm.table(np.round(workload.t_ns * (1e-9 / machine.tick)).astype(np.int64).reshape(-1, 1))
        with asm.scope():
            entry = len(asm.rows)
            source_columns = {name: Variable(name) for name in columns}
            machine.ingress.emit_source(asm, packets, waiting, source_columns, rows, cursor, interval, times)
            tokens.append(Token(entry, {}, "arrivals"))

    return EngineModel(
        rows=rows_of(asm.rows),
        sources=[row.source for row in asm.rows],
        servers=asm.servers,
        n_resources=asm.n_resources,
        tick=machine.tick,
        tokens=tokens,
        tables=asm.tables,
        rings=asm.rings,
        globals=asm.globals,
        counters=asm.counters,
        spare_tokens=64 + 8 * machine.pool.count + asm.spare_tokens,
        shuffled=None if workload.ordered else packets,
        cursor=cursor,
        places=[row.place for row in asm.rows],
    )
