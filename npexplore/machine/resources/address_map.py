"""Maps addresses to channel, bank and row: fields of the address, most significant first.

    "row bank column"          neighbours share a row (page interleaving)
    "row column bank"          neighbours are in different banks (bank interleaving)
    permutation                the bank is XORed with the lowest bits of the row (Zhang, Zhu, Zhang, MICRO-33, 2000)

The fields count units of `unit_bytes`. Addresses beyond the last row start again at the first row.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from npexplore.errors import ModelError, one_of
from npexplore.machine.resources.base import count_of
from npexplore.rows.assembler import Assembler
from npexplore.rows.expressions import Expression, Operand, Values, Variable

FIELDS = ("channel", "row", "bank", "column")


@dataclass(frozen=True)
class AddressMap:
    """An order of fields, with the bytes of a row (of one bank of one channel), rows of a bank and bytes of a unit.

    Example:
        >>> from npexplore.machine import AddressMap
        >>> AddressMap("row column bank", row_bytes=2048).row_bytes
        2048
    """

    order: str = "row bank column"
    row_bytes: int = 4096
    rows: int = 8192
    unit_bytes: int = 64
    permutation: bool = False

    def __post_init__(self) -> None:
        for name in ("row_bytes", "rows", "unit_bytes"):
            count_of(f"address map: {name}", getattr(self, name))
        names = self.order.split()
        for name in names:
            one_of("address map: field", name, FIELDS)
        if len(set(names)) < len(names):
            raise ModelError(f"address map: each field must appear exactly once, got {self.order!r}")
        for name in FIELDS[1:]:
            if name not in names:
                raise ModelError(f"address map: the order needs the field {name!r}, got {self.order!r}")
        if self.row_bytes % self.unit_bytes:
            raise ModelError(
                f"address map: row_bytes must be a multiple of unit_bytes = {self.unit_bytes}, got {self.row_bytes}"
            )

    def check(self, name: str, banks: int, channels: int) -> None:
        """Raise ModelError if the map does not fit a controller."""
        if (channels > 1) != ("channel" in self.order.split()):
            rule = "needs" if channels > 1 else "must not have"
            raise ModelError(f"{name}: {channels} channels: the address map {rule} a field channel, got {self.order!r}")
        if self.permutation and banks & (banks - 1):
            raise ModelError(f"{name}: a permutation needs a power of two of banks, got {banks}")

    def fields(self, address: Any, banks: int, channels: int) -> dict[str, Any]:
        """Return the fields of addresses (arrays or expressions), without the permutation."""
        sizes = {
            "channel": channels,
            "row": self.rows,
            "bank": banks,
            "column": self.row_bytes // self.unit_bytes,
        }
        fields: dict[str, Any] = {"channel": 0}
        unit = self.unit_bytes
        for name in reversed(self.order.split()):
            fields[name] = address // unit % sizes[name]
            unit *= sizes[name]
        return fields

    def bank_of(self, address: Values, banks: int, channels: int) -> Values:
        """Return the bank, counted over all channels, of an array of addresses."""
        fields = self.fields(np.asarray(address), banks, channels)
        bank = fields["bank"]
        if self.permutation:
            bank = np.bitwise_xor(bank.astype(np.int64), (fields["row"] % banks).astype(np.int64))
        return np.asarray(fields["channel"] * banks + bank, dtype=np.float64)

    def emit(self, address: Expression, banks: int, channels: int, asm: Assembler) -> tuple[Operand, Operand]:
        """Append the rows that compute bank (counted over all channels) and row of an address."""
        fields = self.fields(address, banks, channels)
        row, bank = Variable("row"), Variable("bank")
        asm.let(row, fields["row"])
        if self.permutation:
            (permuted,) = asm.load(asm.table(_xor(banks)), row % banks * banks + fields["bank"], ["permuted bank"])
            asm.let(bank, fields["channel"] * banks + permuted)
        else:
            asm.let(bank, fields["channel"] * banks + fields["bank"])
        asm.limit(bank, channels * banks)
        return bank, row


def _xor(banks: int) -> np.ndarray[Any, np.dtype[np.int64]]:
    numbers = np.arange(banks)
    return np.bitwise_xor(numbers[:, None], numbers[None, :]).reshape(-1, 1).astype(np.int64)
