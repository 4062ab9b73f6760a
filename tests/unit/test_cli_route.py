"""`npexplore route`: what it writes and prints, every option, every ending."""

import csv
import gzip
import io
import json
import sys

import pytest
from reference import capture_files as make
from reference.browser import screenshot, share_of_colour
from reference.router_cases import ICMP, icmp, named_cases, packet

from npexplore import read_capture
from npexplore.cli import main
from npexplore.golden import forward_captures, load_router
from npexplore.golden.reasons import Reason
from npexplore.golden.router.forward import Forwarder
from npexplore.golden.router.profiles import PROFILES
from npexplore.packets.scan import CaptureScan
from npexplore.paths import share
from npexplore.plot import theme

OFFICE = share("data", "captures", "zeek_wikipedia.pcap")
CONFIG = """
[[port]]
name = "p0"
address = "10.0.0.1/24"
mac = "02:00:00:00:00:00"
peer_mac = "02:00:00:00:01:00"
[[port]]
name = "p1"
address = "10.1.0.1/24"
mac = "02:00:00:00:00:01"
peer_mac = "02:00:00:00:01:01"
{rate}
[[route]]
prefix = "20.0.0.0/8"
via = "10.1.0.2"
"""
TO_P0 = bytes.fromhex("020000000000020000000100 0800")
OUT_P1 = bytes.fromhex("020000000101020000000001 0800")
ROUTED = {"ttl": 9, "payload": b"hello"}


def frame(dst="20.0.0.1", src="10.0.0.7", **fields):
    return TO_P0 + packet(src, dst, **fields)


def write(path, frames, **settings):
    """Write frames at whole milliseconds; return the path."""
    path.write_bytes(make.pcap([(0, 1000 * k, data, None) for k, data in enumerate(frames)], **settings))
    return path


def read(path):
    """Return (time in ns, frame) of a capture's packets."""
    scan = CaptureScan(path)
    rows = []
    for table in scan:
        data, base = scan.window
        columns = (table["t_ns"].tolist(), (table["position"] - base).tolist(), table["captured"].tolist())
        rows += [(time, data[at : at + size].tobytes()) for time, at, size in zip(*columns, strict=True)]
    return rows


@pytest.fixture
def config(tmp_path):
    path = tmp_path / "router.toml"
    path.write_text(CONFIG.format(rate=""))
    return path


def run(*arguments):
    return main(["route", *map(str, arguments)])


@pytest.fixture
def document(capsys):
    """Run with --json and return (status, document)."""

    def ask(*arguments):
        status = run(*arguments, "--json")
        return status, json.loads(capsys.readouterr().out)

    return ask


# ---- what is written


def test_a_packet_goes_out_by_its_port_with_its_time(tmp_path, config, document):
    capture = write(tmp_path / "in.pcap", [frame(**ROUTED), frame("99.0.0.1"), frame(**ROUTED | {"ttl": 1})])
    drops = tmp_path / "drops.csv"
    status, found = document("--config", config, "--in", f"p0={capture}", "--out", tmp_path / "out", "--drops", drops)
    assert status == 0
    expected = OUT_P1 + packet("10.0.0.7", "20.0.0.1", ttl=8, payload=b"hello")
    assert read(tmp_path / "out" / "p1.pcap") == [(0, expected)]
    errors = read(tmp_path / "out" / "p0.pcap")
    assert [(time, data[34:36]) for time, data in errors] == [(1_000_000, b"\x03\x00"), (2_000_000, b"\x0b\x00")]
    assert drops.read_text().splitlines() == [
        "port,packet,time_ns,reason,clause",
        "p0,1,1000000,NO_ROUTE,RFC 1812 section 4.3.3.1 (code 0)",
        "p0,2,2000000,TTL_EXPIRED,RFC 1812 section 5.3.1",
    ]
    assert (found["packets"], found["forwarded"], found["dropped"], found["compare"]) == (3, 1, 2, None)
    assert found["ports"] == [
        {"port": "p0", "in": 3, "out": 0, "icmp": 2, "in_bytes": 112, "out_bytes": 0, "icmp_bytes": 129},
        {"port": "p1", "in": 0, "out": 1, "icmp": 0, "in_bytes": 0, "out_bytes": 39, "icmp_bytes": 0},
    ]
    assert found["counters"] == {
        "drop.NO_ROUTE": 1, "drop.TTL_EXPIRED": 1, "icmp.p0": 2, "in.p0": 3, "out.p1": 1
    }  # fmt: skip
    assert found["ways"] == [
        {"from": "p0", "to": "p1", "dropped": False, "packets": 1},
        {"from": "p0", "to": "TTL_EXPIRED", "dropped": True, "packets": 1},
        {"from": "p0", "to": "NO_ROUTE", "dropped": True, "packets": 1},
    ]
    assert found["outputs"] == {name: str(tmp_path / "out" / f"{name}.pcap") for name in ("p0", "p1")}
    assert read_capture(tmp_path / "out" / "p1.pcap").format == "pcap-ns"


