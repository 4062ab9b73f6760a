"""How often the profile `linux` tells one address something: six at once, then one each `icmp_ratelimit`."""

import msgspec
import pytest
from reference.setting_cases import BASE, ECHO, framed, message6, v4, v6

from npexplore.errors import InputError
from npexplore.golden.ipv4.header import DF
from npexplore.golden.linux.settings import LinuxSettings
from npexplore.golden.router.configuration import resolve_router
from npexplore.golden.router.forward import Forwarder
from npexplore.golden.router.policy import Policy
from npexplore.testing.linux_kernel import LinuxKernel, why_not

MS = 1_000_000
SETTINGS = msgspec.structs.replace(BASE.linux, icmp_ratelimit=1000, ipv6_icmp_ratelimit=1000)
ROUTER = resolve_router(msgspec.structs.replace(BASE, linux=SETTINGS, policy=Policy(answers=True)))
# packets, and how many of ten at once are answered: errors about missing routes cost twice, 1,000 of 5,000 each time
LIMITED = {
    "time exceeded": (v4("10.0.0.9", "20.0.0.1", ttl=1), 6),
    "no route": (v4("10.0.0.11", "99.0.0.1"), 2),
    "too large": (v4("10.0.0.12", "22.0.0.1", bytes(2000), flags=DF), 10),
    "echo": (v4("10.0.0.13", "10.0.0.1", ECHO, protocol=1), 10),
    "option": (v4("10.0.0.14", "20.0.0.1", options=b"\7\2"), 6),
    "IPv6: time exceeded": (v6("2001:db8::9", "2001:db8:a::1", hop_limit=1), 6),
    "IPv6: no route": (v6("2001:db8::a", "2001:db8:d::1"), 6),
    "IPv6: too large": (v6("2001:db8::b", "2001:db8:c::1", bytes(1400)), 10),
    "IPv6: echo": (message6("2001:db8::c", "2001:db8::1", b"\x80" + bytes(9)), 10),
}


@pytest.mark.parametrize("name", LIMITED)
def test_so_many_are_told_at_once(name):
    packet, told = LIMITED[name]
    golden = Forwarder(ROUTER, lookup="binary_trie")
    assert sum(len(golden.forward(0, framed(packet), 5).sent) for _ in range(10)) == told


def test_one_more_is_told_each_time():
    golden, packet = Forwarder(ROUTER, lookup="binary_trie"), framed(LIMITED["time exceeded"][0])
    times = [0] * 7 + [999 * MS, 1000 * MS, 1001 * MS, 2000 * MS, 9000 * MS]
    assert [len(golden.forward(0, packet, time).sent) for time in times] == [1] * 6 + [0, 0, 1, 0, 1, 1]
    other = framed(v4("10.0.0.99", "20.0.0.1", ttl=1))
    assert len(golden.forward(0, other, 0).sent) == 1  # each address has tokens of its own


@pytest.mark.slow
def test_the_kernel_tells_as_many():
    if reason := why_not():
        pytest.skip(f"the Linux kernel cannot be asked: {reason}")
    with LinuxKernel(ROUTER) as kernel:
        kernel.introduce([(0, framed(packet)) for packet, _ in LIMITED.values()])
        for name, (packet, told) in LIMITED.items():
            assert sum(len(kernel.forward(0, framed(packet))) for _ in range(10)) == told, name


@pytest.mark.parametrize(
    ("settings", "what"),
    [
        ({"icmp_ratelimit": -1}, "icmp_ratelimit must be 0 to"),
        ({"icmp_ratemask": 1}, "icmp_ratemask counts beside icmp_ratelimit alone"),
        ({"fib_multipath_hash_policy": 2}, "fib_multipath_hash_policy must be 0"),
        ({"fib_multipath_hash_policy": 3, "fib_multipath_hash_fields": 0x40}, "must be 1 to 0x3f"),
        ({"fib_multipath_hash_fields": 1}, "counts with fib_multipath_hash_policy = 3 alone, got 0"),
        ({"fib_multipath_hash_seed": 1 << 32}, "fib_multipath_hash_seed must be 0 to"),
        ({"rp_filter": 3}, "rp_filter must be 0"),
    ],
)
def test_settings_that_cannot_be_are_refused(settings, what):
    with pytest.raises(InputError, match=f"linux: .*{what}"):
        resolve_router(msgspec.structs.replace(BASE, linux=LinuxSettings(**settings)))
