"""A router that is a program: captures in, captures out, as `npexplore route` has them; and its oracle.

check_captures(["./my_router", "router.toml", "--in={port}={file}", "--out={out}"], "router.toml")
"""

from __future__ import annotations

import subprocess
from bisect import bisect_left
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import given

from npexplore.errors import InputError
from npexplore.golden.compare.difference import Difference, first_difference
from npexplore.golden.router.configuration import Router
from npexplore.golden.router.forward import Forwarder
from npexplore.golden.router.rules import Profile
from npexplore.golden.router.walk import Outcome
from npexplore.packets.frames import read_frames, write_frames
from npexplore.testing.oracles import CounterexampleError, as_router, compare, example_settings
from npexplore.testing.routers import frames as frames_for

GAP_NS = 1000
ENDINGS = (".pcap", ".pcapng")


def run_captures(
    command: Sequence[str], router: Router, frames: Sequence[tuple[int, bytes]], *, timeout_s: float = 60
) -> list[tuple[int, bytes]]:
    """Run a program on frames, (port, frame) in order of time; return what it sent, in order port by port.

    A word of the command that has {file} in it is repeated for each port that gets frames, {port} being its name, and
    {out} is the folder where the program writes PORT.pcap or PORT.pcapng. Frames come 1 us apart. Raises InputError if
    the program cannot be run, fails or takes too long.
    """
    with TemporaryDirectory() as folder:
        out = Path(folder) / "out"
        out.mkdir()
        files = {}
        for port in router.ports:
            rows = [k for k, (number, _) in enumerate(frames) if number == port.number]
            if rows:
                files[port.name] = Path(folder) / f"{port.name}.pcap"
                write_frames(files[port.name], [frames[k][1] for k in rows], [k * GAP_NS for k in rows])
        words = []
        for word in command:
            inputs = files.items() if "{file}" in word else [("", Path())]
            for name, file in inputs:
                word_here = word.replace("{port}", name).replace("{file}", str(file))
                words.append(word_here.replace("{out}", str(out)))
        _run(words, timeout_s)
        return [
            (port.number, frame)
            for port in router.ports
            for ending in ENDINGS
            if (path := out / f"{port.name}{ending}").exists()
            for _, frame in read_frames(path)
        ]


def _run(words: list[str], timeout_s: float) -> None:
    try:
        done = subprocess.run(words, capture_output=True, text=True, timeout=timeout_s, check=False)
    except OSError as error:
        raise InputError(f"{words[0]} cannot be run: {error.strerror}") from None
    except subprocess.TimeoutExpired:
        raise InputError(f"{words[0]} must be done within {timeout_s} s, it is not") from None
    if done.returncode:
        said = (done.stderr or done.stdout).strip().splitlines()
        raise InputError(f"{words[0]} must return 0, got {done.returncode}: {said[-1] if said else 'no message'}")


def cases_for(router: Router, count: int) -> list[tuple[int, bytes]]:
    """Return so many frames that try a router, the same ones each time."""
    found: list[tuple[int, bytes]] = []

    @example_settings(count)
    @given(frames_for(router))
    def collect(case: tuple[int, bytes]) -> None:
        found.append(case)

    collect()
    return found[:count]


def check_captures(
    command: Sequence[str],
    router: Router | str | Path,
    *,
    profile: Profile | str | None = None,
    count: int = 1000,
    timeout_s: float = 60,
) -> None:
    """Compare a program, run as by `run_captures`, with the golden router on `count` frames.

    Raises CounterexampleError. If the frame from which on runs differ does so on its own, it names that frame; else the
    whole run.
    """
    configuration = as_router(router)
    cases = cases_for(configuration, count)

    def differs(frames: Sequence[tuple[int, bytes]]) -> Difference | None:
        golden = Forwarder(configuration, profile=profile)
        outcomes = [golden.forward(port, frame, k * GAP_NS) for k, (port, frame) in enumerate(frames)]
        return _difference(frames, outcomes, run_captures(command, configuration, frames, timeout_s=timeout_s))

    difference = differs(cases)
    if difference is None:
        return
    # What is sent for the first frames is the begin of what is sent for all: from some frame on, every run differs.
    last = bisect_left(range(len(cases)), True, key=lambda k: differs(cases[: k + 1]) is not None)
    port, frame = cases[min(last, len(cases) - 1)]
    alone = run_captures(command, configuration, [(port, frame)], timeout_s=timeout_s)
    compare(alone, Forwarder(configuration, profile=profile).forward(port, frame), port=port, frame=frame)
    raise CounterexampleError(difference, f"{difference}\n  in a run of {len(cases)} frames; alone no frame differs")


def _difference(
    cases: Sequence[tuple[int, bytes]], outcomes: Sequence[Outcome], got: list[tuple[int, bytes]]
) -> Difference | None:
    sent = [one for outcome in outcomes for one in outcome.sent]
    pairs = zip(outcomes, cases, strict=True)
    return first_difference(sent, got, [(outcome.reason, frame) for outcome, (_, frame) in pairs if outcome.reason])
