"""How fast the event engine runs, as ratios to SimPy in the same run, and how soon a new process has its first result.

The closed network: 16 threads; 4 engines with one line, exponential 40 ns; hash unit 8 ns; one of 4 banks at random
30 ns; bus 4 ns. Our side is the public `simulate` with all its statistics; SimPy runs bare, and with the same ones.
Set NPEXPLORE_BENCH_PACKETS for other than 400,000 packets. Goals: 40 times SimPy; first result within 1 s when the
kernel's cache is warm and Python's own byte code is written; cold compilation under 30 s.
"""

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
import simpy
from reference.timing import best, record

from npexplore._kernels import engine
from npexplore.designs import design
from npexplore.jit import files
from npexplore.machine.machine import Machine, Pool
from npexplore.machine.resources import FifoServer
from npexplore.machine.resources.base import Hold, OwnFaces, Server, Uses
from npexplore.machine.resources.dram_device import dram_device
from npexplore.machine.resources.dram_run import run_accesses
from npexplore.machine.resources.dram_streams import dram_accesses
from npexplore.machine.resources.ingress import Ingress
from npexplore.machine.workload import Workload
from npexplore.machine.workload_sources import workload
from npexplore.rows.expressions import Variable
from npexplore.solve.simulate import simulate

PACKETS = int(os.environ.get("NPEXPLORE_BENCH_PACKETS", "400_000"))
FEWER = 20  # SimPy is given so many times fewer
NS, THREADS, ENGINES, BANKS = 1e-9, 16, 4, 4
ENGINE, HASH, BANK, BUS = 40, 8, 30, 4
FIRST = "import npexplore as n; print(n.design('ixp2400').simulate(n.workload(mix='amp')).rate_pps)"
LOAD = Workload("64 bytes", {"packet_bytes": np.array([64])})


class Exponential(OwnFaces):
    """A server with exponential visits."""

    VISITS = {"serve": ()}  # noqa: RUF012

    def __init__(self, name, mean_s, units=1):
        super().__init__(name)
        self.mean, self.units = mean_s, units

    def servers(self):
        return [Server(self.name, units=self.units)]

    def uses(self, method, values):
        return Uses(self.mean, [Hold(self.name, self.mean, squares=np.float64(2 * self.mean**2))])

    def emit(self, method, operands, asm):
        mean = asm.operand(asm.ticks(self.mean))
        asm.emit(engine.SERVE, (asm.number(self.name), 0), mean, x=engine.EXPONENTIAL, source=self.name)


class Banks(OwnFaces):
    """One of some alike servers at random, a constant time."""

    VISITS = {"serve": ()}  # noqa: RUF012

    def servers(self):
        return [Server(self.name, members=BANKS)]

    def uses(self, method, values):
        return Uses(BANK * NS, [Hold(self.name, BANK * NS)])

    def emit(self, method, operands, asm):
        bank = Variable("bank")
        asm.draw(bank, BANKS, "bank")
        asm.serve(self.name, asm.ticks(BANK * NS), member=bank)


def closed_network():
    servers = [FifoServer("hash", HASH * NS), Banks("bank"), FifoServer("bus", BUS * NS)]

    def program(m, packet):
        m.me.serve()
        m.hash.serve()
        m.bank.serve()
        m.bus.serve()

    named = {server.name: server for server in [Exponential("me", ENGINE * NS, ENGINES), *servers]}
    return Machine("closed", Pool("thread", THREADS, program), Ingress("receive"), named)


def one_queue():
    """M/M/1 at load 0.8, room for everybody."""

    def program(m, packet):
        m.receive.free(bytes=64)
        m.server.serve()

    server = Exponential("server", 100 * NS)
    return Machine("m/m/1", Pool("thread", 1, program), Ingress("receive", 64 << 20, 64), {"server": server})


class Measured(simpy.Resource):
    """A SimPy resource with the engine's statistics: integrals of busy units and of the line, longest line, grants."""

    def __init__(self, env, capacity=1):
        super().__init__(env, capacity)
        self.since = self.busy = self.line = self.longest = self.grants = 0

    def touch(self):
        now = self._env.now
        self.busy += (now - self.since) * self.count
        self.line += (now - self.since) * len(self.queue)
        self.since = now

    def request(self):
        self.touch()
        asked = super().request()
        self.longest = max(self.longest, len(self.queue))
        return asked

    def release(self, request):
        self.touch()
        self.grants += 1
        return super().release(request)