def test_named_cases_come_out_as_the_reference_sends_them(tmp_path):
    router, cases = named_cases()
    captures, expected = {}, {}
    for port in router.ports:
        mine = [(0, k, data, None) for k, (_, number, data) in enumerate(cases) if number == port.number]
        captures[port.name] = tmp_path / f"{port.name}.in"
        captures[port.name].write_bytes(make.pcap(mine, magic=make.NS))
    for profile in PROFILES:
        reference = Forwarder(router, profile=profile)
        expected = {port.name: [] for port in router.ports}
        reasons = []
        for k, (_, number, data) in enumerate(cases):
            outcome = reference.forward(number, data, k)
            reasons += [outcome.reason.name] if outcome.reason else []
            for sent in outcome.sent:
                expected[router.ports[sent.port].name].append((k, sent.frame))
        done = forward_captures(router, captures, out=tmp_path / "o", drops=tmp_path / "d.csv", profile=profile)
        assert {port: read(path) for port, path in done.outputs.items()} == {p: e for p, e in expected.items() if e}
        with (tmp_path / "d.csv").open() as file:
            assert [row["reason"] for row in csv.DictReader(file)] == reasons
        assert done.replay.forwarder.counters == dict(reference.counters)


def test_inputs_are_merged_by_time(tmp_path, config):
    first, second = tmp_path / "a.pcap", tmp_path / "b.pcap.gz"
    first.write_bytes(make.pcap([(0, t, frame(identification=t), None) for t in (1, 5, 5, 9)]))
    data = bytes.fromhex("0200000000010200000001010800") + packet("10.1.0.9", "10.0.0.5", identification=7)
    second.write_bytes(gzip.compress(make.pcap([(0, t, data, None) for t in (2, 5, 8)])))
    router = load_router(config)
    out = forward_captures(router, {"p1": second, "p0": first}, out=tmp_path / "o")
    assert [time for time, _ in read(out.outputs["p1"])] == [1000, 5000, 5000, 9000]
    assert [time for time, _ in read(out.outputs["p0"])] == [2000, 5000, 8000]
    assert [row["packets"] for row in out.inputs()] == [3, 4]


def test_a_port_that_sends_nothing_has_no_capture_even_from_before(tmp_path, config):
    capture = write(tmp_path / "in.pcap", [frame()])
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "p0.pcap").write_bytes(b"of an earlier run")
    (tmp_path / "out" / "mine.txt").write_text("stays")
    assert run("--config", config, "--in", f"p0={capture}", "--out", tmp_path / "out") == 0
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["mine.txt", "p1.pcap"]


def test_departures_of_a_link_with_a_rate(tmp_path, config):
    config.write_text(CONFIG.format(rate='rate = "1Gb/s"'))
    capture = tmp_path / "in.pcap"
    capture.write_bytes(make.pcap([(0, 0, frame(), None), (0, 0, frame(), None), (1, 0, frame(), None)]))
    out = forward_captures(load_router(config), {"p0": capture}, out=tmp_path / "o")
    assert [time for time, _ in read(out.outputs["p1"])] == [576, 1248, 1_000_000_576]


@pytest.mark.parametrize("link", [12, 14, 101, 228])
def test_raw_packets_get_a_frame(tmp_path, config, link):
    raw = [packet("10.0.0.7", "20.0.0.1", ttl=9), b"\x60" + bytes(39), b""]
    capture = write(tmp_path / "in.pcap", raw, link=link)
    done = forward_captures(load_router(config), {"p0": capture}, out=tmp_path / "o", drops=tmp_path / "d.csv")
    assert [data for _, data in read(done.outputs["p1"])] == [OUT_P1 + packet("10.0.0.7", "20.0.0.1", ttl=8)]
    assert [row["reason"] for row in done.tally.drops()] == ["NOT_IPV4", "TOO_SHORT"]


