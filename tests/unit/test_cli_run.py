"""`npexplore run`: what it says, the rows and captures it writes, and what does not fit together."""

import json

import numpy as np
import pandas as pd
import pytest
from reference.setting_cases import v4

import npexplore as npx
from npexplore.cli import main
from npexplore.golden import forward_captures, load_router
from npexplore.packets import read_capture
from npexplore.packets.frames import read_frames, write_frames
from npexplore.packets.writing import rewrite
from npexplore.solve.packet_timeline import timeline

CAPTURE = str(npx.bundled_path("data/captures/zeek_wikipedia.pcap"))


def run(capsys, *arguments):
    status = main(["run", *map(str, arguments)])
    out, err = capsys.readouterr()
    return status, out, err


def test_rows_and_captures_hold_every_packet_once(capsys, tmp_path):
    frames = [bytes(frame) for _, frame in read_frames(CAPTURE)]
    copies = [frame for frame in frames for _ in range(4)]
    times = [10**18 + 20 * k for k in range(len(copies))]
    trace = tmp_path / "in.pcap"
    write_frames(trace, copies, times)
    ask = ("ixp2400", "--trace", trace, "--out", tmp_path / "out", "--by-resource", "--json")
    status, out, err = run(capsys, *ask)
    assert status == 0, err
    found = json.loads(out)
    assert found["sent"] > 0
    assert found["dropped"] > 0
    assert found["packets"] == found["sent"] + found["dropped"] + found["inside"]
    assert sum(end["packets"] for end in found["ends"]) == found["packets"]
    rows = pd.read_parquet(found["files"]["packets"])
    assert rows.index.name == "packet"
    assert len(rows) == found["packets"]
    sent, lost = rows[rows.outcome == "sent"], rows[rows.outcome == "dropped"]
    left = sent.sort_values("departure_s", kind="stable")
    out_times, out_frames = zip(*read_frames(found["files"]["sent"]), strict=True)
    assert list(map(bytes, out_frames)) == [copies[k] for k in left.index]
    first = times[rows.index.min()]
    assert np.allclose(np.array(out_times) - first, left.departure_s * 1e9, rtol=0, atol=0.51)
    assert (np.diff(out_times) >= 0).all()
    dropped = list(read_frames(found["files"]["dropped"]))
    assert dropped == [(times[k], copies[k]) for k in lost.index]
    assert read_capture(found["files"]["sent"]).damage is None


def test_the_text_says_how_packets_ended(capsys):
    status, out, _ = run(capsys, "soclib", "--trace", CAPTURE, "--rate", "8Gb/s", "--set", "processors=7")
    heading, latency, *_ = out.splitlines()
    assert status == 0
    assert heading.startswith("soclib: 126 packets: ")
    assert latency.startswith("latency: mean ")


@pytest.mark.parametrize(
    ("more", "told"),
    [
        (("--speed", "2", "--rate", "1Gb/s"), "--rate and --speed"),
        (("--speed", "0"), "--speed"),
        (("--by-resource",), "there is no --out"),
        (("--router", "office"), "there is no --out"),
        (("--port", "campus"), "there is no --router"),
        (("--port", "campus=other.pcap"), "--port NAME=FILE for each port; give one"),
        (("--each", "other.pcap"), "give one"),
        (("--workers", "2"), "there is no --each"),
        (("--cluster", "tcp://127.0.0.1:1"), "there is no --each"),
        (("--resume",), "there is no --out"),
        (("--port", "campus", "--port", "lab"), "has no capture"),
        (("--loops", "0"), "--loops"),
        (("--memory", "40KB"), "rows of 126 packets needs about 4.16e-05 GB of memory, 4.1e-05 GB are allowed"),
        (("--loops", "1000000"), "fewer packets or loops need less"),
    ],
)
def test_what_does_not_fit_together_is_refused(capsys, more, told):
    status, _, err = run(capsys, "ixp2400", "--trace", CAPTURE, *more)
    assert status == 2
    assert told in err


