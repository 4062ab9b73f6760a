"""How processor time and memory grow with size: exponents over three decades, and the documented ones that bind them.

    cost ~ size^e        e: slope of ln cost over ln size by least squares, of all sizes or of the last three

The larger slope counts: a constant part hides growth among the first sizes. Memory is the peak of what Python and numpy
allocate (tracemalloc), without the inside of kernels; it is counted, and checked in every run. Time is the least of
five rounds, and is checked where benchmarks are measured; with `--benchmark-disable` sizes are a tenth, and run twice.
"""

import gzip
import tracemalloc
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pytest
from reference import capture_files
from reference.large_captures import APART, make_capture
from reference.timing import record, seconds

import npexplore
from npexplore.golden.lookup import LPMS, LPMS6
from npexplore.golden.router.route_file import read_routes
from npexplore.machine.machine import Machine, Pool
from npexplore.machine.petri import net
from npexplore.machine.resources import FifoServer
from npexplore.machine.resources.ingress import Ingress
from npexplore.packets import CaptureScan
from npexplore.packets.statistics import FlowCounter, destination_locality
from npexplore.packets.statistics.counting import CaptureCounts
from npexplore.packets.statistics.flows import TrainCounter
from npexplore.report.capture_page import read
from npexplore.solve.batch import Batch
from npexplore.solve.petri import find_markings
from npexplore.solve.queueing.mva import mva
from npexplore.solve.queueing_model import queueing_of
from npexplore.solve.simulate import simulate

ROUNDS, TOLERANCE, LAST = 5, 0.15, 3
PCAP_HEAD = 24  # bytes of a pcap file before its first record
DECADES = 10.0 ** np.linspace(0, 3, 7)


@dataclass(frozen=True)
class Growth:
    """What grows: `prepare` returns, for a size, the call whose cost is taken; time, memory: documented exponents."""

    prepare: Callable
    smallest: int
    time: float
    memory: float

    def sizes(self, shorter):
        return [max(1, round(self.smallest * factor / shorter)) for factor in DECADES]


def of_packets(size, folder):
    """The page of a capture: read, counted, its localities and trains."""
    path = folder / f"{size}.pcap"
    make_capture(path, size)

    def work():
        packets = read(path).packets
        destination_locality(packets)
        TrainCounter(packets).lengths(0.1)

    return work


def counted(path):
    """The call that counts the packets of a capture."""

    def work():
        counter = CaptureCounts()
        for table in CaptureScan(path):
            counter.add(table)

    return work


def of_reversed(size, folder):
    """A capture whose last packet comes first, counted: its bins of time grow towards the past."""
    path = folder / f"{size}.pcap"
    make_capture(path, size)
    content = path.read_bytes()
    records = np.frombuffer(content, np.uint8, offset=PCAP_HEAD).reshape(size, -1)
    path.write_bytes(content[:PCAP_HEAD] + records[::-1].tobytes())
    return counted(path)


def of_sections(size, folder):
    """A pcapng file of sections with an interface and a packet each, counted."""
    section = capture_files.section() + capture_files.interface() + capture_files.enhanced(bytes(60))
    path = folder / f"{size}.pcapng"
    path.write_bytes(section * size)
    return counted(path)


def of_compressed(size, folder):
    """A capture under gzip, counted."""
    plain, path = folder / f"{size}.pcap", folder / f"{size}.pcap.gz"
    make_capture(plain, size, bytes_below=APART)
    path.write_bytes(gzip.compress(plain.read_bytes(), 1))
    return counted(path)


def of_flows(size, folder):
    """Flows counted chunk by chunk where every packet is one of its own."""
    make_capture(folder / "flows.pcap", size, bytes_below=APART)
    chunks = list(CaptureScan(folder / "flows.pcap"))

    def work():
        counter = FlowCounter()
        for chunk in chunks:
            counter.add(chunk)
        assert len(counter.flows()) > 0.99 * size

    return work


def of_routes(size, folder):
    """A file of /24 routes read, and built into a trie."""
    path, values = folder / f"{size}.txt", np.random.default_rng(1).permutation(1 << 21)[:size]
    lines = [f"{1 + (v >> 16)}.{v >> 8 & 255}.{v & 255}.0/24 via 10.0.0.{v % 200 + 1}" for v in values.tolist()]
    path.write_text("\n".join(lines))

    def work():
        found = read_routes(path).four
        LPMS["trie20_4_8"].from_columns(found.value, found.length, found.leads)

    return work