def test_raw_and_ethernet_interfaces_of_one_capture(tmp_path, config):
    good = packet("10.0.0.7", "20.0.0.1", ttl=9)
    capture = tmp_path / "in.pcapng"
    capture.write_bytes(
        make.section() + make.interface(link=1) + make.interface(link=101)
        + make.enhanced(TO_P0 + good, 1) + make.enhanced(good, 2, number=1) + make.enhanced(TO_P0 + good, 3)
    )  # fmt: skip
    done = forward_captures(load_router(config), {"p0": capture}, out=tmp_path / "o")
    assert [data[14:] for _, data in read(done.outputs["p1"])] == [packet("10.0.0.7", "20.0.0.1", ttl=8)] * 3


def test_frames_for_other_stations(tmp_path, config):
    other = b"\x02\x77" + frame()[2:]
    capture = write(tmp_path / "in.pcap", [other, b"\xff" * 6 + frame()[6:], frame()])
    router = load_router(config)
    assert forward_captures(router, {"p0": capture}).tally.forwarded == 1
    done = forward_captures(router, {"p0": capture}, any_station=True)
    assert done.tally.forwarded == 2
    assert [row["reason"] for row in done.tally.drops()] == ["LINK_BROADCAST"]
    assert run("--config", config, "--in", f"p0={capture}", "--out", tmp_path / "o", "--any-station") == 0
    assert len(read(tmp_path / "o" / "p1.pcap")) == 2


def test_a_capture_that_is_mostly_for_other_stations_hints_at_the_option(tmp_path, config, capsys):
    other = b"\x02\x77" + frame()[2:]
    arp = frame()[:12] + b"\x08\x06" + bytes(46)
    cases = (([other, other, frame()], True), ([other, frame(), frame()], False), ([other, other, arp, arp], True))
    for frames, hint in cases:
        capture = write(tmp_path / "in.pcap", frames)
        assert run("--config", config, "--in", f"p0={capture}", "--out", tmp_path / "o") == 0
        told = "2 packets are for other stations than their port; --any-station takes them" in capsys.readouterr().err
        assert told == hint


def test_profile_of_the_command_line_wins(tmp_path, config, document):
    source = "10.0.0.255"  # a broadcast address of the link: no source for RFC 1812, forwarded by nobody there
    capture = write(tmp_path / "in.pcap", [frame(src=source)])
    for profile in PROFILES:
        _, found = document(
            "--config", config, "--in", f"p0={capture}", "--out", tmp_path / "o", "--profile", profile
        )  # fmt: skip
        assert found["profile"] == profile
    assert found["forwarded"] == 1


def test_standard_input(tmp_path, config, monkeypatch):
    class Pipe:
        buffer = io.BytesIO(make.pcap([(0, 0, frame(), None)]))

    monkeypatch.setattr(sys, "stdin", Pipe)
    assert run("--config", config, "--in", "p0=-", "--out", tmp_path / "o") == 0
    assert len(read(tmp_path / "o" / "p1.pcap")) == 1


def test_inputs_may_follow_one_option(tmp_path, config):
    capture = write(tmp_path / "in.pcap", [frame()])
    assert run("--config", config, "--in", f"p0={capture}", f"p1={capture}", "--out", tmp_path / "o") == 0


def test_table_for_people(tmp_path, config, capsys):
    capture = write(tmp_path / "in.pcap", [frame(), frame("99.0.0.1")])
    assert run("--config", config, "--in", f"p0={capture}", "--out", tmp_path / "o") == 0
    text = capsys.readouterr().out
    assert "forwarded  1 (50.0%)" in text
    assert "NO_ROUTE        1  no route to the destination  RFC 1812 section 4.3.3.1 (code 0)" in text


def test_schema_is_the_form_of_the_file(capsys):
    assert run("--schema") == 0
    schema = json.loads(capsys.readouterr().out)
    assert set(schema["$defs"]["RouterFile"]["properties"]) >= {"profile", "port", "neighbour", "route", "routes"}


def test_example_routes_a_real_capture(tmp_path, document):
    status, found = document("--config", "office", "--in", f"office={OFFICE}", "--out", tmp_path / "o")
    assert (status, found["packets"], found["forwarded"]) == (0, 136, 41)
    assert {row["reason"]: row["packets"] for row in found["drops"]}["FRAGMENTATION_NEEDED"] == 13


# ---- comparison


