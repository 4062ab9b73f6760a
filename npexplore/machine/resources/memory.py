"""On-chip scratchpad and QDR SRAM: per visit a fixed part and a part per word on one port, then a latency.

    occupied = command + ceil(words / burst) x burst x word / efficiency

The caller continues `latency` after its words have passed (Denning's demand counts only the occupied time).

Alone: M/D/1 a channel chosen at random, M/D/c channels in turn; closed, min(threads / visit, channels / occupied).
"""

from npexplore.errors import ModelError, one_of
from npexplore.machine.resources.base import Example, Resource, Server, count_of, time_of
from npexplore.machine.visits import Operands, VisitRecorder
from npexplore.rows.choices import POLICIES, Policy, check_key
from npexplore.rows.expressions import ceildiv


class WordMemory(Resource, kind="memory"):
    """A memory of `channels` alike channels, each with one port (scratchpad) or a read and a write port (QDR SRAM).

    burst_words: words of a burst; accesses move whole bursts. efficiency: fraction of its peak rate that the bus
    reaches. select: the policy that chooses a channel; by key it is address // interleave_bytes mod channels.

    Example:
        >>> from npexplore.machine import WordMemory
        >>> WordMemory("sram", word_bytes=4, word_s=4e-9, latency_s=80e-9)     # m.sram.read(bytes=8)
        WordMemory('sram', word_bytes=4, word_s=4e-09, latency_s=8e-08)
    """

    EXAMPLE = Example(
        {"word_bytes": 4, "word_s": 5e-9, "burst_words": 2},
        "read",
        {"bytes": 8},
        more={"channels": 2, "split_ports": True},
    )
    VISITS = {"read": ("bytes", "address"), "write": ("bytes", "address")}
    OPTIONAL = {"address": 0}
    CHANCE = frozenset({"address"})

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
        """Return a server with a member per channel, or one for each direction."""
        if self.split_ports:
            return [Server(self._port(method), members=self.channels) for method in self.VISITS]
        return [Server(self.name, members=self.channels)]

    def act(self, m: VisitRecorder, visit: str, v: Operands) -> None:
        """Record the words at the port of a channel, then the latency."""
        check_key(f"{self.name}.{visit}", self.select, v, "address")
        port, key = self._port(visit), v.address // self.interleave if "address" in v else None
        words = ceildiv(v.bytes, self.burst_bytes) * (self.burst * self.word)
        m.serve(port, words + self.command, m.choose(port, self.channels, self.select, key))
        m.wait(self.latency)
