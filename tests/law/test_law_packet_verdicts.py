"""A machine's work by what the golden router decides of packets: a recursion with verdicts known by hand."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from reference.setting_cases import v4

import npexplore as npx
from npexplore.errors import InputError, UnknownNameError
from npexplore.golden import forward_captures, load_router
from npexplore.golden.reasons import Reason
from npexplore.golden.router.policy import Policy
from npexplore.machine import Ingress, Machine, Pool, Start, WordMemory
from npexplore.machine.workload_sources import timed
from npexplore.packets.frames import read_frames, write_frames
from npexplore.solve.packet_verdicts import with_verdicts

CAPTURE = npx.bundled_path("data/captures/zeek_wikipedia.pcap")
LINKS = bytes.fromhex("00137fbe8cff00247ee01db50800")  # by port `office` of the example router
NS_PER_BYTE, REFUSAL_NS = 3, 700
HEAD, ICMP, QUOTED = 20, 8, 576  # bytes; an ICMP error has 576 at most (RFC 1812, 4.3.2.3)
FROM, ROUTED = "141.142.220.202", "208.80.152.2"


def kinds():
    """Return frames with what RFC 1812 says of each: the reason, and the bytes that leave."""
    rows = []
    for size in (8, 40, 900):
        udp = bytes.fromhex("00050006") + size.to_bytes(2, "big") + bytes(size - 6)
        echo = bytes.fromhex("0800f7ff00000000") + bytes(size - 8)
        length, error = HEAD + size, min(HEAD + ICMP + HEAD + size, QUOTED)
        rows += [
            (LINKS + v4("10.255.1.2", FROM, udp, ttl=64, protocol=17), Reason.NONE, length),
            (LINKS + v4(FROM, "10.9.9.9", udp, ttl=64, protocol=17), Reason.BLACKHOLE, 0),
            (LINKS + v4(FROM, "141.142.220.1", echo, ttl=64, protocol=1), Reason.LOCAL_DELIVERY, 0),
            (LINKS + v4(FROM, ROUTED, udp, ttl=1, protocol=17), Reason.TTL_EXPIRED, error),
        ]
    return rows


def line():
    """A thread that reads a packet, writes what leaves, and looks long at what is refused."""

    def forward(m, packet):
        m.wire.read(bytes=packet.packet_bytes)
        with m.branch(packet.drop_reason > 0):
            m.log.read(bytes=1)
        with m.branch(packet.sent_bytes > 0):
            m.wire.read(bytes=packet.sent_bytes)
        m.receive.free(bytes=packet.packet_bytes)

    costs = {"wire": NS_PER_BYTE, "log": REFUSAL_NS}
    wire, log = (WordMemory(name, word_bytes=1, word_s=ns * 1e-9) for name, ns in costs.items())
    pool = Pool("sender", 1, forward, start=Start("simultaneous"))
    return npx.design(Machine("line", pool, Ingress("receive", 10**7), [wire, log], tick=1e-9))


def test_work_by_verdict_is_lindleys_recursion(tmp_path):
    r, known = np.random.default_rng(3), kinds()
    chosen = r.integers(len(known), size=400)
    times = 1000 + np.cumsum(r.integers(0, 5000, len(chosen)))
    write_frames(tmp_path / "in.pcap", [known[k][0] for k in chosen], times.tolist())
    run = line().run(tmp_path / "in.pcap", router=load_router("office"), port="office")
    last, departures = 0, []
    for k, now in zip(chosen, times - times[0], strict=True):
        frame, reason, sent = known[k]
        last = max(last, int(now)) + NS_PER_BYTE * (len(frame) - len(LINKS) + sent) + REFUSAL_NS * (reason > 0)
        departures.append(last)
    assert np.round(run.packets.departure_s.to_numpy() * 1e9).tolist() == departures


def test_verdicts_are_those_of_the_table_of_drops(tmp_path):
    """Of captures of two ports, one of them reversed in time and faster than it was taken."""
    router = load_router("office")
    frames = [(t_ns, frame) for t_ns, frame in read_frames(CAPTURE)]
    files = {}
    for port, part in ((router.ports[0].name, frames[::2]), (router.ports[1].name, frames[1::2][::-1])):
        files[port] = tmp_path / f"{port}.pcap"
        write_frames(files[port], [frame for _, frame in part], sorted(t_ns for t_ns, _ in part))
    read = npx.read_capture([*files.values()])
    packets, rows = timed(read)
    found = with_verdicts(packets, rows, read, router, tuple(files), 10.0, any_station=True).columns
    forward_captures(router, files, drops=tmp_path / "drops.csv", any_station=True)
    table = pd.read_csv(tmp_path / "drops.csv")
    start = dict(zip(files, [0, read.file_packets[0]], strict=True))
    reasons = {start[row.port] + row.packet: row.reason for row in table.itertuples()}
    assert len(set(reasons.values())) > 3
    assert [Reason(code).name for code in found["drop_reason"]] == [reasons.get(row, "NONE") for row in rows.tolist()]
    silent = np.isin(found["drop_reason"], [Reason.MULTICAST, Reason.DIRECTED_BROADCAST])
    assert silent.any()
    assert (found["sent_bytes"][silent] == 0).all()
    assert (found["sent_bytes"] >= packets.packet_bytes)[found["drop_reason"] == 0].all()


@pytest.mark.parametrize(
    ("name", "knobs", "sends"),
    [("ixp2400", {}, "scratch"), ("ixp1200", {}, "me2|me_tx_gbe"), ("raw", {}, "stage4"), ("soclib", {}, "egress"),
     ("smartnic", {}, "pcie.up"), ("server", {"program": "tx", "egress": "same_port"}, "rx.down")],
)  # fmt: skip
def test_what_the_router_refuses_is_not_sent(name, knobs, sends, tmp_path):
    """It is not served where packets are sent, but for descriptors that a server's card reads."""
    router, apart = load_router("office"), 10**6  # so that no packet waits for another
    known = kinds()[8:]  # of 920 bytes; the answer to the last has 576
    write_frames(tmp_path / "in.pcap", [frame for frame, _, _ in known], [k * apart for k in range(len(known))])
    design = npx.design(name).with_(**knobs)
    packets = design.run(tmp_path / "in.pcap", router=router, port="office", by_resource=True).packets
    served = packets.filter(regex=rf"^({sends})\.service_s$").sum(axis=1).to_numpy()
    assert (served > 0.05 * served[0]).tolist() == [True, False, False, True]
    times = packets.latency_s.to_numpy()
    alone = design.run(tmp_path / "in.pcap").packets.latency_s.to_numpy()
    assert times[0] == alone[0]
    assert times[1] < times[3] < alone[3]
    assert times[1] < alone[1]