@pytest.fixture
def golden(tmp_path, config):
    """A capture, and our outputs for it in the folder `theirs`."""
    frames = [frame(ttl=k % 5, identification=k, payload=bytes(k)) for k in range(200)]
    frames.append(frame("10.0.0.1", identification=900, protocol=ICMP, payload=icmp(8)))
    capture = write(tmp_path / "in.pcap", frames)
    assert run("--config", config, "--in", f"p0={capture}", "--out", tmp_path / "theirs") == 0
    return capture


def changed(path, change):
    """Write a capture again with its list of (time, frame) changed."""
    rows = read(path)
    change(rows)
    path.write_bytes(make.pcap([(0, time, bytes(data), None) for time, data in rows], magic=make.NS))


def test_our_own_outputs_do_not_differ(tmp_path, config, golden, document):
    status, found = document("--config", config, "--in", f"p0={golden}", "--compare", tmp_path / "theirs")
    assert (status, found["compare"]["difference"]) == (0, None)
    assert found["compare"]["alike"] == 200
    assert found["outputs"] == {}


def set_byte(row, at, value):
    def change(rows):
        data = bytearray(rows[row][1])
        data[at] = value
        rows[row] = (rows[row][0], data)

    return change


def forwarded_though_expired(rows):
    rows.insert(60, (0, OUT_P1 + packet("10.0.0.7", "20.0.0.1", ttl=0, identification=101, payload=bytes(101))))


@pytest.mark.parametrize(
    ("port", "change", "row", "field", "clause"),
    [
        ("p1", set_byte(7, 22, 200), 7, "time to live", "RFC 1812 section 5.3.1"),
        ("p1", set_byte(9, 5, 200), 9, "destination MAC", "RFC 1812 section 5.2.4"),
        ("p0", set_byte(3, 34, 5), 3, "ICMP type", "RFC 1812 section 5.2.7"),
        ("p1", set_byte(11, 25, 0xEE), 11, "checksum", "RFC 1624"),
        ("p1", lambda rows: rows.pop(70), 70, "frame", "RFC 1812 section 5.2.1"),
        ("p1", forwarded_though_expired, 60, "frame", "RFC 1812 section 5.3.1"),
        ("p1", lambda rows: rows.pop(), 119, "frame", "RFC 1812 section 5.2.1"),
        ("p1", lambda rows: rows.append(rows[0]), 120, "frame", "RFC 1812 section 5.2.1"),
        ("p0", lambda rows: rows.clear(), 0, "frame", "RFC 1812 section 4.3.2"),
    ],
)
def test_the_first_difference_has_its_clause(tmp_path, config, golden, document, port, change, row, field, clause):
    changed(tmp_path / "theirs" / f"{port}.pcap", change)
    status, found = document("--config", config, "--in", f"p0={golden}", "--compare", tmp_path / "theirs")
    difference = found["compare"]["difference"]
    assert status == 1
    assert (difference["port"], difference["packet"], difference["field"]) == (port, row, field)
    assert clause in difference["clause"]
    assert difference["ours"] != difference["theirs"]


def test_identifications_of_errors_are_free(tmp_path, config, golden):
    def change(rows):
        data = bytearray(rows[5][1])
        data[18:20] = b"\x12\x34"
        old = int.from_bytes(data[24:26], "big") ^ 0xFFFF
        total = old + 0x1234
        data[24:26] = ((total & 0xFFFF) + (total >> 16) ^ 0xFFFF).to_bytes(2, "big")
        rows[5] = (rows[5][0], data)

    changed(tmp_path / "theirs" / "p0.pcap", change)
    assert run("--config", config, "--in", f"p0={golden}", "--compare", tmp_path / "theirs") == 0


def test_the_earliest_difference_is_told(tmp_path, config, golden, capsys):
    changed(tmp_path / "theirs" / "p0.pcap", set_byte(30, 34, 5))
    changed(tmp_path / "theirs" / "p1.pcap", set_byte(2, 22, 77))
    assert run("--config", config, "--in", f"p0={golden}", "--compare", tmp_path / "theirs") == 1
    text = capsys.readouterr().out
    assert "port    p1\npacket  2\nfield   time to live\n" in text


def test_captures_to_compare_may_be_compressed_and_damaged(tmp_path, config, golden, capsys):
    theirs = tmp_path / "theirs" / "p1.pcap"
    theirs.with_name("p1.pcap.gz").write_bytes(gzip.compress(theirs.read_bytes()[:-3]))
    theirs.unlink()
    assert run("--config", config, "--in", f"p0={golden}", "--compare", tmp_path / "theirs") == 3
    assert "capture to compare of port p1" in capsys.readouterr().err


