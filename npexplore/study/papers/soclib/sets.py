"""Searches sets of parameters of the SoCLIB unit that fit its calibration rows, and tabulates their predictions.

    compute cycles: a packet's cycles from the printed words of one processor, minus all assumed cycles
    accesses to the packet memory, accesses to load a context, section cycles: found by bisection so that throughput is
    highest with 8, with 27, and (spin lock) with 45 processors

Parameters that the paper does not print are drawn at random (`RANGES`). A draw is kept if all peaks are met within one
processor. Only calibration rows are read. `blind` sets do not use the spin lock's row, and so predict it. `free` sets
use no peak and also draw the parameters that are otherwise fitted to peaks (`UNFITTED`); they show which peaks the text
alone allows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from statistics import fmean
from typing import TYPE_CHECKING

import numpy as np

from npexplore.designs import Design, design
from npexplore.designs.soclib.unit import alone_cycles, packet_words
from npexplore.designs.soclib.ways import mean_share
from npexplore.ledger import Facts, facts
from npexplore.machine.parameters import Value
from npexplore.study.checking import sets as sets_
from npexplore.study.checking.quantities.soclib import knee
from npexplore.study.checking.quantities.soclib import peak as peak_of
from npexplore.study.checking.sets import ParameterSet
from npexplore.study.papers.soclib.performance import ARCHITECTURES, run_of
from npexplore.study.sweeping.answers import usable_cores

if TYPE_CHECKING:
    import pandas as pd

ROWS = {"one bank, mutex": "soclib.exp1.peak.cpus", "distributed, mutex": "soclib.exp2.peak.cpus",
        "distributed, spin": "soclib.exp3.peak.cpus"}  # fmt: skip
WORDS = "soclib.baseline.words"
RANGES: Mapping[str, Sequence[Value]] = {
    "latency_cycles": range(1, 9),
    "bank_cycles": (1, 2, 3),
    "global_cycles": (1, 2, 3),
    "global_accesses": range(10, 61, 5),
    "section_accesses": range(0, 21, 5),
    "scheduler_cycles": range(0, 31, 2),
    "gap_cycles": range(10, 61, 5),
    "code_misses": (0, 48, 96),
    "from_switch": (0.25, 0.5, 0.75),
    "bursts": (12, 24, 48),
    "start": ("simultaneous", "staggered"),
}
SECTIONS = range(401)  # cycles of work under the lock; drawn for sets that do not use the spin lock's row
UNFITTED: Mapping[str, Sequence[Value]] = {
    "section_cycles": range(401), "switch_accesses": range(101), "memory_accesses": range(1500, 6001, 100),
}  # fmt: skip
AROUND = range(-4, 5)  # offsets from a printed peak, in processors, at which throughput is simulated
SLACK = 1  # largest error of a peak in processors
ONE_BANK_PROCESSORS = range(3, 15)  # numbers of processors around the peak of one bank
STEEP = 0.9  # throughput below this share of proportional growth is beyond the peak (distributed memory)


HEAD = """# Sets of parameters that the calibration rows of the SoCLIB multiprocessor admit, found by
# study/papers/soclib/sets.py; those without exp3.peak.cpus were not fitted to the spin lock's peak.
"""
ABOUT = "what the paper does not print drawn at random, the rest fitted to the words of one processor and to the peaks"


def is_blind(one: ParameterSet) -> bool:
    """Return whether a set predicts the peak of spin locks, that is, was not fitted to it."""
    return ROWS["distributed, spin"] not in one.fitted_to


def is_free(one: ParameterSet) -> bool:
    """Return whether a set predicts all peaks."""
    return list(one.fitted_to) == [WORDS]


def load_sets() -> list[ParameterSet]:
    """Return the recorded sets of the SoCLIB unit."""
    return sets_.load_sets("soclib")


def written(sets: Sequence[ParameterSet]) -> str:
    """Return the text of models/sets/soclib.toml for some sets."""
    return sets_.written("soclib", HEAD, ABOUT, sets)


# ---- the search


def throughput(at: Design, architecture: str, processors: int, seeds: Sequence[int]) -> float:
    """Return the mean throughput in bit/cycle over seeds."""
    machine = at.with_(**ARCHITECTURES[architecture], processors=processors)
    return fmean(run_of(machine, seed).throughput for seed in seeds)


def peak(at: Design, architecture: str, printed: int, seeds: Sequence[int]) -> int:
    """Return the number of processors with the highest throughput, among the numbers around a printed peak."""
    counts = [printed + offset for offset in AROUND if printed + offset > 0]
    return max(counts, key=lambda n: throughput(at, architecture, n, seeds))


def with_words(at: Design, known: Facts) -> Design | None:
    """Return the design with compute cycles such that one processor delivers the printed words; None if impossible."""
    p = at.parameters
    point = known[WORDS].point
    assert point is not None
    single = at.with_(**ARCHITECTURES["one bank, mutex"], processors=1).parameters
    cycles, share = (p.window_cycles - p.boot_cycles) * packet_words(p) / point, mean_share(p)
    compute_cycles = round((cycles - alone_cycles(single, share)) / share + p.compute_cycles)
    return at.with_(compute_cycles=compute_cycles) if compute_cycles > 0 else None


def fitted(assumed: Mapping[str, Value], blind: bool, seeds: Sequence[int] = (1,)) -> dict[str, Value] | None:
    """Return the assumed and the fitted values, None if no values meet the rows; only calibration rows are read."""
    known = facts()
    printed = {name: int(known[row].point or 0) for name, row in ROWS.items()}
    at = design("soclib").with_(**assumed)
    bank = int(at.parameters.bank_cycles)
    steps: list[tuple[str, str, int, int]] = [
        ("switch_accesses", "distributed, mutex", 0, 800), ("memory_accesses", "one bank, mutex", 2000, 12_000 // bank),
    ]  # fmt: skip
    if not blind:
        steps.insert(0, ("section_cycles", "distributed, spin", 0, 600))
    names = [name for name, *_ in steps]
    at = at.with_(memory_accesses=6600 // bank)
    for name, architecture, low, high in steps:
        candidate = _halved(at, name, architecture, low, high, printed[architecture], known, seeds)
        if candidate is None:
            return None
        at = candidate
    exact = with_words(at, known)
    if exact is None:
        return None
    for _, architecture, *_ in steps:
        if abs(peak(exact, architecture, printed[architecture], seeds) - printed[architecture]) > SLACK:
            return None
    return {**assumed, **{name: exact.parameters[name] for name in ("compute_cycles", *names)}}


def _halved(
    at: Design, name: str, architecture: str, low: int, high: int, printed: int, known: Facts, seeds: Sequence[int]
) -> Design | None:
    """Return the design with a bisected value that has the printed peak; larger values have earlier peaks."""
    while low <= high:
        middle = (low + high) // 2
        candidate = with_words(at.with_(**{name: middle}), known)
        if candidate is None:
            high = middle - 1
            continue
        processors = peak(candidate, architecture, printed, seeds)
        if processors == printed:
            return candidate
        low, high = (middle + 1, high) if processors > printed else (low, middle - 1)
    return None


def search(draws: int, seed: int, blind: bool, note: Callable[[str], None] = lambda text: None) -> list[ParameterSet]:
    """Return the sets fitted from random draws, in the order of the draws; note: called with each draw's outcome."""
    rng = np.random.default_rng(seed)
    assumptions = []
    for _ in range(draws):
        values = {name: choices[int(rng.integers(len(choices)))] for name, choices in RANGES.items()}
        assumptions.append(values | ({"section_cycles": SECTIONS[int(rng.integers(len(SECTIONS)))]} if blind else {}))

    def one(assumed: dict[str, Value]) -> dict[str, Value] | None:
        fit = fitted(assumed, blind)
        note("kept" if fit else "no values meet the rows")
        return fit

    rows = [WORDS, *(row for name, row in ROWS.items() if not blind or name != "distributed, spin")]
    with ThreadPoolExecutor(usable_cores()) as pool:
        return [ParameterSet(fitted_to=rows, set=fit) for fit in pool.map(one, assumptions) if fit]


