"""IPv6 lookups as a ratio to pytricia, mixed forwarding as a ratio to dpkt with pytricia; label lookups and counters.

Routes are the full IPv6 table where it is at hand (NPEXPLORE_BENCH_ROUTES names another file), else the 20,000 that
come with the package. Addresses lie inside prefixes drawn at random.
"""

import gzip
import os
from pathlib import Path

import dpkt
import msgspec
import numpy as np
import pytest
from reference.router_cases6 import MIXED
from reference.timing import fastest, seconds

from npexplore.golden.flow_counters import FlowCounters
from npexplore.golden.ipv4.header import write_packet as write4
from npexplore.golden.ipv6.addresses import numbers_of, prefix_columns
from npexplore.golden.ipv6.header import write_packet as write6
from npexplore.golden.lookup import SixLevelTrie
from npexplore.golden.lookup.family import IPV6
from npexplore.golden.mpls.label_cache import LabelCache, LabelTable
from npexplore.golden.mpls.stack import Label, write_stack
from npexplore.golden.reasons import Reason
from npexplore.golden.router.batch import BatchForwarder, Frames
from npexplore.golden.router.configuration import resolve_router

ROOT = Path(__file__).parents[1]
FULL = ROOT.parent / "shared" / "data" / "routes" / "bart_full_table_v4_v6.txt.gz"
LOOKUPS = 1 << 20
FRAMES = 1 << 15  # a chunk of a capture


@pytest.fixture(scope="module")
def routes():
    """Columns (value, length, next hop) of the table."""
    path = Path(os.environ.get("NPEXPLORE_BENCH_ROUTES", FULL))
    path = path if path.exists() else ROOT / "data" / "routes" / "internet6_20000.txt.gz"
    with gzip.open(path, "rt") as file:
        value, length = prefix_columns(line for line in file.read().split() if ":" in line)
    return value, length, np.random.default_rng(1).integers(0, 200, len(value))


@pytest.fixture(scope="module")
def addresses(routes):
    value, length, _ = routes
    rng = np.random.default_rng(2)
    row = rng.integers(0, len(value), LOOKUPS)
    return value[row] | rng.integers(0, 2**64, (LOOKUPS, 2), dtype=np.uint64) & ~IPV6.masks()[length[row]]


@pytest.fixture(scope="module")
def table(routes):
    return SixLevelTrie.from_columns(*routes)


def test_build(benchmark, routes):
    table = benchmark.pedantic(lambda: SixLevelTrie.from_columns(*routes), rounds=2, warmup_rounds=1)
    benchmark.extra_info["routes"] = len(table)
    benchmark.extra_info["words"] = table.storage().total_words


def test_lookups_against_pytricia(benchmark, routes, table, addresses):
    pytricia = pytest.importorskip("pytricia")
    trie = pytricia.PyTricia(128)
    value, length, hop = routes
    for one, bits, next_hop in zip(numbers_of(value), length.tolist(), hop.tolist(), strict=True):
        trie.insert(one.to_bytes(16, "big"), bits, next_hop)
    out = np.empty(LOOKUPS, np.int32)
    benchmark.pedantic(table.lookup_many, (addresses, out), rounds=10, warmup_rounds=1)
    some = [address.to_bytes(16, "big") for address in numbers_of(addresses[:50_000])]
    get = trie.get
    assert [get(address) for address in some] == out[:50_000].tolist()
    theirs = seconds(lambda: [get(address) for address in some]) / len(some)
    ours = seconds(lambda: table.lookup_many(addresses, out)) / LOOKUPS
    benchmark.extra_info["million_lookups_per_s"] = LOOKUPS / fastest(benchmark) / 1e6
    benchmark.extra_info["pytricia_times_ours"] = theirs / ours


def test_reads(benchmark, table, addresses):
    reads = benchmark.pedantic(table.reads_many, (addresses,), rounds=3, warmup_rounds=1)
    benchmark.extra_info["million_lookups_per_s"] = LOOKUPS / fastest(benchmark) / 1e6
    benchmark.extra_info["words_per_lookup"] = float(reads.count.mean())


@pytest.fixture(scope="module")
def router():
    return resolve_router(MIXED)