@pytest.mark.parametrize(
    ("more", "told"),
    [
        ((), "--each keeps the results of each capture in DIR/CAPTURE, and there is no --out"),
        (("--out", "fates", "--html", "page.html"), "--each runs several"),
        (("--out", "fates", "--cluster", "tcp://127.0.0.1:1", "--workers", "2"), "leave --workers out"),
        (("--out", "fates", "--port", "campus=other.pcap"), "give one"),
        (("--out", "fates", "--port", "campus"), "there is no --router"),
    ],
)
def test_what_does_not_fit_several_captures_is_refused(capsys, tmp_path, monkeypatch, more, told):
    monkeypatch.chdir(tmp_path)
    status, _, err = run(capsys, "ixp2400", "--each", CAPTURE, *more)
    assert status == 2
    assert told in err


def test_a_damaged_capture_is_run_up_to_the_damage(capsys, tmp_path):
    with open(CAPTURE, "rb") as file:
        (tmp_path / "cut.pcap").write_bytes(file.read()[:-7])
    status, out, err = run(capsys, "ixp2400", "--trace", tmp_path / "cut.pcap")
    assert status == 3
    assert out.startswith("ixp2400: 125 packets: ")
    assert "the packets before it were run" in err


def test_the_router_forwards_what_the_machine_sends_when_it_leaves(capsys, tmp_path):
    """Where the machine loses nothing, octets are those of the router alone, times those of the machine."""
    rewrite(CAPTURE, tmp_path / "ip.pcap", where="ipv4 or ipv6")
    options = ("--router", "office", "--any-station", "--out", tmp_path / "out")
    status, out, err = run(capsys, "ixp2400", "--trace", tmp_path / "ip.pcap", *options, "--json")
    assert status == 0, err
    found = json.loads(out)
    router = load_router("office")
    alone = forward_captures(router, {router.ports[0].name: tmp_path / "ip.pcap"}, out=tmp_path / "alone",
                             any_station=True)  # fmt: skip
    assert found["router"]["outputs"].keys() == alone.outputs.keys() != set()
    for port, path in alone.outputs.items():
        ours, golden = ([*read_frames(one)] for one in (found["router"]["outputs"][port], path))
        assert sorted(frame for _, frame in ours) == sorted(frame for _, frame in golden)
        assert min(time for time, _ in ours) > min(time for time, _ in golden)
    rows = pd.read_parquet(found["files"]["packets"])
    drops = {row["reason"]: row["packets"] for row in alone.tally.drops()}
    assert rows.router_reason.value_counts().to_dict() == drops != {}
    assert set(rows.index[rows.router_reason.notna()]) == dropped_alone(router, tmp_path)


def dropped_alone(router, folder):
    table = folder / "drops.csv"
    forward_captures(router, {router.ports[0].name: folder / "ip.pcap"}, drops=table, any_station=True)
    return set(pd.read_csv(table).packet)


def test_captures_of_several_ports_are_one_run_and_one_router(capsys, tmp_path):
    """Rows join with both captures read as one; what the router forwards is what it forwards alone."""
    rewrite(CAPTURE, tmp_path / "a.pcap", where="ipv4 or ipv6")
    rewrite(CAPTURE, tmp_path / "b.pcap", where="ip_proto == 6")
    router = load_router("office")
    files = {port.name: tmp_path / name for port, name in zip(router.ports, ("a.pcap", "b.pcap"), strict=False)}
    ports = [text for name, file in files.items() for text in ("--port", f"{name}={file}")]
    status, out, err = run(
        capsys, "ixp2400", *ports, "--router", "office", "--any-station", "--out", tmp_path, "--json"
    )
    assert status == 0, err
    document = json.loads(out)
    both = read_capture([*files.values()])
    rows = pd.read_parquet(document["files"]["packets"])
    assert document["inputs"] == {name: str(file) for name, file in files.items()}
    assert rows.input_port.value_counts().to_dict() == dict(zip(files, both.file_packets, strict=True))
    assert rows.input_port[rows.index < both.file_packets[0]].unique().tolist() == [router.ports[0].name]
    alone = forward_captures(router, files, out=tmp_path / "alone", any_station=True)
    assert rows.output_port.count() == alone.tally.forwarded
    assert rows.router_reason.value_counts().to_dict() == {row["reason"]: row["packets"] for row in alone.tally.drops()}
    assert (rows.output_port.notna() ^ rows.router_reason.notna()).all()
    for port, path in alone.outputs.items():
        ours = read_frames(document["router"]["outputs"][port])
        assert sorted(frame for _, frame in ours) == sorted(frame for _, frame in read_frames(path))


