"""A network file as a program of the event engine: one token a customer, one resource a station.

A station is SERVE (fifo, priority), SHARE (ps; preemptive; any that has rates) or SERVE at unlimited units (delay). A
capacity is a semaphore `.room`: TRY where a full station drops, TAKE where the customer waits at the station before and
holds its server meanwhile (blocking after service).
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from npexplore._kernels import engine
from npexplore.engine.model import EngineModel, Token, rows_of
from npexplore.engine.rows_check import check_rows
from npexplore.errors import RefusedError
from npexplore.networks.description import IN, OUT, CustomerClass, Network, Station
from npexplore.rows.arrivals import duration, let_arrive, sleep
from npexplore.rows.assembler import PROBABILITY_STEPS, Assembler, Label
from npexplore.rows.distributions import Batch
from npexplore.rows.expressions import Variable
from npexplore.rows.server import Server

TICKS = 10_000  # in the shortest mean time
MOST_OUTSIDE = 50_000  # customers from outside, at once; more are taken for a network that never empties
MOST_TOKENS = 1 << 20
PRIORITIES = 16  # that the engine tells apart
LONGEST_MEAN = 1 << 48  # ticks, of any time
LONGEST = 1 << 36  # ticks of a time: work in 2^-20 ticks stays within 64 bits, exponential draws included


class NetworkCompiler:
    """Assembles the classes' programs, their sources and the stations; `model` is the result."""

    def __init__(self, network: Network) -> None:
        self.network = network
        self.speeds: dict[str, int] = {}  # by station: z of its SHARE, the table of its speeds
        self.scale: dict[str, float] = {}  # by station with rates: units of work in one of the file's
        means = list(_means(network))
        if max(means) / min(means) * TICKS > LONGEST_MEAN:
            raise RefusedError("times differ too much from the shortest of the file for one clock")
        self.asm = Assembler(min(means) / TICKS)
        branches = max((len(fork.stations) for fork in network.fork.values()), default=0)
        arrivals = [customers.arrivals for customers in network.classes.values() if customers.arrivals]
        closed = sum(customers.population or 0 for customers in network.classes.values())
        self.spare_tokens = (MOST_OUTSIDE if arrivals else 0) + closed * branches
        self.most = closed + self.spare_tokens  # tokens at once
        if max(self.most, *(p.size for p in arrivals if isinstance(p, Batch)), 0) > MOST_TOKENS:
            raise RefusedError(f"more than {MOST_TOKENS} customers at once are too many to simulate")
        for name, station in network.station.items():
            self._declare(name, station)
        self.tokens: list[Token] = []
        self.ranks = sorted({c.priority for c in network.classes.values()})
        if len(self.ranks) > PRIORITIES and any(s.discipline == "preemptive" for s in network.station.values()):
            raise RefusedError(f"preemptive stations with more than {PRIORITIES} priorities")
        for number, (name, customers) in enumerate(network.classes.items()):
            ClassProgram(self, name, customers, number).emit()

    def _declare(self, name: str, station: Station) -> None:
        discipline = "shared" if station.progressive else "keyed" if station.discipline == "priority" else "fifo"
        units = self.most if station.discipline == "delay" else station.servers
        self.asm.declare(Server(name, units=units, discipline=discipline))  # type: ignore[arg-type]
        if station.capacity is not None:
            self.asm.declare(Server(f"{name}.room", units=station.capacity))
        times = [c.service[name].longest() for c in self.network.classes.values() if name in c.service]
        room = LONGEST * self.asm.tick / max(times, default=self.asm.tick)
        if station.progressive and room < 1:
            raise RefusedError(f"station {name!r}: times differ too much from the shortest of the file for one clock")
        if station.rates or station.discipline == "preemptive":
            rates = station.rates or [1.0]
            # work and speed are scaled alike, as far as there is room: the more the finer
            self.scale[name] = 2.0 ** min(math.floor(math.log2(room)), 20)
            speeds = np.round(np.array(rates) * self.scale[name] * (1 << engine.SPEED)).astype(np.int64)
            sharing = self.most if station.discipline == "ps" else 1
            if speeds.min() < sharing:
                raise RefusedError(f"station {name!r}: rate {min(rates):g} is too small for {sharing} customers")
            table = self.asm.table(speeds.reshape(-1, 1)) + 1
            self.speeds[name] = table if station.discipline == "ps" else -table

    def model(self) -> EngineModel:
        """Return the arrays of the event engine."""
        asm = self.asm
        built = EngineModel(
            rows=rows_of(asm.rows),
            sources=[row.source for row in asm.rows],
            servers=asm.servers,
            n_resources=asm.n_resources,
            tick=asm.tick,
            tokens=self.tokens,
            tables=asm.tables,
            rings=[],
            globals=asm.globals,
            counters=asm.counters,
            spare_tokens=self.spare_tokens,
            places=[row.place for row in asm.rows],
            classes=len(self.network.classes) + 1,  # the last one counts times of thinking
        )
        return check_rows(built)


