"""The leaky bucket of the IXP1200 DiffServ router: two fields per rule, last_arrival_time and token.

On arrival the token field grows by quanta rate x interval, up to the depth. A packet with enough tokens is admitted and
consumes them. The interval is measured by a timer with ticks of `tick_ns`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from npexplore.errors import InputError
from npexplore.golden.police.base import Bound, Policer, State, bucket_row, passed
from npexplore.golden.police.colour import Colour
from npexplore.golden.token_rate import TokenRate
from npexplore.golden.work import Meter


@dataclass(frozen=True)
class LeakyBucket(Policer):
    """rate: quanta rate. depth: maximum tokens, in bytes or packets as the rate counts. tick_ns: tick of the timer.

    Example:
        >>> from npexplore.golden import LeakyBucket, TokenRate
        >>> bucket = LeakyBucket(TokenRate.of("8Mb/s"), 1000)
        >>> bucket.police(bucket.state(), 0, 1000)[1]
        <Colour.GREEN: 0>
    """

    KIND: ClassVar[int] = 1
    rate: TokenRate
    depth: int
    tick_ns: int = 1

    def __post_init__(self) -> None:
        self.rate.scaled("depth of a leaky bucket", self.depth)
        if self.tick_ns < 1:
            raise InputError(f"tick of a leaky bucket's timer must be at least 1 ns, got {self.tick_ns}")

    def state(self) -> State:
        """Return a full bucket."""
        return State(-1, (self.depth * self.rate.denominator, 0))

    def police(
        self, state: State, time_ns: int, length_bytes: int, colour: Colour = Colour.GREEN, meter: Meter | None = None
    ) -> tuple[State, Colour]:
        """Return the state, and GREEN for an admitted packet, else RED; a packet that arrives red stays red."""
        tick_time = time_ns - time_ns % self.tick_ns
        depth = self.depth * self.rate.denominator
        token = min(depth, state.tokens[0] + passed(state, tick_time) * self.rate.numerator)
        admitted = colour < Colour.RED and token >= self.rate.cost(length_bytes)
        if admitted:
            token -= self.rate.cost(length_bytes)
        if meter is not None:
            meter.read("policer", 2)
            meter.do(alu=4 + admitted, multiply=1, branch=2)
            meter.write("policer", 2)
        return State(tick_time, (token, 0)), Colour.GREEN if admitted else Colour.RED

    def bounds(self) -> Sequence[Bound]:
        """Return the guarantee for admitted packets."""
        rate = (self.rate.numerator, self.rate.denominator)
        return [Bound(Colour.GREEN, rate, self.depth, self.rate.counted, self.tick_ns - 1)]

    def row(self) -> tuple[int, ...]:
        """Return the kernel's row."""
        return self.KIND, 0, self.tick_ns, *bucket_row(self.rate, self.state().tokens[0]), 0, 0, 1, 0
