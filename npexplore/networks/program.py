"""Compiles a network file to a program of the event engine: one token per customer, one resource per station.

A station uses SERVE (fifo, priority), SHARE (ps; preemptive; any with rates) or SERVE with unlimited units (delay); a
polling server is a token (`polling.py`). A capacity is a semaphore `.room`: TRY at a station that drops; TAKE while the
customer waits at the station before and holds its server (blocking after service). A region is a semaphore, too. The
content of a cache is in globals (`caches.py`).
"""

import math
from collections.abc import Iterator

import numpy as np

from npexplore._kernels import engine
from npexplore.engine.model import EngineModel, Token, rows_of
from npexplore.engine.rows_check import check_rows
from npexplore.errors import RefusedError
from npexplore.networks.caches import KeptItems
from npexplore.networks.chains import chains_of
from npexplore.networks.checks import waits_for_room
from npexplore.networks.draws import arrive, choose, drawn, nap
from npexplore.networks.polling import Polling
from npexplore.networks.records import HIT, IN, MISS, OUT, CustomerClass, Network, Station
from npexplore.networks.routes import in_turn, shortest
from npexplore.rows.assembler import Assembler, Label
from npexplore.rows.distributions import Batch
from npexplore.rows.expressions import Variable
from npexplore.rows.server import Server

TICKS = 10_000  # ticks in the shortest mean time
MOST_OUTSIDE = 50_000  # customers from outside at once; with more, the network is taken as unstable,
MOST_BUSY = 200_000  # in addition to two customers per server, for at most so many servers
MOST_TOKENS = 1 << 20
START = "start"
PRIORITIES = 16  # priorities that the engine distinguishes
LONGEST_MEAN = 1 << 48  # ticks of a mean time
LONGEST = 1 << 36  # ticks of a time: work in units of 2^-20 ticks stays within 64 bits, also of exponential times


class NetworkCompiler:
    """Compiles the programs of the classes, their sources and the stations; `model` returns the result."""

    def __init__(self, network: Network) -> None:
        self.network = network
        self.speeds: dict[str, int] = {}  # by station, z of its SHARE: the table of its speeds
        self.scale: dict[str, float] = {}  # by station with rates, the factor of its work and speeds
        means = list(_means(network))
        if max(means) / min(means) * TICKS > LONGEST_MEAN:
            raise RefusedError("times differ too much from the shortest of the file for one clock")
        self.asm = Assembler(min(means) / TICKS)
        branches = max((len(fork.stations) for fork in network.fork.values()), default=0)
        arrivals = [customers.arrivals for customers in network.classes.values() if customers.arrivals]
        closed = sum(customers.population or 0 for customers in network.classes.values())
        busy = sum(station.servers for station in network.station.values())
        self.spare_tokens = (MOST_OUTSIDE + 2 * min(busy, MOST_BUSY) if arrivals else 0) + closed * branches
        self.most = closed + self.spare_tokens  # largest number of tokens at once
        if max(self.most, *(p.size for p in arrivals if isinstance(p, Batch)), 0) > MOST_TOKENS:
            raise RefusedError(f"more than {MOST_TOKENS} customers at once are too many to simulate")
        self.labels: dict[tuple[str, str], Label] = {}
        self.polling = Polling(network, self.asm)
        self.closed = chains_of(network).closed_classes
        for name, station in network.station.items():
            self._declare(name, station)
        for name, region in network.region.items():
            self.asm.declare(Server(f"{name}.region", units=region.capacity))
        self.caches = {name: KeptItems.declare(self.asm, name, cache) for name, cache in network.cache.items()}
        self.tokens: list[Token] = []
        self.ranks = sorted({c.priority for c in network.classes.values()})
        if len(self.ranks) > PRIORITIES and any(s.discipline == "preemptive" for s in network.station.values()):
            raise RefusedError(f"preemptive stations with more than {PRIORITIES} priorities")
        for number, (name, customers) in enumerate(network.classes.items()):
            ClassProgram(self, name, customers, number).emit()
        for name, station in network.station.items():
            if station.discipline == "polling":
                self.tokens.append(self.polling.server(name))

    def _declare(self, name: str, station: Station) -> None:
        if station.discipline in ("random", "last_preempts") or station.weights:
            feature = "weights" if station.weights else f"discipline {station.discipline}"
            raise RefusedError(f"station {name!r}: {feature} is not simulated")
        keyed = station.discipline in ("priority", "last")
        discipline = "shared" if station.progressive else "keyed" if keyed else "fifo"
        units = self.most if station.discipline == "delay" else station.servers
        self.asm.declare(Server(name, units=units, discipline=discipline))  # type: ignore[arg-type]
        if station.capacity is not None:
            self.asm.declare(Server(f"{name}.room", units=station.capacity))
        if station.discipline == "polling":
            self.polling.declare(name)
        times = [c.service[name].longest() for c in self.network.classes.values() if name in c.service]
        room = LONGEST * self.asm.tick / max(times, default=self.asm.tick)
        if station.progressive and room < 1:
            raise RefusedError(f"station {name!r}: times differ too much from the shortest of the file for one clock")
        if station.rates or station.discipline == "preemptive":
            rates = station.rates or [1.0]
            # work and speeds have the same factor, as large as 64 bits allow, for a finer resolution
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
        model = EngineModel(
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
            visits=[row.place for row in asm.rows],
            classes=len(self.network.classes) + 1,  # the last class counts think times
        )
        return check_rows(model)


