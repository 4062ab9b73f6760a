"""`npexplore trace report`: one offline page, every section filled or saying why not; exit status; standard input."""

import io
import re
import sys

import numpy as np
import pandas as pd
import pytest
from reference import capture_files as make
from reference.browser import screenshot, share_of_colour

from npexplore.cli import main
from npexplore.designs import DESIGNS
from npexplore.errors import InputError
from npexplore.machine.workload_sources import of_columns
from npexplore.packets.scan import CaptureScan
from npexplore.packets.statistics import count_capture
from npexplore.packets.synthetic import Traffic, fixed_length, poisson_arrivals
from npexplore.paths import share
from npexplore.plot import theme
from npexplore.report.capture_machines import _gigabits
from npexplore.report.capture_page import capture_page, read
from npexplore.report.capture_sections import SECTIONS
from npexplore.report.capture_subject import RUN_PACKETS, RUNS
from npexplore.study.explaining import on_capture

WIKIPEDIA = share("data", "captures", "zeek_wikipedia.pcap")
ISIS = share("data", "captures", "tcpdump_ISIS_p2p_adjacency.pcap")


def run(*arguments):
    return main(["trace", "report", *map(str, arguments)])


def body(page):
    """Return the page without its scripts."""
    return re.sub(r"<script.*?</script>", "", page, flags=re.DOTALL)


def empty_sections(page):
    folded = '(?:<span class="holds">nothing to show</span></summary>)?'
    nothing = r'<p class="nothing">Nothing to show: ([^<]+)\.</p>'
    return dict(re.findall(rf'<h2 id="[^"]+">([^<]+)</h2>{folded}\s*{nothing}', page))


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    target = tmp_path_factory.mktemp("report") / "out.html"
    assert run(WIKIPEDIA, "-o", target) == 0
    return target.read_text()


def test_page_has_every_section_filled_and_its_figures_drawn(page):
    assert not empty_sections(page)
    for title in SECTIONS:
        assert f">{title}</h2>" in page
    assert page.count('class="chart"') >= 10
    assert "plotly" not in page
    assert len(page) < 400_000


def test_a_shared_library_draws_the_figures(tmp_path):
    assert run(WIKIPEDIA, "-o", tmp_path / "out.html", "--shared-library") == 0
    shared = (tmp_path / "out.html").read_text()
    assert len(re.findall(r'class="plotly-graph-div"', shared)) >= 10
    assert "showSendToCloud" in shared
    assert (tmp_path / "plotly.min.js").exists()


def test_a_page_that_is_given_away_names_no_folder_of_this_computer(page):
    assert str(WIKIPEDIA.parent) not in page
    assert "zeek_wikipedia.pcap" in body(page)


def test_page_needs_no_network(page):
    assert not re.search(r'(src|href)="(https?:)?//', body(page))


def test_divs_have_names_of_their_own(page):
    names = re.findall(r'<div id="(figure-[^"]+)"', page)
    assert len(names) == len(set(names)) >= 10


def test_page_tells_the_facts_of_trace_stats(page):
    counts, _ = count_capture(WIKIPEDIA)
    text = body(page)
    assert f"{counts.packets:,}" in text
    assert counts.flows == 54
    assert "57 directed flows (5-tuples), 3 of them IPv6" in text
    assert "10 of 136 packets have no whole IPv4 or IPv6 header" in text
    assert "10 of 136 packets are not IP" in text


def test_every_machine_that_takes_a_workload_has_a_row(page):
    for name in on_capture.machines_for_captures():
        assert f">{name}</td>" in page
    for name in (*on_capture.PARTS, *on_capture.machines_without_clock()):
        assert f">{name}</td>" not in page
    assert {"soclib", "smartnic"} == set(on_capture.machines_without_clock())


def test_machines_are_compared_by_packets_whatever_bits_they_count():
    table = pd.DataFrame({"machine": ["a", "b"], "bounds_bps": [8e9, 6e9], "queueing_bps": [6e9, None],
                          "simulated_bps": [4e9, None], "rate_pps": [1e6, 3e6]})  # fmt: skip
    found = on_capture.packet_rates(table).set_index(["machine", "solver"])["mpps"].to_dict()
    assert found == pytest.approx(
        {("a", "bounds"): 2, ("a", "queueing"): 1.5, ("a", "simulated"): 1, ("b", "bounds"): 3}
    )


