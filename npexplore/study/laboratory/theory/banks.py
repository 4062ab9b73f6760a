"""Results for banks with a common unit, where visits choose a random bank, banks in turn, or always the same bank.

    random   closed: the exact chain. open: visits of a bank arrive at rate / banks and hold it for service + recovery:
             M/D/1, a lower bound, since a visit that holds a bank may still wait for the unit
    in turn  closed: a cyclic schedule, exact. open: M/D/banks, a lower bound
    one      a single queue: closed and open exact

A visit waits for the unit at least as long as in M/D/1 with the unit's service time.
"""

from __future__ import annotations

from npexplore.errors import RefusedError
from npexplore.machine.resources import BankedMemory
from npexplore.solve.queueing.bank_chain import bank_rate
from npexplore.study.laboratory.lone import LoneResource
from npexplore.study.laboratory.theory.line import Line


def closed_banks(lone: LoneResource, threads: int) -> float:
    """Return the packets/s of some threads; raises RefusedError for other choices of banks."""
    bank, banks = _plain(lone)
    service, recovery = _service(lone), bank.precharge
    if lone.operands["bank"] == "random":
        return bank_rate(threads, banks, service, recovery, bank.latency)
    return min(threads / (service + bank.latency), 1 / service, banks / (service + recovery))


def open_banks(lone: LoneResource, rate: float) -> float:
    """Return a lower bound of a visit's mean time in s; rate: packets/s."""
    (bank, banks), service = _plain(lone), _service(lone)
    busy_s, in_turn = service + bank.precharge, lone.operands["bank"] == "round_robin"
    line = Line.constant(busy_s, servers=banks if in_turn else 1)
    at_bank = line.open(rate if in_turn else rate / banks) - bank.precharge
    at_unit = Line.constant(service).open(rate)
    return max(at_bank, at_unit) + bank.latency


def _plain(lone: LoneResource) -> tuple[BankedMemory, int]:
    """Return the memory and the number of its visited banks; raises RefusedError for choices without a result."""
    bank = lone.resource
    assert isinstance(bank, BankedMemory)
    chosen = lone.number("bank")
    if bank.refresh or (isinstance(chosen, str) and chosen not in ("random", "round_robin")):
        raise RefusedError("theory: banks have a result at random, in turn or always the same one, without refresh")
    return bank, bank.banks if isinstance(chosen, str) else 1


def _service(lone: LoneResource) -> float:
    bank = lone.resource
    assert isinstance(bank, BankedMemory)
    return -(-lone.amount("bytes") // bank.word_bytes) * bank.word + bank.command
