"""Sets of parameters of the SoCLIB unit that fit its calibration rows, and what each of them predicts.

    compute  = cycles of a packet that the words of one processor leave, less all that is assumed
    accesses to the packet memory, to load a context, section: halved until throughput is highest with 8, with 27, with
    45 (spin) processors

What the paper does not print is drawn at random (`RANGES`); a draw is kept if the peaks are met within one processor.
Only calibration rows are read. `blind` sets leave the spin lock's row out: what they say of it is predicted. `free`
ones leave all peaks out and draw what would be fitted to them (`UNFITTED`): where peaks may be by the text alone.
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
SECTIONS = range(401)  # cycles of work under the lock: drawn where the spin lock's row is left out
UNFITTED: Mapping[str, Sequence[Value]] = {
    "section_cycles": range(401), "switch_accesses": range(101), "memory_accesses": range(1500, 6001, 100),
}  # fmt: skip
AROUND = range(-4, 5)  # processors about a printed peak at which throughput is looked at
SLACK = 1  # processors by which a peak may be missed
ONE_BANK_PROCESSORS = range(3, 15)  # processors about the peak of one bank
STEEP = 0.9  # of proportional growth: less is behind a peak of a segment for each processor


HEAD = """# Sets of parameters that the calibration rows of the SoCLIB multiprocessor admit, found by
# study/papers/soclib/sets.py; those without exp3.peak.cpus were not fitted to the spin lock's peak.
"""
ABOUT = "what the paper does not print drawn at random, the rest fitted to the words of one processor and to the peaks"


def is_blind(one: ParameterSet) -> bool:
    """Say whether the peak of spin locks is predicted."""
    return ROWS["distributed, spin"] not in one.fitted_to


def is_free(one: ParameterSet) -> bool:
    """Say whether all peaks are predicted."""
    return list(one.fitted_to) == [WORDS]


def load_sets() -> list[ParameterSet]:
    """Return the recorded sets of the SoCLIB unit."""
    return sets_.load_sets("soclib")


def written(sets: Sequence[ParameterSet]) -> str:
    """Return sets as the text of models/sets/soclib.toml."""
    return sets_.written("soclib", HEAD, ABOUT, sets)


# ---- the search


def throughput(at: Design, architecture: str, processors: int, seeds: Sequence[int]) -> float:
    """Return the mean bits per cycle over seeds."""
    machine = at.with_(**ARCHITECTURES[architecture], processors=processors)
    return fmean(run_of(machine, seed).throughput for seed in seeds)


def peak(at: Design, architecture: str, printed: int, seeds: Sequence[int]) -> int:
    """Return with how many processors throughput is highest, among those about a printed number."""
    counts = [printed + more for more in AROUND if printed + more > 0]
    return max(counts, key=lambda n: throughput(at, architecture, n, seeds))


def with_words(at: Design, known: Facts) -> Design | None:
    """Return a design whose one processor delivers the printed words, None if too little is left for work."""
    p = at.parameters
    point = known[WORDS].point
    assert point is not None
    one = at.with_(**ARCHITECTURES["one bank, mutex"], processors=1).parameters
    cycles, share = (p.window_cycles - p.boot_cycles) * packet_words(p) / point, mean_share(p)
    left = round((cycles - alone_cycles(one, share)) / share + p.compute_cycles)
    return at.with_(compute_cycles=left) if left > 0 else None


def fitted(assumed: Mapping[str, Value], blind: bool, seeds: Sequence[int] = (1,)) -> dict[str, Value] | None:
    """Return the assumed values with the fitted ones, None where no values meet the rows; reads calibration alone."""
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
    """Return the design with a value that puts the peak where it is printed: the larger it is, the earlier the peak."""
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
    """Return the sets that some random draws lead to, in the order of the draws."""
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
    """Return draws of all that is not printed, fitted to the words of one processor alone; those that leave work."""
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
    """Return with how many processors throughput of a segment each is highest, and the throughput, by halving.

    `most` stands for itself and all that is beyond.
    """
    rates = {least: throughput(at, architecture, least, (seed,))}
    low, high = least, most + 1
    while high - low > 1:
        middle = (low + high) // 2
        rates[middle] = throughput(at, architecture, middle, (seed,))
        grows = rates[middle] > STEEP * rates[least] / least * middle
        low, high = (middle, high) if grows else (low, middle)
    best = max(rates, key=lambda n: rates[n])
    return best, rates[best]


def spread(every: int, count: int, seed: int) -> pd.DataFrame:
    """Return the predictions of every so many of the fitted sets, and of `count` sets drawn freely by a seed."""
    return predictions([*load_sets()[::every], *free(count, seed=seed)])


def predictions(sets: Sequence[ParameterSet], seed: int = 1) -> pd.DataFrame:
    """Return what each set predicts: one row per set, a run for each number of processors.

    Columns: set, fitted (all, spin left out, none), knee and one_bank_peak, mutex_peak, mutex_at_27, left (at three
    processors beyond the mutex's peak, of its throughput), conflicts_at_28 (million cycles), spin_over_mutex (largest
    difference at 8 and 24 processors), spin_peak, spin_at_peak, and faster_than_one (throughput of a processor at that
    peak over that of one alone).
    """
    import pandas as pd

    def one(k: int) -> tuple[object, ...]:
        at = design("soclib").with_(**sets[k].set)

        def rate(architecture: str, n: int) -> float:
            return throughput(at, architecture, n, (seed,))

        few = [(n, rate("one bank, mutex", n)) for n in ONE_BANK_PROCESSORS]
        top, highest = last_growing(at, "distributed, mutex", seed)
        machine = at.with_(**ARCHITECTURES["distributed, mutex"], processors=28)
        blocked = run_of(machine, seed).conflict_cycles or 0.0
        pairs = [(rate("distributed, spin", n), rate("distributed, mutex", n)) for n in (8, 24)]
        spin, best = last_growing(at, "distributed, spin", seed)
        fitted = "none" if is_free(sets[k]) else "spin left out" if is_blind(sets[k]) else "all"
        return (
            k + 1, fitted, knee(few), peak_of(few)[0], top, rate("distributed, mutex", 27),
            rate("distributed, mutex", top + 3) / highest, blocked / 1e6, max(abs(a / b - 1) for a, b in pairs),
            spin, best, best / spin / rate("distributed, spin", 1),
        )  # fmt: skip

    with ThreadPoolExecutor(usable_cores()) as pool:
        rows = list(pool.map(one, range(len(sets))))
    columns = ["set", "fitted", "knee", "one_bank_peak", "mutex_peak", "mutex_at_27", "left", "conflicts_at_28",
               "spin_over_mutex", "spin_peak", "spin_at_peak", "faster_than_one"]  # fmt: skip
    return pd.DataFrame(rows, columns=columns)
