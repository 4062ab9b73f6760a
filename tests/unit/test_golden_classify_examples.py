"""Classifiers on cases that can be worked by hand, and what docs/classifiers.md says of them."""

import re
from pathlib import Path

from npexplore.golden import LinearSearch, RangeMatcher
from npexplore.golden.classify.intervals import Found
from npexplore.golden.classify.rule_files import load_rules
from npexplore.golden.classify.rules import Rule
from npexplore.golden.ipv4.addresses import address_number, address_text
from npexplore.golden.work import Access
from npexplore.paths import share

PAGE = (Path(__file__).parents[2] / "docs" / "classifiers.md").read_text()
FIG4 = load_rules(share("models", "rules", "fig4.toml"))
ANY = Rule()


def test_fig4_has_the_intervals_of_the_page():
    rows = RangeMatcher(FIG4).tables[0].rows
    lines = [
        f"| {k} | {address_text(row.begin)} | {address_text(row.end)} | {row.vector:03b} |"
        for k, row in enumerate(rows)
    ]
    assert re.findall(r"^\| \d \| [\d.]+ \| [\d.]+ \| [01]{3} \|$", PAGE, re.MULTILINE) == lines
    assert len(rows) == 2 * len(FIG4) - 1


def test_fig4_is_searched_as_the_page_says():
    matcher = RangeMatcher(FIG4)
    table = matcher.tables[0]
    assert table.search(address_number("140.113.88.195")) == Found(row=3, probed=(2, 4, 3), comparisons=5)
    assert table.search(address_number("140.113.88.170")) == Found(row=2, probed=(2,), comparisons=2)
    header = ("140.113.88.195", "10.0.0.1", 1, 2, 17)
    assert matcher.match(header) == 0
    accesses = matcher.work(header).accesses
    assert accesses[:4] == (*[Access("intervals", 2)] * 3, Access("vectors", 16))
    # the other fields have one interval each: addresses two words, ports and protocol one
    rest = [Access("intervals", 2), Access("intervals", 1), Access("intervals", 1), Access("intervals", 1)]
    assert accesses[4:] == tuple(access for one in rest for access in (one, Access("vectors", 16)))


def test_fig4_takes_the_first_of_the_rules_in_an_interval():
    matcher = RangeMatcher(FIG4)
    ends = ("159", "160", "169", "170", "190", "191", "200", "201")
    assert [matcher.match((f"140.113.88.{end}", 0, 0, 0, 0)) for end in ends] == [2, 0, 0, 0, 0, 0, 0, 2]


def test_the_table_of_words_is_what_the_page_computes():
    code = next(
        block for block in re.findall(r"^```python\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL) if "rows" in block
    )
    space = {}
    exec(compile(code, "classifiers.md", "exec"), space)
    assert re.findall(r"^\|(?: \d+ \|){9}$", PAGE, re.MULTILINE) == space["rows"]


def test_linear_search_stops_at_the_first_field_that_fails():
    rules = [Rule(source=(5, 9)), Rule(destination_port=(80, 80)), ANY]
    work = LinearSearch(rules).work((3, 0, 0, 99, 0))
    # rule 0: one bound of the source. rule 1: both bounds of three fields, then both of the port. rule 2: ten bounds
    assert work.accesses == (Access("rules", 7),) * 3
    bounds, packed = 1 + 8 + 10, 0 + 4 + 6
    assert work.instructions == {"alu": 3 + bounds + packed, "branch": 3 + bounds}
    assert LinearSearch(rules[:1]).work((3, 0, 0, 0, 0)).instructions == {"alu": 1 + 1, "branch": 1 + 1 + 1}


def test_range_matching_stops_at_a_field_outside_of_all_intervals():
    rules = [Rule(destination=(10, 20), source_port=(7, 7))]
    whole = RangeMatcher(rules, width=64).work((1, 21, 7, 0, 0))
    assert whole.accesses == (Access("intervals", 2), Access("vectors", 2), Access("intervals", 2))
    early = RangeMatcher(rules, width=64, reading="first_set").work((1, 21, 7, 0, 0))
    assert early.accesses == (Access("intervals", 2), Access("intervals", 2))


def test_reading_to_the_first_set_bit_reads_one_word_of_each_vector_at_a_time():
    rules = [*[Rule(source=(9, 9))] * 40, ANY]
    matcher = RangeMatcher(rules, reading="first_set")
    assert matcher.match((1, 2, 3, 4, 5)) == 40
    assert matcher.work((1, 2, 3, 4, 5)).words("vectors") == 5 * 2
    assert matcher.work((9, 2, 3, 4, 5)).words("vectors") == 5 * 1


def test_bursts_cut_a_vector():
    matcher = RangeMatcher([ANY], width=320, burst_words=4)
    vectors = [access.words for access in matcher.work((1, 2, 3, 4, 5)).accesses if access.table == "vectors"]
    assert vectors == [4, 4, 2] * 5
    assert matcher.storage() == {"intervals": 2 + 2 + 1 + 1 + 1, "vectors": 5 * 10}


def test_begins_alone_take_fewer_words_and_cannot_stop_early():
    rules = load_rules(share("models", "rules", "fig4.toml"))
    begins = RangeMatcher(rules, ends=False)
    assert begins.interval_words == (1, 1, 1, 1, 1)
    assert {begins.tables[0].search(row.begin).probes for row in begins.tables[0].rows} <= {2, 3}
    assert RangeMatcher(rules).tables[0].search(address_number("140.113.88.180")).probes == 1
    assert begins.tables[0].search(address_number("140.113.88.180")).probes >= 2
