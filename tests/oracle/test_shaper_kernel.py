"""The kernel's token bucket filter against `Shaper`: when each of 100,000 packets left; docs/diffserv_checks.md."""

import time

import numpy as np
import pytest
from reference.kernel_diffserv import IN_FRAME, ON, Pipe
from reference.repeated import in_some_run

from npexplore.golden.ethernet import ETHERNET
from npexplore.golden.ipv4.header import write_packet
from npexplore.golden.schedule.shaped import Shaper
from npexplore.golden.token_rate import TokenRate

COUNT, BATCH = 100_000, 500
BYTES_PER_S, BURST = 2_000_000, 10_000
RATE = TokenRate.per_second(BYTES_PER_S)
LARGEST = 1500
TBF = f"qdisc add dev r1 root tbf rate {BYTES_PER_S}bps burst {BURST} limit 100000000"
SLACK_NS = 2000  # a burst is kept in steps of 64 ns, what a packet costs in steps of 1


@pytest.fixture
def kernel():
    """Pipes are of the kernel: tests that want them are left out where namespaces may not be made."""


def starts(sizes, burst, need=None):
    """Return when a shaper lets packets go that all wait from time 0 on; need: what each must find (None: itself)."""
    shaper = Shaper(RATE, burst, max(need or sizes))
    now, found = 0, []
    for number, size in enumerate(sizes):
        shaper.need = RATE.cost(need[number] if need else size)
        now = shaper.ready(now)
        shaper.take(size)
        found.append(now)
    return np.array(found)


def batches(sizes):
    """Yield (sizes, ns from before the first packet's sending to each one's leaving, at the latest) a batch."""
    with Pipe([ON], [TBF]) as pipe:
        pipe.stamp()
        for begin in range(0, len(sizes), BATCH):
            some = sizes[begin : begin + BATCH]
            frames = [IN_FRAME + write_packet(k + 1, 2, bytes(size - 20)) for k, size in enumerate(some)]
            time.sleep(2 * BURST / BYTES_PER_S)  # a full bucket
            before, apart = time.time_ns(), time.time_ns() - time.monotonic_ns()
            for frame in frames:
                pipe.source.send(frame)
            left = pipe.left_when(len(frames))
            clock_set = abs(time.time_ns() - time.monotonic_ns() - apart)
            assert [frame[26:30] for _, frame in left] == [frame[26:30] for frame in frames]
            yield [size + ETHERNET for size in some], np.array([when for when, _ in left]) - before + clock_set


def bounds(sizes, laws):
    """Return for each law by how many ns a packet left before it allows, at most, over all batches."""
    early = dict.fromkeys(laws, -(10**18))
    for some, left in batches(sizes):
        for name, law in laws.items():
            early[name] = max(early[name], int((law(some) - left).max()))
    return early


def test_packets_of_one_length_leave_when_the_shaper_says(kernel):
    """None before; and one at least before a burst that is 500 bytes smaller would let it go."""
    size = 100
    one = size + ETHERNET
    laws = {less: lambda some, less=less: starts(some, BURST - less, [one] * len(some)) for less in (0, 500)}

    def run():
        early = bounds([size] * COUNT, laws)
        assert early[0] <= SLACK_NS
        assert early[500] > SLACK_NS

    in_some_run(run)


def test_a_packet_waits_for_its_own_length_alone(kernel):
    """Unlike `Shaper`, which waits until the largest would find its tokens: by so much a short one leaves before."""
    random = np.random.default_rng(6)
    sizes = np.where(random.integers(0, 20, COUNT // 5) == 0, LARGEST, random.integers(28, 100, COUNT // 5)).tolist()
    largest = LARGEST + ETHERNET
    laws = {
        "own": lambda some: starts(some, BURST),
        "smaller": lambda some: starts(some, BURST - 500),
        "largest": lambda some: starts(some, BURST, [largest] * len(some)),
    }

    def run():
        early = bounds(sizes, laws)
        assert early["own"] <= SLACK_NS
        assert early["smaller"] > SLACK_NS
        assert early["largest"] > 300_000  # of the 700 us in which 1400 bytes come

    in_some_run(run)