def free(draws: int, seed: int) -> list[ParameterSet]:
    """Return random draws of all unprinted parameters, fitted only to the words of one processor where possible."""
    rng, known, sets = np.random.default_rng(seed), facts(), []
    for _ in range(draws):
        values = {name: choices[int(rng.integers(len(choices)))] for name, choices in {**RANGES, **UNFITTED}.items()}
        at = with_words(design("soclib").with_(**values), known)
        if at is not None:
            sets.append(ParameterSet(fitted_to=[WORDS], set={**values, "compute_cycles": at.parameters.compute_cycles}))
    return sets


# ---- what the sets predict


def last_growing(
    at: Design, architecture: str, seed: int = 1, least: int = 8, most: int = 72
) -> tuple[int, float]:  # fmt: skip
    """Return the processors with the highest throughput with distributed memory, and the throughput, by bisection.

    A result of `most` means `most` or more.
    """
    rates = {least: throughput(at, architecture, least, (seed,))}
    low, high = least, most + 1
    while high - low > 1:
        middle = (low + high) // 2
        rates[middle] = throughput(at, architecture, middle, (seed,))
        is_growing = rates[middle] > STEEP * rates[least] / least * middle
        low, high = (middle, high) if is_growing else (low, middle)
    best = max(rates, key=lambda n: rates[n])
    return best, rates[best]


