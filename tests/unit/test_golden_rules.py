"""Rules and their files: what is read, what is refused and in which words, what is made."""

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from npexplore.errors import InputError, TableFullError
from npexplore.golden import LinearSearch, RangeMatcher
from npexplore.golden.classify import CLASSIFIERS
from npexplore.golden.classify.rule_files import (
    RuleRecord,
    classbench_rules,
    load_rules,
    rules_of,
)
from npexplore.golden.classify.rule_generator import (
    flow_rules,
    generate_rules,
    headers_within,
    load_profile,
    profile_names,
)
from npexplore.golden.classify.rules import MAX_RULES, Rule, Rules, prefix_length, range_text
from npexplore.golden.ipv4.addresses import prefix_text
from npexplore.golden.ipv4.five_tuple import FIELDS, FiveTuple, five_columns, table_five_tuples
from npexplore.packets import read_capture
from npexplore.paths import share
from npexplore.testing import headers_near, rule_sets

EXAMPLES = sorted(share("models", "rules").glob("*.toml"))


def load(tmp_path, text, name="rules.toml"):
    path = tmp_path / name
    path.write_text(text)
    return load_rules(path)


# ---- what is read


def test_every_form_of_a_field(tmp_path):
    rules = load(
        tmp_path,
        """
        [[rule]]
        source = "10.0.0.0/8"
        destination = "140.113.88.170-140.113.88.190"
        source_port = 80
        destination_port = "1024 - 65535"
        protocol = "tcp"
        class = "AF1"
        policer = "gold"
        [[rule]]
        source = "10.1.2.3"
        protocol = "6-17"
        dscp = 7
        [[rule]]
        """,
    )
    first, second, third = rules
    assert first.source == (0x0A000000, 0x0AFFFFFF)
    assert first.destination == (0x8C7158AA, 0x8C7158BE)
    assert (first.source_port, first.destination_port, first.protocol) == ((80, 80), (1024, 65535), (6, 6))
    assert (first.class_name, first.dscp, first.policer) == ("AF11", 10, "gold")
    assert (second.source, second.protocol, second.class_name) == ((0x0A010203,) * 2, (6, 17), "7")
    assert third == Rule()
    assert third.class_name == "BE"
    assert rules.dscp.tolist() == [10, 7, 0]


def rules_toml(rules):
    """Return rules as TOML."""
    parts = []
    for rule in rules:
        texts = zip(FIELDS, map(range_text, FIELDS, rule.ranges), strict=True)
        lines = [f"{name} = {text if text.isdigit() else json.dumps(text)}" for name, text in texts if text != "any"]
        number = rule.class_name.isdigit()
        lines.append(f"dscp = {rule.dscp}" if number else f"class = {json.dumps(rule.class_name)}")
        lines += [] if rule.policer is None else [f"policer = {json.dumps(rule.policer, ensure_ascii=False)}"]
        parts.append("\n".join(["[[rule]]", *lines, ""]))
    return "\n".join(parts)


def classbench_lines(rules):
    """Return rules as lines of ClassBench."""
    for rule in rules:
        low, high = rule.protocol
        ports = " ".join(f"{low} : {high}" for low, high in (rule.source_port, rule.destination_port))
        prefixes = " ".join(prefix_text(low, prefix_length(low, high)) for low, high in (rule.source, rule.destination))
        yield f"@{prefixes} {ports} 0x{low:02x}/0x{0 if low < high else 255:02x}"


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_examples_are_read_and_written_back(path, tmp_path):
    rules = load_rules(path)
    assert load(tmp_path, rules_toml(rules)) == rules


@given(rule_sets())
def test_toml_keeps_every_rule(tmp_path_factory, rule_set):
    assert load(tmp_path_factory.mktemp("rules"), rules_toml(rule_set)) == rule_set


@pytest.mark.parametrize("profile", profile_names())
def test_classbench_keeps_made_rules(profile):
    rules = generate_rules(200, profile, seed=1)
    again = classbench_rules(classbench_lines(rules))
    assert [rule.ranges for rule in again] == [rule.ranges for rule in rules]


def test_classbench_lines_as_others_write_them():
    lines = [
        "# a comment",
        "",
        "@10.0.0.0/8\t11.0.0.1/32\t0 : 65535\t80 : 80\t0x06/0xFF\t0x1000/0x1000",
        "@0.0.0.0/0 0.0.0.0/0 1:2 0 : 65535 64/0xC0",
    ]
    rules = classbench_rules(lines, classes=("EF", "AF2"))
    assert rules[0] == Rule(
        (0x0A000000, 0x0AFFFFFF), (0x0B000001,) * 2, destination_port=(80, 80), protocol=(6, 6), dscp=46
    )
    assert rules[1] == Rule(source_port=(1, 2), protocol=(64, 127), dscp=18)


