"""On-chip scratchpad and QDR SRAM: per visit a fixed part and a part per word on one port, then a latency.

occupied = command + words x word; the caller goes on `latency` after its words have passed (Denning's demand counts
only what is occupied).
"""

from collections.abc import Mapping

from npexplore.machine.assembler import Assembler
from npexplore.machine.expressions import Expression, Values, ceildiv
from npexplore.machine.resources.base import Hold, Resource, Server, Uses, count_of, known, time_of


class WordMemory(Resource):
    """A memory of `channels` alike channels, each with one port (scratchpad) or a read and a write port (QDR SRAM)."""

    VISITS = {"read": ("bytes",), "write": ("bytes",)}

    def __init__(
        self, name: str, word_bytes: int, word_s: float, command_s: float = 0.0, latency_s: float = 0.0,
        channels: int = 1, split_ports: bool = False,
    ) -> None:  # fmt: skip
        super().__init__(name)
        self.word_bytes = count_of(f"{name}: word_bytes", word_bytes)
        self.word = time_of(f"{name}: time per word", word_s)
        self.command = time_of(f"{name}: time per command", command_s)
        self.latency = time_of(f"{name}: latency", latency_s)
        self.channels = count_of(f"{name}: channels", channels)
        self.split_ports = split_ports

    def _port(self, method: str) -> str:
        return f"{self.name}.{method}" if self.split_ports else self.name

    def servers(self) -> list[Server]:
        """One server a channel, or one per channel and direction."""
        if self.split_ports:
            return [Server(self._port(method), members=self.channels) for method in self.VISITS]
        return [Server(self.name, members=self.channels)]

    def uses(self, method: str, values: Mapping[str, Values | None]) -> Uses:
        """The words at the port, the latency nowhere."""
        words = -(-known(self, method, "bytes", values) // self.word_bytes)
        seconds = self.command + words * self.word
        visits = Hold(self._port(method), seconds)
        return Uses(seconds + self.latency, [visits], delay=self.latency)  # type: ignore[arg-type]

    def emit(self, method: str, operands: Mapping[str, Expression], asm: Assembler) -> None:
        """SERVE the port (channels in turn), then sleep for the latency."""
        time = asm.ticks(ceildiv(operands["bytes"], self.word_bytes), self.word) + asm.ticks(self.command)
        asm.serve(self._port(method), time, member=asm.in_turn(self._port(method), self.channels))
        if self.latency:
            asm.wait(asm.ticks(self.latency))
