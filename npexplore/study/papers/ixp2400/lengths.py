"""Builds other mixes of lengths with every printed property of the three lost traces (Sec. 4.1, Figs. 10 and 13).

The paper prints the share below 64 bytes, modes around 40 and 1500 bytes, and a utilization of the hash unit, which
determines the mean number of cells. It does not print the lengths between the modes; SHAPES are possible distributions.

    U = S X / (m b)     S: time of a packet in the unit, X: bit/s, m: cells per packet, b: bits of a cell

Throughput comes from the simulation, so that only calibration rows are read: m <- m U(m) / U printed, until both agree.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from statistics import fmean

import msgspec

from npexplore.designs import Design, design
from npexplore.errors import InputError
from npexplore.ledger import Facts
from npexplore.machine.mixes import Component, MixFile, load_mix, solve_mix, standing_in
from npexplore.machine.parameters import Value
from npexplore.study.checking import sets
from npexplore.study.checking.fitted_rows import calibration_row
from npexplore.study.checking.quantities.base import knobs_of
from npexplore.study.checking.sets import ParameterSet

TRACES = ("amp", "frg", "psc")
ON_CHIP = {"amp": 0.30, "frg": 0.40, "psc": 0.50}  # packets of at most 64 bytes: 30 to 50 % (Sec. 4.1)
SEEN = ["ixp2400.fcb.on_chip_min", "ixp2400.fcb.on_chip_max"]
ROUGH_CELLS = {"amp": 12.1, "frg": 9.9, "psc": 11.0}  # start of the search for the mean

AGREES = 3e-4  # largest relative error of the utilization, below the last printed digit
MAX_STEPS = 8
FIT_SEEDS = (11, 12, 13)

Shape = Callable[[str, Sequence[Component]], list[Component]]


def _between(low: int, high: int, source: str, shape: str = "uniform") -> Shape:
    """Return a shape that keeps the modes and spreads the other packets over lengths low..high."""

    def spread(trace: str, parts: Sequence[Component]) -> list[Component]:
        rest = msgspec.structs.replace(parts[2], low=low, high=high, shape=shape, source=source)
        return [*parts[:2], rest]

    return spread


def _at_64(trace: str, parts: Sequence[Component]) -> list[Component]:
    source = "Sec. 4.1: 30 to 50 % of packets are on chip as a whole with FCB, more than are below 64 bytes"
    small, large, rest = parts
    assert not isinstance(small.share, str)
    full = Component(low=64, high=64, share=round(ON_CHIP[trace] - small.share, 2), source=source)
    return [small, full, large, msgspec.structs.replace(rest, low=65)]


def _wide_modes(trace: str, parts: Sequence[Component]) -> list[Component]:
    small, large, rest = parts
    return [
        msgspec.structs.replace(small, high=45),
        msgspec.structs.replace(large, low=1450),
        msgspec.structs.replace(rest, high=1449),
    ]


SHAPES: Mapping[str, tuple[str, Shape]] = {
    "576": ("a third mode at 576 bytes", _between(576, 576, "datagrams that every host takes (RFC 1122, Sec. 3.3.3)")),
    "uniform": ("lengths between the modes spread evenly", _between(64, 1499, "everything between the modes")),
    "short": ("lengths between the modes up to 256 bytes", _between(64, 256, "short requests and answers", "log")),
    "64": ("a third mode at 64 bytes, a full cell", _at_64),
    "wide modes": ("modes of 40 to 45 and 1450 to 1500 bytes", _wide_modes),
}


# structures that calibration admits: alternatives of the machine's file, and full tails in DRAM
STRUCTURES: Mapping[str, dict[str, Value]] = {
    "7 slots": {"dram_slots": 7},
    "16 slots": {"dram_slots": 16},
    "bus first": {"writes": "bus_first"},
    "full tails in DRAM": {"full_tail": "dram"},
}
FITTED = ("ixp2400.fig15.throughput.w128_b4", "ixp2400.fig15.hash.w128_b4")
ROWS = tuple(f"ixp2400.fig13.hash.{trace}" for trace in TRACES)
HEAD = """# Other readings of the IXP2400's study that its calibration rows admit, by study/papers/ixp2400/lengths.py:
# mixes of packet lengths that meet all that is printed of the lost traces, and other structures.
"""
ABOUT = "lengths between the printed modes filled in other ways, and structures that calibration does not rule out"


def load_sets() -> list[ParameterSet]:
    """Return the recorded sets."""
    return sets.load_sets("ixp2400")


def written(parameter_sets: Sequence[ParameterSet]) -> str:
    """Return the text of models/sets/ixp2400.toml for some sets."""
    return sets.written("ixp2400", HEAD, ABOUT, parameter_sets)


def search() -> list[ParameterSet]:
    """Return one set per shape and structure; the means are fitted again with each shape (takes minutes)."""
    shaped = [ParameterSet(fitted_to=list(ROWS), mix=[rebuilt(trace, shape) for trace in TRACES]) for shape in SHAPES]
    full = [ParameterSet(fitted_to=list(ROWS), set={"full_tail": "dram"}, mix=s.mix) for s in shaped[:1]]
    return [*shaped, *full, *(ParameterSet(fitted_to=list(FITTED), set=structure) for structure in STRUCTURES.values())]


def rebuilt(trace: str, shape: str, mean_cells: float | None = None) -> MixFile:
    """Return a trace's mix with another shape, its mean fitted again to the utilization of the hash unit.

    mean_cells: the mean (None: fit it). Raises InputError if no share of long packets gives the mean.
    """
    file, (form, make) = load_mix(trace).file, SHAPES[shape]
    assert file.target is not None
    mean = ROUGH_CELLS[trace] if mean_cells is None else mean_cells
    other = msgspec.structs.replace(
        file, title=f"{file.title}: {form}", assumption=f"{form}; the paper shows the curve but prints no numbers",
        component=make(trace, file.component),
        target=msgspec.structs.replace(file.target, mean_cells=mean, chosen_after=[*file.target.chosen_after, *SEEN]),
    )  # fmt: skip
    if mean_cells is not None:
        return other
    with standing_in([other]):
        fitted_cells = fitted_mean(design("ixp2400"), file.target.fitted_to[0])
    return rebuilt(trace, shape, round(fitted_cells, 3))


def fitted_mean(
    at: Design, key: str, *, known: Facts | None = None, seeds: Sequence[int] = FIT_SEEDS, packets: int = 30_000
) -> float:
    """Return the mean cells per packet at which the model has the printed utilization of a calibration row.

    Raises InputError if the row is not for calibration, or the search does not converge.
    """
    row = calibration_row(key, known)
    file, machine = load_mix(str(row.conditions["mix"])).file, at.with_(**knobs_of(row))
    if file.target is None:
        raise InputError(f"mix {file.name!r} has no mean to fit")
    assert row.point is not None
    mean, printed = file.target.mean_cells, row.si(row.point)
    for _ in range(MAX_STEPS):
        target = msgspec.structs.replace(file.target, mean_cells=mean)
        load = solve_mix(msgspec.structs.replace(file, target=target)).workload()
        runs = [machine.simulate(load, seed, packets=packets) for seed in seeds]
        busy = fmean(run.utilization[str(row.conditions["resource"])].busy for run in runs)
        if abs(busy / printed - 1) < AGREES:
            return mean
        mean *= busy / printed
    raise InputError(
        f"row {key}: no mean length gives {row.value} {row.unit}: {mean:.3f} cells after {MAX_STEPS} steps"
    )