class Latencies:
    """Histogram of latencies, 32 bins an octave, and their sum."""

    def __init__(self):
        self.count, self.total, self.bins = 0, 0.0, {}

    def add(self, latency):
        self.count += 1
        self.total += latency
        value = int(latency)
        shift = max(value.bit_length() - 6, 0)
        at = 32 * shift + (value >> shift)
        self.bins[at] = self.bins.get(at, 0) + 1


def simpy_closed(packets, measured):
    """Packets a nanosecond of SimPy's closed network."""
    env, rng = simpy.Environment(), np.random.default_rng(1)
    make = Measured if measured else simpy.Resource
    me, unit, bus, banks = make(env, ENGINES), make(env), make(env), [make(env) for _ in range(BANKS)]
    begun = packets + THREADS
    times, chosen = rng.exponential(ENGINE, begun).tolist(), rng.integers(0, BANKS, begun).tolist()
    seen, done = Latencies(), [0]
    enough = env.event()

    def visit(resource, length):
        request = resource.request()
        yield request
        yield env.timeout(length)
        resource.release(request)

    def thread():
        while True:
            began = env.now
            yield from visit(me, times.pop())
            yield from visit(unit, HASH)
            yield from visit(banks[chosen.pop()], BANK)
            yield from visit(bus, BUS)
            if measured:
                seen.add(env.now - began)
            done[0] += 1
            if done[0] == packets:
                enough.succeed()

    for _ in range(THREADS):
        env.process(thread())
    env.run(enough)
    return packets / env.now


def simpy_queue(packets, measured):
    """Mean latency in nanoseconds of SimPy's M/M/1."""
    env, rng = simpy.Environment(), np.random.default_rng(1)
    server = (Measured if measured else simpy.Resource)(env)
    gaps, times = rng.exponential(125, packets).tolist(), rng.exponential(100, packets).tolist()
    seen = Latencies()

    def packet(length):
        began = env.now
        request = server.request()
        yield request
        yield env.timeout(length)
        server.release(request)
        if measured:
            seen.add(env.now - began)

    def source():
        for gap, length in zip(gaps, times, strict=True):
            yield env.timeout(gap)
            env.process(packet(length))

    env.process(source())
    env.run()
    return seen.total / max(seen.count, 1)


