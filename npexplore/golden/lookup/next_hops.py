"""Assigns and releases the small numbers that represent next hops in a forwarding table."""

import numpy as np
from numpy.typing import NDArray

from npexplore.errors import TableFullError


class NextHops:
    """Numbers 1 to `capacity` for the caller's next hops, with reference counts; number 0 means no route."""

    def __init__(self, capacity: int) -> None:
        self.capacity = capacity
        self.value: NDArray[np.int32] = np.full(capacity + 1, -1, np.int32)  # -1 where the number is not in use
        self._uses = [0]
        self._number: dict[int, int] = {}
        self._free: list[int] = []

    def __len__(self) -> int:
        return len(self._number)

    def require(self, next_hop: int) -> None:
        """Raise TableFullError if this next hop has no number and none is left."""
        if next_hop not in self._number and len(self._number) == self.capacity:
            raise TableFullError(f"next hop {next_hop}: all {self.capacity} numbers of next hops are in use")

    def acquire(self, next_hop: int) -> int:
        """Return the next hop's number and increment its use count; raises TableFullError."""
        self.require(next_hop)
        number = self._number.get(next_hop)
        if number is None:
            if self._free:
                number = self._free.pop()
            else:
                number = len(self._uses)
                self._uses.append(0)
            self._number[next_hop] = number
            self.value[number] = next_hop
        self._uses[number] += 1
        return number

    def release(self, number: int) -> None:
        """Decrement the use count of a number; an unused number can be assigned to another next hop."""
        self._uses[number] -= 1
        if not self._uses[number]:
            del self._number[int(self.value[number])]
            self.value[number] = -1
            self._free.append(number)

    def number_all(self, next_hops: NDArray[np.int32]) -> NDArray[np.uint16]:
        """Return numbers for a column of next hops in an empty table, without use counts; raises TableFullError."""
        distinct, place = np.unique(next_hops, return_inverse=True)
        if len(distinct) > self.capacity:
            raise TableFullError(f"{len(distinct)} next hops: there are numbers for {self.capacity}")
        self.value[1 : len(distinct) + 1] = distinct
        self._number = {int(hop): number for number, hop in enumerate(distinct, 1)}
        self._uses = [0] * (len(distinct) + 1)
        return (place + 1).astype(np.uint16)

    def count_all(self, numbers: NDArray[np.uint16]) -> None:
        """Set the use counts from a column of numbers; numbers without a use become free."""
        self._uses = np.bincount(numbers, minlength=len(self._uses)).tolist()
        for number in [unused for unused in range(1, len(self._uses)) if not self._uses[unused]]:
            self._uses[number] = 1
            self.release(number)
