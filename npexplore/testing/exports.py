"""Export failures: for each cluster captures of the input, the expected and the actual output, or a pytest file."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from npexplore.errors import InputError
from npexplore.golden.router.configuration import Router
from npexplore.packets.frames import write_frames
from npexplore.programs.records import Program
from npexplore.testing.conformance import Conformance
from npexplore.testing.xdp import XdpRouter

HEAD = '''"""Frames that a router forwarded wrongly; made by npexplore.testing."""

{imports}

from npexplore.golden.reasons import Reason
from npexplore.golden.router.walk import Outcome, Sent
from npexplore.testing import {names}

CASES = {{  # what was wrong -> port, frame, what should have happened
{cases}}}


@pytest.mark.parametrize("case", CASES)
def test_forwarded_as_it_must_be(case):
    port, frame, outcome = CASES[case]
{call}'''
CALL = "    compare(forward(port, bytes.fromhex(frame)), outcome, port=port, frame=bytes.fromhex(frame))\n"
XDP_CALL = """    sent = {router}.forward(port, bytes.fromhex(frame))
    if sent is not None:  # what is passed to the kernel is not judged
        compare(sent, outcome, port=port, frame=bytes.fromhex(frame))
"""


def write_captures(conformance: Conformance, folder: str | Path) -> list[Path]:
    """Write NN/in.PORT.pcap, NN/expected.PORT.pcap and NN/got.PORT.pcap for each cluster's smallest failure."""
    written = []
    for number, cluster in enumerate(conformance.clusters, start=1):
        one, place = cluster.smallest, Path(folder) / f"{number:02d}"
        place.mkdir(parents=True, exist_ok=True)
        rows: dict[str, Sequence[tuple[int, bytes]]] = {
            "in": [(one.port, one.frame)],
            "expected": [(sent.port, sent.frame) for sent in one.outcome.sent],
            "got": one.sent,
        }
        for kind, frames in rows.items():
            for port in conformance.router.ports:
                mine = [frame for out, frame in frames if out == port.number]
                if mine:
                    path = place / f"{kind}.{port.name}.pcap"
                    write_frames(path, mine, list(range(len(mine))))
                    written.append(path)
    return written


def write_tests(conformance: Conformance, path: str | Path, forward: str | XdpRouter) -> None:
    """Write a pytest file in which each cluster's smallest failure is one test.

    Args:
        conformance: the failures, as `examine_router` or `examine_captures` returns them.
        path: the file to write.
        forward: the function under test, as MODULE:NAME; or the XDP program under test, of which each test makes a
            fresh one, so that a failure which needs earlier packets does not come again.

    Raises:
        InputError: an XDP program or its router was not given as a file or a name.
    """
    if isinstance(forward, XdpRouter):
        imports, names = "from pathlib import Path\n\nimport pytest", "XdpRouter, compare"
        call = XDP_CALL.format(router=_expression(forward, Path(path).parent))
    else:
        module, _, name = forward.partition(":")
        imports, names, call = f"import pytest\nfrom {module} import {name} as forward", "compare", CALL
    cases = []
    for number, cluster in enumerate(conformance.clusters, start=1):
        one = cluster.smallest
        sent = "".join(
            f"Sent({row.port}, bytes.fromhex({row.frame.hex()!r}), {row.icmp}), " for row in one.outcome.sent
        )
        outcome = f"Outcome(Reason.{one.outcome.reason.name}, ({sent}))"
        cases.append(f"    {f'{number}. {cluster.title}'!r}: ({one.port}, {one.frame.hex()!r}, {outcome}),\n")
    text = HEAD.format(imports=imports, names=names, call=call, cases="".join(cases))
    Path(path).write_text(text, encoding="utf-8")


def _expression(mine: XdpRouter, folder: Path) -> str:
    """Return how a test file in a folder makes this router anew: its files by their places from there."""
    program, router, section, maps = mine.origin
    if isinstance(program, Program) or isinstance(router, Router):
        raise InputError("write_tests needs an XdpRouter made from the names of its files, not from loaded ones")

    def place(file: str | Path) -> str:
        return f"Path(__file__).parent / {os.path.relpath(file, folder)!r}"

    words = [place(program), place(router) if Path(router).exists() else repr(str(router))]
    words += [f"section={section!r}"] if section else []
    words += [f"maps={maps!r}"] if maps is not None else []
    words += ["filters=True"] if mine.filters else []
    return f"XdpRouter({', '.join(words)})"
