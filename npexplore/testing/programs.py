"""Runs a router that is a program from captures to captures; it must not fail, hang, flood, or write unknown ports.

A program that takes too long is stopped with all processes that it started; the size of its files is limited
(RLIMIT_FSIZE, getrlimit(2)), so that a program that floods stops as well. Outside Linux only the program itself is
stopped, and flooding is detected when it ends or its time is up.
"""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory

from npexplore.errors import InputError, UnknownNameError
from npexplore.golden.router.configuration import Router
from npexplore.packets.frames import read_frames, write_frames

GAP_NS = 1000
ENDINGS = (".pcap", ".pcapng")
FLOOD = 1 << 20, 64  # limit of an output file: bytes, and bytes per input byte
FLOODED = (
    (-signal.SIGXFSZ,) if hasattr(signal, "SIGXFSZ") else ()
)  # exit status of a program whose file exceeds the limit
SAID = "said"  # file with the output of the program


def run_captures(
    command: Sequence[str], router: Router, frames: Sequence[tuple[int, bytes]], *, timeout_s: float = 60
) -> list[tuple[int, bytes]]:
    """Run a program on frames, and return the frames it sent, port by port.

    Args:
        command: the program with its arguments. An argument with {file} in it is repeated for each port that gets
            frames, with {port} replaced by the port's name; {out} is the folder where the program writes PORT.pcap or
            PORT.pcapng.
        router: the configuration, for the names of the ports.
        frames: (port, frame) in order of time; their time stamps are 1 us apart.
        timeout_s: seconds after which the run is stopped.

    Raises:
        InputError: the program cannot be run, fails, takes too long, writes too much, or writes for an unknown port.
    """
    with TemporaryDirectory() as folder:
        out = Path(folder) / "out"
        out.mkdir()
        files = {}
        for port in router.ports:
            rows = [row for row, (number, _) in enumerate(frames) if number == port.number]
            if rows:
                files[port.name] = Path(folder) / f"{port.name}.pcap"
                write_frames(files[port.name], [frames[row][1] for row in rows], [row * GAP_NS for row in rows])
        words = []
        for word in command:
            inputs = files.items() if "{file}" in word else [("", Path())]
            for name, file in inputs:
                word_here = word.replace("{port}", name).replace("{file}", str(file))
                words.append(word_here.replace("{out}", str(out)))
        max_bytes = FLOOD[0] + FLOOD[1] * sum(len(frame) for _, frame in frames)
        _run(words, timeout_s, max_bytes, Path(folder) / SAID)
        for path in sorted(out.iterdir()):
            if path.stat().st_size >= max_bytes:
                raise InputError(f"{running(words)} must not flood: {path.name} has {max_bytes} bytes or more")
            if path.suffix in ENDINGS and path.stem not in (names := [port.name for port in router.ports]):
                raise UnknownNameError(f"{running(words)} wrote {path.name}: port", path.stem, names)
        return [
            (port.number, frame)
            for port in router.ports
            for ending in ENDINGS
            if (path := out / f"{port.name}{ending}").exists()
            for _, frame in read_frames(path)
        ]


def running(words: Sequence[str], most: int = 3) -> str:
    """Return the first words of a command, for messages."""
    return shlex.join(words[:most]).replace("\n", " ")[:80] + (" ..." if len(words) > most else "")


def _run(words: list[str], timeout_s: float, most: int, said: Path) -> None:
    try:
        with said.open("wb") as text:
            program = subprocess.Popen(
                words, stdin=subprocess.DEVNULL, stdout=text, stderr=text, start_new_session=True
            )
    except OSError as error:
        raise InputError(f"{words[0]} cannot be run: {error.strerror}") from None
    try:
        _bound_files(program.pid, most)
        status = program.wait(timeout_s)
    except subprocess.TimeoutExpired:
        raise InputError(f"{running(words)} must end within {timeout_s} s, it is still running") from None
    except ProcessLookupError:  # it ended before its files could be limited
        status = program.wait()
    finally:
        _end(program)
    if status in FLOODED or any(path.stat().st_size >= most for path in said.parent.rglob("*")):
        raise InputError(f"{running(words)} must not flood: it wrote {most} bytes or more into one file")
    if status:
        lines = said.read_text(encoding="utf-8", errors="replace").strip().splitlines()
        raise InputError(f"{running(words)} must return 0, got {status}: {lines[-1] if lines else 'no message'}")


def _bound_files(pid: int, most: int) -> None:
    """Limit the size of each file that a process writes, if the system can do so from outside."""
    try:
        from resource import RLIMIT_FSIZE, prlimit
    except ImportError:  # prlimit is Linux's, the module is Unix's
        return
    prlimit(pid, RLIMIT_FSIZE, (most, most))


def _end(program: subprocess.Popen[bytes]) -> None:
    """Stop a program that still runs, and all processes that it started."""
    with suppress(ProcessLookupError, PermissionError):
        if hasattr(os, "killpg"):
            os.killpg(program.pid, signal.SIGKILL)
        else:  # Windows, where terminate kills
            program.terminate()
    program.wait()
