"""The queueing model never promises more than the roofline, whatever is held while a bank or a bus is."""

from hypothesis import given, settings
from hypothesis import strategies as st

import npexplore as npx
from npexplore.errors import RefusedError

KNOBS = st.fixed_dictionaries(
    {
        "banks": st.sampled_from([1, 2, 3, 4, 8, 16]),
        "bus_bits": st.sampled_from([32, 64, 128]),
        "threads": st.integers(1, 32),
        "scheme": st.sampled_from(["base", "hb", "fcb", "fcb_tb"]),
    }
)


@settings(max_examples=60)
@given(KNOBS, st.integers(40, 1500))
def test_queueing_is_not_above_the_roofline(knobs, length):
    design, load = npx.design("ixp2400").with_(**knobs), npx.workload(packet_bytes=length)
    try:
        answer = design.queueing(load)
    except RefusedError:  # a thread that alone comes again to a bank that it left busy
        assert knobs["threads"] == 1
        return
    assert answer.throughput_bps <= design.bounds(load).throughput_bps * (1 + 1e-9)
    assert all(share.busy <= 1 + 1e-9 for share in answer.utilization.values())


def test_one_bank_is_as_slow_as_its_whole_time():
    design, load = npx.design("ixp2400").with_(banks=1), npx.workload(packet_bytes=64)
    bound, answer = design.bounds(load), design.queueing(load)
    assert bound.bottleneck == answer.bottleneck == "dram.bank"
    assert 0.99 * bound.throughput_bps < answer.throughput_bps <= bound.throughput_bps * (1 + 1e-12)
