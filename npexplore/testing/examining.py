"""Examines a router: collects failures, clusters them, shrinks one of each cluster, and makes a conformance table.

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
    """Return a golden router that judges single frames, without a rate limit on ICMP messages."""
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
        judge: the reference (None: the golden router); with a judge the table has only rules that were tried.

    Raises:
        InputError: `forward` returned a port that does not exist.
    """
    configuration = as_router(router)
    tally, tried_cases = Tally(configuration, failures, None if judge is None else ()), set[Case]()
    golden = judge_of(configuration, profile)
    judgement_of: Judge = judge or (lambda port, frame: Judgement(golden.forward(port, frame)))

    def judged(port: int, frame: bytes) -> tuple[Outcome, Failure | None, Rule | None] | None:
        expected = judgement_of(port, frame)
        if expected is None:
            return None
        outcome, rule = expected
        try:
            sent = forward(port, frame)
            if sent is None:
                return None
            got = [(number, bytes(data)) for number, data, *_ in sent]
        except (Exception, SystemExit) as error:  # any error in forward is a failure of the router
            return outcome, crash(port, frame, outcome, error), rule
        for number, data in got:
            refuse_port(configuration, number, data)
        return outcome, failure(port, frame, outcome, got) if rule is None else wrong(port, frame, expected, got), rule

    def smallest(fault: Failure) -> Failure:
        def fails_alike(frame: bytes) -> bool:
            repeated = judged(fault.port, frame)
            return repeated is not None and repeated[1] is not None and repeated[1].key == fault.key

        def first(options: Sequence[bytes]) -> int | None:
            return next((number for number, frame in enumerate(options) if fails_alike(frame)), None)

        repeated = judged(fault.port, shrink(configuration, fault.port, fault.frame, first))
        return (repeated and repeated[1]) or fault

    judge_cases = judge.cases(configuration) if judge is not None and cases is None else None
    first_cases = probes(configuration) if judge_cases is not None else ()
    for case in chain(first_cases, tried(configuration, max_examples, cases if judge_cases is None else judge_cases)):
        if tally.full:
            break
        if case not in tried_cases and (verdict := judged(*case)) is not None:
            tally.count(*verdict)
        tried_cases.add(case)
    return tally.conformance(lambda faults: [smallest(fault) for fault in faults])


def tried(router: Router, count: int, cases: st.SearchStrategy[Case] | None = None) -> Iterator[Case]:
    """Yield (port, frame): first the probes, unless cases is not None, then random frames, in portions."""
    if cases is None:
        yield from probes(router)
    for start in range(0, count, AT_ONCE):
        yield from cases_for(router, min(AT_ONCE, count - start), cases=cases, start=start)


def wrong(port: int, frame: bytes, expected: Judgement, sent: Sequence[tuple[int, bytes]]) -> Failure | None:
    """Return the failure of a filter that drops a frame that should pass, or the opposite; None if it is right."""
    if bool(sent) == bool(expected.outcome.sent):
        return None
    assert expected.rule is not None
    detail = "one passes" if sent else "one is dropped"
    return Failure(port, frame, expected.outcome, tuple(sent), expected.rule, detail)


def crash(port: int, frame: bytes, outcome: Outcome, error: BaseException) -> Failure:
    """Return a raised error as a failure; its cluster is the kind of error and the line, or an InputError's text."""
    raising_line = traceback.extract_tb(error.__traceback__)[-1]
    where = f"{type(error).__name__} at {Path(raising_line.filename).name}:{raising_line.lineno} in {raising_line.name}"
    if isinstance(error, InputError):  # the error describes how a program ended
        where = str(error)
    return Failure(port, frame, outcome, (), Rule("no clause", "the program must go on"), where)
