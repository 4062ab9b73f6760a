"""The packets offered to one run: their rows, order and arrival times; and a model that plays them.

Simulation and the control of `estimate` (solve/estimate/control.py) both use this module, so that they see the same
packets at the same ticks.

    mix        blocks with one packet of each stratum of the sorted mix (saturated); independent draws (open)
    capture    in order from a random packet on, wrapping around at its end
    arrivals   Poisson, periodic with a random phase, batches, on-off (a renewal process: rows/distributions.py)
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from npexplore.engine.model import EngineModel, MachineCompiler, Token
from npexplore.errors import InputError, RefusedError
from npexplore.machine.machine import Machine
from npexplore.machine.under_load import UnderLoad
from npexplore.machine.workload import Workload
from npexplore.rows.distributions import Arrivals, Batch, OnOff, Periodic

Integers = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
STRATUM = 512  # packets of a block of a saturated mix; each block represents the whole mix


class Offered(NamedTuple):
    """Packets of one run: rows of the workload's columns (n,), and arrival ticks (n,) in order (saturated: empty)."""

    rows: Integers
    ticks: Integers


def generator(seed: int, purpose: str) -> np.random.Generator:
    """Return the random number generator of a run for one purpose, independent of those for other purposes."""
    return np.random.default_rng([seed, *purpose.encode()])


def packets_offered(workload: Workload, seed: int, packets: int, tick: float) -> Offered:
    """Return `packets` packets for a run; raises InputError for a capture that has fewer with time stamps."""
    r = generator(seed, "offered")
    process = workload.process()
    if workload.arrivals == "timestamps":
        assert workload.t_ns is not None
        if packets > len(workload.t_ns):
            raise InputError(
                f"{workload.name!r} has {len(workload.t_ns)} packets with time stamps, {packets} are needed"
            )
        return Offered(np.arange(packets), np.round(workload.t_ns[:packets] * (1e-9 / tick)).astype(np.int64))
    rows = row_numbers(workload, r, packets, stratified=process is None)
    if process is None:
        return Offered(rows, np.zeros(0, dtype=np.int64))
    return Offered(rows, np.round(instants(process, r, packets) / tick).astype(np.int64))


def row_numbers(workload: Workload, r: np.random.Generator, packets: int, stratified: bool) -> Integers:
    """Return the workload's row of each offered packet, shape (packets,)."""
    n = len(workload.packet_bytes)
    if n == 1:
        return np.zeros(packets, dtype=np.int64)
    if workload.ordered:
        return np.asarray((int(r.integers(n)) + np.arange(packets)) % n)
    if not stratified:
        return r.integers(n, size=packets)
    order = r.permutation(n)  # shuffles packets of equal length
    by_length = order[np.argsort(workload.packet_bytes[order], kind="stable")]
    blocks = -(-packets // STRATUM)
    places = (np.arange(STRATUM) + r.random((blocks, STRATUM))) * (n / STRATUM)
    chosen: Integers = by_length[r.permuted(places.astype(np.int64), axis=1).ravel()[:packets]]
    return chosen


def instants(process: Arrivals, r: np.random.Generator, packets: int) -> Floats:
    """Return the arrival times of `packets` packets in seconds, in order, shape (packets,)."""
    mean = 1.0 / process.rate
    if isinstance(process, Periodic):
        return np.asarray((r.random() + np.arange(packets)) * mean)
    if isinstance(process, Batch):
        sizes = np.full(packets, process.size)
        if process.sizes == "geometric":
            sizes = r.geometric(1 / process.size, size=packets)
        sizes = sizes[: int(np.searchsorted(np.cumsum(sizes), packets)) + 1]
        times = np.cumsum(r.exponential(mean * process.size, size=len(sizes)))
        return np.repeat(times, sizes)[:packets]
    if isinstance(process, OnOff):
        law = process.interval()
        first = r.random(packets) < law.probability
        return np.asarray(np.cumsum(r.exponential(1.0, size=packets) * np.where(first, *law.means)))
    return np.asarray(np.cumsum(r.exponential(mean, size=packets)))


def open_model(machine: Machine, workload: Workload, packets: int, load: UnderLoad | None) -> EngineModel:
    """Return the arrays of the event engine for `packets` packets with arrival times (set by `played`).

    load: demands of the workload (None: not known).
    """
    rows = np.arange(packets) * len(workload.packet_bytes) // packets
    extremes = [pick(column) for column in workload.columns.values() for pick in (np.argmin, np.argmax)]
    rows[: len(extremes)] = extremes[:packets]  # so that the model has room for the extreme lengths and classes
    mean_ns = 0.0 if workload.rate_pps is None else 1e9 / workload.rate_pps
    t_ns = np.round(np.arange(packets) * mean_ns).astype(np.int64)
    if workload.arrivals == "timestamps":
        assert workload.t_ns is not None
        rows, t_ns = np.arange(packets), workload.t_ns[:packets]
    placeholder = replace(
        workload, columns={name: column[rows] for name, column in workload.columns.items()}, arrivals="timestamps",
        rate_pps=None, bursts=None, t_ns=t_ns, ordered=True,
    )  # fmt: skip
    return MachineCompiler(machine, placeholder).model(placeholder, lambda: load)


def played(model: EngineModel, workload: Workload, offered: Offered) -> EngineModel:
    """Return a model that plays these packets at these ticks; raises RefusedError if the model needs more of them."""
    tables = list(model.tables)
    assert model.packets is not None
    if len(tables[model.packets]) > len(offered.rows):
        raise RefusedError(f"{workload.name!r}: {len(offered.rows)} packets are offered to a model of more")
    columns = [np.asarray(column, dtype=np.int64)[offered.rows] for column in workload.columns.values()]
    tables[model.packets] = np.stack(columns, axis=1)
    if len(offered.ticks):
        assert model.times is not None
        tables[model.times] = offered.ticks.reshape(-1, 1)
    return replace(model, tables=tables, shuffled=None)


def from_elsewhere(model: EngineModel, seed: int, spread_s: float) -> EngineModel:
    """Return a model whose threads start in a random order, each delayed by a random time of at most `spread_s`.

    With constant service times, a run can keep the order in which its threads first met. Runs that are to represent all
    orders start in different ones (docs/estimate.md).
    """
    r = generator(seed, "starts")
    threads = [token for token in model.tokens if token.name != ARRIVALS]
    sources = [token for token in model.tokens if token.name == ARRIVALS]
    latest = round(spread_s / model.tick)
    delays = r.integers(latest + 1, size=len(threads))
    shuffled: list[Token] = [
        replace(threads[k], begin=int(delay)) for k, delay in zip(r.permutation(len(threads)), delays, strict=True)
    ]
    census = model.census
    if census is not None:
        census = replace(census, start=census.start + int(delays.sum()))
    return replace(model, tokens=[*shuffled, *sources], census=census)


ARRIVALS = "arrivals"  # the name of the token that is the source of packets
