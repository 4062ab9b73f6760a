"""A switch matrix between `ports`: a crossbar, or a fat tree of switches with `arity` branches each.

    path of a message  up over c links and down over c links, c the level of the first switch above both ports
    latency            2 c words word_s + (2 c - 1) hop_s         (store and forward: each link takes the whole message)
    trunk              parallel links up from a switch of level l, and as many down: (arity / thinning) ^ l

In bounds and queueing a random source or target is any port with equal probability, also the other end; simulation
draws it.

A crossbar is a tree of one switch. A tree with thinning 1 has as many links at each level as ports (Leiserson, IEEE
Trans. Computers C-34(10), 1985); a thinner tree has fewer links, which saturate at its top.
"""

from collections.abc import Iterator

from npexplore.errors import ModelError
from npexplore.machine.resources.base import Example, Resource, Server, count_of, time_of
from npexplore.machine.visits import Operands, VisitRecorder
from npexplore.rows.expressions import Expression, minimum


class SwitchMatrix(Resource, kind="matrix"):
    """Messages of so many words from port `source` to port `target`; one to its own port takes no link and no time.

    word_s: time of a word on a link. hop_s: time through a switch. arity: branches of a switch (None: a crossbar).
    thinning: links of a switch's branches together, divided by its links upwards.

    Example:
        >>> from npexplore.machine import SwitchMatrix
        >>> SwitchMatrix("fabric", ports=8, word_s=2e-9)
        SwitchMatrix('fabric', ports=8, word_s=2e-09)
    """

    EXAMPLE = Example({"ports": 4, "word_s": 1e-9}, "send", {"source": "random", "target": "random", "words": 16})
    VISITS = {"send": ("source", "target", "words")}
    CHANCE = frozenset({"source", "target"})

    def __init__(
        self, name: str, ports: int, word_s: float, hop_s: float = 0.0, arity: int | None = None, thinning: int = 1,
    ) -> None:  # fmt: skip
        super().__init__(name)
        self.ports = count_of(f"{name}: ports", ports, least=2)
        self.word = time_of(f"{name}: time per word", word_s)
        self.hop = time_of(f"{name}: time through a switch", hop_s)
        self.arity = self.ports if arity is None else count_of(f"{name}: arity", arity, least=2)
        self.thinning = count_of(f"{name}: thinning", thinning)
        if self.thinning > self.arity:
            raise ModelError(f"{name}: thinning must be at most the arity of {self.arity}, got {thinning!r}")

    @property
    def levels(self) -> int:
        """The levels of switches: the least number with arity ^ levels >= ports."""
        levels = 1
        while self.arity**levels < self.ports:
            levels += 1
        return levels

    def _links(self) -> Iterator[tuple[str, int]]:
        """Yield (server, ports below one of its members) along the longest path."""
        below = [self.arity**level for level in range(self.levels)]
        yield from ((f"{self.name}.up{level}", n) for level, n in enumerate(below))
        yield from ((f"{self.name}.down{level}", n) for level, n in reversed(list(enumerate(below))))

    def servers(self) -> list[Server]:
        """Return the trunks of every level, up and down: one per port at level 0, one per switch at higher levels."""
        trunk = {self.arity**level: (self.arity // self.thinning) ** level for level in range(self.levels)}
        return [Server(name, -(-self.ports // below), max(1, trunk[below])) for name, below in self._links()]

    def _elsewhere(self, source: Expression, target: Expression, below: int) -> list[Expression | float]:
        """Return shares of messages that leave a switch above `below` ports: for a known source, target, neither."""
        sizes = [min(below, self.ports - first) for first in range(0, self.ports, below)]
        ends = (1.0 - minimum(below, self.ports - end // below * below) * (1 / self.ports) for end in (source, target))
        return [*ends, 1.0 - sum(size**2 for size in sizes) / self.ports**2]

    def act(self, m: VisitRecorder, visit: str, v: Operands) -> None:
        """Record one link after the other, with a switch between two; unused links are left out."""
        source, target = m.let(v.source), m.let(v.target)
        for port in (source, target):
            m.within(port, self.ports, f"{self.name} has ports")
        for number, (server, below) in enumerate(self._links()):
            with m.branch(source // below != target // below, shares=self._elsewhere(source, target, below)):
                if number:
                    m.wait(self.hop)
                m.serve(
                    server, v.words * self.word, (source if server.startswith(f"{self.name}.up") else target) // below
                )