def spread(every: int, count: int, seed: int) -> pd.DataFrame:
    """Return the predictions of each `every`-th fitted set, and of the free sets among `count` draws."""
    return predictions([*load_sets()[::every], *free(count, seed=seed)])


def predictions(sets: Sequence[ParameterSet], seed: int = 1) -> pd.DataFrame:
    """Return the predictions of each set, one row per set, with one run for each number of processors.

    Columns: set, fitted (all, spin left out, none), knee and one_bank_peak, mutex_peak, mutex_at_27, left (throughput
    three processors beyond the mutex's peak / at the peak), conflicts_at_28 (million cycles), spin_over_mutex (largest
    difference at 8 and 24 processors), spin_peak, spin_at_peak, and faster_than_one (throughput per processor at the
    spin lock's peak / throughput of a single processor).
    """
    import pandas as pd

    def one(k: int) -> tuple[object, ...]:
        at = design("soclib").with_(**sets[k].set)

        def rate(architecture: str, n: int) -> float:
            return throughput(at, architecture, n, (seed,))

        one_bank = [(n, rate("one bank, mutex", n)) for n in ONE_BANK_PROCESSORS]
        top, highest = last_growing(at, "distributed, mutex", seed)
        machine = at.with_(**ARCHITECTURES["distributed, mutex"], processors=28)
        blocked = run_of(machine, seed).conflict_cycles or 0.0
        pairs = [(rate("distributed, spin", n), rate("distributed, mutex", n)) for n in (8, 24)]
        spin, best = last_growing(at, "distributed, spin", seed)
        fitted = "none" if is_free(sets[k]) else "spin left out" if is_blind(sets[k]) else "all"
        return (
            k + 1, fitted, knee(one_bank), peak_of(one_bank)[0], top, rate("distributed, mutex", 27),
            rate("distributed, mutex", top + 3) / highest, blocked / 1e6,
            max(abs(spin_rate / mutex_rate - 1) for spin_rate, mutex_rate in pairs),
            spin, best, best / spin / rate("distributed, spin", 1),
        )  # fmt: skip

    with ThreadPoolExecutor(usable_cores()) as pool:
        rows = list(pool.map(one, range(len(sets))))
    columns = ["set", "fitted", "knee", "one_bank_peak", "mutex_peak", "mutex_at_27", "left", "conflicts_at_28",
               "spin_over_mutex", "spin_peak", "spin_at_peak", "faster_than_one"]  # fmt: skip
    return pd.DataFrame(rows, columns=columns)
