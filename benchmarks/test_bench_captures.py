"""How fast captures are read and counted, as ratios taken in one run: to dpkt's decoding, to capinfos, to the disk.

The file has small packets (80 bytes, UDP) of 40,000 flows. Set NPEXPLORE_BENCH_PACKETS for another size (goals are
stated for 1 million packets in a process of its own, for 10 million against capinfos, and for 10 million where every
packet is a flow of its own). Eight files stand for 100; they want a machine with two cores and nothing else to do.
"""

import os
import resource
import shutil
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import dpkt
import numpy as np
import pytest
from reference.large_captures import APART, SIZE, make_capture
from reference.timing import fastest, held, seconds

from npexplore.packets import CaptureScan, read_capture
from npexplore.packets.statistics import count_capture
from npexplore.packets.statistics.several import count_captures

PACKETS = int(os.environ.get("NPEXPLORE_BENCH_PACKETS", "1_000_000"))
FILES = 8


@pytest.fixture(scope="module")
def capture(tmp_path_factory):
    path = tmp_path_factory.mktemp("bench") / "small.pcap"
    make_capture(path, PACKETS)
    path.read_bytes()
    return path


def cpu_seconds(*command, env=None):
    """Return the processor time (user and system) of a command."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, env=env)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def dpkt_decode(path, limit):
    with path.open("rb") as file:
        for number, (_, data) in enumerate(dpkt.pcap.Reader(file)):
            if number == limit:
                break
            frame = dpkt.ethernet.Ethernet(data)
            assert frame.data.ttl


def scan(path):
    return sum(table.rows for table in CaptureScan(path))


def test_scan(benchmark, capture):
    count = benchmark.pedantic(scan, (capture,), rounds=5, warmup_rounds=1)
    assert count == PACKETS
    elapsed = fastest(benchmark)
    benchmark.extra_info["million_packets_per_s"] = PACKETS / elapsed / 1e6
    benchmark.extra_info["gigabytes_per_s"] = capture.stat().st_size / elapsed / 1e9


def test_scan_erf(benchmark, capture, tmp_path):
    """The same packets as Endace's records, which carry 18 bytes before each packet."""
    packets = np.fromfile(capture, np.uint8, offset=24).reshape(PACKETS, 16 + SIZE)[:, 16:]
    record = np.zeros((PACKETS, 18 + SIZE), np.uint8)
    record[:, :8].view("<u8")[:, 0] = (5 << 32) + np.arange(PACKETS, dtype=np.uint64) * 21_475
    record[:, 8:12] = 2, 4, 0, 18 + SIZE
    record[:, 14:16] = 0, SIZE
    record[:, 18:] = packets
    record.tofile(tmp_path / "small.erf")
    count = benchmark.pedantic(scan, (tmp_path / "small.erf",), rounds=5, warmup_rounds=1)
    assert count == PACKETS
    benchmark.extra_info["million_packets_per_s"] = PACKETS / fastest(benchmark) / 1e6


def test_read_into_memory(benchmark, capture):
    table = benchmark.pedantic(read_capture, (capture,), rounds=3, warmup_rounds=1).columns
    assert table["checksum_good"].all()
    benchmark.extra_info["bytes_per_packet"] = table.nbytes / table.rows
    benchmark.extra_info["million_packets_per_s"] = PACKETS / fastest(benchmark) / 1e6


def test_statistics(benchmark, capture):
    counts, _ = benchmark.pedantic(count_capture, (capture,), rounds=3, warmup_rounds=1)
    assert counts.packets == PACKETS
    benchmark.extra_info["million_packets_per_s"] = PACKETS / fastest(benchmark) / 1e6


