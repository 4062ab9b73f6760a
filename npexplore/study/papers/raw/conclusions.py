"""Tests the seven conclusions of the RAW study (Sec. 7), each as claims on the model's predictions.

A claim is a ledger row: the value must be in its interval, or positive if the number is withheld. The last conclusion,
on layouts, is tested by laying out larger chips.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from npexplore.designs.raw.larger_layouts import scaled_layout
from npexplore.errors import ModelError, UnknownNameError

if TYPE_CHECKING:
    import pandas as pd


class Claim(NamedTuple):
    """A claim: the key of its ledger row, and a description of the comparison."""

    key: str
    tested_as: str


CONCLUSIONS: Sequence[tuple[str, Sequence[Claim]]] = (
    ("tiles with fast networks route better than machines around a memory",
     [Claim("raw.ratio.vs_general_purpose", "IV over the best general-purpose router, 1500 bytes")]),
    ("software control of the layout and of the networks matters",
     [Claim("raw.claim.layout", "II over I, 1500 bytes"),
      Claim("raw.claim.static_gdn_over_mdn", "III over III.d, 1500 bytes")]),
    ("dimension order costs where data paths overlap",
     [Claim("raw.claim.dor_penalty", "II with the layout of I, 1500 bytes: loss")]),
    ("static networks gain for broadcast and memory",
     [Claim("raw.claim.static_gain", "III over III.d, 64 bytes")]),
    ("streaming beats DMA for large packets",
     [Claim("raw.claim.streaming_over_dma", "III over III writing by DMA, 1500 bytes")]),
    ("buffers on line cards spare the memory",
     [Claim("raw.claim.linecard_buffering", "IV over III, 1500 bytes")]),
    ("static networks, which wait for all operands, do not scale",
     [Claim("raw.v3d.change_64", "what III.d pays instead, 64 bytes: loss")]),
)  # fmt: skip


def conclusions(rows: Sequence[Mapping[str, Any]]) -> pd.DataFrame:
    """Return a row for each claim from the rows of a check: value, interval, whether it holds; the layouts are last.

    Raises UnknownNameError for a claim whose row is not in the check.
    """
    import pandas as pd

    row_of_key = {row["key"]: row for row in rows}
    table = []
    for number, (sentence, claims) in enumerate(CONCLUSIONS, 1):
        for key, tested_as in claims:
            if key not in row_of_key:
                raise UnknownNameError("row of the check", key, row_of_key)
            row = row_of_key[key]
            value, low, high = row["simulated"], row["lo"], row["hi"]
            printed = low is not None or high is not None
            holds = (value >= (low if low is not None else value) and value <= (high if high is not None else value)
                     if printed else value > 0)  # fmt: skip
            claimed = interval_text(low, high, row["unit"]) if printed else "above 0 (number kept back)"
            unit = "times" if row["unit"] in ("", "1") else row["unit"]
            table.append((number, sentence, tested_as, value, unit, claimed, bool(holds)))
    ports = crossing_free()
    table.append((len(CONCLUSIONS), CONCLUSIONS[-1][0], "ports that static streams serve without crossing, 8 x 8 tiles",
                  float(ports), "ports", "at most 4", ports <= 4))  # fmt: skip
    columns = ["number", "conclusion", "tested as", "value", "unit", "claimed", "holds"]
    return pd.DataFrame(table, columns=columns)


def interval_text(low: float | None, high: float | None, unit: str) -> str:
    """Return an interval with its unit as text."""
    unit = "times" if unit in ("", "1") else unit
    if high is None:
        return f"at least {low:g} {unit}"
    return f"{low:g} to {high:g} {unit}" if low is not None else f"at most {high:g} {unit}"


def crossing_free() -> int:
    """Return the ports of the largest chip (up to 8 x 8) whose static streams can be laid out without crossing."""
    ports = 0
    for columns, bands in ((4, ["south"]), (8, ["south"]), (8, ["south", "north"])):
        try:
            ports = max(ports, len(scaled_layout(columns, bands, "static").ports))  # type: ignore[arg-type]
        except ModelError:
            break
    return ports