def test_gorilla_lets_only_what_is_sent_through_its_post_processor(tmp_path):
    known = kinds()[:5]  # the run ends with the last one's thread
    write_frames(tmp_path / "in.pcap", [frame for frame, _, _ in known], [k * 10**6 for k in range(len(known))])
    runs = [npx.design("gorilla").run(tmp_path / "in.pcap", router=router, port="office" if router else None)
            for router in (None, load_router("office"))]  # fmt: skip
    busy = [run.prediction.utilization["post"].busy for run in runs]
    assert busy[1] == pytest.approx(busy[0] / 2)  # of four packets one is forwarded, and one is answered


def test_a_program_that_asks_for_verdicts_takes_a_router_and_captures_that_can_be_read_again():
    with pytest.raises(UnknownNameError, match="drop_reason"):
        line().run(CAPTURE)
    two = [CAPTURE, npx.bundled_path("data/captures/zeek_pppoe.pcap")]
    with pytest.raises(InputError, match="one file for each port, got 2 for 1"):
        line().run(npx.read_capture(two), router=load_router("office"))


def test_limits_on_icmp_messages_count_on_the_clock_of_the_run(tmp_path):
    """100 a second, one at once: of packets 5 ms apart every other one is answered, ten times as fast one in twenty."""
    router = replace(load_router("office"), policy=Policy(icmp_per_second=100, icmp_burst=1))
    write_frames(tmp_path / "in.pcap", [kinds()[3][0]] * 40, [5_000_000 * k for k in range(40)])
    packets, rows = timed(read := npx.read_capture(tmp_path / "in.pcap"))
    for speed, every in ((1.0, 2), (10.0, 20)):
        found = with_verdicts(packets, rows, read, router, ("office",), speed)
        assert np.flatnonzero(found.columns["sent_bytes"]).tolist() == [*range(0, 40, every)]
