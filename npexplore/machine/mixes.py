"""Packet-length mixes (models/mixes/*.toml): shares from a source, and one share solved from a published mean.

Components have mean cells c_i and shares s_i. One share f may be fitted; one component, the rest, has 1 - f - sum s_i:
f = (mean - sum s_i c_i - (1 - sum s_i) c_rest) / (c_fit - c_rest).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal

import msgspec
import numpy as np

from npexplore.errors import InputError, ModelError, one_of
from npexplore.machine.workload import Integers, Workload
from npexplore.paths import content, input_content, share, stems
from npexplore.reads import Read, note
from npexplore.records import by_content
from npexplore.toml import decode

if TYPE_CHECKING:
    from npexplore.packets.synthetic import LengthMix

MAX_NUMBERS = 1 << 26  # components x longest length of a mix: half a gigabyte of shares
SEQUENCE = 8192  # packets that represent a mix; every solver uses the same packets


class Component(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Lengths `low`..`high` (equal: one length) with a shape and a share of the packets: a number, "fit" or "rest"."""

    low: int
    high: int
    source: str = ""  # needed in models/mixes
    share: float | Literal["fit", "rest"]
    shape: Literal["uniform", "log"] = "uniform"
    row: str | None = None


class Target(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The mean number of cells that the fitted share must give; row: the ledger row of that mean, if it is printed."""

    mean_cells: float
    cell_bytes: int
    source: str
    row: str | None = None
    fitted_to: list[str] = []  # calibration rows from which the mean was derived
    chosen_after: list[str] = []  # check rows that were known when it was chosen


class MixFile(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Schema of `models/mixes/*.toml`.

    Example:
        >>> from npexplore.machine import load_mix
        >>> load_mix("imix").file.name
        'imix'
    """

    name: str
    title: str
    component: list[Component]
    target: Target | None = None
    assumption: str = ""


@by_content
@dataclass(frozen=True)
class Mix:
    """A distribution of packet lengths: share of each length, shape (longest + 1).

    Example:
        >>> from npexplore.machine import load_mix
        >>> mix = load_mix("imix")
        >>> mix.file.name, round(float(mix.probability.sum()), 9)
        ('imix', 1.0)
    """

    file: MixFile
    probability: np.ndarray[tuple[int], np.dtype[np.float64]]

    def lengths(self, n: int = SEQUENCE) -> Integers:
        """Return n lengths at the distribution's quantiles (k + 1/2)/n, ascending."""
        cumulative = np.cumsum(self.probability)
        return np.searchsorted(cumulative, (np.arange(n) + 0.5) / n).astype(np.int64)

    def workload(self, n: int = SEQUENCE) -> Workload:
        """Return the mix as a saturated workload whose order every seed shuffles."""
        return Workload(
            self.file.name, {"packet_bytes": self.lengths(n)}, ordered=False, note=self.file.title,
            assumption=self.file.assumption,
        )  # fmt: skip

    def length_mix(self) -> LengthMix:
        """Return the mix in the form that synthetic traffic needs (npexplore.packets.synthetic)."""
        from npexplore.packets.synthetic import LengthMix

        lengths = np.flatnonzero(self.probability)
        return LengthMix.of(dict(zip(lengths.tolist(), self.probability[lengths].tolist(), strict=True)))

    def mean_cells(self, cell_bytes: int) -> float:
        """Return the mean number of cells per packet."""
        return float(np.sum(self.probability * -(-np.arange(len(self.probability)) // cell_bytes)))


_standing_in: ContextVar[Mapping[str, MixFile]] = ContextVar("standing_in", default=MappingProxyType({}))


@contextmanager
def standing_in(files: Iterable[MixFile]) -> Iterator[None]:
    """Replace published mixes by others of the same names: a lost trace can be reconstructed in several ways."""
    token = _standing_in.set({file.name: file for file in files})
    try:
        yield
    finally:
        _standing_in.reset(token)


def mix_names() -> list[str]:
    """Return the names of the published mixes.

    Example:
        >>> import npexplore as npx
        >>> "amp" in npx.mix_names()
        True
    """
    return stems("models", "mixes")


def load_mix(name: str) -> Mix:
    """Return a mix by its name, packets of one length by `64 bytes`, or a user's mix by the path of its `.toml` file.

    Raises UnknownNameError, InputError (bad file), ModelError (no share fits the mean).
    """
    if (size := re.fullmatch(r"(\d+) bytes", name)) is not None:
        component = Component(low=int(size[1]), high=int(size[1]), share=1.0, source="one length")
        return solve_mix(MixFile(name=name, title=f"packets of {name}", component=[component]))
    if name.endswith(".toml"):
        return _own_mix(Path(name))
    path = share("models", "mixes", f"{one_of('mix', name, mix_names())}.toml")
    file: MixFile = _standing_in.get().get(name) or decode(content(path), MixFile, path)
    target = file.target
    kind = "fitted" if target and target.fitted_to else "assumption" if file.assumption else "fact"
    fitted, chosen = (target.fitted_to, target.chosen_after) if target else ([], [])
    note(Read(f"mix {name}", kind, target and target.mean_cells, path.name, "1", True, tuple(fitted), tuple(chosen),
              target.row if target else None))  # fmt: skip
    return solve_mix(file)


def _own_mix(path: Path) -> Mix:
    file: MixFile = decode(input_content(path), MixFile, path)
    note(
        Read(f"mix {file.name}", "assumption" if file.assumption else "fact", None, path.name, "1", True, (), (), None)
    )
    components = [
        part if part.source.strip() else msgspec.structs.replace(part, source=f"given in {path.name}")
        for part in file.component
    ]
    return solve_mix(msgspec.structs.replace(file, component=components))


def mix_schema() -> dict[str, Any]:
    """Return the JSON Schema of `models/mixes/*.toml`."""
    return msgspec.json.schema(MixFile)


def solve_mix(file: MixFile) -> Mix:
    """Return the distribution of a mix file, with its fitted share solved; raises InputError, ModelError."""
    for part in file.component:
        if not part.source.strip():
            raise InputError(f"mix {file.name!r}: component {part.low}..{part.high} has no source")
        if not isinstance(part.share, str) and not 0 <= part.share <= 1:
            raise InputError(f"mix {file.name!r}: a share must be in [0, 1], got {part.share!r}")
    if file.target is not None:
        if not file.target.source.strip():
            raise InputError(f"mix {file.name!r}: the target has no source")
        if file.target.cell_bytes < 1:
            raise InputError(f"mix {file.name!r}: cell_bytes must be at least 1, got {file.target.cell_bytes}")
    longest = max((part.high for part in file.component), default=0)
    if (numbers := (longest + 1) * len(file.component)) > MAX_NUMBERS:
        raise InputError(
            f"mix {file.name!r}: components x longest length must be at most {MAX_NUMBERS:,}, got {numbers:,} "
            f"({len(file.component)} x {longest + 1:,})"
        )
    shapes = [_shape(part, longest) for part in file.component]
    parts = [(part.share, shape) for part, shape in zip(file.component, shapes, strict=True)]
    fixed = [(float(share), shape) for share, shape in parts if not isinstance(share, str)]
    fit = [shape for share, shape in parts if share == "fit"]
    rest = [shape for share, shape in parts if share == "rest"]
    remainder = 1.0 - sum(share for share, _ in fixed)
    total = sum((share * shape for share, shape in fixed), np.zeros(longest + 1))
    if remainder < -1e-9 or len(fit) > 1 or len(rest) > 1 or (fit and not rest) or (not rest and remainder > 1e-9):
        raise InputError(f"mix {file.name!r}: shares must add up to 1 with at most one fit and one rest")
    if rest:
        fitted = 0.0
        if fit:
            if file.target is None:
                raise InputError(f"mix {file.name!r}: a fitted share needs a target")
            cells = -(-np.arange(longest + 1) // file.target.cell_bytes)
            missing = file.target.mean_cells - float(np.sum((total + remainder * rest[0]) * cells))
            difference = float(np.sum((fit[0] - rest[0]) * cells))
            if difference == 0:
                raise ModelError(f"mix {file.name!r}: fit and rest have the same mean cells, no share fits a mean")
            fitted = missing / difference
            if not 0 <= fitted <= remainder:
                raise ModelError(
                    f"mix {file.name!r}: mean of {file.target.mean_cells} cells needs a share of {fitted:.3f}, "
                    f"which is not in 0..{remainder:.3f}"
                )
            total = total + fitted * fit[0]
        total = total + (remainder - fitted) * rest[0]
    return Mix(file, total)


def _shape(part: Component, longest: int) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    if not 1 <= part.low <= part.high:
        raise InputError(f"a component of a mix needs 1 <= low <= high, got {part.low}..{part.high}")
    weights = np.zeros(longest + 1)
    lengths = np.arange(part.low, part.high + 1)
    weights[part.low : part.high + 1] = 1.0 if part.shape == "uniform" else 1.0 / lengths
    shape: np.ndarray[tuple[int], np.dtype[np.float64]] = weights / weights.sum()
    return shape
