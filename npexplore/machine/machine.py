"""A machine that is ready to be solved: resources by name, pools of threads with their program, the receive side."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, fields
from typing import Any

from npexplore.errors import ModelError, one_of
from npexplore.machine.expressions import Variable
from npexplore.machine.program import Body, Packet, Recorder, record
from npexplore.machine.resources.base import Resource, Server, count_of
from npexplore.machine.resources.ingress import Ingress

RESERVED = {*dir(Recorder), *(field.name for field in fields(Recorder))}


@dataclass
class Pool:
    """`count` threads that each run `program` for one packet after the other; thread i lives on member i of `home`."""

    name: str
    count: int
    program: Callable[[Recorder, Packet], None]
    home: str | None = None


@dataclass
class Machine:
    """Resources, one pool of threads, and what is counted as throughput.

    counted: "packet bytes", or a name for padded ones (each packet rounded up to whole cells of `cell_bytes`).
    """

    name: str
    pool: Pool
    ingress: Ingress
    resources: dict[str, Resource] = field(default_factory=dict)
    counted: str = "packet bytes"
    cell_bytes: int = 1
    tick: float = 1e-12
    facts: Any = None

    def __post_init__(self) -> None:
        count_of(f"{self.name}: threads", self.pool.count)
        count_of(f"{self.name}: cell_bytes", self.cell_bytes)
        if self.ingress.name in self.resources:
            raise ModelError(f"{self.name}: {self.ingress.name!r} is the receive side; give the resource another name")
        self.resources = {**self.resources, self.ingress.name: self.ingress}
        for name, resource in self.resources.items():
            if name in RESERVED:
                raise ModelError(f"{self.name}: no resource can be called {name!r}, the recorder has that word")
            if name != resource.name:
                raise ModelError(f"{self.name}: resource {resource.name!r} is listed as {name!r}")
        if self.pool.home is not None:
            one_of(f"{self.name}: home of the threads", self.pool.home, self.servers())

    @property
    def padded(self) -> bool:
        """Whether throughput counts padded cells."""
        return self.counted != "packet bytes"

    def servers(self) -> dict[str, Server]:
        """Return all servers by name."""
        return {server.name: server for resource in self.resources.values() for server in resource.servers()}

    def record(self, columns: dict[str, Variable]) -> Body:
        """Record the threads' program once."""
        return record(self.pool.program, self.resources, columns, self.facts)

    def counted_bytes(self, packet_bytes: Any) -> Any:
        """Return the bytes that count as throughput for packets of these lengths (array in, array out)."""
        if not self.padded:
            return packet_bytes
        return -(-packet_bytes // self.cell_bytes) * self.cell_bytes
