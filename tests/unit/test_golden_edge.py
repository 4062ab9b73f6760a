"""A DiffServ edge from a file of rules: what it is made of, what is refused, what `route` does with captures."""

import csv
import json
import re

import pytest
from reference import capture_files as make
from reference.router_cases import packet

from npexplore.cli import main
from npexplore.errors import InputError
from npexplore.golden import forward_captures, load_router
from npexplore.golden.checksum import header_checksum_is_right
from npexplore.golden.ipv4.header import read_header
from npexplore.golden.ipv6.header import write_packet as write6
from npexplore.golden.police import Colour, DifferentiatedTwoRate, LeakyBucket, SingleRate, TwoRate
from npexplore.golden.schedule import SCHEDULERS
from npexplore.golden.token_rate import TokenRate
from npexplore.packets.scan import CaptureScan
from npexplore.paths import share

OFFICE = share("data", "captures", "zeek_wikipedia.pcap")
CONFIG = """
[[port]]
name = "p0"
address = "10.0.0.1/24"
mac = "02:00:00:00:00:00"
peer_mac = "02:00:00:00:01:00"
rate = "1Gb/s"
[[port]]
name = "p1"
address = "10.1.0.1/24"
mac = "02:00:00:00:00:01"
peer_mac = "02:00:00:00:01:01"
{port}
[[route]]
prefix = "0.0.0.0/0"
via = "10.1.0.2"
"""
EDGE = """
[diffserv]
rules = "rules.toml"
"""
BASE = """
[[rule]]
protocol = "udp"
class = "EF"
[[rule]]
protocol = "tcp"
class = "AF12"
"""
TO_P0 = bytes.fromhex("020000000000020000000100 0800")


def router(folder, rules=BASE, port='rate = "1Mb/s"', edge=EDGE):
    (folder / "rules.toml").write_text(rules)
    (folder / "router.toml").write_text(CONFIG.format(port=port) + edge)
    return load_router(folder / "router.toml")


def capture(folder, frames, gap_us=0):
    """Write frames with so many microseconds between them; return the path."""
    path = folder / "in.pcap"
    path.write_bytes(make.pcap([(1, gap_us * k, data, None) for k, data in enumerate(frames)]))
    return path


def frame(protocol, size=100, **fields):
    return TO_P0 + packet("10.0.0.7", "20.0.0.1", protocol=protocol, ttl=9, payload=bytes(size), **fields)


def read(path):
    """Return (time in ns, frame) of a capture's packets."""
    scan, rows = CaptureScan(path), []
    for table in scan:
        data, base = scan.window
        starts = (table["position"] - base).tolist()
        for at, size, time in zip(starts, table["captured"].tolist(), table["t_ns"].tolist(), strict=True):
            rows.append((time, data[at : at + size].tobytes()))
    return rows


def test_defaults(tmp_path):
    edge = router(tmp_path).edge
    assert edge.diffserv.classes == ("EF", "AF1", "AF2", "AF3", "AF4", "BE")
    port = edge.diffserv.ports[1]
    assert (port.scheduler, port.rate, port.largest_bytes) == ("priority_drr", TokenRate(1, 8000), 1518)
    assert [queue.weight for queue in port.queues] == [1518 * 2**k for k in (5, 4, 3, 2, 1, 0)]
    assert {queue.limits.packets for queue in port.queues} == {64}
    udp, tcp = edge.diffserv.treatments
    assert (udp.class_name, udp.policer, tcp.class_name, tcp.colour) == ("EF", None, "AF1", Colour.YELLOW)


