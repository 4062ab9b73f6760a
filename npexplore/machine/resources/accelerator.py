"""A pipelined accelerator: takes a request every interval, answers each after a latency.

    demand = interval (initiation interval),   reply = start + latency + words x word

With replies in order, a reply waits for those of earlier requests: reply_n = max(reply_(n-1), start_n + latency_n). A
window limits the requests between acceptance and reply.

Alone: M/D/1 of the interval and the rest of the latency; closed, min(threads / latency, 1 / interval).
"""

from npexplore.machine.resources.base import Example, Resource, Server, check_member, count_of, time_of
from npexplore.machine.visits import Operands, VisitRecorder
from npexplore.rows.expressions import maximum


class Accelerator(Resource, kind="accelerator"):
    """`members` alike pipelines; `call(words)` takes longer by `word_s` a word (words read by a lookup: early exit).

    Example:
        >>> from npexplore.machine import Accelerator
        >>> Accelerator("crypto", interval_s=10e-9, latency_s=200e-9)
        Accelerator('crypto', interval_s=1e-08, latency_s=2e-07)
    """

    EXAMPLE = Example({"interval_s": 1e-8, "latency_s": 5e-8}, "call", more={"window": 4})
    VISITS = {"call": ("words", "member")}
    OPTIONAL = {"words": 0, "member": 0}

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
        """Return the first stage of each pipeline; with a window also its places, which are held around the stage."""
        approximation = "replies out of order" if self.in_order and self.word else None
        stage = Server(self.name, self.members, approximation=approximation)
        return [
            stage,
            *([Server(f"{self.name}.window", self.members, self.window, role="limit")] if self.window else []),
        ]

    def act(self, m: VisitRecorder, visit: str, v: Operands) -> None:
        """Record the interval at the first stage, then the rest of the latency, or the wait for the previous reply."""
        check_member(self, visit, v, self.members)
        place = m.take("window", member=v.member) if self.window else None
        m.serve(self.name, self.interval, v.member)
        rest = v.words * self.word + self.rest
        if self.in_order:
            reply = m.moment(maximum(m.now() + rest, m.recall("reply", v.member, self.members)))
            m.remember("reply", reply, v.member, self.members)
            m.until(reply)
        else:
            m.wait(rest)
        if place is not None:
            m.give(place)
