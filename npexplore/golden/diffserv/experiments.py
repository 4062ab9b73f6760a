"""Two functional tests of a DiffServ edge router: flows of several classes on a shared link, and many equal flows.

After Figs. 7 to 9 of Lin et al., IEEE Network 17(4), 2003. The caller gives all numbers; no published value is here.
Packets of an input arrive at equal intervals from a random phase (`seed`), so that inputs are not synchronized.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from npexplore.errors import InputError, positive
from npexplore.golden.diffserv.arrivals import Arrivals
from npexplore.golden.diffserv.outcome import Outcome
from npexplore.golden.diffserv.queues import QueueLimits
from npexplore.golden.diffserv.setup import CLASSES, ClassQueue, DiffServ, OutputPort, Receiver, Treatment
from npexplore.golden.diffserv.simulation import simulate_diffserv
from npexplore.golden.police import LeakyBucket
from npexplore.golden.schedule.priority_drr import halving_quanta
from npexplore.golden.token_rate import NS, TokenRate

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class DiffServBench:
    """A test bench: links of one rate, packets of one length, and a router.

    line_rate: of every link, such as `100Mb/s`. overhead_bytes: preamble and gap. queue_packets: capacity of a class's
    queue. depth_packets: of leaky buckets; tick_ns: of their timer. quantum_bytes: of the lowest class, doubled from
    class to class; None: one packet. receiver: of each input; None: packets are received in zero time. duration_s: of
    arrivals; results exclude its first share `warm_up`.

    Example:
        >>> from npexplore.golden import DiffServBench
        >>> DiffServBench("1Gb/s", 64, 20, 64).packet_bytes
        64
    """

    line_rate: str
    packet_bytes: int
    overhead_bytes: int
    queue_packets: int
    depth_packets: int = 8
    tick_ns: int = 1
    quantum_bytes: int | None = None
    scheduler: str = "priority_drr"
    receiver: Receiver | None = None
    duration_s: float = 0.2
    warm_up: float = 0.5

    @property
    def wire_ns(self) -> Fraction:
        """Time of a packet on a link in ns, preamble and gap included."""
        return (self.packet_bytes + self.overhead_bytes) / TokenRate.of(self.line_rate).fraction

    @property
    def duration_ns(self) -> int:
        """Duration of arrivals in ns."""
        return round(positive("duration", self.duration_s) * NS)

    @property
    def measured_ns(self) -> tuple[int, int]:
        """Begin and end in ns of the time over which rates and delays are measured."""
        return round(self.duration_ns * self.warm_up), self.duration_ns

    def port(self) -> OutputPort:
        """Return the output link with a queue for each class."""
        quanta = halving_quanta(len(CLASSES), self.quantum_bytes or self.packet_bytes)
        limits = QueueLimits(self.queue_packets)
        queues = tuple(ClassQueue(quantum, limits) for quantum in quanta)
        rate = TokenRate.of(self.line_rate)
        return OutputPort(rate, queues, self.scheduler, self.overhead_bytes, 0, None, self.packet_bytes)

    def receivers(self, inputs: int) -> tuple[Receiver, ...] | None:
        """Return one receiver per input."""
        return None if self.receiver is None else (self.receiver,) * inputs

    def limit(self, rate_pps: float) -> LeakyBucket:
        """Return a policer with a rate in packets per second."""
        return LeakyBucket(TokenRate.per_second(rate_pps, "packets"), self.depth_packets, self.tick_ns)

    def times(self, load: float, phase: float) -> NDArray[np.int64]:
        """Return an input's arrival times in ns: `load` of the line rate, from a share `phase` of an interval on."""
        if not 0 < load <= 1:
            raise InputError(f"load of an input must be greater than 0 and at most 1, got {load}")
        interval = self.wire_ns / Fraction(f"{load:.12g}")
        count = self.duration_ns * interval.denominator // interval.numerator
        return (np.arange(count) * interval.numerator + int(phase * interval.numerator)) // interval.denominator


def shared_link(
    bench: DiffServBench, load: float, flows: Sequence[str], limits_pps: dict[str, float], seed: int = 0
) -> Outcome:  # fmt: skip
    """Return the outcome of flows that share an output link, one flow per class and input. limits_pps: by class."""
    policed = [name for name in flows if name in limits_pps]
    policers = tuple(bench.limit(limits_pps[name]) for name in policed)
    treatments = tuple(Treatment(name, policed.index(name) if name in policed else None) for name in flows)
    router = DiffServ(treatments, (bench.port(),), policers, receivers=bench.receivers(len(flows)))
    phases = np.random.default_rng(seed).random(len(flows))
    times = [bench.times(load, float(phase)) for phase in phases]
    flow = np.repeat(np.arange(len(flows)), [len(flow_times) for flow_times in times])
    time = np.concatenate(times)
    rows = np.argsort(time, kind="stable")
    arrivals = Arrivals.of(time[rows], bench.packet_bytes, flow[rows], source=flow[rows])
    return simulate_diffserv(router, arrivals, seed)


def load_sweep(
    bench: DiffServBench, loads: Sequence[float], flows: Sequence[str], limits_pps: dict[str, float], seed: int = 0
) -> pd.DataFrame:  # fmt: skip
    """Return one row per load and class: columns of `Outcome.by_class` with `load` (share of an input's line rate).

    bench: links and router. loads: offered loads of each input, as shares of its line rate. flows: the class of
    each flow, one flow per input. limits_pps: the policed rate of a class, packets a second. seed: of the arrivals.
    """
    import pandas as pd

    parts = []
    for load in loads:
        table = shared_link(bench, load, flows, limits_pps, seed).by_class(*bench.measured_ns)
        parts.append(table.loc[list(flows)].reset_index().assign(load=load))
    return pd.concat(parts, ignore_index=True)


def many_flows(
    bench: DiffServBench, load: float, flows: int, limit_pps: float, class_name: str = "AF1", *,
    shuffle: bool = False, seed: int = 0,
) -> Outcome:  # fmt: skip
    """Return the outcome of equal flows of one input, each with a separate rule and policer.

    The flows send in turn; shuffle: in a random order within each turn.
    """
    policers = (bench.limit(limit_pps),) * flows
    treatments = tuple(Treatment(class_name, number) for number in range(flows))
    router = DiffServ(treatments, (bench.port(),), policers, receivers=bench.receivers(1))
    rng = np.random.default_rng(seed)
    time = bench.times(load, rng.random())
    turns = -(-len(time) // flows)
    order = np.tile(np.arange(flows), (turns, 1))
    flow = (rng.permuted(order, axis=1) if shuffle else order).ravel()[: len(time)]
    return simulate_diffserv(router, Arrivals.of(time, bench.packet_bytes, flow), seed)


def rates_of_flows(
    bench: DiffServBench, loads: Sequence[float], flows: int, limit_pps: float, seed: int = 0
) -> pd.DataFrame:
    """Return one row per load and flow: columns of `Outcome.by_rule` with `load` and `flow` (from 1)."""
    import pandas as pd

    parts = []
    for load in loads:
        table = many_flows(bench, load, flows, limit_pps, seed=seed).by_rule(*bench.measured_ns)
        parts.append(table.drop(index=-1).reset_index().assign(load=load, flow=range(1, flows + 1)))
    return pd.concat(parts, ignore_index=True)