def test_policers_queues_and_ports(tmp_path):
    edge = router(
        tmp_path,
        """
scheduler = "wrr"
classes = ["EF", "AF1", "BE"]
[[rule]]
class = "EF"
policer = "one"
[[rule]]
class = "EF"
policer = "one"
[[rule]]
class = "AF1"
policer = "own"
[[rule]]
class = "AF1"
policer = "own"
[[rule]]
dscp = 48
policer = "two"
[[rule]]
class = "BE"
policer = "apart"
[policer.one]
kind = "leaky_bucket"
rate = "62500pps"
burst = 8
tick_ns = 1000
[policer.own]
kind = "single_rate"
rate = "1Mb/s"
burst = 1000
excess = 2000
aware = true
drop = "never"
per_rule = true
[policer.two]
kind = "two_rate"
peak = "2Mb/s"
peak_burst = 3000
rate = "1Mb/s"
burst = 2000
drop = "yellow"
[policer.apart]
kind = "differentiated_two_rate"
rate = "1Mb/s"
burst = 2000
excess_rate = "500kb/s"
excess_burst = 4000
[queue.EF]
weight = 9
bytes = 5000
[port.p1]
scheduler = "drr"
shape = { rate = "500kb/s", burst = 2000 }
queue.EF = { weight = 9000 }
queue.AF1 = { weight = 4000, packets = 7, early = { low = [1, 1, 0], high = [6, 5, 4] } }
""",
    ).edge.diffserv
    one, own, two = LeakyBucket(TokenRate(1, 16_000, "packets"), 8, 1000), TokenRate(1, 8000), TokenRate(1, 4000)
    single = SingleRate(own, 1000, 2000, True)
    apart = DifferentiatedTwoRate(own, 2000, TokenRate(1, 16_000), 4000)
    assert edge.policers == (one, single, single, TwoRate(two, 3000, own, 2000), apart)
    assert [treatment.policer for treatment in edge.treatments] == [0, 0, 1, 2, 3, 4]
    assert [treatment.drop_from for treatment in edge.treatments[1:]] == [
        Colour.RED,
        None,
        None,
        Colour.YELLOW,
        Colour.RED,
    ]
    assert (edge.treatments[4].class_name, edge.treatments[4].dscp) == ("BE", 48)
    first, second = edge.ports
    assert ([queue.weight for queue in first.queues], first.scheduler) == ([9, 2, 1], "wrr")
    assert (first.queues[0].limits.packets, first.queues[0].limits.bytes) == (None, 5000)
    assert (second.scheduler, second.shaping.rate, second.shaping.burst) == ("drr", TokenRate(1, 16_000), 2000)
    assert second.queues[1].limits.packets == 7
    assert second.queues[1].limits.early.colours[0].high == 6
    assert second.queues[1].limits.early.idle_ns == 64 * 8000


def test_the_example_is_an_edge(tmp_path):
    rules = share("models", "rules", "edge.toml").read_text()
    assert len(router(tmp_path, rules).edge.diffserv.policers) == 1


POLICER = '[policer.p]\nkind = "leaky_bucket"\n'


@pytest.mark.parametrize(
    ("rules", "message"),
    [
        (BASE + 'policer = "voice"', r"rules.toml: rule\[1\]: policer 'voice' is unknown"),
        ('[[rule]]\nclass = "AF51"', r"rules.toml: rule\[0\]: class 'AF51' is unknown \(nearest: AF"),
        ('scheduler = "ddr"' + BASE, r"rules.toml: port 'p0': scheduler 'ddr' is unknown \(nearest: drr"),
        (BASE + POLICER + 'rate = "0pps"\nburst = 1', "rules.toml: policer 'p': rate must be greater than 0"),
        (BASE + POLICER + 'rate = "9 foo"\nburst = 1', "rules.toml: policer 'p': rate must be a number with a unit"),
        (BASE + POLICER + 'rate = "9pps"\nburst = 0', "rules.toml: policer 'p': depth of a leaky bucket"),
        (BASE + POLICER + 'rate = "9pps"', "rules.toml: .*burst"),
        (BASE + POLICER + 'rate = "9pps"\nburst = 1\nexcess = 3', "rules.toml: .*excess"),
        (BASE + '[queue.AF9]\nweight = 1', "rules.toml: queue: class 'AF9' is unknown"),
        (BASE + '[queue.EF]\nweight = 1517', "queue EF: quantum must be at least the largest frame of 1518 bytes"),
        (BASE + '[queue.EF]\npackets = 0', "queue EF: limit of a queue in packets must be at least 1, got 0"),
        (BASE + '[queue.EF]\nearly = {low=[5,5,5], high=[4,6,6]}', "queue EF: thresholds must be 0 <= low < high"),
        (BASE + '[port.p7]\nscheduler = "drr"', "rules.toml: port 'p7' is unknown"),
        (BASE + '[port.p1]\nscheduler = "wfqq"', r"port 'p1': scheduler 'wfqq' is unknown \(nearest: wfq"),
        (BASE + '[port.p1.queue.ZZ]\nweight = 1', "port 'p1': queue: class 'ZZ' is unknown"),
        (BASE + '[port.p1]\nshape = {rate="1Mb/s", burst=9}', "'p1': burst of a shaper must hold the largest packet"),
        ('classes = ["EF", "EF"]' + BASE, "classes must have names that differ"),
        ("rule = 3", "rules.toml: "),
    ],
)  # fmt: skip
def test_refused(tmp_path, rules, message):
    with pytest.raises(InputError, match=message) as caught:
        router(tmp_path, rules)
    assert "\n" not in str(caught.value)


