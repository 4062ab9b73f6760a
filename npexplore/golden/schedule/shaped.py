"""Link shaping: a token bucket in front of any scheduler, so that a port sends at most r t + b in any time t.

A packet may start when the bucket holds tokens for the largest packet; it consumes its own length. The scheduler
chooses only then, so a packet of a higher class that arrived meanwhile goes first.
"""

from npexplore.display import ShownByArguments
from npexplore.errors import InputError
from npexplore.golden.schedule.base import QueuedPacket, Scheduler
from npexplore.golden.token_rate import TokenRate


class Shaper(ShownByArguments):
    """A token bucket of a rate in bytes. burst: its depth, at least the largest packet. Raises InputError.

    Example:
        >>> from npexplore.golden import Shaper, TokenRate
        >>> shaper = Shaper(TokenRate.of("1Gb/s"), 1518, 1518)
        >>> shaper.ready(0)
        0
    """

    def __init__(self, rate: TokenRate, burst: int, largest_bytes: int) -> None:
        if rate.counted != "bytes":
            raise InputError("rate of a shaper must be in bits per second, got packets per second")
        if burst < largest_bytes:
            raise InputError(f"burst of a shaper must hold the largest packet of {largest_bytes} bytes, got {burst}")
        self.rate = rate
        self.full = rate.scaled("burst of a shaper", burst)
        self.need = rate.scaled("largest packet", largest_bytes)
        self.tokens, self.time = self.full, 0

    def ready(self, now: int) -> int:
        """Return the earliest time in whole ns, not before `now`, at which a packet may start."""
        self.tokens = min(self.full, self.tokens + (now - self.time) * self.rate.numerator)
        self.time = now
        missing_tokens = max(0, self.need - self.tokens)
        return now + -(-missing_tokens // self.rate.numerator)

    def take(self, length_bytes: int) -> None:
        """Consume the tokens of a packet that starts."""
        self.tokens -= self.rate.cost(length_bytes)


class Shaped(ShownByArguments):
    """A scheduler behind a shaper, with `enqueue` and `dequeue`; `ready` returns when to call `dequeue` next.

    Example:
        >>> from npexplore.golden import Shaped, Shaper, StrictPriority, TokenRate
        >>> link = Shaped(StrictPriority([1, 1]), Shaper(TokenRate.of("1Gb/s"), 1518, 1518))
        >>> link.ready(0)
        0
    """

    def __init__(self, scheduler: Scheduler, shaper: Shaper) -> None:
        self.scheduler, self.shaper = scheduler, shaper

    @property
    def backlog(self) -> int:
        """Number of queued packets."""
        return self.scheduler.backlog

    def enqueue(self, number: int, packet: QueuedPacket) -> None:
        """Append a packet to the queue of its class."""
        self.scheduler.enqueue(number, packet)

    def ready(self, now: int) -> int:
        """Return the earliest time, not before `now`, at which a packet may start."""
        return self.shaper.ready(now)

    def dequeue(self, now: int) -> tuple[int, QueuedPacket] | None:
        """Remove and return the packet to send at `now`; None if there is none, or if the shaper delays it."""
        if self.shaper.ready(now) > now:
            return None
        sent = self.scheduler.dequeue(now)
        if sent is not None:
            self.shaper.take(sent[1].length_bytes)
        return sent
