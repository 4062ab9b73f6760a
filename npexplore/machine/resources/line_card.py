"""A line card: a wire in and a wire out, words at a constant rate, and a buffer in front of the wire out.

    time on a wire = (bytes rounded up to whole words + gap) / (bytes per second)

`receive` waits until a packet has come over the wire: an input file plays as fast as the machine accepts it. `send`
waits for the wire and for the packet to leave (no buffer), or only for room in the buffer, from which the wire sends
concurrently. Without room the sender waits (stall) or the packet is lost (drop); later sends and puts of a lost packet
do nothing.

If packets never run out, a thread whose first step is `receive` waits for the wire before its packet exists: latency
counts from the packet's first bit. On a shared wire (`half_duplex`) the wait for departing packets counts too.

Alone: M/D/1 of the words and the gap.
"""

from typing import Literal, get_args

from npexplore.errors import ModelError, one_of
from npexplore.machine.resources.base import (
    LENGTH,
    Ends,
    Example,
    Resource,
    Server,
    check_member,
    count_of,
    rate_of,
    time_of,
)
from npexplore.machine.resources.queue import lose
from npexplore.machine.visits import Operands, VisitRecorder
from npexplore.rows.assembler import LOST, Assembler
from npexplore.rows.base import Label
from npexplore.rows.expressions import Operand, ceildiv

WhenFull = Literal["stall", "drop"]


class LineCard(Resource, kind="line_card"):
    """`ports` alike cards; `half_duplex`: both directions share one wire. `gap_bytes` pass between packets.

    Example:
        >>> from npexplore.machine import LineCard
        >>> LineCard("line", bytes_per_s=100e9 / 8, gap_bytes=24)              # m.line.send(bytes=packet.packet_bytes)
        LineCard('line', bytes_per_s=12500000000.0, gap_bytes=24)
    """

    EXAMPLE = Example({"bytes_per_s": 1.25e9, "gap_bytes": 20}, "send", {"bytes": LENGTH}, more={"buffer_bytes": 4096})
    VISITS = {"receive": ("bytes", "member"), "send": ("bytes", "member")}
    OPTIONAL = {"member": 0}

    def __init__(
        self, name: str, bytes_per_s: float, ports: int = 1, word_bytes: int = 1, gap_bytes: float = 0.0,
        buffer_bytes: int | None = None, when_full: WhenFull = "stall", half_duplex: bool = False,
    ) -> None:  # fmt: skip
        super().__init__(name)
        self.byte = time_of(f"{name}: time per byte", 1.0 / rate_of(f"{name}: bytes", bytes_per_s))
        self.ports = count_of(f"{name}: ports", ports)
        self.word = count_of(f"{name}: word_bytes", word_bytes)
        self.gap = time_of(f"{name}: gap", gap_bytes * self.byte)
        self.buffer = None if buffer_bytes is None else count_of(f"{name}: buffer_bytes", buffer_bytes)
        self.when_full = one_of(f"{name}: when_full", when_full, get_args(WhenFull))
        if buffer_bytes is None and when_full == "drop":
            raise ModelError(f"{name}: when_full 'drop' needs buffer_bytes, got None")
        self.half_duplex = half_duplex

    def wire(self, method: str) -> str:
        """Return the server of a direction ("receive" or "send")."""
        return f"{self.name}.wire" if self.half_duplex else f"{self.name}.{'in' if method == 'receive' else 'out'}"

    def servers(self) -> list[Server]:
        """Return a wire for each direction, or one for both, and the free bytes of the buffer."""
        names = dict.fromkeys(self.wire(method) for method in self.VISITS)
        wires = [Server(name, self.ports, brings=name != self.wire("send")) for name in names]
        return wires if self.buffer is None else [*wires, Server(self._room, self.ports, self.buffer, role="hidden")]

    @property
    def _room(self) -> str:
        return f"{self.name}.room"

    def _aside(self, method: str) -> bool:
        return method == "send" and self.buffer is not None

    def ends(self, method: str) -> Ends:
        """Return "sometimes" if a send may drop the packet because the buffer is full."""
        return "sometimes" if self._aside(method) and self.when_full == "drop" else "never"

    def act(self, m: VisitRecorder, visit: str, v: Operands) -> None:
        """Record the time of a packet's words on the wire; a buffered send runs concurrently with the thread."""
        check_member(self, visit, v, self.ports)
        wire, time = self.wire(visit), ceildiv(v.bytes, self.word) * self.word * self.byte + self.gap

        def alone() -> None:
            with m.fork():
                m.serve(wire, time, v.member)

        if not self._aside(visit):
            m.serve(wire, time, v.member)
            return
        if self.when_full == "stall":
            m.within(
                v.bytes,
                int(self.buffer or 0) + 1,
                f"{self.name}: {{got:g}} bytes never fit into the buffer of {self.buffer}",
                simulated=False,
            )
        m.contended(lambda asm, of: self._send(asm, of(v.bytes), of(v.member)), alone)

    def _send(self, asm: Assembler, size: Operand, member: Operand) -> None:
        """Take room and let a forked token serve the wire; without room wait, or drop the packet."""
        lost, after = Label(), Label()
        time = asm.ticks(ceildiv(size, self.word) * self.word, self.byte) + asm.ticks(self.gap)
        if self.when_full == "stall":
            asm.consume(self._room, size, member)
        else:
            asm.unless_lost(after)
            asm.try_consume(self._room, size, lost, member)
        with asm.fork():
            asm.serve(self.wire("send"), time, member)
            asm.put(self._room, size, member)
        if self.when_full == "drop":
            lose(asm, self.name, lost, after, LOST)
        asm.place(after)
