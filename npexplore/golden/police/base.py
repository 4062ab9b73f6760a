"""The interface of policers: a fixed configuration, and a pure function from state and packet to state and colour.

tokens(t) = min(burst, tokens(before) + rate * (t - before)), in units of 1/denominator of the rate: without rounding.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import ClassVar, NamedTuple

from npexplore.errors import InputError
from npexplore.golden.police.colour import Colour
from npexplore.golden.token_rate import TokenRate
from npexplore.golden.work import Meter

NEVER = -1


class State(NamedTuple):
    """Arrival time of the previous packet (ns, NEVER at first), and the tokens in each bucket (units: TokenRate)."""

    last_arrival_time: int
    tokens: tuple[int, int]


class Bound(NamedTuple):
    """A guarantee: packets of colour `worst` or better amount to at most `rate * t + burst` in any time t.

    rates: numerator and denominator of the rate. burst: bytes or packets, as the rate counts. extra_ns: added to t, for
    timers with long ticks.
    """

    worst: Colour
    rates: tuple[int, int]
    burst: int
    counted: str
    extra_ns: int = 0


class Policer(ABC):
    """A policer's configuration. `state()` returns the state before the first packet: full buckets."""

    KIND: ClassVar[int]  # the policer's number in the kernel

    @abstractmethod
    def state(self) -> State:
        """Return full buckets."""

    @abstractmethod
    def police(
        self, state: State, time_ns: int, length_bytes: int, colour: Colour = Colour.GREEN, meter: Meter | None = None
    ) -> tuple[State, Colour]:
        """Return the state after a packet and its new colour. colour: the colour that it arrives with.

        meter: counts the words and instructions of this call. Raises InputError if time goes back.
        """

    @abstractmethod
    def bounds(self) -> Sequence[Bound]:
        """Return the rates and bursts that the policer guarantees."""

    @abstractmethod
    def row(self) -> tuple[int, ...]:
        """Return the configuration as a row of the kernel's table.

        kind, aware, tick, then for each bucket: counts packets, numerator, denominator, burst in 1/denominator.
        """


def metered(meter: Meter | None, *, multiply: int, alu: int, aware: bool) -> None:
    """Count the work of a three-color marker: three words read and written, tests, and two more if colour-aware."""
    if meter is not None:
        meter.read("policer", 3)
        meter.do(alu=alu, multiply=multiply, branch=4 + 2 * aware)
        meter.write("policer", 3)


def refuse_unlike(first: str, first_rate: TokenRate, second: str, second_rate: TokenRate) -> None:
    """Raise InputError if one of two rates counts bytes and the other packets."""
    if first_rate.counted != second_rate.counted:
        raise InputError(
            f"{first} and {second} rate must count the same, got {first_rate.counted} and {second_rate.counted}"
        )


def bucket_row(rate: TokenRate, full: int) -> tuple[int, ...]:
    """Return a bucket's part of the kernel's table row."""
    return int(rate.counted == "packets"), rate.numerator, rate.denominator, full


def passed(state: State, time_ns: int) -> int:
    """Return the time since the previous packet; raises InputError if it is negative."""
    if time_ns < 0:
        raise InputError(f"time must be at least 0 ns, got {time_ns}")
    if state.last_arrival_time == NEVER:
        return 0
    if time_ns < state.last_arrival_time:
        raise InputError(f"time must not go back: {time_ns} ns after {state.last_arrival_time} ns")
    return time_ns - state.last_arrival_time
