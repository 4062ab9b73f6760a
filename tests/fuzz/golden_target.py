"""Fuzz the golden router's whole way: any bytes have a sound outcome in both profiles (reference/forward_laws.py).

    python golden_target.py SECONDS FOLDER    the folder holds the corpus, and is given new finds

An input is a byte that chooses the port and whether the header's checksum is put right, and a frame. See driver.py.
"""

import driver

with driver.instrumented("npexplore.golden"):
    from npexplore.golden.ipv4.header import with_checksum
    from npexplore.golden.router.configuration import resolve_router
    from npexplore.golden.router.forward import Forwarder
    from npexplore.golden.router.profiles import PROFILES
from reference.forward_laws import assert_sound
from reference.router_cases import NAMED

LARGEST = 2000
ROUTER = resolve_router(NAMED)
GOLDEN = [Forwarder(ROUTER, profile=profile, lookup="linear") for profile in PROFILES]
RIGHT_SUM = 0x80


def check(data):
    """Raise if an outcome is not sound; most mutations get a right checksum, else all ends there."""
    if not data:
        return
    port, frame = (data[0] & ~RIGHT_SUM) % len(ROUTER.ports), bytes(data[1:])
    if data[0] & RIGHT_SUM and len(frame) > 34 and 20 <= 4 * (frame[14] & 15) <= len(frame) - 14:
        frame = frame[:14] + with_checksum(frame[14:])
    for golden in GOLDEN:
        assert_sound(ROUTER, port, frame, golden.forward(port, frame))


if __name__ == "__main__":
    driver.main(check, LARGEST)
