"""Rates as exact fractions of bytes (or packets) per nanosecond, so that tokens and link times are not rounded.

1 Gb/s = 1/8 byte per ns; 62,500 packets/s = 1/16,000 packet per ns.
"""

from fractions import Fraction
from typing import Literal, NamedTuple

from npexplore.errors import InputError, positive
from npexplore.units import parse_rate

Counted = Literal["bytes", "packets"]
NS = 1_000_000_000
MAX_UNITS = 1 << 60  # largest amount in the smallest unit; the sum of two fits in 63 bits
FASTEST = 1 << 40  # limit of numerator and denominator


class TokenRate(NamedTuple):
    """A rate of `numerator / denominator` bytes or packets per nanosecond, in lowest terms.

    Example:
        >>> from npexplore.golden import TokenRate
        >>> TokenRate.per_second(125_000_000)
        TokenRate(numerator=1, denominator=8, counted='bytes')
    """

    numerator: int
    denominator: int
    counted: Counted = "bytes"

    @classmethod
    def of(cls, text: str) -> "TokenRate":
        """Return a rate from text: `10Mb/s` counts bytes, `62500pps` counts packets; raises InputError."""
        value, unit = parse_rate(text)
        return cls.per_second(value / 8, "bytes") if unit == "bit/s" else cls.per_second(value, "packets")

    @classmethod
    def per_second(cls, value: "float | Fraction", counted: Counted = "bytes") -> "TokenRate":
        """Return a rate from a number per second; a float is read as a decimal of 12 digits. Raises InputError."""
        exact = value if isinstance(value, Fraction) else Fraction(f"{positive('rate', value):.12g}")
        if exact <= 0:
            raise InputError(f"rate must be greater than 0, got {value}")
        exact /= NS
        if max(exact.numerator, exact.denominator) >= FASTEST:
            raise InputError(f"rate must be a fraction of numbers below 2^40 per ns, got {exact} {counted} per ns")
        return cls(exact.numerator, exact.denominator, counted)

    @property
    def fraction(self) -> Fraction:
        """The rate per nanosecond."""
        return Fraction(self.numerator, self.denominator)

    def __str__(self) -> str:
        """Return the rate as `4 Mb/s` or `62500 pps`."""
        per_s = float(self.fraction * NS)
        return f"{per_s:g} pps" if self.counted == "packets" else f"{8e-6 * per_s:g} Mb/s"

    def cost(self, length_bytes: int) -> int:
        """Return the tokens that a packet consumes, in units of 1/denominator."""
        return (length_bytes if self.counted == "bytes" else 1) * self.denominator

    def scaled(self, subject: str, amount: int, *, zero: bool = False) -> int:
        """Return an amount of bytes or packets in units of 1/denominator; raises InputError if it is too large."""
        positive(f"{subject} ({self.counted})", amount, zero=zero)
        if amount * self.denominator > MAX_UNITS:
            raise InputError(
                f"{subject} must be at most {MAX_UNITS // self.denominator} {self.counted} for tokens to be exact "
                f"at this rate, got {amount}"
            )
        return amount * self.denominator
