"""The single rate three color marker, srTCM (RFC 2697 section 3): buckets C and E filled at one rate, C first.

green: B <= Tc, Tc -= B; else yellow: B <= Te, Te -= B; else red. Colour-aware: not better than the arriving colour.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from npexplore.errors import InputError
from npexplore.golden.police.base import Bound, Policer, State, bucket_row, metered, passed
from npexplore.golden.police.colour import Colour
from npexplore.golden.token_rate import TokenRate
from npexplore.golden.work import Meter


@dataclass(frozen=True)
class SingleRate(Policer):
    """rate: CIR. burst: CBS. excess: EBS, in bytes; at least one of them above 0. aware: colour-aware mode.

    Example:
        >>> from npexplore.golden import SingleRate, TokenRate
        >>> meter = SingleRate(TokenRate.of("8Mb/s"), 1000, 500)
        >>> state, colour = meter.police(meter.state(), 0, 1000)
        >>> colour, meter.police(state, 0, 500)[1]
        (<Colour.GREEN: 0>, <Colour.YELLOW: 1>)
    """

    KIND: ClassVar[int] = 2
    rate: TokenRate
    burst: int
    excess: int
    aware: bool = False

    def __post_init__(self) -> None:
        self.rate.scaled("committed burst size", self.burst, zero=True)
        self.rate.scaled("excess burst size", self.excess, zero=True)
        if self.burst == self.excess == 0:
            raise InputError("committed or excess burst size must be greater than 0 (RFC 2697 section 2), got 0 and 0")

    def state(self) -> State:
        """Return two full buckets (RFC 2697 section 3)."""
        return State(-1, (self.burst * self.rate.denominator, self.excess * self.rate.denominator))

    def police(
        self, state: State, time_ns: int, length_bytes: int, colour: Colour = Colour.GREEN, meter: Meter | None = None
    ) -> tuple[State, Colour]:
        """Return the state after a packet and its colour."""
        full_c, full_e = self.state().tokens
        grown = state.tokens[0] + passed(state, time_ns) * self.rate.numerator
        tokens_c = min(full_c, grown)
        tokens_e = min(full_e, state.tokens[1] + grown - tokens_c)
        cost = self.rate.cost(length_bytes)
        arriving = colour if self.aware else Colour.GREEN
        if arriving == Colour.GREEN and cost <= tokens_c:
            verdict, tokens_c = Colour.GREEN, tokens_c - cost
        elif arriving <= Colour.YELLOW and cost <= tokens_e:
            verdict, tokens_e = Colour.YELLOW, tokens_e - cost
        else:
            verdict = Colour.RED
        metered(meter, alu=8, multiply=1, aware=self.aware)
        return State(time_ns, (tokens_c, tokens_e)), verdict

    def bounds(self) -> Sequence[Bound]:
        """Return the guarantees for green, and for green and yellow together."""
        rate, counted = (self.rate.numerator, self.rate.denominator), self.rate.counted
        return [
            Bound(Colour.GREEN, rate, self.burst, counted),
            Bound(Colour.YELLOW, rate, self.burst + self.excess, counted),
        ]

    def row(self) -> tuple[int, ...]:
        """Return the kernel's row."""
        full_c, full_e = self.state().tokens
        return self.KIND, int(self.aware), 1, *bucket_row(self.rate, full_c), *bucket_row(self.rate, full_e)
