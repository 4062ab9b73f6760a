"""Address families for lookup structures: width of addresses, their text, and their form in columns.

A column is uint32 for IPv4 and uint64 of shape (n, 2) for IPv6. Tries use an address as one number per level, its
*steps*: step l holds the bits that index level l.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from npexplore.golden.ipv4 import addresses as four
from npexplore.golden.ipv6 import addresses as six

AnyAddress = four.Address | six.Address
AnyPrefix = four.Prefix | six.Prefix
Column = NDArray[Any]


@dataclass(frozen=True)
class Family:
    """IPv4 or IPv6. bits: of an address; words: per row of a column; kind: their numpy type."""

    name: str
    bits: int
    words: int
    kind: type[np.unsignedinteger]
    number: Callable[[Any], int]
    prefix_pair: Callable[[Any], tuple[int, int]]
    text: Callable[[int], str]
    prefix_text: Callable[[int, int], str]
    prefix_columns: Callable[[Iterable[Any]], tuple[Column, NDArray[np.uint8]]]
    plain_prefixes: Callable[[Sequence[str]], tuple[Column, NDArray[np.uint8], NDArray[np.bool_]]]
    column: Callable[[Any], Column]

    def mask(self, length: int) -> int:
        """Return the number whose first `length` bits are set."""
        full = (1 << self.bits) - 1
        return full << (self.bits - length) & full

    def row(self, number: int) -> Column:
        """Return an address as a row of a column: a scalar, or its words."""
        return np.asarray(self.rows([number])[0])

    def rows(self, numbers: Sequence[int]) -> Column:
        """Return addresses as a column."""
        return np.array(numbers, self.kind) if self.words == 1 else six.column_of(numbers)

    def octets(self, numbers: Iterable[int]) -> NDArray[np.uint8]:
        """Return the bytes of addresses in network byte order, one row each."""
        size = self.bits // 8
        return np.frombuffer(b"".join(number.to_bytes(size, "big") for number in numbers), np.uint8).reshape(-1, size)

    def numbers(self, column: Column) -> list[int]:
        """Return the addresses of a column as Python integers."""
        return column.tolist() if self.words == 1 else six.numbers_of(column)

    def masks(self) -> Column:
        """Return the masks of all prefix lengths as a column."""
        return self.rows([self.mask(length) for length in range(self.bits + 1)])

    def distinct(self, column: Column, bits: int) -> int:
        """Return the number of different values of the addresses' first `bits` bits (at least 1)."""
        if not len(column):
            return 0
        words = (column & self.row(self.mask(bits))).reshape(len(column), self.words)
        words = words[:, : -(-bits * self.words // self.bits)]  # the words with the first bits
        if words.shape[1] == 1:
            return len(np.unique(words[:, 0]))
        words = words[np.lexsort(words.T)]
        return 1 + int((words[1:] != words[:-1]).any(axis=1).sum())

    def order(self, value: Column, length: NDArray[np.uint8]) -> NDArray[np.int64]:
        """Return the row numbers in ascending order of (value, length)."""
        words = value.reshape(len(value), self.words).T
        return np.asarray(np.lexsort((length, *words[::-1])), np.int64)

    def steps(self, column: Column, strides: Sequence[int]) -> NDArray[np.int64]:
        """Return the bits that index each level, shape (n, levels); a level must not cross a word boundary."""
        words, width = column.reshape(len(column), self.words), self.bits // self.words
        out = np.empty((len(column), len(strides)), np.int64)
        begin = 0
        for level, stride in enumerate(strides):
            word, shift = begin // width, width - begin % width - stride
            out[:, level] = words[:, word] >> self.kind(shift) & self.kind((1 << stride) - 1)
            begin += stride
        return out


IPV4 = Family(
    "IPv4", 32, 1, np.uint32, four.address_number, four.prefix_pair, four.address_text, four.prefix_text,
    four.prefix_columns, four.plain_prefixes, four.address_column,
)  # fmt: skip
IPV6 = Family(
    "IPv6", six.BITS, 2, np.uint64, six.address_number, six.prefix_pair, six.address_text, six.prefix_text,
    six.prefix_columns, six.plain_prefixes, six.address_column,
)  # fmt: skip
