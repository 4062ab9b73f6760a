"""A polling server as rows of the event engine: a token for the server, and the rows of its customers.

A customer increments the global of its class and waits for a unit of `.go.CLASS`. The server decrements the global,
puts the unit, and waits for `.done`. If switching takes no time, the server waits for `.asked` when no customer is
there.
"""

from npexplore.engine.model import Token
from npexplore.networks.draws import nap
from npexplore.networks.records import Network
from npexplore.rows.assembler import Assembler, Label
from npexplore.rows.expressions import Variable
from npexplore.rows.server import Server


class Polling:
    """The polling stations of a network."""

    def __init__(self, network: Network, asm: Assembler) -> None:
        self.network, self.asm = network, asm
        self.waiting: dict[tuple[str, str], int] = {}  # by station and class, the global that counts waiting customers

    def declare(self, name: str) -> None:
        """Declare the semaphores and globals of a polling station."""
        for c in self.network.polled(name):
            self.asm.declare(Server(f"{name}.go.{c}", units=0))
            self.waiting[name, c] = self.asm.new_global()
        self.asm.declare(Server(f"{name}.done", units=0))
        self.asm.declare(Server(f"{name}.asked", units=0))

    def ask(self, name: str, c: str) -> None:
        """Emit rows in which a customer of class c waits for the server."""
        self.asm.fetch_add(Variable("before"), self.waiting[name, c], 1)
        if not self.network.station[name].switch_over:
            self.asm.put(f"{name}.asked")
        self.asm.consume(f"{name}.go.{c}")

    def server(self, name: str) -> Token:
        """Append the program of the server of a polling station; return its token."""
        asm, station = self.asm, self.network.station[name]
        asm.place_name = f"server of {name}"
        token = Token(len(asm.rows), name=f"server of {name}")
        cycle = Label()
        asm.place(cycle)
        for c in self.network.polled(name):
            waiting, next_customer, next_class = self.waiting[name, c], Label(), Label()
            with asm.scope():
                quota = Variable("left")
                if station.visits == "gated":
                    asm.let(quota, asm.read(waiting))
                else:
                    asm.let(quota, station.most_a_visit)
                asm.place(next_customer)
                if station.visits != "exhaustive":
                    asm.jump(next_class, quota == 0)
                    asm.assign(quota, quota - 1)
                with asm.scope():
                    asm.jump(next_class, asm.read(waiting) == 0)
                with asm.scope():
                    asm.fetch_add(Variable("before"), waiting, -1)
                if not station.switch_over:
                    asm.consume(f"{name}.asked")
                asm.put(f"{name}.go.{c}")
                asm.consume(f"{name}.done")
                asm.jump(next_customer)
                asm.place(next_class)
            if c in station.switch_over:
                nap(asm, station.switch_over[c], f"switch_over.{c}.{name}")
        if not station.switch_over:
            asm.consume(f"{name}.asked")
            asm.put(f"{name}.asked")
        asm.jump(cycle)
        return token
