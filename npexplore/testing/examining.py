"""Examine a router: collect failures up to a number, clustered, with the smallest of each, and a conformance table.

print(examine_router(my_forward, "router.toml"))
"""

from __future__ import annotations

import dataclasses
import traceback
from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path

from hypothesis import strategies as st
from msgspec.structs import replace

from npexplore.errors import InputError
from npexplore.golden.router.configuration import Router
from npexplore.golden.router.forward import Forwarder
from npexplore.golden.router.rules import Profile
from npexplore.golden.router.walk import Outcome
from npexplore.testing.conformance import Conformance, Failure, Tally, failure
from npexplore.testing.drawing import Case, as_router, cases_for
from npexplore.testing.probes import probes
from npexplore.testing.references import GraphJudge, Judge, Judgement, RulesJudge
from npexplore.testing.rule_catalogue import Rule
from npexplore.testing.shrinking import shrink
from npexplore.testing.verdicts import Forward, refuse_port

AT_ONCE = 500  # cases drawn in one go


def judge_of(router: Router, profile: Profile | str | None = None) -> Forwarder:
    """Return a golden router to judge frames one by one, without a limit on ICMP messages."""
    policy = replace(router.policy, icmp_per_second=None, icmp_burst=None)
    return Forwarder(dataclasses.replace(router, policy=policy), profile=profile)


def examine_router(
    forward: Forward,
    router: Router | str | Path,
    *,
    profile: Profile | str | None = None,
    cases: st.SearchStrategy[Case] | None = None,
    max_examples: int = 1000,
    failures: int = 1000,
    judge: RulesJudge | GraphJudge | None = None,
) -> Conformance:
    """Compare as `check_router` does, but collect the failures, and return them clustered with the conformance table.

    An exception from `forward` counts as a failure; its cluster names the line that raised it.

    Args:
        forward: as for `check_router`.
        router: a configuration, its TOML file, or a name in models/routers.
        profile: "rfc1812" or "linux" (None: that of the configuration).
        cases: a strategy for (port, frame) (None: `frames(router)`).
        max_examples: the number of frames to try.
        failures: the number of failures after which to stop.
        judge: what says how frames come out (None: the golden router); the table then has only what was tried.

    Raises:
        InputError: `forward` returned a port that does not exist.
    """
    configuration = as_router(router)
    tally, seen = Tally(configuration, failures, None if judge is None else ()), set[Case]()
    golden = judge_of(configuration, profile)
    ask: Judge = judge or (lambda port, frame: Judgement(golden.forward(port, frame)))

    def judged(port: int, frame: bytes) -> tuple[Outcome, Failure | None, Rule | None] | None:
        expected = ask(port, frame)
        if expected is None:
            return None
        outcome, rule = expected
        try:
            sent = forward(port, frame)
            if sent is None:
                return None
            got = [(number, bytes(data)) for number, data, *_ in sent]
        except (Exception, SystemExit) as error:  # whatever it is, it is the router's
            return outcome, crash(port, frame, outcome, error), rule
        for number, data in got:
            refuse_port(configuration, number, data)
        return outcome, failure(port, frame, outcome, got) if rule is None else wrong(port, frame, expected, got), rule

    def smallest(fault: Failure) -> Failure:
        def fails_alike(frame: bytes) -> bool:
            again = judged(fault.port, frame)
            return again is not None and again[1] is not None and again[1].key == fault.key

        def first(options: Sequence[bytes]) -> int | None:
            return next((k for k, frame in enumerate(options) if fails_alike(frame)), None)

        again = judged(fault.port, shrink(configuration, fault.port, fault.frame, first))
        return (again and again[1]) or fault

    near = judge.cases(configuration) if judge is not None and cases is None else None
    first_cases = probes(configuration) if near is not None else ()
    for case in chain(first_cases, tried(configuration, max_examples, cases if near is None else near)):
        if tally.full:
            break
        if case not in seen and (verdict := judged(*case)) is not None:
            tally.count(*verdict)
        seen.add(case)
    return tally.conformance(lambda faults: [smallest(one) for one in faults])


def tried(router: Router, count: int, cases: st.SearchStrategy[Case] | None = None) -> Iterator[Case]:
    """Yield (port, frame): first the probes, unless cases are given, then random frames, in portions."""
    if cases is None:
        yield from probes(router)
    for start in range(0, count, AT_ONCE):
        yield from cases_for(router, min(AT_ONCE, count - start), cases=cases, start=start)


def wrong(port: int, frame: bytes, expected: Judgement, sent: Sequence[tuple[int, bytes]]) -> Failure | None:
    """Return the failure of a filter that drops what should pass, or lets pass what it should drop; else None."""
    if bool(sent) == bool(expected.outcome.sent):
        return None
    assert expected.rule is not None
    what = "one passes" if sent else "one is dropped"
    return Failure(port, frame, expected.outcome, tuple(sent), expected.rule, what)


def crash(port: int, frame: bytes, outcome: Outcome, error: BaseException) -> Failure:
    """Return what was raised as a failure; its cluster is the kind of error and the line, or an InputError's words."""
    last = traceback.extract_tb(error.__traceback__)[-1]
    where = f"{type(error).__name__} at {Path(last.filename).name}:{last.lineno} in {last.name}"
    if isinstance(error, InputError):  # a program's end, told by what runs it
        where = str(error)
    return Failure(port, frame, outcome, (), Rule("no clause", "the program must go on"), where)