def test_the_bundled_trace_matches_the_rules_it_names():
    rules = load_rules(share("data", "rules", "dpdk_acl1v4_5.rules"))
    lines = share("data", "rules", "dpdk_acl1v4_5.trace").read_text().splitlines()
    rows = [[int(word, 0) for word in line.split()] for line in lines if line and not line.startswith("#")]
    assert len(rows) == len(rules) == 5
    for name, kind in CLASSIFIERS.items():
        assert [kind(rules).match(row[:5]) for row in rows] == [row[5] for row in rows], name


# ---- what is refused


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        ('source = "10.0.0.9-10.0.0.1"', "source must have its lower end first, got 10.0.0.9-10.0.0.1"),
        ('source_port = "90-80"', "source_port must have its lower end first, got 90-80"),
        ("destination_port = 65536", "destination_port must be 0 to 65535, got 65536"),
        ('destination_port = "1-70000"', "destination_port must be 0 to 65535, got 1-70000"),
        ("protocol = 256", "protocol must be 0 to 255, got 256"),
        ('protocol = "tpc"', "protocol 'tpc' is unknown (nearest: tcp"),
        ('class = "AF5"', "class 'AF5' is unknown (nearest: AF"),
        ('class = "EF"\ndscp = 46', "class: a rule has class or dscp, got class 'EF' and dscp 46"),
        ("dscp = 64", "dscp must be 0 to 63, got 64"),
        ('source = "10.0.0.1/8"', "source: prefix '10.0.0.1/8' has bits set below its length; nearest: 10.0.0.0/8"),
        ('source = "10.0.0"', "source: address must be IPv4"),
        ("source = 10", "source must be an address, a prefix or LOW-HIGH in quotes, got 10"),
        (
            'source_port = "http"',
            "source_port must be a number 0 to 65535 or LOW-HIGH, without leading zeros, got 'http'",
        ),
        ("source_port = -1", "source_port must be 0 to 65535, got -1"),
    ],
)
def test_a_wrong_rule_is_named_with_file_rule_and_field(tmp_path, rule, message):
    with pytest.raises(InputError) as caught:
        load(tmp_path, f"[[rule]]\n[[rule]]\n{rule}\n")
    text = str(caught.value)
    assert text.startswith(f"rules.toml: rule[1]: {message}")
    assert "\n" not in text


def test_an_unknown_key_is_named(tmp_path):
    with pytest.raises(InputError, match=r"rules.toml: key 'sorce' is unknown \(nearest: source.* in rule\[0\]"):
        load(tmp_path, '[[rule]]\nsorce = "10.0.0.0/8"\n')


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("@1.2.3.4/32 1.2.3.4/33 0 : 1 0 : 1 0/0", "destination: prefix length must be 0 to 32, got '1.2.3.4/33'"),
        ("@1.2.3.4/32 1.2.3.4/32 2 : 1 0 : 1 0/0", "source_port must have its lower end first, got 2-1"),
        ("@1.2.3.4/32 1.2.3.4/32 0 : 1 0 : 65536 0/0", "destination_port must be 0 to 65535, got 0-65536"),
        ("@1.2.3.4/32 1.2.3.4/32 0 : 1 0 : 1 6/0x0f", "protocol needs a mask of leading ones, 0x00 to 0xff, got 0x0f"),
        ("@1.2.3.4/32 1.2.3.4/32 0 : 1 0 : 1 tcp/0xff", "protocol must be NUMBER/MASK, got tcp/0xff"),
        ("1.2.3.4/32 1.2.3.4/32 0 : 1 0 : 1 6/0xff", "a rule is @PREFIX PREFIX LOW : HIGH LOW : HIGH PROTOCOL/MASK"),
    ],
)
def test_a_wrong_line_of_classbench_is_named(tmp_path, line, message):
    with pytest.raises(InputError) as caught:
        load(tmp_path, f"# first\n{line}\n", "acl.rules")
    assert str(caught.value).startswith(f"acl.rules:2: {message}")


