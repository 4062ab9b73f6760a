"""The switches that RFC 1812 leaves to a router's operator, off by default ([policy] of ROUTER.toml)."""

from typing import Literal

from npexplore.errors import InputError, positive
from npexplore.golden.ipv4.icmp_limit import TokenBucket
from npexplore.toml import Record


class Policy(Record, frozen=True, kw_only=True):
    """Switches of a router.

    directed_broadcasts: forward broadcasts to attached networks (RFC 2644 section 2).
    reverse_path: drop a packet whose source is routed by another port than its incoming one (RFC 1812 section 5.3.8).
    answers: reply as a host to packets for the router itself (RFC 1812 section 4.3.3.6).
    neighbours: "known": MAC addresses are configured; "resolve": by ARP (RFC 826) and RFC 4861 section 7.2.
    icmp_per_second, icmp_burst: a limit on ICMP messages (RFC 1812 section 4.3.2.8); the default burst equals
    icmp_per_second.
    """

    directed_broadcasts: bool = False
    reverse_path: bool = False
    answers: bool = False
    neighbours: Literal["known", "resolve"] = "known"
    icmp_per_second: int | None = None
    icmp_burst: int | None = None

    def limit(self) -> TokenBucket | None:
        """Return a new token bucket for ICMP messages, None without a limit; raises InputError."""
        if self.icmp_per_second is None:
            if self.icmp_burst is not None:
                raise InputError("policy: icmp_burst needs icmp_per_second beside it")
            return None
        positive("policy: icmp_per_second", self.icmp_per_second)
        burst = self.icmp_per_second if self.icmp_burst is None else self.icmp_burst
        positive("policy: icmp_burst", burst)
        return TokenBucket(self.icmp_per_second, burst)


OFF = Policy()
