"""Banks behind one unit: the exact chain closed; open, the wait for a bank alone as a bound.

open: visits of one bank come at rate / banks and keep it for service + recovery: M/D/1, a lower bound, as who has
a bank may still wait for the unit. A visit also waits for the unit at least as behind M/D/1 with the unit's time.
"""

from __future__ import annotations

from npexplore.errors import RefusedError
from npexplore.machine.resources import BankedMemory
from npexplore.solve.queueing.bank_chain import bank_rate
from npexplore.study.laboratory.lone import LoneResource
from npexplore.study.laboratory.theory.line import Line


def closed_banks(lone: LoneResource, threads: int) -> float:
    """Return packets a second of threads whose visits choose banks at random; raises RefusedError for other banks."""
    bank = _plain(lone)
    return bank_rate(threads, bank.banks, _service(lone), bank.precharge, bank.latency)


def open_banks(lone: LoneResource, rate: float) -> float:
    """Return a lower bound of the mean seconds of a visit."""
    bank, service = _plain(lone), _service(lone)
    at_bank = Line.constant(service + bank.precharge).open(rate / bank.banks) - bank.precharge
    at_unit = Line.constant(service).open(rate)
    return max(at_bank, at_unit) + bank.latency


def _plain(lone: LoneResource) -> BankedMemory:
    bank = lone.resource
    assert isinstance(bank, BankedMemory)
    if bank.refresh or lone.operands.get("bank") != "random":
        raise RefusedError("theory: the chain of banks needs banks chosen at random, without refresh")
    return bank


def _service(lone: LoneResource) -> float:
    bank, size = lone.resource, lone.operands["bytes"]
    assert isinstance(bank, BankedMemory)
    length = lone.packet_bytes if size == "packet.packet_bytes" else float(size)
    return -(-length // bank.word_bytes) * bank.word + bank.command