def test_packets_that_the_router_answers_itself_left_by_no_port(capsys, tmp_path):
    """Echo requests to its addresses, and packets of which it tells their sender, have a reason each."""
    host, links = "141.142.220.202", bytes.fromhex("00137fbe8cff00247ee01db50800")
    echo, udp = bytes.fromhex("0800f7fe00010000"), bytes.fromhex("0005000600080000")
    packets = [("141.142.220.1", 64, 1, echo), ("10.255.1.1", 64, 1, echo), ("10.9.9.9", 64, 17, udp),
               ("208.80.152.2", 64, 17, udp), ("208.80.152.2", 1, 17, udp)]  # fmt: skip
    frames = [links + v4(host, to, payload, ttl=ttl, protocol=protocol) for to, ttl, protocol, payload in packets]
    write_frames(tmp_path / "in.pcap", frames, [10**18 + 10**6 * k for k in range(len(frames))])
    given = ("--port", f"office={tmp_path / 'in.pcap'}", "--router", "office", "--out", tmp_path, "--json")
    status, out, err = run(capsys, "ixp2400", *given)
    assert status == 0, err
    document = json.loads(out)
    rows = pd.read_parquet(document["files"]["packets"])
    assert rows.router_reason.tolist() == ["LOCAL_DELIVERY", "LOCAL_DELIVERY", "BLACKHOLE", "PROHIBITED", "PROHIBITED"]
    assert rows.output_port.isna().all()
    assert sum(port["icmp"] for port in document["router"]["ports"]) == 2  # who sent the last two is told


def test_loops_repeat_the_packets_with_the_same_rows(capsys, tmp_path):
    status, out, err = run(capsys, "soclib", "--trace", CAPTURE, "--loops", 3, "--out", tmp_path, "--json")
    assert status == 0, err
    document = json.loads(out)
    rows = pd.read_parquet(document["files"]["packets"])
    once = npx.design("soclib").run(CAPTURE).packets
    assert rows.index.tolist() == once.index.tolist() * 3
    assert np.allclose(rows.arrival_s[rows.loop == 0], once.arrival_s)
    period = once.arrival_s.max() * len(once) / (len(once) - 1)
    assert np.diff(rows.arrival_s.to_numpy().reshape(3, -1), axis=0) == pytest.approx(period, rel=1e-9)
    frames = [bytes(frame) for _, frame in read_frames(document["files"]["sent"])]
    assert len(frames) == document["sent"] == 3 * len(once)
    assert frames[: len(once)] == frames[len(once) : 2 * len(once)]


def test_the_page_counts_every_packet_and_lists_the_worst(capsys, tmp_path):
    status, _, err = run(capsys, "ixp2400", "--trace", CAPTURE, "--speed", 20000, "--html", tmp_path / "page.html",
                         "--shared-library")  # fmt: skip
    assert status == 0, err
    result = npx.design("ixp2400").run(CAPTURE, speed=20000, by_resource=True)
    table = timeline(result)
    assert [table[name].sum() for name in ("arrivals", "departures", "losses")] == [
        126,
        result.counts["sent"],
        result.counts["dropped"],
    ]
    rows = result.packets
    ends = rows.departure_s.fillna(rows.arrival_s)  # its receive buffer loses a packet as it comes
    times = np.concatenate([rows.arrival_s, ends])
    order = np.lexsort((np.repeat([0, 1], len(rows)), times))
    assert table.backlog.max() == np.cumsum(np.repeat([1, -1], len(rows))[order]).max()
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert str(rows.latency_s.idxmax()) in page
    assert "lost at receive" in page
    assert 'id="flows"' in page
