"""A pipelined accelerator: takes a request every interval, answers each after a latency.

    demand = interval (initiation interval),   reply = start + latency + words x word

With replies in order a quicker request waits for those before it: reply_n = max(reply_(n-1), start_n + latency_n). A
window bounds the requests that are in flight, from their acceptance to their reply.
"""

from collections.abc import Mapping

import numpy as np

from npexplore.machine.assembler import Assembler
from npexplore.machine.expressions import Expression, Values, maximum
from npexplore.machine.resources.base import Hold, Resource, Server, Uses, check_member, count_of, known, time_of


class Accelerator(Resource):
    """`members` alike pipelines; `call(words)` takes longer by `word_s` a word (words read by a lookup: early exit)."""

    VISITS = {"call": ("words", "member")}
    OPTIONAL = frozenset({"words", "member"})

    def __init__(
        self, name: str, interval_s: float, latency_s: float, word_s: float = 0.0, in_order: bool = False,
        window: int | None = None, members: int = 1,
    ) -> None:  # fmt: skip
        super().__init__(name)
        self.interval = time_of(f"{name}: interval", interval_s)
        self.rest = time_of(f"{name}: latency less the interval", latency_s - interval_s)
        self.word = time_of(f"{name}: time per word", word_s)
        self.in_order = in_order
        self.window = None if window is None else count_of(f"{name}: window", window)
        self.members = count_of(f"{name}: members", members)

    def servers(self) -> list[Server]:
        """The first stage of each pipeline; with a window its places, as a station of so many servers."""
        note = "replies out of order" if self.in_order and self.word else None
        stage = Server(self.name, self.members, approximation=note)
        return [stage, *([Server(f"{self.name}.window", self.members, self.window)] if self.window else [])]

    def uses(self, method: str, values: Mapping[str, Values | None]) -> Uses:
        """The interval at the first stage, the rest of the latency nowhere or in the window."""
        check_member(self, method, values, self.members)
        words = known(self, method, "words", values) if "words" in values else np.asarray(0.0)
        rest, member = self.rest + words * self.word, values.get("member")
        stage = Hold(self.name, np.asarray(self.interval), member=member)
        if self.window is None:
            return Uses(self.interval + rest, [stage], delay=rest)
        window = Hold(f"{self.name}.window", self.interval + rest, rest, member=member)
        return Uses(self.interval + rest, [window, stage])

    def emit(self, method: str, operands: Mapping[str, Expression], asm: Assembler) -> None:
        """A place of the window, SERVE the first stage, WAIT for the latency or until the reply before has left."""
        check_member(self, method, operands, self.members)
        member = operands.get("member", 0)
        rest = asm.ticks(operands.get("words", 0), self.word) + asm.ticks(self.rest)
        place = asm.take(f"{self.name}.window", member) if self.window else None
        asm.serve(self.name, asm.ticks(self.interval), member=member)
        if self.in_order:
            last = asm.shared_global(f"{self.name}.reply", self.members) + member
            reply = asm.value_of(maximum(asm.now() + rest, asm.read(last)))
            asm.write(last, reply)
            asm.wait_until(reply)
        else:
            asm.wait(rest)
        if place is not None:
            asm.give(place)
