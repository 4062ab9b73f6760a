"""The golden router's lookups, updates and batch functions, as ratios of one run: to pytricia and to the references.

Routes are the full Internet table where it is at hand (NPEXPLORE_BENCH_ROUTES names another file), else the 20,000 that
come with the package. Addresses lie inside prefixes drawn at random.
"""

import gzip
import os
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from reference.timing import fastest, record, seconds

from npexplore.golden.checksum import header_checksum_is_right, header_checksums_are_right
from npexplore.golden.columns import Packets
from npexplore.golden.ipv4.addresses import prefix_columns, prefix_text
from npexplore.golden.ipv4.delivery import Links, destination_kinds
from npexplore.golden.ipv4.header import read_headers, write_packet
from npexplore.golden.ipv4.martians import martian_list, martian_many
from npexplore.golden.ipv4.ttl import decrement_ttls
from npexplore.golden.ipv4.validate import validate_ipv4, validate_ipv4_many
from npexplore.golden.linux.settings import LinuxSettings
from npexplore.golden.lookup import LPMS
from npexplore.golden.router.batch import BatchForwarder, Frames
from npexplore.golden.router.configuration import Port, RouteColumns, Router
from npexplore.golden.router.route_file import read_routes
from npexplore.golden.router.routes import Hop, NextHop

ROOT = Path(__file__).parents[1]
FULL = ROOT.parent / "shared" / "data" / "routes" / "bart_full_table_v4_v6.txt.gz"
LOOKUPS = 1 << 20
TABLES = ["dir24_8", "trie20_4_8", "binary_trie"]


@pytest.fixture(scope="module")
def routes():
    """Columns (value, length, next hop) of the table."""
    path = Path(os.environ.get("NPEXPLORE_BENCH_ROUTES", FULL))
    path = path if path.exists() else ROOT / "data" / "routes" / "internet_20000.txt.gz"
    with gzip.open(path, "rt") as file:
        value, length = prefix_columns(line for line in file.read().split() if ":" not in line)
    return value, length, np.random.default_rng(1).integers(0, 200, len(value))


@pytest.fixture(scope="module")
def addresses(routes):
    value, length, _ = routes
    rng = np.random.default_rng(2)
    row = rng.integers(0, len(value), LOOKUPS)
    inside = rng.integers(0, 2**32, LOOKUPS, dtype=np.int64) & ((1 << (32 - length[row].astype(np.int64))) - 1)
    return (value[row].astype(np.int64) + inside).astype(np.uint32)


@pytest.fixture(scope="module")
def tables(routes):
    return {name: LPMS[name].from_columns(*routes) for name in TABLES}


@pytest.fixture(scope="module")
def peer(routes):
    """The same routes in pytricia, a Patricia trie in C that answers one address a call."""
    pytricia = pytest.importorskip("pytricia")
    trie = pytricia.PyTricia(32)
    for value, length, hop in zip(*(column.tolist() for column in routes), strict=True):
        trie.insert(value.to_bytes(4, "big"), length, hop)
    return trie


def test_a_file_of_routes(benchmark, routes, tmp_path):
    """A file read into a router's columns, against pytricia filled line by line: text to a table in both."""
    value, length, hop = routes
    lines = [
        f"{prefix_text(v, n)} via 10.0.0.{1 + h}"
        for v, n, h in zip(value.tolist(), length.tolist(), (hop % 200 + 1).tolist(), strict=True)
    ]
    (tmp_path / "routes.txt").write_text("\n".join(lines))

    def theirs():
        table = pytest.importorskip("pytricia").PyTricia(32)
        with (tmp_path / "routes.txt").open() as file:
            for line in file:
                prefix, _, via = line.split()
                table[prefix] = via

    def ours():
        found = read_routes(tmp_path / "routes.txt").four
        LPMS["trie20_4_8"].from_columns(found.value, found.length, found.leads)

    benchmark.pedantic(ours, rounds=3, warmup_rounds=1)
    took, other = fastest(benchmark), seconds(theirs)
    record(benchmark, million_routes_per_s=len(lines) / took / 1e6, pytricia_times_ours=other / took)