def test_our_own_damage_is_no_difference_of_theirs(tmp_path, config, golden):
    golden.write_bytes(golden.read_bytes()[:-1])
    arguments = ("--config", config, "--in", f"p0={golden}", "--compare", tmp_path / "theirs")
    assert run(*arguments) == 3
    changed(tmp_path / "theirs" / "p1.pcap", set_byte(4, 22, 77))
    assert run(*arguments) == 1


# ---- endings


def test_damaged_input_gives_its_good_part(tmp_path, config, document):
    capture = write(tmp_path / "in.pcap", [frame()] * 5)
    capture.write_bytes(capture.read_bytes()[:-7])
    status, found = document("--config", config, "--in", f"p0={capture}", "--out", tmp_path / "o")
    assert (status, found["packets"], len(read(tmp_path / "o" / "p1.pcap"))) == (3, 4, 4)
    assert found["inputs"][0]["damage"]["offset"] > 0


def test_cut_packets_are_told(tmp_path, config, capsys):
    capture = tmp_path / "in.pcap"
    capture.write_bytes(make.pcap([(0, 0, frame(payload=bytes(90))[:60], 124)]))
    assert run("--config", config, "--in", f"p0={capture}", "--out", tmp_path / "o") == 0
    assert "1 packets were cut when they were captured" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], "route needs --config ROUTER.toml"),
        (["--config", "{config}", "--in", "p0={capture}"], "--compare DIR, --drops FILE.csv or --report FILE.html"),
        (["--config", "ofice", "--in", "p0={capture}", "--out", "{o}"], "router 'ofice' is unknown (nearest: office)"),
        (["--config", "{o}.toml", "--in", "p0={capture}", "--out", "{o}"], "No such file"),
        (["--config", "{config}", "--in", "p7={capture}", "--out", "{o}"], "port 'p7' is unknown"),
        (["--config", "{config}", "--in", "{capture}", "--out", "{o}"], "--in must be PORT=FILE"),
        (["--config", "{config}", "--in", "p0={capture}", "--in", "p0=x", "--out", "{o}"], "two captures"),
        (["--config", "{config}", "--in", "p0=-", "--in", "p1=-", "--out", "{o}"], "input can be read only once"),
        (["--config", "{config}", "--in", "p0={capture}", "--out", "{o}", "--profile", "linx"], "nearest: linux"),
        (["--config", "{config}", "--in", "p0=nothing", "--out", "{o}"], "cannot be read"),
        (["--config", "{config}", "--in", "p0={config}", "--out", "{o}"], "must be pcap"),
        (["--config", "{config}", "--in", "p0={hdlc}", "--out", "{o}"], "got C_HDLC"),
        (["--config", "{config}", "--in", "p0={capture}", "--compare", "{o}"], "does not exist|must be a folder"),
        (["--config", "{config}", "--in", "p0={capture}", "--compare", "{empty}"], "no capture named after a port"),
        (["--config", "{config}", "--in", "p0={capture}", "--out", "{empty}", "--compare", "{empty}"], "two folders"),
        (["--config", "{config}", "--in", "p0={capture}", "--out", "{capture}"], "is a file"),
        (["--config", "{config}", "--in", "p0={capture}", "--out", "{o}", "--drops", "{o}/x/y.csv"], "no folder"),
        (["--config", "{config}", "--in", "p0={capture}", "--out", "{o}", "--speed", "9"], "--speed"),
    ],
)  # fmt: skip
def test_wrong_usage_is_one_line(tmp_path, config, capsys, arguments, words):
    (tmp_path / "empty").mkdir()
    places = {
        "config": config, "capture": write(tmp_path / "in.pcap", [frame()]), "o": tmp_path / "o",
        "empty": tmp_path / "empty", "hdlc": share("data", "captures", "tcpdump_ISIS_p2p_adjacency.pcap"),
    }  # fmt: skip
    assert run(*[text.format(**places) for text in arguments]) == 2
    err = capsys.readouterr().err
    assert err.count("\n") == 1
    assert any(word in err for word in words.split("|"))
    assert not list(tmp_path.glob("o/*"))


def test_an_input_is_never_overwritten(tmp_path, config, capsys):
    capture = write(tmp_path / "p1.pcap", [frame()])
    before = capture.read_bytes()
    assert run("--config", config, "--in", f"p0={capture}", "--out", tmp_path) == 2
    assert "is an input itself" in capsys.readouterr().err
    assert capture.read_bytes() == before


# ---- the page


