"""RAW's closed request loops: mean value analysis at two levels against simulation, and the loop alone by hand."""

import pytest

from npexplore.designs import design
from npexplore.designs.raw.chip import Chip
from npexplore.designs.raw.design import version_of
from npexplore.designs.raw.loops import line_rates
from npexplore.designs.raw.memory import lines_to_read, reading
from npexplore.errors import RefusedError
from npexplore.machine.workload import workload
from npexplore.solve.simulate import simulate

RAW = design("raw")


def chip(**knobs):
    parameters = RAW.with_(**knobs).parameters
    return Chip(parameters, *version_of(parameters))


@pytest.mark.slow
@pytest.mark.parametrize("size", [800, 1500])
@pytest.mark.parametrize("version", ["v1", "v2", "v3", "v3d", "v5"])
def test_loops_and_simulation_agree(version, size):
    made, load = RAW.with_(version=version), workload(packet_bytes=size)
    queued, seen = made.queueing(load), made.simulate(load, packets=960)
    assert queued.throughput_bps == pytest.approx(seen.throughput_bps, rel=0.06)


def test_one_buffer_is_full_with_one_windows_requests_from_version_iii_on():
    """4 requests of 21.75 cycles keep a DRAM busy over a round trip of 65 cycles, 2 do not."""
    full = 425e6 / RAW.parameters.line_cycles
    assert line_rates(chip(version="v3"), 2) == pytest.approx([full, full], rel=1e-3)
    alone, both = line_rates(chip(version="v2"), 2)
    assert alone == pytest.approx(2 * 425e6 / 65, rel=0.02)
    assert both == pytest.approx(full, rel=1e-3)


@pytest.mark.parametrize(("version", "low", "high"), [("v1", 0.93, 1.01), ("v2", 0.93, 1.01), ("v3", 0.97, 1.01)])
def test_lines_alone_are_read_at_the_rate_of_their_loop(version, low, high):
    """All cards read the same buffer: their requests together keep it busy, in the model and when simulated."""
    made = chip(version=version)
    seen = simulate(reading(made), lines_to_read(made, buffers=[0]), packets=4000)
    assert low <= seen.rate_pps / line_rates(made, len(made.ports))[-1] <= high


@pytest.mark.parametrize(("version", "size"), [("v3", 64), ("v4", 1500), ("null", 1500)])
def test_without_packets_in_memory_there_is_no_loop(version, size):
    with pytest.raises(RefusedError, match="no request loop"):
        RAW.with_(version=version).queueing(workload(packet_bytes=size))


def test_open_arrivals_are_refused():
    with pytest.raises(RefusedError, match="periodic arrivals at closed request loops"):
        RAW.with_(offered_gbps=4.0).queueing(workload(packet_bytes=1500))
