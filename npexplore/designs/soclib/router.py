"""A router of several SoCLIB units around a switch matrix: two levels, units and processors (Sec. 3.2, Fig. 2).

A packet arrives at a unit's Ethernet link and is routed there by one task. It leaves by the same link or, with
probability `remote_share`, crosses the matrix with an additional header. A task of the destination unit strips the
header and sends the packet; it runs only the elements of the short path (Sec. 3.1).
"""

from __future__ import annotations

from collections.abc import Callable

from npexplore.designs.soclib.unit import SHORT, WORD_BYTES, Unit, cycle_s, element_cycles, packet_words
from npexplore.machine.machine import Pool, Start
from npexplore.machine.parameters import Parameters
from npexplore.machine.program import Packet, Recorder
from npexplore.machine.resources import BoundedQueue, BufferPool, Delay, FifoServer, SwitchMatrix
from npexplore.machine.resources.base import Resource
from npexplore.rows.expressions import ceildiv

ETHERNET, SWITCH = 0, 1  # the two interfaces of a unit


def short_bursts(p: Parameters) -> int:
    """Return the bursts of a packet that another unit has routed, from the cycles of its elements (Fig. 7)."""
    cycles = element_cycles(p)
    return max(1, round(int(p.bursts) * sum(cycles[name] for name in SHORT) / sum(cycles.values())))


def matrix_words(p: Parameters) -> int:
    """Return a packet's words in the matrix, header included."""
    return packet_words(p) + -(-int(p.switch_header_bytes) // WORD_BYTES)


def build_router(p: Parameters, start: Start) -> tuple[list[Pool], list[Resource]]:
    """Return the pools and resources of all units and the matrix.

    An Ethernet input engine keeps one packet per processor ready; packets from the matrix join the same queue. A packet
    that finds the queue full is dropped.
    """
    cycle, processors = cycle_s(p), int(p.processors)
    arity = int(p.matrix_arity) if p.matrix == "fat_tree" else None
    resources: list[Resource] = [
        Delay("task"),
        SwitchMatrix(
            "matrix", p.units, p.matrix_word_cycles * cycle, p.matrix_hop_cycles * cycle, arity,
            p.matrix_thinning if arity else 1,
        ),
    ]  # fmt: skip
    pools = []
    for k in range(1, p.units + 1):
        resources += [
            *Unit(p, str(k)).resources(),
            FifoServer(f"egress{k}", p.egress_word_cycles * cycle),
            FifoServer(f"uplink{k}", p.egress_word_cycles * cycle),
            BufferPool(f"ready{k}", processors),
            BoundedQueue(f"inside{k}", processors * (1 + p.fifo_packets), when_full="drop", carries=["routed"]),
        ]
        pools.append(Pool(f"ethernet{k}", 1, _engine(k)))
        pools.append(Pool(f"npu{k}", processors, _task(p, k), gets=f"inside{k}", start=start))
    return pools, resources


def _engine(k: int) -> Callable[[Recorder, Packet], None]:
    """Return the program of an Ethernet link's input engine: it accepts a packet as soon as there is a place."""

    def program(m: Recorder, packet: Packet) -> None:
        getattr(m, f"ready{k}").take(count=1)
        m.receive.free(bytes=ceildiv(packet.packet_bytes, WORD_BYTES) * WORD_BYTES)
        getattr(m, f"inside{k}").put(routed=0)

    return program


def _task(p: Parameters, k: int) -> Callable[[Recorder, Packet], None]:
    """Return the program of a task of unit k."""
    unit, words = Unit(p, str(k)), packet_words(p)
    others = [other for other in range(1, p.units + 1) if other != k]

    def put_out(m: Recorder, engine: str, interface: int, words: int) -> None:
        unit.at_engine(m, "out", interface)
        with m.loop(words):
            getattr(m, f"{engine}{k}").serve()

    def to_another(m: Recorder, left: list[int]) -> None:
        if len(left) > 1:
            with m.branch(1 / len(left), "unit"):
                to_another(m, left[:1])
            with m.otherwise():
                to_another(m, left[1:])
            return
        m.matrix.send(source=k - 1, target=left[0] - 1, words=matrix_words(p))
        getattr(m, f"inside{left[0]}").put(routed=1)

    def program(m: Recorder, packet: Packet) -> None:
        with m.branch(packet.routed == 1, "routed"):
            unit.at_engine(m, "in", SWITCH)
            unit.work(m, short_bursts(p))
            put_out(m, "egress", ETHERNET, words)
        with m.otherwise():
            getattr(m, f"ready{k}").give(count=1)
            unit.at_engine(m, "in", ETHERNET)
            unit.work(m, int(p.bursts))
            with m.branch(float(p.remote_share), "remote"):
                put_out(m, "uplink", SWITCH, matrix_words(p))
                to_another(m, others)
            with m.otherwise():
                put_out(m, "egress", ETHERNET, words)

    return program
