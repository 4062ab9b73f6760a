"""The two rate three color marker, trTCM (RFC 2698 section 3): bucket P at the peak rate, C at the committed rate.

red: B > Tp; else yellow: B > Tc, Tp -= B; else green, Tp -= B, Tc -= B. Colour-aware: not better than the arriving
colour.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from npexplore.errors import InputError
from npexplore.golden.police.base import Bound, Policer, State, bucket_row, metered, passed, refuse_unlike
from npexplore.golden.police.colour import Colour
from npexplore.golden.token_rate import TokenRate
from npexplore.golden.work import Meter


@dataclass(frozen=True)
class TwoRate(Policer):
    """peak, peak_burst: PIR and PBS. committed, burst: CIR and CBS. aware: colour-aware mode.

    Example:
        >>> from npexplore.golden import TokenRate, TwoRate
        >>> meter = TwoRate(TokenRate.of("16Mb/s"), 1500, TokenRate.of("8Mb/s"), 1000)
        >>> meter.police(meter.state(), 0, 1200)[1]
        <Colour.YELLOW: 1>
    """

    KIND: ClassVar[int] = 3
    peak: TokenRate
    peak_burst: int
    committed: TokenRate
    burst: int
    aware: bool = False

    def __post_init__(self) -> None:
        self.peak.scaled("peak burst size", self.peak_burst)
        self.committed.scaled("committed burst size", self.burst)
        refuse_unlike("peak", self.peak, "committed", self.committed)
        if self.peak.fraction < self.committed.fraction:
            raise InputError(
                "peak rate must be at least the committed rate (RFC 2698 section 2), "
                f"got {self.peak} and {self.committed}"
            )

    def state(self) -> State:
        """Return two full buckets, P first (RFC 2698 section 3)."""
        return State(-1, (self.peak_burst * self.peak.denominator, self.burst * self.committed.denominator))

    def police(
        self, state: State, time_ns: int, length_bytes: int, colour: Colour = Colour.GREEN, meter: Meter | None = None
    ) -> tuple[State, Colour]:
        """Return the state after a packet and its colour."""
        interval = passed(state, time_ns)
        full_p, full_c = self.state().tokens
        tokens_p = min(full_p, state.tokens[0] + interval * self.peak.numerator)
        tokens_c = min(full_c, state.tokens[1] + interval * self.committed.numerator)
        arriving = colour if self.aware else Colour.GREEN
        cost_p, cost_c = self.peak.cost(length_bytes), self.committed.cost(length_bytes)
        if arriving == Colour.RED or cost_p > tokens_p:
            verdict = Colour.RED
        elif arriving == Colour.YELLOW or cost_c > tokens_c:
            verdict, tokens_p = Colour.YELLOW, tokens_p - cost_p
        else:
            verdict, tokens_p, tokens_c = Colour.GREEN, tokens_p - cost_p, tokens_c - cost_c
        metered(meter, alu=9, multiply=2, aware=self.aware)
        return State(time_ns, (tokens_p, tokens_c)), verdict

    def bounds(self) -> Sequence[Bound]:
        """Return the guarantees for green, and for green and yellow together."""
        peak, committed = self.peak, self.committed
        return [
            Bound(Colour.GREEN, (committed.numerator, committed.denominator), self.burst, committed.counted),
            Bound(Colour.YELLOW, (peak.numerator, peak.denominator), self.peak_burst, peak.counted),
        ]

    def row(self) -> tuple[int, ...]:
        """Return the kernel's row."""
        full_p, full_c = self.state().tokens
        return self.KIND, int(self.aware), 1, *bucket_row(self.peak, full_p), *bucket_row(self.committed, full_c)
