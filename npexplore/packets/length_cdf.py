"""The cumulative distribution of packet lengths."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from npexplore.records import by_content
from npexplore.results import Result


@by_content
@dataclass(frozen=True)
class LengthCdf(Result):
    """Cumulative distribution of packet lengths: `share[i]` of the packets are at most `length_bytes[i]` long.

    Example:
        >>> import npexplore as npx
        >>> cdf = npx.read_capture("sample:zeek_wikipedia").length_cdf()
        >>> cdf.quantile(0.5)
        80
    """

    length_bytes: NDArray[np.uint32]
    share: NDArray[np.float64]
    packets: NDArray[np.int64]

    def __repr__(self) -> str:
        probabilities = (0.05, 0.5, 0.95) if len(self.share) else ()
        quantiles = ", ".join(f"{100 * q:.0f} % at most {self.quantile(q)} bytes" for q in probabilities)
        return f"LengthCdf({int(self.packets.sum()):,} packets of {len(self.packets)} lengths: {quantiles or 'none'})"

    def heading(self) -> str:
        """Return the number of packets and quantiles."""
        return repr(self)

    def records(self) -> list[dict[str, Any]]:
        """Return a row for each length: its packets, and the share of all packets that are at most so long."""
        columns = (self.length_bytes.tolist(), self.packets.tolist(), self.share.tolist())
        return [
            {"length_bytes": length, "packets": packets, "share": share}
            for length, packets, share in zip(*columns, strict=True)
        ]

    def quantile(self, q: float) -> int:
        """Return the q-quantile: the smallest length that a share q of the packets (or more) does not exceed."""
        return int(self.length_bytes[np.searchsorted(self.share, q - 1e-12)])

    def modes(self, count: int = 5) -> list[tuple[int, float]]:
        """Return the most frequent lengths with their shares, most frequent first (40, 576, 1500 in classic traces)."""
        order = np.argsort(-self.packets, kind="stable")[:count]
        total = self.packets.sum()
        return [(int(self.length_bytes[i]), float(self.packets[i] / total)) for i in order]
