"""The device of pcie-bench and its host: formulas of the link, what a host's numbers change, refusals."""

import pytest

import npexplore as npx
from npexplore.designs.pcie.design import misses, walks
from npexplore.errors import InputError, ModelError
from npexplore.machine.mixes import load_mix

BYTE_NS = 8 / (8 * 8 * 128 / 130) / (1 - 2 * 8 / 203 - 4 / 1538)


def size(n):
    return load_mix(f"{n} bytes").workload()


@pytest.mark.parametrize(("host", "payload", "every"), [("hsw2637", 256, 203), ("hsw1226", 128, 163)])
def test_large_writes_fill_the_link_up_to_a_moment_between_two(host, payload, every):
    """2048 bytes in packets of 24 more, on what acknowledgements (at this payload) leave."""
    found = npx.design("pcie").with_(host=host, op="write").bounds(size(2048))
    byte = 8 / (8 * 8 * 128 / 130) / (1 - 2 * 8 / every - 4 / 1538)
    assert found.bottleneck == "link.up"
    assert 1e9 / found.rate_pps == pytest.approx(2048 / payload * (payload + 24) * byte + 1.9)


def test_a_byte_more_than_a_payload_costs_a_packet():
    """Four lines of 7.9 ns, its header and the last packet's two at least; with reads the link is as full."""
    found = {op: npx.design("pcie").with_(op=op).bounds(size(257)) for op in ("write", "both")}
    assert (found["write"].bottleneck, 1e9 / found["write"].rate_pps) == (
        "writer",
        pytest.approx((4 + 1 + 2) * 7.9, rel=3e-3),
    )
    up = 257 + 2 * 24 + 24 + 5 * 8  # data and headers, the read's request, what five completions bring upwards
    assert found["both"].utilization["link.up"].busy == pytest.approx(
        found["both"].rate_pps / 2 * (up * BYTE_NS + 1.9) * 1e-9
    )


@pytest.mark.parametrize(("n", "pieces"), [(64, 1), (257, 5), (1024, 16), (1025, 5), (2048, 8)])
def test_completions_are_joined_in_long_reads_beside_writes(n, pieces):
    found = npx.design("pcie").with_(op="both").bounds(size(n))
    assert found.utilization["link.down"].busy == pytest.approx(found.rate_pps / 2 * (n + 20 * pieces) * BYTE_NS * 1e-9)


def test_a_far_socket_slows_small_reads_and_no_large_ones():
    near, far = (npx.design("pcie").with_(host="bdw2630", memory_socket=s, control_socket=s) for s in (0, 1))
    assert far.bounds(size(64)).bottleneck == "reads"
    assert near.bounds(size(64)).rate_pps / far.bounds(size(64)).rate_pps == pytest.approx(1.38, abs=0.01)
    assert near.bounds(size(2048)).rate_pps == far.bounds(size(2048)).rate_pps


def test_what_fits_hits():
    p = npx.design("pcie").parameters
    fits, doubled = p.with_(window_bytes=15 * 2**20), p.with_(window_bytes=30 * 2**20)
    assert (misses(fits), misses(doubled), misses(p.with_(cache="cold"))) == (0.0, 0.5, 1.0)
    pages = p.with_(window_bytes=4 * 118 * 4096)
    assert [walks(pages.with_(iommu=kind)) for kind in ("off", "large", "small")] == [0.0, 0.0, 0.75]


@pytest.mark.parametrize("op", ["read", "write", "both", "write_then_read"])
@pytest.mark.parametrize("n", [64, 257, 1024])
def test_no_solver_is_above_the_roofline_and_queueing_is_near_the_simulation(op, n):
    design = npx.design("pcie").with_(op=op, host="bdw2630", iommu="small", window_bytes=2**20)
    limit, queued, seen = (solve(size(n)).rate_pps for solve in (design.bounds, design.queueing, design.simulate))
    assert queued <= limit * (1 + 1e-9)
    assert seen <= limit * 1.015  # the share of walks is drawn
    assert queued == pytest.approx(seen, rel=0.08)


def test_both_directions_are_one_transfer_after_the_other():
    load = npx.design("pcie").with_(op="both").workload(size(64))
    assert load.columns["reads"].mean() == 0.5
    assert load.ordered


def test_sockets_that_nobody_measured_are_refused():
    with pytest.raises(ModelError, match=r"host hsw2637 was not measured with memory_socket=1 and control_socket=0"):
        npx.design("pcie").with_(host="hsw2637", memory_socket=1).machine()


@pytest.mark.parametrize(("knobs", "length", "rule"), [
    ({"window_bytes": 1024}, 2048, "window_bytes must hold a transfer of 2048, got 1024"),
    ({"line_bytes": 512}, 64, "knob line_bytes must be one of 64, 128 bytes, got 512"),
    ({"payload_hsw2620": 300}, 64, "payload_hsw2620 must be one of 128, 256, 512, 1024, 2048, 4096 bytes, got 300"),
    ({"lanes": 3}, 64, "knob lanes must be one of 1, 2, 4, 8, 12, 16, 32, got 3"),
    ({"lanes": 12, "generation": 6}, 64, "is 5, got 6: links of 12 and of 32 lanes went with the sixth generation"),
    ({"queue_ns": 600.0}, 64, "read_ns_local must be at least 626.73 ns, what the device (queue_ns, arrive_ns, "),
    ({"walkers": 0}, 64, "knob walkers must be at least 1, got 0"),
    ({"reads_in_flight": 0}, 64, "knob reads_in_flight must be at least 1, got 0"),
])  # fmt: skip
def test_links_and_hosts_that_cannot_be_are_refused(knobs, length, rule):
    with pytest.raises(InputError) as caught:
        npx.design("pcie").with_(**knobs).bounds(size(length))
    assert rule in str(caught.value)
