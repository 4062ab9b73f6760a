"""The oracle for a router that is a program from captures to captures: raises the first difference, or clusters all.

check_captures(["./my_router", "router.toml", "--in={port}={file}", "--out={out}"], "router.toml")
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from functools import partial
from itertools import islice
from pathlib import Path

from npexplore.errors import InputError
from npexplore.golden.compare.difference import Difference, first_difference
from npexplore.golden.router.configuration import Router
from npexplore.golden.router.forward import Forwarder
from npexplore.golden.router.rules import Profile
from npexplore.golden.router.walk import Outcome
from npexplore.testing.bench import Bench
from npexplore.testing.conformance import Conformance, Failure
from npexplore.testing.drawing import as_router, cases_for
from npexplore.testing.probes import numbered, probes
from npexplore.testing.programs import GAP_NS, run_captures, running
from npexplore.testing.shrinking import shrink_all
from npexplore.testing.verdicts import CounterexampleError, compare, shown

Frames = Sequence[tuple[int, bytes]]


class _Program:
    """A program and its time limit; an error of the program is reported with the frame that causes it."""

    def __init__(self, command: Sequence[str], router: Router, profile: Profile | str | None, timeout_s: float) -> None:
        self.command, self.router, self.profile = command, router, profile
        self._run = partial(run_captures, command, router, timeout_s=timeout_s)

    def outcomes(self, frames: Frames) -> list[Outcome]:
        golden = Forwarder(self.router, profile=self.profile)
        return [golden.forward(port, frame, number * GAP_NS) for number, (port, frame) in enumerate(frames)]

    def run(self, frames: Frames) -> list[tuple[int, bytes]]:
        """Run the program on frames; raises InputError naming the first frame at which it fails."""
        try:
            sent = self._run(frames)
        except InputError as error:
            raise InputError(f"{error}; {self._blamed(frames)}") from None
        first = next((number for number, outcome in enumerate(self.outcomes(frames)) if outcome.sent), None)
        if not sent and first is not None and len(frames) > 1:
            raise InputError(
                f"{running(self.command)} must write what it sends, wrote no frame at all; the first that makes it "
                f"send one came by port {self.router.ports[frames[first][0]].name}: {shown(frames[first][1])}"
            )
        return sent

    def _blamed(self, frames: Frames) -> str:
        """Return a description of the frame at which it fails: the last of the shortest prefix of frames that fails."""
        if self._fails([]):
            return "it does so without any frame"
        failing = bisect_left(range(len(frames)), True, key=lambda number: self._fails(frames[: number + 1]))
        port, frame = frames[min(failing, len(frames) - 1)]
        circumstance = "on its own" if self._fails([(port, frame)]) else f"after {failing} others"
        return f"it got, {circumstance}, by port {self.router.ports[port].name}: {shown(frame)}"

    def _fails(self, frames: Frames) -> bool:
        try:
            self._run(frames)
        except InputError:
            return True
        return False


def check_captures(
    command: Sequence[str],
    router: Router | str | Path,
    *,
    profile: Profile | str | None = None,
    count: int = 1000,
    timeout_s: float = 60,
    failures: int = 1,
) -> None:
    """Compare a program that reads and writes captures with the golden router.

    The error shows the first frame that is forwarded differently, if it also fails alone, otherwise the whole run.

    Args:
        command: the program with its arguments, as for `run_captures`.
        router: a configuration, its TOML file, or a name in models/routers.
        profile: "rfc1812" or "linux" (None: that of the configuration).
        count: the number of frames.
        timeout_s: seconds after which a run is stopped.
        failures: if more than one, collect up to this many and raise them clustered, as `examine_captures` does.

    Raises:
        CounterexampleError: the program forwards a frame differently from the golden router.
    """
    if failures > 1:
        options = {"profile": profile, "count": count, "timeout_s": timeout_s, "failures": failures}
        examine_captures(command, router, **options).raise_if_failed()  # type: ignore[arg-type]
        return
    configuration = as_router(router)
    cases = cases_for(configuration, count)
    program = _Program(command, configuration, profile, timeout_s)

    def differs(frames: Frames) -> Difference | None:
        return _difference(frames, program.outcomes(frames), program.run(frames))

    difference = differs(cases)
    if difference is None:
        return
    # The output for the first frames is a prefix of the output for all: from some frame on, every run differs.
    first_wrong = bisect_left(range(len(cases)), True, key=lambda number: differs(cases[: number + 1]) is not None)
    port, frame = cases[min(first_wrong, len(cases) - 1)]
    sent_alone = program.run([(port, frame)])
    compare(sent_alone, program.outcomes([(port, frame)])[0], port=port, frame=frame)
    raise CounterexampleError(difference, f"{difference}\n  in a run of {len(cases)} frames; alone no frame differs")


def _difference(cases: Frames, outcomes: Sequence[Outcome], got: list[tuple[int, bytes]]) -> Difference | None:
    sent = [expected_frame for outcome in outcomes for expected_frame in outcome.sent]
    pairs = zip(outcomes, cases, strict=True)
    return first_difference(sent, got, [(outcome.reason, frame) for outcome, (_, frame) in pairs if outcome.reason])


def examine_captures(
    command: Sequence[str],
    router: Router | str | Path,
    *,
    profile: Profile | str | None = None,
    count: int = 1000,
    timeout_s: float = 60,
    failures: int = 1000,
) -> Conformance:
    """Run a program on fixed probes and random frames; return the conformance table and the failures, clustered.

    Further runs with many frames each search for the smallest failure of each cluster.

    Args:
        command: the program with its arguments, as for `run_captures`.
        router: a configuration, its TOML file, or a name in models/routers.
        profile: "rfc1812" or "linux" (None: that of the configuration).
        count: the number of random frames.
        timeout_s: seconds after which a run is stopped.
        failures: the number of failures after which to stop.

    Raises:
        InputError: as `run_captures`, with the frame at which the program failed.
    """
    configuration = as_router(router)
    program = _Program(command, configuration, profile, timeout_s)

    def judged(frames: Frames) -> Bench:
        bench = Bench(configuration, profile=profile, failures=failures)
        for number, (port, frame) in enumerate(frames):
            bench.drive(port, frame, number * GAP_NS)
        for port, frame in program.run(frames):
            bench.expect(port, frame)
        return bench

    def smallest(failures: list[Failure]) -> list[Failure]:
        def first(options: list[list[bytes]]) -> list[int | None]:
            rows = [(fault.port, frame) for fault, frames in zip(failures, options, strict=True) for frame in frames]
            verdicts = iter(judged(numbered(rows)).verdicts())
            same_failure = [[wrong is not None and wrong.key == fault.key for wrong in islice(verdicts, len(frames))]
                    for fault, frames in zip(failures, options, strict=True)]  # fmt: skip
            return [row.index(True) if True in row else None for row in same_failure]

        shrunk = shrink_all(configuration, [(fault.port, fault.frame) for fault in failures], first)
        verdicts = judged([(fault.port, frame) for fault, frame in zip(failures, shrunk, strict=True)]).verdicts()
        return [new if new and new.key == old.key else old for old, new in zip(failures, verdicts, strict=True)]

    cases = dict.fromkeys([*probes(configuration), *cases_for(configuration, count)])
    return judged(numbered(cases)).conformance(smallest)
