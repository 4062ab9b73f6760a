"""The IXP1200's packets, and the counted memory accesses and instructions of golden code on each packet.

The classifier runs on the headers of the workload's packets; its reads, words and instructions become columns. Work
that is the same for every packet (policer, marker, route, queues) is counted once.

    cycles of an instruction class = its cycles x scale of its module (base path, DiffServ modules)
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from npexplore.errors import ModelError
from npexplore.golden.classify import Classifier, LinearSearch, RangeMatcher
from npexplore.golden.classify.rule_generator import flow_rules, headers_within
from npexplore.golden.lookup.dir24_8 import Dir24_8
from npexplore.golden.police import LeakyBucket
from npexplore.golden.schedule.base import QueuedPacket
from npexplore.golden.schedule.priority_drr import PriorityDeficitRoundRobin, halving_quanta
from npexplore.golden.token_rate import TokenRate
from npexplore.golden.work import INSTRUCTIONS, Meter, Work, WorkColumns
from npexplore.machine.parameters import Parameters
from npexplore.machine.workload import CLASS, Workload
from npexplore.mapped_arrays import chosen, computed, cycled, parts

BURST_WORDS = 8  # longest SRAM read: the read transfer registers of a thread
ROWS = 64  # packets of a fast Ethernet port before the sequence repeats
GIGABIT_PORT = 8
STEP = 64  # the column `step` counts in 1/64 of a cycle
CLASSES = ("ef", "af1", "af2", "af3", "af4", "be")  # queues of a port
FLOWS = 4  # flows of Figs. 7 and 8, one in each of the first four classes
MARK_ALU = 6  # ALU instructions: insert the code point, update the checksum by RFC 1624 (add, complement, fold)


@lru_cache(maxsize=64)
def classifier(name: str, rules: int, reading: str) -> Classifier:
    """Return the paper's classifier (golden code) for `rules` flows with one rule each."""
    if name == "ls":
        return LinearSearch(flow_rules(rules))
    return RangeMatcher(flow_rules(rules), reading=reading, burst_words=BURST_WORDS)


TABLES = {"rm": ("intervals", "vectors"), "ls": ("rules",)}  # tables in the order in which a classifier reads them


def cycles(p: Parameters, instructions: Mapping[str, float], accesses: float) -> float:
    """Return the unscaled engine cycles of instructions (class -> count); issuing an access takes one cycle."""
    return accesses + sum(times * float(p[f"{name}_cycles"]) for name, times in instructions.items())


@lru_cache(maxsize=8)
def fixed_work(phb: str, descriptor_words: int, routes: int) -> dict[str, Work]:
    """Return golden code's work that is the same for every packet: police, mark, route, enqueue, dequeue."""
    return {
        "police": _policed(),
        "mark": Work((), {"alu": MARK_ALU}),
        "route": _routed(routes),
        "enqueue": _enqueued(descriptor_words),
        "dequeue": _dequeued(CLASSES.index(phb)),
    }


def _policed() -> Work:
    bucket, meter = LeakyBucket(TokenRate.of("62500pps"), depth=4), Meter()
    state, _ = bucket.police(bucket.state(), 0, 64)
    bucket.police(state, 16_000, 64, meter=meter)
    return meter.work


def _routed(routes: int) -> Work:
    """Return the work of a route lookup: a /24 route takes one read of DIR-24-8."""
    table = Dir24_8.from_routes([(f"10.{k // 256}.{k % 256}.0/24", k % 9) for k in range(routes)])
    return Work.of_reads(table.reads("10.0.0.1")) + Work((), {"alu": 4, "branch": 2})


def _enqueued(descriptor_words: int) -> Work:
    """Return the work of appending a packet's descriptor: it reads and writes the queue's one (Sec. Scheduler)."""
    meter = Meter()
    meter.read("queue", descriptor_words)
    meter.write("descriptor", 2)
    meter.write("queue", descriptor_words)
    meter.do(alu=4, branch=1)
    return meter.work


def scanned() -> Work:
    """Return the work of examining one more queue when a transmitter scans the classes."""
    shallow, deep = _dequeued(0), _dequeued(1)
    extra_instructions = {name: times - shallow.instructions.get(name, 0) for name, times in deep.instructions.items()}
    return Work(deep.accesses[: len(deep.accesses) - len(shallow.accesses)], extra_instructions)


def _dequeued(number: int) -> Work:
    """Return the work of dequeuing from queue `number`, with empty other queues and quanta that suffice."""
    queues = PriorityDeficitRoundRobin(halving_quanta(len(CLASSES), 1518))
    queues.enqueue(number, QueuedPacket(0, 64))
    queues.meter = Meter()
    queues.dequeue()
    return queues.meter.work


def constant_work(p: Parameters) -> dict[str, Work]:
    """Return `fixed_work` for these parameters."""
    return fixed_work(p.phb, p.queue_descriptor_words, p.routes)


def matched(p: Parameters, count: int) -> NDArray[np.int64]:
    """Return the number of the matching rule for each of `count` packets."""
    if p.match == "uniform":
        return np.random.default_rng(1).permutation(np.arange(count) % p.rules)
    return np.full(count, p.rules - 1 if p.match == "last" else 0, dtype=np.int64)


