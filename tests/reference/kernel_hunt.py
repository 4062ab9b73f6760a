"""Any router and any frames against the Linux kernel, for as long as wanted; what differs is shrunk and told.

`python tests/reference/kernel_hunt.py MINUTES [SEED]` (needs the right to make namespaces). The test of the same name
in tests/oracle does it for a few examples.
"""

import sys
import time
from itertools import chain
from pathlib import Path

import msgspec
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

sys.path.insert(0, str(Path(__file__).parents[1]))


from reference.kernel_routers import any_frames, cut_requests, kernel_configurations

from npexplore.errors import InputError
from npexplore.golden.compare.difference import first_difference
from npexplore.golden.compare.masked import without_time
from npexplore.golden.router.configuration import resolve_router
from npexplore.golden.router.forward import Forwarder
from npexplore.golden.router.neighbours import WAITING
from npexplore.testing.kernel_limits import Told
from npexplore.testing.linux_kernel import LinuxKernel

FRAMES = 60


@st.composite
def cases(draw):
    """A configuration, and frames for it."""
    record = draw(kernel_configurations())
    router = resolve_router(record)
    frames = draw(st.lists(any_frames(router), min_size=25, max_size=FRAMES))
    return record, [*frames, *chain(*draw(st.lists(cut_requests(router), max_size=3)))]


def differs(outcome, frame, got):
    """Return where the kernel's frames differ from an outcome, octet for octet but for what is free; None: nowhere."""
    difference = first_difference(outcome.sent, got, [(outcome.reason, frame)] if outcome.reason else [])
    masked = [(sent.port, without_time(sent.frame, sent.icmp)) for sent in outcome.sent]
    made = [sent.icmp for sent in outcome.sent] + [None] * len(got)
    theirs = [(n, without_time(data, icmp)) for (n, data), icmp in zip(got, made, strict=False)]
    return difference or (None if masked == theirs else "octets differ")


def held(forwarder, frame):
    """Return what waits for neighbours because of a frame."""
    sides = [side for side in (forwarder.ipv4, forwarder.ipv6) if side is not None and side.resolver is not None]
    entries = [entry for side in sides for entry in side.resolver.entries.values()]
    return tuple(one.sent for entry in entries for one in entry.waiting if one.walk.frame is frame)


def full(forwarder):
    """Say whether as many packets wait for a neighbour as there is room for."""
    sides = [side for side in (forwarder.ipv4, forwarder.ipv6) if side is not None and side.resolver is not None]
    return any(len(entry.waiting) >= WAITING for side in sides for entry in side.resolver.entries.values())


def compare(record, frames):
    """Ask both; raise AssertionError with what differs. Returns how many frames were compared."""
    router = resolve_router(record)
    mine, told, compared = Forwarder(router, lookup="binary_trie"), Told(router), 0
    asked = []
    for port, frame in frames:
        outcome = mine.forward(port, frame)
        if full(mine):
            break  # the kernel has room for other numbers: it counts the bytes of its buffers
        if told.may_ask(port, frame, outcome._replace(sent=outcome.sent + held(mine, frame))):
            asked.append((port, frame, outcome))
        elif router.policy.neighbours == "resolve":
            break  # the kernel was not asked, and so knows less of its neighbours from here on
    with LinuxKernel(router, clock=False) as kernel:
        kernel.introduce([row[:2] for row in asked])
        for number, (port, frame, outcome) in enumerate(asked):
            got = kernel.forward(port, frame)
            compared += 1
            difference = differs(outcome, frame, got)
            if difference is not None:
                text = brief(record)
                ours = [(sent.port, sent.frame.hex()) for sent in outcome.sent]
                raise AssertionError(
                    f"{difference}\n{text}\nport {port} frame {frame.hex()}\nours   {outcome.reason!r} {ours}\n"
                    f"kernel {[(n, data.hex()) for n, data in got]}\n"
                    f"before {[(row[0], row[1].hex()) for row in asked[:number]]}"
                )
    return compared


def brief(record):
    """Return a record as text, without what is as usual."""
    fields = {field.name: field for field in msgspec.structs.fields(record)}
    told = {name: getattr(record, name) for name in fields}
    made = {name: f.default_factory for name, f in fields.items() if f.default_factory is not msgspec.NODEFAULT}
    usual = {name: made[name]() if name in made else field.default for name, field in fields.items()}
    parts = []
    for name, value in told.items():
        if value == usual[name] or name in ("mac", "peer_mac"):
            continue
        rows = value if isinstance(value, list) else [value]
        texts = [brief(row) if isinstance(row, msgspec.Struct) else repr(row) for row in rows]
        parts.append(f"{name}={' '.join(texts)}" if len(texts) < 2 else f"{name}=[{' '.join(texts)}]")
    return "(" + ", ".join(parts) + ")"


def hunt(minutes, number):
    """Compare until the time is over; return configurations, frames, and the configurations the kernel refused."""
    end, done = time.monotonic() + 60 * minutes, [0, 0, 0]
    while time.monotonic() < end:

        @seed(number)
        @settings(
            max_examples=100, database=None, deadline=None, suppress_health_check=list(HealthCheck),
            phases=(Phase.generate, Phase.shrink),
        )  # fmt: skip
        @given(case=cases())
        def look(case):
            try:
                done[1] += compare(*case)
            except InputError as error:  # no answer to compare: told, and looked at by whoever reads it
                print("refused:", error, brief(case[0]), flush=True)
                done[2] += 1
                return
            except AssertionError as error:
                print("once:", str(error)[:9000], flush=True)
                compare(*case)
                print("not again", flush=True)
            done[0] += 1

        look()
        number += 1
        print(f"seed {number}: {done[0]} configurations, {done[1]} frames, {done[2]} refused", flush=True)
    return done


if __name__ == "__main__":
    try:
        hunt(float(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 1)
    except InputError as error:
        print("refused:", error)
        raise