def of_routes6(size, folder):
    """A file of IPv6 routes, 256 networks of each provider, read, and built into a trie."""
    path, values = folder / f"{size}.txt", np.random.default_rng(1).permutation(1 << 20)[:size]
    path.write_text(
        "\n".join(f"2a00:{v >> 8:x}:{v & 255:x}::/48 via 2001:db8::{v % 200 + 1:x}" for v in values.tolist())
    )

    def work():
        found = read_routes(path).six
        LPMS6["six_level"].from_columns(found.value, found.length, found.leads, word_bits=32)

    return work


def of_threads(size, folder):
    """As many packets, simulated with more threads in a closed network of three servers."""
    servers = {name: FifoServer(name, ns * 1e-9) for name, ns in (("core", 5), ("memory", 8), ("bus", 3))}

    def program(m, packet):
        m.core.serve()
        m.memory.serve()
        m.bus.serve()

    machine = Machine("closed", Pool("thread", size, program), Ingress("receive"), servers)
    load = npexplore.workload(packet_bytes=64)
    return lambda: simulate(machine, load, packets=100_000)


def of_stations(size, folder):
    """Exact mean value analysis of more stations, 50 customers at 20 points."""
    demands = np.random.default_rng(1).uniform(0.1, 1.0, (20, size))
    return lambda: mva(demands, 50)


def of_markings(size, folder):
    """The reachable markings of a ring of three places, (N + 2)(N + 1) / 2 of them with N tokens."""
    tokens = max(1, round((2 * size) ** 0.5 - 1.5))
    ring = net(
        timing="race", place={"a": tokens, "b": 0, "c": 0},
        transition={"t": "a -> b, for 1", "u": "b -> c, for 1", "v": "c -> a, for 1"},
    )  # fmt: skip
    return lambda: find_markings(ring)


def of_points(size, folder):
    """Queueing of design points of one structure, all together."""
    one = Batch.of([npexplore.design("ixp2400").demands(npexplore.workload(packet_bytes=64))])
    batch = one.scaled({"hash": np.linspace(0.5, 2.0, size)})
    return lambda: queueing_of(batch)


GROWTHS = {
    "packets": Growth(of_packets, 1_000, 1.0, 1.0),
    "packets, the last first": Growth(of_reversed, 1_000, 1.0, 1.0),
    "sections": Growth(of_sections, 50, 1.0, 1.0),
    "packets under gzip": Growth(of_compressed, 1_000, 1.0, 1.0),
    "flows": Growth(of_flows, 1_000, 1.15, 1.0),  # hash tables outgrow the caches: each access takes longer
    "routes": Growth(of_routes, 1_000, 1.0, 1.0),
    "routes of IPv6": Growth(of_routes6, 1_000, 1.0, 1.0),
    "threads": Growth(of_threads, 1, 0.1, 1.0),  # a heap of events, ln n, and a record of each thread
    "stations": Growth(of_stations, 2, 1.0, 1.0),
    "markings": Growth(of_markings, 100, 1.0, 1.0),
    "points": Growth(of_points, 10, 1.0, 1.0),
}


def exponent(sizes, costs):
    """Return the slope of ln cost over ln size; the larger of all sizes and of the last ones."""
    x, y = np.log(sizes), np.log(costs)
    return max(float(np.polyfit(x[first:], y[first:], 1)[0]) for first in (0, len(sizes) - LAST))


def peak_bytes(work):
    tracemalloc.start()
    work()
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return peak


@pytest.mark.parametrize("what", GROWTHS)
def test_growth(benchmark, what, tmp_path):
    growth = GROWTHS[what]
    sizes = growth.sizes(10 if benchmark.disabled else 1)

    def measure():
        times, peaks = [], []
        for size in sizes:
            work = growth.prepare(size, tmp_path)
            work()
            times.append(0.0 if benchmark.disabled else seconds(work, ROUNDS))
            peaks.append(peak_bytes(work))
        return times, peaks

    times, peaks = benchmark.pedantic(measure, rounds=1, iterations=1)
    memory = exponent(sizes, peaks)
    if not benchmark.disabled:
        time = exponent(sizes, times)
        record(benchmark, time_exponent=time, memory_exponent=memory, seconds_of_the_largest=times[-1])
        assert time <= growth.time + TOLERANCE, (sizes, times)
    assert memory <= growth.memory + TOLERANCE, (sizes, peaks)


@pytest.mark.parametrize(("power", "constant"), [(1.0, 1e3), (1.3, 0.0), (2.0, 1e6)])
def test_an_exponent_too_large_is_found_behind_a_constant(power, constant):
    sizes = 100.0 * DECADES
    assert (exponent(sizes, constant + sizes**power) > 1.0 + TOLERANCE) == (power > 1.0)