def test_a_wrong_rate_of_a_link_names_its_port(tmp_path):
    with pytest.raises(InputError, match=r"router.toml: port\[1\] 'p1': rate must be greater than 0, got '0Gb/s'"):
        router(tmp_path, port='rate = "0Gb/s"')


def test_a_port_needs_a_rate(tmp_path):
    with pytest.raises(InputError, match="port 'p1': needs a rate"):
        router(tmp_path, port="")


def test_captures_cannot_be_compared(tmp_path):
    with pytest.raises(InputError, match="cannot be compared"):
        forward_captures(router(tmp_path), {"p0": OFFICE}, compare=tmp_path)


def test_the_higher_class_leaves_first_marked_and_in_time(tmp_path):
    """Six frames within 5 us on a link of 1 Mb/s: the first is on its way, then the EF ones, then the others."""
    frames = [frame(6), frame(6), frame(17), frame(1), frame(17), frame(6, tos=3)]
    done = forward_captures(router(tmp_path), {"p0": capture(tmp_path, frames, 1)}, out=tmp_path / "out")
    rows = read(tmp_path / "out" / "p1.pcap")
    wire = 8 + 14 + 20 + 100 + 4
    starts = [1_000_000_000 + k * (wire + 12) * 8000 for k in range(6)]
    assert [time for time, _ in rows] == [start + wire * 8000 for start in starts]
    headers = [read_header(data[14:]) for _, data in rows]
    assert [header.protocol for header in headers] == [6, 17, 17, 6, 6, 1]
    assert [header.tos for header in headers] == [12 << 2, 46 << 2, 46 << 2, 12 << 2, 12 << 2 | 3, 0]
    assert all(header_checksum_is_right(data[14:]) for _, data in rows)
    assert done.tally.forwarded == 6


def test_what_the_edge_drops_is_told(tmp_path):
    rules = BASE.replace('class = "EF"', 'class = "EF"\npolicer = "p"') + POLICER + 'rate = "1pps"\nburst = 2\n'
    rules += "[queue.AF1]\npackets = 1\n"
    frames = [frame(17), frame(6), b"x" * 60, frame(17), frame(6), frame(17), frame(6)]
    source = capture(tmp_path, frames, 1)
    done = forward_captures(router(tmp_path, rules), {"p0": source}, out=tmp_path / "out", drops=tmp_path / "d.csv")
    with (tmp_path / "d.csv").open() as file:
        rows = [(row["packet"], row["reason"], row["time_ns"]) for row in csv.DictReader(file)]
    assert rows == [
        ("2", "NOT_IPV4", "1000002000"), ("4", "QUEUE_FULL", "1000004000"), ("5", "POLICED", "1000005000"),
        ("6", "QUEUE_FULL", "1000006000"),
    ]  # fmt: skip
    assert {row["reason"]: row["packets"] for row in done.tally.drops()}["QUEUE_FULL"] == 2
    assert done.tally.forwarded == len(read(tmp_path / "out" / "p1.pcap")) == 3
    sent = {row["port"]: row["out"] for row in done.tally.ports()}
    assert sent == {"p0": 0, "p1": 3}
    assert sum(row["packets"] for row in done.tally.ways()) == 7
    classes = {row["class"]: row for row in done.document()["diffserv"]["classes"]}
    assert (classes["EF"]["offered"], classes["EF"]["policed"], classes["AF1"]["queue_full"]) == (3, 1, 2)


def test_a_packet_in_pieces_is_lost_when_all_of_them_are(tmp_path):
    rules = BASE + "[queue.AF1]\npackets = 1\n"
    config = 'rate = "1Mb/s"\nmtu = 100'
    source = capture(tmp_path, [frame(6, 200)] * 3, 1)
    done = forward_captures(router(tmp_path, rules, config), {"p0": source}, out=tmp_path / "out")
    assert len(done.edge.outcome.sent) == 9
    assert done.edge.outcome.sent.sum() == len(read(tmp_path / "out" / "p1.pcap")) == 2
    assert done.tally.forwarded == 2
    assert {row["reason"]: row["packets"] for row in done.tally.drops()} == {"QUEUE_FULL": 1}


