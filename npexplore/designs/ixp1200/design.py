"""Intel IXP1200 as a DiffServ edge router: pools of threads, shared resources, and the measured time window.

The ready bus tells a receiver thread that its port's MAC has a packet. The receiver moves the packet in 64-byte MAC
packets (MPs), checks its header, classifies, polices and marks it, looks up its route, stores it in SDRAM and queues
its descriptor in SRAM. The scheduler serves the ports in turn, and in each port the class that the discipline chooses.
It passes the packet to a transmitter, which scans the queues down to that class, dequeues the packet and sends it.
"""

from __future__ import annotations

from npexplore.designs.base import Design
from npexplore.designs.ixp1200.load import over_ports, own_workload, receivers_of
from npexplore.designs.ixp1200.programs import (
    ready_bus,
    receiver,
    schedule_cycles,
    scheduler,
    slow_path,
    transmitter,
)
from npexplore.designs.ixp1200.units import (
    NS,
    check_control_store,
    ix_bus_unit,
    mac_packets,
    memories,
    output_queues,
    policers,
)
from npexplore.machine.machine import Machine, Pool
from npexplore.machine.parameters import Parameters
from npexplore.machine.pools import Start
from npexplore.machine.resources import BoundedQueue, FifoServer, LineCard, Processor
from npexplore.machine.resources.base import Resource
from npexplore.machine.resources.ingress import Ingress

BOOT_S, WINDOW_S = 2e-3, 10e-3  # boot time until queues have filled and traffic is steady; measured time
FILLED_S, SHARED_S = 20e-3, 30e-3  # the same for traffic by classes: four flows fill the queues of one port
SHORT_RUN_RECEIVERS = 8  # from this number of receivers on, a shorter window has enough packets


def build(p: Parameters) -> Machine:
    """Return the machine; raises ModelError if threads do not fit the engines, or programs the control store."""
    check_control_store(p)
    ports, gigabit, gigabit_engines = receivers_of(p)
    clock, threads = p.me_clock_mhz * 1e6, p.engine_threads
    engines = sorted({port // threads for port in ports})
    bound_ports = [engine * threads + k for engine in engines for k in range(threads)]  # one thread per port
    rx_idle = {
        "idle": "poll", "poll_cycles": p.poll_instructions, "poll_wait_s": p.poll_wait_cycles / clock,
    } if p.idle == "poll" else {}  # fmt: skip
    tx_idle = rx_idle if p.transmitter_idle == "poll" else {}
    sched_idle = {**rx_idle, "poll_cycles": schedule_cycles(p)} if rx_idle and p.scheduler_look == "ports" else rx_idle
    resources: list[Resource] = [
        FifoServer("ready_bus", p.ready_bus_ns * NS),
        *memories(p),
        *ix_bus_unit(p),
        *(Processor(f"me{engine}", 1, clock) for engine in engines),
        Processor("me2", 1, clock),
        LineCard("fe", p.fe_mbps * 1e6 / 8, p.fe_ports, 1, p.gap_bytes, max(p.mac_buffer_bytes, p.packet_bytes)),
        *(BoundedQueue(f"mac{port}", mac_packets(p, p.mac_buffer_bytes), when_full="drop") for port in bound_ports),
        output_queues(p, "out_fe", p.fe_ports),
        BoundedQueue("chosen_fe", p.transmitters),
    ]
    start = Start("random", 20e-6)
    pools = [
        Pool("mac", 1, ready_bus([*(f"mac{port}" for port in bound_ports), *["mac_gbe"] * bool(gigabit)]), priority=4),
        *(
            Pool(f"rx{port}", 1, receiver(p, f"me{port // threads}", "out_fe", p.fe_ports), home=f"me{port // threads}",
                 gets=f"mac{port}", start=start, **rx_idle)
            for port in bound_ports
        ),
        Pool("schedule_fe", 1, scheduler(p, "me2", "chosen_fe"), home="me2", gets="out_fe", start=start, **sched_idle),
        Pool("tx_fe", p.transmitters, transmitter(p, "me2", "fe"), home="me2", gets="chosen_fe", start=start,
             **tx_idle),
    ]  # fmt: skip
    if gigabit:
        resources += [
            Processor("me_gbe", gigabit_engines, clock), Processor("me_tx_gbe", 1, clock),
            LineCard("gbe", p.gbe_mbps * 1e6 / 8, 1, 1, p.gap_bytes, max(p.mac_gbe_buffer_bytes, p.packet_bytes)),
            BoundedQueue("mac_gbe", mac_packets(p, p.mac_gbe_buffer_bytes), when_full="drop"),
            output_queues(p, "out_gbe", 1), BoundedQueue("chosen_gbe", p.transmitters),
        ]  # fmt: skip
        pools += [
            Pool("rx_gbe", gigabit, receiver(p, "me_gbe", "out_gbe", 1), home="me_gbe", gets="mac_gbe", start=start,
                 **rx_idle),
            Pool("schedule_gbe", 1, scheduler(p, "me_tx_gbe", "chosen_gbe"), home="me_tx_gbe", gets="out_gbe",
                 start=start, **sched_idle),
            Pool("tx_gbe", p.transmitters, transmitter(p, "me_tx_gbe", "gbe"), home="me_tx_gbe", gets="chosen_gbe",
                 start=start, **tx_idle),
        ]  # fmt: skip
    if p.traffic == "classes":
        resources.append(policers(p))
    if p.slow_share:
        resources += [Processor("strongarm", 1, p.core_clock_mhz * 1e6), BoundedQueue("slow", 64, when_full="drop")]
        pools.append(Pool("strongarm", 1, slow_path(p), home="strongarm", gets="slow", start=start))
    boot, window = measured(p)
    return Machine(
        p.file.name, pools, Ingress("receive", 1 << 24, p.packet_bytes), {unit.name: unit for unit in resources},
        facts=p, window_s=window, boot_s=boot,
    )  # fmt: skip


def measured(p: Parameters) -> tuple[float, float]:
    """Return boot time and window in seconds, so that runs with few and many receivers measure about as many packets.

    With plain forwarding, the gigabit port has the most packets, and its queues fill within four milliseconds.
    """
    p.assume("steady_traffic")
    if p.traffic == "classes":
        return FILLED_S, SHARED_S
    if p.service == "ip_forwarding":
        return 2 * BOOT_S, WINDOW_S / 5
    return (BOOT_S, WINDOW_S) if p.receivers < SHORT_RUN_RECEIVERS else (BOOT_S / 2, 4 * WINDOW_S / p.receivers)


def ixp1200() -> Design:
    """Return the IXP1200 with the paper's program and parameters."""
    return Design.of("ixp1200", build, own_workload, over_ports)
