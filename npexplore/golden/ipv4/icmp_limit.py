"""A rate limit on ICMP errors (RFC 1812 section 4.3.2.8): a token bucket, separate from the router's rules.

tokens(t) = min(burst, tokens(before) + rate * (t - before)); an error takes one token. Integer arithmetic, so exact.
"""

from npexplore.errors import positive

SECOND = 1_000_000_000


class TokenBucket:
    """A token bucket: at most `burst` errors at once, `per_second` in the long run.

    Times are in ns. A time before the last one counts as the last one, because captures are not always in order.
    """

    def __init__(self, per_second: int, burst: int) -> None:
        positive("errors per second", per_second, zero=True)
        self.per_second = per_second
        self.burst = int(positive("burst of errors", burst))
        self._filled = self.burst * SECOND  # tokens, in units of 1e-9
        self._time: int | None = None

    def allow(self, time_ns: int) -> bool:
        """Take a token at a time (ns); return whether there was one."""
        last_ns = time_ns if self._time is None else self._time
        self._time = max(time_ns, last_ns)
        elapsed_ns = self._time - last_ns
        self._filled = min(self.burst * SECOND, self._filled + elapsed_ns * self.per_second)
        if self._filled < SECOND:
            return False
        self._filled -= SECOND
        return True