def receivers_of(p: Parameters) -> tuple[list[int], int, int]:
    """Return the active fast Ethernet ports, the number of the gigabit port's receivers, and of its engines.

    Engines 0 and 1 serve four fast Ethernet ports each, the others the gigabit port. Raises ModelError if the receivers
    do not fit the engines.
    """
    engines, threads = p.receiver_engines, p.engine_threads
    if not engines <= p.receivers <= engines * threads:
        raise ModelError(
            f"{engines} receiver engines need {engines} to {engines * threads} receivers, got {p.receivers}"
        )
    share = [p.receivers // engines + (k < p.receivers % engines) for k in range(engines)]
    ports = [engine * threads + k for engine, n in enumerate(share[:2]) for k in range(n)]
    return ports, sum(share[2:]), max(engines - 2, 0)


def packet_rate(p: Parameters, mbps: float, packet_bytes: float) -> float:
    """Return the packets/s of a mean length that saturate a link of `mbps`."""
    return float(mbps * 1e6 / (8 * (packet_bytes + p.gap_bytes)))


def own_workload(p: Parameters) -> Workload:
    """Return packets for all active ports, merged in order of time, at the share `load` of their line rate."""
    load = over_ports(p, Workload("", {"packet_bytes": np.full(1, p.packet_bytes, dtype=np.int64)}))
    return replace(
        load, name=f"{p.packet_bytes}-byte packets to {len(port_rates(p, p.packet_bytes))} ports",
        note=f"periodic, {100 * p.load:g} % of the rate of fast Ethernet ports",
    )  # fmt: skip


def port_rates(p: Parameters, packet_bytes: float) -> dict[int, float]:
    """Return the packets/s of each active port; raises ModelError if traffic by classes does not fit the ports."""
    ports, gigabit, _ = receivers_of(p)
    if p.traffic == "classes" and (len(ports) != FLOWS or gigabit or p.rules < FLOWS):
        raise ModelError(
            f"traffic by classes needs {FLOWS} receivers and at least as many rules, got {p.receivers} and {p.rules}"
        )
    rates = dict.fromkeys(ports, p.load * packet_rate(p, p.fe_mbps, packet_bytes))
    if gigabit:
        rates[GIGABIT_PORT] = p.gbe_load * packet_rate(p, p.gbe_mbps, packet_bytes)
    return rates


def over_ports(p: Parameters, load: Workload) -> Workload:
    """Return packets distributed over the active ports in proportion to their rates, with columns of their work.

    Saturated workloads become periodic, at the share `load` of each port's line rate.
    """
    mean = load.mean_packet_bytes
    rates, line_pps = port_rates(p, mean), packet_rate(p, p.fe_mbps, mean)
    span_s = ROWS / line_pps
    times, numbers = [], []
    for index, (number, rate) in enumerate(rates.items()):
        count = max(round(rate * span_s), 1)
        times.append((np.arange(count) + (index + 0.5) / len(rates)) / rate)
        numbers.append(np.full(count, number, dtype=np.int64))
    port = np.concatenate(numbers)[np.argsort(np.concatenate(times), kind="stable")]
    load = load.repeated(len(port))
    packets = len(load.packet_bytes)
    columns = {
        "packet_bytes": load.packet_bytes,
        "port": cycled(port_number(p, port), packets),
        "out": cycled(np.where(port == GIGABIT_PORT, 0, (port + 1) % GIGABIT_PORT), packets),
    }
    flow = None
    if p.traffic == "classes":
        flow = cycled(np.searchsorted(list(rates), port), packets)
        columns |= {CLASS: flow, "out": cycled(np.zeros(1, dtype=np.int64), packets)}
    if p.service == "diffserv":
        columns |= classified(p, matched(p, packets) if flow is None else flow)
    arrivals, rate_pps = load.arrivals, load.rate_pps
    if arrivals == "saturated":
        arrivals, rate_pps = "periodic", sum(rates.values())
    return replace(
        load, columns=columns, arrivals=arrivals, rate_pps=rate_pps,
        assumption="one flow a rule; packets match the rule that `match` says; the flows of a port leave by one port",
    )  # fmt: skip


def port_number(p: Parameters, port: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return ports as the ready bus numbers them: all ports of the active engines, then the gigabit port."""
    bound = min(p.receiver_engines, 2) * p.engine_threads
    return np.where(port == GIGABIT_PORT, bound, port)


@lru_cache(maxsize=64)
def _work(name: str, rules: int, reading: str, rows: tuple[int, ...]) -> WorkColumns:
    """Return a classifier's work for one packet of each of these rules; rows: the rules' numbers."""
    chosen = classifier(name, rules, reading)
    return chosen.work_many(headers_within(chosen.rules, len(rows), seed=1, row=np.array(rows)))


def classified(p: Parameters, matching: NDArray[np.int64]) -> dict[str, NDArray[np.int64]]:
    """Return the columns of the classifier's work; matching: the number of each packet's rule.

    For each table: `reads` reads of `words` words, and `long` reads of one word more. `step`: cycles per access, in
    1/64.
    """
    rules = np.unique(np.concatenate([np.unique(matching[part]) for part in parts(len(matching))]))
    rule_index = computed(len(matching), lambda part: np.searchsorted(rules, matching[part]))
    work = _work(p.classifier, p.rules, p.vector_reading, tuple(rules.tolist()))
    instructions = {name: work[name] for name in work.columns if name in INSTRUCTIONS}
    accesses = work["memory"]
    total = accesses + sum(times * float(p[f"{name}_cycles"]) for name, times in instructions.items())
    columns = {"step": np.round(STEP * total / np.maximum(accesses, 1)).astype(np.int64)}
    for table in TABLES[p.classifier]:
        reads, words = work[f"{table}_reads"], work[f"{table}_read_words"]
        words_per_read = words // np.maximum(reads, 1)
        columns[f"{table}_long"] = words - words_per_read * reads
        columns[f"{table}_reads"] = reads - columns[f"{table}_long"]
        columns[f"{table}_words"] = words_per_read
    return {name: chosen(column, rule_index) for name, column in columns.items()}
