"""The scoreboard: one line a paper and one a group; what has no skill, misses its aim or is off stands in red."""

import re

import pytest

from npexplore.plot.scoreboard import NONE, by_group, by_paper, groups, in_short, near, papers, reader, remarks, skill
from npexplore.plot.tables import BAD

EMPTY = dict.fromkeys(
    ("rms", "worst", "worst_key", "near", "far", "rms_predicted", "rms_post_hoc", "today", "held", "error", "baseline",
     "baseline_error", "skill", "compared", "nearer", "low", "high", "low_of", "aim_rms", "aim_worst")
)  # fmt: skip


def line(paper="one", group="all", claims=False, **more):
    counts = dict.fromkeys(
        ("rows", "predicted", "post_hoc", "calibrated", "arithmetic", "blind", "scored", "free_parameters"), 0
    )
    unit = "claims" if claims else "%"
    return {"paper": paper, "group": group, "claims": claims, "unit": unit, "off": [], **counts, **EMPTY, **more}


NUMBERS = line(
    predicted=2, post_hoc=3, scored=5, calibrated=4, arithmetic=5, rms_predicted=1.5, rms_post_hoc=2.5,
    baseline="interpolation", baseline_error=5.0, skill=0.6, compared=4, nearer=3, low=2.0, high=40.0,
    free_parameters=7, off=["one.x"],
)  # fmt: skip
CLAIMS = line(
    claims=True, predicted=1, post_hoc=1, scored=2, held=1, baseline="never loses", baseline_error=0.5,
    skill=0.0, compared=2, nearer=0, low=0, high=2, low_of=2, free_parameters=3,
)  # fmt: skip
UNSEEN = line(
    group="blind rows, frozen", blind=6, scored=6, rms=1.2, compared=6, nearer=4, baseline_error=3.0, skill=0.5
)


def test_a_paper_is_one_line_of_all_that_is_known_of_it():
    (row,) = papers([NUMBERS, CLAIMS, UNSEEN, line(group="a group", free_parameters=9)])
    told = {name: text for name, (text, _) in row.items()}
    assert [told[name] for name in ("paper", "predicted", "post hoc", "blind", "calibrated", "arithmetic")] == [
        "one", "3", "4", "6", "4", "5",
    ]  # fmt: skip
    assert [told[f"rms {name}"] for name in ("predicted", "post hoc", "blind")] == ["1.5 %", "2.5 %", "1.2 %"]
    assert (told["reader"], told["skill"]) == ("5.0 % (interpolation)", "0.60")
    assert (told["reader is nearer"], told["blind: reader is nearer"]) == ("3 of 4", "4 of 6")
    assert (told["claims that hold"], told["claims: skill"]) == ("1 of 2", "0.00")
    assert told["over what is left open"] == "2.0 to 40.0 %, 0 to 2 of 2 claims"
    assert (told["free parameters"], told["off"]) == ("9", "1")


def test_red_is_what_has_no_skill_and_what_is_off_or_further_than_the_reader():
    (row,) = papers([NUMBERS, CLAIMS, UNSEEN])
    assert {name for name, (_, red) in row.items() if red} == {
        "claims: skill", "reader is nearer", "blind: reader is nearer", "off",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("changes", "cell"),
    [
        ({}, ("0.60", False)),
        ({"skill": -0.2}, ("-0.20", True)),
        ({"skill": -98.9}, ("-98.90", True)),
        ({"skill": -7598.0}, ("none: the reader is all but exact", True)),
        ({"skill": None, "baseline_error": 0.0}, ("none: the reader is never wrong", True)),
        ({"compared": 0}, (NONE, False)),
        ({"baseline_error": None}, (NONE, False)),
    ],
)
def test_skill(changes, cell):
    assert skill({**NUMBERS, **changes}) == cell


def test_a_paper_with_fewer_than_four_of_five_numbers_within_a_tenth_is_red():
    assert near(NUMBERS | {"near": 4, "far": ["one.x"]}) == ("4 of 5", False)
    assert near(NUMBERS | {"near": 3, "far": ["one.x", "one.y"]}) == ("3 of 5", True)
    assert near(CLAIMS) == near({}) == (NONE, False)


def test_groups_say_where_the_model_adds_nothing_and_where_little():
    skills = {"good": 0.51, "little": 0.5, "none": 0.0, "worse": -7598.0, "copied": None}
    of_groups = [line(group=name, compared=4, baseline_error=1.0, skill=value) for name, value in skills.items()]
    whole = NUMBERS | {"near": 3, "far": ["one.x", "one.y"], "skill": -1.0}
    assert remarks([whole, *of_groups, line(group="no reader")]) == [
        "3 of 5 scored numbers (60 %) are within 10 %; beyond: one.x, one.y.",
        "The model adds nothing to a reader without a model in: none (0.00); worse (none: the reader is all but "
        "exact); copied (none: the reader is never wrong).",
        "The model adds little (skill of at most 0.5) to a reader without a model in: little (0.50).",
    ]


def test_what_the_reader_says_of_claims_is_a_share():
    assert reader(CLAIMS) == ("50 % wrong (never loses)", False)
    assert reader(line()) == (NONE, False)


def test_groups_name_their_paper_where_there_are_several():
    assert "paper" not in groups([NUMBERS, CLAIMS])[0]
    assert groups([NUMBERS, line(paper="two")])[1]["paper"] == ("two", False)
    assert [row["rows"][0] for row in groups([NUMBERS, CLAIMS])] == ["all", "all, claims"]


def test_a_score_beyond_its_aim_is_red():
    good, bad = groups([line(rms=2.0, worst=w, aim_rms=3, aim_worst=6, worst_key="a") for w in (-4.0, -7.0)])
    assert (good["worst"], bad["worst"]) == (("-4.0 %", False), ("-7.0 %", True))
    assert good["aim"] == ("3 % rms, 6 % worst", False)


def test_tables_leave_out_empty_columns_and_colour_cells():
    html = by_paper([NUMBERS, CLAIMS])._repr_html_()
    assert f'<b style="color:{BAD}">3&nbsp;of&nbsp;4</b>' in html  # the scoreboard breaks no number
    assert "blind: reader" not in html
    never = by_paper([NUMBERS | {"skill": None}])._repr_html_()
    assert '<span title="the reader is never wrong">none</span>' in never  # no row of six lines
    head = re.findall(r"<th [^>]*>(.*?)</th>", by_group([line(rms=1.0)])._repr_html_())
    assert head == ["rows", "scored", "post hoc", "rms", "free"]


def test_the_short_scoreboard_links_each_machine_by_its_title_and_sets_a_guess_beside_the_error():
    html = in_short([NUMBERS | {"rms": 2.2, "error": 2.0}, CLAIMS, line(paper="two")],
                    {"one": "1.html", "two": "2.html"}, {"one": "A <machine>"})._repr_html_()  # fmt: skip
    cells = [re.findall(r"<td[^>]*>(.*?)</td>", row) for row in re.findall(r"<tr>(.*?)</tr>", html, re.DOTALL)]
    assert cells[-2:] == [
        ['<a href="1.html">A &lt;machine&gt;</a>', "5", "2.2 %", "5.0 %", "2.0 %", "1 of 2", "7"],
        ['<a href="2.html">two</a>', "0", *[NONE] * 4, "0"],
    ]


def test_nothing_to_score_is_an_empty_table():
    assert papers([]) == []
    assert "<td" not in by_paper([])._repr_html_()