def test_one_rule_too_many_is_named(tmp_path):
    with pytest.raises(InputError, match=r"rules.toml: rule\[16384\]: at most 16384 rules are allowed"):
        load(tmp_path, "[[rule]]\n" * (MAX_RULES + 1))
    with pytest.raises(InputError, match=r"acl.rules:16385: rule\[16384\]: at most 16384 rules are allowed"):
        load(tmp_path, "@0.0.0.0/0 0.0.0.0/0 0 : 1 0 : 1 0/0\n" * (MAX_RULES + 1), "acl.rules")
    with pytest.raises(
        InputError, match=r"rules: rule: there must be 1 to 16384 rules, got 16385, rule\[16384\] is one too"
    ):
        Rules((Rule(),) * (MAX_RULES + 1))
    with pytest.raises(InputError, match="rule: there must be 1 to 16384 rules, got 0"):
        load(tmp_path, "rule = []")


def test_a_rule_beyond_the_width_of_the_vectors_is_named(tmp_path):
    rules = load(tmp_path, "[[rule]]\n" * 513)
    with pytest.raises(TableFullError, match=r"rules.toml: rule\[512\]: bit vectors are 512 wide, got 513 rules"):
        RangeMatcher(rules)
    assert RangeMatcher(rules, width=1024).match((0, 0, 0, 0, 0)) == 0
    full = RangeMatcher(rules[:512])
    with pytest.raises(TableFullError, match=r"rule\[512\]"):
        full.insert(Rule(), 0)
    assert len(full) == 512
    full.remove(3)
    full.insert(Rule(), 0)


def test_an_unknown_policer_is_named_where_they_are_known():
    records = [RuleRecord(policer="gold"), RuleRecord(policer="sliver")]
    assert [rule.policer for rule in rules_of(records)] == ["gold", "sliver"]
    with pytest.raises(InputError, match=r"r.toml: rule\[1\]: policer 'sliver' is unknown \(nearest: silver"):
        rules_of(records, "r.toml", {"gold", "silver"})


def test_a_missing_file_is_named():
    with pytest.raises(InputError, match="No such file"):
        load_rules(Path("nowhere.toml"))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"width": 0}, "width of bit vectors must be 1 to 16384, got 0"),
        ({"reading": "whol"}, "reading 'whol' is unknown .nearest: whole"),
        ({"burst_words": 0}, "burst_words must be at least 1, got 0"),
        ({"word_bits": 12}, "word_bits must be a multiple of 8, got 12"),
    ],
)
def test_wrong_settings_of_range_matching(settings, message):
    with pytest.raises(InputError, match=message):
        RangeMatcher([Rule()], **settings)
    assert RangeMatcher([Rule()], word_bits=8).word_bits == 8


def test_wrong_headers_are_refused():
    search = LinearSearch([Rule()])
    with pytest.raises(InputError, match="source_port of a header must be 0 to 65535, got 65536"):
        search.match(("10.0.0.1", "10.0.0.2", 65536, 0, 0))
    with pytest.raises(InputError, match="header must have 5 fields"):
        search.match((1, 2))
    columns = [np.zeros(3, np.int64) for _ in FIELDS]
    assert search.match_many(FiveTuple(*columns)).tolist() == [0, 0, 0]
    columns[3][1] = 65536
    with pytest.raises(InputError, match="destination_port of headers must be 0 to 65535, got 0 to 65536"):
        search.match_many(FiveTuple(*columns))
    columns[3] = np.zeros(2, np.int64)
    with pytest.raises(InputError, match="destination_port must be one column of integers, as long as the others"):
        search.match_many(FiveTuple(*columns))
    with pytest.raises(InputError, match=r"out must be int32 of shape \(1,\)"):
        search.match_many(FiveTuple(*(np.zeros(1, np.uint8) for _ in FIELDS)), np.zeros(1, np.int64))
    with pytest.raises(InputError, match="a rule can be put at 0 to 1, got 5"):
        search.insert(Rule(), 5)
    with pytest.raises(InputError, match="a rule can be taken from 0 to 0, got 1"):
        search.remove(1)
    with pytest.raises(InputError, match="there must be 1 to 16384 rules, got 0"):
        search.remove(0)


# ---- what is made


@pytest.mark.parametrize("profile", profile_names())
@pytest.mark.parametrize("count", [1, 2, 100, 1000])
def test_made_rules_are_different_narrow_first_and_of_one_seed(profile, count):
    rules = generate_rules(count, profile, seed=3)
    assert len(rules) == len({rule.ranges for rule in rules}) == count
    assert rules[count - 1] == Rule()
    widths = [sum((high - low).bit_length() for low, high in rule.ranges) for rule in rules]
    assert widths == sorted(widths)
    assert generate_rules(count, profile, seed=3) == rules
    if count > 2:
        assert generate_rules(count, profile, seed=4) != rules