@pytest.mark.parametrize("scheduler", SCHEDULERS)
def test_without_rules_that_match_the_edge_is_a_plain_link(tmp_path, scheduler):
    """All packets in one class, a queue that holds them all: the captures are those of the router without the edge."""
    rules = f'scheduler = "{scheduler}"\n[[rule]]\nsource = "1.2.3.4"\n[queue.BE]\npackets = 100000\n'
    outputs = []
    for name, edge in (("plain", ""), ("edge", EDGE)):
        forward_captures(
            router(tmp_path, rules, edge=edge), {"p0": OFFICE}, out=tmp_path / name, drops=tmp_path / f"{name}.csv",
            any_station=True,
        )  # fmt: skip
        outputs.append(((tmp_path / name / "p1.pcap").read_bytes(), (tmp_path / f"{name}.csv").read_text()))
    assert outputs[0] == outputs[1]


def test_command_prints_classes(tmp_path, capsys):
    router(tmp_path)
    source = capture(tmp_path, [frame(17), frame(6)])
    command = ["route", "--config", str(tmp_path / "router.toml"), "--in", f"p0={source}", "--out", str(tmp_path / "o")]
    assert main(command) == 0
    assert "queue full" in capsys.readouterr().out
    assert main([*command, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)["diffserv"]
    assert [row["class"] for row in found["classes"]] == ["EF", "AF1"]
    assert [row["rule"] for row in found["rules"]] == [0, 1, -1]
    assert found["rules"][2]["delay_mean_ns"] is None


def test_nothing_arrives(tmp_path):
    done = forward_captures(router(tmp_path), {"p0": capture(tmp_path, [])}, out=tmp_path / "out")
    assert done.document()["diffserv"]["classes"] == []
    assert list((tmp_path / "out").iterdir()) == []


def test_what_is_not_ipv4_keeps_its_bytes(tmp_path):
    """Code points are written into headers of IPv4 alone: not into IPv6, nor into a stack that looks like a header."""
    plain = CONFIG.format(port='rate = "1Mb/s"')
    config = re.sub(r'(address = "10.(.).0.1/24")', r'\1\naddress6 = "2001:db8:\2::1/64"', plain)
    config += '[[route]]\nprefix = "::/0"\nvia = "2001:db8:1::2"\n'
    config += f'[[route]]\nprefix = "20.0.0.0/8"\nvia = "10.1.0.2"\npush = [{0x45000}]\n'
    (tmp_path / "rules.toml").write_text('[[rule]]\nclass = "EF"\n')
    (tmp_path / "router.toml").write_text(config + EDGE)
    six = write6(0x20010DB8 << 96 | 7, 0x2002 << 112, bytes(60), hop_limit=9)
    frames = [TO_P0[:12] + b"\x86\xdd" + six, frame(17), TO_P0 + packet("10.0.0.7", "30.0.0.1", ttl=9)]
    forward_captures(load_router(tmp_path / "router.toml"), {"p0": capture(tmp_path, frames)}, out=tmp_path / "out")
    sent = sorted((data for _, data in read(tmp_path / "out" / "p1.pcap")), key=lambda data: data[12:14])
    four, other, labelled = (data[14:] for data in sent)
    assert (four[1], other) == (46 << 2, six[:7] + b"\x08" + six[8:])
    below = packet("10.0.0.7", "20.0.0.1", protocol=17, ttl=8, payload=bytes(100))
    assert labelled == bytes([0x45, 0, 1, 8]) + below


BUCKET = """
scheduler = "strict_priority"
[policer.meter]
kind = "single_rate"
rate = "8b/s"
burst = 20000
excess = 0
drop = "never"
{unit}
[[rule]]
protocol = "udp"
class = "AF1"
policer = "meter"
"""


@pytest.mark.parametrize("unit", ["", "ip", "frame", "line"])
def test_policers_count_the_bytes_that_they_say(tmp_path, unit):
    sizes = [0, 1, 17, 18, 19, 22, 200, 1472, 50, 900] * 5  # of the payload: IP packets of 20 to 1492 bytes
    said = f'bytes = "{unit}"' if unit else ""
    made = router(tmp_path, BUCKET.format(unit=said), 'rate = "1Gb/s"')
    forward_captures(made, {"p0": capture(tmp_path, [frame(17, size) for size in sizes])}, out=tmp_path / "out")
    of = {"": lambda ip: ip, "ip": lambda ip: ip, "frame": lambda ip: ip + 14, "line": lambda ip: max(ip + 18, 64)}
    tokens, expected = 20_000, []
    for size in sizes:
        counted = of[unit](20 + size)
        expected.append(10 if counted <= tokens else 14)  # AF11 or, red, AF13
        tokens -= counted if counted <= tokens else 0
    assert [data[15] >> 2 for _, data in read(tmp_path / "out" / "p1.pcap")] == expected
