"""The packets offered to one run: which ones, in which order, at which instants; and a model that plays them.

Simulation and the control of `estimate` (solve/estimate/control.py) see the same packets at the same ticks: both take
them from here.

    mix        blocks, each a packet of every stratum of the sorted mix (saturated); independent draws (open)
    capture    in order from a random packet on, around its end
    instants   Poisson, periodic from a random phase, batches, on-off (a renewal process: rows/distributions.py)
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
STRATUM = 512  # packets of a saturated mix that are like the whole mix


class Offered(NamedTuple):
    """Packets of one run: rows of the workload's columns (n,), and arrival ticks (n,) in order (saturated: none)."""

    rows: Integers
    ticks: Integers


def generator(seed: int, purpose: str) -> np.random.Generator:
    """Return the random numbers of a run for one purpose, independent of those for others."""
    return np.random.default_rng([seed, *purpose.encode()])


def packets_offered(workload: Workload, seed: int, packets: int, tick: float) -> Offered:
    """Return `packets` packets for a run with a seed; raises InputError for a capture that has fewer with its times."""
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
    """Return which packets of a workload come (packets,)."""
    n = len(workload.packet_bytes)
    if n == 1:
        return np.zeros(packets, dtype=np.int64)
    if workload.ordered:
        return np.asarray((int(r.integers(n)) + np.arange(packets)) % n)
    if not stratified:
        return r.integers(n, size=packets)
    order = r.permutation(n)  # of packets of one length, whatever else tells them apart
    by_length = order[np.argsort(workload.packet_bytes[order], kind="stable")]
    blocks = -(-packets // STRATUM)
    places = (np.arange(STRATUM) + r.random((blocks, STRATUM))) * (n / STRATUM)
    chosen: Integers = by_length[r.permuted(places.astype(np.int64), axis=1).ravel()[:packets]]
    return chosen


def instants(process: Arrivals, r: np.random.Generator, packets: int) -> Floats:
    """Return the arrival instants of `packets` packets in seconds, in order."""
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
    """Return the arrays of the event engine for `packets` packets that come at given instants (`played` sets them).

    load: what a packet of the workload demands (None: not known).
    """
    rows = np.arange(packets) * len(workload.packet_bytes) // packets
    extremes = [pick(column) for column in workload.columns.values() for pick in (np.argmin, np.argmax)]
    rows[: len(extremes)] = extremes[:packets]  # lengths and classes that the model has to have room for
    mean_ns = 0.0 if workload.rate_pps is None else 1e9 / workload.rate_pps
    t_ns = np.round(np.arange(packets) * mean_ns).astype(np.int64)
    if workload.arrivals == "timestamps":
        assert workload.t_ns is not None
        rows, t_ns = np.arange(packets), workload.t_ns[:packets]
    stand_in = replace(
        workload, columns={name: column[rows] for name, column in workload.columns.items()}, arrivals="timestamps",
        rate_pps=None, bursts=None, t_ns=t_ns, ordered=True,
    )  # fmt: skip
    return MachineCompiler(machine, stand_in).model(stand_in, lambda: load)


def played(model: EngineModel, workload: Workload, offered: Offered) -> EngineModel:
    """Return a model whose packets are these, at these ticks; raises RefusedError if it has another number of them."""
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
    """Return a model whose threads begin in another order and each at a random time within `spread_s` more.

    Constant work can keep the order in which threads first met for a whole run: runs that shall stand for all orders
    begin in different ones (docs/estimate.md).
    """
    r = generator(seed, "starts")
    threads = [token for token in model.tokens if token.name != ARRIVALS]
    others = [token for token in model.tokens if token.name == ARRIVALS]
    latest = round(spread_s / model.tick)
    begins = r.integers(latest + 1, size=len(threads))
    moved: list[Token] = [
        replace(threads[k], begin=int(begin)) for k, begin in zip(r.permutation(len(threads)), begins, strict=True)
    ]
    census = model.census
    if census is not None:
        census = replace(census, start=census.start + int(begins.sum()))
    return replace(model, tokens=[*moved, *others], census=census)


ARRIVALS = "arrivals"  # the name of the token that lets packets arrive
