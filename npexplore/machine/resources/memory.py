"""On-chip scratchpad and QDR SRAM: per visit a fixed part and a part per word on one port, then a latency.

    occupied = command + ceil(words / burst) x burst x word / efficiency

The caller goes on `latency` after its words have passed (Denning's demand counts only what is occupied).
"""

from collections.abc import Mapping

import numpy as np

from npexplore.errors import ModelError, one_of
from npexplore.machine.assembler import Assembler
from npexplore.machine.expressions import Expression, Values, ceildiv
from npexplore.machine.resources.balancer import POLICIES, Policy, check_key, choose
from npexplore.machine.resources.base import LEAST_LOADED, Hold, Resource, Server, Uses, count_of, known, time_of


class WordMemory(Resource):
    """A memory of `channels` alike channels, each with one port (scratchpad) or a read and a write port (QDR SRAM).

    burst_words: words move in whole bursts of so many. efficiency: the share of its words' pace that the bus reaches.
    select: how a channel is chosen; by key it is address // interleave_bytes mod channels.
    """

    VISITS = {"read": ("bytes", "address"), "write": ("bytes", "address")}
    OPTIONAL = frozenset({"address"})

    def __init__(
        self, name: str, word_bytes: int, word_s: float, command_s: float = 0.0, latency_s: float = 0.0,
        channels: int = 1, split_ports: bool = False, burst_words: int = 1, efficiency: float = 1.0,
        select: Policy = "in_turn", interleave_bytes: int | None = None,
    ) -> None:  # fmt: skip
        super().__init__(name)
        if not 0 < efficiency <= 1:
            raise ModelError(f"{name}: efficiency must be above 0 and at most 1, got {efficiency!r}")
        self.burst = count_of(f"{name}: burst_words", burst_words)
        self.burst_bytes = count_of(f"{name}: word_bytes", word_bytes) * self.burst
        self.word = time_of(f"{name}: time per word", word_s) / efficiency
        self.command = time_of(f"{name}: time per command", command_s)
        self.latency = time_of(f"{name}: latency", latency_s)
        self.channels = count_of(f"{name}: channels", channels)
        self.split_ports = split_ports
        self.select = one_of(f"{name}: channel selection", select, POLICIES)
        self.interleave = count_of(f"{name}: interleave_bytes", interleave_bytes or self.burst_bytes)

    def _port(self, method: str) -> str:
        return f"{self.name}.{method}" if self.split_ports else self.name

    def servers(self) -> list[Server]:
        """One server a channel, or one per channel and direction."""
        if self.split_ports:
            return [Server(self._port(method), members=self.channels) for method in self.VISITS]
        return [Server(self.name, members=self.channels)]

    def uses(self, method: str, values: Mapping[str, Values | None]) -> Uses:
        """The words at the port of the channel that the address chooses, the latency nowhere."""
        check_key(f"{self.name}.{method}", self.select, values, "address")
        bursts = -(-known(self, method, "bytes", values) // self.burst_bytes)
        seconds = self.command + bursts * (self.burst * self.word)
        address = values.get("address")
        channel: Values | None = np.asarray(LEAST_LOADED) if self.select == "shortest" else None
        channel = channel if address is None else address // self.interleave % self.channels
        port = Hold(self._port(method), seconds, member=channel)
        return Uses(seconds + self.latency, [port], delay=np.asarray(self.latency))

    def emit(self, method: str, operands: Mapping[str, Expression], asm: Assembler) -> None:
        """SERVE the port of a channel, then sleep for the latency."""
        check_key(f"{self.name}.{method}", self.select, operands, "address")
        port = self._port(method)
        bursts = ceildiv(operands["bytes"], self.burst_bytes)
        time = asm.ticks(bursts, self.burst * self.word) + asm.ticks(self.command)
        key = operands["address"] // self.interleave if self.select == "key" else None
        asm.serve(port, time, member=choose(asm, port, self.select, key))
        if self.latency:
            asm.wait(asm.ticks(self.latency))
