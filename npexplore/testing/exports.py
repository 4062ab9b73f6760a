"""Exports failures: captures of input, expected and actual output of each cluster, or a pytest file."""

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
        smallest, subfolder = cluster.smallest, Path(folder) / f"{number:02d}"
        subfolder.mkdir(parents=True, exist_ok=True)
        rows: dict[str, Sequence[tuple[int, bytes]]] = {
            "in": [(smallest.port, smallest.frame)],
            "expected": [(sent.port, sent.frame) for sent in smallest.outcome.sent],
            "got": smallest.sent,
        }
        for kind, frames in rows.items():
            for port in conformance.router.ports:
                of_port = [frame for out, frame in frames if out == port.number]
                if of_port:
                    path = subfolder / f"{kind}.{port.name}.pcap"
                    write_frames(path, of_port, list(range(len(of_port))))
                    written.append(path)
    return written


def write_tests(conformance: Conformance, path: str | Path, forward: str | XdpRouter) -> None:
    """Write a pytest file in which each cluster's smallest failure is one test.

    Args:
        conformance: the failures, as `examine_router` or `examine_captures` returns them.
        path: the file to write.
        forward: the function under test, as MODULE:NAME; or the XDP program under test, which each test loads anew,
            so that a failure that depends on earlier packets does not occur again.

    Raises:
        InputError: the XdpRouter was not made from names of files.
    """
    if isinstance(forward, XdpRouter):
        imports, names = "from pathlib import Path\n\nimport pytest", "XdpRouter, compare"
        call = XDP_CALL.format(router=_expression(forward, Path(path).parent))
    else:
        module, _, name = forward.partition(":")
        imports, names, call = f"import pytest\nfrom {module} import {name} as forward", "compare", CALL
    cases = []
    for number, cluster in enumerate(conformance.clusters, start=1):
        smallest = cluster.smallest
        sent = "".join(
            f"Sent({row.port}, bytes.fromhex({row.frame.hex()!r}), {row.icmp}), " for row in smallest.outcome.sent
        )
        outcome = f"Outcome(Reason.{smallest.outcome.reason.name}, ({sent}))"
        cases.append(f"    {f'{number}. {cluster.title}'!r}: ({smallest.port}, {smallest.frame.hex()!r}, {outcome}),\n")
    text = HEAD.format(imports=imports, names=names, call=call, cases="".join(cases))
    Path(path).write_text(text, encoding="utf-8")


def _expression(mine: XdpRouter, folder: Path) -> str:
    """Return the expression by which a test file in a folder makes this router, with paths relative to the folder."""
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