class ClassProgram:
    """The rows of a class: its source or its customers, its visits and routes."""

    def __init__(self, compiler: NetworkCompiler, name: str, customers: CustomerClass, number: int) -> None:
        self.compiler, self.network, self.asm = compiler, compiler.network, compiler.asm
        self.name, self.customers, self.number = name, customers, number
        self.routes = self.network.routes(name)
        self.lost = Label()

    def label(self, node: str, name: str | None = None) -> Label:
        """Return the label of a node for a class (None: this class)."""
        return self.compiler.labels.setdefault((name or self.name, node), Label())

    def emit(self) -> None:
        """Append all rows of the class, and its tokens of time 0."""
        asm, begin = self.asm, len(self.asm.rows)
        asm.place_name = f"class {self.name}"
        start = self.label(START)
        self._rank(self.name)
        if self.customers.arrivals is not None:
            arrive(
                asm,
                self.customers.arrivals,
                lambda: asm.emit(engine.FORK, target=start, x=engine.NEW_PACKET),
                self.name,
            )
        asm.place(start)
        if self.customers.think_time is not None:
            nap(asm, self.customers.think_time, f"think.{self.name}")
            asm.emit(engine.DONE, (len(self.network.classes), 0))  # the response time begins after the think time
        if IN in self.routes:
            self._move(IN)
        for node in self.routes:
            if node in self.network.station or node in self.network.fork:
                asm.place_name = f"{self.name} at {node}"
                self._visit(node)
        for name, cache in self.compiler.caches.items():
            if f"{name}{HIT}" in self.routes:
                asm.place_name = f"{self.name} at {name}"
                asm.place(self.label(name))
                ends = {end: Label() for end in (HIT, MISS)}
                cache.ask(asm, ends[HIT], ends[MISS], f"{self.name}.{name}")
                for end, label in ends.items():
                    asm.place(label)
                    self._move(f"{name}{end}")
        asm.place(self.label(OUT))
        asm.emit(engine.DONE, (self.number, 0))
        asm.jump(ending := Label())
        asm.place(self.lost)
        asm.count(f"lost.{self.name}")
        asm.place(ending)
        if not self.compiler.closed[self.number]:
            asm.emit(engine.END)
        else:
            asm.jump(start)
        if self.customers.arrivals is not None:
            self.compiler.tokens.append(Token(begin, name=f"arrivals of {self.name}"))
        self.compiler.tokens += [Token(begin, name=self.name)] * (self.customers.population or 0)

    def _rank(self, name: str) -> None:
        """Set the engine's priority of the class, if some station is preemptive."""
        if any(station.discipline == "preemptive" for station in self.network.station.values()):
            rank = self.compiler.ranks.index(self.network.classes[name].priority)
            self.asm.emit(engine.SET, (rank, 0), x=engine.PRIORITY)  # sources too: their forked tokens inherit it

    def _room(self, node: str, when_full: str) -> str | None:
        """Return the semaphore of a station with a capacity of this kind, else None."""
        station = self.network.station.get(node)
        limited = station is not None and station.capacity is not None and station.when_full == when_full
        return f"{node}.room" if limited else None

    def _region(self, node: str) -> str | None:
        """Return the name of a station's region, else None."""
        return next((name for name, region in self.network.region.items() if node in region.stations), None)

    def _visit(self, node: str) -> None:
        asm = self.asm
        asm.place(self.label(node))
        if node in self.network.fork:
            for station in self.network.fork[node].stations:
                with asm.fork(mode=engine.JOINED):
                    region = self._region(station)
                    rooms = [room for room in (self._room(station, "block"), region and f"{region}.region") if room]
                    for room in rooms:
                        asm.consume(room)
                    since = asm.now("since")
                    self._serve(station, hold=False)
                    self._stayed(station, since)
                    for room in rooms:
                        asm.put(room)
            asm.join()
            self._move(node)
            return
        own_room = self._room(node, "drop")
        if own_room:
            if region := self._region(node):
                entered, refused = Label(), Label()
                asm.try_consume(own_room, 1, refused)
                asm.jump(entered)
                asm.place(refused)
                asm.put(f"{region}.region")
                asm.jump(self.lost)
                asm.place(entered)
            else:
                asm.try_consume(own_room, 1, self.lost)
        with asm.scope():
            since = asm.now("since")
            self._serve(node, hold=waits_for_room(self.network, self.name, node))
            self._move(node, since)

    def _stayed(self, station: str, since: Variable) -> None:
        """Count a visit of this class and its time."""
        with self.asm.scope():
            now = self.asm.now()
            self.asm.count(f"stay.{station}.{self.name}", now - since)
            self.asm.count(f"visits.{station}.{self.name}")

    def _serve(self, station: str, hold: bool) -> None:
        asm, kind = self.asm, self.network.station[station]
        time, source = self.customers.service[station], f"service.{self.name}.{station}"
        with asm.scope():
            place = asm.number(station), 0
            if kind.discipline == "last":
                with asm.scope():
                    key = Variable("turn")
                    asm.fetch_add(key, asm.shared_global(f"last.{station}"), -1)
                    asm.emit(engine.TAKE, place, (1, 0), asm.operand(key))
                nap(asm, time, source)
                if not hold:
                    asm.put(station)
                return
            if kind.discipline == "polling":
                self.compiler.polling.ask(station, self.name)
                asm.count(f"work.{station}", round(time.moments()[0] / asm.tick))
                nap(asm, time, source)
                asm.put(f"{station}.done")
                return
            key_of = self.customers.priority if kind.discipline == "priority" else 0
            if hold:
                asm.emit(engine.TAKE, place, (1, 0), (key_of, 0))
                nap(asm, time, source)
                return
            x, a, b, c = drawn(asm, time, source, self.compiler.scale.get(station, 1.0))
            if kind.progressive:
                asm.count(f"work.{station}", round(time.moments()[0] / asm.tick))
                z = self.compiler.speeds.get(station, 0)
                asm.emit(engine.SHARE, place, a, b, x=x, y=c, z=z, source=source)
            else:
                asm.emit(engine.SERVE, place, a, b, x=x, y=c, z=key_of, source=source)

    def _move(self, node: str, since: Variable | None = None) -> None:
        """Emit the choice of the next node; take a place there before leaving this node."""
        asm, route = self.asm, self.routes[node]
        own_rooms = [room for when_full in ("drop", "block") if (room := self._room(node, when_full))]
        holds = waits_for_room(self.network, self.name, node)
        labels = [Label() for _ in route]
        choice = self.customers.choose.get(node, "chance")
        if len(route) == 1 or choice == "chance":
            choose(asm, [chance for _, _, chance in route], labels, f"route.{self.name}.{node}")
        elif choice == "in_turn":
            in_turn(asm, [chance for _, _, chance in route], labels)
        else:
            targets = [target for target, _, _ in route]
            shortest(asm, self.network.station, targets, labels, f"tie.{self.name}.{node}")
        for label, (target, new_class, _) in zip(labels, route, strict=True):
            asm.place(label)
            if room := self._room(target, "block"):
                asm.consume(room)
            if since is not None:
                self._stayed(node, since)
            if holds:
                asm.put(node)
            for own_room in own_rooms:
                asm.put(own_room)
            self._through_regions(node, target)
            if new_class != self.name:
                self._rank(new_class)
            asm.jump(self.label(target, new_class))

    def _through_regions(self, node: str, target: str) -> None:
        """Leave the region of a node and enter that of the target, if they differ."""
        region, next_region = self._region(node), self._region(target)
        if region == next_region:
            return
        if region:
            self.asm.put(f"{region}.region")
        if next_region and self.network.region[next_region].when_full == "drop":
            self.asm.try_consume(f"{next_region}.region", 1, self.lost)
        elif next_region:
            self.asm.consume(f"{next_region}.region")


def _means(network: Network) -> Iterator[float]:
    """Yield the mean times of a network; of services, at the highest speed."""
    for customers in network.classes.values():
        for station, time in customers.service.items():
            yield time.moments()[0] / network.station[station].fastest
        if customers.think_time:
            yield customers.think_time.moments()[0]
        if customers.arrivals:
            yield 1 / customers.arrivals.rate