def test_damaged_capture_is_status_3_with_a_banner(tmp_path, capsys):
    (tmp_path / "cut.pcap").write_bytes(WIKIPEDIA.read_bytes()[:5000])
    assert run(tmp_path / "cut.pcap", "-o", tmp_path / "out.html") == 3
    assert "at offset 4997" in capsys.readouterr().err
    text = (tmp_path / "out.html").read_text()
    assert "This capture is damaged: a record needs 16 bytes, the file has 3 more at offset 4997" in text


@pytest.mark.parametrize("data", [make.pcap([]), make.section()])
def test_empty_capture_has_sections_that_say_so(tmp_path, data):
    (tmp_path / "in").write_bytes(data)
    assert run(tmp_path / "in", "-o", tmp_path / "out.html") == 0
    empty = empty_sections((tmp_path / "out.html").read_text())
    assert set(empty) == set(SECTIONS) - {"Summary"}
    assert all(reason for reason in empty.values())


def test_capture_without_ip():
    empty = empty_sections(capture_page(read(ISIS)))
    assert "none of the" in empty["Flows"]
    assert "has no IPv4 or IPv6 packet" in empty["What this capture would do to each machine"]
    assert {"Lengths", "Rate over time", "Narrow accesses"}.isdisjoint(empty)


def test_capture_without_times(tmp_path):
    packet = read_packet()
    (tmp_path / "in").write_bytes(make.section() + make.interface() + make.simple(packet) * 5)
    text = capture_page(read(tmp_path / "in"))
    empty = empty_sections(text)
    for title in ("Rate over time", "Times between packets", "Packet trains"):
        assert "time stamp" in empty[title]
    assert {"Flows", "Lengths", "Top talkers", "What this capture would do to each machine"}.isdisjoint(empty)
    assert "5 of 5 packets have no time stamp" in text


def read_packet():
    """Return one IPv4 packet of the bundled capture."""
    import dpkt

    with WIKIPEDIA.open("rb") as file:
        return next(data for _, data in dpkt.pcap.Reader(file) if data[12:14] == b"\x08\x00")


def test_one_packet_is_a_page(tmp_path):
    (tmp_path / "in").write_bytes(make.pcap([(1, 0, read_packet(), None)]))
    empty = empty_sections(capture_page(read(tmp_path / "in")))
    assert empty["Rate over time"] == "all packets have the same time stamp"
    assert "Flows" not in empty


def test_standard_input(tmp_path, monkeypatch):
    class Pipe:
        buffer = io.BytesIO(WIKIPEDIA.read_bytes())

    monkeypatch.setattr(sys, "stdin", Pipe)
    assert run("-", "-o", tmp_path / "out.html") == 0
    assert "<h1>standard input</h1>" in (tmp_path / "out.html").read_text()


def test_unreadable_input_leaves_nothing(tmp_path, capsys):
    (tmp_path / "in").write_bytes(b"no capture at all")
    assert run(tmp_path / "in", "-o", tmp_path / "out.html") == 2
    assert len(capsys.readouterr().err.splitlines()) == 1
    assert [path.name for path in tmp_path.iterdir()] == ["in"]


def test_names_from_outside_are_escaped(tmp_path):
    path = tmp_path / "<b>x.pcap"
    path.write_bytes(make.pcap([]))
    text = capture_page(read(path))
    assert "<b>x.pcap" not in text
    assert "&lt;b&gt;x.pcap" in text


def test_a_machine_that_cannot_is_a_row_that_says_why(monkeypatch):
    def broken():
        raise InputError("cannot be built")

    monkeypatch.setitem(DESIGNS, "broken", broken)
    monkeypatch.setattr(on_capture, "machines_for_captures", lambda: ["ixp2400", "broken"])
    rows = on_capture.compare_on_capture(read(WIKIPEDIA).workload).set_index("machine")
    assert rows.loc["broken", "refused"] == "cannot be built"
    found = rows.loc["ixp2400"]
    assert found["bounds_bps"] >= found["low_bps"] > 0
    assert found["low_bps"] <= found["simulated_bps"] <= found["high_bps"]


