"""Arriving packets as columns, in order of time."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from npexplore.errors import InputError
from npexplore.golden.diffserv.setup import DiffServ
from npexplore.golden.police.batch import column, ordered_times
from npexplore.records import by_content


@by_content
@dataclass(frozen=True)
class Arrivals:
    """One row per packet, int64: time, length, rule (-1: none matches), output port, input port, colour, receiver time.

    length_bytes: on the link, from the frame's first byte to its check sequence. policed_bytes: a packet's size for
    policers; queued_bytes: its size for queues, quanta and shapers. None: length_bytes.
    service_ns: service time at the receiver; -1: that of the receiver.

    Example:
        >>> import numpy as np
        >>> from npexplore.golden import Arrivals
        >>> one = np.zeros(2, np.int64)
        >>> len(Arrivals(one, one + 64, one, one, one, one, one).time_ns)
        2
    """

    time_ns: NDArray[np.int64]
    length_bytes: NDArray[np.int64]
    rule: NDArray[np.int64]
    port: NDArray[np.int64]
    source: NDArray[np.int64]
    colour: NDArray[np.int64]
    service_ns: NDArray[np.int64]
    policed_bytes: NDArray[np.int64] | None = None
    queued_bytes: NDArray[np.int64] | None = None

    @property
    def policed(self) -> NDArray[np.int64]:
        """Size of each packet for policers, in bytes."""
        return self.length_bytes if self.policed_bytes is None else self.policed_bytes

    @property
    def queued(self) -> NDArray[np.int64]:
        """Size of each packet for queues, schedulers and shapers, in bytes."""
        return self.length_bytes if self.queued_bytes is None else self.queued_bytes

    @classmethod
    def of(
        cls, time_ns: ArrayLike, length_bytes: ArrayLike, rule: ArrayLike, port: ArrayLike = 0, *,
        source: ArrayLike = 0, colour: ArrayLike = 0, service_ns: ArrayLike = -1,
        policed_bytes: ArrayLike | None = None, queued_bytes: ArrayLike | None = None,
    ) -> Arrivals:  # fmt: skip
        """Return arrivals; a single number holds for all packets. Raises InputError."""
        times = ordered_times(time_ns)
        columns = {
            "length": length_bytes, "rule": rule, "port": port, "source": source, "colour": colour,
            "service": service_ns, "policed bytes": length_bytes if policed_bytes is None else policed_bytes,
            "queued bytes": length_bytes if queued_bytes is None else queued_bytes,
        }  # fmt: skip
        filled = (np.full(len(times), value) if np.ndim(value) == 0 else value for value in columns.values())
        return cls(times, *(column(name, value, len(times)) for name, value in zip(columns, filled, strict=True)))

    def __len__(self) -> int:
        return len(self.time_ns)

    def check(self, router: DiffServ) -> None:
        """Raise InputError that names the first packet with a value outside the router's limits."""
        sources = len(router.receivers) if router.receivers is not None else None
        _within("rule", self.rule, -1, len(router.treatments) - 1)
        _within("port", self.port, 0, len(router.ports) - 1)
        _within("source", self.source, 0, None if sources is None else sources - 1)
        _within("colour", self.colour, 0, 2)
        _within("service", self.service_ns, -1, None)
        _within("length", self.length_bytes, 1, None)
        _within("policed bytes", self.policed, 1, None)
        _within("queued bytes", self.queued, 1, None)
        largest = np.array([port.largest_bytes for port in router.ports])[self.port]
        too_long = np.flatnonzero(self.length_bytes > largest)
        if len(too_long):
            row = int(too_long[0])
            raise InputError(
                f"length of packet {row} must be at most {largest[row]} bytes at its port, got {self.length_bytes[row]}"
            )


def _within(subject: str, values: NDArray[np.int64], low: int, high: int | None) -> None:
    out_of_range = np.flatnonzero((values < low) if high is None else (values < low) | (values > high))
    if len(out_of_range):
        rule = f"at least {low}" if high is None else f"{low} to {high}"
        raise InputError(f"{subject} of packet {out_of_range[0]} must be {rule}, got {values[out_of_range[0]]}")