@pytest.mark.parametrize("name", TABLES)
def test_build(benchmark, routes, name):
    table = benchmark.pedantic(lambda: LPMS[name].from_columns(*routes), rounds=3, warmup_rounds=1)
    benchmark.extra_info["routes"] = len(table)
    benchmark.extra_info["megabytes"] = table.nbytes / 1e6


@pytest.mark.parametrize("name", TABLES)
def test_lookups_against_pytricia(benchmark, tables, peer, addresses, name):
    table, out = tables[name], np.empty(LOOKUPS, np.int32)
    benchmark.pedantic(table.lookup_many, (addresses, out), rounds=10, warmup_rounds=1)
    some = [address.to_bytes(4, "big") for address in addresses[:50_000].tolist()]
    assert [peer.get(address) for address in some] == out[:50_000].tolist()
    get = peer.get
    theirs = seconds(lambda: [get(address) for address in some]) / len(some)
    ours = seconds(lambda: table.lookup_many(addresses, out)) / LOOKUPS
    benchmark.extra_info["million_lookups_per_s"] = LOOKUPS / fastest(benchmark) / 1e6
    benchmark.extra_info["pytricia_times_ours"] = theirs / ours


@pytest.mark.parametrize("name", TABLES)
def test_update(benchmark, routes, name):
    """Replace, remove and insert again 1,000 routes of the table, drawn at random, on a table that is thrown away."""
    table = LPMS[name].from_columns(*routes)
    value, length, _ = routes
    rows = np.random.default_rng(3).choice(len(value), 1_000, replace=False)
    prefixes = [prefix_text(int(value[row]), int(length[row])) for row in rows]
    times = []

    def timed(update, *args):
        began = time.perf_counter()
        update(*args)
        times.append(time.perf_counter() - began)

    def all_updates():
        for prefix in prefixes:
            timed(table.insert, prefix, 5)
            timed(table.remove, prefix)
            timed(table.insert, prefix, 6)

    benchmark.pedantic(all_updates, rounds=1, warmup_rounds=1)
    benchmark.extra_info["median_microseconds"] = float(np.median(times)) * 1e6
    benchmark.extra_info["p99_microseconds"] = float(np.quantile(times, 0.99)) * 1e6


def test_reads(benchmark, tables, addresses):
    reads = benchmark.pedantic(tables["trie20_4_8"].reads_many, (addresses,), rounds=3, warmup_rounds=1)
    benchmark.extra_info["million_lookups_per_s"] = LOOKUPS / fastest(benchmark) / 1e6
    benchmark.extra_info["words_per_lookup"] = float(reads.count.mean())


@pytest.fixture(scope="module")
def packets():
    """A million packets of 20 bytes, one behind the other."""
    rng = np.random.default_rng(4)
    one = [write_packet(int(a), int(b)) for a, b in rng.integers(1 << 24, 1 << 30, (1 << 14, 2))]
    block = Packets.of(one)
    repeats = LOOKUPS // len(block)
    count = repeats * len(block)
    return Packets(np.tile(block.buffer, repeats), np.arange(count) * 20, np.full(count, 20))


BATCHES = {
    "checksum": (header_checksums_are_right, header_checksum_is_right),
    "validate": (validate_ipv4_many, validate_ipv4),
}


@pytest.mark.parametrize("name", sorted(BATCHES))
def test_verdicts_against_reference(benchmark, packets, name):
    batch, reference = BATCHES[name]
    benchmark.pedantic(batch, (packets,), rounds=10, warmup_rounds=1)
    some = [packets[row] for row in range(5_000)]
    theirs = seconds(lambda: [reference(packet) for packet in some]) / len(some)
    ours = seconds(lambda: batch(packets)) / len(packets)
    benchmark.extra_info["million_headers_per_s"] = len(packets) / fastest(benchmark) / 1e6
    benchmark.extra_info["reference_times_ours"] = theirs / ours


