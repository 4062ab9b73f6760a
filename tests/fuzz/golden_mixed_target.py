"""Fuzz the golden router of IPv4, IPv6 and labels: any bytes have a sound outcome, the same one by one and in columns.

    python golden_mixed_target.py SECONDS FOLDER    the folder holds the corpus, and is given new finds

An input is a byte that chooses the port and whether an IPv4 header's checksum is put right, and a frame. See driver.py.
"""

from dataclasses import replace

import driver

with driver.instrumented("npexplore.golden"):
    from npexplore.golden.ipv4.header import with_checksum
    from npexplore.golden.router.batch import BatchForwarder, Frames
    from npexplore.golden.router.configuration import resolve_router
    from npexplore.golden.router.forward import Forwarder
    from npexplore.golden.router.profiles import PROFILES
from reference.forward_laws6 import assert_sound_mixed
from reference.router_cases6 import MIXED

LARGEST = 2000
RIGHT_SUM = 0x80
ROUTER = resolve_router(MIXED)
OPEN = replace(ROUTER, ports=tuple(replace(port, listed_only=False) for port in ROUTER.ports))
ROUTERS = [(ROUTER if profile.switches else OPEN, name) for name, profile in PROFILES.items()]
GOLDEN = [
    (router, Forwarder(router, profile=name, lookup="linear"), BatchForwarder(router, profile=name, lookup="linear"))
    for router, name in ROUTERS
]


def check(data):
    """Raise if an outcome is not sound, or the batch has another one."""
    if not data:
        return
    port, frame = (data[0] & ~RIGHT_SUM) % len(ROUTER.ports), bytes(data[1:])
    if (
        data[0] & RIGHT_SUM
        and frame[12:14] == b"\x08\0"
        and 20 <= 4 * (frame[14:15] or b"\0")[0] % 64 <= len(frame) - 14
    ):
        frame = frame[:14] + with_checksum(frame[14:])
    for (router, golden, batch), name in zip(GOLDEN, PROFILES, strict=True):
        outcome = golden.forward(port, frame)
        assert_sound_mixed(router, port, frame, outcome, jumbo=name == "linux")
        made = batch.forward(Frames.of([(port, frame, 0)]))
        assert int(made.reason[0]) == outcome.reason
        found = list(zip(made.port.tolist(), made.frames, made.icmp.tolist(), strict=True))
        assert found == [tuple(one) for one in outcome.sent]


if __name__ == "__main__":
    driver.main(check, LARGEST)