def test_every_packet_a_flow(benchmark, tmp_path):
    """As many flows as packets: what the set of flows costs where each of its rows is far away."""
    make_capture(tmp_path / "apart.pcap", PACKETS, bytes_below=APART)
    counts, _ = benchmark.pedantic(count_capture, (tmp_path / "apart.pcap",), rounds=3, warmup_rounds=1)
    assert counts.flows > 0.999 * PACKETS
    benchmark.extra_info["million_packets_per_s"] = PACKETS / fastest(benchmark) / 1e6


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Captures whose flows are partly the same."""
    folder = tmp_path_factory.mktemp("many")
    for number in range(FILES):
        make_capture(folder / f"{number:02}.pcap", PACKETS, seed=number)
    return sorted(map(str, folder.iterdir()))


@pytest.fixture(params=["threads", "dask"])
def two_workers(request):
    """An executor of two workers: threads, or processes of a Dask cluster on this machine."""
    if request.param == "threads":
        with ThreadPoolExecutor(2) as executor:
            yield executor
        return
    from distributed import LocalCluster

    from npexplore.study.sweeping.executors import pool

    with (
        LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None) as cluster,
        pool(cluster.scheduler_address, None) as executor,
    ):
        yield executor


def used_s(executor):
    """Return the processor time so far of this process, and of a Dask cluster's workers."""
    client = getattr(executor, "_client", None)
    return time.process_time() + (sum(client.run(time.process_time).values()) if client else 0.0)


def test_many_files_on_two_cores(benchmark, files, two_workers):
    """Files side by side against the same files one after the other, by the clock; counts the same in every digit.

    `processor_times_one_core` is what both workers and this process took of what one thread takes: beyond 1 it is lost
    to working side by side. It also holds beside other work; `times_one_core` needs two cores with nothing else to do.
    """
    alone, least = float("inf"), float("inf")
    for _ in range(2):
        began, used = time.perf_counter(), time.process_time()
        with ThreadPoolExecutor(1) as one:
            before = count_captures(files, one).document("")
        alone, least = min(alone, time.perf_counter() - began), min(least, time.process_time() - used)
    both = []

    def counted():
        used = used_s(two_workers)
        found = count_captures(files, two_workers, slots=2)
        both.append(used_s(two_workers) - used)
        return found

    found = benchmark.pedantic(counted, rounds=3, warmup_rounds=1)
    assert found.document("") == before
    benchmark.extra_info["times_one_core"] = alone / fastest(benchmark)
    benchmark.extra_info["processor_times_one_core"] = min(both) / least


def test_ratio_to_dpkt(benchmark, capture):
    scan(capture)
    some = min(PACKETS, 100_000)
    ours = benchmark.pedantic(lambda: seconds(lambda: count_capture(capture)), rounds=1) / PACKETS
    theirs = seconds(lambda: dpkt_decode(capture, some), 1) / some
    benchmark.extra_info["dpkt_times_ours"] = theirs / ours
    held(benchmark, theirs > 8 * ours)


def test_whole_process_against_capinfos(benchmark, capture):
    program = [sys.executable, "-m", "npexplore.cli", "trace", "stats", str(capture), "--json"]
    command = Path(sys.executable).with_name("npexplore")
    if command.exists():
        program = [str(command), *program[3:]]
    # a user's installation has its bytecode compiled
    bytecode = str(capture.parent / "bytecode")
    env = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"} | {"PYTHONPYCACHEPREFIX": bytecode}
    cpu_seconds(*program, env=env)
    ours = benchmark.pedantic(lambda: min(cpu_seconds(*program, env=env) for _ in range(3)), rounds=1)
    some = min(PACKETS, 100_000)
    benchmark.extra_info["cpu_seconds"] = ours
    benchmark.extra_info["dpkt_times_ours"] = seconds(lambda: dpkt_decode(capture, some), 1) / some * PACKETS / ours
    if shutil.which("capinfos"):
        theirs = cpu_seconds("capinfos", str(capture))
        without = min(cpu_seconds("capinfos", "-csdaeu", str(capture)) for _ in range(3))
        benchmark.extra_info["share_of_capinfos"] = ours / theirs
        benchmark.extra_info["share_of_capinfos_without_hashes"] = ours / without
        make_capture(one := capture.with_name("one.pcap"), 1)  # what starting costs
        start = min(cpu_seconds(*program[:-2], str(one), "--json", env=env) for _ in range(3))
        rest = without - cpu_seconds("capinfos", "-csdaeu", str(one))
        benchmark.extra_info |= {"start_s": start, "share_a_packet": (ours - start) / rest}
