"""The IXP1200's hardware units as resources: memories, IX bus unit, output queues, policers; control store check."""

from __future__ import annotations

from npexplore.designs.ixp1200.load import CLASSES, FLOWS, packet_rate
from npexplore.errors import ModelError
from npexplore.golden.schedule import SCHEDULERS
from npexplore.golden.schedule.priority_drr import halving_quanta
from npexplore.machine.parameters import Parameters
from npexplore.machine.resources import BankedMemory, BufferPool, Policer, ScheduledQueue, WordMemory
from npexplore.machine.resources.base import Resource

NS = 1e-9
WORD = 4
LONGWORD_PAIR = 8  # SDRAM and the IX bus move 64 bits at a time


def check_control_store(p: Parameters) -> None:
    """Raise ModelError if threads of two roles share an engine whose control store cannot hold both programs."""
    size = {"receiver": p.code_receiver, "transmitter": p.code_transmitter, "scheduler": p.code_scheduler}
    for roles in p.engine_roles.split("+"), ("receiver",), ("transmitter", "scheduler"):
        need = sum(size[role] for role in roles)
        if need > p.control_store:
            role_sizes = " and ".join(f"{role} ({size[role]})" for role in roles)
            raise ModelError(
                f"{role_sizes} need {need} instructions of a microengine's control store, which holds {p.control_store}"
            )


def memories(p: Parameters) -> list[Resource]:
    """Return SRAM (with banks, or with a separate SRAM for copies of the tables) and SDRAM."""
    sram_word, has_split_ports = (p.sram_word_ns, False) if p.sram_type == "sram" else (p.qdr_word_ns, True)

    def sram(name: str, channels: int, shortest: bool = False) -> WordMemory:
        return WordMemory(
            name, WORD, sram_word * NS, p.sram_command_ns * NS, p.sram_latency_ns * NS, channels, has_split_ports,
            efficiency=p.sram_efficiency, select="shortest" if shortest else "random",
        )  # fmt: skip

    sdram = BankedMemory(
        "sdram", LONGWORD_PAIR, p.sdram_word_ns * NS, p.sdram_banks, p.sdram_command_ns * NS,
        p.sdram_precharge_ns * NS, p.sdram_latency_ns * NS, p.sdram_refresh_ns * NS, p.sdram_refresh_every_ns * NS,
    )  # fmt: skip
    resources: list[Resource] = [sram("sram", p.sram_banks), sdram]
    if p.sram_copies > 1:
        resources.append(sram("tables", p.sram_copies, shortest=True))
    return resources


def ix_bus_unit(p: Parameters) -> list[Resource]:
    """Return both directions of the IX bus, each served by one state machine, and the elements of both FIFOs."""
    return [
        *(WordMemory(f"ix_{direction}", LONGWORD_PAIR, 1e-6 / p.ix_bus_mhz) for direction in ("in", "out")),
        *(BufferPool(name, p.fifo_elements) for name in ("rfifo", "tfifo")),
    ]


def output_queues(p: Parameters, name: str, ports: int) -> ScheduledQueue:
    """Return the six queues of each of `ports` ports; quanta halve from class to class."""
    in_bytes = SCHEDULERS[p.discipline].IN_BYTES
    weights = halving_quanta(len(CLASSES), p.quantum_packets * (p.packet_bytes if in_bytes else 1))
    return ScheduledQueue(
        name, p.queue_packets // len(CLASSES), dict(zip(CLASSES, weights, strict=True)), p.discipline, ports
    )  # fmt: skip


def policers(p: Parameters) -> Policer:
    """Return the policer of the flows in Figs. 7 and 8: a limit for the first flow, the line rate for the others."""
    rates = [p.ef_limit_pps, *[packet_rate(p, p.fe_mbps, p.packet_bytes)] * (FLOWS - 1)]
    return Policer("policer", rates, p.bucket_packets, p.timer_us * 1e-6)


def mac_packets(p: Parameters, buffer_bytes: int) -> int:
    """Return how many packets a MAC buffer holds, at least one (a longer packet passes through it)."""
    return max(int(buffer_bytes // p.packet_bytes), 1)
