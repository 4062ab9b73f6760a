"""Classifiers on 512 rules and five fields: batches against the plain references, and what counting costs."""

import os

import numpy as np
import pytest
from reference.timing import fastest, seconds

from npexplore.golden.classify import CLASSIFIERS
from npexplore.golden.classify.rule_generator import flow_rules, generate_rules, headers_within, profile_names
from npexplore.golden.ipv4.five_tuple import FiveTuple

RULES = 512
PACKETS = int(os.environ.get("NPEXPLORE_BENCH_PACKETS", "1_000_000"))
SETS = [*profile_names(), "flows"]


@pytest.fixture(scope="module", params=SETS)
def case(request):
    """Rules, a million headers drawn from them, and the first few as single ones."""
    rules = flow_rules(RULES) if request.param == "flows" else generate_rules(RULES, request.param, seed=1)
    headers = headers_within(rules, PACKETS, seed=2)
    single = [FiveTuple(*row) for row in zip(*(column[:400].tolist() for column in headers), strict=True)]
    return rules, headers, single


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_match(benchmark, case, name):
    rules, headers, single = case
    classifier, out = CLASSIFIERS[name](rules), np.empty(PACKETS, np.int32)
    few = FiveTuple(*(column[: PACKETS // 16] for column in headers)) if name == "linear" else headers
    count = len(few.source)
    benchmark.pedantic(classifier.match_many, (few, out[:count]), rounds=5, warmup_rounds=1)

    def plainly():
        """Return the first rule that matches, without counting."""
        return [next((k for k, rule in enumerate(rules) if rule.matches(header)), -1) for header in single]

    assert plainly() == out[: len(single)].tolist()
    ours = seconds(lambda: classifier.match_many(few, out[:count])) / count
    benchmark.extra_info["million_packets_per_s"] = count / fastest(benchmark) / 1e6
    benchmark.extra_info["plain_linear_times_ours"] = seconds(plainly) / len(single) / ours


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_work(benchmark, case, name):
    rules, headers, _ = case
    classifier = CLASSIFIERS[name](rules)
    few = FiveTuple(*(column[: PACKETS // 16] for column in headers))
    work = benchmark.pedantic(classifier.work_many, (few,), rounds=3, warmup_rounds=1)
    benchmark.extra_info["million_packets_per_s"] = len(few.source) / fastest(benchmark) / 1e6
    benchmark.extra_info["words_per_packet"] = sum(
        float(work[f"{table}_read_words"].mean()) for table in classifier.storage()
    )


def test_build_and_insert(benchmark, case):
    rules, _, _ = case
    kind = CLASSIFIERS["range_matching"]
    matcher = kind(rules[: RULES - 1])

    def change():
        matcher.insert(rules[RULES - 1], 0)
        matcher.remove(0)

    benchmark.pedantic(change, rounds=5, warmup_rounds=1)
    assert len(matcher) == RULES - 1
    benchmark.extra_info["updates_per_s"] = 2 / fastest(benchmark)


@pytest.mark.parametrize("count", [10, 100, 1000, 10_000])
@pytest.mark.parametrize("profile", profile_names())
def test_tuple_space_against_linear_search(benchmark, profile, count):
    rules = generate_rules(count // 10 if benchmark.disabled else count, profile, seed=26)
    headers = headers_within(rules, 20_000 if count < 10_000 else 2000, seed=1)
    linear, ours = CLASSIFIERS["linear"](rules), CLASSIFIERS["tuple_space"](rules)
    found = benchmark.pedantic(ours.match_many, (headers,), rounds=5, warmup_rounds=1)
    assert np.array_equal(found, linear.match_many(headers))
    benchmark.extra_info["tuples"] = ours.tuples
    benchmark.extra_info["linear_times_ours"] = seconds(lambda: linear.match_many(headers)) / fastest(benchmark)