def test_fields(benchmark, packets):
    benchmark.pedantic(read_headers, (packets,), rounds=5, warmup_rounds=1)
    benchmark.extra_info["million_headers_per_s"] = len(packets) / fastest(benchmark) / 1e6


def test_time_to_live(benchmark, packets):
    benchmark.pedantic(lambda: decrement_ttls(packets.copy(), in_place=True), rounds=5, warmup_rounds=1)
    benchmark.extra_info["million_headers_per_s"] = len(packets) / fastest(benchmark) / 1e6


def test_addresses(benchmark, packets):
    header, martians = read_headers(packets), martian_list()
    links = Links(tuple(10 << 24 | port << 16 | 1 for port in range(8)), (24,) * 8)

    def both():
        martian_many(header.source, header.destination, martians)
        destination_kinds(header.destination, links)

    benchmark.pedantic(both, rounds=5, warmup_rounds=1)
    benchmark.extra_info["million_packets_per_s"] = len(packets) / fastest(benchmark) / 1e6


FRAMES = 1 << 15  # a chunk of a capture
MIXES = {
    "60 bytes": (60,),
    "60, 590 and 1514 bytes (7:4:1)": (60,) * 7 + (590,) * 4 + (1514,),
}  # without check sequence


@pytest.fixture(scope="module")
def router(routes):
    """A router of 8 ports over the table's routes to where anybody may send."""
    ports = tuple(
        Port(k, f"p{k}", 10 << 24 | k << 16 | 1, 24, 1500, bytes([2, 0, 0, 0, 0, k]), bytes([2, 0, 0, 0, 1, k]))
        for k in range(8)
    )
    value, length, _ = routes
    public = (value >= 11 << 24) & (value < 127 << 24) | (value >= 128 << 24) & (value < 224 << 24)
    value, length = value[public], length[public]
    port = np.arange(len(value)) % 8
    via = (10 << 24 | port << 16 | 2).astype(np.uint32)
    return Router(ports, RouteColumns(value, length, np.zeros(len(value), np.uint8), port.astype(np.int16), via))


@pytest.fixture(scope="module", params=sorted(MIXES))
def frames(request, router):
    """Plain packets in the mix's proportions, from everywhere to destinations of the table."""
    rng = np.random.default_rng(5)
    rows = []
    routes = router.routes
    for number, row in enumerate(rng.integers(0, len(routes), FRAMES).tolist()):
        port, size = router.ports[number % 8], MIXES[request.param][number % len(MIXES[request.param])]
        target = int(routes.value[row]) + int(rng.integers(1 << 32 - int(routes.length[row])))
        data = write_packet(int(rng.integers(11 << 24, 120 << 24)), target, bytes(size - 34))
        rows.append((port.number, port.mac + port.peer_mac + b"\x08\x00" + data, number))
    return Frames.of(rows)


def reference_seconds(batch, frames):
    """Return the processor time of the reference for one of some frames."""
    some = [(int(frames.port[row]), frames.packets[row], 0) for row in range(2_000)]
    return seconds(lambda: [batch.reference.forward(*row) for row in some]) / len(some)


@pytest.mark.parametrize("profile", ["linux", "rfc1812"])
def test_pipeline_against_reference(benchmark, router, frames, profile):
    """The whole way of a packet, bytes written; nearly all go by the kernels."""
    batch = BatchForwarder(router, profile=profile)
    made = benchmark.pedantic(batch.forward, (frames,), rounds=20, warmup_rounds=2)
    assert (made.reason == 0).mean() > 0.99
    theirs = reference_seconds(batch, frames)
    ours = seconds(lambda: batch.forward(frames)) / FRAMES
    benchmark.extra_info["million_packets_per_s"] = FRAMES / fastest(benchmark) / 1e6
    benchmark.extra_info["million_packets_per_processor_s"] = 1e-6 / ours
    benchmark.extra_info["reference_packets_per_s"] = 1 / theirs
    benchmark.extra_info["reference_times_ours"] = theirs / ours


