"""The functional DiffServ router for columns of packets: one kernel, with the same result as the reference."""

from math import lcm
from typing import Any

import numpy as np
from numpy.typing import NDArray

from npexplore._kernels import golden_diffserv as kernels
from npexplore.errors import InputError
from npexplore.golden.diffserv.arrivals import Arrivals
from npexplore.golden.diffserv.outcome import Outcome
from npexplore.golden.diffserv.queues import UNLIMITED
from npexplore.golden.diffserv.reference import LOST, early_draws, simulate_plainly
from npexplore.golden.diffserv.setup import ClassQueue, DiffServ, OutputPort
from npexplore.golden.police import Colour
from npexplore.golden.police.batch import policer_states, policer_table
from npexplore.golden.schedule import SCHEDULERS

MOST_TAG = 1 << 62  # largest tag of self-clocked fair queueing


def simulate_diffserv(router: DiffServ, arrivals: Arrivals, seed: int = 0) -> Outcome:
    """Return the fate of each packet (lost, dropped or sent) and its departure time.

    The slower reference simulates schedulers without a kernel (`wfq`).

    Args:
        router: treatments, queues, schedulers and links.
        arrivals: the packets, in order of time.
        seed: seed of random early drops.

    Raises:
        InputError: packets that do not fit the router's ports or treatments.
    """
    if any(SCHEDULERS[port.scheduler].KIND is None for port in router.ports):
        return simulate_plainly(router, arrivals, seed)
    arrivals.check(router)
    ports, queues, early = _port_tables(router, int(arrivals.queued.sum()))
    ready = _received(router, arrivals)
    outcome = Outcome.empty(router, arrivals, ready)
    received = ready != LOST
    ordered = bool(received.all()) and bool((np.diff(ready) >= 0).all())
    rows = np.arange(len(ready)) if ordered else np.flatnonzero(received)[np.argsort(ready[received], kind="stable")]
    policers = policer_table(router.policers)
    lengths = arrivals.length_bytes, arrivals.policed, arrivals.queued
    columns = [ready, *lengths, arrivals.rule, arrivals.port, arrivals.colour]
    columns.append(early_draws(router, len(arrivals), seed))
    results: list[NDArray[Any]] = [outcome.departure_ns, outcome.fate, outcome.colour, outcome.dscp]
    inputs, outputs = ([column if ordered else column[rows] for column in parts] for parts in (columns, results))
    tables = (policers, *policer_states(policers), _treatment_table(router), ports, queues, early)
    arguments: list[Any] = [*inputs, *tables, *outputs]
    kernels.simulate(*arguments)
    if not ordered:
        for result, column in zip(results, outputs, strict=True):
            result[rows] = column
    return outcome


def _received(router: DiffServ, arrivals: Arrivals) -> NDArray[np.int64]:
    """Return the end of each packet's reception in ns, LOST for packets that found the MAC buffer full."""
    if router.receivers is None:
        return arrivals.time_ns
    settings = np.array(
        [
            (receiver.service_ns, receiver.servers, -1 if receiver.buffer_packets is None else receiver.buffer_packets)
            for receiver in router.receivers
        ],
        np.int64,
    ).reshape(-1, 3)
    service = np.where(arrivals.service_ns < 0, settings[arrivals.source, 0], arrivals.service_ns)
    ready = np.empty(len(arrivals), np.int64)
    servers, room = np.ascontiguousarray(settings[:, 1]), np.ascontiguousarray(settings[:, 2])
    if len(arrivals):
        kernels.receive(arrivals.time_ns, arrivals.source, service, servers, room, ready)
    return ready


def _treatment_table(router: DiffServ) -> NDArray[np.int64]:
    """Return the kernel's table of treatments."""
    rows = [
        (
            router.class_number(rule), treatment.colour,
            -1 if treatment.policer is None else treatment.policer,
            len(Colour) if treatment.drop_from is None else treatment.drop_from,
            *(treatment.code_point(colour) for colour in Colour),
        )
        for rule, treatment in enumerate(router.treatments)
    ]  # fmt: skip
    return np.array(rows, np.int64).reshape(-1, kernels.TREATMENT_COLUMNS)


def _port_tables(
    router: DiffServ, all_bytes: int
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:  # fmt: skip
    """Return the kernel's tables of ports, queues and early drops; raises InputError if tags would overflow."""
    ports = [_port_row(port) for port in router.ports]
    queues, early = [], []
    for number, port in enumerate(router.ports):
        weights = [queue.weight for queue in port.queues]
        steps = [lcm(*weights) // weight for weight in weights]
        if SCHEDULERS[port.scheduler].KIND == kernels.SCFQ and all_bytes * max(steps) > MOST_TAG:
            raise InputError(
                f"port {number}: weights must have a smaller common multiple for tags to be exact, got {weights}"
            )
        queues.append([_queue_row(queue, step) for queue, step in zip(port.queues, steps, strict=True)])
        early.append([_early_rows(queue) for queue in port.queues])
    return np.array(ports, np.int64), np.array(queues, np.int64), np.array(early, np.int64)


def _port_row(port: OutputPort) -> tuple[int, ...]:
    kind, shaper = SCHEDULERS[port.scheduler].KIND, port.new_shaper()
    assert kind is not None
    link = (kind, port.rate.numerator, port.rate.denominator, port.preamble_bytes, port.gap_bytes)
    if shaper is None:
        return *link, 0, 1, 1, 0, 0
    return *link, 1, shaper.rate.numerator, shaper.rate.denominator, shaper.full, shaper.need


def _queue_row(queue: ClassQueue, step: int) -> tuple[int, ...]:
    limits, early = queue.limits, queue.limits.early
    packets = UNLIMITED if limits.packets is None else limits.packets
    max_bytes = UNLIMITED if limits.bytes is None else limits.bytes
    return queue.weight, packets, max_bytes, min(step, MOST_TAG), int(early is not None), *(
        (early.shift, early.idle_ns) if early is not None else (0, 1)
    )  # fmt: skip


def _early_rows(queue: ClassQueue) -> list[tuple[int, int, int]]:
    early = queue.limits.early
    return [thresholds.row() for thresholds in early.colours] if early is not None else [(0, 0, 0)] * len(Colour)
