"""Parts of the shelf against the arithmetic of data sheets: peaks of a QDR SRAM and a hash unit, waits, rates."""

import numpy as np
import pytest
from reference.small_machines import machine, packets

from npexplore.machine.described.parts import part
from npexplore.plot import data_sheets as drawn
from npexplore.solve.bounds import bounds
from npexplore.solve.simulate import simulate
from npexplore.study.papers.data_sheets import hash_rates, qdr_peaks


@pytest.fixture(scope="module")
def qdr():
    return qdr_peaks()


@pytest.fixture(scope="module")
def hashes():
    return hash_rates()


def test_a_qdr_sram_moves_what_its_sheet_promises(qdr):
    """Two ports of two 4-byte words at 250 MHz: 32 Gb/s, less what a burst moves in vain."""
    assert qdr.sheet_gbps.max() == pytest.approx(32)
    assert np.allclose(qdr.bounds_gbps, qdr.sheet_gbps, rtol=1e-9)
    assert np.allclose(qdr.simulated_gbps, qdr.sheet_gbps, rtol=2e-3)
    one = qdr[qdr.words == 1].set_index("setting").sheet_gbps
    assert one["bursts of 2"] == 2 * one["bursts of 4"] == pytest.approx(16)


def test_a_hash_unit_answers_what_comes_up_to_its_peak(hashes):
    assert np.allclose(hashes.bounds_mpps, hashes.sheet_mpps, rtol=1e-9)
    assert np.allclose(hashes.simulated_mpps, hashes.sheet_mpps, rtol=0.02)  # as many as the chance of arrivals sent
    full = hashes[hashes.load > 1]
    assert np.allclose(full.simulated_mpps, full.setting.map({"8-byte keys": 200.0, "16-byte keys": 100.0}), rtol=1e-3)


def test_keys_wait_as_pollaczek_says(hashes):
    below = hashes[hashes.load < 1]
    unloaded = below.setting.map({"8-byte keys": 105.0, "16-byte keys": 110.0})
    wait = below.sheet_ns - unloaded
    assert np.all(wait > 0.5)
    assert np.allclose(below.simulated_ns - unloaded, wait, rtol=0.12)


def test_the_figure_has_a_line_of_the_sheet_and_marks_of_the_model(qdr):
    figure = drawn.data_sheet_rates(qdr, "words", "gbps", title="QDR", x_title="words", y_title="Gb/s")
    assert [trace.name for trace in figure.data] == [
        f"bursts of {burst}: {what}" for burst in (2, 4) for what in ("sheet", "simulated")
    ]
    assert list(figure.data[3].y) == list(qdr[qdr.setting == "bursts of 4"].simulated_gbps)


@pytest.mark.parametrize(("gbps", "mpps"), [(10, 14.88), (25, 37.20), (40, 59.52), (100, 148.81), (400, 595.24)])
def test_an_ethernet_port_sends_the_frames_that_its_rate_allows(gbps, mpps):
    """Shortest frames with preamble and gap, 84 bytes: the figure that every tester prints."""
    made = machine(
        [part("ethernet_port", "port", gbps=gbps)], lambda m, packet: m.port.send(bytes=packet.packet_bytes), 8
    )
    assert bounds(made, packets(46)).rate_pps / 1e6 == pytest.approx(mpps, abs=0.005)
    assert simulate(made, packets(46), packets=3000).rate_pps / 1e6 == pytest.approx(mpps, rel=2e-3)
    full = bounds(made, packets(1500)).rate_pps
    assert full == pytest.approx(gbps * 1e9 / 8 / 1538)


@pytest.mark.parametrize("method", ["read", "write"])
def test_a_pci_express_link_moves_what_its_formula_says(method):
    """Generation 3, 8 lanes, payload 256: payload bytes over those of whole packets, of 8 x 8 Gb/s x 128/130.

    Acknowledgements and flow control take 8 bytes each in 203, SKIP sets 4 in 1538 (github.com/pcie-bench/pcie-model).
    """
    link = part("pcie_link", "link", generation=3, lanes=8, drain_bytes_per_s=1e11, tags=256, request_bytes=1024)
    made = machine([link], lambda m, packet: getattr(m.link, method)(bytes=packet.packet_bytes), 40)
    rate, size = 8 * 8e9 * 128 / 130 * (1 - 2 * 8 / 203 - 4 / 1538), 1024
    around = {"write": 4 * 24, "read": 4 * 20}[method]
    expected = rate / 8 / (size + around)
    assert bounds(made, packets(size)).rate_pps == pytest.approx(expected)
    assert simulate(made, packets(size), packets=5000).rate_pps == pytest.approx(expected, rel=2e-3)


def test_a_byte_engine_shares_bytes_among_its_engines():
    engine = part("byte_engine", "aes", bytes_per_s=2e9, latency_ns=80, request_ns=20, engines=3)
    made = machine([engine], lambda m, packet: m.aes.process(bytes=packet.packet_bytes), 24)
    expected = 3 / (20e-9 + 500 / 2e9)
    assert bounds(made, packets(500)).rate_pps == pytest.approx(expected)
    assert simulate(made, packets(500), packets=4000).rate_pps == pytest.approx(expected, rel=2e-3)