@pytest.fixture(scope="module")
def frames(router):
    """A third each of IPv4, IPv6 and labelled packets (one to four labels, swapped or popped), 64 bytes and more."""
    rng = np.random.default_rng(3)
    port = router.ports[0]
    head = port.mac + port.peer_mac
    rows = []
    for number, host in enumerate(rng.integers(2, 1 << 16, FRAMES).tolist()):
        four = write4(11 << 24 | host, 20 << 24 | host, bytes(18))
        six = write6(0x20010DB80099 << 80 | host, 0x20010DB8000A << 80 | host << 64 | 5, bytes(18))
        if number % 3 == 0:
            rows.append((0, head + b"\x08\x00" + four, number))
        elif number % 3 == 1:
            rows.append((0, head + b"\x86\xdd" + six, number))
        else:
            pops = [Label(120)] * (host % 4)
            last = [Label(100)] if host & 8 else [Label(121)]
            below = four if host & 16 else six
            rows.append((0, head + b"\x88\x47" + write_stack([*pops, *last]) + below, number))
    return Frames.of(rows)


def by_dpkt(frame, four, six):
    """Forward one frame as a program made of dpkt and pytricia would; return its bytes."""
    ethernet = dpkt.ethernet.Ethernet(frame)
    packet = ethernet.data
    if isinstance(packet, dpkt.ip.IP):
        packet.ttl -= 1
        packet.sum = 0
        return four.get(packet.dst), bytes(packet)
    if isinstance(packet, dpkt.ip6.IP6):
        packet.hlim -= 1
        return six.get(packet.dst), bytes(packet)
    return None, bytes(packet)


def test_mixed_forwarding_against_dpkt(benchmark, router, frames):
    """The whole way of a packet, bytes written; the peer takes off stacks and looks up what lies below."""
    pytricia = pytest.importorskip("pytricia")
    batch = BatchForwarder(router)
    made = benchmark.pedantic(batch.forward, (frames,), rounds=20, warmup_rounds=2)
    assert (made.reason == 0).all()
    four, six = pytricia.PyTricia(32), pytricia.PyTricia(128)
    four.insert("20.0.0.0/8", 1)
    for route in router.six.routes:
        six.insert(route.value.to_bytes(16, "big"), route.length, route.port)
    some = [frames.packets[row] for row in range(3_000)]
    theirs = seconds(lambda: [by_dpkt(frame, four, six) for frame in some]) / len(some)
    rows = [(0, frame, 0) for frame in some[:1_500]]
    plain = seconds(lambda: [batch.reference.forward(*row) for row in rows]) / len(rows)
    ours = seconds(lambda: batch.forward(frames)) / FRAMES
    benchmark.extra_info["million_packets_per_s"] = FRAMES / fastest(benchmark) / 1e6
    benchmark.extra_info["dpkt_times_ours"] = theirs / ours
    benchmark.extra_info["reference_times_ours"] = plain / ours


@pytest.mark.parametrize("profile", ["linux", "rfc1812"])
def test_pipeline_with_errors(benchmark, profile):
    """One in twenty packets calls for an error, which kernels write; all are of IPv6."""
    open_to_all = [msgspec.structs.replace(port, listed_only=False) for port in MIXED.port]
    router = resolve_router(msgspec.structs.replace(MIXED, port=open_to_all))
    head = router.ports[0].mac + router.ports[0].peer_mac + b"\x86\xdd"
    rows = []
    for number, host in enumerate(np.random.default_rng(6).integers(2, 1 << 62, FRAMES).tolist()):
        target = (0x2003 << 112 if number % 40 == 3 else 0x20010DB8000A << 80) | host
        packet = write6(0x20010DB80099 << 80 | host, target, bytes(18), hop_limit=1 if number % 40 == 23 else 64)
        rows.append((0, head + packet, number))
    batch, frames = BatchForwarder(router, profile=profile), Frames.of(rows)
    made = benchmark.pedantic(batch.forward, (frames,), rounds=10, warmup_rounds=1)
    assert 0.04 < made.icmp.mean() < 0.06
    some = rows[:2_000]
    theirs = seconds(lambda: [batch.reference.forward(*row) for row in some]) / len(some)
    ours = seconds(lambda: batch.forward(frames)) / FRAMES
    benchmark.extra_info["million_packets_per_processor_s"] = 1e-6 / ours
    benchmark.extra_info["reference_times_ours"] = theirs / ours


