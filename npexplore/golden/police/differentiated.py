"""The differentiated two-rate, three-color marker (RFC 4115 section 3): buckets C and E, each filled at its own rate.

green: Tc - B > 0, Tc -= B; else yellow: Te - B > 0, Te -= B; else red. Colour-aware: no better than the packet came.
Nothing flows from one bucket to the other, and a green packet passes one test alone, where RFC 2698 has two.

The counts are whole tokens, so that "> 0" leaves one behind: a bucket is held here without that last token, which no
packet can ever take. So a packet as large as the whole burst does not conform, other than in RFC 2697 and RFC 2698
(">= 0"); for a device that lets it pass give a burst that is larger by 1.
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
        """Return two full buckets, C first, each without the token that stays behind (RFC 4115 section 3)."""
        c, e = self.committed.denominator, self.excess.denominator
        return State(-1, ((self.burst - 1) * c, (self.excess_burst - 1) * e))

    def police(
        self, state: State, time_ns: int, length_bytes: int, colour: Colour = Colour.GREEN, meter: Meter | None = None
    ) -> tuple[State, Colour]:
        """Return the state after a packet and its colour."""
        interval = passed(state, time_ns)
        most_c, most_e = self.state().tokens
        c = min(most_c, state.tokens[0] + interval * self.committed.numerator)
        e = min(most_e, state.tokens[1] + interval * self.excess.numerator)
        came = colour if self.aware else Colour.GREEN
        cost_c, cost_e = self.committed.cost(length_bytes), self.excess.cost(length_bytes)
        if came == Colour.GREEN and cost_c <= c:
            verdict, c = Colour.GREEN, c - cost_c
        elif came <= Colour.YELLOW and cost_e <= e:
            verdict, e = Colour.YELLOW, e - cost_e
        else:
            verdict = Colour.RED
        metered(meter, alu=8, multiply=2, aware=self.aware)
        return State(time_ns, (c, e)), verdict

    def bounds(self) -> Sequence[Bound]:
        """Return the promises on green, and on green and yellow together: what both buckets fill with."""
        c, e = self.committed, self.excess
        both = c.fraction + e.fraction
        return [
            Bound(Colour.GREEN, (c.numerator, c.denominator), self.burst - 1, c.counted),
            Bound(Colour.YELLOW, (both.numerator, both.denominator), self.burst + self.excess_burst - 2, c.counted),
        ]

    def row(self) -> tuple[int, ...]:
        """Return the kernel's row."""
        c, e = self.state().tokens
        return self.KIND, int(self.aware), 1, *bucket_row(self.committed, c), *bucket_row(self.excess, e)