def test_page_tells_where_the_packets_went(tmp_path):
    page = tmp_path / "r.html"
    out = tmp_path / "o"
    assert run("--config", "office", "--in", f"office={OFFICE}", "--out", out, "--report", page) == 0
    assert str(tmp_path) not in page.read_text()
    text = page.read_text()
    for words in ("Packets through the router office", "uplink out, 27", Reason.PROHIBITED.clause, "drop.MULTICAST"):
        assert words in text
    assert text.count('class="chart"') == 2
    assert len(text) < 400_000


def test_page_of_nothing_and_of_a_difference(tmp_path, config, golden):
    empty = write(tmp_path / "none.pcap", [])
    page = tmp_path / "r.html"
    assert run("--config", config, "--in", f"p0={empty}", "--out", tmp_path / "o", "--report", page) == 0
    assert "Nothing to show: no packet came in" in page.read_text()
    changed(tmp_path / "theirs" / "p1.pcap", set_byte(7, 22, 200))
    arguments = ("--config", config, "--in", f"p0={golden}", "--compare", tmp_path / "theirs", "--report", page)
    assert run(*arguments) == 1
    assert "<td>time to live</td>" in page.read_text()


@pytest.mark.slow
def test_picture_is_drawn_without_a_network(tmp_path):
    page = tmp_path / "r.html"
    out = tmp_path / "o"
    assert run("--config", "office", "--in", f"office={OFFICE}", "--out", out, "--report", page) == 0
    page.write_text(page.read_text().replace('<details class="chapter">', '<details class="chapter" open>'))

    def drawn(picture):
        return all(
            share_of_colour(picture, one, tolerance=12) > 3e-4 for one in (theme.BLUE, theme.VERMILION, theme.GREY)
        )

    assert drawn(screenshot(page, tmp_path, height=2300, drawn=drawn))


@pytest.mark.slow
def test_memory_does_not_grow_with_the_captures(tmp_path, config):
    import tracemalloc

    router, peaks = load_router(config), []
    for packets in (100_000, 400_000):
        capture = tmp_path / "in.pcap"
        one = make.pcap([(0, 0, frame(identification=k, ttl=k % 250 + 2), None) for k in range(1000)])
        capture.write_bytes(one[:24] + one[24:] * (packets // 1000))
        tracemalloc.start()
        done = forward_captures(
            router, {"p0": capture, "p1": capture}, out=tmp_path / "o", drops=tmp_path / "d", lookup="binary_trie"
        )
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
        assert done.tally.packets == 2 * packets
        assert done.tally.forwarded == packets  # those of p1 are for another station
    assert peaks[1] < peaks[0] + 2_000_000


def test_a_report_alone_and_a_sample_by_name(tmp_path, capsys):
    page = tmp_path / "r.html"
    assert main(["route", "--config", "office", "--in", "office=sample:zeek_wikipedia", "--report", str(page)]) == 0
    assert "136" in page.read_text()
    assert [path.name for path in tmp_path.iterdir()] == ["r.html"]
    assert main(["route", "--config", "office", "--in", "office=sample:zeek_wiki", "--report", str(page)]) == 2
    assert "sample 'zeek_wiki' is unknown (nearest: zeek_wikipedia" in capsys.readouterr().err
    assert main(["route", "--config", "office", "--in", "office=sample:zeek_wikipedia"]) == 2
    assert "--out DIR, --compare DIR, --drops FILE.csv or --report FILE.html" in capsys.readouterr().err


def test_a_report_tells_packets_that_a_policer_dropped(tmp_path, capsys):
    shown = share("models", "routers", "office.toml").read_text()
    routes = share("models", "routers", "office_routes.txt")
    shown = shown.replace("office_routes.txt", str(routes)).replace('/30"', '/30"\nrate = "1Gb/s"', 1)
    shown = shown.replace('mac = "00:13', 'rate = "1Gb/s"\nmac = "00:13', 1)
    (tmp_path / "box.toml").write_text(f'{shown}\n[diffserv]\nrules = "rules.toml"\n')
    (tmp_path / "rules.toml").write_text(
        '[policer.slow]\nkind = "leaky_bucket"\nrate = "1pps"\nburst = 1\n[[rule]]\nclass = "EF"\npolicer = "slow"\n'
    )
    page = tmp_path / "r.html"
    asked = ["route", "--config", str(tmp_path / "box.toml"), "--in", "office=sample:zeek_wikipedia"]
    assert main([*asked, "--report", str(page)]) == 0
    assert "its flow sent more than its policer allows" in page.read_text()
