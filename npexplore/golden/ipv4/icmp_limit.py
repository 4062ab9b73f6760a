"""A rate limit on ICMP errors (RFC 1812 section 4.3.2.8): a token bucket, separate from the router's rules.

tokens(t) = min(burst, tokens(before) + rate * (t - before)); an error takes one. Whole numbers, so that it is exact.
"""

from npexplore.errors import positive

SECOND = 1_000_000_000


class TokenBucket:
    """At most `burst` errors at once, `per_second` in the long run.

    Times are nanoseconds; an earlier time than the last one counts as the last, as captures are not always in order.
    """

    def __init__(self, per_second: int, burst: int) -> None:
        positive("errors per second", per_second, zero=True)
        self.per_second = per_second
        self.burst = int(positive("burst of errors", burst))
        self._filled = self.burst * SECOND  # tokens, in units of 1e-9
        self._time: int | None = None

    def allow(self, time_ns: int) -> bool:
        """Take a token at this time (ns); return whether there was one."""
        before = time_ns if self._time is None else self._time
        self._time = max(time_ns, before)
        passed = self._time - before
        self._filled = min(self.burst * SECOND, self._filled + passed * self.per_second)
        if self._filled < SECOND:
            return False
        self._filled -= SECOND
        return True
