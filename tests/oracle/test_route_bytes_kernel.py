"""By what bytes policers and shapers count, held end to end: `npexplore route` beside nftables and tc of the kernel.

nftables' limit counts IP bytes, tc's tbf whole frames; `stab overhead 4 mpu 64` makes them as long as on the line, with
padding and check sequence.
"""

import time

import numpy as np
import pytest
from reference import capture_files as make
from reference.kernel_diffserv import ON, Pipe
from reference.repeated import in_some_run

from npexplore.cli import main
from npexplore.golden.ipv4.header import write_packet
from npexplore.packets import read_capture

DEPTH, RATE = 20_000, 100  # bytes, bytes/s: nothing to speak of comes in while packets are judged
LIMIT = f"limit rate over 1 bytes/second burst {DEPTH - 1} bytes drop"  # its bucket holds a second more
UNITS = ("ip", "frame", "line")
ROUTER = """
[[port]]
name = "a"
mac = "02:00:00:00:00:01"
peer_mac = "02:00:00:00:01:01"
address = "10.0.0.1/24"
rate = "100Gb/s"
[[port]]
name = "b"
mac = "02:00:00:00:00:02"
peer_mac = "02:00:00:00:01:02"
address = "10.1.0.1/24"
rate = "100Gb/s"
[[route]]
prefix = "0.0.0.0/0"
via = "10.1.0.2"
[diffserv]
rules = "rules.toml"
"""
QUEUE = """
scheduler = "drr"
classes = ["BE"]
[queue.BE]
packets = 100_000
"""
POLICER = (
    QUEUE
    + """
[policer.p]
kind = "single_rate"
rate = "{bits}b/s"
burst = {depth}
excess = 0
drop = "red"
bytes = "{unit}"
[[rule]]
class = "BE"
policer = "p"
"""
)
SHAPER = (
    QUEUE
    + """
[port.b]
shape = {{ rate = "{bits}b/s", burst = 10_000 }}
bytes = "{unit}"
[[rule]]
class = "BE"
"""
)
SHAPED_BYTES_S = 100_000  # slow: whoever sends must be ahead of the shaper on any machine
TBF = f"tbf rate {SHAPED_BYTES_S}bps burst 10000 limit 100000000"
SHAPERS = {
    "frame": [f"qdisc add dev r1 root {TBF}"],
    "line": [f"qdisc add dev r1 root stab overhead 4 mpu 64 {TBF}"],
}


@pytest.fixture
def kernel():
    """Pipes are of the kernel: tests that want them are left out where namespaces may not be made."""


def packets(sizes):
    return [write_packet(k + (9 << 24), 20 << 24, bytes(size - 20)) for k, size in enumerate(sizes)]


def routed(folder, sizes, rules):
    """Return (number, departure in ns) of each packet that `npexplore route` sends of those that all come at time 0."""
    folder.mkdir(exist_ok=True)
    (folder / "router.toml").write_text(ROUTER)
    (folder / "rules.toml").write_text(rules)
    frames = [b"\2\0\0\0\0\1" + make.ethernet(one)[6:] for one in packets(sizes)]
    (folder / "in.pcap").write_bytes(make.pcap([(0, 0, one, None) for one in frames]))
    words = ["--config", folder / "router.toml", "--in", f"a={folder / 'in.pcap'}", "--out", folder / "out"]
    assert main(["route", *map(str, words)]) == 0
    sent = read_capture(folder / "out" / "b.pcap").columns
    return list(zip((sent["src"] - (9 << 24)).tolist(), sent["t_ns"].tolist(), strict=True))


def test_a_policer_counts_the_bytes_that_the_kernel_counts(kernel, tmp_path):
    random = np.random.default_rng(2697)
    sizes = np.r_[np.exp(random.uniform(np.log(40), np.log(1500), 160)), np.full(20, 40)].astype(int).tolist()
    ours = {}
    for one in UNITS:
        rules = POLICER.format(bits=8 * RATE, depth=DEPTH, unit=one)
        ours[one] = [number for number, _ in routed(tmp_path / one, sizes, rules)]

    def check():
        with Pipe([LIMIT, ON]) as pipe:
            for packet in packets(sizes):
                pipe.source.send(bytes(12) + b"\x08\x00" + packet)
            left = [int.from_bytes(frame[27:30], "big") for frame in pipe.left(len(ours["ip"]), patience_s=2)]
        assert left == ours["ip"]

    in_some_run(check)
    assert len({tuple(numbers) for numbers in ours.values()}) == 3  # each would be taken for no other


@pytest.mark.parametrize("unit", SHAPERS)
def test_a_shaper_counts_the_bytes_that_the_kernel_counts(kernel, tmp_path, unit):
    """Packets that all wait leave when the kernel's do, which by another unit would be 100 ms or more away."""
    sizes = [40] * 1500 + [576] * 20 + [1500] * 10
    ours = {}
    for one in UNITS:
        rules = SHAPER.format(bits=8 * SHAPED_BYTES_S, unit=one)
        ours[one] = np.array([when for _, when in routed(tmp_path / one, sizes, rules)])

    def check():
        with Pipe([ON], SHAPERS[unit]) as pipe:
            pipe.stamp()
            begin = time.time_ns()
            for packet in packets(sizes):
                pipe.source.send(bytes(12) + b"\x08\x00" + packet)
            left = np.array([when for when, _ in pipe.left_when(len(sizes))]) - begin
        off = {one: abs(when - left)[-30:].max() for one, when in ours.items()}
        assert min(off, key=off.get) == unit
        assert off[unit] < 50e6

    in_some_run(check)
