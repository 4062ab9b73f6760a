"""What a packet does on my_machine; the numbers stand in my_machine.toml."""

from pathlib import Path

from npexplore import Design
from npexplore.machine import (
    DramController,
    DramPolicy,
    Ingress,
    LineCard,
    Machine,
    Packet,
    Parameters,
    Pool,
    Processor,
    Recorder,
    WordMemory,
    dram_device,
)


def build(p: Parameters) -> Machine:
    """Return the machine with the values that its parameters have now."""
    device = dram_device(p.memory_part)

    def forward(m: Recorder, packet: Packet) -> None:
        bank = m.draw(p.memory_channels * device.pseudo_channels * device.banks, "bank")
        m.buffer.write(bytes=packet.packet_bytes, bank=bank)
        m.core.compute(cycles=p.packet_cycles)
        with m.loop(p.lookup_words):
            m.sram.read(bytes=4)
        m.receive.free(bytes=packet.packet_bytes)
        m.buffer.read(bytes=packet.packet_bytes, bank=bank)
        m.line.send(bytes=packet.packet_bytes)

    resources = [
        Processor("core", engines=p.cores, clock_hz=p.clock_mhz * 1e6),
        WordMemory("sram", word_bytes=4, word_s=4e-9, latency_s=80e-9),
        DramController("buffer", device, p.memory_channels, DramPolicy(page="closed")),
        LineCard("line", bytes_per_s=p.line_gbps * 1e9 / 8),
    ]
    pool = Pool("packet", p.cores * p.threads_per_core, forward, home="core")
    return Machine(p.file.name, pool, Ingress("receive", 65536, 64), {one.name: one for one in resources}, facts=p)


def design() -> Design:
    """Return the machine with the values of its file."""
    return Design.of(Path(__file__).with_name("my_machine.toml"), build)