def test_made_rules_follow_their_profile():
    profile = load_profile(share("models", "rule_profiles", "access.toml"))
    rules = generate_rules(3000, "access", seed=1)
    with_ports = [rule for rule in rules if rule.protocol in ((6, 6), (17, 17))]
    wild = sum(rule.source_port == (0, 65535) for rule in with_ports) / len(with_ports)
    assert wild == pytest.approx(profile.source_port["WC"], abs=0.08)  # of different rules, that are fewer
    inner = [rule.source for rule in rules if prefix_length(*rule.source) not in (0, 8)]
    outer = {rule.source for rule in rules if prefix_length(*rule.source) in (8, 16, 24)}
    nested = sum(any(low <= a and b <= high and (low, high) != (a, b) for low, high in outer) for a, b in inner)
    assert nested / len(inner) > 0.4


def test_a_profile_that_cannot_work_is_refused(tmp_path):
    text = share("models", "rule_profiles", "access.toml").read_text()
    for old, new, message in (
        ("WC = 0.80", "WD = 0.80", "profile.toml: source_port 'WD' is unknown"),
        ("nesting = 0.7", "nesting = 7", "profile.toml: nesting must be 0 to 1, got 7"),
        ("8 = 0.05", "33 = 0.05", "profile.toml: source_length '33' is unknown"),
        ("tcp = 0.70", "tcp = -1", "profile.toml: protocol: share of tcp must be at least 0"),
        ("services = [22,", "services = [99999,", "profile.toml: services must be ports 0 to 65535"),
    ):
        path = tmp_path / "profile.toml"
        assert old in text
        path.write_text(text.replace(old, new, 1))
        with pytest.raises(InputError, match=message):
            load_profile(path)
    with pytest.raises(InputError, match="rule profile 'acces' is unknown"):
        generate_rules(5, "acces", seed=1)
    with pytest.raises(InputError, match="rules to generate must be 1 to 16384, got 0"):
        generate_rules(0, seed=1)


@given(rule_sets(), st.integers(0, 99))
def test_headers_within_lie_in_the_rule_they_are_drawn_from(rule_set, seed):
    row = np.arange(len(rule_set))
    headers = headers_within(rule_set, len(row), seed=seed, row=row)
    for rule, header in zip(rule_set, zip(*(column.tolist() for column in headers), strict=True), strict=True):
        assert rule.matches(FiveTuple(*header))


@given(rule_sets().flatmap(lambda rule_set: st.tuples(st.just(rule_set), headers_near(rule_set))))
def test_strategy_draws_headers_that_fit(case):
    _, headers = case
    assert five_columns(FiveTuple(*(np.array(values) for values in zip(*headers, strict=True))))


def test_flows_match_their_own_rule():
    rules = flow_rules(300)
    row = np.arange(300)
    assert (LinearSearch(rules).match_many(headers_within(rules, 300, seed=1, row=row)) == row).all()


def test_captures_give_the_same_fields_as_their_packets():
    capture = read_capture(share("data", "captures", "zeek_wikipedia.pcap"))
    table = capture.columns
    fields = table_five_tuples(table)
    assert set(fields.protocol[table["ipv4"]].tolist()) == {6, 17}
    assert not fields.source[~table["ipv4"]].any()
    assert (fields.destination_port[table["ipv4"]] == table["dport"][table["ipv4"]]).all()


@pytest.mark.parametrize(
    ("rule", "words"),
    [
        (
            "@1.2.3.4/32 1.2.3.4/32 0 : 1 080 : 080 6/0xff",
            "destination_port must be a number .* without leading zeros, got",
        ),
        (
            "@1.2.3.4/32 1.2.3.4/32 0 : 1 0 : 1 006/0xff",
            "protocol must be NUMBER/MASK, got 006/0xff",
        ),
        ("@1.2.3.4/32 1.2.3.4/32 0 : 1 0 : 1 1_7/0xff", "protocol must be NUMBER/MASK"),
        ("@1.2.3.4/32 1.2.3.4/32 0 : 1 0 : 1 6/0xff zz/yy", "flags must be NUMBER/MASK"),
        ("@1.2.3.4/32 1.2.3.4/32 0 : 1 0 : 1 6/0xff 0x10000/0", "flags must be NUMBER/MASK, each at most 0xffff"),
        ("@1.2.3.04/32 1.2.3.4/32 0 : 1 0 : 1 6/0xff", "leading zero"),
        ("@1.2.3.4/032 1.2.3.4/32 0 : 1 0 : 1 6/0xff", "prefix length must be 0 to 32"),
    ],
)
def test_numbers_that_some_read_as_octal_are_refused(rule, words):
    with pytest.raises(InputError, match=f"rules:1: .*{words}"):
        classbench_rules([rule])