class ClassProgram:
    """The rows of one class: its source or its customers, its visits, its routes."""

    def __init__(self, compiler: NetworkCompiler, name: str, customers: CustomerClass, number: int) -> None:
        self.compiler, self.network, self.asm = compiler, compiler.network, compiler.asm
        self.name, self.customers, self.number = name, customers, number
        self.labels = {node: Label() for node in (IN, OUT, *customers.route)}
        self.lost = Label()

    def emit(self) -> None:
        """Append all rows and the tokens that exist at time 0."""
        asm, begin = self.asm, len(self.asm.rows)
        asm.place_name = f"class {self.name}"
        start = Label()
        if any(station.discipline == "preemptive" for station in self.network.station.values()):
            rank = self.compiler.ranks.index(self.customers.priority)
            asm.emit(engine.SET, (rank, 0), x=engine.PRIORITY)  # of the source, too: what it forks inherits it
        if self.customers.arrivals is not None:
            self._source(start)
            asm.place(start)
        else:
            asm.place(start)
            if self.customers.think_time is not None:
                sleep(asm, self.customers.think_time, f"think.{self.name}")
                asm.emit(engine.DONE, (len(self.network.classes), 0))  # a response begins after the thinking
        self._move(IN)
        for node in self.customers.route:
            if node != IN:
                asm.place_name = f"{self.name} at {node}"
                self._visit(node)
        asm.place(self.labels[OUT])
        asm.emit(engine.DONE, (self.number, 0))
        asm.jump(ending := Label())
        asm.place(self.lost)
        asm.count(f"lost.{self.name}")
        asm.place(ending)
        if self.customers.arrivals is not None:
            asm.emit(engine.END)
            self.compiler.tokens.append(Token(begin, name=f"arrivals of {self.name}"))
        else:
            asm.jump(start)
            self.compiler.tokens += [Token(begin, name=self.name)] * (self.customers.population or 0)

    def _source(self, start: Label) -> None:
        arrivals, asm = self.customers.arrivals, self.asm
        assert arrivals is not None

        def arrive() -> None:
            asm.emit(engine.FORK, target=start, x=engine.NEW_PACKET)

        name = self.name
        let_arrive(asm, arrivals, arrive, f"arrival.{name}", f"phase.{name}", f"sizes.{name}")

    def _room(self, node: str, when_full: str) -> str | None:
        """Return the semaphore of a station with this kind of limit, else None."""
        station = self.network.station.get(node)
        limited = station is not None and station.capacity is not None and station.when_full == when_full
        return f"{node}.room" if limited else None

    def _holds(self, node: str) -> bool:
        """Say whether a customer may have to wait at a station for room at the next one."""
        ahead = [
            target for target, chance in self.customers.route[node].items() if chance and self._room(target, "block")
        ]
        if ahead and node in self.network.station and self.network.station[node].progressive:
            why = "served together, at rates or by preemption"
            raise RefusedError(f"customers {why} at {node!r} cannot wait there for room at {ahead[0]!r}")
        return bool(ahead) and node in self.network.station

    def _visit(self, node: str) -> None:
        asm = self.asm
        asm.place(self.labels[node])
        if node in self.network.fork:
            for station in self.network.fork[node].stations:
                with asm.fork(mode=engine.JOINED):
                    room = self._room(station, "block")
                    if room:
                        asm.consume(room)
                    self._serve(station, hold=False)
                    if room:
                        asm.put(room)
            asm.join()
        else:
            if room := self._room(node, "drop"):
                asm.try_consume(room, 1, self.lost)
            self._serve(node, hold=self._holds(node))
        self._move(node)

    def _serve(self, station: str, hold: bool) -> None:
        asm, kind = self.asm, self.network.station[station]
        x, a, b, c = duration(asm, self.customers.service[station], self.compiler.scale.get(station, 1.0))
        place, source = (asm.number(station), 0), f"service.{self.name}.{station}"
        key = self.customers.priority if kind.discipline == "priority" else 0
        if kind.progressive:
            mean = self.customers.service[station].moments()[0]
            asm.count(f"work.{station}", round(mean / asm.tick))
            z = self.compiler.speeds.get(station, 0)
            asm.emit(engine.SHARE, place, (a, 0), (b, 0), x=x, y=c, z=z, source=source)
        elif hold:
            asm.emit(engine.TAKE, place, (1, 0), (key, 0))
            asm.emit(engine.WAIT, (a, 0), (b, 0), (c, 0), x=x, source=source)
        else:
            asm.emit(engine.SERVE, place, (a, 0), (b, 0), x=x, y=c, z=key, source=source)

    def _move(self, node: str) -> None:
        """Choose the next node; take room there first, then leave this one."""
        asm, route = self.asm, {t: p for t, p in self.customers.route[node].items() if p}
        rooms = [room for when_full in ("drop", "block") if (room := self._room(node, when_full))]
        holds = self._holds(node)
        with asm.scope():
            chance, below = Variable("chance"), 0.0
            if len(route) > 1:
                asm.draw(chance, PROBABILITY_STEPS, f"route.{self.name}.{node}")
            for k, (target, probability) in enumerate(route.items()):
                other, below = Label(), below + probability
                if k < len(route) - 1:
                    asm.jump(other, chance >= round(below * PROBABILITY_STEPS))
                if room := self._room(target, "block"):
                    asm.consume(room)
                if holds:
                    asm.put(node)
                for own in rooms:
                    asm.put(own)
                asm.jump(self.labels[target])
                asm.place(other)


def _means(network: Network) -> Iterator[float]:
    """Return the mean times of a network, those of service at the highest speed."""
    for customers in network.classes.values():
        for station, time in customers.service.items():
            yield time.moments()[0] / network.station[station].fastest
        if customers.think_time:
            yield customers.think_time.moments()[0]
        if customers.arrivals:
            yield 1 / customers.arrivals.rate
