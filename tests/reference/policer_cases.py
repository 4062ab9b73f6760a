"""Worked numbers for the markers of RFC 2697 and RFC 2698: a clause, packets, and the colours it gives them by hand.

Committed rate 8 Mb/s, a byte a microsecond; peak rate 16 Mb/s, two. `python tests/reference/policer_cases.py` writes
the table of docs/diffserv.md.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from reference.golden_tables import rows

from npexplore.golden.police import SingleRate, TwoRate
from npexplore.golden.token_rate import TokenRate

DOCUMENT = Path(__file__).parents[2] / "docs" / "diffserv.md"
MARKS = "<!-- table: policers -->\n", "\n<!-- end of table -->"
CIR, PIR = TokenRate.of("8Mb/s"), TokenRate.of("16Mb/s")
ONE = {aware: SingleRate(CIR, 3000, 1500, aware=aware) for aware in (False, True)}  # CBS, EBS
TWO = {aware: TwoRate(PIR, 4500, CIR, 3000, aware=aware) for aware in (False, True)}  # PBS, CBS
SPENT_ONE = [(0, 1500, "green")] * 3  # Tc 0, Te 0
SPENT_TWO = [(0, 1500, "green")] * 3  # Tp 0, Tc 0
# clause, what it says, policer, packets (microseconds, bytes, colour they came with), their colours
CASES = [
    ("RFC 2697 section 3", "Tc and Te are full at first", ONE[False], [*SPENT_ONE, (0, 1, "green")], "GGYR"),
    (
        "RFC 2697 section 3", "Tc grows first", ONE[False],
        [*SPENT_ONE, (1500, 1500, "green"), (1500, 1, "green")], "GGYGR",
    ),
    (
        "RFC 2697 section 3", "Te grows when Tc is full", ONE[False],
        [*SPENT_ONE, (3500, 3000, "green"), (3500, 500, "green"), (3500, 1, "green")], "GGYGYR",
    ),
    (
        "RFC 2697 section 3", "neither grows beyond its burst", ONE[False],
        [*SPENT_ONE, (10_000_000, 3000, "green"), (10_000_000, 1500, "green"), (10_000_000, 1, "green")], "GGYGYR",
    ),
    (
        "RFC 2697 section 3", "red takes nothing", ONE[False],
        [(0, 3001, "green"), (0, 3000, "green"), (0, 1501, "green"), (0, 1500, "green")], "RGRY",
    ),
    ("RFC 2697 section 3", "colour-blind: the colour does not matter", ONE[False], [(0, 1500, "red")], "G"),
    (
        "RFC 2697 section 3", "colour-aware: yellow takes from Te alone", ONE[True],
        [(0, 1500, "yellow"), (0, 1500, "yellow"), (0, 3000, "green"), (0, 1, "green")], "YRGR",
    ),
    (
        "RFC 2697 section 3", "colour-aware: red stays red and takes nothing", ONE[True],
        [(0, 1500, "red"), (0, 3000, "green"), (0, 1500, "green")], "RGY",
    ),
    ("RFC 2698 section 3", "Tp and Tc are full at first", TWO[False], [*SPENT_TWO, (0, 1, "green")], "GGYR"),
    (
        "RFC 2698 section 3", "Tp grows by PIR, Tc by CIR", TWO[False],
        [*SPENT_TWO, (750, 1500, "green"), (750, 1, "green")], "GGYYR",
    ),
    (
        "RFC 2698 section 3", "red takes nothing, yellow from Tp alone", TWO[False],
        [*SPENT_TWO, (1600, 3201, "green"), (1600, 1601, "green"), (1600, 1599, "green"), (1600, 1, "green")],
        "GGYRYGR",
    ),
    (
        "RFC 2698 section 3", "neither grows beyond its burst", TWO[False],
        [*SPENT_TWO, (10_000_000, 3000, "green"), (10_000_000, 1500, "green"), (10_000_000, 1, "green")], "GGYGYR",
    ),
    ("RFC 2698 section 3", "colour-blind: the colour does not matter", TWO[False], [(0, 1500, "red")], "G"),
    (
        "RFC 2698 section 3", "colour-aware: yellow takes from Tp alone", TWO[True],
        [(0, 1500, "yellow"), (0, 3000, "green"), (0, 1, "green")], "YGR",
    ),
    (
        "RFC 2698 section 3", "colour-aware: red stays red and takes nothing", TWO[True],
        [(0, 4500, "red"), (0, 3000, "green"), (0, 1500, "green")], "RGY",
    ),
]  # fmt: skip


def table():
    """Return the table of the document."""
    lines = [
        [clause, what, "; ".join(f"{length} at {time}" + ("" if came == "green" else f" ({came})")
                                 for time, length, came in packets), " ".join(colours)]
        for clause, what, _, packets, colours in CASES
    ]  # fmt: skip
    return rows(["clause", "what it says", "bytes at microseconds", "colours"], lines)


if __name__ == "__main__":
    text = DOCUMENT.read_text()
    before, rest = text.split(MARKS[0])
    DOCUMENT.write_text(before + MARKS[0] + table() + MARKS[1] + rest.split(MARKS[1], 1)[1])