@pytest.mark.parametrize("policy", [0, 1])
def test_several_next_hops(benchmark, router, frames, policy):
    """All routes lead to one of four next hops, each flow by its hash."""
    several = tuple(NextHop(Hop(0, port, (10 << 24 | port << 16) + 2), 1 + port) for port in range(4))
    everywhere = replace(router.routes, next_hops=np.ones(len(router.routes), np.int32))
    shared = replace(
        router, routes=everywhere, next_hops=((), several), linux=LinuxSettings(fib_multipath_hash_policy=policy)
    )
    batch, one = BatchForwarder(shared), BatchForwarder(router)
    made = benchmark.pedantic(batch.forward, (frames,), rounds=10, warmup_rounds=2)
    assert (made.reason == 0).mean() > 0.99
    benchmark.extra_info["million_packets_per_s"] = FRAMES / fastest(benchmark) / 1e6
    benchmark.extra_info["one_next_hop_times_ours"] = seconds(lambda: one.forward(frames)) / fastest(benchmark)


@pytest.fixture(scope="module")
def one_in_five(router):
    """Packets of 60 bytes, of which one in five calls for an error, and one in eight goes back by its port."""
    rng, routes, rows = np.random.default_rng(6), router.routes, []
    for number, (row, back) in enumerate(rng.integers(0, len(routes), (FRAMES, 2)).tolist()):
        port, source = router.ports[number % 8], int(routes.value[back]) + 1
        target = 200 << 24 if number % 10 == 3 else int(routes.value[row]) + 1
        data = write_packet(source, target, bytes(26), ttl=1 if number % 10 == 7 else 64)
        rows.append((port.number, port.mac + port.peer_mac + b"\x08\x00" + data, number))
    return Frames.of(rows)


@pytest.mark.parametrize("profile", ["linux", "rfc1812"])
def test_pipeline_with_errors(benchmark, router, one_in_five, profile):
    """Errors are written by kernels, in both profiles; a limit on them leaves them to the reference."""
    batch = BatchForwarder(router, profile=profile)
    made = benchmark.pedantic(batch.forward, (one_in_five,), rounds=10, warmup_rounds=1)
    assert 0.1 < made.icmp.mean() < 0.25
    theirs = reference_seconds(batch, one_in_five)
    ours = seconds(lambda: batch.forward(one_in_five)) / FRAMES
    benchmark.extra_info["million_packets_per_s"] = FRAMES / fastest(benchmark) / 1e6
    benchmark.extra_info["million_packets_per_processor_s"] = 1e-6 / ours
    benchmark.extra_info["reference_times_ours"] = theirs / ours


@pytest.mark.parametrize("options", [b"\1\1\1\1", b"\x94\4\0\0"], ids=["no operation", "router alert"])
def test_one_in_five_has_options(benchmark, router, options):
    """Options that are sent on as they are leave a packet to the kernels."""
    rng, routes, rows = np.random.default_rng(7), router.routes, []
    for number, row in enumerate(rng.integers(0, len(routes), FRAMES).tolist()):
        port, target = router.ports[number % 8], int(routes.value[row]) + 1
        data = write_packet(77 << 24, target, bytes(26), options=options if number % 5 == 0 else b"")
        rows.append((port.number, port.mac + port.peer_mac + b"\x08\x00" + data, number))
    batch, frames = BatchForwarder(router), Frames.of(rows)
    benchmark.pedantic(batch.forward, (frames,), rounds=10, warmup_rounds=1)
    theirs, ours = reference_seconds(batch, frames), seconds(lambda: batch.forward(frames)) / FRAMES
    record(benchmark, million_packets_per_processor_s=1e-6 / ours, reference_times_ours=theirs / ours)
    assert benchmark.disabled or theirs > 20 * ours