def test_hurst_is_not_claimed_for_few_packets(tmp_path):
    rng = np.random.default_rng(1)
    Traffic.made(poisson_arrivals(300, 1000, rng), fixed_length(100), rng).write(tmp_path / "few.pcap")
    Traffic.made(poisson_arrivals(50_000, 1e5, rng), fixed_length(100), rng).write(tmp_path / "many.pcap")
    assert count_capture(tmp_path / "few.pcap")[0].hurst() is None
    found = count_capture(tmp_path / "many.pcap")[0].hurst()
    assert found.low - 0.1 < 0.5 < found.high + 0.1


def test_large_captures_are_counted_whole_and_sampled_where_packets_are_needed():
    path = share("data", "captures", "zeek_modbus_modbusBig.pcap.gz")
    small, part = read(path), read(CaptureScan(path, chunk_packets=4096), keep=1000)
    assert small.of_the_first == ""
    assert part.packets.rows < small.packets.rows == part.counts.packets
    assert part.document == small.document
    assert part.streams.flows.flows().equals(small.streams.flows.flows())
    text = capture_page(part)
    assert text.count(f"Of the first {part.packets.rows:,} packets of 13,622. ") == 3


def test_machines_get_runs_of_packets_from_all_over_a_large_capture(tmp_path):
    rng, packets = np.random.default_rng(1), 100_000
    lengths = np.repeat([64, 1500], packets // 2)
    Traffic.made(poisson_arrivals(packets, 1e6, rng), lengths, rng).write(tmp_path / "in")
    subject = read(tmp_path / "in")
    runs = subject.workload.packet_bytes.reshape(RUNS, RUN_PACKETS)
    all_packets = of_columns("all", subject.capture).packet_bytes
    assert (runs == [all_packets[k * packets // RUNS :][:RUN_PACKETS] for k in range(RUNS)]).all()
    assert (runs == runs[:, :1]).all()
    assert np.bincount(runs[:, 0] // 1000).tolist() == [RUNS // 2, RUNS // 2]
    assert subject.of_the_ip_packets.startswith("Of 100,000 IP packets 8 runs of 8,192 in a row")


@pytest.mark.slow
def test_memory_of_a_report_does_not_grow_with_the_packets(tmp_path):
    import tracemalloc

    rng = np.random.default_rng(1)
    peaks = []
    for packets in (100_000, 400_000):
        Traffic.made(
            poisson_arrivals(packets, 1e6, rng), fixed_length(100), rng, dst=np.full(packets, 1, np.uint32)
        ).write(tmp_path / "in")
        data = bytearray((tmp_path / "in").read_bytes())
        frames = np.frombuffer(data, np.uint8)[24:].reshape(packets, -1)
        frames[:, 16 + 26 : 16 + 30] = frames[0, 16 + 26 : 16 + 30]  # one source, so one flow
        (tmp_path / "in").write_bytes(data)
        tracemalloc.start()
        subject = read(tmp_path / "in", keep=50_000)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
        assert len(subject.streams.flows.flows()) == 1
    assert peaks[1] < peaks[0] + 2_000_000


def test_evidence_folds_below_the_first_two_sections(page):
    heads = re.findall(r'(<summary>)?<h2 id="[^"]+">([^<]+)</h2>', page)
    assert [title for _, title in heads] == list(SECTIONS)
    assert [bool(folds) for folds, _ in heads] == [False, False] + [True] * (len(SECTIONS) - 2)
    assert page.count('<details class="chapter">') == page.count("</details>") == len(SECTIONS) - 2
    assert re.search(r'<h2 id="lengths">Lengths</h2><span class="holds">[1-9] (figure|table)', page)


@pytest.mark.slow
def test_figures_are_drawn_without_a_network(page, tmp_path):
    (tmp_path / "page.html").write_text(page.replace('<details class="chapter">', '<details class="chapter" open>'))

    def drawn(picture):
        return all(
            share_of_colour(picture, one, tolerance=12) > 5e-4 for one in (theme.BLUE, theme.VERMILION, theme.GREY)
        )

    assert drawn(screenshot(tmp_path / "page.html", tmp_path, height=7000, drawn=drawn))


def test_rates_of_machines_are_in_gigabits_and_what_is_none_has_no_number():
    assert _gigabits(2.5e9) == "2.50"
    assert _gigabits(None) == _gigabits(float("nan"))
