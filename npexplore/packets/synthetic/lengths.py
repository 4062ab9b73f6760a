"""Mixes of packet lengths: with known shares, or shares fitted to a few published facts by least squares.

    minimise  sum_k ((A w)_k / b_k - 1)^2   over  w >= 0,  sum w = 1

where w are the weights of components (single lengths, flat ranges), and each fact k is a mean or a share of packets
up to some length. Solved as non-negative least squares (Lawson, Hanson 1974, chapter 23); the condition on the sum is
an equation with a large weight.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from npexplore.errors import InputError
from npexplore.records import by_content

_HEAVY = 1e6


@by_content
@dataclass(frozen=True)
class LengthMix:
    """A distribution of packet lengths: `share[i]` of the packets have `length_bytes[i]`, ascending; shares sum to 1.

    residual: the largest relative error of a fact that the mix was fitted to; 0 without a fit.

    Example:
        >>> from npexplore.packets import fixed_length
        >>> fixed_length(64).length_bytes.tolist()
        [64]
    """

    length_bytes: NDArray[np.int64]
    share: NDArray[np.float64]
    residual: float = 0.0

    @classmethod
    def of(cls, weights: Mapping[int, float]) -> "LengthMix":
        """Return the mix of lengths with weights of any positive sum; raises InputError for invalid ones."""
        lengths = np.array(sorted(weights), np.int64)
        share = np.array([weights[int(length)] for length in lengths], float)
        if not len(lengths) or lengths[0] < 1 or (share < 0).any() or not 0 < share.sum() < np.inf:
            raise InputError(f"a mix needs lengths of at least 1 and weights of at least 0 with a sum, got {weights}")
        return cls(lengths[share > 0], share[share > 0] / share.sum())

    @property
    def mean(self) -> float:
        """Mean length in bytes."""
        return float(self.length_bytes @ self.share)

    def share_up_to(self, length_bytes: int) -> float:
        """Return the share of packets of at most this length."""
        return float(self.share[self.length_bytes <= length_bytes].sum())

    def sample(self, count: int, rng: np.random.Generator) -> NDArray[np.int64]:
        """Return independent lengths."""
        return rng.choice(self.length_bytes, size=count, p=self.share)

    def shuffled(self, count: int, rng: np.random.Generator) -> NDArray[np.int64]:
        """Return lengths in random order, with shares as near to the mix as whole packets allow (largest remainder)."""
        expected = self.share * count
        numbers = np.floor(expected).astype(np.int64)
        missing = count - int(numbers.sum())
        numbers[np.argsort(numbers - expected, kind="stable")[:missing]] += 1
        return rng.permutation(np.repeat(self.length_bytes, numbers))


def fixed_length(length_bytes: int) -> LengthMix:
    """Return the mix of one length."""
    return LengthMix.of({length_bytes: 1.0})


def uniform_lengths(low: int, high: int) -> LengthMix:
    """Return the mix of all lengths from low to high in equal shares."""
    return LengthMix.of(dict.fromkeys(range(low, high + 1), 1.0))


def fit_lengths(
    components: Sequence[LengthMix], *, mean: float | None = None, shares: Mapping[int, float] | None = None
) -> LengthMix:
    """Return the mixture of components that is closest to published facts about packet lengths.

    Args:
        components: the distributions to mix, such as `fixed_length(40)` and `uniform_lengths(41, 1499)`.
        mean: the mean length in bytes (None: not known).
        shares: length in bytes -> share of the packets up to that length, 0 to 1.

    A bimodal mix is `fit_lengths([fixed_length(40), fixed_length(1500), uniform_lengths(41, 1499)], mean=500,
    shares={40: 0.4})`. Where several weights meet the facts, the result is one of them; `residual` says how well the
    facts are met. Raises InputError for facts that no distribution can have.
    """
    from scipy.optimize import nnls

    facts: list[tuple[list[float], float]] = []
    if mean is not None:
        if not 0 < mean < np.inf:
            raise InputError(f"mean length must be greater than 0 and finite, got {mean!r}")
        facts.append(([part.mean for part in components], mean))
    for length, share in (shares or {}).items():
        if not 0 <= share <= 1:
            raise InputError(f"share of packets up to {length} bytes must be 0 to 1, got {share!r}")
        facts.append(([part.share_up_to(length) for part in components], share))
    if not components or not facts:
        raise InputError("a fit needs at least one component and one fact (a mean or a share)")
    scale = [abs(value) or 1.0 for _, value in facts]
    matrix = np.array([np.array(row) / size for (row, _), size in zip(facts, scale, strict=True)])
    target = np.array([value / size for (_, value), size in zip(facts, scale, strict=True)])
    weights, _ = nnls(np.vstack([matrix, np.full(len(components), _HEAVY)]), np.append(target, _HEAVY))
    weights = weights / weights.sum()
    mixed: dict[int, float] = {}
    for part, weight in zip(components, weights.tolist(), strict=True):
        for length, share in zip(part.length_bytes.tolist(), part.share.tolist(), strict=True):
            mixed[length] = mixed.get(length, 0.0) + weight * share
    mix = LengthMix.of(mixed)
    return LengthMix(mix.length_bytes, mix.share, float(np.abs(matrix @ weights - target).max()))
