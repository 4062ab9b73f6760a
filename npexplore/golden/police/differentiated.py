"""The differentiated two-rate, three-color marker (RFC 4115 section 3): buckets C and E, each filled at its own rate.

green: Tc - B > 0, Tc -= B; else yellow: Te - B > 0, Te -= B; else red. Colour-aware: not better than the arriving
colour. Tokens never move between the buckets. A green packet is tested against one bucket, in RFC 2698 against two.

Tokens are whole, so the test "> 0" always leaves one token; here a bucket is stored without this last token. So a
packet as large as the burst does not conform, unlike in RFC 2697 and RFC 2698 (">= 0"); for a device that passes it,
use a burst that is larger by 1.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from npexplore.golden.police.base import Bound, Policer, State, bucket_row, metered, passed, refuse_unlike
from npexplore.golden.police.colour import Colour
from npexplore.golden.token_rate import TokenRate
from npexplore.golden.work import Meter


@dataclass(frozen=True)
class DifferentiatedTwoRate(Policer):
    """committed, burst: CIR and CBS. excess, excess_burst: EIR and EBS. aware: colour-aware mode.

    Example:
        >>> from npexplore.golden import DifferentiatedTwoRate, TokenRate
        >>> rate = TokenRate.of("8Mb/s")
        >>> meter = DifferentiatedTwoRate(rate, 1000, rate, 500)
        >>> meter.police(meter.state(), 0, 1000)[1]
        <Colour.RED: 2>
    """

    KIND: ClassVar[int] = 4
    committed: TokenRate
    burst: int
    excess: TokenRate
    excess_burst: int
    aware: bool = False

    def __post_init__(self) -> None:
        self.committed.scaled("committed burst size", self.burst)
        self.excess.scaled("excess burst size", self.excess_burst)
        refuse_unlike("committed", self.committed, "excess", self.excess)

    def state(self) -> State:
        """Return two full buckets, C first, each without its last token (RFC 4115 section 3)."""
        committed_units, excess_units = self.committed.denominator, self.excess.denominator
        return State(-1, ((self.burst - 1) * committed_units, (self.excess_burst - 1) * excess_units))

    def police(
        self, state: State, time_ns: int, length_bytes: int, colour: Colour = Colour.GREEN, meter: Meter | None = None
    ) -> tuple[State, Colour]:
        """Return the state after a packet and its colour."""
        interval = passed(state, time_ns)
        full_c, full_e = self.state().tokens
        tokens_c = min(full_c, state.tokens[0] + interval * self.committed.numerator)
        tokens_e = min(full_e, state.tokens[1] + interval * self.excess.numerator)
        arriving = colour if self.aware else Colour.GREEN
        cost_c, cost_e = self.committed.cost(length_bytes), self.excess.cost(length_bytes)
        if arriving == Colour.GREEN and cost_c <= tokens_c:
            verdict, tokens_c = Colour.GREEN, tokens_c - cost_c
        elif arriving <= Colour.YELLOW and cost_e <= tokens_e:
            verdict, tokens_e = Colour.YELLOW, tokens_e - cost_e
        else:
            verdict = Colour.RED
        metered(meter, alu=8, multiply=2, aware=self.aware)
        return State(time_ns, (tokens_c, tokens_e)), verdict

    def bounds(self) -> Sequence[Bound]:
        """Return the guarantees for green, and for green and yellow together: the sum of both rates."""
        c, e = self.committed, self.excess
        total = c.fraction + e.fraction
        return [
            Bound(Colour.GREEN, (c.numerator, c.denominator), self.burst - 1, c.counted),
            Bound(Colour.YELLOW, (total.numerator, total.denominator), self.burst + self.excess_burst - 2, c.counted),
        ]

    def row(self) -> tuple[int, ...]:
        """Return the kernel's row."""
        full_c, full_e = self.state().tokens
        return self.KIND, int(self.aware), 1, *bucket_row(self.committed, full_c), *bucket_row(self.excess, full_e)
