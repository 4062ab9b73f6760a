"""Settings of the Linux kernel that affect forwarding ([linux] of ROUTER.toml), with the kernel's names and defaults.

Documentation/networking/ip-sysctl.rst of the kernel. One value holds for all ports. The profile `linux` fixes all other
settings.
"""

from __future__ import annotations

from npexplore.errors import InputError
from npexplore.toml import Record

# bits of fib_multipath_hash_fields: the fields of a flow that choose its next hop
SOURCE, DESTINATION, PROTOCOL, LABEL, SOURCE_PORT, DESTINATION_PORT = (1 << bit for bit in range(6))
FIELDS = 0x3F
CUSTOM = 3


class LinuxSettings(Record, frozen=True, kw_only=True):
    """Settings by the kernel's names, under net.ipv4 unless stated otherwise.

    accept_source_route, rp_filter (0: off, 1: strict, 2: loose), send_redirects: of all ports (conf/*).
    icmp_errors_use_inbound_ifaddr: the source of IPv4 errors is the address of the packet's incoming port.
    icmp_ratelimit: milliseconds between messages to one address (bursts of six are allowed); icmp_ratemask: the types
    that it limits (a bit each); ipv6_icmp_ratelimit: net.ipv6.icmp.ratelimit. 0: no limit; the kernel's default is
    1,000, but without a limit results do not depend on time.
    fib_multipath_hash_policy: the fields that choose among several next hops, in both families: 0 addresses (for IPv6
    also flow label and next header), 1 addresses, protocol and ports, 3 the fields in fib_multipath_hash_fields.
    fib_multipath_hash_seed: of the hash; for 0 the kernel takes a random seed.
    """

    accept_source_route: bool = False
    rp_filter: int = 0
    send_redirects: bool = True
    icmp_errors_use_inbound_ifaddr: bool = False
    icmp_ratelimit: int = 0
    icmp_ratemask: int = 0x1818
    ipv6_icmp_ratelimit: int = 0
    fib_multipath_hash_policy: int = 0
    fib_multipath_hash_fields: int = SOURCE | DESTINATION | PROTOCOL
    fib_multipath_hash_seed: int = 0

    def check(self) -> None:
        """Raise InputError for a value that the kernel would not accept, or that contradicts another setting."""
        if self.rp_filter not in (0, 1, 2):
            raise InputError(f"linux: rp_filter must be 0 (off), 1 (strict) or 2 (loose), got {self.rp_filter}")
        for name, limit in (("icmp_ratelimit", 1 << 31), ("ipv6_icmp_ratelimit", 1 << 31), ("icmp_ratemask", 1 << 32)):
            if not 0 <= getattr(self, name) < limit:
                raise InputError(f"linux: {name} must be 0 to {limit - 1}, got {getattr(self, name)}")
        if self.icmp_ratemask != DEFAULTS.icmp_ratemask and not self.icmp_ratelimit:
            raise InputError("linux: icmp_ratemask counts beside icmp_ratelimit alone, which is 0")
        policy, fields, seed = (
            self.fib_multipath_hash_policy, self.fib_multipath_hash_fields, self.fib_multipath_hash_seed
        )  # fmt: skip
        if policy not in (0, 1, CUSTOM):
            raise InputError(
                f"linux: fib_multipath_hash_policy must be 0 (addresses), 1 (ports, too) or 3 (fields), got {policy}"
            )
        if not 0 < fields <= FIELDS:
            raise InputError(
                f"linux: fib_multipath_hash_fields must be 1 to {FIELDS:#x}, fields outside of tunnels, got {fields:#x}"
            )
        if fields != DEFAULTS.fib_multipath_hash_fields and policy != CUSTOM:
            raise InputError(
                f"linux: fib_multipath_hash_fields counts with fib_multipath_hash_policy = 3 alone, got {policy}"
            )
        if not 0 <= seed < 1 << 32:
            raise InputError(f"linux: fib_multipath_hash_seed must be 0 to {(1 << 32) - 1}, got {seed}")

    def hash_fields(self, bits: int) -> int:
        """Return the fields that the policy hashes; bits: 32 for IPv4, 128 for IPv6."""
        if self.fib_multipath_hash_policy == CUSTOM:
            return self.fib_multipath_hash_fields
        if self.fib_multipath_hash_policy == 0:
            return SOURCE | DESTINATION | (0 if bits == 32 else PROTOCOL | LABEL)
        return FIELDS & ~LABEL


DEFAULTS = LinuxSettings()
