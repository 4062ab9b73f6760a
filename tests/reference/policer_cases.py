"""Worked numbers for the markers of RFC 2697, 2698 and 4115: a clause, packets, and the colours it gives them by hand.

Committed rate 8 Mb/s, a byte a microsecond; peak and excess rate 16 Mb/s, two. This file run as a program
writes the tables of docs/diffserv_checks.md.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from reference.golden_tables import rows

from npexplore.golden.police import DifferentiatedTwoRate, SingleRate, TwoRate
from npexplore.golden.token_rate import TokenRate

DOCUMENT = Path(__file__).parents[2] / "docs" / "diffserv_checks.md"
END = "\n<!-- end of table -->"
CIR, PIR = TokenRate.of("8Mb/s"), TokenRate.of("16Mb/s")
ONE = {aware: SingleRate(CIR, 3000, 1500, aware=aware) for aware in (False, True)}  # CBS, EBS
TWO = {aware: TwoRate(PIR, 4500, CIR, 3000, aware=aware) for aware in (False, True)}  # PBS, CBS
APART = {  # CBS, EBS: one token of each stays behind
    aware: DifferentiatedTwoRate(CIR, 3001, PIR, 1501, aware=aware) for aware in (False, True)
}
SPENT_ONE = [(0, 1500, "green")] * 3  # Tc 0, Te 0
SPENT_TWO = [(0, 1500, "green")] * 3  # Tp 0, Tc 0
SPENT_APART = [(0, 1500, "green")] * 3  # Tc 1, Te 1
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
    ("RFC 4115 section 3", "Tc and Te are full at first", APART[False], [*SPENT_APART, (0, 1, "green")], "GGYR"),
    (
        "RFC 4115 section 3", "T - B > 0: one token stays behind", APART[False],
        [(0, 3001, "green"), (0, 3000, "green"), (0, 1501, "green"), (0, 1500, "green")], "RGRY",
    ),
    (
        "RFC 4115 section 3", "Tc grows by CIR, Te by EIR", APART[False],
        [*SPENT_APART, (600, 601, "green"), (600, 600, "green"), (600, 600, "green"), (600, 599, "green")], "GGYYGRY",
    ),
    (
        "RFC 4115 section 3", "Te is full, Tc gets nothing of it", APART[False],
        [*SPENT_APART, (2000, 2001, "green"), (2000, 2000, "green"), (2000, 1500, "green"), (2000, 1, "green")],
        "GGYRGYR",
    ),
    (
        "RFC 4115 section 3", "neither grows beyond its burst", APART[False],
        [*SPENT_APART, (10_000_000, 3000, "green"), (10_000_000, 1500, "green"), (10_000_000, 1, "green")], "GGYGYR",
    ),
    ("RFC 4115 section 3", "colour-blind: the colour does not matter", APART[False], [(0, 1500, "red")], "G"),
    (
        "RFC 4115 section 3", "colour-aware: yellow takes from Te alone", APART[True],
        [(0, 1500, "yellow"), (0, 1500, "yellow"), (0, 3000, "green"), (0, 1, "green")], "YRGR",
    ),
    (
        "RFC 4115 section 3", "colour-aware: Tc is full, Te gets nothing of it", APART[True],
        [(0, 1500, "yellow"), (100, 201, "yellow"), (100, 200, "yellow")], "YRY",
    ),
    (
        "RFC 4115 section 3", "colour-aware: red stays red and takes nothing", APART[True],
        [(0, 1500, "red"), (0, 3000, "green"), (0, 1500, "green")], "RGY",
    ),
]  # fmt: skip

# RFC 2698 with PIR = CIR + EIR and PBS = CBS + EBS beside RFC 4115 with bursts one larger, so that the same sizes pass
BESIDE_2698 = TWO
BESIDE_4115 = {aware: DifferentiatedTwoRate(CIR, 3001, CIR, 1501, aware=aware) for aware in (False, True)}
YELLOW = [(0, 1500, "yellow")] * 3
# what happens, colour-aware, packets as above, colours by RFC 2698 and by RFC 4115
BESIDE = [
    ("each packet fits", False, [*SPENT_TWO, (0, 1, "green")], ("GGYR", "GGYR")),
    (
        "committed tokens are there, but yellow took those of the peak", False,
        [*SPENT_TWO, (1500, 1501, "green"), (1500, 1500, "green"), (1500, 1500, "green")], ("GGYYRR", "GGYRGY"),
    ),
    ("longer than CBS and EBS, shorter than PBS", False, [(0, 4000, "green"), (0, 500, "green")], ("YG", "RG")),
    ("yellow comes before green", True, [*YELLOW, (0, 3000, "green")], ("YYYR", "YRRG")),
    (
        "yellow alone: at PIR, or at EIR", True,
        [*YELLOW, (1500, 1500, "yellow"), (1500, 1500, "yellow")], ("YYYYY", "YRRYR"),
    ),
    ("red takes nothing", True, [(0, 1500, "red"), (0, 3000, "green")], ("RG", "RG")),
]  # fmt: skip


def written(packets, colours):
    """Return packets as the tables have them, by the microsecond: bytes, the colour that one came with, the verdict."""
    told = {}
    for (time, length, came), colour in zip(packets, colours, strict=True):
        told.setdefault(time, []).append(f"{length} {'' if came == 'green' else f'({came}) '}{colour}")
    return "; ".join(f"{time}: {', '.join(one)}" for time, one in told.items())


def table():
    """Return the table of worked numbers."""
    lines = [
        [clause.removesuffix(" section 3"), what, written(packets, colours)]
        for clause, what, _, packets, colours in CASES
    ]
    return rows(["section 3 of", "what it says", "microsecond: bytes and verdict"], lines)


def beside():
    """Return the table of two markers beside each other."""
    lines = [
        [what, "aware" if aware else "blind", written(packets, [*map("/".join, zip(*colours, strict=True))])]
        for what, aware, packets, colours in BESIDE
    ]
    return rows(["what happens", "colour-", "microsecond: bytes and verdicts, RFC 2698/RFC 4115"], lines)


TABLES = {
    name: (f"<!-- table: {name} -->\n", END, made) for name, made in (("policers", table), ("two markers", beside))
}


if __name__ == "__main__":
    for mark, end, made in TABLES.values():
        before, rest = DOCUMENT.read_text().split(mark)
        DOCUMENT.write_text(before + mark + made() + end + rest.split(end, 1)[1])
