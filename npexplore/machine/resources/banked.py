"""SDRAM behind a unit that does one command after the other: row, column, words; then the bank precharges.

    unit = command + ceil(bytes / word) x word time        bank = that + precharge, while the next command may go on

A bank is busy from its command to the end of its precharge. Every `refresh_every_s` all banks refresh for `refresh_s`,
and commands wait meanwhile. The caller continues `latency_s` after its words have passed.

Alone: closed, the exact chain of bank interference; open, M/D/1 at each bank from below.
"""

from npexplore.errors import ModelError
from npexplore.machine.resources.base import Example, Resource, Server, count_of, time_of
from npexplore.machine.visits import Operands, VisitRecorder
from npexplore.rows.expressions import ceildiv


class BankedMemory(Resource, kind="banked_memory"):
    """`banks` alike banks, of which every visit says one, behind one unit with its data bus.

    Example:
        >>> from npexplore.machine import BankedMemory
        >>> BankedMemory("rldram", word_bytes=8, word_s=5e-9, banks=8)
        BankedMemory('rldram', word_bytes=8, word_s=5e-09, banks=8)
    """

    EXAMPLE = Example(
        {"word_bytes": 8, "word_s": 1e-8, "banks": 4, "precharge_s": 6e-8}, "read", {"bytes": 8, "bank": "random"}
    )
    VISITS = {"read": ("bytes", "bank"), "write": ("bytes", "bank")}
    CHANCE = frozenset({"bank"})

    def __init__(
        self, name: str, word_bytes: int, word_s: float, banks: int = 1, command_s: float = 0.0,
        precharge_s: float = 0.0, latency_s: float = 0.0, refresh_s: float = 0.0, refresh_every_s: float = 1.0,
    ) -> None:  # fmt: skip
        super().__init__(name)
        self.word_bytes = count_of(f"{name}: word_bytes", word_bytes)
        self.word = time_of(f"{name}: time per word", word_s)
        self.banks = count_of(f"{name}: banks", banks)
        self.command = time_of(f"{name}: time per command", command_s)
        self.precharge = time_of(f"{name}: time to precharge", precharge_s)
        self.latency = time_of(f"{name}: latency", latency_s)
        self.refresh = time_of(f"{name}: time to refresh", refresh_s)
        self.every = time_of(f"{name}: time between refreshes", refresh_every_s)
        if self.refresh >= self.every:
            raise ModelError(f"{name}: a refresh must be shorter than {refresh_every_s!r} s, got {refresh_s!r}")

    def servers(self) -> list[Server]:
        """Return the unit, which does not serve during a refresh, and the banks, which are held during a command."""
        approximation = "refresh as time lost" if self.refresh else None
        return [
            Server(self.name, away=self.refresh / self.every, approximation=approximation),
            Server(f"{self.name}.bank", self.banks),
        ]

    def act(self, m: VisitRecorder, visit: str, v: Operands) -> None:
        """Record a command at the unit; its bank precharges while the caller continues."""
        bank = m.take("bank", member=v.bank)
        if self.refresh:
            m.window(self.every, self.refresh)
        m.serve(self.name, ceildiv(v.bytes, self.word_bytes) * self.word + self.command)
        with m.fork(bank) as closing:
            m.wait(self.precharge)
            m.give(closing)
        m.wait(self.latency)