def compared(benchmark, machine, load, peer):
    """Time both sides on one network; return (our prediction, SimPy's bare and measured results)."""
    simulate(machine, load, packets=1000)  # warm

    def run():
        ours, answer = best(lambda: simulate(machine, load, packets=PACKETS))
        bare, first = best(lambda: peer(PACKETS // FEWER, False))
        measured, second = best(lambda: peer(PACKETS // FEWER, True))
        each, packets = ours / (PACKETS * 18 / 16), PACKETS // FEWER  # the warm-up is simulated as well
        record(
            benchmark, million_packets_per_s=1e-6 / each, million_events_per_s=1e-6 * answer.about["events"] / ours,
            times_simpy_bare=bare / packets / each, times_simpy_measured=measured / packets / each,
        )  # fmt: skip
        return answer, first, second

    return benchmark.pedantic(run, rounds=1, iterations=1)


def test_closed_network(benchmark):
    answer, bare, measured = compared(benchmark, closed_network(), LOAD, simpy_closed)
    assert bare == measured
    assert answer.rate_pps == pytest.approx(bare * 1e9, rel=0.03)


@pytest.mark.skipif(shutil.which("cc") is None, reason="needs a C compiler")
def test_closed_network_beside_bare_c(benchmark, tmp_path):
    """What an event costs at least: the same network as C, optimised for this processor, that keeps no statistics."""
    answer, packets, ns = beside_bare_c(benchmark, tmp_path, "closed_network.c", closed_network(), LOAD)
    assert answer.rate_pps == pytest.approx(packets / ns * 1e9, rel=0.03)


def beside_bare_c(benchmark, tmp_path, source, machine, load):
    """Record packets a second of a machine and of a C program; return our answer, the program's packets and number."""
    flags = ["-O3", "-march=native", "-o", str(tmp_path / "bare")]
    subprocess.run(["cc", *flags, str(Path(__file__).with_name(source)), "-lm"], check=True)
    simulate(machine, load, packets=1000)  # warm

    def bare():
        words = [tmp_path / "bare", str(10 * PACKETS), "1"]
        done = subprocess.run(words, check=True, capture_output=True, text=True)
        packets, number, took = map(float, done.stdout.split())
        return packets / took, packets, number

    def run():
        ours, answer = best(lambda: simulate(machine, load, packets=PACKETS))
        theirs, *numbers = max(bare() for _ in range(3))
        each = ours / (PACKETS * 18 / 16)
        record(benchmark, million_packets_per_s=1e-6 / each, of_c_million=theirs * 1e-6, share_of_c=1 / each / theirs)
        return answer, *numbers

    return benchmark.pedantic(run, rounds=1, iterations=1)


def test_one_queue_beside_bare_c(benchmark, tmp_path):
    load = LOAD.with_arrivals("poisson", 8e6)
    answer, _, latency_ns = beside_bare_c(benchmark, tmp_path, "one_queue.c", one_queue(), load)
    assert answer.latency_s.mean == pytest.approx(latency_ns * NS, rel=0.1)


def test_one_queue(benchmark):
    load = LOAD.with_arrivals("poisson", 8e6)
    answer, _, measured = compared(benchmark, one_queue(), load, simpy_queue)
    assert answer.latency_s.mean == pytest.approx(500 * NS, rel=0.1)
    assert measured == pytest.approx(500, rel=0.25)


def test_dram_accesses_through_the_whole_flow(benchmark):
    made, load, packets = design("ixp2400"), workload(mix="amp"), max(PACKETS // 10, 100)
    made.simulate(load, packets=100)
    each = made.demands(load).demands.counts["dram.accesses"]

    def run():
        seconds, answer = best(lambda: made.simulate(load, packets=packets, breakdown=False))
        accounted, _ = best(lambda: made.simulate(load, packets=packets))
        total = packets * 18 / 16
        record(
            benchmark, million_dram_accesses_per_s=1e-6 * total * each / seconds,
            thousand_packets_per_s=1e-3 * total / seconds,
            million_events_per_s=1e-6 * answer.about["events"] / seconds,
            times_longer_with_accounts=accounted / seconds,
        )  # fmt: skip

    benchmark.pedantic(run, rounds=1, iterations=1)


def first_result(**environment):
    """Return (elapsed, processor) seconds of a new process that simulates once."""
    began, before = time.perf_counter(), os.times()
    subprocess.run([sys.executable, "-c", FIRST], env={**os.environ, **environment}, check=True, capture_output=True)
    after = os.times()
    return time.perf_counter() - began, sum(after[2:4]) - sum(before[2:4])


def test_first_result_of_a_new_process(benchmark, tmp_path):
    """With the byte code of all modules written, as installers do, and the kernels' cache warm."""
    written = {"PYTHONDONTWRITEBYTECODE": "", "PYTHONPYCACHEPREFIX": str(tmp_path)}
    first_result(**written)

    def run():
        elapsed, processor = min(first_result(**written) for _ in range(1 if benchmark.disabled else 5))
        record(benchmark, first_result_s=elapsed, of_processor_s=processor, goal_s=1.0)

    benchmark.pedantic(run, rounds=1, iterations=1)


def test_cold_compilation(benchmark, tmp_path):
    def run():
        elsewhere = {} if benchmark.disabled else {files.ONLY: str(tmp_path)}
        cold, _ = first_result(**elsewhere)
        warm, _ = first_result(**elsewhere)
        assert benchmark.disabled or list(Path(tmp_path).rglob("engine.advance*"))
        record(benchmark, cold_s=cold, warm_s=warm, compilation_s=cold - warm, goal_s=30.0)

    benchmark.pedantic(run, rounds=1, iterations=1)


@pytest.mark.parametrize("name", ["ddr4_3200", "hbm3_6400"])
@pytest.mark.parametrize("pattern", ["random", "runs", "hits"])
def test_accesses_a_second_of_a_scheduling_dram_controller(benchmark, pattern, name):
    """A quarter of them writes, 32 + 32 entries; DRAMsim3 schedules 0.24 million a second of DDR4-3200."""
    device = dram_device(name)
    made = dram_accesses(device, pattern, max(PACKETS, 1000), 1, writes=0.25)

    def run():
        run_accesses(device, bank=made.bank[:100], row=made.row[:100], write=made.write[:100])
        seconds, _ = best(lambda: run_accesses(device, bank=made.bank, row=made.row, write=made.write))
        record(benchmark, million_accesses_per_s=1e-6 * len(made.bank) / seconds)

    benchmark.pedantic(run, rounds=1, iterations=1)
