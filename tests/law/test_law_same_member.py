"""A packet that comes again to the member it left busy waits for it, also alone: the member was drawn once."""

import random

import pytest

from npexplore.designs import Design
from npexplore.errors import RefusedError
from npexplore.machine import BankedMemory, Delay, DramController, DramPolicy, Machine, Pool, dram_device
from npexplore.machine.parameters import MachineFile, Parameters
from npexplore.machine.resources.ingress import Ingress
from npexplore.machine.workload_sources import workload
from npexplore.rows.distributions import Deterministic

NS = 1e-9
LOAD = workload(packet_bytes=64)


def machine_of(memory, read, banks, reads, between, threads):
    """Return a machine whose packets draw a bank once, and read it several times with work between."""

    def program(m, packet):
        bank = m.draw(banks, "bank")
        with m.loop(reads):
            read(m, bank)
            m.work.wait()
        m.receive.free(bytes=packet.packet_bytes)

    work = Delay("work", Deterministic(mean=between))
    built = Machine(
        "again", [Pool("pool", threads, program)], Ingress("receive", 1 << 20, 64), {"memory": memory, "work": work}
    )
    return Design("again", Parameters(MachineFile(name="again", title="again")), lambda _: built)


def drawn(seed, threads):
    """Return the machine of a seed: banks with a precharge, or DRAM of the shelf with closed pages."""
    r = random.Random(seed)
    reads, between = r.randint(2, 4), r.choice([1, 5, 20, 60]) * NS
    if seed % 2:
        device = dram_device(r.choice(["ddr4_3200", "ddr5_4800"]))
        memory = DramController("memory", device, 1, DramPolicy(page="closed", refresh="none"))
        banks = device.banks
        return machine_of(memory, lambda m, bank: m.memory.read(bytes=64, bank=bank), banks, reads, between, threads)
    banks = r.choice([2, 4, 8])
    memory = BankedMemory("memory", 8, r.randint(1, 9) * NS, banks, precharge_s=r.randint(5, 90) * NS)
    return machine_of(memory, lambda m, bank: m.memory.read(bytes=8, bank=bank), banks, reads, between, threads)


@pytest.mark.parametrize("seed", range(12))
def test_one_thread_is_right_and_no_bound_is_beaten(seed):
    alone = drawn(seed, 1)
    run = alone.simulate(LOAD, packets=2000, breakdown=False).rate_pps
    if seed % 2:
        assert alone.queueing(LOAD).rate_pps == pytest.approx(run, rel=0.02)
    else:  # few banks: the next packet finds one busy, too
        with pytest.raises(RefusedError, match=r"comes to 'memory\.bank' again"):
            alone.queueing(LOAD)
    for threads in (1, 4, 16):
        design = drawn(seed, threads)
        assert design.bounds(LOAD).rate_pps >= design.simulate(LOAD, packets=4000, breakdown=False).rate_pps * 0.999