def test_one_in_five_asks_for_a_neighbour(benchmark, router, frames):
    """Multicasts of a link, which the router does not forward, leave no work to the reference."""
    ask = bytes.fromhex("3333ff000001") + router.ports[0].peer_mac + b"\x86\xdd"
    ask += write6(0xFE80 << 112 | 9, 0xFF02 << 112 | 0x1FF000001, bytes(24), next_header=58, hop_limit=255)
    mixed = Frames.of([(0, ask if row % 5 == 0 else frames.packets[row], row) for row in range(FRAMES)])
    batch = BatchForwarder(router)
    made = benchmark.pedantic(batch.forward, (mixed,), rounds=10, warmup_rounds=1)
    assert (made.reason[::5] == Reason.MULTICAST6).all()
    some = [(0, mixed.packets[row], 0) for row in range(2_000)]
    theirs = seconds(lambda: [batch.reference.forward(*row) for row in some]) / len(some)
    ours = seconds(lambda: batch.forward(mixed)) / FRAMES
    benchmark.extra_info["reference_times_ours"] = theirs / ours
    assert benchmark.disabled or theirs > 20 * ours


def pushed_by_dpkt(frame, table):
    """Put the labels of a route on one frame of IPv4 as a program made of dpkt and pytricia would."""
    ethernet = dpkt.ethernet.Ethernet(frame)
    packet = ethernet.data
    packet.ttl -= 1
    packet.sum = 0
    outer, inner = table.get(packet.dst)
    stack = (outer << 12 | packet.ttl).to_bytes(4, "big") + (inner << 12 | 1 << 8 | packet.ttl).to_bytes(4, "big")
    return ethernet.dst + ethernet.src + b"\x88\x47" + stack + bytes(packet)


def test_pushing_two_labels_against_dpkt(benchmark, router):
    """What the first router of a labelled path does with packets of IPv4: look up, count down, put a stack on them."""
    pytricia = pytest.importorskip("pytricia")
    head = router.ports[0].mac + router.ports[0].peer_mac + b"\x08\x00"
    frames = Frames.of([(0, head + write4(20 << 24 | k, 21 << 24 | k, bytes(18)), k) for k in range(1, FRAMES + 1)])
    batch = BatchForwarder(router)
    made = benchmark.pedantic(batch.forward, (frames,), rounds=20, warmup_rounds=2)
    assert (made.reason == 0).all()
    table = pytricia.PyTricia(32)
    table.insert("21.0.0.0/8", (16, 17))
    some = [frames.packets[row] for row in range(3_000)]
    heads = [pushed_by_dpkt(frame, table)[12:42] for frame in some[:50]]  # dpkt writes a UDP checksum behind
    assert heads == [made.frames[row][12:42] for row in range(50)]
    theirs = seconds(lambda: [pushed_by_dpkt(frame, table) for frame in some]) / len(some)
    ours = seconds(lambda: batch.forward(frames)) / FRAMES
    benchmark.extra_info["million_packets_per_s"] = FRAMES / fastest(benchmark) / 1e6
    benchmark.extra_info["dpkt_times_ours"] = theirs / ours


def test_label_cache(benchmark):
    rng = np.random.default_rng(4)
    table = LabelTable()
    table.number[16:2064] = 1
    labels = 16 + np.minimum(rng.geometric(0.005, LOOKUPS), 2_000)
    cache = LabelCache(table, sets=64, bins=4)
    _, reads = benchmark.pedantic(cache.look_up_many, (labels,), rounds=5, warmup_rounds=1)
    benchmark.extra_info["million_lookups_per_s"] = LOOKUPS / fastest(benchmark) / 1e6
    benchmark.extra_info["hit_ratio"] = float((reads.count == 1).mean())


def test_flow_counters(benchmark):
    rng = np.random.default_rng(5)
    counters = FlowCounters()
    destination, source = rng.integers(0, 512, (2, LOOKUPS))
    benchmark.pedantic(counters.count_many, (destination, source), rounds=5, warmup_rounds=1)
    benchmark.extra_info["million_packets_per_s"] = LOOKUPS / fastest(benchmark) / 1e6
