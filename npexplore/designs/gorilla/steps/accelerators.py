"""Accelerators of the Gorilla router: their answers for a packet, and the memory accesses of each answer.

lookup          a trie walk, itself a step program: one step per level, each reads memory once (Secs. 4.1, 4.2)
label_table     each cluster's hash table of several bins; misses read a direct-mapped table in memory (Sec. 4.2)
flow_counter    216 bits per flow as three counters of 72 bits: three reads and three writes (Sec. 4.3)
integrity       a header check without memory accesses
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from npexplore.golden.flow_counters import FlowCounters
from npexplore.golden.lookup.multibit import MultibitTrie
from npexplore.golden.mpls.label_cache import LabelCache
from npexplore.golden.mpls.switch import LabelMap
from npexplore.golden.reasons import Reason
from npexplore.machine.step_programs import (
    Answer,
    Call,
    Compiled,
    Composite,
    Context,
    Field,
    Kept,
    Step,
    StepProgram,
    compile_steps,
)

MEMORY = "reads"  # key of an answer's reads of the external memory
WRITES = "writes"
ENTRY_BITS = 32  # largest width of a trie entry in memory


def trie_program(trie: MultibitTrie) -> Compiled:
    """Return the walk through a trie as a compiled step program: one step per level, with forward jumps only.

    Raises ModelError if a memory word is narrower than an index.
    """
    bits = trie.family.bits
    program = StepProgram("lookup", "level1", [Field("address", bits, region="key")])

    def level(number: int, left: int, c: Context) -> str:
        if c.entry < trie.limit:
            c.leaf = c.entry
            return "done"
        c.at = _index(c.entry, c.key, left, trie, number + 1)
        return f"level{number + 2}"

    def done(c: Context) -> None:
        c.answer = trie.hop_of(c.leaf)

    left = bits - trie.STRIDES[0]
    for number in range(len(trie.STRIDES)):
        more = number + 1 < len(trie.STRIDES)
        left_after = left - (trie.STRIDES[number + 1] if more else 0)
        program.add(
            Step(
                f"level{number + 1}", partial(level, number, left_after),
                reads=("address",), calls=(Call("entry", f"memory{number + 1}", ("at",)),),
                goes=((f"level{number + 2}", "done") if more else ("done",)),
                keeps=(Kept("entry", ENTRY_BITS), Kept("at", ENTRY_BITS), Kept("leaf", ENTRY_BITS)),
            )
        )  # fmt: skip
        left = left_after
    program.add(Step("done", done, keeps=(Kept("answer", ENTRY_BITS, missing=True),)))
    return compile_steps(program, max(bits, 1))


def _index(entry: int, key: int, left: int, trie: MultibitTrie, level: int) -> int:
    stride = trie.STRIDES[level]
    return (entry - trie.limit << stride) + (key >> left & (1 << stride) - 1)


def lookup(trie: MultibitTrie) -> Callable[[int], Answer]:
    """Return the lookup accelerator. It answers an address with its class (next hop), None if no route matches."""

    def memory(level: int, at: int) -> Answer:
        return Answer(trie.entry(level, at), {MEMORY: 1})

    levels = {f"memory{n + 1}": partial(memory, n) for n in range(len(trie.STRIDES))}
    walk = Composite(trie_program(trie), ("key", "at"), levels)
    first = trie.family.bits - trie.STRIDES[0]
    return lambda address: walk(address, address >> first)


def label_table(cache: LabelCache, known: LabelMap) -> Callable[[int], Answer]:
    """Return the label lookup. It answers a label with its entry or None; misses in the cluster's table read memory."""

    def look_up(label: int) -> Answer:
        number, reads = cache.look_up(label)
        return Answer(None if number < 0 else known.entries[number], {MEMORY: len(reads) - 1})

    return look_up


def flow_counter(counters: FlowCounters) -> Callable[[tuple[int, int]], Answer]:
    """Return the counter update of a flow (class of destination, class of source), with its reads and writes."""

    def count(flow: tuple[int, int]) -> Answer:
        work = counters.count(*flow)
        writes = sum(access.write for access in work.accesses)
        return Answer(None, {MEMORY: len(work.accesses) - writes, WRITES: writes})

    return count


def header_check(check: Callable[[Any], Reason]) -> Callable[[Any], Answer]:
    """Return the integrity accelerator. It answers a header with the reason why it is invalid, or Reason.NONE."""
    return lambda header: Answer(check(header))
